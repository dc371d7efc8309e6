// The cards of one game in the kernels: its position, and its actions as text and as places.

/** The game with one of its sets of actions, in one row. */
export class Cards {
  constructor(machine, view, variant) {
    this.machine = machine;
    this.variant = variant;
    this.known = machine.data.constants;
    this.rules = view.rules;
    this.texts = view.actions.split(" ");
    this.numbers = new Map(this.texts.map((text, number) => [text, number]));
    this.kinds = Object.entries(view.kinds); // each with its first action
    this.state = machine.arrays(view.state);
    const { rules, state } = this;
    this.deriveRows = machine.bind("derive_rows", { rules, state, rows: machine.array("int64", [1]) });
    this.decodeAction = machine.bind("decode_action", { rules, state, row: 0 });
    this.worriedCard = machine.bind("worried_card", { rules, state, row: 0 });
    [this.tops, this.takes] = [0, 1].map(() => machine.array("int64", [this.known.suits.length * rules.decks]));
    this.readFoundations = machine.bind("read_foundations", { rules, state, row: 0, tops: this.tops, takes: this.takes });
  }

  /** The position row. */
  get row() {
    return this.state.rows;
  }

  set row(row) {
    this.state.rows.set(row);
    this.deriveRows();
  }

  get status() {
    return this.known.status[this.state.status[0]];
  }

  get cardsHome() {
    return Number(this.state.home[0]);
  }

  /** The numbers of the legal actions; none if the game is over. */
  legal() {
    const numbers = [];
    if (this.status === "playing") this.state.mask.forEach((can, action) => can && numbers.push(action));
    return numbers;
  }

  isLegal(action) {
    return this.status === "playing" && this.state.mask[action] === 1;
  }

  // ------------------------------------------------------------------------------------ cards

  /** The name of a card; one that its player does not see is named if known is true. */
  name(card, known = false) {
    const { down, face_down: hidden, no_card: [none, empty], ranks, suits } = this.known; // prettier-ignore
    if (card === hidden || (card >= down && !known)) return this.known.hidden;
    if (card >= down) return `(${this.name(card - down)})`;
    return card === none ? empty : ranks[(card >> 2) - 1] + suits[card & 3];
  }

  /** Whether no card of the tableau is face down. */
  get isOpen() {
    return !this.row.subarray(0, this.rules.row_cells).some((card) => card >= this.known.down);
  }

  pile(number) {
    const start = number * this.rules.pile_capacity;
    return [...this.row.subarray(start, start + this.state.heights[number])];
  }

  cells() {
    return [...this.row.subarray(this.rules.row_cells, this.rules.row_waste)];
  }

  waste() {
    return [...this.row.subarray(this.rules.row_waste, this.rules.row_waste + this.state.waste[0])];
  }

  stock() {
    return [...this.row.subarray(this.rules.row_stock, this.rules.row_stock + this.state.stock[0])];
  }

  /** Each foundation: its suit, its number of cards, its possible last cards and those that it takes. */
  foundations() {
    const { row_foundations: first, decks } = this.rules;
    this.readFoundations();
    const cards = (set) => [...set.toString(2)].reverse().flatMap((bit, card) => (bit === "1" ? [card] : []));
    return Array.from(this.tops, (tops, k) => ({
      suit: this.known.suits[Math.floor(k / decks)], count: this.row[first + k], tops: cards(tops), takes: cards(this.takes[k]),
    })); // prettier-ignore
  }

  // -------------------------------------------------------------------------------- positions

  get redeals() {
    return this.variant.passes ? this.row[this.rules.row_redeals] : this.known.no_limit;
  }

  /** The board, as solitaire_env.play.piles.board. */
  board() {
    const { has_stock: stock, piles } = this.rules;
    const board = {};
    if (stock) board.stock = this.state.stock[0];
    if (stock) board.waste = this.waste().map((card) => this.name(card)).join(" ");
    if (this.variant.passes !== 1) board.redeals = this.redeals;
    this.foundations().forEach(({ suit, tops: [card, ...others] }, k) => {
      board[`f${k + 1}`] = card ? this.name(card) + others.map((other) => this.name(other)[1]).join("") : `-${suit}`;
    });
    this.cells().forEach((card, k) => (board[`c${k + 1}`] = card ? this.name(card) : ""));
    for (let k = 0; k < piles; k += 1) board[`t${k + 1}`] = this.pile(k).map((card) => this.name(card)).join(" ");
    return board;
  }

