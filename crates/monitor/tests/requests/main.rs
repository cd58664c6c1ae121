//! The test of requests: against its definition, and against schedulers that are wrong.

mod definition;
mod jobs;
mod player;
mod slots;
mod wrong_schedulers;

use hls_monitor::windows::Monitor;
