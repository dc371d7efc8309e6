// The page to play: the board, new games, and which buttons are enabled.
import { arrivals, cardsHome, drawBoard, make } from "./board.js";
import { timeText } from "./clock.js";
import { fitBoard } from "./fit.js";
import { chooseGame, chosenGame, listGames, resetSearch } from "./gamelist.js";
import "./hands.js";
import "./statistics.js";
import { gameOfLink, gamesData, levelsOf, openSession } from "./engine/engine.js";
import { address, keptGame, knowRules, lastAddress, partsOfLink, playKept } from "./line.js";
import { dealOut, moveCards } from "./motion.js";
import { nearest } from "./names.js";
import { canAsk, canEstimate, showPolicies, think } from "./policies.js";
import { isMeasuring } from "./rates.js";
import { ask } from "./server.js";
import { at, inTurn, loadItem, onShow, onTools, playMove, show, showMessage, showTools, storeItem, table } from "./table.js";
import { isAsked } from "./winnable.js";

const board = at("board");
const isStuck = (game) => game.spent || game.state === "stuck";
const RULES = ["build", "spaces", "moves"];
let games = []; // all that can be played

// --------------------------------------------------------------------------------------- board

function drawGame(game, before, why) {
  const own = before !== null;
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
  if (!at("won").hidden) at("next").focus({ preventScroll: true });
});

function showHead(game) {
  const home = cardsHome(game.piles, game.cards);
  const rules = [game.rules.build, `spaces: ${game.rules.spaces}`, game.rules.moves].join(", ");
  at("title").textContent = `${game.title}, deal ${game.deal}`;
  at("about").textContent = `${home} of ${game.cards} cards home. Rules: ${rules}.`;
  document.title = at("title").textContent;
}

function showState(game) {
  const ends = {
    won: `Won, in ${game.moves_played} moves.`,
    stuck: "Stuck: no move is legal.",
  };
  if (game.spent) return showMessage("Stuck: no move helps.");
  const done = game.last && `${game.last.words[0].toUpperCase()}${game.last.words.slice(1)}.`;
  showMessage(ends[game.state] ?? done ?? "Your move.");
}

// ------------------------------------------------------------------------------------- the end

/** The deal of the day, the same for all: the date in Greenwich as a number. */
const dealOfToday = () => new Date().toISOString().slice(0, 10).replaceAll("-", "");

/** The number, or name, of the deal after this one. */
function nextDeal({ deal }) {
  const [, name, number] = deal.match(/^(.*?)(\d+)$/);
  return `${name}${BigInt(number) + 1n}`;
}

function showWin(game) {
  const time = at("time").checked ? ` and ${timeText(table.session.seconds)}` : "";
  at("won-title").textContent = `Won, in ${game.moves_played} moves${time}`;
  at("next").textContent = `Next deal: ${nextDeal(game)}`;
}

at("next").onclick = () => deal({ ...wantedAgain(), deal: nextDeal(table.game) });
at("again").onclick = at("over").onclick = () => at("restart").click();
at("back").onclick = () => at("undo").click();
at("other").onclick = () => deal({ ...wantedAgain(), deal: "random" });

/** The game on the board, to be dealt again. */
const wantedAgain = () => ({ game: table.game.game, rules: table.game.rules, variant: table.session.linked });

let sending = null; // the newest run of moves home: { plays: whether it is playing one }

/** Send cards home, one after another, until next returns no move, or anything else happens on the board. */
async function sendHome(next) {
  const own = (sending = { plays: false });
  let action;
  const advance = () => {
    action = sending === own ? next() : undefined;
    if (!action) return;
    own.plays = true;
    playMove({ action });
    own.plays = false;
  };
  while ((await inTurn(advance)) && action) await new Promise((resolve) => setTimeout(resolve, 60));
}

at("finish").onclick = () => sendHome(() => table.game.finish[0]);

onShow((game, before, why) => {
  if (sending?.plays) return;
  sending = null;
  const which = at("home").value;
  if (which === "off" || table.autoplay || !["move", "deal"].includes(why)) return;
  sendHome(() => table.session.homeMove({ safe: which === "safe" }));
});
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
  at("ended").hidden = autoplay || !game || !isStuck(game);
  at("on").disabled = none || !canAsk();
  at("on").textContent = autoplay ? "Stop" : "Play on";
  at("policy").disabled = autoplay;
  at("measure").disabled = autoplay || !canAsk() || isMeasuring();
  at("can-win").disabled = autoplay || none || isStuck(game) || isAsked();
  at("estimate").disabled = none || autoplay || !canEstimate() || isMeasuring();
});

