// A worker that plays games with a policy, one for each message after the first.
import { Adviser } from "./advice.js";
import { openSession, weightsOf } from "./engine.js";
import { playOnce } from "./rates.js";

let playing = null; // { session, adviser }

async function open({ details, deal, line, policy }) {
  const session = (await openSession(details.name, { details })).start(deal).playLine(line);
  const plan = session.variant.policies.find(({ id }) => id === policy);
  return { session, adviser: new Adviser(session, plan, await weightsOf(plan)) };
}

onmessage = async ({ data }) => {
  try {
    playing ??= open(data.game);
    const { session, adviser } = await playing;
    postMessage(playOnce(session, adviser, data));
  } catch (error) {
    postMessage({ error: error.message });
  }
};
