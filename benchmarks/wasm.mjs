// node wasm.mjs SITE RECORD ROUNDS: the games of a record with the kernels of a site, see wasm.py.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [site, record, rounds] = process.argv.slice(2);
const folder = pathToFileURL(`${site}/`);
const { Machine } = await import(new URL("engine/machine.js", folder));
const module = new WebAssembly.Module(readFileSync(new URL("engine.wasm", folder)));

for (const { rules, arrays, actions, calls } of JSON.parse(readFileSync(record))) {
  const machine = new Machine(module);
  const [deals, state, events] = arrays.map((described) => machine.arrays(described));
  const games = state[0].shape[0];
  const rows = machine.array("int64", [games], BigInt64Array.from({ length: games }, (_, k) => BigInt(k)));
  const chosen = machine.array("int64", [games]);
  const todo = machine.array("int8", [games], new Int8Array(games).fill(1));
  const recorded = new BigInt64Array(Uint8Array.from(Buffer.from(actions, "base64")).buffer);
  const deal = machine.bind("core__rules__deal__deal_rows", [rules, deals, state, rows]);
  const step = machine.bind("core__rules__step__step_rows", [rules, deals, state, events, chosen, todo], { rows: games });
  const seconds = [];
  for (let round = 0; round < rounds; round += 1) {
    deal();
    const start = performance.now();
    for (let call = 0; call < calls; call += 1) {
      chosen.set(recorded.subarray(call * games, (call + 1) * games));
      step();
    }
    seconds.push((performance.now() - start) / 1000);
  }
  console.log(JSON.stringify({ seconds, rows: Buffer.from(state[0].buffer, state[0].byteOffset, state[0].byteLength).toString("base64") }));
}
