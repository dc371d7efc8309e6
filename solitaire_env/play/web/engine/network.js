// A shipped network: its weights, and the probabilities of moves, as solitaire_env.policies.network.
import { part } from "./machine.js";

/** The tensors of a safetensors file, each { shape, data }. */
function readTensors(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const { __metadata__, ...head } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const read = ({ shape, data_offsets: [from, to] }) =>
    ({ shape, data: new Float32Array(buffer.slice(8 + length + from, 8 + length + to)) });
  return Object.fromEntries(Object.entries(head).map(([name, tensor]) => [name, read(tensor)]));
}

export class Network {
  /**
   * plan: what the network reads, its temperature and so on, see solitaire_env.play.page_data; stockSeen: whether the
   * player has seen the stock; buffer: the file of the weights.
   */
  constructor(machine, cards, plan, view, stockSeen, buffer) {
    this.machine = machine;
    this.cards = cards;
    this.plan = plan;
    this.own = cards.known.own_features;
    const tensors = readTensors(buffer);
    const array = (type, shape, contents) => machine.array(type, shape, contents);
    const vector = (name) => array("float64", [tensors[name].data.length], tensors[name].data);
    const transposed = (name) => {
      const { shape: [outputs, inputs], data } = tensors[name]; // prettier-ignore
      const weight = array("float64", [inputs, outputs]);
      for (let k = 0; k < inputs; k += 1) for (let n = 0; n < outputs; n += 1) weight[k * outputs + n] = data[n * inputs + k];
      return weight;
    };
    const layer = (name) => ({ weight: transposed(`${name}.weight`), bias: vector(`${name}.bias`) });
    this.move = layer("read_move");
    this.position = transposed("read_position.weight");
    const after = this.move.weight.subarray(this.own * this.move.bias.length);
    this.position.forEach((weight, k) => (this.position[k] = weight + after[k]));
    const count = Object.keys(tensors).filter((name) => /^norms\.\d+\.weight$/.test(name)).length;
    this.hidden = Array.from({ length: count - 1 }, (_, k) => layer(`body.${k}`));
    this.norms = Array.from({ length: count }, (_, k) => {
      const [scale, shift] = [tensors[`norms.${k}.weight`].data, tensors[`norms.${k}.bias`].data];
      return array("float64", [2, scale.length], [...scale, ...shift]);
    });
    this.head = vector("head.weight");
    this.linear = vector("linear.weight");
    this.value = tensors["value_head.weight"] ? ["to_value.0", "to_value.2", "value_head"].map(layer) : null;
    this.makeScratch(view, stockSeen, tensors.habit ? vector("habit") : array("float64", [this.own]));
  }

  /** Arrays for the features of one position, and the kernels. */
  makeScratch(view, stockSeen, lookahead) {
    const { machine, cards, plan } = this;
    const { rules } = cards;
    const { scored_together: together } = cards.known;
    const array = (type, shape, contents) => machine.array(type, shape, contents);
    const [sizeOfMove, sizeOfPosition] = plan.sizes;
    const observations = (this.observation = machine.arrays(plan.observation));
    this.observe = machine.bind("write_card_observations", {
      rules, rows: cards.row, information: plan.information, stock_seen: stockSeen, out: observations, games: array("int64", [1]),
    }); // prettier-ignore
    this.masks = array("int8", [1, rules.actions]);
    this.chosen = array("int64", [1]);
    this.games = array("int64", [rules.actions]);
    this.actions = array("int64", [rules.actions]);
    this.moves = array("float32", [rules.actions, sizeOfMove]);
    this.positions = array("float32", [1, sizeOfPosition]);
    this.wide = array("float64", [together, sizeOfMove]);
    this.here = array("float64", [1, sizeOfPosition]);
    const widest = Math.max(this.head.length, this.move.bias.length, ...this.hidden.map(({ bias }) => bias.length));
    this.used = array("int64", [Math.max(sizeOfMove, sizeOfPosition, widest) + 1]);
    this.rows = [array("float64", [together, widest]), array("float64", [together, widest])];
    this.first = array("float64", [1, this.move.bias.length]);
    this.scores = array("float64", [rules.actions]);
    this.probabilities = array("float64", [1, rules.actions]);
    this.highest = array("float64", [1]);
    this.total = array("float64", [1]);
    const groups = { ...machine.arrays(plan.groups), weights: lookahead };
    const scratch = machine.arrays(plan.scratch);
    const given = { rules, plans: plan.plans, scratch, observations, masks: this.masks, groups };
    this.read = machine.bind("write_features", given);
    const asked = { rules, observations, masks: this.masks, chosen: this.chosen };
    const { state, events, passed: { weights } } = scratch; // prettier-ignore
    const finishing = { state, events, weights, met: array("int64", [cards.known.most_met]) };
    const finish = () => machine.bind("find_finishing_moves", { ...asked, scratch: finishing });
    const goHome = () => machine.bind("find_safe_moves", { ...asked, state: machine.arrays(view.state) });
    // They find a move that is played before all others.
    this.finders = [...(plan.finish_games ? [finish()] : []), ...(plan.safe_autoplay ? [goHome()] : [])];
    this.product = machine.bind("add_product", {});
    this.normalize = machine.bind("normalize", {});
    this.weigh = machine.bind("weigh", {});
    this.softmax = machine.bind("softmax", { probabilities: this.probabilities, highest: this.highest, total: this.total });
  }

