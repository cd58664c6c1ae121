//! The core in the kernel: builds and loads the BPF objects, and shares their memory. With `hls-core` the only crate with
//! `unsafe` in it.
//!
//! [`Replay`] plays tapes on the core's BPF build, so that it can be held against the native one. It attaches to
//! nothing: any kernel with BPF arenas does. All that needs a compiler for BPF, libelf and zlib is behind the feature
//! `engine`.

#[cfg(feature = "engine")]
mod error;
#[cfg(feature = "engine")]
mod object;
#[cfg(feature = "engine")]
mod replay;

#[cfg(feature = "engine")]
pub use error::Error;
#[cfg(feature = "engine")]
pub use object::{ENGINE, Loaded};
#[cfg(feature = "engine")]
pub use replay::Replay;
