//! Builds loaded policies: from the author's single C file to a build of the whole core with that policy in it, for
//! the simulator or for the kernel.
//!
//! [`PolicyFile`] is a file that was read. [`Builder::build`] compiles the core, from the sources in this crate, with
//! a set of policy files in its registry, using the compilers of the machine; [`Template`] is the beginning of a new
//! policy. Messages of the compilers, and of the kernel's verifier about a build ([`verifier_error`]), are
//! translated to lines of the author's file.
//!
//! Opens and loads nothing that it builds. Writes below a folder of its own, which is removed after a build, and into
//! the given cache. Compilers are confined to that folder. If the kernel cannot do that, or if the cache is not used
//! because other users can write into it, a message on standard error says so.

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
