// Statistics of the player's own games; those in which a policy played a move do not count, and each deal counts once.
import { make } from "./board.js";
import { address } from "./line.js";
import { at, loadItem, onShow, showMessage, storeItem, table } from "./table.js";

const NONE = { played: 0, won: 0, streak: 0, best: 0, moves: null, deals: [] };
const KEPT = 1000; // deals of a game that are known as counted

const of = (game) => ({ ...NONE, ...loadItem("statistics")?.[game.game] });
const canCount = (game) => !game.helped && !of(game).deals.includes(address(game));

/** Count the end of a game. */
function count(game, won) {
  if (!canCount(game)) return;
  const own = of(game);
  own.played += 1;
  own.won += Number(won);
  own.streak = won ? own.streak + 1 : 0;
  own.best = Math.max(own.best, own.streak);
  if (won) own.moves = Math.min(own.moves ?? Infinity, game.moves_played);
  own.deals = [address(game), ...own.deals].slice(0, KEPT);
  storeItem("statistics", { ...loadItem("statistics"), [game.game]: own });
}

function draw(game) {
  const own = of(game);
  const figures = {
    "Games played": own.played,
    Won: own.played ? `${own.won}, ${Math.round((100 * own.won) / own.played)} %` : "0",
    "Won in a row": `${own.streak}, at most ${own.best}`,
    "Fewest moves of a win": own.moves ?? "–",
  };
  const rows = Object.entries(figures).map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "figure" }, String(value))));
  at("statistics").replaceChildren(...rows);
  at("give-up").disabled = game.state === "won" || !game.moves_known || !canCount(game);
}

onShow((game, before, why) => {
  if (why === "move" && game.state === "won") count(game, true);
  draw(game);
});

at("give-up").onclick = () => {
  count(table.game, false);
  draw(table.game);
  showMessage("Counted as lost. You can play on.");
};
