// The page to play: the board, new games, and which buttons are enabled.
import { arrivals, cardsHome, drawBoard, make } from "./board.js";
import { fitBoard } from "./fit.js";
import { chooseGame, chosenGame, listGames, resetSearch } from "./gamelist.js";
import "./hands.js";
import "./statistics.js";
import { address, knowRules, movesOfLink, storedDeal } from "./line.js";
import { dealOut, moveCards } from "./motion.js";
import { canAsk, showPolicies, think } from "./policies.js";
import { cancelRate, canRate, isMeasuring, onLine, showRated } from "./rates.js";
import { ask } from "./maker.js";
import { askTable, at, inTurn, storeItem, loadItem, onShow, onTools, playMove, showMessage, show, showTools, table } from "./table.js";

const board = at("board");
const RULES = ["build", "spaces", "moves"];
let games = []; // all that can be played

// --------------------------------------------------------------------------------------- board

function drawGame(game, before, why) {
  const own = before?.id === game.id;
  const moved = own && game.last ? arrivals(before.piles, game.piles, game.cards) : {};
  const draw = () => drawBoard(board, game.piles, { moved, interactive: true });
  if (own) moveCards(board, draw, table.held);
  else draw();
  if (why === "deal") dealOut(board);
  board.dataset.moves = game.moves_played;
}
onShow(drawGame, { first: true });

onShow((game, before, why) => {
  showHead(game);
  showState(game);
  at("won").hidden = game.state !== "won" || why !== "move";
  if (game.state === "won") showWin(game);
  showTools();
});

function showHead(game) {
  const home = cardsHome(game.piles, game.cards);
  const rules = [game.build, `spaces: ${game.spaces}`, game.moves].join(", ");
  at("title").textContent = `${game.title}, deal ${game.deal}`;
  at("about").textContent = `${home} of ${game.cards} cards home, move ${game.moves_played}. Rules: ${rules}.`;
  document.title = at("title").textContent;
}

function showState(game) {
  const ends = {
    won: `Won, in ${game.moves_played} moves.`,
    stuck: "Stuck: no move is legal. Undo takes a move back.",
  };
  showMessage(ends[game.state] ?? (game.last ? `${game.last.words} (${game.last.action})` : "Your move."));
}

// ------------------------------------------------------------------------------------- the end

/** The number, or name, of the deal after this one. */
function nextDeal({ deal }) {
  const [, name, number] = deal.match(/^(.*?)(\d+)$/);
  return `${name}${BigInt(number) + 1n}`;
}

function showWin(game) {
  at("won-title").textContent = `Won, in ${game.moves_played} moves`;
  at("next").textContent = `Next deal: ${nextDeal(game)}`;
}

