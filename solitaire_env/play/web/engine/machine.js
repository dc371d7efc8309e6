// The compiled kernels: memory, arrays in it, and calls. An array is a typed array with its shape.

const TYPES = {
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, uint64: BigUint64Array,
  float32: Float32Array, float64: Float64Array, bool: Uint8Array,
}; // prettier-ignore
const PAGES = 512; // of 64 KiB; the browser provides those that are used
const SHARED = 5; // slots that threads would share

const aligned = (n) => Math.ceil(n / 64) * 64;
const size = (shape) => shape.reduce((a, b) => a * b, 1);
const bits = new DataView(new ArrayBuffer(8));

/** A part of an array with another shape; start is its first element. */
export function part(array, shape, start = 0) {
  return Object.assign(array.subarray(start, start + size(shape)), { shape });
}

/** Number of slots of an argument. */
function places(kind) {
  if (typeof kind === "string") return 1;
  return Array.isArray(kind) ? kind.reduce((sum, [, own]) => sum + places(own), 0) : 1 + kind.axes.length;
}

/** An instance of the kernels with a memory of its own, which is released with it. */
export class Machine {
  /**
   * data: the kernels' names and arguments, constants and shared arrays, as solitaire_env.play.page_data writes them;
   * pages: memory beyond that of a game.
   */
  constructor(module, data, pages = 0) {
    this.data = data;
    this.memory = new WebAssembly.Memory({ initial: PAGES + pages });
    const env = { memory: this.memory, exp: Math.exp, log: Math.log };
    this.exports = new WebAssembly.Instance(module, { env }).exports;
    this.end = this.exports.__heap_base.value;
  }

  /** A new array. The contents are base64 text, a list or array of numbers, or the first of a shared array; zeros by default. */
  array(type, shape, contents) {
    const length = size(shape);
    const start = aligned(this.end);
    const array = new TYPES[type](this.memory.buffer, start, length);
    this.end = start + array.byteLength;
    const bytes = typeof contents === "string" ? contents : contents?.first_of && this.data[contents.first_of][2];
    if (bytes) {
      const own = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)).subarray(0, array.byteLength);
      new Uint8Array(this.memory.buffer, start, array.byteLength).set(own);
    } else if (contents) array.set(contents);
    return Object.assign(array, { shape });
  }

  /** New arrays as they are described: [type, shape, contents], or several by name. */
  arrays(described) {
    if (Array.isArray(described)) return this.array(...described);
    if (typeof described !== "object") return described; // a number
    return Object.fromEntries(Object.entries(described).map(([name, own]) => [name, this.arrays(own)]));
  }

  /** New arrays of zeros by name, as a kernel declares an argument; lengths: those of its axes, and its numbers. */
  make(name, argument, lengths) {
    const [, fields] = this.data.kernels[name].arguments.find(([own]) => own === argument);
    const length = (axis) => Number(axis) || axis.split(".").reduce((of, own) => of[own], lengths);
    const value = (own, kind) => (kind === "int" ? lengths[own] : this.array(kind.type, kind.axes.map(length)));
    return Object.fromEntries(fields.map(([own, kind]) => [own, value(own, kind)]));
  }

  /** Write an argument to slots from an index; kind is its declared type. Returns the index after it. */
  pack(slots, at, name, kind, value) {
    if (Array.isArray(kind)) return kind.reduce((next, [own, type]) => this.pack(slots, next, own, type, value[own]), at);
    if (kind === "int") slots[at] = BigInt(value);
    else if (kind === "float") {
      bits.setFloat64(0, value);
      slots[at] = bits.getBigInt64(0);
    } else {
      if (!(value instanceof TYPES[kind.type]) || value.shape.length !== kind.axes.length) throw new TypeError(`${name} is not ${kind.type} with the axes ${kind.axes}`);
      [value.byteOffset, ...value.shape].forEach((number, k) => (slots[at + k] = BigInt(number)));
    }
    return at + places(kind);
  }

  /**
   * A kernel with some of its arguments, by name. A call passes the others, and returns the results: whole numbers.
   *
   * rows: number of games, of a kernel that threads can share.
   */
  bind(name, given, rows = 1) {
    const { symbol, arguments: declared, results, part: shared } = this.data.kernels[name];
    const kernel = this.exports[symbol];
    const end = places(declared);
    const slots = this.array("int64", [end + 1 + Math.max(results, SHARED)]);
    const open = []; // the arguments of a call, with their slots
    let at = 0;
    for (const [own, kind] of declared) {
      if (own in given) this.pack(slots, at, own, kind, given[own]);
      else open.push([at, own, kind]);
      at += places(kind);
    }
    return (others) => {
      for (const [slot, own, kind] of open) this.pack(slots, slot, own, kind, others[own]);
      if (shared) slots.set([rows, 1, rows, 0, 0].map(BigInt), end + 1); // one region, of which nothing is taken
      kernel(slots.byteOffset);
      return Array.from(slots.subarray(end + 1, end + 1 + results), Number);
    };
  }
}
