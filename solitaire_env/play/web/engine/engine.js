// Answers the requests of the page with the kernels in the page itself, as the server does.
import { Adviser } from "./advice.js";
import { Session } from "./session.js";

const folder = new URL("..", import.meta.url);
const load = async (name) => {
  const response = await fetch(new URL(name, folder)).catch(() => null);
  if (!response?.ok) throw new Error(`${name} cannot be loaded. Connect to the network, then try again.`);
  return response;
};

/** The kernels, and the data of all games. */
async function open() {
  const [kernels, games] = await Promise.all([load("engine.wasm"), load("games.bin")]);
  const text = new Response(games.body.pipeThrough(new DecompressionStream("gzip"))).json();
  const [module, data] = await Promise.all([kernels.arrayBuffer().then(WebAssembly.compile), text]);
  return { module, data };
}
const opened = open();
opened.catch(() => null); // reported by each request

/** A game by its name. */
export async function newSession(name) {
  const { module, data } = await opened;
  const own = data.games.find((game) => game.name === name);
  if (!own) throw new Error(`unknown variant '${name}', allowed: ${data.games.map((game) => game.name).join(", ")}`);
  return new Session(module, { ...own, ...data.details[name] });
}

/** The data that all games share. */
export const common = async () => (await opened).data;

const files = new Map();

/** The weights of a network; undefined for other policies. */
export function weightsOf({ file: name }) {
  if (!name) return undefined;
  const loading = files.get(name) ?? load(name).then((response) => response.arrayBuffer());
  files.set(name, loading);
  loading.catch(() => files.delete(name));
  return loading;
}

let session = null; // the page shows one game
let number = 0;

async function begin({ game, deal = "random", moves_played: line = [], at = line.length, ...rules }) {
  const next = await newSession(game);
  for (const [name, rule] of Object.entries(rules)) {
    if (rule && rule !== next.variant[name]) throw new Error(`${name} '${rule}' is a house rule, which needs the server`);
  }
  next.start(String(deal));
  line.forEach((text, k) => {
    try {
      next.play(next.cards.parse(text));
    } catch (error) {
      throw new Error(`move ${k + 1} of the link, '${text}': ${error.message}`);
    }
  });
  next.goTo(at);
  next.id = String((number += 1));
  session = next;
  return next.view();
}

// ------------------------------------------------------------------------------------- policies

/** The advice of a policy for the session. */
async function advise(policy, likeliest) {
  const own = session;
  const plan = own.variant.policies.find(({ id }) => id === policy);
  own.advisers ??= new Map();
  if (!own.advisers.has(policy)) own.advisers.set(policy, new Adviser(own, plan, await common(), await weightsOf(plan)));
  if (own.cards.status !== "playing") throw new Error("no move is legal: the game is won or stuck");
  const { singles, ...advice } = own.advisers.get(policy).advise(likeliest);
  return { ...advice, singles, plays: singles.map((action) => own.cards.texts[action]) };
}

async function advance({ policy }) {
  const { singles, ...advice } = await advise(policy, false);
  singles.forEach((action, k) => session.play(action, { decides: k === 0, by: policy }));
  return { ...session.view(), advice };
}

// ------------------------------------------------------------------------- in the background

const jobs = new Map(); // { worker, report } by id

/** Play games with a policy in a worker. */
function rate({ policy, games = 100, origin = "deal" }) {
  const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  const job = { worker, report: { state: "playing", games, played: 0 } };
  const id = String((number += 1));
  jobs.set(id, job);
  worker.onmessage = ({ data }) => {
    if (job.report.state === "playing") job.report = data;
    if (data.state !== "playing") worker.terminate();
  };
  worker.onerror = () => (job.report = { state: "failed", error: "the worker failed" });
  const moves = session.played.map(({ text }) => text);
  worker.postMessage({ game: session.variant.name, deal: String(session.deal), moves, policy, games, origin });
  return { id, ...job.report };
}

function cancel(job) {
  job.worker.terminate();
  job.report = { ...job.report, state: "cancelled" };
  return job.report;
}

// ------------------------------------------------------------------------------------- requests

const verbs = {
  move: ({ action }) => {
    session.play(session.cards.parse(action));
    return session.view();
  },
  "go-to": ({ move }) => {
    session.goTo(move);
    return session.view();
  },
  policies: () => ({
    policies: session.variant.policies.map(({ id }) => ({ id, name: id, error: "", rates: true })),
  }),
  hint: async ({ policy }) => advise(policy, true),
  advance,
  rates: rate,
  rules: () => ({ rules: session.variant.describe }),
};

/** Answer a request: a path of the server's API and, for a change, its data. */
export async function ask(path, body) {
  const [what, id, verb] = path.split("/");
  if (what === "jobs") return verb ? cancel(jobs.get(id)) : jobs.get(id).report;
  if (what === "games") return (await opened).data;
  if (what === "sessions" && !id) return begin(body);
  if (session?.id !== id) throw Object.assign(new Error("no such game"), { status: 404 });
  return verbs[verb](body);
}

/** The text of a file: the transcript of a game, or its replay page. */
export async function file(path) {
  if (path.endsWith("/transcript")) return session.transcript();
  const page = await (await load("replay.html")).text();
  const data = session.replay();
  const title = `${data.title}, deal ${data.deal}, by ${data.policy}`;
  const text = JSON.stringify(data).replaceAll("<", "\\u003c");
  return page.replace("{{title}}", () => title).replace("{{data}}", () => text);
}
