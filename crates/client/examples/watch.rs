//! Prints what changes in the hierarchy that runs on this machine: `cargo run -p hls-client --example watch [SOCKET]`.

use hls_client::interface::{Change, Watch, WatchReply};
use hls_client::{Client, ClientError, DEFAULT_SOCKET};
use std::path::PathBuf;

fn main() -> Result<(), ClientError> {
    let socket = std::env::args_os().nth(1).map_or_else(|| DEFAULT_SOCKET.into(), PathBuf::from);
    for reply in Client::connect_to(&socket)?.subscribe(&Watch {}) {
        let WatchReply { changes } = reply?;
        for Change { number, kind, scheduler, thread, guarantee, policy } in changes {
            println!("{number}: {kind:?} {scheduler:?} {thread:?} {guarantee:?} {policy:?}");
        }
    }
    Ok(())
}