  /** The position text, with the stock. */
  positionText() {
    const line = (name, cards) => [`${name}:`, ...cards.map((card) => this.name(card, true))].join(" ");
    const { passes, name } = this.variant;
    const lines = [`variant: ${name}`];
    if (this.rules.has_stock) lines.push(line("stock", this.stock()), line("waste", this.waste()));
    if (passes !== 1) lines.push(`redeals: ${this.redeals}`);
    const homes = this.foundations();
    const counts = [...this.known.suits].map((suit) => [suit, ...homes.filter((own) => own.suit === suit).map(({ count }) => count)]);
    lines.push(`foundations: ${counts.flat().join(" ")}`);
    if (!this.rules.base) lines.push(`base: ${this.row[this.rules.row_base]}`);
    if (this.rules.cells) lines.push(line("cells", this.cells()));
    for (let k = 0; k < this.rules.piles; k += 1) lines.push(line(`t${k + 1}`, this.pile(k)));
    return lines.join("\n");
  }

  // ---------------------------------------------------------------------------------- actions

  /** The number of an action from its text. */
  parse(text) {
    const number = this.numbers.get(text);
    if (number === undefined) throw new Error(`${this.variant.name} has no action '${text}'`);
    if (!this.isLegal(number)) throw new Error(`${text} is not legal there`);
    return number;
  }

  kindOf(action) {
    return this.kinds.findLast(([, first]) => action >= first)[0];
  }

  /** Whether the player chooses the number of cards. */
  isExact(action) {
    return /x\d/.test(this.texts[action]);
  }

  sourceName(source) {
    const { piles, first_cell: first } = this.rules;
    return source < piles ? `t${source + 1}` : source < first ? "waste" : `c${source - first + 1}`;
  }

  /** The cards that a legal action moves, bottom first, and the piles. */
  move(action) {
    const kind = this.kindOf(action);
    if (kind === "draw") return { source: "stock", target: "waste", cards: this.stock().slice(-this.rules.draw).reverse() };
    if (kind === "redeal") return { source: "waste", target: "stock", cards: this.waste().reverse() };
    const [source, target, count] = this.decodeAction({ action });
    if (kind === "worry") {
      const [card] = this.worriedCard({ suit: source - this.rules.sources, target });
      return { source: "foundations", target: `t${target + 1}`, cards: [card] };
    }
    const cards = count > 1 ? this.pile(source).slice(-count) : [this.state.tops[source]];
    return { source: this.sourceName(source), target: kind === "home" ? "foundations" : this.sourceName(target), cards };
  }

  /** The start of a legal action, its possible targets, and the number of cards, as solitaire_env.play.piles.places. */
  places(action) {
    const { source, target, cards } = this.move(action);
    return { source: this.startOf(source, target, cards), targets: this.targets(target, cards), count: cards.length };
  }

  startOf(source, target, cards) {
    if (target === "stock") return "stock";
    if (source !== "foundations") return source;
    return `f${this.foundations().findIndex(({ tops }) => tops.includes(cards[0])) + 1}`;
  }

  targets(target, cards) {
    const names = (list, letter, test) => list.flatMap((each, k) => (test(each) ? [`${letter}${k + 1}`] : []));
    const { heights } = this.state;
    if (target === "foundations") return names(this.foundations(), "f", ({ takes }) => takes.includes(cards[0]));
    if (target[0] === "c") return names(this.cells(), "c", (card) => !card);
    if (target[0] === "t" && !heights[Number(target.slice(1)) - 1]) return names([...heights], "t", (height) => !height);
    return [target];
  }

  /** A legal action as the page shows it. */
  describe(action) {
    return { action: this.texts[action], ...this.places(action) };
  }
}
