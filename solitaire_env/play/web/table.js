// What all parts of the page to play share: the game as the server told it last, and how it is asked.

export const at = (id) => document.getElementById(id);

export const table = {
  game: null,
  busy: false, // a request is under way
  going: false, // moves are played by themselves
  held: null, // cards that are being dragged: { pile, count, ghost }
};

const listeners = [];

/** Call a function with each state of a game and the one before it; the one that draws the board comes first. */
export const onShow = (listener, { first = false } = {}) => listeners[first ? "unshift" : "push"](listener);

/**
 * Show a game as the server told it. why: "move", or "jump" where several moves may lie between, as after undo;
 * "deal" for another game; "resume" for one that was left.
 */
export function show(next, why) {
  const before = table.game;
  table.game = next;
  for (const listener of listeners) listener(next, before, why);
}

/** What the server answers; an error has the status of the answer. */
export async function ask(path, body) {
  const options = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(`api/${path}`, options);
  } catch {
    throw new Error("The server does not answer. Start it again, then repeat this.");
  }
  const told = await answer.json().catch(() => ({ error: `The server failed (status ${answer.status}).` }));
  if (!answer.ok) throw Object.assign(new Error(told.error), { status: answer.status });
  return told;
}

let revive = null;

/** How a game is dealt again that the server has forgotten. */
export const onForgotten = (work) => (revive = work);

/** Ask about the game; one that the server has forgotten is dealt and played again first. */
export async function askTable(verb, body) {
  try {
    return await ask(`sessions/${table.game.id}/${verb}`, body);
  } catch (error) {
    if (error.status !== 404 || !(await revive?.())) throw error;
    return ask(`sessions/${table.game.id}/${verb}`, body);
  }
}

export function say(text, wrong = false) {
  at("status").textContent = text;
  at("status").classList.toggle("error", wrong);
}

let tools = () => {};

/** How the page shows which buttons may be used; and have it do so. */
export const onTools = (work) => (tools = work);
export const showTools = () => tools();

/** Do something that asks the server, one at a time; what goes wrong is told. Whether it went well. */
export async function doing(work) {
  if (table.busy) return false;
  table.busy = true;
  let well = true;
  try {
    await work();
  } catch (error) {
    well = false;
    table.going = false;
    say(error.message, true);
  }
  table.busy = false;
  showTools();
  return well;
}

/** Ask for another state of the game and show it. */
export const change = (verb, body, why) => doing(async () => show(await askTable(verb, body), why));

export const playMove = (move) => change("move", { action: move.action }, "move");

/** What is kept in the browser, as JSON; nothing where it keeps nothing. */
export function kept(name, store = localStorage) {
  try {
    return JSON.parse(store.getItem(`solitaire.${name}`));
  } catch {
    return null;
  }
}

export function keep(name, value, store = localStorage) {
  try {
    store.setItem(`solitaire.${name}`, JSON.stringify(value));
  } catch {
    // The game can be played all the same.
  }
}
