//! The scheduler core in the kernel: checks whether this kernel can run the core ([`doctor`]), loads the BPF objects,
//! and maps the memory that is shared with them. Of all crates only this one, `hls-core`, and `mapping.rs` of
//! `user-level-scheduler` have `unsafe` in them.
//!
//! [`Replay`] plays tapes (recorded lists of calls) on the core's BPF build, to compare it with the native one. It
//! attaches to nothing: any kernel with BPF arenas suffices. [`Engine`] is the scheduler of a whole machine.
//! Everything that needs a compiler for BPF, libelf and zlib is behind the feature `engine`.

#[cfg(feature = "engine")]
mod built_in;
#[cfg(feature = "engine")]
mod descriptions;
pub mod doctor;
#[cfg(feature = "engine")]
mod domain;
#[cfg(feature = "engine")]
mod doorbell;
#[cfg(feature = "engine")]
mod dump;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "engine")]
mod error;
#[cfg(feature = "engine")]
mod exit;
#[cfg(feature = "engine")]
mod next_engine;
#[cfg(feature = "engine")]
mod object;
#[cfg(feature = "engine")]
mod pages;
#[cfg(feature = "engine")]
mod placing;
#[cfg(feature = "engine")]
mod proc;
#[cfg(feature = "engine")]
mod pulse;
#[cfg(feature = "engine")]
mod records;
#[cfg(feature = "engine")]
mod refusal;
#[cfg(feature = "engine")]
mod replay;
#[cfg(feature = "engine")]
mod state;
#[cfg(feature = "engine")]
mod threads;
#[cfg(feature = "engine")]
mod told;
#[cfg(feature = "engine")]
mod weighing;

#[cfg(feature = "engine")]
pub use built_in::BuiltIn;
#[cfg(feature = "engine")]
pub use domain::{Check, Domain};
#[cfg(feature = "engine")]
pub use engine::{Engine, Notice};
#[cfg(feature = "engine")]
pub use error::Error;
#[cfg(feature = "engine")]
pub use exit::Exit;
#[cfg(feature = "engine")]
pub use next_engine::{Programs, SharedMaps, Verified};
#[cfg(feature = "engine")]
pub use object::ready_made;
#[cfg(feature = "engine")]
pub use pages::Pages;
#[cfg(feature = "engine")]
pub use refusal::Refusal;
#[cfg(feature = "engine")]
pub use replay::Replay;
#[cfg(feature = "engine")]
pub use state::refuse_beside_another;
