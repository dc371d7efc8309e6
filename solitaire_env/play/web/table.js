// Shared by all parts of the page to play: the current game, and requests to the server.

export const at = (id) => document.getElementById(id);

export const table = {
  game: null,
  busy: false, // whether a request is running
  autoplay: false, // whether moves are played automatically
  held: null, // cards that are being dragged: { pile, count, ghost }
};

const listeners = [];

/** Call a function with each state of a game and the one before it; with first, before other functions. */
export const onShow = (listener, { first = false } = {}) => listeners[first ? "unshift" : "push"](listener);

/**
 * Show a state of a game from the server. why: "move"; "jump" if several moves may lie between, such as after undo;
 * "deal" for a new game; "resume" for a stored game.
 */
export function show(next, why) {
  const before = table.game;
  table.game = next;
  for (const listener of listeners) listener(next, before, why);
}

/** Send a request to the server and return its answer; an error has the status of the answer. */
export async function ask(path, body) {
  const options = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(`api/${path}`, options);
  } catch {
    throw new Error("The server does not answer. Start it again, then try again.");
  }
  const answer = await response.json().catch(() => ({ error: `The server failed (status ${response.status}).` }));
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
  return answer;
}

let revive = null;

/** Set the function that deals a game again that the server has dropped. */
export const onForgotten = (work) => (revive = work);

/** Send a request about the game; if the server has dropped it, it is dealt and played again first. */
export async function askTable(verb, body) {
  try {
    return await ask(`sessions/${table.game.id}/${verb}`, body);
  } catch (error) {
    if (error.status !== 404 || !(await revive?.())) throw error;
    return ask(`sessions/${table.game.id}/${verb}`, body);
  }
}

export function showMessage(text, wrong = false) {
  at("status").textContent = text;
  at("status").classList.toggle("error", wrong);
}

let tools = () => {};

/** Set the function that enables and disables the buttons, and call it. */
export const onTools = (work) => (tools = work);
export const showTools = () => tools();

/** Run work that sends requests, one at a time; show any error. Returns whether it succeeded. */
export async function withServer(work) {
  if (table.busy) return false;
  table.busy = true;
  let succeeded = true;
  try {
    await work();
  } catch (error) {
    succeeded = false;
    table.autoplay = false;
    showMessage(error.message, true);
  }
  table.busy = false;
  showTools();
  return succeeded;
}

/** Request another state of the game and show it. */
export const change = (verb, body, why) => withServer(async () => show(await askTable(verb, body), why));

export const playMove = (move) => change("move", { action: move.action }, "move");

/** A value stored in the browser as JSON; null if there is none. */
export function loadItem(name, storage = localStorage) {
  try {
    return JSON.parse(storage.getItem(`solitaire.${name}`));
  } catch {
    return null;
  }
}

export function storeItem(name, value, storage = localStorage) {
  try {
    storage.setItem(`solitaire.${name}`, JSON.stringify(value));
  } catch {
    // The game can be played without storage.
  }
}