at("open-rules").onclick = () => {
  const line = (text) => {
    const [, name, rest] = text.match(/^([A-Z][a-z]+)(: .*)$/) ?? [null, null, text];
    return make("li", {}, ...(name ? [make("b", {}, name)] : []), rest);
  };
  at("rules-title").textContent = `Rules of ${table.game.title}`;
  at("rules-text").replaceChildren(...table.game.describe.map(line));
  at("rules").showModal();
};

// ------------------------------------------------------------------------------------- options

const OPTIONS = { taps: true, home: "off", time: true, labels: false, four: false, mirrored: false, backs: "blue", felt: "green", thinking: false };

function showView() {
  at("clock").hidden = !at("time").checked;
  for (const name of ["labels", "four", "mirrored"]) document.body.classList.toggle(name, at(name).checked);
  for (const name of ["backs", "felt"]) {
    for (const { value } of at(name).options) document.body.classList.toggle(`${name}-${value}`, at(name).value === value);
  }
  if (table.game) fitBoard(board);
}

/** The property of an option's control that has its value. */
const valueOf = (name) => (typeof OPTIONS[name] === "boolean" ? "checked" : "value");

const chosen = { ...OPTIONS, ...loadItem("view") };
for (const name of Object.keys(OPTIONS)) {
  at(name)[valueOf(name)] = chosen[name];
  at(name).onchange = () => {
    storeItem("view", Object.fromEntries(Object.keys(OPTIONS).map((key) => [key, at(key)[valueOf(key)]])));
    showView();
    if (name === "thinking") think();
  };
}
showView();

// ------------------------------------------------------------------------------------- new game

const entryOf = (name) => games.find((game) => game.name === name);
const plainRules = (name) => {
  const entry = entryOf(name);
  return entry && Object.fromEntries(RULES.map((rule) => [rule, entry[rule]]));
};

/** A new session of a game; rules: those that differ from the game's own; variant: its data, from a link. */
async function newSession({ game, rules = {}, variant = null }) {
  const plain = plainRules(game);
  const chosen = { ...plain, ...rules };
  let linked = plain && RULES.every((rule) => chosen[rule] === plain[rule]) ? null : variant;
  if (plain && !linked && RULES.some((rule) => chosen[rule] !== plain[rule])) {
    if (!offers) throw new Error("House rules need the server: python -m solitaire_env serve. It gives links that work here.");
    linked = { ...chosen, name: game, ...(await ask("game", { game, rules: chosen })) };
  }
  const session = await openSession(game, { details: linked });
  session.linked = linked || entryOf(game)?.custom ? session.variant : null; // the data that a link needs
  return session;
}

/**
 * Deal a game. wanted: the game, its rules, the deal, and moves: those of a link with the policies that helped, or a
 * kept game. how: "push" for a new entry in the history of the browser, "replace", or "stay".
 */
async function deal({ deal: number, moves = [], helpers = [], kept = null, ...wanted }, how = "push") {
  table.autoplay?.stop();
  const succeeded = await inTurn(async () => {
    showMessage("Dealing ...");
    const session = (await newSession(wanted)).start(number ?? "random");
    if (kept) playKept(session, kept);
    else session.playLine(moves);
    helpers.forEach((helper) => session.helpers.add(helper));
    const resumed = session.line.length > 0;
    show(resumed ? "resume" : "deal", session);
    if (how !== "stay") history[`${how}State`](null, "", address(table.game));
    if (resumed && table.game.moves_played && !isStuck(table.game)) showMessage(`Continued at move ${table.game.moves_played}. Restart returns to the start.`);
  });
  if (succeeded) offerPolicies();
  return succeeded;
}

/** A policy with a network may take seconds to load; play can start before. */
async function offerPolicies() {
  try {
    await showPolicies();
  } catch (error) {
    showMessage(error.message, true);
  }
  showTools();
}

/** Deal the game of the form. If the deal is refused, the form stays open and shows the reason. */
async function dealFromForm(number) {
  at("new-error").textContent = "";
  const rules = Object.fromEntries(RULES.flatMap((rule) => (at(rule).value ? [[rule, at(rule).value]] : [])));
  if (await deal({ game: chosenGame(), rules, deal: number || dealOfLevel() })) at("new-game").close();
  else at("new-error").textContent = at("status").textContent;
}

