// Policies: hints as a table and as arrows, and playing by policies.
import { drawArrows } from "./arrows.js";
import { make } from "./board.js";
import { markHelped } from "./statistics.js";
import { ask, askTable, at, withServer, onShow, showMessage, show, showTools, table } from "./table.js";

const board = at("board");
const ARROWS = 4; // moves that are drawn as arrows
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

let known = false; // whether the policies of this game are known
let arrows = []; // the drawn moves

export const canAsk = () => known;

export const policyName = () => at("policy").selectedOptions[0].textContent;

// -------------------------------------------------------------------------------------- advice

/** A share as a bar in a table. */
export function barCell(share) {
  const bar = make("span");
  bar.style.width = `${100 * share}%`;
  return make("td", { class: "bar" }, bar);
}

/** Show the value as a bar: empty for 0, full for 1. */
export function showValue(share, text) {
  at("evaluation").hidden = share === null;
  if (share === null) return;
  const bar = Math.max(0, Math.min(1, share));
  at("evaluation").firstElementChild.style.width = `${100 * bar}%`;
  at("evaluation").setAttribute("aria-valuenow", bar.toFixed(2));
  at("evaluation").setAttribute("aria-valuetext", text);
  at("evaluation").lastElementChild.textContent = text;
}

function showAdvice(advice, name) {
  const parts = [make("p", {}, `${name}: ${advice.words} (${advice.action})`)];
  if (advice.plays.length > 1) parts.push(make("p", { class: "soft" }, `As single moves: ${advice.plays.join(", ")}`));
  if (advice.actions.length) {
    const rows = advice.actions.map(({ action, words, probability }) =>
      make(
        "tr",
        { class: action === advice.action && "chosen" },
        make("td", {}, words),
        barCell(probability),
        make("td", { class: "figure" }, percent(probability)),
      ),
    );
    parts.push(make("table", { "aria-label": "Likeliest actions" }, make("tbody", {}, ...rows)));
  }
  at("advice").replaceChildren(...parts);
  showValue(advice.value, advice.value === null ? "" : `Value ${advice.value.toFixed(2)}`);
}

/** Draw the policy's move as an arrow, then other moves that it considers. */
function point(advice) {
  const others = advice.actions.map((own) => ({ ...own, share: own.probability, label: percent(own.probability, 0) }));
  const first = others.find(({ action }) => action === advice.action) ?? advice;
  arrows = [first, ...others.filter((own) => own !== first).slice(0, ARROWS - 1)];
  drawArrows(board, arrows);
}

board.addEventListener("fit", () => drawArrows(board, arrows));

async function hint() {
  const advice = await askTable("hint", { policy: at("policy").value });
  showAdvice(advice, policyName());
  point(advice);
  return advice;
}

at("hint").onclick = () =>
  withServer(async () => {
    const advice = await hint();
    showMessage(`${policyName()}: ${advice.words} (${advice.action})`);
  });

onShow((game, before, why) => {
  arrows = [];
  drawArrows(board, []);
  if (game.id !== before?.id) known = false;
  if (why !== "move" || !table.autoplay) at("advice").replaceChildren();
  showValue(null);
  if (at("thinking").checked && known && !table.autoplay) think();
});

/** Show the policy's hint for the current position. */
export async function think() {
  const { game } = table;
  if (!known || game.state !== "playing") return;
  const advice = await askTable("hint", { policy: at("policy").value }).catch(() => null);
  if (!advice || table.game !== game) return;
  showAdvice(advice, policyName());
  point(advice);
}

at("policy").onchange = () => {
  showTools();
  if (at("thinking").checked) think();
};

// ------------------------------------------------------------------------------------- play on

async function advance() {
  const name = policyName();
  markHelped();
  const next = await askTable("advance", { policy: at("policy").value });
  show(next, "move");
  showAdvice(next.advice, name);
}

at("one").onclick = () => withServer(advance);

/** Play automatically until the game ends, the user stops it, or a step returns a reason to stop. */
export async function playOn(step, pause) {
  table.autoplay = true;
  at("status").setAttribute("aria-live", "off");
  let why = null;
  let played = 0;
  while (table.autoplay && table.game.state === "playing" && why === null) {
    const start = performance.now();
    if (!(await withServer(async () => (why = (await step()) ?? null)))) break;
    played += 1;
    if (table.game.state !== "playing") break;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, pause() - (performance.now() - start))));
  }
  table.autoplay = false;
  at("status").removeAttribute("aria-live");
  const failed = at("status").classList.contains("error");
  if (table.game.state === "playing" && !failed) {
    showMessage(why ?? `Stopped after ${played} move${played === 1 ? "" : "s"}.`);
  }
  return played;
}

at("on").onclick = async () => {
  if (table.autoplay) {
    table.autoplay = false;
    return;
  }
  const name = policyName();
  const seen = new Map(); // positions, each with the move that led to it
  const place = () => JSON.stringify(table.game.piles);
  seen.set(place(), table.game.moves_played);
  await playOn(
    async () => {
      await advance();
      const move = seen.get(place());
      seen.set(place(), table.game.moves_played);
      if (move === undefined) return null;
      return `Stopped: ${name} repeats itself. The position is the same as after move ${move}.`;
    },
    () => 1000 / Number(at("speed").value),
  );
  showTools();
};

/** Offer the policies of this game; return those with a win rate. */
export async function showPolicies() {
  const before = at("policy").value;
  const asked = table.game.id;
  const { policies } = await ask(`sessions/${asked}/policies`);
  if (asked !== table.game.id) return [];
  const option = ({ id, name, error }) =>
    make("option", { value: id, disabled: Boolean(error), title: error || null }, error ? `${name} (not for this game)` : name);
  at("policy").replaceChildren(...policies.map(option));
  const can = policies.filter(({ error }) => !error).map(({ id }) => id);
  at("policy").value = can.includes(before) ? before : can.at(-1);
  known = true;
  if (at("thinking").checked) think();
  return policies.filter(({ rates }) => rates);
}
