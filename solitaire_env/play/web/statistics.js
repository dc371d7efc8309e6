// Statistics of the player's own games; games in which a policy played a move do not count.
import { make } from "./board.js";
import { at, loadItem, onShow, storeItem } from "./table.js";

const NONE = { played: 0, won: 0, streak: 0, best: 0, moves: null };
const key = ({ game, deal }) => `${game} ${deal}`;

/** Count the end of a game, each deal once. */
function count(game, won) {
  const known = loadItem("statistics") ?? {};
  if (known.last === key(game) || game.helped) return;
  const own = { ...NONE, ...known[game.game] };
  own.played += 1;
  own.won += Number(won);
  own.streak = won ? own.streak + 1 : 0;
  own.best = Math.max(own.best, own.streak);
  if (won) own.moves = Math.min(own.moves ?? Infinity, game.moves_played);
  storeItem("statistics", { ...known, last: key(game), [game.game]: own });
}

onShow((game, before, why) => {
  if (why === "deal" && before?.moves_known && before.state !== "won") count(before, false);
  if (why === "move" && game.state === "won") count(game, true);
  const own = { ...NONE, ...loadItem("statistics")?.[game.game] };
  const figures = {
    "Games played": own.played,
    Won: own.played ? `${own.won}, ${Math.round((100 * own.won) / own.played)} %` : "0",
    "Won in a row": `${own.streak}, at most ${own.best}`,
    "Fewest moves of a win": own.moves ?? "–",
  };
  const rows = Object.entries(figures).map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "figure" }, String(value))));
  at("statistics").replaceChildren(...rows);
});
