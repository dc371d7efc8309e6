// A worker that finds out whether a position can be won; each message gives it some more seconds.
import { openSession } from "./engine.js";
import { Solver } from "./solver.js";

let solving = null; // the solver

async function open({ details, deal, line }) {
  return new Solver((await openSession(details.name, { details, search: true })).start(deal).playLine(line));
}

onmessage = async ({ data }) => {
  try {
    solving ??= open(data.game);
    const solver = await solving;
    postMessage({ result: solver.run(data.seconds), line: solver.line });
  } catch (error) {
    postMessage({ error: error.message });
  }
};
