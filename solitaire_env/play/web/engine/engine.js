// The kernels and the data of the games: opens sessions.
import { Session } from "./session.js";

const folder = new URL("..", import.meta.url);

/** A file of the site. */
export async function load(name) {
  const response = await fetch(new URL(name, folder)).catch(() => null);
  if (!response?.ok) throw new Error(`${name} cannot be loaded. Connect to the network, then try again.`);
  return response;
}

const unzip = (body) => new Response(body.pipeThrough(new DecompressionStream("gzip"))).json();

/** The kernels, and the data of all games. */
async function open() {
  const [kernels, games] = await Promise.all([load("engine.wasm"), load("games.bin")]);
  const [module, data] = await Promise.all([kernels.arrayBuffer().then(WebAssembly.compile), unzip(games.body)]);
  return { module, data };
}
const opened = open();
opened.catch(() => null); // reported by each use

/** What is known of all games, see solitaire_env.play.page_data. */
export const gamesData = async () => (await opened).data;

/** The places of the ones among the bits of a text in base64. */
function placesOfBits(text) {
  const bits = Array.from(atob(text), (byte) => byte.charCodeAt(0).toString(2).padStart(8, "0")).join("");
  return [...bits].flatMap((bit, place) => (bit === "1" ? [place] : []));
}

let levels = null;

/** The deals of 0 to 999 of each level of a game, as lists of numbers; see solitaire_env.play.page_data. */
export async function levelsOf(game) {
  levels ??= load("levels.bin").then(({ body }) => unzip(body));
  levels.catch(() => (levels = null));
  const own = Object.entries(await levels).filter(([, games]) => games[game]);
  return Object.fromEntries(own.map(([level, games]) => [level, placesOfBits(games[game])]));
}

/**
 * A session of a game; details: its data, if it is not one of the list: a custom game, or one with house rules.
 * search: whether it needs memory for a search.
 */
export async function openSession(name, { rules = {}, details = null, search = false } = {}) {
  const { module, data } = await opened;
  const pages = search ? data.constants.search.pages : 0;
  const own = data.games.find((game) => game.name === name);
  if (details) return new Session(module, data, { ...own, name, ...details }, pages);
  if (!own) throw new Error(`unknown variant '${name}', allowed: ${data.games.map((game) => game.name).join(", ")}`);
  return new Session(module, data, { ...own, ...rules, ...data.details[name] }, pages);
}

const files = new Map();

/** The weights of a network; undefined for other policies. */
export function weightsOf({ file: name }) {
  if (!name) return undefined;
  const loading = files.get(name) ?? load(name).then((response) => response.arrayBuffer());
  files.set(name, loading);
  loading.catch(() => files.delete(name));
  return loading;
}

// ----------------------------------------------------------------------------- games in a link

/** The data of a game that a link holds: no networks, which are files of a site. */
function ofLink(game) {
  const policies = game.policies.filter(({ file }) => !file);
  return { ...game, policies, best: policies.at(-1)?.id };
}

/** The data of a game as text for a link: a custom game or house rules, which no list contains. */
export async function linkText(game) {
  const zipped = new Response(new Blob([JSON.stringify(ofLink(game))]).stream().pipeThrough(new CompressionStream("gzip")));
  const bytes = new Uint8Array(await zipped.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=*$/, "");
}

/** The data of a game from the text of a link. */
export async function gameOfLink(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return ofLink(await unzip(new Blob([bytes]).stream()));
  } catch {
    throw new Error("The game of this link is damaged. Copy the whole link.");
  }
}
