// A game that is played move by move, with undo and redo, as solitaire_env.play.session.
import { Cards } from "./cards.js";
import { Machine } from "./machine.js";
import { microsoftOrder } from "./random.js";

const PLAY = 1;
const MAX_MOVES = 7000;

/** The number of a deal, or the name of one of another program. */
function readDeal(text, { ranks, decks, name }, variant) {
  if (text === "random") return 1 + Math.floor(Math.random() * 999_999);
  if (/^\d{1,30}$/.test(text)) {
    const number = BigInt(text);
    if (number < 1n << 63n) return number;
    throw new Error(`deal ${text} is out of range, allowed: 0 to 2**63 - 1`);
  }
  const [, program, number] = String(text).match(/^(ms|pysol):(\d{1,20})$/) ?? [];
  if (!program) throw new Error(`unknown deal '${text}', allowed: a whole number, 'ms:N' or 'pysol:N'`);
  if (ranks !== 13) throw new Error(`deal '${text}' is of a full pack, but ${variant.name} has ${ranks} ranks`);
  const most = program === "ms" ? (1n << 33n) - 1n : 32000n;
  if (BigInt(number) >= 1n && BigInt(number) <= most) return text;
  const why = program === "ms" ? "" : "; larger ones need the server";
  throw new Error(`deal '${text}' is out of range, allowed here: ${program}:1 to ${program}:${most}${why}`);
}

/** The pack from which our deal gives each pile the same cards as PySolFC's, as solitaire_env.core.deals. */
function asWeDeal(order, { base, pysol_order: turns, tableau, cells }) {
  if (base === "dealt") {
    const last = order.findLastIndex((card) => card >> 2 === order[0] >> 2);
    return [order[last], ...order.slice(0, last), ...order.slice(last + 1)];
  }
  if (!turns.length) return order;
  const piles = Array.from({ length: tableau.length + cells }, () => []);
  turns.forEach((pile, k) => piles[pile].push(order[k]));
  const rows = [];
  for (let row = 0; row < Math.max(...tableau); row += 1) {
    for (const pile of piles.slice(0, tableau.length)) if (row < pile.length) rows.push(pile[row]);
  }
  return [...rows, ...piles.slice(tableau.length).flat(), ...order.slice(turns.length)];
}

export class Session {
  constructor(module, variant) {
    this.variant = variant;
    this.machine = new Machine(module);
    const { machine } = this;
    this.cards = new Cards(machine, variant.views[0], variant);
    const { values, arrays } = this.cards;
    this.deals = machine.arrays(variant.deals);
    this.events = machine.arrays(variant.views[0].events);
    this.action = machine.array("int64", [1]);
    const todo = machine.array("int8", [1], [PLAY]);
    const row = machine.array("int64", [1]);
    this.dealRows = machine.bind("core__rules__deal__deal_rows", [values, this.deals, arrays, row]);
    this.stepRows = machine.bind("core__rules__step__step_rows", [values, this.deals, arrays, this.events, this.action, todo], { rows: 1 });
    this.played = [];
    this.undone = [];
  }

  get line() {
    return [...this.played, ...this.undone.toReversed()];
  }

  get decisions() {
    return this.played.filter(({ decides }) => decides).length;
  }

  /** Deal a game. */
  start(deal) {
    const { machine, variant } = this;
    const { rules } = this.cards;
    this.deal = readDeal(deal, rules, variant);
    const order = this.deals.at(-1);
    const named = String(this.deal).match(/^(ms|pysol):(\d+)$/);
    if (named) {
      const cards = microsoftOrder(BigInt(named[2]), rules.decks);
      order.set(named[1] === "ms" ? cards : asWeDeal(cards, variant));
    } else {
      const deck = 4 * rules.ranks;
      order.set(Array.from({ length: rules.cards }, (_, k) => 4 + (k % deck)));
      machine.bind("core__shuffle__shuffle_rows", [machine.array("uint64", [1], [BigInt(this.deal)]), order])();
    }
    this.dealRows();
    this.first = this.cards.row.slice();
    this.startText = this.cards.positionText();
    return this;
  }

