// The size of the cards on a board: as large as its frame allows.

const TALL = 1.42; // the height of a card, in widths
const WASTE = 1.8; // the width of the waste, in widths of a card
const SPREAD = 3.2; // the minimum height of the tableau, in heights of a card
const WIDEST = 130; // px

/** The possible arrangements of the piles above the tableau, each with its columns and rows. */
function* arrangements({ tableau, stocks, cells, foundations }) {
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
    const down = (high - way.rows * between) / (TALL * (way.rows + SPREAD));
    const width = Math.floor(Math.min(across, down, WIDEST) * 2) / 2;
    const worth = width * (1 - 0.03 * way.rows); // another row leaves less room for the tableau
    if (worth > best.worth) best = { ...way, width, worth };
  }
  const room = high - best.rows * (TALL * best.width + between);
  const sizes = { w: best.width, gap, between, names, room, across: best.across, columns: best.columns };
  for (const [name, size] of Object.entries(sizes)) {
    root.style.setProperty(`--${name}`, ["across", "columns"].includes(name) ? size : `${size.toFixed(1)}px`);
  }
  root.classList.toggle("stacked", best.stacked);
  root.classList.toggle("small", best.width < 52);
  root.dispatchEvent(new Event("fit"));
}
