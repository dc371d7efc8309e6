// The player's statistics and the clock, stored in this browser.
import { make } from "./board.js";
import { at, storeItem, loadItem, onShow, table } from "./table.js";

let seconds = 0;
let own = loadItem("statistics") ?? { games: {}, streak: 0, longest: 0, open: null };
let helped = false; // whether a policy or a link made moves in this game

/** The duration of the game in seconds. */
export const clock = () => seconds;

/** Continue from a stored time. */
export const setClock = (time) => (seconds = Number(time) || 0);

export const clockText = (time = seconds) => {
  const [minutes, rest] = [Math.floor(time / 60), String(Math.floor(time % 60)).padStart(2, "0")];
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
};

/** Mark the game as helped by a policy or a link: its win is not counted. */
export const markHelped = (is = true) => (helped = is);
export const isUnhelped = () => !helped;

setInterval(() => {
  const { game } = table;
  if (document.hidden || game?.state !== "playing" || !game.moves_played) return;
  seconds += 1;
  at("time").textContent = clockText();
}, 1000);

onShow((game, before, why) => {
  at("time").textContent = clockText();
  if (why === "move") count(game);
  draw(game);
});

/** Count a game at its first move, and its win. */
function count(game) {
  const key = `${game.game} ${game.deal} ${game.build} ${game.spaces} ${game.moves}`;
  const here = (own.games[game.game] ??= { games: 0, won: 0, moves: null, time: null });
  if (own.open?.key !== key) {
    if (own.open && !own.open.won) own.streak = 0;
    own.open = { key, won: false };
    here.games += 1;
  }
  if (game.state === "won" && !own.open.won && !helped) {
    own.open.won = true;
    own.streak += 1;
    own.longest = Math.max(own.longest, own.streak);
    here.won += 1;
    here.moves = Math.min(here.moves ?? Infinity, game.moves_played);
    here.time = Math.min(here.time ?? Infinity, seconds);
  }
  storeItem("statistics", own);
}

function draw(game) {
  const here = own.games[game.game];
  const share = here?.games ? ` (${Math.round((100 * here.won) / here.games)} %)` : "";
  const rows = [
    ["Games", here?.games ?? 0],
    ["Won", `${here?.won ?? 0}${share}`],
    ["Fewest moves", here?.moves ?? "-"],
    ["Shortest time", here?.time == null ? "-" : clockText(here.time)],
    ["Wins in a row, all games", `${own.streak}, at most ${own.longest}`],
  ];
  at("statistics").replaceChildren(
    ...rows.map(([name, figure]) =>
      make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "figure" }, String(figure))),
    ),
  );
}

at("forget").onclick = () => {
  own = { games: {}, streak: 0, longest: 0, open: null };
  storeItem("statistics", own);
  draw(table.game);
};
