// Why cards cannot go to a pile, in words: the kernels say what is legal, this explains what is not.
import { cardWords, cardsOf, pileWords } from "./board.js";

const RANKS = "A23456789TJQK";
const BUILDING = {
  "same suit": "in the same suit",
  "alternate color": "in alternate colors",
  "any suit": "in any suit",
  "other suit": "in another suit",
  "same color": "in the same color",
};
const isRed = (suit) => "DH".includes(suit);
const fitting = {
  "same suit": (a, b) => a === b,
  "alternate color": (a, b) => isRed(a) !== isRed(b),
  "any suit": () => true,
  "other suit": (a, b) => a !== b,
  "same color": (a, b) => isRed(a) === isRed(b),
};

/** Whether a card fits onto another, apart from games in which a King goes onto an Ace. */
const fits = (build, [rank, suit], [under, other]) => RANKS.indexOf(under) === RANKS.indexOf(rank) + 1 && fitting[build](suit, other);

/** A sentence that says why the last cards of a pile, a number of them, cannot go to another pile. */
export function whyNot({ piles, build, spaces, moves }, from, count, to) {
  const cards = cardsOf(piles[from]);
  const card = cards.at(-count);
  if (!card) return `${pileWords(from)} has no card.`;
  const what = `The ${cardWords(card)}${count > 1 ? ` with ${count - 1} card${count > 2 ? "s" : ""} on it` : ""}`;
  const many = `${count} cards`;
  const kind = to[0];
  if (to === from) return `${what} is there already.`;
  if (kind === "s" || kind === "w") return `No card goes to the ${to}.`;
  if (kind === "f") return count > 1 ? `Cards go home one by one, not ${many}.` : `${what} cannot go home yet: another card comes first.`;
  if (kind === "c") return count > 1 ? `A cell holds one card, not ${many}.` : `${pileWords(to)} is not free.`;
  const under = cardsOf(piles[to]).at(-1);
  if (!under) {
    if (spaces === "none") return "No card may fill a space in this game.";
    if (spaces !== "any") return `${what} may not fill a space: only ${spaces === "kings" ? "Kings" : "cards of one rank"} may.`;
    return `${what} cannot move together to a space: ${limit(moves)}.`;
  }
  if (!fits(build, card, under)) return `${what} does not fit onto the ${cardWords(under)}: piles build down ${BUILDING[build]}.`;
  return count > 1 ? `${what} cannot move together: ${limit(moves)}.` : `${what} cannot go there.`;
}

const limit = (moves) =>
  ({
    "one card": "this game moves one card at a time",
    supermove: "that many need more empty cells or spaces",
    sequence: "only a sequence moves together",
    "any group": "the pile has no room",
  })[moves];
