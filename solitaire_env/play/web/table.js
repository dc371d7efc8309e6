// Shared by all parts of the page to play: the current game, and requests to the server.

export const at = (id) => document.getElementById(id);

export const table = {
  game: null,
  busy: false, // whether work with requests is running
  autoplay: null, // the automatic play that is running: { on, stop }
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

/** The request that deals a game and plays its moves. */
export const dealOf = ({ game, deal, build, spaces, moves, line, moves_played }) =>
  ({ game, deal, build, spaces, moves, moves_played: line.map(([action]) => action), at: moves_played });

/** Send a request about the game; if the server has dropped it, it is dealt and played again first. */
export async function askTable(verb, body) {
  try {
    return await ask(`sessions/${table.game.id}/${verb}`, body);
  } catch (error) {
    if (error.status !== 404) throw error;
    table.game.id = (await ask("sessions", dealOf(table.game))).id;
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

let turn = Promise.resolve();

/**
 * Run work that may send requests, after all such work before it, however fast the player and however slow the server
 * is; show any error. Returns whether it succeeded. The work must not wait for other work in turn.
 */
export function inTurn(work) {
  turn = turn.then(async () => {
    table.busy = true;
    try {
      await work();
      return true;
    } catch (error) {
      table.autoplay?.stop();
      showMessage(error.message, true);
      return false;
    } finally {
      table.busy = false;
      showTools();
    }
  });
  return turn;
}

/** Request another state of the game and show it. */
export const change = async (verb, body, why) => show(await askTable(verb, body), why);

export const playMove = (move) => change("move", { action: move.action }, "move");

/** A value stored in the browser as JSON; null if there is none. */
export function loadItem(name) {
  try {
    return JSON.parse(localStorage.getItem(`solitaire.${name}`));
  } catch {
    return null;
  }
}

export function storeItem(name, value) {
  try {
    localStorage.setItem(`solitaire.${name}`, JSON.stringify(value));
  } catch {
    // The game can be played without storage.
  }
}