at("open-new").onclick = () => {
  const { game } = table;
  at("new-error").textContent = "";
  resetSearch();
  at("deal").value = "";
  at("new-game").showModal();
  if (!game) return;
  chooseGame(game.game);
  for (const name of RULES) at(name).value = game.rules[name];
};
at("new").onsubmit = (event) => {
  event.preventDefault();
  dealFromForm(at("deal").value.trim());
};
at("random").onclick = () => dealFromForm("");
at("daily").onclick = () => dealFromForm(dealOfToday());
at("close-new").onclick = () => at("new-game").close();
function showOwnRules() {
  const own = plainRules(chosenGame());
  for (const rule of RULES) at(rule).value = own[rule];
}
at("game").onchange = () => {
  showOwnRules();
  offerLevels();
};

const LEVELS = { winnable: "can be won", easy: "easy: simple rules win it", medium: "medium: a network wins it", hard: "hard, but can be won" };
let levels = {}; // the deals of each level of the chosen game

/** Offer the levels of the chosen game by its own rules. */
async function offerLevels() {
  const game = chosenGame();
  const published = RULES.every((rule) => at(rule).value === plainRules(game)[rule]);
  const found = published ? await levelsOf(game).catch(() => ({})) : {};
  if (chosenGame() !== game) return;
  levels = found;
  const option = (value, text) => make("option", { value, selected: value === at("level").value || null }, text);
  const own = Object.keys(levels).map((level) => option(level, LEVELS[level]));
  at("level").replaceChildren(option("", "any deal"), make("optgroup", { label: "Of deals 0 to 999" }, ...own));
  showLevel();
}

/** A deal that is named has no level to choose. */
const showLevel = () => (at("level").disabled = !Object.keys(levels).length || at("deal").value.trim() !== "");
at("deal").oninput = showLevel;
for (const rule of RULES) at(rule).onchange = offerLevels;

/** A random deal of the chosen level. */
function dealOfLevel() {
  const deals = levels[at("level").value];
  return deals ? String(deals[Math.floor(Math.random() * deals.length)]) : "random";
}

/** Open the game of the address, the one that was played last, or a random deal. */
async function open() {
  const query = new URLSearchParams(location.search || (location.hash ? "" : lastAddress() ?? ""));
  if (query.has("daily")) query.set("deal", dealOfToday());
  const { moves, helpers, variant } = partsOfLink();
  const rules = Object.fromEntries(RULES.filter((rule) => query.has(rule)).map((rule) => [rule, query.get(rule)]));
  const asked = { game: query.get("game") ?? games[0].name, rules, deal: query.get("deal") ?? "random" };
  const known = asked.deal === "random" ? null : keptGame(address(asked));
  const texts = known?.moves.map((move) => (typeof move === "string" ? move : move[0])) ?? [];
  // The moves of a link replace those of the kept game, unless that one goes on from there.
  const kept = moves?.some((text, k) => text !== texts[k]) ? null : known && { ...known, at: moves?.length ?? known.at };
  if (!variant && !kept?.variant && !entryOf(asked.game)) return offerNearest(asked.game);
  try {
    asked.variant = variant ? await gameOfLink(variant) : kept?.variant;
  } catch (error) {
    return showMessage(error.message, true);
  }
  if (kept && (await deal({ ...asked, kept }, "replace"))) return true;
  return deal({ ...asked, moves: moves ?? [], helpers }, "replace");
}

/** Name the games whose names are nearest to that of a wrong link, and offer the nearest. */
function offerNearest(name) {
  const [first, ...others] = nearest(name, games);
  showMessage(`There is no game '${name.slice(0, 40)}'. The nearest: ${[first, ...others].map(({ title }) => title).join(", ")}. `, true);
  const button = make("button", { type: "button", id: "nearest" }, `Play ${first.title}`);
  button.onclick = () => deal({ game: first.name }, "replace");
  at("status").append(button);
  return false;
}

addEventListener("popstate", () => open());

let offers = null; // what a server offers besides; null without one

await inTurn(async () => {
  const data = await gamesData();
  games = data.games;
  offers = data.server;
  knowRules(plainRules);
  at("games").max = data.max_games;
  const option = (value, text = value) => make("option", { value }, text);
  listGames(games);
  at("house").hidden = !offers;
  for (const rule of RULES) at(rule).replaceChildren(...data.house_rules[rule].map((word) => option(word)));
  showOwnRules();
});
if (games.length) await open();
showTools();
// Not before the first game is on the board: it loads all files.
navigator.serviceWorker?.register("offline.js").catch(() => null); // no storage, or another file at that address
