//! All tests of this crate's public interface, in one binary, because each takes a second to link.

mod builds;
mod confined;
mod described;
mod refused;
mod trials;
