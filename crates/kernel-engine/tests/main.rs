//! All tests of this crate's public interface, in one binary, because each takes a second to link.

mod doctor;
mod replay;
mod shares;
mod stack;
