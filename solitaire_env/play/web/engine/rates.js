// A game that a policy plays from a deal or a position: in a worker, so that the page can be used meanwhile.

/** Play the session to its end, as solitaire_env.evaluation.runner: { won, home, steps, line }. */
export function playOut(session, adviser, uniform) {
  const { cards, variant } = session;
  adviser.begin();
  const line = [];
  const seen = new Set();
  let repeats = false;
  while (cards.status === "playing" && line.length < variant.limit && !repeats) {
    if (!adviser.stochastic) {
      const key = String(cards.row);
      repeats = seen.has(key);
      seen.add(key);
    }
    for (const action of adviser.expand(adviser.decide(uniform()).action)) {
      if (cards.status !== "playing" || line.length === variant.limit) break;
      session.step(action);
      line.push(cards.texts[action]);
    }
  }
  const steps = repeats && cards.status === "playing" ? variant.limit : line.length;
  return { won: cards.status === "won", home: cards.cardsHome, steps, line };
}

/** A game with a seed, from the deal or from a position with its hidden cards dealt again. */
export function playOnce(session, adviser, { seed, origin }) {
  const { cards } = session;
  const here = cards.row.slice();
  const seen = session.stockSeen[0];
  let hidden = false;
  if (origin === "position") {
    session.resample(seed);
    const first = String(cards.row);
    session.resample(seed + 1);
    hidden = first !== String(cards.row);
  } else cards.row = session.first;
  let draws = 0;
  const result = playOut(session, adviser, () => session.uniform(seed, (draws += 1)));
  cards.row = here;
  session.stockSeen[0] = seen;
  if (origin === "position") delete result.line;
  return { ...result, only: !adviser.stochastic && !hidden };
}
