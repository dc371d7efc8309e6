// node wasm.mjs SITE RECORD ROUNDS: the games of a record with the kernels of a site, see wasm.py.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [site, record, rounds] = process.argv.slice(2);
const folder = pathToFileURL(`${site}/`);
const { Machine } = await import(new URL("engine/machine.js", folder));
const module = new WebAssembly.Module(readFileSync(new URL("engine.wasm", folder)));

const { data, played } = JSON.parse(readFileSync(record));

for (const { rules, arrays, actions: base64, calls } of played) {
  const machine = new Machine(module, data);
  const { deals, state, events } = machine.arrays(arrays);
  const games = state.status.length;
  const rows = machine.array("int64", [games], BigInt64Array.from({ length: games }, (_, k) => BigInt(k)));
  const actions = machine.array("int64", [games]);
  const todo = machine.array("int8", [games], new Int8Array(games).fill(data.constants.play));
  const recorded = new BigInt64Array(Uint8Array.from(Buffer.from(base64, "base64")).buffer);
  const deal = machine.bind("deal_rows", { rules, deals, state, rows });
  const step = machine.bind("step_rows", { rules, deals, state, events, actions, todo }, games);
  const seconds = [];
  for (let round = 0; round < rounds; round += 1) {
    deal();
    const start = performance.now();
    for (let call = 0; call < calls; call += 1) {
      actions.set(recorded.subarray(call * games, (call + 1) * games));
      step();
    }
    seconds.push((performance.now() - start) / 1000);
  }
  console.log(JSON.stringify({ seconds, rows: Buffer.from(state.rows.buffer, state.rows.byteOffset, state.rows.byteLength).toString("base64") }));
}
