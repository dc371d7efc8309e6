// The moves of the current game: the list of moves, undo, redo and restart, and storage across a reload.
import { moveList } from "./moves.js";
import { at, change, dealOf, inTurn, storeItem, loadItem, onShow, saveFile, showMessage, table } from "./table.js";

/** Go to the move that a function returns when it is the turn; do nothing if the game has no such move. */
function goTo(moveOf) {
  table.autoplay?.stop();
  return inTurn(() => {
    const move = moveOf(table.game);
    return move >= 0 && move <= table.game.moves_known && change("go-to", { move }, "jump");
  });
}
const list = moveList(at("line"), (move) => goTo(() => move), (by) => goTo((game) => game.moves_played + by));

onShow((game) => {
  list.fill(game.line.map(([, words]) => words));
  list.mark(game.moves_played);
  storeItem("game", { address: address(game), deal: dealOf(game) });
});

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

/** The stored game with its moves, if there is one for an address; else null. */
export function storedDeal(search) {
  const own = loadItem("game");
  return own?.deal && (!search || search === own.address) ? own.deal : null;
}

// ------------------------------------------------------------------------------------- buttons

at("undo").onclick = () => goTo((game) => game.moves_played - 1);
at("redo").onclick = () => goTo((game) => game.moves_played + 1);
at("restart").onclick = () => goTo(() => 0);

at("save").onclick = () => inTurn(() => saveFile("transcript", "txt"));
at("replay").onclick = () => inTurn(() => saveFile("replay", "html"));

at("share").onclick = async () => {
  const { moves_played, at: played } = dealOf(table.game);
  const moves = played ? `#moves=${moves_played.slice(0, played).join(",")}` : "";
  const link = location.href.replace(/#.*/, "") + moves;
  try {
    await navigator.clipboard.writeText(link);
    showMessage("The link to this position is copied.");
  } catch {
    showMessage(`The link to this position: ${link}`);
  }
};

/** The moves in the link, or null. */
export function movesOfLink() {
  const moves = new URLSearchParams(location.hash.slice(1)).get("moves");
  return moves === null ? null : moves.split(",").filter(Boolean);
}
