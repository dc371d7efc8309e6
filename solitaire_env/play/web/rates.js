// Win rates on a deal and from a position, and the solver.
import { make } from "./board.js";
import { barCell } from "./options.js";
import { policyName, showChance } from "./policies.js";
import { ask } from "./maker.js";
import { askTable, at, onShow, showMessage, showTools, table } from "./table.js";

const PLAYOUTS = 20; // games from a position

let rated = []; // policies with a win rate
let measuring = null; // the running measurement: { id of its current job, cancelled }

export const isMeasuring = () => measuring !== null;
export const canRate = (policy) => rated.some(({ id }) => id === policy);

/** Offer the win rates of these policies. */
export function showRated(policies) {
  rated = policies;
  at("rates").hidden = !rated.length && at("solve").hidden;
  at("measure").parentElement.hidden = !rated.length;
}

/** Start a job for the game; call a function with its progress until it is done. Returns null if it is cancelled. */
async function follow(verb, body, report) {
  const own = measuring;
  own.id = (await askTable(verb, body)).id;
  if (own.cancelled) await cancelRate();
  for (;;) {
    const answer = await ask(`jobs/${own.id}`);
    if (own.cancelled || answer.state === "cancelled") return null;
    report(answer);
    if (!["waiting", "playing"].includes(answer.state)) {
      if (answer.error) throw new Error(answer.error);
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Run such work; an error is shown next to it. */
async function working(work) {
  showMessage("");
  measuring = { id: null, cancelled: false };
  at("cancel").disabled = false;
  showTools();
  try {
    await work();
    at("progress").textContent = "";
  } catch (error) {
    at("progress").textContent = error.message;
  }
  measuring = null;
  at("cancel").disabled = true;
  showTools();
}

at("cancel").onclick = cancelRate;

export async function cancelRate() {
  if (!measuring) return;
  measuring.cancelled = true;
  try {
    if (measuring.id) await ask(`jobs/${measuring.id}/cancel`, {});
  } catch (error) {
    at("progress").textContent = error.message;
  }
}

// -------------------------------------------------------------------------------------- the deal

at("measure").onclick = () => {
  at("table").hidden = false;
  at("table").tBodies[0].replaceChildren();
  at("verdict").replaceChildren();
  return working(async () => {
    for (const { id, name } of rated) {
      const row = make("tr");
      const answer = await follow("rates", { policy: id, games: Number(at("games").value) }, (answer) => {
        at("progress").textContent = `${name}: ${answer.played} of ${answer.games} games`;
        if (!row.isConnected) at("table").tBodies[0].append(row);
        if (answer.played) showRate(answer, name, row);
      });
      if (!answer) break;
      if (answer.line && !at("verdict").childElementCount) {
        showVerdict(`This deal can be won: ${name} wins in ${answer.line.length} moves.`, answer.line);
      }
    }
  });
};

function showRate(answer, name, row) {
  const [low, high] = answer.win_interval.map((share) => Math.round(100 * share));
  const texts = [
    `${answer.wins}/${answer.played}`,
    answer.games === 1 ? "deterministic" : `${Math.round(100 * answer.win_rate)} % [${low}, ${high}]`,
    answer.cards_home.toFixed(1),
  ];
  const figures = texts.map((text) => make("td", { class: "figure" }, text));
  row.replaceChildren(make("td", {}, name), barCell(answer.win_rate), ...figures);
}

at("solve").onclick = () =>
  working(async () => {
    const answer = await follow("solve", {}, () => (at("progress").textContent = "Solving ..."));
    if (!answer) return;
    const words = {
      won: `This deal can be won, in ${answer.line.length} moves.`,
      unwinnable: "This deal cannot be won.",
      open: "The solver found neither a win nor a proof that there is none.",
    };
    showVerdict(words[answer.result], answer.line);
  });

let showLine = () => {};

/** Set the function that shows a winning line. */
export const onLine = (work) => (showLine = work);

function showVerdict(words, line) {
  const parts = [make("p", {}, words)];
  if (line.length) {
    const button = make("button", { type: "button", id: "show-line" }, "Show the moves");
    button.onclick = () => showLine(line);
    parts.push(button);
  }
  at("verdict").replaceChildren(...parts);
}

// ---------------------------------------------------------------------------------- the position

at("estimate").onclick = () =>
  working(async () => {
    const { game } = table;
    const name = policyName();
    await follow("rates", { policy: at("policy").value, games: PLAYOUTS, origin: "position" }, (answer) => {
      if (answer.played && table.game === game) {
        showChance(answer.win_rate, `${name} wins ${answer.wins} of ${answer.played} from here`);
      }
    });
  });

onShow((game, before, why) => {
  if (why === "deal" || why === "resume") {
    at("table").hidden = true;
    at("verdict").replaceChildren();
    at("progress").textContent = "";
  }
  showTools();
});
