// Shared by all parts of the page to play: the current game, and requests about it.
import { ask, file } from "./maker.js";

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
 * Show a state of a game. why: "move"; "jump" if several moves may lie between, such as after undo;
 * "deal" for a new game; "resume" for a stored game.
 */
export function show(next, why) {
  const before = table.game;
  table.game = next;
  for (const listener of listeners) listener(next, before, why);
}

/** The request that deals a game and plays its moves. */
export const dealOf = ({ game, deal, build, spaces, moves, line, moves_played }) =>
  ({ game, deal, build, spaces, moves, moves_played: line.map(([action]) => action), at: moves_played });

/** Send a request about the game; if it has been dropped, it is dealt and played again first. */
async function again(request) {
  try {
    return await request(`sessions/${table.game.id}`);
  } catch (error) {
    if (error.status !== 404) throw error;
    table.game.id = (await ask("sessions", dealOf(table.game))).id;
    return request(`sessions/${table.game.id}`);
  }
}

export const askTable = (verb, body) => again((path) => ask(`${path}/${verb}`, body));

/** Save a file about the game: "transcript" or "replay". */
export async function saveFile(what, ending) {
  const text = await again((path) => file(`${path}/${what}`));
  const name = `${table.game.game}-${table.game.deal}`.replace(/[^\w.-]+/g, "-");
  const url = URL.createObjectURL(new Blob([text], { type: ending === "html" ? "text/html" : "text/plain" }));
  Object.assign(document.createElement("a"), { href: url, download: `${name}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
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
