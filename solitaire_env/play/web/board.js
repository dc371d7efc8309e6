// Draws the piles of a position. There are no rules here.
import { fitBoard } from "./fit.js";

const NAMES = { A: "Ace", T: "10", J: "Jack", Q: "Queen", K: "King" };
const SUITS = { C: "Clubs", D: "Diamonds", H: "Hearts", S: "Spades" };
const SHAPES = {
  C: "M12 2a4.6 4.6 0 0 0-3.9 7A4.6 4.6 0 1 0 10.9 15c0 3-1 5-3.4 6.5h9C14.1 20 13.1 18 13.1 15a4.6 4.6 0 1 0 2.8-6A4.6 4.6 0 0 0 12 2z",
  D: "M12 1.5 19.5 12 12 22.5 4.5 12z",
  H: "M12 22C6 16.5 2 12.5 2 8a5.3 5.3 0 0 1 10-2.5A5.3 5.3 0 0 1 22 8c0 4.5-4 8.5-10 14z",
  S: "M12 1.5C7 6.5 3 9.8 3 14a4.5 4.5 0 0 0 7.9 3c-.2 2-1.2 3.7-3.2 5h8.6c-2-1.3-3-3-3.2-5A4.5 4.5 0 0 0 21 14c0-4.2-4-7.5-9-12.5z",
};

// Columns and rows of the pips of 2 to 10, in a face of 60 by 90.
const [L, M, R] = [13, 30, 47];
const PIPS = {
  2: [[M, 14], [M, 76]],
  3: [[M, 14], [M, 45], [M, 76]],
  4: [[L, 14], [R, 14], [L, 76], [R, 76]],
  5: [[L, 14], [R, 14], [M, 45], [L, 76], [R, 76]],
  6: [[L, 14], [R, 14], [L, 45], [R, 45], [L, 76], [R, 76]],
  7: [[L, 14], [R, 14], [M, 29], [L, 45], [R, 45], [L, 76], [R, 76]],
  8: [[L, 14], [R, 14], [M, 29], [L, 45], [R, 45], [M, 61], [L, 76], [R, 76]],
  9: [[L, 14], [R, 14], [L, 35], [R, 35], [M, 45], [L, 55], [R, 55], [L, 76], [R, 76]],
  T: [[L, 14], [R, 14], [M, 24], [L, 35], [R, 35], [L, 55], [R, 55], [M, 66], [L, 76], [R, 76]],
};

/** "9 of Spades" for "9S", "9 of Clubs or Spades" for "9CS", and likewise for face-down cards. */
export function cardWords(card) {
  if (card === "??") return "face-down card";
  if (card[0] === "(") return `face-down ${cardWords(card.slice(1, 3))}`;
  return `${NAMES[card[0]] ?? card[0]} of ${[...card.slice(1)].map((suit) => SUITS[suit]).join(" or ")}`;
}

/** Whether a card of a pile is face down. */
const isDown = (card) => card === "??" || card[0] === "(";

/** "tableau pile 3" for "t3". */
export function pileWords(name) {
  const kinds = { t: "tableau pile", c: "cell", f: "foundation" };
  return /\d/.test(name) ? `${kinds[name[0]]} ${name.slice(1)}` : name;
}

/** A place that cards leave from or go to, in a sentence. */
const placeWords = (name) => ({ t: `pile ${name.slice(1)}`, c: `cell ${name.slice(1)}`, f: "the foundations", w: "the waste" })[name[0]];

/** A legal move on a board in words; target: the pile that receives the cards. */
export function moveWords(piles, { source, targets: [target], count }) {
  if (target === "stock") return "turn the waste over to the stock";
  if (source === "stock") return `draw ${["a card", "two cards", "three cards"][count - 1]} from the stock`;
  const cards = cardsOf(piles[source]);
  const first = source[0] === "f" ? cardWords(cards[0]) : cardWords(cards.at(-count));
  const what = count > 1 ? `${first} to ${cardWords(cards.at(-1))}, ${count} cards,` : first;
  const from = placeWords(source);
  if (target[0] === "f") return `${what} home, from ${from}`;
  if (target[0] === "c") return `${what} to a cell, from ${from}`;
  const under = cardsOf(piles[target]).at(-1);
  return `${what} from ${from} to ${under ? `${placeWords(target)}, onto ${cardWords(under)}` : `the empty ${placeWords(target)}`}`;
}

/** The visible cards of a pile, bottom first. */
export const cardsOf = (pile) => (pile && typeof pile === "string" && pile[0] !== "-" ? pile.split(" ") : []);

/** The names of the piles. */
export const pilesOf = (piles) => Object.keys(piles).filter((name) => name !== "redeals");

/** Number of cards on the foundations: all cards that are in no other pile. */
export function cardsHome(piles, cards) {
  const others = pilesOf(piles).filter((name) => name[0] !== "f");
  const count = (name) => (name === "stock" ? piles[name] : cardsOf(piles[name]).length);
  return others.reduce((left, name) => left - count(name), cards);
}

