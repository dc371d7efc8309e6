// Animations of cards: from their old to their new places, and from the stock.
import { pileOf } from "./board.js";

const TIME = 150; // ms
const STEP = 6; // ms between two dealt cards

const still = matchMedia("(prefers-reduced-motion: reduce)");

const cardsIn = (pile) => [...pile.querySelectorAll(".card")];
const boxOf = (element) => element.getBoundingClientRect();

/** The cards of each pile and their positions; dragged cards are at the place of the drop. */
function look(root, held) {
  const piles = {};
  for (const pile of root.querySelectorAll("[data-pile]")) {
    piles[pile.dataset.pile] = cardsIn(pile).map((card) => ({ card: card.dataset.card, box: boxOf(card) }));
  }
  const dragged = held ? cardsIn(held.ghost) : [];
  dragged.forEach((card, k) => {
    const own = piles[held.pile].at(k - dragged.length);
    if (own) own.box = boxOf(card);
  });
  return piles;
}

function fly(card, from, { delay = 0, turned = false } = {}) {
  const to = boxOf(card);
  const pile = card.parentElement;
  const start = `translate(${from.left - to.left}px, ${from.top - to.top}px)${turned ? " scaleX(0.1)" : ""}`;
  pile.style.zIndex = 3;
  const flight = card.animate([{ transform: start }, { transform: "none" }], {
    duration: TIME,
    delay,
    easing: "ease-out",
    fill: "backwards",
  });
  flight.onfinish = flight.oncancel = () => (pile.style.zIndex = "");
}

const turn = (card) => card.animate([{ transform: "scaleX(0)" }, { transform: "none" }], { duration: TIME });

/** Draw the next position: cards fly to their new places, and cards that are turned up turn. */
export function moveCards(root, draw, held) {
  if (still.matches) return draw();
  const before = look(root, held);
  draw();
  const gone = {}; // the old places of moved cards, by card
  const came = [];
  for (const pile of root.querySelectorAll("[data-pile]")) {
    const [old, now] = [before[pile.dataset.pile] ?? [], cardsIn(pile)];
    const changed = now.findIndex((card, k) => card.dataset.card !== old[k]?.card);
    const first = changed < 0 ? now.length : changed;
    for (const { card, box } of old.slice(first)) (gone[card] ??= []).push(box);
    came.push(...now.slice(first).map((card, k) => ({ card, old: old[first + k], pile: pile.dataset.pile })));
  }
  for (const { card, old, pile } of came) {
    const from = gone[card.dataset.card]?.shift();
    if (from) fly(card, from);
    else if (pile === "waste" && pileOf(root, "stock")) fly(card, boxOf(pileOf(root, "stock")), { turned: true });
    else if (old?.card === "??") turn(card);
  }
}

/** Animate the deal, card by card, from the stock or from above. */
export function dealOut(root) {
  if (still.matches) return;
  const from = boxOf(pileOf(root, "stock") ?? root);
  const rows = [...root.querySelectorAll(".pile-t")].map(cardsIn);
  const highest = Math.max(...rows.map((cards) => cards.length));
  let dealt = 0;
  for (let row = 0; row < highest; row += 1) {
    for (const cards of rows) if (cards[row]) fly(cards[row], from, { delay: Math.min(600, STEP * dealt++) });
  }
}
