// Whether a position can be won if all its cards are known, as solitaire_env.search.solver, without its beams.
import { part } from "./machine.js";

const ROWS = 3; // games of a search: the position, the one before it, and one that is tried

/** Described arrays of one game, for several. */
const withRows = (described) =>
  Object.fromEntries(Object.entries(described).map(([name, [type, [, ...shape]]]) => [name, [type, [ROWS, ...shape]]]));

export class Solver {
  /** session: a game with memory for a search, at the position. */
  constructor(session) {
    const { machine, variant, cards } = session;
    const plan = variant.policies.find(({ id }) => id === "linear");
    const view = variant.views[plan.view];
    this.session = session;
    this.machine = machine;
    this.lengths = variant.search;
    this.limits = session.known.search;
    this.draws = 0;
    this.game = this.gameOf(view);
    this.strict = plan.view ? this.gameOf(variant.views[0]) : this.game;
    this.singles = plan.view ? machine.arrays(plan.singles) : null;
    this.weights = machine.array("float64", [1, session.known.own_features], machine.arrays(plan.weights));
    this.perturbed = machine.array("float64", [this.limits.perturbed, session.known.own_features]);
    this.row = machine.array("int8", [cards.rules.row_size], cards.row);
    this.autoplay = Number(variant.safe);
    this.lines = [0, 1, 2].map(() => machine.array("int64", [this.limits.longest]));
    this.length = null; // of the line to a win, in the game's own moves, that lies in the first of the lines
    this.steps = this.search();
  }

  /** A game with one of its sets of actions, and what kernels need to search it. */
  gameOf({ rules, state, events, scratch }) {
    const { machine } = this;
    const [own, happened, used] = [withRows(state), withRows(events), scratch].map((each) => machine.arrays(each));
    const derive = machine.bind("derive_rows", { rules, state: own, rows: machine.array("int64", [1]) });
    const trail = machine.make("begin", "trail", { ...this.lengths.trail, rules });
    return { rules, state: own, events: happened, scratch: used, trail, derive };
  }

  /** Put the position into the first row of a game. */
  start({ state, derive } = this.game) {
    state.rows.set(this.row);
    derive();
  }

  /** The line to a win, as texts; null if none was found yet. */
  get line() {
    if (this.length === null) return null;
    return Array.from(this.lines[0].subarray(0, this.length), (action) => this.session.cards.texts[action]);
  }

  /** Search for some more seconds. Returns "won", "unwinnable" or "open"; a win gets a shorter line in what is left of them. */
  run(seconds) {
    const second = 1e3; // of performance.now()
    let end = performance.now() + seconds * second;
    let found = this.length !== null;
    for (;;) {
      const step = this.steps.next();
      if (step.done) return (this.result ??= step.value);
      if (!found && this.length !== null) {
        found = true;
        end = Math.min(end, performance.now() + this.limits.grace * seconds * second);
      }
      if (performance.now() >= end) return found ? "won" : "open";
    }
  }

  /** The whole search; it pauses many times a second. */
  *search() {
    const result = (yield* this.searchStates()) ?? (yield* this.searchMoves());
    yield;
    if (result === "won") yield* this.shorten();
    return result;
  }

  // ---------------------------------------------------------------------------- games like Klondike

  /** The search without the arrangement of face-up cards; undefined if it does not suit the game, or decides nothing. */
  *searchStates() {
    const { machine, limits, game, row } = this;
    const { rules, state, events } = game;
    if (!this.lengths.states) return undefined;
    const puzzle = machine.make("begin_states", "puzzle", this.lengths.puzzle);
    const search = machine.make("begin_states", "search", this.lengths.states);
    if (!machine.bind("begin_states", { rules, row, puzzle, search })()[0]) return undefined;
    const explore = machine.bind("explore_states", { puzzle, search, budget: limits.part });
    for (;;) {
      const [end] = explore();
      if (end === limits.exhausted) return "unwinnable";
      if (end === limits.found) {
        this.start();
        [this.length] = machine.bind("spell_win", { rules, state, events, search, line: this.lines[0] })();
        return "won";
      }
      if (end !== limits.more) return undefined;
      yield;
    }
  }

  // ------------------------------------------------------------------------------------- all games

