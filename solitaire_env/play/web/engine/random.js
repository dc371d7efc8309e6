// Random numbers as NumPy draws them, and the deals of other programs.

const M32 = 0xffffffffn;
const M64 = (1n << 64n) - 1n;
const M128 = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;

/** 64-bit words from a list of 32-bit words: numpy.random.SeedSequence(words).generate_state(count). */
export function seedWords(words, count) {
  const mixer = (constant, multiplier) => (value) => {
    value = (value ^ constant) >>> 0;
    constant = Math.imul(constant, multiplier) >>> 0;
    value = Math.imul(value, constant) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  };
  const hash = mixer(0x43b0d7e5, 0x931e8875);
  const mix = (x, y) => {
    const mixed = (Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) >>> 0;
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  const pool = [0, 1, 2, 3].map((k) => hash(words[k] ?? 0));
  for (let from = 0; from < 4; from += 1) {
    for (let to = 0; to < 4; to += 1) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  for (const word of words.slice(4)) for (let to = 0; to < 4; to += 1) pool[to] = mix(pool[to], hash(word));
  const out = mixer(0x8b51f9dd, 0x58f38ded);
  const halves = Array.from({ length: 2 * count }, (_, k) => BigInt(out(pool[k % 4])));
  return Array.from({ length: count }, (_, k) => halves[2 * k] | (halves[2 * k + 1] << 32n));
}

/** numpy.random.Generator(numpy.random.PCG64(words)) */
export class Random {
  constructor(words) {
    const [high, low, high2, low2] = seedWords(words, 4);
    this.increment = ((((high2 << 64n) | low2) << 1n) | 1n) & M128;
    this.state = (this.increment + ((high << 64n) | low)) & M128;
    this.step();
  }

  step() {
    this.state = (this.state * MULTIPLIER + this.increment) & M128;
  }

  /** Skip a number of draws. */
  advance(draws) {
    for (; draws > 0; draws -= 1) this.step();
    return this;
  }

  /** A number in [0, 1). */
  random() {
    this.step();
    const value = (this.state >> 64n) ^ (this.state & M64);
    const turn = this.state >> 122n;
    const bits = ((value >> turn) | (value << (64n - turn))) & M64;
    return Number(bits >> 11n) * 2 ** -53;
  }
}

/** The random numbers of a game, as solitaire_env.evaluation.runner.random_stream. */
export const randomStream = (start, seed) => new Random([seed, ...new TextEncoder().encode(String(start))]);

/** The cards of a deal of Microsoft FreeCell, several decks too, in the order in which they are dealt. */
export function microsoftOrder(number, decks) {
  let state = number & M32;
  const next = () => (state = (state * 214013n + 2531011n) & ((1n << 33n) - 1n));
  const random = () => {
    if (number > M32) return Number((next() >> 16n) & 0xffffn) + 1;
    return Number((next() >> 16n) & 0x7fffn) | (number >> 31n ? 0x8000 : 0);
  };
  const cards = [];
  const SUITS = [0, 3, 2, 1]; // Clubs, Spades, Hearts, Diamonds
  const put = (suit, rank) => cards.push(4 * rank + suit);
  const ranks = Array.from({ length: 13 }, (_, k) => k + 1);
  if (decks === 1) for (const rank of ranks) for (const suit of [0, 1, 2, 3]) put(suit, rank);
  else for (let deck = 0; deck < decks; deck += 1) for (const suit of SUITS) for (const rank of ranks) put(suit, rank);
  for (let n = cards.length - 1; n > 0; n -= 1) {
    const k = random() % (n + 1);
    [cards[n], cards[k]] = [cards[k], cards[n]];
  }
  return cards.reverse();
}
