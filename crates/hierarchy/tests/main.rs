//! All tests of this crate's public interface, in one binary, because each takes a second to link.

mod analysis;
mod common;
mod cpus;
mod fixtures;
mod robust;
