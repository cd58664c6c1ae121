//! The answers, as plain data and from WebAssembly.

mod answers;
mod wasm;
