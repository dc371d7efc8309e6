// Arrows over a board: the start, the target and the probability of moves.
import { make, pileOf, topOf } from "./board.js";

/** The middle of the visible part of the card that a move takes, and of its target. */
function ends(root, { source, targets, count }) {
  const frame = root.parentElement.getBoundingClientRect();
  const own = pileOf(root, source);
  const cards = [...own.querySelectorAll(".card")];
  const from = (source === "stock" ? null : cards.at(-count)) ?? cards.at(-1) ?? own;
  const middle = (element, high) => {
    const box = element.getBoundingClientRect();
    return [box.left + box.width / 2 - frame.left, box.top + Math.min(high, box.height / 2) - frame.top];
  };
  const width = own.getBoundingClientRect().width;
  return [middle(from, width * 0.35), middle(topOf(root, targets[0]), width * 0.7)];
}

/** The outline of an arrow, as a path. */
function outline([x1, y1], [x2, y2], thick) {
  const long = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [ux, uy] = [(x2 - x1) / long, (y2 - y1) / long];
  const point = (along, aside) => `${(x1 + ux * along - uy * aside).toFixed(1)} ${(y1 + uy * along + ux * aside).toFixed(1)}`;
  const neck = Math.max(0, long - thick * 2.6);
  const half = thick / 2;
  const points = [point(0, half), point(neck, half), point(neck, thick * 1.3), point(long, 0)];
  return `M${[...points, point(neck, -thick * 1.3), point(neck, -half), point(0, -half)].join("L")}Z`;
}

/**
 * Draw arrows over a board, the first over the others.
 *
 * moves: each { source, targets, count, label, share }; the share, 0 to 1, sets the thickness.
 */
export function drawArrows(root, moves) {
  const frame = root.parentElement;
  frame.querySelector(".arrows")?.remove();
  if (!moves.length || !root.querySelector(".pile")) return;
  const svg = make("svg", { class: "arrows", "aria-hidden": "true" });
  const unit = Math.max(3, root.querySelector(".pile").getBoundingClientRect().width * 0.11);
  [...moves].reverse().forEach((move) => {
    const first = move === moves[0];
    const [from, to] = ends(root, move);
    const thick = unit * (0.35 + 0.65 * (move.share ?? 1));
    svg.append(make("path", { d: outline(from, to, thick), class: first ? "arrow first" : "arrow" }));
    if (!move.label) return;
    const [x, y] = [from[0] + (to[0] - from[0]) * 0.3, from[1] + (to[1] - from[1]) * 0.3];
    svg.append(make("text", { x, y: y + 4, class: "chance" }, move.label));
  });
  frame.append(svg);
}
