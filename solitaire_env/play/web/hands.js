// Moving cards by clicks and taps, by keys, and by dragging. The engine provides the legal moves.
import { cardWords, cardsOf, make, markBoard, pileOf, pileWords, pilesOf, topOf } from "./board.js";
import { whyNot } from "./reasons.js";
import { at, inTurn, onShow, playMove, showMessage, table } from "./table.js";

const board = at("board");
let picked = null; // { pile, count, choices, time }: the cards that the player has picked up, and when

/** Whether a click on a card moves it to its best place; else it picks the card up. */
const tapsMove = () => at("taps").checked;

/** The legal moves from a pile. Foundations with the same card are alike. */
function movesFrom(pile) {
  const { piles, legal } = table.game;
  const alike = (source) => source[0] === "f" && pile[0] === "f" && piles[source] === piles[pile];
  return legal.filter(({ source }) => source === pile || alike(source));
}

/** The numbers of cards that can be taken from the end of each pile. */
function playable() {
  const counts = {};
  for (const pile of pilesOf(table.game.piles)) {
    for (const { count, exact } of movesFrom(pile)) {
      (counts[pile] ??= new Set()).add(count).add(exact ? count : 1);
    }
  }
  return counts;
}

/**
 * The targets of a number of cards from the end of a pile, each with its move. The top card also selects its
 * sequence, unless the player chooses the number of cards.
 */
function choicesOf(pile, count) {
  const choices = new Map();
  for (const move of movesFrom(pile)) {
    if (move.count !== count && (count !== 1 || move.exact)) continue;
    for (const target of move.targets) {
      if (!choices.has(target) || move.count === count) choices.set(target, move);
    }
  }
  return choices;
}

function mark() {
  const targets = picked ? [...picked.choices.keys()] : [];
  markBoard(board, { playable: playable(), picked, targets });
}

/** End a choice or a drag. */
function letGo() {
  picked = null;
  if (press?.ghost) drop(press.ghost);
  press = null;
  mark();
}
onShow(letGo);

/** Run work in turn, unless another game is on the board, or other cards are in the pile that the player saw. */
function atPile(pile, work) {
  const { session } = table;
  const { piles } = table.game;
  inTurn(() => {
    const same = table.session === session && (pile === "stock" || table.game.piles[pile] === piles[pile]);
    return same && !table.autoplay && work();
  });
}

function pick(pile, count, time = 0) {
  const choices = choicesOf(pile, count);
  if (!choices.size) {
    const cards = cardsOf(table.game.piles[pile]).length;
    letGo();
    showMessage(cards ? `No move is legal from ${pileWords(pile)}${count > 1 ? ` with ${count} cards` : ""}.` : "");
    return;
  }
  picked = { pile, count, choices, time };
  mark();
  const card = cardWords(cardsOf(table.game.piles[pile]).at(-count));
  const places = [...choices.keys()].map(pileWords);
  showMessage(`${card}${count > 1 ? `, ${count} cards` : ""}: to ${places.slice(0, 4).join(", ")}${places[4] ? " ..." : ""}.`);
}

function cancelPick(why = "") {
  letGo();
  if (why || table.game.state === "playing") showMessage(why);
}

/** The target for a drop on a pile: any foundation accepts a card that goes home. */
function targetAt(choices, pile) {
  if (choices.has(pile) || pile[0] !== "f") return pile;
  return [...choices.keys()].find((name) => name[0] === "f");
}

/** The move of cards to their best place: home, onto a card, to a space, to a cell. */
function bestMove(pile, count) {
  const choices = choicesOf(pile, count);
  const order = (name) => (name[0] === "f" ? 0 : name[0] === "c" ? 3 : cardsOf(table.game.piles[name]).length ? 1 : 2);
  const [best] = [...choices.keys()].sort((a, b) => order(a) - order(b));
  return choices.get(best);
}

const moveHome = (pile) => movesFrom(pile).find((move) => move.targets[0][0] === "f");

/** Draw, or turn the waste over if the stock is empty, whichever is legal. */
function draw() {
  const move = table.game.legal.find((move) => move.source === "stock");
  if (move) return playMove(move);
  if (table.game.piles.stock === undefined) showMessage("This game has no stock to draw from.");
  else showMessage(table.game.piles.redeals === 0 ? "The stock is empty, and no redeal is left." : "There is no card to draw.");
}

/** The pile of an event, and the number of cards from its end. */
function placeOf(event) {
  const pile = event.target.closest?.("#board [data-pile]");
  if (!pile) return null;
  const cards = [...pile.querySelectorAll(".card")];
  const card = event.target.closest(".card");
  const name = pile.dataset.pile;
  return { pile: name, count: card && name !== "waste" ? cards.length - cards.indexOf(card) : 1 };
}

