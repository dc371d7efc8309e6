// A game that is played in the page. What is legal, and what a move does, the server says.
import {
  arrivals,
  cardWords,
  cardsHome,
  cardsOf,
  drawBoard,
  make,
  markBoard,
  pileOf,
  pileWords,
  pilesOf,
  topOf,
} from "./board.js";

const at = (id) => document.getElementById(id);
const board = at("board");

let game = null; // as the server told it last
let picked = null; // { pile, count, choices }: what the player has in hand
let busy = false; // a request is under way
let going = false; // a policy plays on
let known = false; // who may be asked about this game

// --------------------------------------------------------------------------------------- server

async function ask(path, body) {
  const options = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const answer = await fetch(`api/${path}`, options);
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}

function say(text, wrong = false) {
  at("status").textContent = text;
  at("status").classList.toggle("error", wrong);
}

/** Do something that asks the server, one at a time; what goes wrong is told. */
async function doing(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (error) {
    going = false;
    say(error.message === "Failed to fetch" ? "The server does not answer." : error.message, true);
  }
  busy = false;
  showTools();
}

// ---------------------------------------------------------------------------------------- board

/** The legal moves from a pile. Foundations with the same card are alike. */
function movesFrom(pile) {
  const alike = (source) => source[0] === "f" && pile[0] === "f" && game.piles[source] === game.piles[pile];
  return game.legal.filter(({ source }) => source === pile || alike(source));
}

/** The numbers of cards that can be taken from the end of each pile. */
function playable() {
  const counts = {};
  for (const pile of pilesOf(game.piles)) {
    for (const { count, exact } of movesFrom(pile)) {
      (counts[pile] ??= new Set()).add(count).add(exact ? count : 1);
    }
  }
  return counts;
}

/**
 * Where so many cards from the end of a pile can go, each with the move. The top card stands for its sequence,
 * unless the player says how many cards go.
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

function show(next, { quiet = false } = {}) {
  const moved = game && game.id === next.id && next.last ? arrivals(game.piles, next.piles, next.cards) : {};
  game = next;
  picked = null;
  drawBoard(board, game.piles, { moved, interactive: true });
  board.dataset.moves = game.moves_played;
  mark();
  const home = cardsHome(game.piles, game.cards);
  const rules = [game.build, `spaces: ${game.spaces}`, game.moves].join(", ");
  at("title").textContent = `${game.title}, deal ${game.deal}`;
  at("about").textContent = `${home} of ${game.cards} cards home, move ${game.moves_played}. Rules: ${rules}.`;
  document.title = at("title").textContent;
  at("save").href = `api/sessions/${game.id}/transcript`;
  const ends = {
    won: `Won, in ${game.moves_played} moves.`,
    stuck: "Stuck: no move is legal. Undo takes a move back.",
  };
  if (ends[game.state]) say(ends[game.state]);
  else if (!quiet) say(game.last ? `${game.last.words} (${game.last.action})` : "Your move.");
  showTools();
}

function pick(pile, count) {
  const choices = choicesOf(pile, count);
  if (!choices.size) {
    const cards = cardsOf(game.piles[pile]).length;
    letGo();
    if (cards) say(`Nothing can go anywhere from ${pileWords(pile)}${count > 1 ? `, ${count} cards` : ""}.`);
    return;
  }
  picked = { pile, count, choices };
  mark();
  const card = cardWords(cardsOf(game.piles[pile]).at(-count));
  const places = [...choices.keys()].map(pileWords);
  say(`${card}${count > 1 ? `, ${count} cards` : ""}: to ${places.slice(0, 4).join(", ")}${places[4] ? " ..." : ""}.`);
}

function letGo() {
  picked = null;
  mark();
}

const playMove = (move) =>
  doing(async () => show(await ask(`sessions/${game.id}/move`, { action: move.action })));

/** The target that a pile stands for: any foundation takes what goes home. */
function targetAt(choices, pile) {
  if (choices.has(pile) || pile[0] !== "f") return pile;
  return [...choices.keys()].find((name) => name[0] === "f");
}

function sendHome(pile) {
  const move = movesFrom(pile).find((move) => move.targets[0][0] === "f");
  if (move) playMove(move);
  return Boolean(move);
}

/** Draw, or turn the waste over where the stock is empty: the server says which. */
function draw() {
  const move = game.legal.find((move) => move.source === "stock");
  if (move) playMove(move);
  else say(game.piles.redeals === 0 ? "The stock is empty, and no redeal is left." : "There is no card to draw.");
}

