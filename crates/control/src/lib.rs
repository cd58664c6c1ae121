//! HLSCtl: what users ask of a running hierarchy, over a socket.
//!
//! The path of a request: `server` takes it from a peer that the kernel has identified, `service` reads it, by what the
//! build has generated from the interface file (`hls_client::interface`), and hands it to the method, which stands
//! beside its operation (`asked`). The [`Manager`] decides: may the user ask for it (`tree` knows the owners), does the
//! calculus grant it, does the engine ([`RunningEngine`]) make the change ([`HierarchyChange`]). `changes` keeps what
//! has changed for subscribers. The client's end is the crate `hls-client`; `docs/control.md` documents the protocol.
//!
//! ```
//! # use hls_control::{Manager, RunningEngine, Socket, serve};
//! # use std::sync::{Mutex, atomic::AtomicBool};
//! fn run<E: RunningEngine + Send>(manager: Manager<E>, stop: &AtomicBool) -> std::io::Result<()> {
//!     let socket = Socket::bind(hls_client::DEFAULT_SOCKET.as_ref())?;
//!     serve(&socket, &Mutex::new(manager), stop)
//! }
//! ```

mod allowance;
mod asked;
mod attendants;
mod building;
mod changes;
mod engine;
mod error;
mod evacuate;
mod loaded;
mod manager;
mod operations;
mod params;
mod people;
mod policies;
mod resting;
mod server;
mod service;
mod socket;
mod status;
mod suspensions;
mod tree;
mod user_level;
mod varlink;

pub use allowance::{add_used, thread_time};
pub use asked::Answer;
pub use engine::{
    Counts, Created, DisabledPolicies, EngineError, HierarchyChange, Observed, PolicyDisabled, PolicySource,
    Preparation, Prepared, Promisee, Readings, RunningEngine, Thread,
};
pub use error::{Error, Refusal};
pub use hls_engine::ThreadKey;
pub use loaded::LoadedPolicy;
pub use manager::{Manager, Peer};
pub use operations::Granted;
pub use server::serve;
pub use service::{answer, client_of};
pub use socket::Socket;
pub use tree::Layout;
pub use user_level::Promoted;
