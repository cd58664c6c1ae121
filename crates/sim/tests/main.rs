//! All tests of this crate's public interface, in one binary, because each takes a second to link.

mod guarantees;
mod runs;