  /** Play a legal action of the kernels, and nothing else. */
  step(action) {
    this.action[0] = BigInt(action);
    this.stepRows();
  }

  /** Play a legal action; by is the policy that chose it. */
  play(action, { decides = true, by = "" } = {}) {
    if (this.played.length >= MAX_MOVES) throw new Error(`the game has ${MAX_MOVES} moves, the maximum`);
    const { cards } = this;
    this.played.push({ before: cards.row.slice(), action, text: cards.texts[action], words: cards.words(action), decides, by });
    this.step(action);
    if (this.undone.at(-1)?.action === action) this.undone.pop();
    else this.undone = [];
  }

  /** Undo or redo moves until a number of moves is played. */
  goTo(move) {
    const { line } = this;
    if (!(move >= 0 && move <= line.length)) throw new Error(`move is ${move}, allowed: 0 to ${line.length}`);
    if (move < this.played.length) this.cards.row = this.played[move].before;
    for (const { action } of line.slice(this.played.length, move)) this.step(action);
    this.played = line.slice(0, move);
    this.undone = line.slice(move).reverse();
  }

  /** The moves home that win the game without any other move; empty if there are none. */
  finish() {
    const { cards } = this;
    const before = cards.row.slice();
    const moves = [];
    while (cards.status === "playing") {
      const home = cards.legal().find((action) => cards.kindOf(action) === "home");
      if (home === undefined) break;
      moves.push(cards.texts[home]);
      this.step(home);
    }
    const won = cards.status === "won";
    cards.row = before;
    return won ? moves : [];
  }

  /** The game as the page draws it, as solitaire_env.play.games.GameStore.view. */
  view() {
    const { cards, variant, played, line } = this;
    const last = played.at(-1);
    return {
      id: this.id,
      game: variant.name,
      title: variant.title,
      build: variant.build,
      spaces: variant.spaces,
      moves: variant.moves,
      deal: String(this.deal),
      cards: cards.rules.cards,
      piles: cards.board(),
      state: cards.status,
      moves_played: played.length,
      moves_known: line.length,
      line: line.map(({ text, words }) => [text, words]),
      last: last ? { action: last.text, words: last.words } : null,
      helped: played.some(({ by }) => by),
      finish: this.finish(),
      legal: cards.legal().map((action) => ({ ...cards.describe(action), exact: cards.isExact(action) })),
    };
  }

  get result() {
    return this.cards.status === "playing" ? "truncated" : this.cards.status;
  }

  get player() {
    const helpers = [...new Set(this.played.map(({ by }) => by).filter(Boolean))];
    return helpers.length ? `human with ${helpers.join(", ")}` : "human";
  }

  /** The transcript of the game, as solitaire_env.transcripts. */
  transcript() {
    const { variant, played } = this;
    const head = {
      env: variant.env, build: variant.build, spaces: variant.spaces, moves: variant.moves, policy: this.player,
      deal: this.deal, result: `${this.result}, ${this.cards.state.home[0]} cards home, ${played.length} steps`,
    }; // prettier-ignore
    const parts = [Object.entries(head).map(([name, value]) => `${name}: ${value}`).join("\n"), this.startText];
    if (played.length) parts.push(played.map(({ text }, k) => `${k + 1}. ${text}`).join("\n"));
    return `${parts.join("\n\n")}\n`;
  }

  /** The data of the replay page, as solitaire_env.play.replay_page. */
  replay() {
    const { cards, variant, played } = this;
    const now = played.length;
    this.goTo(0);
    let before = cards.board();
    const start = before;
    const steps = played.map(({ action, text, words }, k) => {
      const { source, targets, count } = cards.places(action);
      this.goTo(k + 1);
      const after = cards.board();
      const changed = Object.fromEntries(Object.entries(after).filter(([name, content]) => content !== before[name]));
      before = after;
      return [text, words, changed, [source, targets[0], count]];
    });
    this.goTo(now);
    return {
      title: variant.title, cards: cards.rules.cards, policy: this.player, deal: String(this.deal),
      result: this.result, played: now, start, steps, thoughts: [],
    }; // prettier-ignore
  }
}
