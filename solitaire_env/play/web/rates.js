// Win rates on a deal and from a position.
import { make } from "./board.js";
import { showLine } from "./line.js";
import { barCell } from "./options.js";
import { knownPolicies, policyName, showChance } from "./policies.js";
import { ask, positionOf } from "./server.js";
import { at, onShow, showMessage, showTools, table } from "./table.js";
import { inWorker } from "./workers.js";

const PLAYOUTS = 20; // games from a position
const Z = 1.959963984540054; // of a 95 % interval

let measuring = null; // the running measurement: { cancelled, stop: an AbortController }

export const isMeasuring = () => measuring !== null;

/** Wilson's interval of a share, 95 %. */
function wilson(wins, games) {
  const middle = (wins + (Z * Z) / 2) / (games + Z * Z);
  const half = (Z / (games + Z * Z)) * Math.sqrt((wins * (games - wins)) / games + (Z * Z) / 4);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** A function that plays a game with a policy, here in a worker, or on the server. */
function playerOf(session, { id, server }, signal) {
  if (server) return (wanted) => ask("play-out", { ...positionOf(session), policy: id, ...wanted }, signal);
  return inWorker("worker", session, signal, { policy: id });
}

/** Play games with a policy; report the results up to now after each. */
async function playGames(policy, origin, games, report) {
  const own = new AbortController();
  measuring.stop.signal.addEventListener("abort", () => own.abort());
  const play = playerOf(table.session, policy, own.signal);
  const total = { games, played: 0, wins: 0, home: 0, line: null };
  report(total);
  while (total.played < total.games) {
    const { won, home, line, only } = await play({ seed: total.played, origin });
    total.played += 1;
    total.wins += Number(won);
    total.home += home;
    if (won) total.line ??= line ?? null;
    if (only) total.games = 1; // it would play the same game again
    report(total);
  }
  own.abort();
  return total;
}

/** Run such work; an error is shown next to it. */
async function working(work) {
  showMessage("");
  measuring = { stop: new AbortController() };
  const { signal } = measuring.stop;
  at("cancel").disabled = false;
  showTools();
  try {
    await work();
    at("progress").textContent = "";
  } catch (error) {
    at("progress").textContent = signal.aborted ? "" : error.message;
  }
  measuring = null;
  at("cancel").disabled = true;
  showTools();
}

at("cancel").onclick = cancelRate;

export function cancelRate() {
  measuring?.stop.abort();
}

// -------------------------------------------------------------------------------------- the deal

at("measure").onclick = () => {
  at("table").hidden = false;
  at("table").tBodies[0].replaceChildren();
  at("verdict").replaceChildren();
  return working(async () => {
    for (const policy of knownPolicies()) {
      const row = make("tr");
      const { line } = await playGames(policy, "deal", Number(at("games").value), (total) => {
        at("progress").textContent = `${policy.name}: ${total.played} of ${total.games} games`;
        if (!row.isConnected) at("table").tBodies[0].append(row);
        if (total.played) showRate(total, policy.name, row);
      });
      if (line && !at("verdict").childElementCount) showVerdict(policy, line);
    }
  });
};

function showRate({ games, played, wins, home }, name, row) {
  const [low, high] = wilson(wins, played).map((share) => Math.round(100 * share));
  const texts = [
    `${wins}/${played}`,
    games === 1 ? "always the same" : `${Math.round((100 * wins) / played)} % [${low}, ${high}]`,
    (home / played).toFixed(1),
  ];
  const figures = texts.map((text) => make("td", { class: "figure" }, text));
  row.replaceChildren(make("td", {}, name), barCell(wins / played), ...figures);
}

function showVerdict({ id, name }, line) {
  const button = make("button", { type: "button", id: "show-line" }, "Show the moves");
  button.onclick = () => showLine(line, { from: 0, by: id });
  at("verdict").replaceChildren(make("p", {}, `This deal can be won: ${name} wins in ${line.length} moves.`), button);
}

// ---------------------------------------------------------------------------------- the position

at("estimate").onclick = () =>
  working(async () => {
    const { game } = table;
    const name = policyName();
    const policy = knownPolicies().find(({ id }) => id === at("policy").value);
    await playGames(policy, "position", PLAYOUTS, ({ played, wins }) => {
      if (played && table.game === game) showChance(wins / played, `${name} wins ${wins} of ${played} from here`);
    });
  });

onShow((game, before) => {
  if (!before) {
    cancelRate();
    at("table").hidden = true;
    at("verdict").replaceChildren();
    at("progress").textContent = "";
  }
  showTools();
});
