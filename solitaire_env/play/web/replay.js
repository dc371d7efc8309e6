// A game, step by step. Every position comes from the engine; a step contains the piles that it changed.
import { drawArrows } from "./arrows.js";
import { arrivals, cardsHome, drawBoard, make, moveWords } from "./board.js";
import { fitBoard } from "./fit.js";
import { moveList } from "./moves.js";
import { moveCards } from "./motion.js";
import { optionTable, percent, valueBar } from "./options.js";

const game = JSON.parse(document.getElementById("game").textContent);
const at = (id) => document.getElementById(id);

const positions = [game.start];
for (const [, changed] of game.steps) positions.push({ ...positions.at(-1), ...changed });
const home = positions.map((piles) => cardsHome(piles, game.cards));
const end = game.steps.length;

let now = 0;
let timer = null;

// ------------------------------------------------------------------------------------- one step

/** A move from a position in words; one that was illegal there has no place, and stays a text. */
const wordsOf = (step, text, place) =>
  place ? moveWords(positions[step], { source: place[0], targets: [place[1]], count: place[2] }) : text;
const sentences = game.steps.map(([text, , place], k) => wordsOf(k, text, place));

/** "Move 12 of 398: 9 of Spades home, from pile 2". */
function words(step) {
  if (step === 0) return `Start of ${end} move${end === 1 ? "" : "s"}`;
  return `Move ${step} of ${end}: ${sentences[step - 1]}`;
}

function show(step, { aloud = true } = {}) {
  now = Math.max(0, Math.min(end, step));
  const moved = now ? arrivals(positions[now - 1], positions[now], game.cards) : {};
  moveCards(at("board"), () => drawBoard(at("board"), positions[now], { moved }));
  at("board").dataset.moves = now;
  at("move").textContent = words(now);
  at("slider").value = now;
  at("slider").setAttribute("aria-valuetext", words(now));
  for (const id of ["first", "back"]) at(id).disabled = now === 0;
  for (const id of ["last", "forward"]) at(id).disabled = now === end;
  if (aloud) at("announcement").textContent = `${words(now)}. ${home[now]} of ${game.cards} cards home.`;
  showThought();
  list.mark(now);
  moveCursor();
  point();
}

function step(by) {
  pause();
  show(now + by);
  writeAddress();
}

// --------------------------------------------------------------------------------------- address

function writeAddress() {
  at("wrong").textContent = "";
  history.replaceState(null, "", `#move=${now}`);
}

/** Go to the move that the address names. */
function followAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("move");
  if (given === null) return;
  pause();
  const move = /^\d+$/.test(given) ? Number(given) : -1;
  const known = move >= 0 && move <= end;
  at("wrong").textContent = known ? "" : `The address names move ${given}; this game has moves 0 to ${end}.`;
  if (known) show(move);
}
addEventListener("hashchange", followAddress);

// ----------------------------------------------------------------------------------- play, pause

function pause() {
  clearInterval(timer);
  timer = null;
  at("play").textContent = "Play";
}

function play() {
  if (now === end) show(0);
  at("play").textContent = "Pause";
  timer = setInterval(() => {
    show(now + 1, { aloud: false });
    if (now === end) {
      pause();
      show(end);
      writeAddress();
    }
  }, 1000 / Number(at("speed").value));
}

function toggle() {
  if (timer) {
    pause();
    show(now);
    writeAddress();
  } else play();
}

at("first").onclick = () => step(-end);
at("back").onclick = () => step(-1);
at("forward").onclick = () => step(1);
at("last").onclick = () => step(end);
at("play").onclick = toggle;
at("slider").oninput = () => step(Number(at("slider").value) - now);
at("speed").onchange = () => {
  if (timer) {
    pause();
    play();
  }
};

