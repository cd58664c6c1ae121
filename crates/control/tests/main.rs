//! All tests of this crate's public interface, in one binary, because each takes a second to link.

mod bytes;
mod ended;
mod jobs;
mod operations;
mod policies;
mod programs;
mod server;
mod support;
mod suspend;
mod user_level;