/** Where an event is: the pile, and how many cards from its end. */
function placeOf(event) {
  const pile = event.target.closest?.("[data-pile]");
  if (!pile) return null;
  const cards = [...pile.querySelectorAll(".card")];
  const card = event.target.closest(".card");
  const name = pile.dataset.pile;
  return { pile: name, count: card && name !== "waste" ? cards.length - cards.indexOf(card) : 1 };
}

// ------------------------------------------------------------------------- click, tap and Enter

const TWICE = 450; // ms between the clicks of a double click
let clicked = { pile: "", time: 0 };

board.addEventListener("click", (event) => {
  const place = placeOf(event);
  if (!game || busy || going || dragged) return;
  if (!place) return letGo();
  const { pile, count } = place;
  const twice = event.detail > 0 && clicked.pile === pile && event.timeStamp - clicked.time < TWICE;
  clicked = { pile, time: twice ? 0 : event.timeStamp };
  if (pile === "stock") return draw();
  if (twice && count === 1 && sendHome(pile)) return;
  const target = picked && targetAt(picked.choices, pile);
  if (picked?.choices.has(target)) return playMove(picked.choices.get(target));
  if (picked?.pile === pile && picked.count === count) return letGo();
  pick(pile, count);
});

board.addEventListener("keydown", (event) => {
  const place = placeOf(event);
  if (!game || !place || event.ctrlKey || event.metaKey || event.altKey) return;
  const { pile, count } = place;
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 1, ArrowDown: -1 }[event.key];
  const letters = { d: draw, u: undo, f: () => sendHome(pile) || say(`${pileWords(pile)}: nothing goes home.`) };
  const letter = letters[event.key.toLowerCase()];
  if (event.key === "Escape") letGo();
  else if (by && event.key.match(/Left|Right/)) {
    const names = picked ? [...new Set([picked.pile, ...picked.choices.keys()])] : pilesOf(game.piles);
    const order = pilesOf(game.piles).filter((name) => names.includes(name));
    topOf(board, order.at((order.indexOf(pile) + by) % order.length)).focus();
  } else if (by) {
    const cards = [...pileOf(board, pile).querySelectorAll(".card.playable")];
    const next = cards.at(cards.indexOf(event.target) - by);
    if (count + by > 0) next?.focus();
  } else if (letter && !busy && !going) letter();
  else return;
  event.preventDefault();
});

// ---------------------------------------------------------------------------------------- drag

const FAR = 6; // px that a pointer moves before it drags
let press = null; // { x, y, place, card }
let dragged = false; // so that the click at its end is none

board.addEventListener("pointerdown", (event) => {
  const place = placeOf(event);
  dragged = false;
  const card = event.target.closest(".card.playable");
  if (!game || busy || going || !card || event.button || !choicesOf(place.pile, place.count).size) return;
  press = { x: event.clientX, y: event.clientY, place, card };
});

addEventListener("pointermove", (event) => {
  if (!press) return;
  if (!press.ghost && Math.hypot(event.clientX - press.x, event.clientY - press.y) > FAR) lift();
  if (press.ghost) {
    press.ghost.style.translate = `${event.clientX - press.x}px ${event.clientY - press.y}px`;
  }
});

function lift() {
  const { pile, count } = press.place;
  pick(pile, count);
  const box = press.card.getBoundingClientRect();
  press.ghost = make("div", { class: "board dragged", "aria-hidden": "true" });
  const cards = [...pileOf(board, pile).querySelectorAll(".card")].slice(-count);
  for (const card of cards) {
    const own = card.getBoundingClientRect();
    const copy = card.cloneNode(true);
    copy.tabIndex = -1;
    Object.assign(copy.style, { position: "absolute", margin: 0, top: `${own.top - box.top}px`, left: 0 });
    Object.assign(copy.style, { width: `${own.width}px`, height: `${own.height}px` });
    press.ghost.append(copy);
  }
  Object.assign(press.ghost.style, { left: `${box.left}px`, top: `${box.top}px` });
  board.parentElement.append(press.ghost);
  board.classList.add("dragging");
  dragged = true;
}

