// Policies: the action that one would play in a session, as solitaire_env.play.hints.
import { Cards } from "./cards.js";
import { part } from "./machine.js";
import { Network } from "./network.js";
import { randomStream } from "./random.js";

const TOP = 5; // actions in a thought
const NEARLY_ONE = 1 - 2 ** -32;
const SINGLES = 49; // maximum number of single moves of a supermove
const TASKS = 14;

/** An action drawn by its weight. */
function draw(weights, uniform) {
  let total = 0;
  const sums = Array.from(weights, (weight) => (total += weight));
  const aim = Math.min(uniform, NEARLY_ONE) * total;
  return sums.findIndex((sum) => sum > aim);
}

/** Policies that choose by a fixed order, or by a weighted sum of features. */
function deterministic(machine, cards, plan, common, view) {
  const { values, rules, state } = cards;
  const seen = part(cards.row, [1, rules.row_stock]);
  const chosen = machine.array("int64", [1]);
  if (plan.id === "greedy") {
    const choose = machine.bind("policies__greedy___choose", [values, machine.arrays(view.state), seen, state.mask, chosen]);
    return () => {
      choose();
      return Number(chosen[0]);
    };
  }
  const { own_features: own } = common;
  const [games, actions] = [0, 1].map(() => machine.array("int64", [rules.actions]));
  const moves = machine.array("float32", [rules.actions, own]);
  const read = machine.bind("move_features__reader__write_move_features", [
    values, machine.arrays(view.state), machine.arrays(view.scratch), machine.array("float64", [own]), seen, state.mask,
  ]); // prettier-ignore
  const best = machine.bind("policies__linear__choose_best", []);
  const weights = machine.array(...plan.weights);
  const sets = machine.array("int64", [1]);
  return () => {
    const legal = cards.legal().length;
    const found = [part(games, [legal]), part(actions, [legal]), part(moves, [legal, own])];
    read(...found);
    best(...found, weights, sets, chosen);
    return Number(chosen[0]);
  };
}

/** Gives the decisions of a policy in a session. */
export class Adviser {
  /** weights: the file of a network. */
  constructor(session, plan, common, weights) {
    const { machine, variant } = session;
    const view = variant.views[plan.view];
    this.session = session;
    this.id = plan.id;
    this.cards = plan.view ? new Cards(machine, view, variant) : session.cards;
    if (plan.view) this.prepareSingles();
    if (plan.file) {
      const sums = machine.array(...common.sums);
      this.network = new Network(machine, this.cards, { ...plan, sums }, common, view, weights);
    } else this.choose = deterministic(machine, this.cards, plan, common, view);
  }

  prepareSingles() {
    const { machine, cards } = this.session;
    const { piles, cells } = this.cards.rules;
    const long = (...shape) => machine.array("int64", shape);
    this.action = long(1);
    this.singles = long(1, SINGLES);
    this.count = long(1);
    this.expandRows = machine.bind("core__supermoves__write_singles", [
      this.cards.values, cards.values, this.cards.arrays, long(1), this.action,
      [long(piles), long(cells + 1), long(SINGLES), long(TASKS, 4)], this.singles, this.count,
    ]); // prettier-ignore
  }

  /** The actions of the session for an action of the policy: several for a supermove. */
  expand(action) {
    if (this.cards === this.session.cards) return [action];
    this.action[0] = BigInt(action);
    this.expandRows();
    return Array.from(this.singles.subarray(0, Number(this.count[0])), Number);
  }

  /**
   * The policy's decision: its action, and for a network the probabilities and the value.
   *
   * random: the random numbers of the game, which have been drawn for all decisions before.
   */
  decide(random) {
    if (this.cards !== this.session.cards) this.cards.row = this.session.cards.row;
    if (!this.network) return { action: this.choose(), probabilities: null, value: null };
    const thought = this.network.explain();
    return { action: draw(thought.probabilities, random.random()), ...thought };
  }

  /** The policy's action in the session as plain data; the likeliest one, or one that it draws. */
  advise(likeliest) {
    const { session, cards } = this;
    const random = this.network && randomStream(session.deal, 0).advance(session.decisions);
    const thought = this.decide(random);
    const options = [...(thought.probabilities ?? [])]
      .map((probability, action) => ({ action, probability }))
      .filter(({ probability }) => probability > 0)
      .sort((a, b) => b.probability - a.probability || a.action - b.action)
      .slice(0, TOP);
    const action = likeliest && options.length ? options[0].action : thought.action;
    return {
      policy: this.id,
      ...cards.describe(action),
      singles: this.expand(action),
      value: thought.value,
      actions: options.map((option) => ({ ...cards.describe(option.action), probability: option.probability })),
    };
  }
}
