//! All tests of the command that need no guest, in one binary, because each takes a second to link. `kernel/` and
//! `tables.rs` boot guests, and are binaries of their own.

mod command;
mod readme;