/** The pile that takes what is held over it: the one under the pointer, or that which it covers most. */
function under(event) {
  const hit = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-pile]")?.dataset.pile;
  const target = hit && targetAt(picked.choices, hit);
  if (picked.choices.has(target)) return target;
  const held = press.ghost.firstElementChild.getBoundingClientRect();
  let [best, most] = [null, 0];
  for (const name of picked.choices.keys()) {
    const box = pileOf(board, name).getBoundingClientRect();
    const wide = Math.min(held.right, box.right) - Math.max(held.left, box.left);
    const high = Math.min(held.bottom, box.bottom) - Math.max(held.top, box.top);
    if (wide > 0 && high > 0 && wide * high > most) [best, most] = [name, wide * high];
  }
  return best;
}

addEventListener("pointerup", (event) => {
  if (press?.ghost) {
    const move = picked?.choices.get(under(event));
    drop();
    if (move) playMove(move);
    else letGo();
    setTimeout(() => (dragged = false));
  }
  press = null;
});

addEventListener("pointercancel", () => {
  if (press?.ghost) {
    drop();
    letGo();
  }
  press = null;
});

function drop() {
  press.ghost.remove();
  board.classList.remove("dragging");
}

// ---------------------------------------------------------------------------------------- tools

function showTools() {
  const none = !game || (game.state !== "playing" && !going);
  at("undo").disabled = at("restart").disabled = going || !game?.moves_played;
  at("hint").disabled = at("one").disabled = going || none || !known;
  at("on").disabled = none || !known;
  at("on").textContent = going ? "Stop" : "Play on";
  at("policy").disabled = going;
  at("measure").disabled = going || !known || measuring !== null;
}

const undo = () => doing(async () => show(await ask(`sessions/${game.id}/undo`, {})));
at("undo").onclick = undo;
at("restart").onclick = () => doing(async () => show(await ask(`sessions/${game.id}/restart`, {})));

at("share").onclick = async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link to this deal is copied.");
  } catch {
    say(`The link to this deal: ${location.href}`);
  }
};

// ------------------------------------------------------------------------------------- policies

const percent = (share) => `${(100 * share).toFixed(1)} %`;

function showAdvice(advice, name) {
  const parts = [make("p", {}, `${name}: ${advice.words} (${advice.action})`)];
  if (advice.plays.length > 1) parts.push(make("p", { class: "soft" }, `As single moves: ${advice.plays.join(", ")}`));
  if (advice.value !== null) parts.push(make("p", {}, `Value ${advice.value.toFixed(2)}`));
  if (advice.actions.length) {
    const rows = advice.actions.map(([text, share]) => {
      const bar = make("span");
      bar.style.width = `${100 * share}%`;
      const cells = [make("td", {}, text), make("td", { class: "bar" }, bar)];
      return make(
        "tr",
        { class: text === advice.action && "chosen" },
        ...cells,
        make("td", { class: "figure" }, percent(share)),
      );
    });
    parts.push(make("table", { "aria-label": "Likeliest actions" }, make("tbody", {}, ...rows)));
  }
  at("advice").replaceChildren(...parts);
}

const policyName = () => at("policy").selectedOptions[0].textContent;

async function advance() {
  const name = policyName();
  const next = await ask(`sessions/${game.id}/advance`, { policy: at("policy").value });
  show(next, { quiet: going });
  showAdvice(next.advice, name);
}

at("hint").onclick = () =>
  doing(async () => {
    const advice = await ask(`sessions/${game.id}/hint`, { policy: at("policy").value });
    showAdvice(advice, policyName());
  });
at("one").onclick = () => doing(advance);

at("on").onclick = async () => {
  if (going) {
    going = false;
    return;
  }
  going = true;
  showTools();
  let played = 0;
  while (going && game.state === "playing") {
    const start = performance.now();
    await doing(advance);
    played += 1;
    const rest = 1000 / Number(at("speed").value) - (performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, rest)));
  }
  if (going || game.state === "playing") {
    if (!at("status").classList.contains("error") && game.state === "playing") {
      say(`Stopped after ${played} move${played === 1 ? "" : "s"}.`);
    }
  }
  going = false;
  showTools();
};

async function showPolicies() {
  const before = at("policy").value;
  const asked = game.id;
  const { policies } = await ask(`sessions/${asked}/policies`);
  if (asked !== game.id) return;
  at("policy").replaceChildren(
    ...policies.map(({ id, name, error }) =>
      make("option", { value: id, disabled: Boolean(error), title: error || null }, error ? `${name} (not for this game)` : name),
    ),
  );
  const can = policies.filter(({ error }) => !error).map(({ id }) => id);
  at("policy").value = can.includes(before) ? before : can.at(-1);
  rated = policies.filter(({ rates }) => rates);
  at("rates").hidden = !rated.length;
  at("table").hidden = true;
  at("progress").textContent = "";
  at("advice").replaceChildren();
  known = true;
  showTools();
}

