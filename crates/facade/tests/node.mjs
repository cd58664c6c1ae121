// Asks the module of WebAssembly whose path is the first argument, as the second says: `check` or `simulate`; the text
// comes on standard input, the answer goes to standard output.
import { readFileSync } from "node:fs";

const [path, question] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(path), {});
const { memory, room, check, simulate, answer } = instance.exports;
const text = readFileSync(0);
// Any call may give the module another buffer.
const place = room(text.length);
new Uint8Array(memory.buffer, place, text.length).set(text);
const length = question === "check" ? check(1) : simulate(1, 1_000_000_000n, 7n);
process.stdout.write(new Uint8Array(memory.buffer, answer(), length));
