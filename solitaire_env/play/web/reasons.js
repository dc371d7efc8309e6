// Why cards cannot go to a pile: the line of the rules that says so.
import { cardWords, cardsOf, pileWords } from "./board.js";

/** A sentence that says why the last cards of a pile, a number of them, cannot go to another pile. */
export function whyNot({ piles, describe }, from, count, to) {
  const card = cardsOf(piles[from]).at(-count);
  if (!card) return `${pileWords(from)} has no card.`;
  const what = `The ${cardWords(card)}${count > 1 ? ` with ${count - 1} card${count > 2 ? "s" : ""} on it` : ""}`;
  if (to === from) return `${what} is there already.`;
  const quote = (...names) => describe.filter((line) => names.includes(line.split(":")[0])).join(" ");
  const together = count > 1 ? ["Moves"] : [];
  if (to[0] === "s" || to[0] === "w") return `No card goes to the ${to}.`;
  if (to[0] === "f") return `${what} cannot go home yet. ${quote("Foundations")}`;
  if (to[0] === "c") return `${what} cannot go to ${pileWords(to)}. ${quote("Cells")}`;
  const under = cardsOf(piles[to]).at(-1);
  if (!under) return `${what} cannot go to the empty pile. ${quote("Spaces", ...together)}`;
  return `${what} cannot go onto the ${cardWords(under)}. ${quote("Building", ...together)}`;
}
