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

const inLink = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** The games one of whose names is nearest to a wrong name, the nearest first. */
export function nearest(wrong, games) {
  const asked = inLink(wrong);
  const farFrom = (name) => distance(asked, name) - (name.startsWith(asked) || asked.startsWith(name) ? 100 : 0);
  const far = ({ name, aliases = [] }) => Math.min(...[name, ...aliases].map((own) => farFrom(inLink(own))));
  return [...games].sort((a, b) => far(a) - far(b)).slice(0, 3);
}