// ------------------------------------------------------------------------------- click and tap

const TWICE = 450; // ms between the clicks of a double click

board.addEventListener("click", (event) => {
  const place = placeOf(event);
  if (!table.game || dragged) return;
  if (place) atPile(place.pile, () => clickAt(place, event));
  else inTurn(() => cancelPick());
});

/** A click on cards, or a key on them; taps: whether it moves them to their best place, if none are picked up. */
function clickAt({ pile, count }, { detail, timeStamp }, taps = tapsMove()) {
  if (pile === "stock") return draw();
  const again = picked?.pile === pile && picked.count === count;
  const home = again && count === 1 && detail > 0 && timeStamp - picked.time < TWICE && moveHome(pile);
  if (home) return playMove(home);
  const target = picked && targetAt(picked.choices, pile);
  if (picked?.choices.has(target)) return playMove(picked.choices.get(target));
  if (again) return cancelPick();
  if (taps && !picked && pile[0] !== "f") {
    if (detail > 1) return undefined; // the second click of a double click, on the card below
    const move = bestMove(pile, count);
    if (move) return playMove(move);
  }
  const { pile: from, count: held } = picked ?? {};
  pick(pile, count, timeStamp);
  // Nothing can be picked up there, so the click was meant as a target.
  if (from && !picked) showMessage(whyNot(table.game, from, held, pile));
}

// ---------------------------------------------------------------------------------------- keys

/** Whether a key event belongs to a form, which has its own keys. */
const inForm = (event) => event.target.closest?.("input:not([type=checkbox]), select, dialog");

document.addEventListener("keydown", (event) => {
  if (inForm(event) || !table.game || event.altKey) return;
  // With another alphabet, the place of the key counts.
  const key = (/^[^a-z]$/i.test(event.key) ? event.code.replace(/^Key/, "") : event.key).toLowerCase();
  let work;
  if (event.ctrlKey || event.metaKey) {
    if (key === "z") work = event.shiftKey ? "redo" : "undo";
    if (key === "y") work = "redo";
  } else work = { u: "undo", r: "redo", d: "draw", h: "hint" }[key];
  // The first arrow key goes to the board, wherever the focus is outside of lists and forms.
  if (key.startsWith("arrow") && !event.target.closest("#board, .side")) {
    event.preventDefault();
    (board.querySelector(".card.playable") ?? board.querySelector(".card, .base"))?.focus();
  }
  if (!work) return;
  event.preventDefault();
  if (event.repeat && table.busy) return;
  if (work === "draw") atPile("stock", draw);
  else if (work === "hint" ? !at("hint").disabled : !table.autoplay) at(work).onclick(); // undo and redo check in turn
});

board.addEventListener("keydown", (event) => {
  const place = placeOf(event);
  if (!table.game || !place || event.ctrlKey || event.metaKey || event.altKey) return;
  const { pile } = place;
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 1, ArrowDown: -1 }[event.key];
  if (event.key === "Escape") inTurn(() => cancelPick());
  else if (by && event.key.match(/Left|Right/)) {
    const names = picked ? [...new Set([picked.pile, ...picked.choices.keys()])] : pilesOf(table.game.piles);
    const order = pilesOf(table.game.piles).filter((name) => names.includes(name));
    topOf(board, order.at((order.indexOf(pile) + by) % order.length)).focus();
  } else if (by) {
    const cards = [...pileOf(board, pile).querySelectorAll(".card.playable")];
    const here = cards.includes(event.target) ? cards.indexOf(event.target) : cards.length;
    cards[here - by]?.focus();
  } else if (event.key === " " && event.target.matches(".card, .base")) {
    atPile(pile, () => clickAt(place, event, false));
  } else if (event.key.toLowerCase() === "f") {
    atPile(pile, () => {
      const home = moveHome(pile);
      return home ? playMove(home) : showMessage(`${pileWords(pile)}: no card goes home.`);
    });
  } else return;
  event.preventDefault();
});

// Some browsers click at the end of the key.
board.addEventListener("keyup", (event) => event.key === " " && event.target.matches(".card, .base") && event.preventDefault());

// ---------------------------------------------------------------------------------------- drag

const FAR = 6; // px that the pointer must move to drag
const BACK = 150; // ms in which cards spring back
const still = matchMedia("(prefers-reduced-motion: reduce)");
let press = null; // { id of the pointer, x, y, place, card, ghost }
let dragged = false; // whether the click that follows a drag is ignored

