// A game that is played move by move, with undo and redo.
import { moveWords } from "../board.js";
import { Cards } from "./cards.js";
import { Machine } from "./machine.js";

const range = (program, most) => `${program}:1 to ${program}:${most}`;

export class Session {
  /** game: its data, see solitaire_env.play.page_data; house rules are part of it. pages: memory for more than the game. */
  constructor(module, data, game, pages) {
    this.variant = game;
    this.known = data.constants;
    this.machine = new Machine(module, data, pages);
    const { machine, known } = this;
    const [view] = game.views;
    this.cards = new Cards(machine, view, game);
    const { rules, state } = this.cards;
    this.deals = machine.arrays(view.deals ?? game.deals);
    this.action = machine.array("int64", [1]);
    const rows = machine.array("int64", [1]);
    this.dealRows = machine.bind("deal_rows", { rules, deals: this.deals, state, rows });
    this.stepRows = machine.bind("step_rows", {
      rules, deals: this.deals, state, events: machine.arrays(view.events), actions: this.action,
      todo: machine.array("int8", [1], [known.play]),
    }); // prettier-ignore
    this.stockSeen = machine.array("bool", [1]);
    this.seeds = machine.array("uint64", [1]);
    this.resampleRows = machine.bind("resample_rows", {
      rules, deals: this.deals, state, stock_seen: this.stockSeen, places: machine.array("int64", [rules.cards]),
      copies: machine.array("int64", [known.codes]), rows, seeds: this.seeds,
    }); // prettier-ignore
    this.random = machine.array("int64", [1]);
    const pick = { streams: this.seeds, chosen: machine.array("int64", [0]), rows, numbers: this.random };
    this.pickRows = machine.bind("pick_rows", pick);
    this.safe = machine.array("int64", [1]);
    this.findSafe = machine.bind("find_safe_moves", {
      rules, state: machine.arrays(view.state), observations: state.rows, masks: state.mask, chosen: this.safe,
    }); // prettier-ignore
    this.played = [];
    this.undone = [];
    this.seconds = 0; // that its player spent on it
    this.helpers = new Set(); // the policies that played a move of this deal, also one that was taken back
  }

  get line() {
    return [...this.played, ...this.undone.toReversed()];
  }

  get decisions() {
    return this.played.filter(({ decides }) => decides).length;
  }

  // ------------------------------------------------------------------------------------- deals

  /** Deal a game: its number, the name of a deal of another program, or "random". */
  start(deal) {
    const { known, cards } = this;
    this.deal = deal === "random" ? String(1 + Math.floor(Math.random() * known.random_deals)) : String(deal);
    this.order();
    this.dealRows();
    this.first = cards.row.slice();
    this.stockSeen[0] = 0;
    this.startText = cards.positionText();
    return this;
  }

  /** Write the order of the pack of the deal. */
  order() {
    const { machine, known, deal, variant } = this;
    const { ranks, suits, max_deal: most, max_ms_deal: mostOfMs, pysol_as_ms: mostOfPysol } = known;
    const { orders: order } = this.deals;
    const { rules } = this.cards;
    const [, program, number] = deal.match(/^(?:(ms|pysol):)?(\d{1,30})$/) ?? [];
    if (!number) throw new Error(`unknown deal '${deal}', allowed: a whole number, 'ms:N' or 'pysol:N'`);
    if (!program) {
      if (BigInt(number) > BigInt(most)) throw new Error(`deal ${deal} is out of range, allowed: 0 to ${most}`);
      const pack = suits.length * rules.ranks;
      order.set(Array.from({ length: rules.cards }, (_, k) => suits.length + (k % pack)));
      machine.bind("shuffle_rows", { states: machine.array("uint64", [1], [BigInt(number)]), orders: order })();
      return;
    }
    if (rules.ranks !== ranks.length) throw new Error(`deal '${deal}' is of a full pack, but ${variant.name} has ${rules.ranks} ranks`);
    const limit = program === "ms" ? mostOfMs : mostOfPysol;
    if (BigInt(number) < 1n || BigInt(number) > BigInt(limit)) throw new Error(`deal '${deal}' is out of range, allowed here: ${range(program, limit)}`);
    const pack = Object.assign(order.subarray(0), { shape: [rules.cards] });
    machine.bind("microsoft_order", { number, decks: rules.decks, order: pack })();
    if (program === "ms") return;
    if (!rules.base) machine.bind("base_card_first", { order: pack })();
    if (variant.pysol_places.length) order.set(variant.pysol_places.map((place) => pack[place]).map(Number));
  }

  /** Deal the hidden cards again; the seed decides how. */
  resample(seed) {
    this.seeds[0] = BigInt(seed);
    this.resampleRows();
    this.cards.row = this.cards.row.slice();
  }

  /** A random number in [0, 1) that a seed and the number of a draw decide. */
  uniform(seed, draw) {
    this.seeds[0] = (BigInt(seed) << 32n) + BigInt(draw);
    this.pickRows();
    return Number(this.random[0]) / 2 ** 63;
  }

  // ------------------------------------------------------------------------------------- moves

  /** Play a legal action of the kernels, and nothing else. */
  step(action) {
    this.action[0] = BigInt(action);
    this.stepRows();
    if (!this.cards.state.stock[0]) this.stockSeen[0] = 1; // until it is empty, its order is hidden
  }

  /** Play a legal action, given as text; by is the policy that chose it. */
  play(text, { decides = true, by = "" } = {}) {
    const { cards } = this;
    if (this.played.length >= this.known.max_moves) throw new Error(`the game has ${this.known.max_moves} moves, the maximum`);
    const action = cards.parse(text);
    const words = moveWords(cards.board(), cards.places(action));
    const next = this.undone.at(-1);
    this.played.push({ before: cards.row.slice(), action, text, words, decides, by });
    if (by) this.helpers.add(by);
    this.step(action);
    if (next?.action === action) this.undone.pop();
    else this.undone = [];
  }

