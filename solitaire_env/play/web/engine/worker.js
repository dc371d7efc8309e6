// A worker that measures win rates.
import { common, newSession, weightsOf } from "./engine.js";
import { measure } from "./rates.js";

onmessage = async ({ data: { game, deal, moves, policy, ...wanted } }) => {
  try {
    const session = (await newSession(game)).start(deal);
    for (const text of moves) session.step(session.cards.parse(text));
    const plan = session.variant.policies.find(({ id }) => id === policy);
    const results = measure(session, plan, await common(), await weightsOf(plan), wanted);
    for (const report of results) postMessage({ state: report.played < report.games ? "playing" : "done", ...report });
  } catch (error) {
    postMessage({ state: "failed", error: error.message });
  }
};
