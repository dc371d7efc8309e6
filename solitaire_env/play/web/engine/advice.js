// The page's own policies: the action that one would play in a session.
import { Cards } from "./cards.js";
import { part } from "./machine.js";
import { Network } from "./network.js";

/** An action drawn by its weight. */
function draw(weights, uniform) {
  let total = 0;
  const sums = Array.from(weights, (weight) => (total += weight));
  const aim = uniform * total;
  return sums.findIndex((sum) => sum > aim);
}

/** The moves that a policy has played in a game, as solitaire_env.policies.played_moves. */
class PlayedMoves {
  constructor({ played, smallest }) {
    this.factor = played;
    this.smallest = smallest;
    this.forget();
  }

  forget() {
    this.times = new Map(); // how often each action was played, by position
    this.last = {};
  }

  /** An action drawn by its probability, rarely one that was played from this position. */
  draw(probabilities, uniform, position) {
    if (!this.times.has(position)) this.times.set(position, new Map());
    const played = this.times.get(position);
    const count = (action, more) => played.set(action, (played.get(action) ?? 0) + more);
    if (position === this.last.position) count(this.last.action, -1); // it was not played, or undone
    const weights = Array.from(probabilities);
    played.forEach((times, action) => (weights[action] = Math.max(weights[action] * this.factor ** times, this.smallest)));
    const action = draw(weights, uniform);
    count(action, 1);
    this.last = { position, action };
    return action;
  }
}

/** Policies that choose by a fixed order, or by a weighted sum of features. */
function deterministic(machine, cards, plan, view) {
  const { rules } = cards;
  const { own_features: own } = machine.data.constants;
  const observations = part(cards.row, [1, rules.row_stock]);
  const masks = cards.state.mask;
  const chosen = machine.array("int64", [1]);
  if (plan.id === "greedy") {
    const choose = machine.bind("choose", { rules, state: machine.arrays(view.state), observations, masks, chosen });
    return () => {
      choose();
      return Number(chosen[0]);
    };
  }
  const [games, actions] = [0, 1].map(() => machine.array("int64", [rules.actions]));
  const moves = machine.array("float32", [rules.actions, own]);
  const read = machine.bind("write_move_features", {
    rules, state: machine.arrays(view.state), scratch: machine.arrays(view.scratch), weights: machine.array("float64", [own]),
    observations, masks,
  }); // prettier-ignore
  const best = machine.bind("choose_best", { weights: machine.arrays(plan.weights), sets: machine.array("int64", [1]), chosen });
  return () => {
    const legal = cards.legal().length;
    const found = { games: part(games, [legal]), actions: part(actions, [legal]), moves: part(moves, [legal, own]) };
    read(found);
    best(found);
    return Number(chosen[0]);
  };
}

/** Gives the decisions of a policy in a session. */
export class Adviser {
  /** weights: the file of a network. */
  constructor(session, plan, weights) {
    const { machine, variant } = session;
    const view = variant.views[plan.view];
    this.session = session;
    this.id = plan.id;
    this.cards = plan.view ? new Cards(machine, view, variant) : session.cards;
    if (plan.view) this.prepareSingles(plan);
    if (plan.file) this.network = new Network(machine, this.cards, plan, view, session.stockSeen, weights);
    if (plan.avoid_repeats) this.moves = new PlayedMoves(session.known.played_moves);
    if (!plan.file) this.choose = deterministic(machine, this.cards, plan, view);
  }

  prepareSingles(plan) {
    const { machine, cards } = this.session;
    this.action = machine.array("int64", [1]);
    this.singles = machine.array("int64", [1, machine.data.constants.most_singles]);
    this.count = machine.array("int64", [1]);
    this.writeSingles = machine.bind("write_singles", {
      rules: this.cards.rules, strict: cards.rules, state: this.cards.state, rows: machine.array("int64", [1]),
      actions: this.action, scratch: machine.arrays(plan.singles), singles: this.singles, counts: this.count,
    }); // prettier-ignore
  }

  /** Another game begins: forget the moves of the last one. */
  begin() {
    this.moves?.forget();
  }

  /** Whether the policy draws its actions. */
  get stochastic() {
    return Boolean(this.network);
  }

  /** The actions of the session for an action of the policy: several for a supermove. */
  expand(action) {
    if (this.cards === this.session.cards) return [action];
    this.action[0] = BigInt(action);
    this.writeSingles();
    return Array.from(this.singles.subarray(0, Number(this.count[0])), Number);
  }

  /** The policy's decision, drawn with a random number: its action, and for a network the probabilities and the value. */
  decide(uniform) {
    if (this.cards !== this.session.cards) this.cards.row = this.session.cards.row;
    if (!this.network) return { action: this.choose(), probabilities: null, value: null };
    const thought = this.network.explain();
    const { probabilities } = thought;
    const chance = Math.min(uniform, this.cards.known.nearly_one);
    const action = this.moves ? this.moves.draw(probabilities, chance, String(this.network.observation)) : draw(probabilities, chance);
    return { action, ...thought };
  }

  /** The policy's action in the session as plain data; the likeliest one, or one that it draws. */
  advise(likeliest) {
    const { session, cards } = this;
    if (!session.played.length) this.begin();
    const thought = this.decide(session.uniform(session.deal.replace(/\D/g, ""), session.decisions));
    const options = [...(thought.probabilities ?? [])]
      .map((probability, action) => ({ action, probability }))
      .filter(({ probability }) => probability > 0)
      .sort((a, b) => b.probability - a.probability || a.action - b.action)
      .slice(0, cards.known.top_actions);
    const action = likeliest && options.length ? options[0].action : thought.action;
    return {
      policy: this.id,
      ...cards.describe(action),
      plays: this.expand(action).map((single) => session.cards.texts[single]),
      value: thought.value,
      actions: options.map((option) => ({ ...cards.describe(option.action), probability: option.probability })),
    };
  }
}
