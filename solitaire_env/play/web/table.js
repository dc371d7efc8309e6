// Shared by all parts of the page to play: the current game.

export const at = (id) => document.getElementById(id);

export const table = {
  session: null, // the game in the engine
  game: null, // what is shown of it
  busy: false, // whether work is running
  autoplay: null, // the automatic play that is running: { on, stop }
  held: null, // cards that are being dragged: { pile, count, ghost }
};

const listeners = [];

/** Call a function with each state of a game and the one before it; with first, before other functions. */
export const onShow = (listener, { first = false } = {}) => listeners[first ? "unshift" : "push"](listener);

/**
 * Show the state of a session. why: "move"; "jump" if several moves may lie between, such as after undo;
 * "deal" for a new game; "resume" for a stored game.
 */
export function show(why, session = table.session) {
  const before = session === table.session ? table.game : null;
  table.session = session;
  table.game = session.view();
  for (const listener of listeners) listener(table.game, before, why);
}

/** Play a legal move of the player. */
export function playMove({ action }) {
  table.session.play(action);
  show("move");
}

const TYPES = { html: "text/html", json: "application/json", txt: "text/plain" };

/** Save text as a file, which has the name of the game on the board unless another is given. */
export function saveFile(text, ending, name = `${table.game.game}-${table.game.deal}`.replace(/[^\w.-]+/g, "-")) {
  const url = URL.createObjectURL(new Blob([text], { type: TYPES[ending] }));
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
 * Run work that may wait for a policy or a file, after all such work before it, however fast the player is; show any
 * error. Returns whether it succeeded. The work must not wait for other work in turn.
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
