// The size of the cards on a board: as large as its frame allows.

const TALL = 1.42; // the height of a card, in widths
const WASTE = 2.3; // the width of the waste with its counter, in widths of a card
const SPREAD = 3.2; // the minimum height of the tableau, in heights of a card
const WIDEST = 130; // px
const NARROW = 40; // px; below it, a tableau in two lines is worth its height

/** The possible arrangements, each with its columns, the rows above the tableau, and the lines of the tableau. */
function* arrangements({ tableau, ...others }) {
  for (const lines of tableau > 6 ? [1, 2] : [1]) {
    const line = Math.ceil(tableau / lines);
    for (const way of upper({ tableau: line, ...others })) yield { ...way, lines, line };
  }
}

function* upper({ tableau, stocks, cells, foundations }) {
  const left = (stocks ? 1 + WASTE : 0) + cells;
  for (const across of new Set([foundations, Math.ceil(foundations / 2), 8, 4].filter((n) => n <= foundations))) {
    const rows = Math.ceil(foundations / across);
    yield { across, rows, stacked: false, columns: Math.max(tableau, left + across + (left ? 0.3 : 0)) };
    if (left) yield { across, rows: rows + 1, stacked: true, columns: Math.max(tableau, left, across) };
  }
}

/** Make the cards as large as the frame of the board allows; then dispatch an event "fit". */
export function fitBoard(root) {
  const frame = root.parentElement;
  const style = getComputedStyle(frame);
  const wide = frame.clientWidth - 2 * parseFloat(style.paddingLeft);
  const names = document.body.classList.contains("labels") ? 15 : 0;
  const high = frame.clientHeight - 2 * parseFloat(style.paddingTop) - names;
  if (wide <= 0 || high <= 0) return;
  const count = (kind) => root.querySelectorAll(`.${kind} > [data-pile]`).length;
  const counts = { tableau: count("tableau"), stocks: count("stocks"), cells: count("cells"), foundations: count("foundations") };
  const gap = Math.min(12, Math.max(3, wide / 100));
  const between = Math.max(gap * 1.4, names);
  let best = { width: 0, worth: 0 };
  for (const way of arrangements(counts)) {
    const across = (wide - (Math.ceil(way.columns) - 1) * gap) / way.columns;
    const down = (high - (way.rows + way.lines - 1) * between) / (TALL * (way.rows + SPREAD * way.lines));
    const width = Math.floor(Math.min(across, down, WIDEST) * 2) / 2;
    let worth = width * (1 - 0.03 * way.rows); // another row leaves less room for the tableau
    if (way.lines > 1) worth = Math.min(worth, NARROW);
    if (worth > best.worth) best = { ...way, width, worth };
  }
  const room = (high - best.rows * (TALL * best.width + between) - (best.lines - 1) * between) / best.lines;
  const sizes = { w: best.width, gap, between, names, room };
  for (const [name, size] of Object.entries(sizes)) root.style.setProperty(`--${name}`, `${size.toFixed(1)}px`);
  for (const name of ["across", "columns", "line"]) root.style.setProperty(`--${name}`, best[name]);
  root.classList.toggle("stacked", best.stacked);
  root.classList.toggle("small", best.width < 52);
  root.dispatchEvent(new Event("fit"));
}
