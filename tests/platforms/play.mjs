// node play.mjs RECORD LIBRARY: as play.c, for WebAssembly.
import { readFileSync } from "node:fs";

const [record, library] = process.argv.slice(2).map((path) => readFileSync(path));
const memory = new WebAssembly.Memory({ initial: 4096 });
const view = new DataView(memory.buffer);
const all = new Uint8Array(memory.buffer);
const env = {
  memory,
  exp: Math.exp,
  log: Math.log,
  memset: (at, value, size) => (all.fill(value, at, at + size), at),
  memcpy: (to, from, size) => (all.copyWithin(to, from, from + size), to),
};
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(library), { env });

let place = 0;
const number = () => Number(record.readBigInt64LE((place += 8) - 8));
const bytes = (size) => {
  const start = place;
  place += Math.ceil(size / 8) * 8;
  return record.subarray(start, start + size);
};
const isNear = (a, b) => a === b || (a !== a && b !== b) || Math.abs(a - b) <= 1e-4 * (Math.abs(b) + 1e-3);

function same(at, after, floats) {
  if (after.equals(all.subarray(at, at + after.length))) return 2;
  if (!floats) return 0;
  for (let n = 0; n < after.length; n += floats) {
    const [a, b] =
      floats === 4
        ? [view.getFloat32(at + n, true), after.readFloatLE(n)]
        : [view.getFloat64(at + n, true), after.readDoubleLE(n)];
    if (!isNear(a, b)) return 0;
  }
  return 1;
}

function fail(text) {
  console.error(text);
  process.exit(1);
}
if (!record.length) fail("no calls");
let calls = 0;
let rounded = 0;
for (; place < record.length; calls++) {
  const name = bytes(number()).toString();
  const slots = number();
  const before = bytes(8 * slots);
  const after = Buffer.from(bytes(8 * slots));
  const start = Math.ceil(exports.__heap_base.value / 64) * 64;
  all.set(before, start);
  let end = start + 8 * slots;
  const arrays = [];
  for (let left = number(); left > 0; left--) {
    const [slot, size, floats] = [number(), number(), number()];
    end = Math.ceil(end / 64) * 64;
    all.set(bytes(size), end);
    view.setBigInt64(start + 8 * slot, BigInt(end), true);
    after.writeBigInt64LE(BigInt(end), 8 * slot);
    arrays.push([end, bytes(size), floats]);
    end += size;
  }
  exports[name](start);
  if (!after.equals(all.subarray(start, start + 8 * slots))) fail(`call ${calls}, ${name}: slots differ`);
  arrays.forEach(([at, content, floats], n) => {
    const result = same(at, content, floats);
    if (!result) fail(`call ${calls}, ${name}: array ${n} differs`);
    rounded += result === 1;
  });
}
console.log(`${calls} calls are equal, but for the last bits of floats in ${rounded} arrays`);