at("next").onclick = () => deal({ ...rulesOf(table.game), game: table.game.game, deal: nextDeal(table.game) });
at("again").onclick = () => at("restart").click();
/** Send all cards home, one after another. */
at("finish").onclick = async () => {
  const { id, finish } = table.game;
  for (const action of finish) {
    const played = await inTurn(() => table.game.id === id && table.game.finish[0] === action && playMove({ action }));
    if (!played || table.game.id !== id) return;
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
};
at("close-won").onclick = () => (at("won").hidden = true);

// --------------------------------------------------------------------------------------- tools

onTools(() => {
  const { game, autoplay } = table;
  const none = !game || (game.state !== "playing" && !autoplay);
  at("undo").disabled = at("restart").disabled = autoplay || !game?.moves_played;
  at("redo").disabled = autoplay || !game || game.moves_played === game.moves_known;
  for (const name of ["share", "save", "replay", "open-rules"]) at(name).disabled = !game;
  at("hint").disabled = at("one").disabled = autoplay || none || !canAsk();
  at("finish").hidden = autoplay || game?.state !== "playing" || !game.finish.length;
  at("on").disabled = none || !canAsk();
  at("on").textContent = autoplay ? "Stop" : "Play on";
  at("policy").disabled = autoplay;
  at("measure").disabled = at("solve").disabled = autoplay || !canAsk() || isMeasuring();
  at("estimate").disabled = none || autoplay || isMeasuring() || !canRate(at("policy").value);
});

at("open-rules").onclick = () =>
  inTurn(async () => {
    const { rules } = await askTable("rules", {});
    const line = (text) => {
      const [, name, rest] = text.match(/^([A-Z][a-z]+)(: .*)$/) ?? [null, null, text];
      return make("li", {}, ...(name ? [make("b", {}, name)] : []), rest);
    };
    at("rules-title").textContent = `Rules of ${table.game.title}`;
    at("rules-text").replaceChildren(...rules.map(line));
    at("rules").showModal();
  });

// ---------------------------------------------------------------------------------------- view

const VIEW = { labels: true, four: false, thinking: false };

function showView() {
  for (const name of ["labels", "four"]) document.body.classList.toggle(name, at(name).checked);
  if (table.game) fitBoard(board);
}

const chosen = { ...VIEW, ...loadItem("view") };
for (const name of Object.keys(VIEW)) {
  at(name).checked = chosen[name];
  at(name).onchange = () => {
    storeItem("view", Object.fromEntries(Object.keys(VIEW).map((key) => [key, at(key).checked])));
    showView();
    if (name === "thinking") think();
  };
}
showView();

// ------------------------------------------------------------------------------------- new game

const rulesOf = (game) => Object.fromEntries(RULES.map((rule) => [rule, game[rule]]));
const plainRules = (name) => rulesOf(games.find((game) => game.name === name));

/** Deal a game, and play the moves that come with it. */
async function deal(wanted, why = "deal") {
  table.autoplay?.stop();
  const succeeded = await inTurn(async () => {
    showMessage("Dealing ...");
    const next = await ask("sessions", wanted);
    await cancelRate();
    show(next, why);
    history.replaceState(null, "", address(next));
    if (why === "resume" && next.moves_played) showMessage(`Continued at move ${next.moves_played}. Restart returns to the start.`);
  });
  if (succeeded) offerPolicies();
  return succeeded;
}

/** A policy with a network may take seconds to load; play can start before. */
async function offerPolicies() {
  try {
    const rated = await showPolicies();
    if (rated) showRated(rated);
  } catch (error) {
    showMessage(error.message, true);
  }
  showTools();
}

const wantedDeal = (number) => ({
  game: chosenGame(),
  deal: number,
  ...Object.fromEntries(RULES.map((rule) => [rule, at(rule).value || null])),
});

/** Deal the game of the form. If the deal is refused, the form stays open and shows the reason. */
async function dealFromForm(number) {
  at("new-error").textContent = "";
  if (await deal(wantedDeal(number))) at("new-game").close();
  else at("new-error").textContent = at("status").textContent;
}

at("open-new").onclick = () => {
  const { game } = table;
  at("new-error").textContent = "";
  resetSearch();
  at("new-game").showModal();
  if (!game) return;
  chooseGame(game.game);
  for (const name of ["deal", ...RULES]) at(name).value = game[name];
};
at("new").onsubmit = (event) => {
  event.preventDefault();
  dealFromForm(at("deal").value.trim());
};
at("random").onclick = () => dealFromForm("random");
at("close-new").onclick = () => at("new-game").close();
at("game").onchange = () => {
  const own = plainRules(chosenGame());
  for (const rule of RULES) at(rule).value = own[rule];
};

// Show a winning line: start the deal again, so that redo plays the line.
onLine(async (line) => {
  const { game } = table;
  const wanted = { ...rulesOf(game), game: game.game, deal: game.deal, moves_played: line, at: 0 };
  if (await deal(wanted, "resume")) showMessage("Redo plays the winning moves.");
});

/** Open the game of the address, the stored game, or a random deal. */
async function open() {
  const query = new URLSearchParams(location.search);
  const line = movesOfLink();
  const asked = { game: query.get("game") ?? games[0].name, deal: query.get("deal") ?? "random" };
  for (const rule of RULES) if (query.has(rule)) asked[rule] = query.get(rule);
  if (line) return deal({ ...asked, moves_played: line }, "resume");
  const stored = storedDeal(query.has("game") || query.has("deal") ? location.search : "");
  return (stored && (await deal(stored, "resume"))) || deal(asked);
}

addEventListener("hashchange", () => movesOfLink() && location.reload());

await inTurn(async () => {
  const answer = await ask("games");
  games = answer.games;
  knowRules(plainRules);
  at("games").max = answer.max_games;
  at("solve").hidden = !answer.solver;
  const option = (value, text = value) => make("option", { value }, text);
  listGames(games);
  at("house").hidden = !answer.rules.build;
  for (const rule of RULES) at(rule).replaceChildren(...(answer.rules[rule] ?? []).map((word) => option(word)));
  at("game").onchange();
});
if (games.length) await open();
showTools();
