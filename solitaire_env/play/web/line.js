// The moves of the current game: the list of moves, undo, redo and restart, links, and the games that the browser keeps.
import { linkText, load } from "./engine/engine.js";
import { moveList } from "./moves.js";
import { at, inTurn, loadItem, onShow, saveFile, show, showMessage, storeItem, table } from "./table.js";

const KEPT = 100; // games; beyond them, those that were played longest ago are dropped

/** Go to the move that a function returns when it is the turn; do nothing if the game has no such move. */
function goTo(moveOf) {
  table.autoplay?.stop();
  return inTurn(() => {
    const move = moveOf(table.game);
    if (move < 0 || move > table.game.moves_known) return;
    table.session.goTo(move);
    show("jump");
  });
}
const list = moveList(at("line"), (move) => goTo(() => move), (by) => goTo((game) => game.moves_played + by));

onShow((game) => {
  list.fill(game.line);
  list.mark(game.moves_played);
  keep();
});

/** Put a line to a win into the list of moves, for redo to play; from: the number of moves before it; by: who found it. */
export function showLine(line, { from, by }) {
  table.autoplay?.stop();
  return inTurn(() => {
    const { session } = table;
    session.goTo(from);
    session.playLine(line.map((text) => ({ text, by })));
    session.goTo(from);
    show("jump");
    showMessage("Redo plays the winning moves.");
  });
}

// ------------------------------------------------------------------------------------ addresses

let plainRules = () => ({});

/** Set the function that returns the rules of a game without house rules. */
export const knowRules = (rulesOf) => (plainRules = rulesOf);

/** The query of the address bar for the deal of a game. */
export function address({ game, deal, rules }) {
  const query = new URLSearchParams({ game, deal });
  const plain = plainRules(game);
  for (const [rule, chosen] of Object.entries(rules)) if (chosen !== (plain?.[rule] ?? chosen)) query.set(rule, chosen);
  return `?${query}`.replaceAll("%3A", ":");
}

/** What a link says after its deal: moves, the policies that helped, and the data of a game that no list has. */
export function partsOfLink() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const words = (name) => parts.get(name)?.split(",").filter(Boolean);
  return { moves: words("moves") ?? null, helpers: words("by") ?? [], variant: parts.get("variant") };
}

// ---------------------------------------------------------------------------------- kept games

const keyOf = (search) => `game ${search}`;

/** Keep the game for a reload, a link to its deal, and the next visit. */
function keep() {
  const { session, game } = table;
  const search = address(game);
  const moves = session.line.map(({ text, by, decides }) => (by || !decides ? [text, by, Number(decides)] : text));
  storeItem(keyOf(search), { moves, at: game.moves_played, seconds: session.seconds, helpers: [...session.helpers], variant: session.linked ?? null });
  const others = (loadItem("games") ?? []).filter((known) => known !== search);
  for (const dropped of others.splice(KEPT - 1)) localStorage.removeItem(`solitaire.${keyOf(dropped)}`);
  storeItem("games", [search, ...others]);
}

/** The kept game of an address, or null. */
export const keptGame = (search) => loadItem(keyOf(search));

/** The address of the game that was played last, or null. */
export const lastAddress = () => loadItem("games")?.[0] ?? null;

/** Play the moves of a kept game. */
export function playKept(session, { moves, at: played, helpers, seconds = 0 }) {
  session.playLine(moves.map((move) => (typeof move === "string" ? move : { text: move[0], by: move[1], decides: Boolean(move[2]) })));
  session.goTo(played);
  session.seconds = seconds;
  helpers.forEach((helper) => session.helpers.add(helper));
}

// ------------------------------------------------------------------------------------- buttons

at("undo").onclick = () => goTo((game) => game.moves_played - 1);
at("redo").onclick = () => goTo((game) => game.moves_played + 1);
at("restart").onclick = () => goTo(() => 0);

at("save").onclick = () => inTurn(() => saveFile(table.session.transcript(), "txt"));
at("replay").onclick = () =>
  inTurn(async () => {
    const page = await (await load("replay.html")).text();
    const data = table.session.replay();
    const title = `${data.title}, deal ${data.deal}, by ${data.policy}`;
    const text = JSON.stringify(data).replaceAll("<", "\\u003c");
    saveFile(page.replace("{{title}}", () => title.replace(/[&<>]/g, "")).replace("{{data}}", () => text), "html");
  });

at("share").onclick = async () => {
  const { session, game } = table;
  const parts = new URLSearchParams();
  if (game.moves_played) parts.set("moves", session.played.map(({ text }) => text).join(","));
  if (session.helpers.size) parts.set("by", [...session.helpers].join(","));
  if (session.linked) parts.set("variant", await linkText(session.linked));
  const hash = [...parts].length ? `#${parts}`.replaceAll("%2C", ",").replaceAll("%3E", ">") : "";
  const link = location.origin + location.pathname + address(game) + hash;
  try {
    await navigator.clipboard.writeText(link);
    showMessage("The link to this position is copied.");
  } catch {
    showMessage(`The link to this position: ${link}`);
  }
};