board.addEventListener("pointerdown", (event) => {
  if (!event.isPrimary) return; // a second finger
  if (press) giveUp(); // its release was lost
  dragged = false;
  const card = event.target.closest(".card:not(.down)");
  const stuck = event.pointerType === "touch" && !card?.classList.contains("playable"); // the finger scrolls
  if (!table.game || table.busy || table.autoplay || !card || stuck || event.button) return;
  press = { id: event.pointerId, x: event.clientX, y: event.clientY, place: placeOf(event), card };
});

addEventListener("pointermove", (event) => {
  if (event.pointerId !== press?.id) return;
  if (event.pointerType === "mouse" && !event.buttons) return giveUp();
  if (!press.ghost && Math.hypot(event.clientX - press.x, event.clientY - press.y) > FAR) lift();
  if (press?.ghost) {
    press.ghost.style.translate = `${event.clientX - press.x}px ${event.clientY - press.y}px`;
    light(under(event));
  }
});

/** Start a drag: a copy of the cards, in the size of the board, follows the pointer. */
function lift() {
  const { pile, count } = press.place;
  if (choicesOf(pile, count).size) pick(pile, count);
  else picked = { pile, count, choices: new Map() }; // they will spring back
  mark();
  try {
    board.setPointerCapture(press.id); // a release outside of the window is known, too
  } catch {
    // A pointer that has gone meanwhile; the next one ends the drag.
  }
  const box = press.card.getBoundingClientRect();
  press.ghost = make("div", { class: "board dragged", "aria-hidden": "true", style: null });
  press.ghost.style.cssText = board.style.cssText;
  press.ghost.classList.toggle("small", board.classList.contains("small"));
  const inPile = make("div", { class: pileOf(board, pile).className });
  inPile.style.cssText = pileOf(board, pile).style.cssText;
  for (const card of [...pileOf(board, pile).querySelectorAll(".card")].slice(-count)) {
    const own = card.getBoundingClientRect();
    const copy = card.cloneNode(true);
    copy.tabIndex = -1;
    Object.assign(copy.style, { position: "absolute", margin: 0, top: `${own.top - box.top}px`, left: 0 });
    inPile.append(copy);
  }
  press.ghost.append(inPile);
  Object.assign(press.ghost.style, { left: `${box.left}px`, top: `${box.top}px` });
  document.body.append(press.ghost);
  board.classList.add("dragging");
  dragged = true;
}

/** The target of the dragged cards: the pile under the pointer, or the pile that they cover most. */
function under(event) {
  const hit = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-pile]")?.dataset.pile;
  const target = hit && targetAt(picked.choices, hit);
  if (picked.choices.has(target)) return target;
  const held = press.ghost.querySelector(".card").getBoundingClientRect();
  let [best, most] = [null, 0];
  for (const name of picked.choices.keys()) {
    const box = pileOf(board, name).getBoundingClientRect();
    const wide = Math.min(held.right, box.right) - Math.max(held.left, box.left);
    const high = Math.min(held.bottom, box.bottom) - Math.max(held.top, box.top);
    if (wide > 0 && high > 0 && wide * high > most) [best, most] = [name, wide * high];
  }
  return best;
}

function light(name) {
  for (const pile of board.querySelectorAll(".pile.over")) pile.classList.remove("over");
  if (name) pileOf(board, name).classList.add("over");
}

addEventListener("pointerup", async (event) => {
  if (event.pointerId !== press?.id) return;
  const { ghost, place } = press;
  const { game } = table;
  const move = ghost && picked.choices.get(under(event));
  const over = ghost && document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-pile]")?.dataset.pile;
  press = null;
  setTimeout(() => (dragged = false));
  if (!ghost) return;
  await inTurn(async () => {
    if (table.game !== game) return cancelPick();
    if (!move) {
      const why = over ? whyNot(game, place.pile, place.count, over) : "The cards cannot go there.";
      await springBack(ghost);
      return cancelPick(why);
    }
    // The cards fly from the place of the drop.
    table.held = { ...place, ghost };
    playMove(move);
    table.held = null;
  });
  drop(ghost);
});

/** Move dragged cards back to their pile. */
function springBack(ghost) {
  if (still.matches) return undefined;
  return ghost.animate([{}, { translate: "none" }], { duration: BACK, easing: "ease-out", fill: "forwards" }).finished;
}

/** End a drag whose pointer is lost. */
function giveUp() {
  if (press?.ghost) cancelPick();
  press = null;
}

addEventListener("pointercancel", (event) => event.pointerId === press?.id && giveUp());
addEventListener("blur", giveUp);

function drop(ghost) {
  ghost.remove();
  light(null);
  board.classList.remove("dragging");
}
