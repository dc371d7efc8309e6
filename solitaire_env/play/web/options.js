// What a policy thinks of a position: its value as a bar, and its most probable actions as a table.
import { make } from "./board.js";

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

/** A share as a bar in a table. */
export function barCell(share) {
  const bar = make("span");
  bar.style.width = `${100 * share}%`;
  return make("td", { class: "bar" }, bar);
}

/** A value as a bar: empty for 0, full for 1. */
export function valueBar(value, text = `Value ${value.toFixed(2)}`) {
  const share = Math.max(0, Math.min(1, value));
  const fill = make("span", { class: "fill" });
  fill.style.width = `${100 * share}%`;
  const about = { role: "meter", "aria-label": "Value", "aria-valuemin": 0, "aria-valuemax": 1 };
  const now = { "aria-valuenow": share.toFixed(2), "aria-valuetext": text };
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
