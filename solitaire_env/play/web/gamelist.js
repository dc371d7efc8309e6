// The list of all games in the form for a new game: search, groups and favourites.
import { make } from "./board.js";
import { at, loadItem, storeItem } from "./table.js";

const list = at("game");
let games = [];
let favourites = new Set(loadItem("favourites") ?? []);

/** The name of the chosen game. */
export const chosenGame = () => list.querySelector("input:checked")?.value;

/** Choose a game, and scroll to it. */
export function chooseGame(name) {
  const own = list.querySelector(`input[value="${CSS.escape(name)}"]`);
  if (!own) return;
  own.checked = true;
  own.dispatchEvent(new Event("change", { bubbles: true }));
  own.closest(".item").scrollIntoView({ block: "nearest" });
}

function star(game) {
  const is = favourites.has(game.name);
  const button = make("button", { type: "button", class: "star", "aria-pressed": String(is), "aria-label": `${game.title} is a favourite`, title: "Favourite" }, is ? "★" : "☆");
  button.onclick = () => {
    favourites[is ? "delete" : "add"](game.name);
    storeItem("favourites", [...favourites]);
    draw();
    list.querySelector(`input[value="${CSS.escape(game.name)}"]`).closest(".item").querySelector(".star").focus();
  };
  return button;
}

/** Draw the games whose title, name or other names have the words of the search. */
function draw() {
  const words = at("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = games.filter((game) => {
    const text = [game.title, game.name, ...(game.aliases ?? [])].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const chosen = chosenGame() ?? list.dataset.chosen;
  const groupOf = (game) => (favourites.has(game.name) ? "Favourites" : game.group);
  const groups = ["Favourites", ...new Set(games.map(({ group }) => group))];
  const item = (game) => {
    const radio = make("input", { type: "radio", name: "game", value: game.name });
    radio.checked = game.name === chosen;
    return make("div", { class: "item" }, make("label", {}, radio, game.title), star(game));
  };
  const section = (group) => {
    const own = found.filter((game) => groupOf(game) === group);
    return own.length ? [make("div", { class: "group" }, `${group}, ${own.length}`), ...own.map(item)] : [];
  };
  list.replaceChildren(...groups.flatMap(section));
  if (!found.length) list.append(make("div", { class: "soft" }, "No game has this name."));
  if (found.length && !chosenGame() && words.length) chooseGame(found[0].name);
}

list.addEventListener("change", () => (list.dataset.chosen = chosenGame()));
at("find").oninput = draw;

/** Set the games. */
export function listGames(all) {
  games = all;
  list.dataset.chosen = all[0].name;
  draw();
}

/** Show all games. */
export function resetSearch() {
  at("find").value = "";
  draw();
}