/** Number of cards that the last move brought to each pile. */
export function arrivals(before, after, cards) {
  const moved = {};
  const home = cardsHome(before, cards) < cardsHome(after, cards);
  for (const name of pilesOf(after)) {
    if (name === "stock" || before[name] === after[name]) continue;
    const [old, now] = [cardsOf(before[name]), cardsOf(after[name])];
    // A card that was turned up was there before.
    const stays = (card, k) => k < old.length && (card === old[k] || isDown(old[k]));
    const first = now.findIndex((card, k) => !stays(card, k));
    const more = name[0] === "f" ? Number(home) : first < 0 ? 0 : now.length - first;
    if (more > 0) moved[name] = more;
  }
  return moved;
}

/** Create an element with attributes and children; text is never HTML. */
export function make(tag, attributes = {}, ...children) {
  const space = ["svg", "path", "line", "polyline", "text", "rect"].includes(tag);
  const element = space
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const shape = (suit, attributes = {}) =>
  make("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", ...attributes }, make("path", { d: SHAPES[suit] }));

/** The face of a card; if its suit is one of two, both are shown, without pips. */
function face([rank, suit, other]) {
  const drawing = make("svg", { viewBox: "0 0 60 90", class: "face", "aria-hidden": "true" });
  const put = (x, y, size) => {
    const turned = y > 45 ? ` rotate(180 ${x} ${y})` : "";
    const where = `translate(${x - size / 2} ${y - size / 2}) scale(${size / 24})`;
    drawing.append(make("path", { d: SHAPES[suit], transform: turned + where }));
  };
  if (other) {
    put(18, 38, 24);
    suit = other;
    put(42, 38, 24);
    return drawing;
  }
  if (rank === "A") put(30, 45, 40);
  for (const [x, y] of PIPS[rank] ?? []) put(x, y, 17);
  if ("JQK".includes(rank)) {
    drawing.append(make("rect", { x: 4, y: 3, width: 52, height: 84, rx: 4, class: "frame" }));
    drawing.append(make("text", { x: 30, y: 62, class: "court" }, rank));
    put(14, 15, 14);
    put(46, 75, 14);
  }
  return drawing;
}

/** A face-down card: its back, and its corner if the card is known. */
function drawDown(card, pile) {
  const known = card !== "??";
  const back = make("span", {
    role: known && "img",
    class: `card down${known ? ` known suit-${card[2]}` : ""}`,
    "data-card": card,
    "data-words": `${cardWords(card)}, ${pileWords(pile)}`,
    "aria-label": known && `${cardWords(card)}, ${pileWords(pile)}`,
    // The label of the pile has the number of hidden cards.
    "aria-hidden": known ? null : "true",
  });
  if (known) back.append(make("span", { class: "corner", "aria-hidden": "true" }, ...corner(card.slice(1, 3))));
  return back;
}

/** The contents of the corner of a card. */
const corner = ([rank, ...suits]) => [rank === "T" ? "10" : rank, ...suits.map((suit) => shape(suit))];

function drawCard(card, { pile, top, moved, interactive }) {
  if (isDown(card)) return drawDown(card, pile);
  const words = `${cardWords(card)}, ${pileWords(pile)}`;
  const drawn = make(
    interactive ? "button" : "span",
    {
      type: interactive && "button",
      role: !interactive && "img",
      tabindex: interactive && (top ? 0 : -1),
      class: `card suit-${card[1]}${moved ? " moved" : ""}${top ? " top" : ""}`,
      "data-card": card,
      "data-words": words,
      "aria-label": moved ? `${words}, moved last` : words,
    },
    make("span", { class: "corner", "aria-hidden": "true" }, ...corner(card)),
  );
  if (top) drawn.append(face(card));
  if (top && !card[2]) drawn.append(shape(card[1], { class: "large" }));
  return drawn;
}

/** A button that spreads and gathers the waste, whose cards are all visible to the player. */
function spreadButton(count) {
  const words = `show all ${count} cards of the waste`;
  const button = make("button", { type: "button", class: "number", "aria-label": words, title: words }, String(count));
  button.onclick = (event) => {
    event.stopPropagation();
    button.closest(".board").classList.toggle("spread");
  };
  return button;
}

/** The label of the stock: the number of cards, and the effect of a click. */
function stockWords(count, redeals) {
  const many = redeals === "-" ? "any number of redeals" : `${redeals} redeal${redeals === 1 ? "" : "s"} left`;
  const left = redeals === undefined ? "" : `, ${many}`;
  if (count) return `stock, ${count} cards, draw${left}`;
  return `stock, empty${redeals ? ", turn the waste over" : ""}${left}`;
}

