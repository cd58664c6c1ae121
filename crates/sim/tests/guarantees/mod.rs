//! Tests the calculus against execution: whatever it promises is kept, in every window of every run.
//!
//! Hierarchies and workloads are drawn from seeds; labels are derived as `hls check` derives them; the simulator runs
//! the C core; and every window of every VP with a label, and every request, is tested against it. There are
//! interrupts, but no ticks and no costs, since the calculus knows nothing of these. A failure prints its seed and the
//! smallest hierarchy that shows it.
//!
//! `HLS_SEEDS=20000 cargo test --release -p hls-sim guarantees::` makes a campaign of it, `make policies` one for
//! each policy.

mod campaign;
mod canary;
mod draw;
mod held;
mod jobs;
mod kept;
mod requests;
mod shrink;
mod slower;
mod spans;
mod supply;
mod tree;
mod warps;
