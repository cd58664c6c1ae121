//! The client's end of a running hierarchy's socket, for programs and for `hls ctl`: typed calls and replies, without
//! the manager, the calculus or the core. [docs/control.md] describes the requests; `hls.Control.varlink`, from which
//! [`interface`] is generated, states them.
//!
//! ```no_run
//! use hls_client::{Client, interface::Reserve, this_thread};
//! let guarantee = "RESBH 5ms 33ms".to_owned();
//! Client::connect()?.call(&Reserve { thread: this_thread(), guarantee, below: None })?;
//! # Ok::<(), hls_client::ClientError>(())
//! ```

mod client;
mod descriptors;
mod exchange;
pub mod interface;
mod pages;
mod patience;
mod varlink;

pub use client::{Client, ClientError, Replies, this_thread};
pub use descriptors::{receive_some, send_with};
pub use exchange::{DEFAULT_SOCKET, MOST_WAITING, path_for_root};
pub use pages::{Pages, SCHEDULER_VARIABLE, WIDTH_VARIABLE};
pub use varlink::{CONTROL, DEFINITION, InvalidParameter, MAX_REQUEST, Parameters, message};

/// Texts by name, such as parameters.
pub type Texts = std::collections::BTreeMap<String, String>;
