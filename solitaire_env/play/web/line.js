// The moves of the current game: the list of moves, undo, redo and restart, and storage across a reload.
import { moveList } from "./moves.js";
import { ask, askTable, at, change, withServer, storeItem, loadItem, onForgotten, onShow, showMessage, show, table } from "./table.js";
import { clock, isUnhelped } from "./statistics.js";

let line = []; // [action, words] of each move, including undone moves
let restarted = 0; // number of moves that the last restart undid, until the next move

const goTo = (move) => change("go-to", { move }, "jump");
const list = moveList(at("line"), goTo);

onShow(async (game, before, why) => {
  const own = game.id === before?.id;
  if (why !== "jump" || game.moves_played) restarted = 0;
  const next = own && why === "move" && game.moves_played === before.moves_played + 1;
  if (next && game.moves_known === game.moves_played) {
    line = [...line.slice(0, before.moves_played), [game.last.action, game.last.words]];
  } else if (!own || game.moves_known !== line.length || why === "move") {
    line = game.moves_known ? (await ask(`sessions/${game.id}/moves`).catch(() => ({ moves: [] }))).moves : [];
    if (table.game !== game) return;
  }
  list.fill(line.map(([, words]) => words));
  list.mark(game.moves_played);
  save();
});

/** Store the game: its id for this tab, its moves for a server that has dropped it. */
export function save() {
  const { game } = table;
  const deal = { game: game.game, deal: game.deal, build: game.build, spaces: game.spaces, moves: game.moves };
  const moves = { line: line.map(([action]) => action), at: game.moves_played };
  storeItem("game", { address: address(game), deal, ...moves, time: clock(), own: isUnhelped() });
  storeItem("session", { address: address(game), id: game.id }, sessionStorage);
}

let houseRules = () => ({});

/** Set the function that returns the rules of a game without house rules. */
export const knowRules = (rulesOf) => (houseRules = rulesOf);

/** The query of the address bar for the deal of a game. */
export function address(game) {
  const query = new URLSearchParams({ game: game.game, deal: game.deal });
  for (const [rule, own] of Object.entries(houseRules(game.game))) {
    if (game[rule] !== own) query.set(rule, game[rule]);
  }
  return `?${query}`.replaceAll("%3A", ":");
}

/** The stored game from the server, or dealt and played again; null if none is stored for an address. */
export async function resume(search) {
  const own = loadItem("game");
  if (!own?.deal || (search && search !== own.address)) return null;
  const tab = loadItem("session", sessionStorage);
  const still = tab?.address === own.address && (await ask(`sessions/${tab.id}`).catch(() => null));
  return still || ask("sessions", { ...own.deal, moves_played: own.line, at: own.at });
}

onForgotten(async () => {
  const own = loadItem("game");
  if (own?.address !== address(table.game)) return false;
  table.game.id = (await ask("sessions", { ...own.deal, moves_played: own.line, at: own.at })).id;
  return true;
});

// ------------------------------------------------------------------------------------- buttons

let turn = Promise.resolve();

/** Run calls one after the other, however fast the keys are pressed. */
const inTurn = (work) => (turn = turn.then(work));

at("undo").onclick = () =>
  inTurn(() => {
    if (restarted) return goTo(restarted);
    return table.game.moves_played ? change("undo", {}, "jump") : null;
  });
at("redo").onclick = () =>
  inTurn(() => (table.game.moves_played < table.game.moves_known ? change("redo", {}, "jump") : null));
at("restart").onclick = () =>
  withServer(async () => {
    const moves = table.game.moves_played;
    show(await askTable("restart", {}), "jump");
    restarted = moves;
    showMessage(`Back at the start. Undo returns to move ${moves}.`);
  });

/** Whether a move can be undone. */
export const canUndo = () => Boolean(table.game?.moves_played || restarted);

async function copy(link, what) {
  try {
    await navigator.clipboard.writeText(link);
    showMessage(`The link to ${what} is copied.`);
  } catch {
    showMessage(`The link to ${what}: ${link}`);
  }
}

const dealLink = () => location.href.replace(/#.*/, "");
at("share").onclick = () => copy(dealLink(), "this deal");
at("share-position").onclick = () => {
  const played = line.slice(0, table.game.moves_played).map(([action]) => action);
  copy(`${dealLink()}#moves=${played.join(",")}`, "this position");
};

/** The moves in the link, or null. */
export function movesOfLink() {
  const moves = new URLSearchParams(location.hash.slice(1)).get("moves");
  return moves === null ? null : moves.split(",").filter(Boolean);
}
