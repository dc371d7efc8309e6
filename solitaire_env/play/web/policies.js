// Policies: hints as a table and as arrows, and playing by policies.
import { drawArrows } from "./arrows.js";
import { make, moveWords } from "./board.js";
import { Adviser } from "./engine/advice.js";
import { gamesData, weightsOf } from "./engine/engine.js";
import { chanceBar, optionTable, percent, valueBar } from "./options.js";
import { ask, gameOf, positionOf } from "./server.js";
import { at, inTurn, onShow, showMessage, show, showTools, table } from "./table.js";
import { inWorker } from "./workers.js";

const board = at("board");
const ARROWS = 4; // moves that are drawn as arrows
const SOLVER = { id: "solver", name: "search for a win", error: "" }; // in games without hidden cards
const LEAST = 0.005; // probability of a move that is drawn: less would read 0 %

let known = []; // the policies of this game: { id, name, error, varies, server }
let loading = null; // the newest request for policies
let asked = null; // the newest request for a hint; the answers to older ones are dropped
let arrows = []; // the drawn moves

const chosenPolicy = () => known.find(({ id }) => id === at("policy").value);

export const canAsk = () => known.length > 0;
/** The policies that play games of their own, for a win rate. */
export const knownPolicies = () => known.filter(({ id, error }) => !error && id !== SOLVER.id);
export const canEstimate = () => canAsk() && chosenPolicy().id !== SOLVER.id;
export const policyName = () => chosenPolicy().name;

// -------------------------------------------------------------------------------------- advice

const showBar = (...bar) => at("evaluation").replaceChildren(...bar);

/** Show a chance of winning as a bar. */
export const showChance = (share, text) => showBar(chanceBar(share, text));

const showValue = (value) => (value === null ? showBar() : showBar(valueBar(value)));

/** The advice of the chosen policy for the position of a session; the likeliest move, or one that it draws. */
async function advise(session, likeliest) {
  const { id, server } = chosenPolicy();
  if (server) return ask("hint", { ...positionOf(session), decisions: session.decisions, policy: id, likeliest });
  if (id === SOLVER.id) return (await nextOfWin(session)) ?? adviseBy(session.variant.best, session, likeliest);
  return adviseBy(id, session, likeliest);
}

/** The advice of one of the page's own policies. */
async function adviseBy(id, session, likeliest) {
  session.advisers ??= new Map();
  if (!session.advisers.has(id)) {
    const plan = session.variant.policies.find((own) => own.id === id);
    session.advisers.set(id, new Adviser(session, plan, await weightsOf(plan)));
  }
  return session.advisers.get(id).advise(likeliest);
}

/** The next move to a win that a search finds within a second, as advice; null if it finds none. */
async function nextOfWin(session) {
  const { cards } = session;
  const here = String(cards.row);
  if (!session.wins?.has(here)) {
    const stop = new AbortController();
    const { line } = await inWorker("solving", session, stop.signal)({ seconds: 1 });
    stop.abort();
    const play = (text) => {
      const before = String(cards.row);
      session.step(cards.parse(text));
      return [before, text];
    };
    session.wins = new Map(session.attempt(() => (line ?? []).map(play)));
  }
  const text = session.wins.get(here);
  return text ? { policy: SOLVER.id, ...cards.describe(cards.parse(text)), plays: [text], value: null, actions: [] } : null;
}

/** Show advice for a position, given as its piles; return it in words. */
function showAdvice(advice, piles, name) {
  const words = (move) => moveWords(piles, move);
  const said = `${name}: ${words(advice)}`;
  const parts = [make("p", {}, said)];
  if (advice.plays.length > 1) parts.push(make("p", { class: "soft" }, `As ${advice.plays.length} single moves`));
  const option = (own) => ({ words: words(own), share: own.probability, chosen: own.action === advice.action });
  if (advice.actions.length) parts.push(optionTable("Likeliest moves", advice.actions.map(option)));
  at("advice").replaceChildren(...parts);
  showValue(advice.value);
  return said;
}