function drawPile(name, content, { moved = 0, interactive = false, redeals }) {
  const kind = name.replace(/\d+/, "");
  const cards = cardsOf(content);
  const count = name === "stock" ? content : cards.length;
  const down = cards.filter(isDown).length;
  const hidden = cards.filter((card) => card === "??").length;
  const turned = down ? `, ${down} face down` : "";
  const counted = { t: true, stock: true, waste: true }[kind];
  const pile = make("div", {
    class: `pile pile-${kind}`,
    role: "group",
    "data-pile": name,
    "aria-label": pileWords(name) + (counted ? `, ${count} card${count === 1 ? "" : "s"}` : "") + turned,
  });
  pile.style.setProperty("--count", Math.max(2, count - hidden));
  pile.style.setProperty("--hidden", hidden);
  const empty = kind === "stock" ? stockWords(count, redeals) : `${pileWords(name)}, empty`;
  const base = make(interactive ? "button" : "span", {
    type: interactive && "button",
    role: !interactive && "img",
    tabindex: interactive && (cards.length ? -1 : 0),
    class: kind === "stock" && count ? "base back" : kind === "stock" && redeals ? "base again" : "base",
    "data-words": empty,
    "aria-label": empty,
    "aria-hidden": cards.length ? "true" : null,
  });
  if (kind === "f") base.append(shape(content[1], { class: "large" }));
  if (kind === "stock") base.append(make("span", { class: "number", "aria-hidden": "true" }, String(count)));
  if (kind === "stock" && redeals !== undefined) {
    const text = redeals === "-" ? "\u21bb" : `\u21bb ${redeals}`;
    base.append(make("span", { class: "redeals", title: empty, "aria-hidden": "true" }, text));
  }
  pile.append(base);
  cards.forEach((card, k) => {
    const top = k === cards.length - 1;
    pile.append(drawCard(card, { pile: name, top, moved: k >= cards.length - moved, interactive }));
  });
  if (kind === "waste" && count > 1) pile.append(spreadButton(count));
  return pile;
}

/**
 * Draw a board into an element.
 *
 * piles: the piles of the server or the replay page, by name.
 * moved: number of cards that the last move brought to a pile, by name.
 * interactive: whether cards and places are buttons.
 */
export function drawBoard(root, piles, { moved = {}, interactive = false } = {}) {
  const names = pilesOf(piles).join();
  if (root.dataset.names !== names) layOut(root, piles, names);
  for (const name of pilesOf(piles)) {
    const content = piles[name];
    const redeals = name === "stock" ? piles.redeals : undefined;
    // Most piles do not change in a move, and are not drawn again.
    const old = pileOf(root, name);
    const key = JSON.stringify([content, moved[name], interactive, redeals]);
    if (old.dataset.key === key) continue;
    const focused = old.contains(document.activeElement);
    const pile = drawPile(name, content, { moved: moved[name], interactive, redeals });
    pile.dataset.key = key;
    old.replaceWith(pile);
    if (focused) topOf(root, name).focus({ preventScroll: true });
  }
}

/** Create the places for the piles of a game. */
function layOut(root, piles, names) {
  const areas = { stocks: [], cells: [], foundations: [], tableau: [] };
  const area = { s: "stocks", w: "stocks", c: "cells", f: "foundations", t: "tableau" };
  for (const name of pilesOf(piles)) areas[area[name[0]]].push(make("div", { "data-pile": name }));
  const parts = Object.entries(areas).filter(([, places]) => places.length);
  const group = ([kind, places]) =>
    make("div", { class: kind, role: "group", "aria-label": kind === "stocks" ? "stock and waste" : kind }, ...places);
  root.classList.add("board");
  if (!root.dataset.names) new ResizeObserver(() => fitBoard(root)).observe(root.parentElement);
  const tableau = group(parts.pop());
  root.replaceChildren(make("div", { class: "upper" }, ...parts.map(group)), tableau);
  root.dataset.names = names;
  fitBoard(root);
}

/** The element of a pile, and the element on top of it: its last card, or its empty place. */
export const pileOf = (root, name) => root.querySelector(`[data-pile="${name}"]`);
export const topOf = (root, name) => [...pileOf(root, name).querySelectorAll(".card, .base")].at(-1);

/**
 * Mark the cards that can be picked up, those that are picked up, and the piles that take them.
 *
 * playable: for each pile name, the numbers of cards that can be taken from the end of the pile.
 * picked: { pile, count } or null.
 * targets: names of piles.
 */
export function markBoard(root, { playable = {}, picked = null, targets = [] } = {}) {
  for (const pile of root.querySelectorAll("[data-pile]")) {
    const name = pile.dataset.pile;
    const cards = [...pile.querySelectorAll(".card")];
    const target = targets.includes(name);
    pile.classList.toggle("target", target);
    cards.forEach((card, k) => {
      if (card.classList.contains("down")) return;
      const count = cards.length - k;
      const can = playable[name]?.has(count) ?? false;
      const is = picked?.pile === name && count <= picked.count;
      card.classList.toggle("playable", can);
      card.classList.toggle("picked", is);
      card.setAttribute("aria-pressed", String(is));
      card.tabIndex = can || count === 1 ? 0 : -1;
      const more = [can && "playable", is && "picked", count === 1 && target && "can go here"].filter(Boolean);
      card.setAttribute("aria-label", [card.dataset.words, ...more].join(", "));
    });
    const base = pile.querySelector(".base");
    const more = !cards.length && target ? ", can go here" : "";
    base.setAttribute("aria-label", base.dataset.words + more);
  }
}
