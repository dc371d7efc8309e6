// Policies: hints as a table and as arrows, and playing by policies.
import { drawArrows } from "./arrows.js";
import { make } from "./board.js";
import { chanceBar, optionTable, percent, valueBar } from "./options.js";
import { askTable, at, inTurn, onShow, showMessage, show, showTools, table } from "./table.js";

const board = at("board");
const ARROWS = 4; // moves that are drawn as arrows
const LEAST = 0.005; // probability of a move that is drawn: less would read 0 %

let known = false; // whether the policies of this game are known
let loading = null; // the newest request for policies
let asked = null; // the newest request for a hint; the answers to older ones are dropped
let arrows = []; // the drawn moves

export const canAsk = () => known;

export const policyName = () => at("policy").selectedOptions[0].textContent;

// -------------------------------------------------------------------------------------- advice

const showBar = (...bar) => at("evaluation").replaceChildren(...bar);

/** Show a chance of winning as a bar. */
export const showChance = (share, text) => showBar(chanceBar(share, text));

const showValue = (value) => (value === null ? showBar() : showBar(valueBar(value)));

function showAdvice(advice, name) {
  const parts = [make("p", {}, `${name}: ${advice.words} (${advice.action})`)];
  if (advice.plays.length > 1) parts.push(make("p", { class: "soft" }, `As single moves: ${advice.plays.join(", ")}`));
  const option = ({ action, words, probability }) => ({ words, share: probability, chosen: action === advice.action });
  if (advice.actions.length) parts.push(optionTable("Likeliest actions", advice.actions.map(option)));
  at("advice").replaceChildren(...parts);
  showValue(advice.value);
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
  const advice = await askTable("hint", { policy: at("policy").value });
  if (request !== asked) return null;
  showAdvice(advice, name);
  point(advice);
  return `${name}: ${advice.words} (${advice.action})`;
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
  if (why === "deal" || why === "resume") known = false;
  if (why !== "move" || !table.autoplay) at("advice").replaceChildren();
  showValue(null);
  if (!table.autoplay) think();
});

/** Show the policy's hint for the current position, if the player wants one for every position. */
export function think() {
  asked = null;
  if (at("thinking").checked && known && table.game.state === "playing") hint().catch(() => null);
}

at("policy").onchange = () => {
  showTools();
  if (at("thinking").checked) think();
};

// ------------------------------------------------------------------------------------- play on

async function advance() {
  const name = policyName();
  const next = await askTable("advance", { policy: at("policy").value });
  show(next, "move");
  showAdvice(next.advice, name);
}

at("one").onclick = () => inTurn(advance);

/** Play automatically until the game ends, the user stops it, or the policy repeats a position. */
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
  const name = policyName();
  const place = () => JSON.stringify(table.game.piles);
  const seen = new Map([[place(), table.game.moves_played]]); // positions, each with the move that led to it
  let why = null;
  let played = 0;
  const goesOn = () => run.on && table.game.state === "playing" && why === null;
  while (goesOn()) {
    const start = performance.now();
    await inTurn(async () => {
      if (!goesOn()) return;
      await advance();
      played += 1;
      const move = seen.get(place());
      seen.set(place(), table.game.moves_played);
      if (move !== undefined) why = `Stopped: ${name} repeats itself. The position is the same as after move ${move}.`;
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

/** Offer the policies of this game; return those with a win rate, or null if another game is on the board by then. */
export async function showPolicies() {
  const request = (loading = {});
  const { policies, failure } = await askTable("policies", {}).catch((error) => ({ failure: error }));
  if (request !== loading) return null;
  if (failure) throw failure;
  const before = at("policy").value;
  const option = ({ id, name, error }) =>
    make("option", { value: id, disabled: Boolean(error), title: error || null }, error ? `${name} (not for this game)` : name);
  at("policy").replaceChildren(...policies.map(option));
  const can = policies.filter(({ error }) => !error).map(({ id }) => id);
  at("policy").value = can.includes(before) ? before : can.at(-1);
  known = true;
  think();
  return policies.filter(({ rates }) => rates);
}