  /** Rollouts; then the exhaustive search, and in turn with it short searches in other orders, and rollouts. */
  *searchMoves() {
    const { limits } = this;
    for (let tries = 0; tries < limits.tries; tries += 1) {
      if (this.playNested(tries > 0)) return "won";
      yield;
    }
    const whole = this.exhaustive(this.lengths.store);
    const short = this.exhaustive(this.lengths.short);
    whole.begin(this.weights);
    let end = limits.more;
    for (;;) {
      if (end === limits.more) end = yield* whole.explore();
      if (end === limits.found && this.spell(whole.trace())) return "won";
      if (end === limits.exhausted) return "unwinnable";
      short.begin(this.perturb(1));
      const other = yield* short.explore();
      if (other === limits.found && this.spell(short.trace())) return "won";
      if (other === limits.exhausted) return "unwinnable";
      if (this.playNested(true)) return "won";
      yield;
    }
  }

  /** The weights with noise, some sets of them. */
  perturb(sets) {
    const { session, limits, weights } = this;
    const uniform = () => session.uniform(0, (this.draws += 1));
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    const chosen = part(this.perturbed, [sets, weights.length]);
    chosen.forEach((_, k) => (chosen[k] = weights[k % weights.length] + limits.noise * normal()));
    return chosen;
  }

  /** Nested rollouts; whether they win. */
  playNested(perturbed) {
    const { machine, game, limits, autoplay } = this;
    const { rules, state, events, scratch } = game;
    const [, line, trial] = this.lines;
    this.nested ??= machine.bind("nested_rollouts", {
      rules, state, events, stall_limit: limits.stall_limit, autoplay, line, trial,
      first: machine.array("int64", [rules.actions]), scratch,
    }); // prettier-ignore
    this.start();
    const [home, length] = this.nested({ weight_sets: perturbed ? this.perturb(limits.perturbed) : this.weights });
    return home === rules.cards && this.spell(length);
  }

  /** An exhaustive search with room of its own. */
  exhaustive(lengths) {
    const { machine, limits, game, autoplay } = this;
    const { rules, state, events, trail, scratch } = game;
    const store = machine.make("begin", "store", { ...lengths, rules });
    const weights = machine.array("float64", [this.weights.length]);
    const first = machine.bind("begin", { rules, state, events, autoplay, trail, store });
    const budget = limits.part;
    const explore = machine.bind("explore", { rules, state, events, weights, autoplay, budget, trail, store, scratch });
    const trace = machine.bind("trace", { store, line: this.lines[1] });
    return {
      begin: (own) => {
        weights.set(own);
        store.table.fill(0n);
        store.counts.fill(0n);
        this.start();
        first();
      },
      *explore() {
        let end = limits.more;
        for (let moves = 0; moves < limits.slice && end === limits.more; moves += limits.part) {
          [end] = explore();
          yield;
        }
        return end;
      },
      trace: () => trace()[0],
    };
  }

  /** Write a line, of which the second of the lines has some actions, in the game's own moves; whether there was room. */
  spell(length) {
    if (length < 0) return false;
    const { machine, game, strict, autoplay } = this;
    const { rules, state, events } = game;
    const [own, line, full] = this.lines;
    this.start();
    const home = rules.cards;
    const to = this.singles ? full : own;
    let [count] = machine.bind("add_safe_moves", { rules, state, events, line: part(line, [length]), autoplay, home, full: to })();
    if (this.singles && count >= 0) {
      this.start();
      const all = part(full, [count]);
      [count] = machine.bind("expand_line", { rules, strict: strict.rules, state, events, line: all, scratch: this.singles, singles: own })();
    }
    if (count >= 0) this.length = count;
    return count >= 0;
  }

  /** Shorten the line that was found. */
  *shorten() {
    const { machine, limits, row } = this;
    const { rules, state, events, trail } = this.strict;
    const [near, store] = ["near", "store"].map((name) => machine.make("shorten_some", name, { ...this.lengths.short, rules }));
    const progress = machine.array("int64", [3], [BigInt(this.length), 0n, 0n]);
    const next = machine.bind("shorten_some", {
      rules, state, events, row, trail, near, store, line: this.lines[0], progress, budget: limits.shortened,
    }); // prettier-ignore
    while (next()[0]) {
      this.length = Number(progress[0]);
      yield;
    }
  }
}