/** Draw the policy's move as an arrow, then other moves that it considers. */
function point(advice) {
  const others = advice.actions.map((own) => ({ ...own, share: own.probability, label: percent(own.probability, 0) }));
  const first = others.find(({ action }) => action === advice.action) ?? advice;
  const seen = others.filter((own) => own !== first && own.probability >= LEAST);
  arrows = [first, ...seen.slice(0, ARROWS - 1)];
  drawArrows(board, arrows);
}

board.addEventListener("fit", () => drawArrows(board, arrows));

/** Show the policy's hint; return it in words, or null if the hint is out of date when the answer comes. */
async function hint() {
  const name = policyName();
  const request = (asked = {});
  const advice = await advise(table.session, true);
  if (request !== asked) return null;
  point(advice);
  return showAdvice(advice, table.game.piles, name);
}

at("hint").onclick = () =>
  inTurn(async () => {
    const words = await hint();
    if (words) showMessage(words);
  });

onShow((game, before, why) => {
  asked = null;
  arrows = [];
  drawArrows(board, []);
  if (!before) known = [];
  if (why !== "move" || !table.autoplay) at("advice").replaceChildren();
  showValue(null);
  if (!table.autoplay) think();
});

/** Show the policy's hint for the current position, if the player wants one for every position. */
export function think() {
  asked = null;
  if (at("thinking").checked && canAsk() && table.game.state === "playing") hint().catch(() => null);
}

at("policy").onchange = () => {
  showTools();
  if (at("thinking").checked) think();
};

// ------------------------------------------------------------------------------------- play on

async function advance() {
  const { session, game } = table;
  const { id, name } = chosenPolicy();
  const advice = await advise(session, false);
  advice.plays.forEach((text, k) => session.play(text, { decides: k === 0, by: id }));
  show("move");
  showAdvice(advice, game.piles, name);
}

at("one").onclick = () => inTurn(advance);

/** Play automatically until the game ends, the user stops it, or a position repeats from which the policy plays the same again. */
async function playOn() {
  let stop;
  const stopped = new Promise((resolve) => (stop = resolve));
  const run = { on: true };
  run.stop = () => {
    run.on = false;
    stop();
  };
  table.autoplay = run;
  at("status").setAttribute("aria-live", "off");
  const { name, varies } = chosenPolicy();
  const { limit } = table.session.variant;
  const place = () => JSON.stringify(table.game.piles);
  const seen = new Map([[place(), table.game.moves_played]]); // positions, each with the move that led to it
  let why = null;
  let played = 0;
  const goesOn = () => run.on && table.game.state === "playing" && why === null && played < limit;
  while (goesOn()) {
    const start = performance.now();
    await inTurn(async () => {
      if (!goesOn()) return;
      await advance();
      played += 1;
      const move = seen.get(place());
      seen.set(place(), table.game.moves_played);
      if (!varies && move !== undefined) why = `Stopped: ${name} repeats itself. The position is the same as after move ${move}.`;
    });
    const rest = 1000 / Number(at("speed").value) - (performance.now() - start);
    if (goesOn()) await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, Math.max(0, rest)))]);
  }
  table.autoplay = null;
  at("status").removeAttribute("aria-live");
  const failed = at("status").classList.contains("error");
  if (table.game.state === "playing" && !failed) {
    showMessage(why ?? `Stopped after ${played} move${played === 1 ? "" : "s"}.`);
  }
  showTools();
}

at("on").onclick = () => (table.autoplay ? table.autoplay.stop() : playOn());

/** Offer the policies of this game, the best one first of all. */
export async function showPolicies() {
  const request = (loading = {});
  const { session } = table;
  const { server } = await gamesData();
  const own = session.variant.policies.map(({ id, name, file }) => ({ id, name, error: "", varies: Boolean(file) }));
  const others = server?.policies.length ? (await ask("policies", gameOf(session))).policies : [];
  if (request !== loading) return;
  const { hides, has_stock: stock } = session.cards.rules;
  known = [...own, ...(hides || stock ? [] : [SOLVER]), ...others.map((policy) => ({ ...policy, server: true }))];
  const option = ({ id, name, error }) =>
    make("option", { value: id, disabled: Boolean(error), title: error || null }, error ? `${name} (not for this game)` : name);
  at("policy").replaceChildren(...known.map(option));
  at("policy").value = session.variant.best;
  think();
}
