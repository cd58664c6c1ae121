//! All tests of this crate's public interface, in one binary, because each takes a second to link.

mod experiments;
mod policies;
mod virtual_time;
