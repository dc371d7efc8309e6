// The moves of the current game: the list of moves, undo, redo and restart, and storage across a reload.
import { moveList } from "./moves.js";
import { ask, at, change, dealOf, inTurn, storeItem, loadItem, onShow, showMessage, table } from "./table.js";
import { clock, isUnhelped } from "./statistics.js";

let restarted = 0; // number of moves that the last restart undid, until the next move

/** Go to the move that a function returns when it is the turn; do nothing if the game has no such move. */
function goTo(moveOf) {
  table.autoplay?.stop();
  return inTurn(() => {
    const move = moveOf(table.game);
    return move >= 0 && move <= table.game.moves_known && change("go-to", { move }, "jump");
  });
}
const list = moveList(at("line"), (move) => goTo(() => move), (by) => goTo((game) => game.moves_played + by));

onShow((game, before, why) => {
  if (why !== "jump" || game.moves_played) restarted = 0;
  list.fill(game.line.map(([, words]) => words));
  list.mark(game.moves_played);
  save();
});

/** Store the game: its id for this tab, its moves for a server that has dropped it. */
export function save() {
  const { game } = table;
  storeItem("game", { address: address(game), deal: dealOf(game), time: clock(), own: isUnhelped() });
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
  return still || ask("sessions", own.deal);
}

// ------------------------------------------------------------------------------------- buttons

at("undo").onclick = () =>
  inTurn(() => {
    if (restarted) return change("go-to", { move: restarted }, "jump");
    return table.game.moves_played ? change("undo", {}, "jump") : null;
  });
at("redo").onclick = () =>
  inTurn(() => (table.game.moves_played < table.game.moves_known ? change("redo", {}, "jump") : null));
at("restart").onclick = () =>
  inTurn(async () => {
    const moves = table.game.moves_played;
    if (!moves) return;
    await change("restart", {}, "jump");
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
  const { moves_played, at } = dealOf(table.game);
  copy(`${dealLink()}#moves=${moves_played.slice(0, at).join(",")}`, "this position");
};

/** The moves in the link, or null. */
export function movesOfLink() {
  const moves = new URLSearchParams(location.hash.slice(1)).get("moves");
  return moves === null ? null : moves.split(",").filter(Boolean);
}