const keys = {
  " ": toggle,
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  Home: () => step(-end),
  End: () => step(end),
};
document.addEventListener("keydown", (event) => {
  const own = event.target.closest(event.key === " " ? "input, select, button" : "input:not([type=checkbox]), select");
  if (own || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

// --------------------------------------------------------------------------------- list of moves

const list = moveList(at("moves"), (move) => step(move - now), step);
list.fill(sentences);

// -------------------------------------------------------------------------------------- thoughts

const thoughts = game.thoughts;
const values = thoughts.map((thought) => (thought ? thought[0] : null));
const knownValues = values.filter((value) => value !== null);

/** Show the policy's thought about the current position, before the next move. */
function showThought() {
  const thought = thoughts[now];
  if (!thought) {
    const none = now === end ? "The game is over." : "The transcript has no thought about this position.";
    at("thought").replaceChildren(make("p", { class: "soft" }, none));
    return;
  }
  const [value, actions] = thought;
  const option = ([text, share, place]) => {
    const chosen = text === game.steps[now][0];
    const sentence = wordsOf(now, text, place);
    return { words: chosen ? `${sentence}, played next` : sentence, share, chosen };
  };
  const table = optionTable("Likeliest next moves", actions.map(option));
  at("thought").replaceChildren(...(value === null ? [] : [valueBar(value)]), table);
}

/** Draw arrows: the next move, and other moves that the policy considered. */
function point() {
  if (!at("arrows").checked || timer || now === end) return drawArrows(at("board"), []);
  const arrow = ([source, target, count], share) =>
    ({ source, targets: [target], count, share, label: share === undefined ? "" : percent(share, 0) });
  const [text, , place] = game.steps[now];
  const thought = (thoughts[now]?.[1] ?? []).filter(([, , to]) => to);
  const own = thought.find(([action]) => action === text);
  const others = thought.filter((action) => action !== own && action[1] >= 0.005).map(([, share, to]) => arrow(to, share));
  drawArrows(at("board"), [arrow(place, own?.[1]), ...others.slice(0, 3)]);
}
at("board").addEventListener("fit", point);
at("arrows").onchange = point;
for (const name of ["labels", "four"]) {
  at(name).onchange = () => {
    document.body.classList.toggle(name, at(name).checked);
    fitBoard(at("board"));
  };
}

// ----------------------------------------------------------------------------------------- chart

const HEIGHT = 130;
const EDGE = { left: 30, right: knownValues.length ? 40 : 10, top: 8, bottom: 20 };
const [least, most] = knownValues.length ? [Math.min(0, ...knownValues), Math.max(...knownValues, 0.01)] : [0, 1];
let width = 0;

const x = (step) => EDGE.left + ((width - EDGE.left - EDGE.right) * step) / Math.max(1, end);
const y = (share) => HEIGHT - EDGE.bottom - (HEIGHT - EDGE.top - EDGE.bottom) * share;
const points = (pairs) => pairs.map(([step, share]) => `${x(step).toFixed(1)},${y(share).toFixed(1)}`).join(" ");

function drawChart() {
  width = at("chart").clientWidth;
  const svg = make("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
  const sentence = `${home[end]} of ${game.cards} cards home after ${end} moves`;
  svg.setAttribute("aria-label", `Cards home over moves: ${sentence}`);
  for (const share of [0, 0.5, 1]) {
    svg.append(
      make("line", { x1: x(0), x2: x(end), y1: y(share), y2: y(share), class: "axis" }),
      make("text", { x: 0, y: y(share) + 4 }, String(Math.round(game.cards * share))),
    );
    if (knownValues.length) {
      const value = least + (most - least) * share;
      svg.append(make("text", { x: width, y: y(share) + 4, class: "right" }, value.toFixed(2)));
    }
  }
  svg.append(make("text", { x: x(0), y: HEIGHT - 5 }, "move 0"));
  svg.append(make("text", { x: x(end), y: HEIGHT - 5, "text-anchor": "end" }, String(end)));
  svg.append(make("polyline", { class: "home", points: points(home.map((cards, k) => [k, cards / game.cards])) }));
  const line = values.map((value, k) => [k, (value - least) / (most - least), value]).filter((p) => p[2] !== null);
  if (line.length) svg.append(make("polyline", { class: "value", points: points(line) }));
  svg.append(make("line", { class: "cursor", y1: EDGE.top, y2: HEIGHT - EDGE.bottom }));
  svg.onclick = (event) => {
    const from = svg.getBoundingClientRect().left + EDGE.left;
    const share = (event.clientX - from) / (width - EDGE.left - EDGE.right);
    step(Math.round(share * end) - now);
  };
  at("chart").replaceChildren(svg);
  moveCursor();
}

function moveCursor() {
  const cursor = at("chart").querySelector(".cursor");
  cursor?.setAttribute("x1", x(now));
  cursor?.setAttribute("x2", x(now));
  const value = values[now];
  at("legend").replaceChildren(
    make("b", { class: "home" }, `${home[now]} of ${game.cards} cards home`),
    ...(value === null || value === undefined ? [] : [", ", make("b", { class: "value" }, `value ${value.toFixed(2)}`)]),
  );
}

// ----------------------------------------------------------------------------------------- start

const deal = game.deal === null ? "from a position" : `deal ${game.deal}`;
const cycle = game.played > end ? `, ${game.played} steps with the repeated cycle at its end` : "";
at("title").textContent = `${game.title}, ${deal}`;
at("about").textContent = `Played by ${game.policy}: ${game.result} in ${end} moves${cycle}.`;
at("slider").max = end;
at("thoughts").hidden = !knownValues.length && !thoughts.some(Boolean);
if (knownValues.length) at("chart-title").textContent = "Cards home, and the policy's value";
new ResizeObserver(drawChart).observe(at("chart"));
show(0, { aloud: false });
followAddress();
