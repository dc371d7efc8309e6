// A game, step by step. Every position comes from the engine; a step tells the piles that it changed.
import { arrivals, cardsHome, drawBoard, make } from "./board.js";

const game = JSON.parse(document.getElementById("game").textContent);
const at = (id) => document.getElementById(id);

const positions = [game.start];
for (const [, , changed] of game.steps) positions.push({ ...positions.at(-1), ...changed });
const home = positions.map((piles) => cardsHome(piles, game.cards));
const end = game.steps.length;

let now = 0;
let timer = null;

// ------------------------------------------------------------------------------------- one step

/** "Move 12 of 398: 9S home, from t2". */
function words(step) {
  if (step === 0) return `Start, ${end} move${end === 1 ? "" : "s"} to come`;
  const [text, said] = game.steps[step - 1];
  return `Move ${step} of ${end}: ${said} (${text})`;
}

function show(step, { aloud = true } = {}) {
  now = Math.max(0, Math.min(end, step));
  const moved = now ? arrivals(positions[now - 1], positions[now], game.cards) : {};
  drawBoard(at("board"), positions[now], { moved });
  at("board").dataset.moves = now;
  at("move").textContent = words(now);
  at("slider").value = now;
  at("slider").setAttribute("aria-valuetext", words(now));
  for (const id of ["first", "back"]) at(id).disabled = now === 0;
  for (const id of ["last", "forward"]) at(id).disabled = now === end;
  if (aloud) at("said").textContent = `${words(now)}. ${home[now]} of ${game.cards} cards home.`;
  showThought();
  showCurrent();
  moveCursor();
}

function step(by) {
  pause();
  show(now + by);
}

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
    }
  }, 1000 / Number(at("speed").value));
}

function toggle() {
  if (timer) {
    pause();
    show(now);
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
  const own = event.target.closest("input, select") || (event.key === " " && event.target.closest("button"));
  if (own || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

// --------------------------------------------------------------------------------- list of moves

const buttons = game.steps.map(([, said], k) =>
  make("button", { type: "button", tabindex: k ? -1 : 0 }, make("span", { class: "count" }, `${k + 1}`), said),
);
at("moves").append(...buttons.map((button) => make("li", {}, button)));
buttons.forEach((button, k) => (button.onclick = () => step(k + 1 - now)));

// One stop for Tab; up and down go through the list.
at("moves").addEventListener("keydown", (event) => {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!by) return;
  event.preventDefault();
  step(by);
  buttons[Math.max(0, now - 1)].focus();
});

function showCurrent() {
  const list = at("moves");
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  list.querySelector("[tabindex='0']")?.setAttribute("tabindex", -1);
  const button = buttons[Math.max(0, now - 1)];
  button?.setAttribute("tabindex", 0);
  if (now === 0) {
    list.scrollTop = 0;
    return;
  }
  button.setAttribute("aria-current", "step");
  const [top, middle] = [button.parentElement.offsetTop - list.offsetTop, list.clientHeight / 2];
  list.scrollTop = top - middle;
}

// -------------------------------------------------------------------------------------- thoughts

const thoughts = game.thoughts;
const values = thoughts.map((thought) => (thought ? thought[0] : null));
const told = values.filter((value) => value !== null);
const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** What the policy thought of the position that is shown, before it made the next move. */
function showThought() {
  const thought = thoughts[now];
  if (!thought) {
    const none = now === end ? "The game is over." : "Nothing is told of this position.";
    at("thought").replaceChildren(make("p", { class: "soft" }, none));
    return;
  }
  const [value, actions] = thought;
  const rows = actions.map(([text, share]) => {
    const bar = make("span");
    bar.style.width = `${100 * share}%`;
    const chosen = text === game.steps[now][0];
    return make(
      "tr",
      { class: chosen && "chosen" },
      make("td", {}, chosen ? `${text}, played next` : text),
      make("td", { class: "bar" }, bar),
      make("td", { class: "figure" }, percent(share)),
    );
  });
  at("thought").replaceChildren(
    ...(value === null ? [] : [make("p", {}, `Value ${value.toFixed(2)}`)]),
    make("table", { "aria-label": "Likeliest next moves" }, make("tbody", {}, ...rows)),
  );
}

// ----------------------------------------------------------------------------------------- chart

const HEIGHT = 130;
const EDGE = { left: 30, right: told.length ? 40 : 10, top: 8, bottom: 20 };
const [least, most] = told.length ? [Math.min(0, ...told), Math.max(...told, 0.01)] : [0, 1];
let width = 0;

const x = (step) => EDGE.left + ((width - EDGE.left - EDGE.right) * step) / Math.max(1, end);
const y = (share) => HEIGHT - EDGE.bottom - (HEIGHT - EDGE.top - EDGE.bottom) * share;
const points = (pairs) => pairs.map(([step, share]) => `${x(step).toFixed(1)},${y(share).toFixed(1)}`).join(" ");

function drawChart() {
  width = at("chart").clientWidth;
  const svg = make("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
  const said = `${home[end]} of ${game.cards} cards home after ${end} moves`;
  svg.setAttribute("aria-label", `Cards home over moves: ${said}`);
  for (const share of [0, 0.5, 1]) {
    svg.append(
      make("line", { x1: x(0), x2: x(end), y1: y(share), y2: y(share), class: "axis" }),
      make("text", { x: 0, y: y(share) + 4 }, String(Math.round(game.cards * share))),
    );
    if (told.length) {
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
const circling = game.played > end ? `, ${game.played} steps with the circle at its end` : "";
at("title").textContent = `${game.title}, ${deal}`;
at("about").textContent = `Played by ${game.policy}: ${game.result} in ${end} moves${circling}.`;
at("slider").max = end;
at("thoughts").hidden = !told.length && !thoughts.some(Boolean);
if (told.length) at("chart-title").textContent = "Cards home, and the value that the policy gave";
new ResizeObserver(drawChart).observe(at("chart"));
const start = Number(new URLSearchParams(location.hash.slice(1)).get("move") ?? 0);
show(Number.isInteger(start) ? start : 0, { aloud: false });
