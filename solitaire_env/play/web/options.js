// What a policy thinks of a position: its value as a bar, and its most probable actions as a table.
import { make } from "./board.js";

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

/** A share as a bar in a table. */
export function barCell(share) {
  const bar = make("span");
  bar.style.width = `${100 * share}%`;
  return make("td", { class: "bar" }, bar);
}

/** A chance of winning as a bar. */
export const chanceBar = (share, text) => bar(share, 1, "Chance of winning", text);

/** A policy's value as a bar: the share of cards that it expects to go home, plus 1 for a win, so full for 2. */
export const valueBar = (value) => bar(value, 2, "How good the policy finds the position", `Position: ${percent(Math.max(0, Math.min(1, value / 2)), 0)}`);

function bar(value, most, label, text) {
  const share = Math.max(0, Math.min(1, value / most));
  const fill = make("span", { class: "fill" });
  fill.style.width = `${100 * share}%`;
  const about = { role: "meter", "aria-label": label, title: label, "aria-valuemin": 0, "aria-valuemax": most };
  const now = { "aria-valuenow": (share * most).toFixed(2), "aria-valuetext": text };
  return make("div", { class: "evaluation", ...about, ...now }, fill, make("span", { class: "value-text" }, text));
}

/** Actions, each { words, share, chosen }, as a table. */
export function optionTable(label, options) {
  const row = ({ words, share, chosen }) =>
    make(
      "tr",
      { class: chosen && "chosen" },
      make("td", {}, words),
      barCell(share),
      make("td", { class: "figure" }, percent(share)),
    );
  return make("table", { "aria-label": label }, make("tbody", {}, ...options.map(row)));
}
