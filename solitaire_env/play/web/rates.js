// Win rates on the deal and from the position, and whether the deal can be won.
import { make } from "./board.js";
import { barCell, policyName, showValue } from "./policies.js";
import { ask, askTable, at, onShow, say, showTools, table } from "./table.js";

const PLAYOUTS = 20; // games from a position

let rated = []; // policies that have a win rate
let measuring = null; // id of what is being played

export const isMeasuring = () => measuring !== null;
export const canRate = (policy) => rated.some(({ id }) => id === policy);

/** Offer the win rates of these policies. */
export function showRated(policies) {
  rated = policies;
  at("rates").hidden = !rated.length && at("solve").hidden;
  at("measure").parentElement.hidden = !rated.length;
  at("table").hidden = true;
  at("verdict").replaceChildren();
  at("progress").textContent = "";
}

/** Have something worked out for the game, and tell how far it is until it is done. */
async function follow(verb, body, tell) {
  const { rate } = await askTable(verb, body);
  measuring = rate;
  at("cancel").disabled = false;
  showTools();
  for (;;) {
    const told = await ask(`rates/${rate}`);
    tell(told);
    if (!["waiting", "playing"].includes(told.state)) {
      if (told.error) throw new Error(told.error);
      return told;
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Do such work; what goes wrong is told beside it. */
async function working(work) {
  say("");
  try {
    await work(table.game.id);
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
  try {
    await ask(`rates/${measuring}/cancel`, {});
  } catch (error) {
    at("progress").textContent = error.message;
  }
}

// -------------------------------------------------------------------------------------- the deal

at("measure").onclick = () => {
  at("table").hidden = false;
  at("table").tBodies[0].replaceChildren();
  at("verdict").replaceChildren();
  return working(async (session) => {
    for (const { id, name } of rated) {
      const row = make("tr");
      const told = await follow("rates", { policy: id, games: Number(at("games").value) }, (told) => {
        at("progress").textContent = `${name}: ${told.played} of ${told.games} games`;
        if (!row.isConnected) at("table").tBodies[0].append(row);
        if (told.played) showRate(told, name, row);
      });
      if (told.state === "cancelled" || session !== table.game.id) break;
      if (told.line && !at("verdict").childElementCount) {
        showVerdict(`This deal can be won: ${name} wins in ${told.line.length} moves.`, told.line);
      }
    }
  });
};

function showRate(told, name, row) {
  const [low, high] = told.win_interval.map((share) => Math.round(100 * share));
  const texts = [
    `${told.wins}/${told.played}`,
    told.games === 1 ? "always so" : `${Math.round(100 * told.win_rate)} % [${low}, ${high}]`,
    told.cards_home.toFixed(1),
  ];
  const figures = texts.map((text) => make("td", { class: "figure" }, text));
  row.replaceChildren(make("td", {}, name), barCell(told.win_rate), ...figures);
}

at("solve").onclick = () =>
  working(async (session) => {
    const told = await follow("solve", {}, () => (at("progress").textContent = "Solving ..."));
    if (told.state === "cancelled" || session !== table.game.id) return;
    const words = {
      winnable: `This deal can be won, in ${told.line.length} moves.`,
      unwinnable: "This deal cannot be won.",
      unknown: "The solver found neither a win nor a proof that there is none.",
    };
    showVerdict(words[told.result], told.line);
  });

let showLine = () => {};

/** How a line that wins is shown. */
export const onLine = (work) => (showLine = work);

function showVerdict(words, line) {
  const parts = [make("p", {}, words)];
  if (line.length) {
    const button = make("button", { type: "button", id: "show-line" }, "Show me");
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
    await follow("rates", { policy: at("policy").value, games: PLAYOUTS, from: "position" }, (told) => {
      if (told.played && table.game === game) {
        showValue(told.win_rate, `${name} wins ${told.wins} of ${told.played} from here`);
      }
    });
  });

onShow(showTools);