// ------------------------------------------------------------------------------------ win rates

let rated = []; // policies that have a win rate
let measuring = null; // id of the rate that is being played

at("measure").onclick = async () => {
  const [session, games] = [game.id, Number(at("games").value)];
  at("table").hidden = false;
  at("table").tBodies[0].replaceChildren();
  at("cancel").disabled = false;
  at("measure").disabled = true;
  try {
    for (const { id, name } of rated) {
      const { rate } = await ask(`sessions/${session}/rates`, { policy: id, games });
      measuring = rate;
      const row = make("tr");
      at("table").tBodies[0].append(row);
      const told = await follow(rate, name, row);
      if (told.state === "cancelled" || session !== game.id) break;
      if (told.error) throw new Error(told.error);
    }
    at("progress").textContent = "";
  } catch (error) {
    at("progress").textContent = error.message;
  }
  measuring = null;
  at("cancel").disabled = true;
  showTools();
};

at("cancel").onclick = async () => {
  if (measuring) await ask(`rates/${measuring}/cancel`, {});
};

async function follow(rate, name, row) {
  for (;;) {
    const told = await ask(`rates/${rate}`);
    at("progress").textContent = `${name}: ${told.played} of ${told.games} games`;
    if (told.played) showRate(told, name, row);
    if (!["waiting", "playing"].includes(told.state)) return told;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function showRate(told, name, row) {
  const [low, high] = told.win_interval.map((share) => Math.round(100 * share));
  const texts = [
    `${told.wins}/${told.played}`,
    told.games === 1 ? "always so" : `${Math.round(100 * told.win_rate)} % [${low}, ${high}]`,
    told.cards_home.toFixed(1),
  ];
  row.replaceChildren(make("td", {}, name), ...texts.map((text) => make("td", { class: "figure" }, text)));
}

// ------------------------------------------------------------------------------------- new game

const RULES = ["build", "spaces", "moves"];

function address() {
  const own = games.find(({ name }) => name === game.game);
  const query = new URLSearchParams({ game: game.game, deal: game.deal });
  for (const rule of RULES) if (game[rule] !== own[rule]) query.set(rule, game[rule]);
  return `?${query}`.replaceAll("%3A", ":");
}

async function start(wanted) {
  await doing(async () => {
    say("Dealing ...");
    const next = await ask("sessions", wanted);
    known = false;
    if (measuring) await ask(`rates/${measuring}/cancel`, {});
    show(next);
    history.replaceState(null, "", address());
    showForm();
  });
  // The first policy that needs a network may take seconds to load: play can begin.
  if (game && !known) await showPolicies().catch((error) => say(error.message, true));
}

function showForm() {
  at("game").value = game.game;
  at("deal").value = game.deal;
  for (const rule of RULES) at(rule).value = game[rule];
}

function wanted(deal) {
  const own = Object.fromEntries(RULES.map((rule) => [rule, at(rule).value]));
  return { game: at("game").value, deal, ...own };
}

at("new").onsubmit = (event) => {
  event.preventDefault();
  going = false;
  start(wanted(at("deal").value.trim()));
};
at("random").onclick = () => {
  going = false;
  start(wanted("random"));
};
at("game").onchange = () => {
  const own = games.find(({ name }) => name === at("game").value);
  for (const rule of RULES) at(rule).value = own[rule];
};

let games = [];
await doing(async () => {
  const told = await ask("games");
  games = told.games;
  at("games").max = told.max_games;
  const option = (value, text = value) => make("option", { value }, text);
  at("game").replaceChildren(...games.map(({ name, title }) => option(name, title)));
  for (const rule of RULES) at(rule).replaceChildren(...told.rules[rule].map((word) => option(word)));
});
if (games.length) {
  const query = new URLSearchParams(location.search);
  const asked = { game: query.get("game") ?? games[0].name, deal: query.get("deal") ?? "random" };
  for (const rule of RULES) if (query.has(rule)) asked[rule] = query.get(rule);
  await start(asked);
  if (!game) await start({ game: games[0].name, deal: "random" });
}