  /** Add rows @ weight to out. */
  multiply(rows, weight, out) {
    this.product({ rows, weight, used: part(this.used, [rows.shape[1] + 1]), out });
  }

  /** The outputs of a linear layer, in one of two arrays. */
  apply({ weight, bias }, rows, which) {
    const out = part(this.rows[which], [rows.shape[0], bias.length]);
    for (let n = 0; n < rows.shape[0]; n += 1) out.set(bias, n * bias.length);
    this.multiply(rows, weight, out);
    return out;
  }

  /** The probabilities of all actions, and the value of the position or null. */
  explain() {
    const { cards, plan } = this;
    this.masks.set(cards.state.mask);
    this.observe();
    const found = this.finders.some((find) => (find(), this.chosen[0] >= 0n));
    if (found) this.masks.fill(0).fill(1, Number(this.chosen[0]), Number(this.chosen[0]) + 1);
    const legal = this.masks.reduce((a, b) => a + b, 0);
    const [games, actions] = [part(this.games, [legal]), part(this.actions, [legal])];
    this.read({ out: { games, actions, moves: part(this.moves, [legal, plan.sizes[0]]), positions: this.positions } });
    this.here.set(this.positions);
    this.multiply(this.here, this.position, this.zeroed(this.first));
    const { scored_together: together } = cards.known;
    for (let start = 0; start < legal; start += together) this.score(start, Math.min(together, legal - start));
    this.highest[0] = -Infinity;
    this.zeroed(this.probabilities);
    this.zeroed(this.total);
    this.softmax({ scores: part(this.scores, [legal]), games, actions, temperature: plan.temperature ?? 1 });
    return { probabilities: this.probabilities, value: plan.temperature === null ? this.valueOf() : this.highest[0] };
  }

  zeroed(array) {
    return array.fill(0);
  }

  /** Write the scores of some moves. */
  score(start, count) {
    const [features] = this.plan.sizes;
    const moves = part(this.wide, [count, features]);
    moves.set(this.moves.subarray(start * features, (start + count) * features));
    for (let n = 0; n < count; n += 1) {
      for (let k = this.own; k < features; k += 1) moves[n * features + k] -= this.here[k - this.own];
    }
    const { weight, bias } = this.move;
    let rows = part(this.rows[0], [count, bias.length]);
    for (let n = 0; n < count; n += 1) for (let k = 0; k < bias.length; k += 1) rows[n * bias.length + k] = this.first[k] + bias[k];
    this.multiply(moves, weight, rows);
    this.normalize({ rows, norm: this.norms[0] });
    this.hidden.forEach((layer, k) => {
      rows = this.apply(layer, rows, (k + 1) % 2);
      this.normalize({ rows, norm: this.norms[k + 1] });
    });
    this.weigh({ rows, head: this.head, moves, linear: this.linear, scores: part(this.scores, [count], start) });
  }

  valueOf() {
    if (!this.value) return null;
    const [first, second, last] = this.value;
    const positive = (rows) => {
      rows.forEach((x, k) => (rows[k] = Math.max(x, 0)));
      return rows;
    };
    const hidden = positive(this.apply(second, positive(this.apply(first, this.here, 0)), 1));
    return this.apply(last, hidden, 0)[0];
  }
}
