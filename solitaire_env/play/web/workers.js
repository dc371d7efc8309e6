// Workers: what takes seconds, beside the page.

/** A function that sends messages to a new worker of the engine, with the game on the board; a signal ends it. */
export function inWorker(file, session, signal, more = {}) {
  const worker = new Worker(new URL(`engine/${file}.js`, import.meta.url), { type: "module" });
  const { variant: details, deal, played } = session;
  const game = { details, deal, line: played.map(({ text }) => text), ...more };
  signal.addEventListener("abort", () => worker.terminate());
  return (wanted) =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
      worker.onerror = () => reject(new Error("the worker failed"));
      worker.postMessage({ game, ...wanted });
    });
}
