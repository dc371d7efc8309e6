// Requests to the server: the maker of games with policies of one's own, search and a solver.

async function send(path, options) {
  let response;
  try {
    response = await fetch(`api/${path}`, options);
  } catch {
    throw new Error("The server does not answer. Start it again, then try again.");
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({ error: `The server failed (status ${response.status}).` }));
  throw Object.assign(new Error(answer.error), { status: response.status });
}

/** Send a request to the server and return its answer; an error has the status of the answer. */
export async function ask(path, body) {
  const options = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  return (await send(path, options)).json();
}

/** The text of a file: the transcript of a game, or its replay page. */
export const file = async (path) => (await send(path)).text();
