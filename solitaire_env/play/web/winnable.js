// Whether the position can be won, and how: a search in a worker, so that the page can be used meanwhile.
import { showLine } from "./line.js";
import { at, onShow, showMessage, showTools, table } from "./table.js";
import { inWorker } from "./workers.js";

const SECONDS = 10; // of a search, until more are asked for

let search = null; // of the position on the board: { stop: an AbortController, ask, seconds, line }

/** Whether a search is running or has an answer on the page. */
export const isAsked = () => search !== null;

/** What an answer takes for granted, for a player who does not see all cards. */
const knowing = ({ cards, knowsStock }) => (cards.isOpen && knowsStock ? "" : ", knowing every card");

/** Show these buttons next to the message. */
function offer(...names) {
  at("answer").hidden = false;
  for (const name of ["show-how", "search-on", "stop-search", "close-answer"]) at(name).hidden = !names.includes(name);
}

function answer({ result, line }) {
  const given = knowing(table.session);
  if (result === "won") {
    search.line = line;
    showMessage(`Yes: in ${line.length} moves${given}.`);
    return offer("show-how", "close-answer");
  }
  if (result === "unwinnable") {
    showMessage(`No: proven${given}.`);
    return offer("close-answer");
  }
  showMessage(`Not known after ${search.seconds} seconds.`);
  return offer("search-on", "close-answer");
}

async function searchOn() {
  const own = search;
  showMessage(`Searching for a win${knowing(table.session)} ...`);
  offer("stop-search");
  try {
    const found = await own.ask({ seconds: SECONDS });
    own.seconds += SECONDS;
    if (search === own) answer(found);
  } catch (error) {
    if (own.stop.signal.aborted) return;
    close();
    showMessage(error.message, true);
  }
}

/** End the search, and take its answer from the page. */
function close() {
  search?.stop.abort();
  search = null;
  at("answer").hidden = true;
  showTools();
}

at("can-win").onclick = () => {
  const stop = new AbortController();
  search = { stop, ask: inWorker("solving", table.session, stop.signal), seconds: 0, line: null };
  showTools();
  searchOn();
};
at("search-on").onclick = searchOn;
at("show-how").onclick = () => showLine(search.line, { from: table.game.moves_played, by: "solver" });
at("stop-search").onclick = () => {
  close();
  showMessage("Stopped.");
};
at("close-answer").onclick = () => {
  close();
  showMessage("Your move.");
};

// An answer is about the position on the board.
onShow(close);
