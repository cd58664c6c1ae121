//! Policies that are loaded: from the one file of C that its author writes to a build of the whole core with that
//! policy in it, for the simulator or for the kernel.
//!
//! [`PolicyFile`] is a file that was read. [`Builder::build`] compiles the core, whose sources this crate carries, with
//! a set of them in its registry, by the compilers of the machine; [`Template`] is what a new policy begins as. What
//! the compilers say, and what the kernel's verifier says of what was built ([`verifier_error`]), is told by the lines
//! of the author's file.
//!
//! Opens and loads nothing of what it builds. Writes below a folder of its own, which is gone when a build has ended,
//! and into the cache that it is given. Compilers are confined to that folder; where a kernel cannot do that, and where
//! others can write into the cache, so that it is not used, it says so on standard error.

mod build;
mod cache;
mod compiler;
mod confined;
mod diagnostic;
mod file;
mod process;
mod sources;
mod template;
#[cfg(test)]
mod tests;
mod tokens;
mod verifier;
mod words;

pub use build::{Builder, Built, NUMBERS, Target};
pub use cache::other_writer;
pub use confined::exposed;
pub use diagnostic::{Diagnostic, Error, Severity};
pub use file::PolicyFile;
pub use sources::contract;
pub use template::Template;
pub use verifier::verifier_error;
