// Statistics of the player's own games; those in which a policy played a move do not count, and each deal counts once.
import { make } from "./board.js";
import { address } from "./line.js";
import { at, inTurn, loadItem, onShow, saveFile, showMessage, storeItem, table } from "./table.js";

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

// ----------------------------------------------------------------------------- export and import

at("export").onclick = () => saveFile(`${JSON.stringify(loadItem("statistics") ?? {}, null, 1)}\n`, "json", "solitaire-statistics");

const isCount = (value) => Number.isInteger(value) && value >= 0;

/** The statistics in the text of a file, by game; an error says what is wrong with it. */
function read(text) {
  const games = JSON.parse(text);
  if (Object.prototype.toString.call(games) !== "[object Object]") throw new Error("it has no games");
  return Object.entries(games).map(([name, own]) => {
    for (const figure of ["played", "won", "streak", "best"]) {
      if (!isCount(own?.[figure])) throw new Error(`${figure} of ${name} is ${JSON.stringify(own?.[figure])}, allowed: a whole number from 0`);
    }
    const { played, won, streak, best, moves, deals } = own;
    if (moves !== null && !isCount(moves)) throw new Error(`moves of ${name} is ${JSON.stringify(moves)}, allowed: a whole number from 0, or null`);
    if (!Array.isArray(deals) || deals.some((deal) => typeof deal !== "string")) throw new Error(`deals of ${name} is no list of texts`);
    return [name, { played, won, streak, best, moves, deals: deals.slice(0, KEPT) }];
  });
}

at("import").onclick = () => at("import-file").click();
at("import-file").onchange = async () => {
  const [file] = at("import-file").files;
  const text = await file.text();
  at("import-file").value = ""; // the same file can be chosen again
  inTurn(() => {
    let games;
    try {
      games = read(text);
    } catch (error) {
      throw new Error(`${file.name} cannot be imported: ${error.message}.`);
    }
    // Of two browsers, the one with more games of a kind has the newer statistics.
    const known = loadItem("statistics") ?? {};
    const newer = games.filter(([name, { played }]) => played > (known[name]?.played ?? 0));
    storeItem("statistics", { ...known, ...Object.fromEntries(newer) });
    if (table.game) draw(table.game);
    showMessage(`Imported the statistics of ${newer.length} game${newer.length === 1 ? "" : "s"}; of ${games.length - newer.length}, those here have as many games or more.`);
  });
};
