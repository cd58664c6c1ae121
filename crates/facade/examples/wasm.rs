//! The façade as a module of WebAssembly, for a page in a browser or for Node.
//!
//! Texts are passed through the module's memory: the caller asks for room for its text (`room`), writes the text
//! there, calls `check` or `simulate`, and reads the answer, which is JSON, at `answer`:
//!
//! ```js
//! const text = new TextEncoder().encode("round-robin { thread \"t\"; }");
//! const place = exports.room(text.length); // any call may give the module another buffer
//! new Uint8Array(exports.memory.buffer, place, text.length).set(text);
//! const length = exports.check(1);
//! const json = new Uint8Array(exports.memory.buffer, exports.answer(), length);
//! const check = JSON.parse(new TextDecoder().decode(json));
//! ```
//!
//! To build it: `cargo build --release -p hls-facade --example wasm --target wasm32-unknown-unknown`, with clang 19.

// The names of the functions are the module's; nothing else here is unsafe.
#![allow(unsafe_code)]

use hls_facade::Options;
use hls_units::Nanos;
use serde::Serialize;
use std::cell::RefCell;

thread_local! {
    /// The caller's text.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The last answer.
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a text of this many bytes, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        *text = vec![0; length];
        text.as_mut_ptr()
    })
}

/// Checks the text, for this many CPUs if it does not say how many; returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn check(cpus: u16) -> usize {
    answer_with(|text| hls_facade::check(text, &Options { cpus, ..Options::default() }))
}

/// Checks the text and runs it in the simulator for `length_ns`, with the random numbers of `seed`; returns the length
/// of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn simulate(cpus: u16, length_ns: u64, seed: u64) -> usize {
    let length = Some(Nanos(length_ns));
    answer_with(|text| hls_facade::simulate(text, &Options { cpus, length, seed, ..Options::default() }))
}

/// The address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

fn answer_with<A: Serialize>(of: impl FnOnce(&str) -> A) -> usize {
    let text = TEXT.take();
    let text = String::from_utf8_lossy(&text);
    let json = serde_json::to_vec(&of(&text)).expect("an answer has no maps with keys that are not strings");
    let length = json.len();
    ANSWER.set(json);
    length
}
