// The nearest names to a wrong one.

/** Number of letters to insert, remove or replace, to make one word of another. */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, k) => k);
  for (let n = 0; n < one.length; n += 1) {
    const next = [n + 1];
    for (let k = 0; k < other.length; k += 1) next.push(Math.min(row[k + 1] + 1, next[k] + 1, row[k] + (one[n] === other[k] ? 0 : 1)));
    row = next;
  }
  return row.at(-1);
}

/** The games whose names are nearest to a wrong name, the nearest first. */
export function nearest(name, games) {
  const wrong = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const far = (game) => distance(wrong, game.name) - (game.name.startsWith(wrong) || wrong.startsWith(game.name) ? 100 : 0);
  return [...games].sort((a, b) => far(a) - far(b)).slice(0, 3);
}
