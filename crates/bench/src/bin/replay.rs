//! Compares the core's BPF build with the native one: the nanoseconds of a decision when both play the same tapes, in
//! the kernel of this machine.
//!
//! A tape has the calls of the core that the simulator makes in a run. A decision is a call of `hls_schedule` together
//! with the calls that led to it: wake-ups, blocks, timers, ends of slices. The kernel plays a tape by
//! BPF_PROG_TEST_RUN, and the native core in the same loop. Both play it in turn, several times, and the least time of
//! each counts.

use hls_core::{Call, Core, Op};
use hls_kernel_engine::{Error, Replay};
use hls_sim::{Options, Plan, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;

/// The text of a chain of `depth` schedulers, with `threads` threads at its end that sleep and wake up.
fn hierarchy(policy: &str, params: &str, depth: u32, threads: u32) -> String {
    let chain: String = (1..depth).map(|level| format!("{policy} \"S{level}\" {params} {{ ")).collect();
    let sleep = u64::from(threads) * 60;
    format!(
        "{policy} \"S0\" {{ {chain} thread \"t\" {params} instances={threads} {{ bursty run=\"10us..50us\" \
         sleep=\"{}us..{}us\" }} {} }}",
        sleep / 2,
        sleep * 3 / 2,
        "}".repeat(depth as usize - 1)
    )
}

fn tape(hierarchy: &str) -> Vec<Call> {
    let (hierarchy, _) =
        hls_hierarchy::read(hierarchy.as_bytes()).expect("the benchmark's hierarchy is valid");
    let plan = Plan::new(hierarchy, &Workload::default()).expect("the benchmark's hierarchy can be planned");
    let options = Options { watched: Some(Vec::new()), tape: true, ..Options::default() };
    let mut simulation = Simulation::new(plan, options).expect("the benchmark's hierarchy can be built");
    simulation.run_until(Nanos::from_secs(5), &mut |_| ()).expect("the run does not fail");
    simulation.take_tape()
}

fn natively(tape: &mut [Call]) -> Duration {
    let mut core = Core::new();
    let begin = Instant::now();
    core.play(tape).expect("a recorded tape is sound");
    begin.elapsed()
}

fn main() -> ExitCode {
    let mut replay = match Replay::new() {
        Ok(replay) => replay,
        Err(error @ Error::NotAllowed(_)) => {
            println!("BPF beside native: skipped. {error}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
    };
    println!(
        "{:<20} {:>5} {:>7} {:>9} {:>10} {:>10} {:>6}",
        "policy", "depth", "threads", "decisions", "native ns", "BPF ns", "ratio"
    );
    for (policy, params) in [("fixed-priority", "priority=1"), ("proportional-share", "share=1")] {
        for (depth, threads) in [(1, 10), (4, 10), (16, 10), (1, 1_000)] {
            let mut tape = tape(&hierarchy(policy, params, depth, threads));
            let decisions = tape.iter().filter(|call| call.op == Op::Schedule as u32).count();
            let (mut native, mut bpf) = (Duration::MAX, Duration::MAX);
            for _ in 0..ROUNDS {
                native = native.min(natively(&mut tape));
                replay.clear();
                bpf = bpf.min(replay.play(&mut tape).expect("a recorded tape is sound for the kernel, too"));
            }
            let each = |time: Duration| time.as_nanos() as f64 / decisions as f64;
            println!(
                "{policy:<20} {depth:>5} {threads:>7} {decisions:>9} {:>10.0} {:>10.0} {:>6.2}",
                each(native),
                each(bpf),
                each(bpf) / each(native)
            );
        }
    }
    ExitCode::SUCCESS
}