  /** Play the moves of a link: texts, or { text, by, decides }. */
  playLine(line) {
    line.forEach((move, k) => {
      const { text, ...how } = typeof move === "string" ? { text: move } : move;
      try {
        this.play(text, how);
      } catch (error) {
        throw new Error(`move ${k + 1} of the link, '${text}': ${error.message}`);
      }
    });
    return this;
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

  /** The next move home that the player need not make: any, or one that cannot be wrong; undefined if there is none. */
  homeMove({ safe }) {
    const { cards, played, variant } = this;
    // A card that the player took back from a foundation stays.
    if (cards.status !== "playing" || (played.length && cards.kindOf(played.at(-1).action) === "worry")) return undefined;
    if (!safe) return cards.texts[cards.legal().find((action) => cards.kindOf(action) === "home")];
    if (!variant.safe) return undefined;
    this.findSafe();
    return cards.texts[this.safe[0]];
  }

  /** Whether the player knows the cards of the stock. */
  get knowsStock() {
    return !this.cards.state.stock[0] || this.stockSeen[0] === 1;
  }

  /** Call a function that plays actions, then take them back. */
  attempt(work) {
    const { cards, stockSeen } = this;
    const [before, seen] = [cards.row.slice(), stockSeen[0]];
    const result = work();
    cards.row = before;
    stockSeen[0] = seen;
    return result;
  }

  /** Number of cards home, and of those that lie neither face down nor in the stock or the waste. */
  get progress() {
    const { cards } = this;
    const { row_cells: cells, cards: all } = cards.rules;
    const down = cards.row.subarray(0, cells).reduce((count, card) => count + Number(card >= cards.known.down), 0);
    return [cards.cardsHome, all - down - cards.state.stock[0] - cards.state.waste[0]];
  }

  /**
   * Whether all moves that are left change nothing, in a game whose stock the player knows: in no position that they
   * lead to can another card go home, be turned up or leave the waste. False if that takes too many moves to find out.
   */
  isSpent() {
    const { cards, known } = this;
    if (!cards.rules.has_stock || cards.status !== "playing" || !this.knowsStock) return false;
    const [home, open] = this.progress;
    return this.attempt(() => {
      const rows = [cards.row.slice()]; // grows while it is read
      const seen = new Set(rows.map(String));
      let tried = 0;
      for (const row of rows) {
        cards.row = row;
        for (const action of cards.legal()) {
          tried += 1;
          if (tried > known.max_tried) return false;
          cards.row = row;
          this.step(action);
          const [nowHome, nowOpen] = this.progress;
          if (nowHome > home || nowOpen > open) return false;
          if (seen.has(String(cards.row))) continue;
          seen.add(String(cards.row));
          rows.push(cards.row.slice());
        }
      }
      return true;
    });
  }

  /** The moves home, and the draws between them, that win the game once its player knows all cards; else none. */
  finish() {
    return this.cards.isOpen && this.knowsStock ? this.attempt(() => this.movesHome()) : [];
  }

  /** Play moves home, and draws between them, to the end; return them if they win, else none. */
  movesHome() {
    const { cards } = this;
    const moves = [];
    const since = new Set(); // positions since the last card went home
    while (cards.status === "playing" && !since.has(String(cards.row))) {
      since.add(String(cards.row));
      const next = ["home", "draw", "redeal"].map((kind) => cards.legal().find((action) => cards.kindOf(action) === kind));
      const action = next.find((found) => found !== undefined);
      if (action === undefined) break;
      if (action === next[0]) since.clear();
      moves.push(cards.texts[action]);
      this.step(action);
    }
    return cards.status === "won" ? moves : [];
  }

  // ------------------------------------------------------------------------------ what is shown

  /** The game as the page draws it; it contains no hidden card. */
  view() {
    const { cards, variant, played, line } = this;
    return {
      game: variant.name,
      title: variant.title,
      rules: { build: variant.build, spaces: variant.spaces, moves: variant.moves },
      describe: variant.describe,
      deal: this.deal,
      cards: cards.rules.cards,
      piles: cards.board(),
      state: cards.status,
      moves_played: played.length,
      moves_known: line.length,
      line: line.map(({ words }) => words),
      last: played.at(-1) ?? null,
      helped: this.helpers.size > 0,
      spent: this.isSpent(),
      finish: this.finish(),
      legal: cards.legal().map((action) => ({ ...cards.describe(action), exact: cards.isExact(action) })),
    };
  }

  get result() {
    return this.cards.status === "playing" ? "truncated" : this.cards.status;
  }

  get player() {
    return this.helpers.size ? `human with ${[...this.helpers].join(", ")}` : "human";
  }

  /** The transcript of the game, as solitaire_env.transcripts. */
  transcript() {
    const { variant, played } = this;
    const head = {
      env: variant.env, build: variant.build, spaces: variant.spaces, moves: variant.moves, policy: this.player,
      deal: this.deal, result: `${this.result}, ${this.cards.cardsHome} cards home, ${played.length} steps`,
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
    const steps = played.map(({ action, text }, k) => {
      const { source, targets, count } = cards.places(action);
      this.goTo(k + 1);
      const after = cards.board();
      const changed = Object.fromEntries(Object.entries(after).filter(([name, content]) => content !== before[name]));
      before = after;
      return [text, changed, [source, targets[0], count]];
    });
    this.goTo(now);
    return {
      title: variant.title, cards: cards.rules.cards, policy: this.player, deal: this.deal,
      result: this.result, played: now, start, steps, thoughts: [],
    }; // prettier-ignore
  }
}
