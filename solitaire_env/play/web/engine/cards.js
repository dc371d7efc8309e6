// The cards of one game in the kernels: its position, and its actions as text, in words and as places.

const RANKS = "A23456789TJQK";
const SUITS = "CDHS";
const DOWN = 64; // the bit of a face-down card
export const STATUS = ["playing", "won", "stuck"];
const STATE = [
  "rows", "tops", "given", "taken", "carriable", "nextHome", "heights", "crowded", "runs", "stock", "waste", "home",
  "spaces", "emptyCells", "mask", "status",
]; // prettier-ignore

export const cardName = (card) =>
  card >= DOWN ? `(${cardName(card - DOWN)})` : card < 4 ? "--" : RANKS[(card >> 2) - 1] + SUITS[card & 3];

/** A card as its player sees it. */
const seen = (card) => (card === 1 || card >= DOWN ? "??" : cardName(card));

/** The game with one of its sets of actions, in one row. */
export class Cards {
  constructor(machine, view, variant) {
    this.variant = variant;
    this.rules = view.rules;
    this.values = Object.values(view.rules);
    this.texts = view.actions.split(" ");
    this.numbers = new Map(this.texts.map((text, number) => [text, number]));
    const arrays = machine.arrays(view.state);
    this.state = Object.fromEntries(STATE.map((name, k) => [name, arrays[k]]));
    this.arrays = arrays;
    this.deriveRows = machine.bind("core__rules__derive__derive_rows", [this.values, arrays, machine.array("int64", [1])]);
    this.decodeAction = machine.bind("core__rules__moves__decode_action", [this.values, arrays, 0], { results: 3 });
    this.worriedCard = machine.bind("core__rules__moves__worried_card", [this.values, arrays, 0], { results: 1 });
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
    return STATUS[this.state.status[0]];
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

  // -------------------------------------------------------------------------------- positions

  pile(number) {
    const start = number * this.rules.pile_capacity;
    return [...this.row.subarray(start, start + this.state.heights[0 + number])];
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

  /** The suit and the number of cards of each foundation. */
  foundations() {
    const { row_foundations: first, decks } = this.rules;
    return Array.from({ length: 4 * decks }, (_, k) => [Math.floor(k / decks), this.row[first + k]]);
  }

  /** The possible cards at a place of a suit's foundation, 0 for its first. */
  homeCards(suit, place) {
    const { ranks, base, row_base: at, alternate_home: alternate } = this.rules;
    if (place < 0 || place >= ranks) return [];
    const first = base || this.row[at];
    const rank = ((first - 1 + place) % ranks) + 1;
    const red = suit === 1 || suit === 2;
    const suits = !alternate || !place ? [suit] : red === (place % 2 === 0) ? [1, 2] : [0, 3];
    return suits.map((own) => 4 * rank + own);
  }

  homeTops() {
    return this.foundations().map(([suit, count]) => this.homeCards(suit, count - 1));
  }

  /** The board, as solitaire_env.play.piles.board. */
  board() {
    const { has_stock: stock, piles, decks, row_redeals: redeals } = this.rules;
    const board = {};
    if (stock) board.stock = this.state.stock[0];
    if (stock) board.waste = this.waste().map(cardName).join(" ");
    if (this.variant.passes !== 1) board.redeals = this.variant.passes ? this.row[redeals] : "-";
    this.homeTops().forEach(([card, ...others], k) => {
      const empty = `-${SUITS[Math.floor(k / decks)]}`;
      board[`f${k + 1}`] = card ? cardName(card) + others.map((other) => SUITS[other & 3]).join("") : empty;
    });
    this.cells().forEach((card, k) => (board[`c${k + 1}`] = card ? cardName(card) : ""));
    for (let k = 0; k < piles; k += 1) board[`t${k + 1}`] = this.pile(k).map(seen).join(" ");
    return board;
  }

  /** The position text, with the stock. */
  positionText() {
    const line = (name, cards) => [`${name}:`, ...cards.map(cardName)].join(" ");
    const { passes, name } = this.variant;
    const counts = this.foundations();
    const lines = [`variant: ${name}`];
    if (this.rules.has_stock) lines.push(line("stock", this.stock()), line("waste", this.waste()));
    if (passes !== 1) lines.push(`redeals: ${passes ? this.row[this.rules.row_redeals] : "-"}`);
    const suits = [0, 1, 2, 3].map((suit) => [SUITS[suit], ...counts.filter(([own]) => own === suit).map(([, n]) => n)]);
    lines.push(`foundations: ${suits.flat().join(" ")}`);
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
    const text = this.texts[action];
    if (!text.includes(">")) return text;
    if (text[0] === "f") return "worry";
    return { f: "home", c: "cell", s: "space", t: "tableau" }[text.split(">")[1][0]];
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
    if (kind === "draw") return { kind, source: "stock", target: "waste", cards: this.stock().slice(-this.rules.draw).reverse() };
    if (kind === "redeal") return { kind, source: "waste", target: "stock", cards: this.waste().reverse() };
    const [source, target, count] = this.decodeAction(action);
    if (kind === "worry") {
      const [card] = this.worriedCard(source - this.rules.sources, target);
      return { kind, source: "foundations", target: `t${target + 1}`, cards: [card] };
    }
    const cards = count > 1 ? this.pile(source).slice(-count) : [this.state.tops[source]];
    return { kind, source: this.sourceName(source), target: kind === "home" ? "foundations" : this.sourceName(target), cards };
  }

  /** A legal action in words, as solitaire_env.notation.describe_action. */
  words(action) {
    const { kind, source, target, cards } = this.move(action);
    if (kind === "draw") return `draw ${["a card", "two cards", "three cards"][this.rules.draw - 1]} from the stock`;
    if (kind === "redeal") return "turn the waste over to the stock";
    const origin = { t: source, w: "the waste", c: `cell ${source.slice(1)}`, f: "the foundations" }[source[0]];
    const top = cardName(cards.at(-1));
    if (kind === "home") return `${top} home, from ${origin}`;
    if (kind === "cell") return `${top} to a cell, from ${origin}`;
    const all = cards.length > 1 ? `${cardName(cards[0])} to ${top}, ${cards.length} cards,` : top;
    if (kind === "space") return `${all} from ${origin} to the space ${target}`;
    return `${all} from ${origin} to ${target}, onto ${cardName(this.state.tops[Number(target.slice(1)) - 1])}`;
  }

  /** The start of a legal action, its possible targets, and the number of cards, as piles.places. */
  places(action) {
    const { source, target, cards } = this.move(action);
    return { source: this.startOf(source, target, cards), targets: this.targets(target, cards), count: cards.length };
  }

  startOf(source, target, cards) {
    if (target === "stock") return "stock";
    if (source !== "foundations") return source;
    return `f${this.homeTops().findIndex((tops) => tops.includes(cards[0])) + 1}`;
  }

  targets(target, cards) {
    const names = (list, letter, test) => list.flatMap((each, k) => (test(each) ? [`${letter}${k + 1}`] : []));
    const { heights } = this.state;
    if (target === "foundations") {
      return names(this.foundations(), "f", ([suit, count]) => this.homeCards(suit, count).includes(cards[0]));
    }
    if (target[0] === "c") return names(this.cells(), "c", (card) => !card);
    if (target[0] === "t" && !heights[Number(target.slice(1)) - 1]) return names([...heights], "t", (height) => !height);
    return [target];
  }

  /** A legal action as the page shows it. */
  describe(action) {
    return { action: this.texts[action], words: this.words(action), ...this.places(action) };
  }
}
