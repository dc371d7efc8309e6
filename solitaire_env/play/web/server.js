// Requests to the server for what a browser lacks: policies of its user, long searches, the data of house rules.

/** Send a request; what it is about: the game with its rules, deal and moves. A signal may cancel it. */
export async function ask(what, body, signal) {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal };
  const response = await fetch(`api/${what}`, options).catch((error) => {
    if (signal?.aborted) throw error;
    throw new Error("The server does not answer. Start it again, then try again.");
  });
  const answer = await response.json().catch(() => ({ error: `The server failed (status ${response.status}).` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** What a request says about a game: which, by which rules. */
export const gameOf = ({ variant: { name: game, build, spaces, moves } }) => ({ game, rules: { build, spaces, moves } });

/** What it says about a position. */
export const positionOf = (session) => ({ ...gameOf(session), deal: session.deal, moves: session.played.map(({ text }) => text) });
