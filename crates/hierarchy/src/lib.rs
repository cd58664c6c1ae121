//! The hierarchy file: KDL in, a validated [`model::Hierarchy`] or all of the file's errors out. Does no IO.
//!
//! The way of a file: [`read`](read()) takes its bytes; `lex` and `syntax` make raw nodes of them; `declare` finds out
//! what each node is and what it hangs below; `machine`, `edges`, `params`, `who` and `workload_shapes` read the
//! properties; `graph`, `children` and `who` judge the whole. Each reports into one sink, so that a file's errors come
//! all at once. [`analysis`] hands a hierarchy to the calculus, [`settings`] the numbers of it that could be changed.
//!
//! A file may name the policies of the core ([`policies`](policies())) and policies that it loads. The caller supplies
//! the latter: [`loads`](loads()) finds the statements, and [`read_with`] takes the [`Policies`].
//!
//! # The language
//! ```kdl
//! machine cpus=2 tick="1024Hz" switch-cost="5us" decision-cost="1us" {   // optional, as is all in it
//!     interrupt cpu=0 every="1ms" takes="10us..50us"                     // a source of stolen time
//! }
//! fixed-priority "FP" {                      // a node named after a policy is a scheduler; the one on top is the root
//!     reservation "RES" priority=2 width=1 { // parameters of the parent's policy, the CPUs it may hold at once
//!         thread "video" guarantee="RESBH 5ms 33ms" { periodic run="4ms" every="33ms" }
//!         join "J" guarantee="RESBH 10ms 20ms"           // sets budget and period as well
//!     }
//!     join "J" priority=1                    // a join is mentioned once under each of its parents
//! }
//! proportional-share "PS" parent="J" quantum="10ms" {    // parameters of its own policy; hangs below `J`
//!     thread "words" share=1 instances=3 affinity="0,1" arrive="2s" leave="8s" { bursty run="1ms..5ms" sleep="10ms" }
//! }
//! ```
//! A policy from a C file of its own is loaded by a statement at the top, wherever the file then names it:
//! ```kdl
//! load "asked_times.c"                          // the path begins at the folder of the hierarchy file
//! load "versions/asked_times.c" as="asked-2"    // under another name, beside the first
//! asked-times "A" { thread "clock" }
//! ```
//! A file that does not say `machine cpus=` leaves the number of CPUs to the caller ([`Cpus`]). A property that is a
//! parameter both of a scheduler's policy and of its parent's policy sets both. Times stand in quotes, with a unit;
//! below a uniformly slower processor (RESU) CPU time, guarantees included, is in its time. A name may be left out
//! where the policy's name says enough. The default `width` is the parent's width, and 1 below policies that hand out
//! one CPU's time. A thread has at most one workload: `cpu-bound`; `periodic run every deadline? offset? jitter?`;
//! `bursty run sleep stall?`; `frame-renderer frame gap`; or `tasks by="edf"` (or `by="priority"`, the first task being
//! the highest) with `task "NAME"` in its braces, each as `periodic` has it; or, for the thread in slot 0 of a
//! scheduler with a process as its policy, where that is simulated, `agent by cost slice? behind?`.
//!
//! On a real machine a thread of the file matches threads there, and a scheduler may have an owner:
//! ```kdl
//! time-sharing "rest" priority=0 default=#true           // for threads that no `thread` matches; at most one
//! round-robin "hls" priority=2 service=#true             // where the threads of hls itself go; at most one
//! proportional-share "PS" priority=1 owner="alice" {     // she, or owner=1000, may change what is below it, within
//!     thread "film" command="mpv film.mkv"               // what it is guaranteed
//!     thread "web" share=4 instances=64 unit="nginx.service"
//! }
//! ```
//! A thread says at most one of: `command`, which the engine starts (words as a shell splits them, but no shell sees
//! them), with all its descendants; `pid`, a thread or all threads of a process; `comm`, the name of threads with
//! `*` and `?`; `cgroup`, a path within cgroup v2 with all below it; `unit`, a service, scope or slice of the system's
//! systemd (what a user's own systemd runs is named by its cgroup). As many of those threads belong to it as it has
//! instances; the others wait in the default. In the simulator all this says nothing: there a thread does what its
//! workload says, or else computes.
//!
//! A scheduler with a process as its policy may name the `command` with which the engine starts that process:
//! ```kdl
//! user-level "S" command="./my-sched" { thread "a" slot=1; }    // and a thread `S-agent` in slot 0, the command's own
//! ```

mod agents;
pub mod analysis;
mod attributes;
pub mod cgroup;
mod children;
pub mod complete;
mod declare;
mod diagnostic;
mod edges;
mod glob;
mod graph;
mod lex;
mod loads;
mod machine;
pub mod model;
mod names;
pub mod params;
mod policies;
mod properties;
mod queues;
mod read;
pub mod settings;
mod syntax;
mod text;
mod value;
mod who;
mod workload_shapes;

pub use diagnostic::{Diagnostic, MAX_DIAGNOSTICS, Report, Severity, Source};
pub use glob::Glob;
pub use graph::default_width;
pub use loads::loads;
pub use machine::Cpus;
pub use names::listed;
pub use policies::{Policies, Policy, Unusable, policies};
pub use read::{read, read_with};
pub use text::MAX_FILE_BYTES;
