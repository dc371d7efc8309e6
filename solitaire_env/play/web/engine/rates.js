// Games that a policy plays from a deal or a position: in a worker, so that the page can be used meanwhile.
import { Adviser } from "./advice.js";
import { randomStream } from "./random.js";

/** Wilson's interval of a share, 95 %. */
export function wilson(wins, games) {
  const z = 1.959963984540054;
  const share = wins / games;
  const middle = (share + (z * z) / (2 * games)) / (1 + (z * z) / games);
  const half = (z / (1 + (z * z) / games)) * Math.sqrt((share * (1 - share)) / games + (z * z) / (4 * games * games));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

/** Play the session to its end, as solitaire_env.evaluation.runner: { won, home, steps, line }. */
export function playOut(session, adviser, random) {
  const { cards, variant } = session;
  const line = [];
  const seen = new Set();
  let repeats = false;
  while (cards.status === "playing" && line.length < variant.limit && !repeats) {
    if (!adviser.network) {
      const key = String(cards.row);
      repeats = seen.has(key);
      seen.add(key);
    }
    for (const action of adviser.expand(adviser.decide(random).action)) {
      if (cards.status !== "playing" || line.length === variant.limit) break;
      session.step(action);
      line.push(cards.texts[action]);
    }
  }
  const steps = repeats && cards.status === "playing" ? variant.limit : line.length;
  return { won: cards.status === "won", home: Number(cards.state.home[0]), steps, line };
}

/** Shuffle the hidden cards of a position row, in place. */
function shuffleHidden(row, { row_cells: cells, row_stock: stock }, random) {
  const places = [];
  row.forEach((card, place) => card && (place >= stock || (place < cells && card >= 64)) && places.push(place));
  const hidden = places.map((place) => row[place] & 63);
  for (let n = hidden.length - 1; n > 0; n -= 1) {
    const k = Math.floor(random.random() * (n + 1));
    [hidden[n], hidden[k]] = [hidden[k], hidden[n]];
  }
  places.forEach((place, k) => (row[place] = hidden[k] | (row[place] & 64)));
  return places.length;
}

/** Play games with a policy; yields the results up to now after each, as solitaire_env.play.jobs. */
export function* measure(session, plan, common, weights, { games, origin }) {
  const adviser = new Adviser(session, plan, common, weights);
  const { cards } = session;
  const fromHere = origin === "position";
  const start = fromHere ? cards.row.slice() : session.first;
  const hides = shuffleHidden(start.slice(), cards.rules, randomStream("", 0)) > 0;
  const count = adviser.network || (fromHere && hides) ? games : 1;
  const results = { games: count, played: 0, wins: 0, home: 0, steps: 0 };
  for (let seed = 0; seed < count; seed += 1) {
    const row = start.slice();
    if (fromHere) shuffleHidden(row, cards.rules, randomStream(String(start), seed));
    cards.row = row;
    const { won, home, steps, line } = playOut(session, adviser, randomStream(fromHere ? String(row) : session.deal, seed));
    results.played += 1;
    results.wins += Number(won);
    results.home += home;
    results.steps += steps;
    const { played, wins } = results;
    if (won && !fromHere) results.line ??= line;
    yield {
      ...results, win_rate: wins / played, win_interval: wilson(wins, played), cards_home: results.home / played,
      steps: results.steps / played,
    }; // prettier-ignore
  }
}
