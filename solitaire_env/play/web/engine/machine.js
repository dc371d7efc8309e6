// The compiled kernels: memory, arrays in it, and calls. An array is a typed array with its shape.

const TYPES = {
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, uint64: BigUint64Array,
  float32: Float32Array, float64: Float64Array, bool: Uint8Array,
}; // prettier-ignore
const PAGES = 512; // of 64 KiB; the browser provides those that are used
const STATUS = 1; // slots between arguments and results

const aligned = (n) => Math.ceil(n / 64) * 64;
const bits = new DataView(new ArrayBuffer(8));

/** A number that a kernel declares as a float. */
export const float = (x) => ({ float: x });

/** A part of an array with another shape; start is its first element. */
export function part(array, shape, start = 0) {
  const length = shape.reduce((a, b) => a * b, 1);
  return Object.assign(array.subarray(start, start + length), { shape });
}

/** An instance of the kernels with a memory of its own, which is released with it. */
export class Machine {
  constructor(module) {
    this.memory = new WebAssembly.Memory({ initial: PAGES });
    const env = { memory: this.memory, exp: Math.exp, log: Math.log };
    this.exports = new WebAssembly.Instance(module, { env }).exports;
    this.end = this.exports.__heap_base.value;
  }

  /** A new array. The contents are base64 text, or a list or array of numbers; zeros by default. */
  array(type, shape, contents) {
    const length = shape.reduce((a, b) => a * b, 1);
    const start = aligned(this.end);
    const array = new TYPES[type](this.memory.buffer, start, length);
    this.end = start + array.byteLength;
    if (typeof contents === "string") {
      new Uint8Array(this.memory.buffer, start, array.byteLength).set(Uint8Array.from(atob(contents), (c) => c.charCodeAt(0)));
    } else if (contents) array.set(contents);
    return Object.assign(array, { shape });
  }

  /** New arrays, as the site describes them: [type, shape, contents]. */
  arrays(described) {
    return described.map((each) => this.array(...each));
  }

  /** Write arguments to slots, from an index: numbers, arrays with their shapes, and lists of them. */
  pack(slots, at, args) {
    for (const value of args) {
      if (ArrayBuffer.isView(value)) {
        slots[at++] = BigInt(value.byteOffset);
        for (const length of value.shape) slots[at++] = BigInt(length);
      } else if (Array.isArray(value)) at = this.pack(slots, at, value);
      else if (typeof value === "object") {
        bits.setFloat64(0, value.float);
        slots[at++] = bits.getBigInt64(0);
      } else slots[at++] = BigInt(value);
    }
    return at;
  }

  /**
   * A kernel with its first arguments; a call passes the others and returns the results.
   *
   * results: number of whole numbers that it returns.
   * rows: number of games, of a kernel that threads can share.
   */
  bind(name, args, { results = 0, rows = 0 } = {}) {
    const kernel = this.exports[`solitaire_env__${name}`];
    const slots = this.array("int64", [192]);
    const first = this.pack(slots, 0, args);
    return (...others) => {
      const end = this.pack(slots, first, others) + STATUS;
      if (rows) this.pack(slots, end, [rows, 1, rows, 0, 0]);
      kernel(slots.byteOffset);
      return Array.from(slots.subarray(end, end + results), Number);
    };
  }
}
