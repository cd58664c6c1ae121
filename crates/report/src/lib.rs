//! What a person or another program reads of a run: tables, JSON, the tree, a switch list, pictures and a trace; and
//! the picture of a guarantee.
//!
//! All of a run is made from a [`hls_monitor::result::Topology`], a [`hls_monitor::result::RunResult`] or the stream of
//! [`hls_monitor::event::Record`]s, so that it looks the same whichever engine ran. All output goes through
//! `impl Write`, and every error of it is handed on; nothing here touches the file system. Names come from the user and
//! are escaped where the format needs it.

pub mod ascii;
pub mod broken;
pub mod format;
mod hierarchy;
pub mod json;
pub mod layout;
pub mod perfetto;
pub mod supply;
mod svg;
pub mod table;
pub mod timehist;
pub mod timeline;
pub mod tree;
