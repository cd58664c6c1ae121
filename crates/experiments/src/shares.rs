//! How well the policies that give shares keep to them, who gains by cheating, and what a penalty for migration costs:
//! three tables, in the simulator.
//!
//! The first has the greatest error among threads that always want the CPU: how far from its part of what these threads
//! had together one of them is. The second has what a thread gets beside another one of the same share that always
//! wants the CPU, if it lets the CPU go in time not to be charged, or not to be preempted. The third is about `bvt` on
//! several CPUs.

use crate::decimal::Decimal;
use crate::run::{Outcome, run};
use hls_monitor::result::ThreadResult;
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fmt::Write;

/// The folder of the experiment.
pub const NAME: &str = "shares";

/// The policies whose children have shares.
const PROPORTIONAL: [&str; 7] = ["proportional-share", "bvt", "stride", "sfq", "sfs", "lottery", "eevdf"];

/// The others that cheats are tried against, how long one of their turns is by their presets, and what the cheat asks
/// for.
const OTHERS: [(&str, Nanos, &str); 4] = [
    ("round-robin", QUANTUM, ""),
    ("time-sharing", Nanos::from_millis(20), ""),
    ("linux", Nanos::from_millis(60), ""),
    ("windows-2000", Nanos::from_millis(20), " wake-boost=6"),
];

/// The quantum, and the allowance of `bvt`, by preset.
const QUANTUM: Nanos = Nanos::from_millis(10);

/// The shares of the threads that always want the CPU.
const WEIGHTS: [&[u64]; 2] = [&[1, 2, 5], &[1, 100]];

/// After how many seconds errors are taken.
const SECONDS: [u64; 3] = [1, 10, 100];

/// Threads beside them that use a part of their shares, and wake up often.
const SLEEPERS: &str = r#"
    thread "sleeper" share=1 { periodic run="1ms" every="20ms"; }
    thread "waker" share=1 { bursty run="100us..900us" sleep="1ms..40ms"; }
"#;

/// What a cheat does before it wants the CPU again, given the length of a turn.
type Cheat = (&'static str, fn(Nanos) -> String);

const CHEATS: [Cheat; 3] = [
    ("yields 0.1 ms before its turn ends", |turn| format!(r#""run" : {}, "yield" : """#, just_before(turn))),
    ("sleeps 0.1 ms before its turn ends", |turn| format!(r#""run" : {}, "sleep" : 100"#, just_before(turn))),
    ("sleeps 0.1 ms after each 0.9 ms", |_| r#""run" : 900, "sleep" : 100"#.into()),
];

/// How long each cheat is tried.
const CHEATING: Nanos = Nanos::from_secs(20);

/// Penalties for migration, in milliseconds.
const PENALTIES: [u64; 7] = [0, 1, 2, 5, 10, 20, 50];

/// CPUs, how many threads of the same share always want one of them, and who is beside them.
const CROWDS: [(u64, usize, &str); 4] = [(2, 3, ""), (4, 5, ""), (4, 7, ""), (4, 7, SLEEPERS)];

/// How long threads migrate.
const MIGRATING: Nanos = Nanos::from_secs(20);

/// 0.1 ms before a turn ends, in microseconds.
fn just_before(turn: Nanos) -> u64 {
    turn.0 / 1_000 - 100
}

/// The table of errors.
///
/// # Errors
/// Why a hierarchy could not be run.
pub fn errors(options: &Options) -> Result<String, Vec<String>> {
    let mut table = String::from("| policy | threads |");
    SECONDS.iter().for_each(|seconds| _ = write!(table, " after {seconds} s |"));
    let _ = writeln!(table, "\n|---|---|{}", "---:|".repeat(SECONDS.len()));
    for policy in PROPORTIONAL {
        for (weights, sleepers) in WEIGHTS.iter().flat_map(|weights| [(weights, ""), (weights, SLEEPERS)]) {
            let names: Vec<String> = weights.iter().map(u64::to_string).collect();
            let beside = if sleepers.is_empty() { "" } else { ", sleepers" };
            let _ = write!(table, "| `{policy}` | {}{beside} |", names.join(":"));
            for seconds in SECONDS {
                let length = Nanos::from_secs(seconds);
                let text = hierarchy(1, policy, weights, sleepers);
                let outcome = run(policy, text.as_bytes(), &Workload::default(), length, options)?;
                let _ = write!(table, " {} ms |", milliseconds(error(&outcome, weights)));
            }
            table.push('\n');
        }
    }
    Ok(table)
}

/// A hierarchy with a thread for each share, and others, below a policy, which may have parameters.
fn hierarchy(cpus: u64, policy: &str, weights: &[u64], others: &str) -> String {
    let mut text = format!("machine cpus={cpus}\n{policy} {{\n");
    for (number, share) in weights.iter().enumerate() {
        let _ = writeln!(text, "    thread \"{number}\" share={share} {{ cpu-bound; }}");
    }
    text + others + "}\n"
}

/// The greatest error among the threads with these shares, which are the first of the file; rounded up.
fn error(outcome: &Outcome, weights: &[u64]) -> Nanos {
    let had: Vec<u64> = outcome.result.threads.iter().map(|thread| thread.ran.0).collect();
    let together: u64 = had[..weights.len()].iter().sum();
    let sum: u64 = weights.iter().sum();
    let errors =
        weights.iter().zip(had).map(|(share, had)| (had * sum).abs_diff(share * together).div_ceil(sum));
    Nanos(errors.max().unwrap_or(0))
}

fn milliseconds(time: Nanos) -> Decimal {
    Decimal(i64::try_from(time.0.div_ceil(1_000)).unwrap_or(i64::MAX))
}

/// The table of cheats: the part of the CPU that each has.
///
/// # Errors
/// Why a hierarchy could not be run.
pub fn cheats(options: &Options) -> Result<String, Vec<String>> {
    let mut table = String::from("| policy |");
    CHEATS.iter().for_each(|(what, _)| _ = write!(table, " {what} |"));
    let _ = writeln!(table, "\n|---|{}", "---:|".repeat(CHEATS.len()));
    let proportional = PROPORTIONAL.map(|policy| (policy, QUANTUM, ""));
    for (policy, turn, params) in proportional.into_iter().chain(OTHERS) {
        let _ = write!(table, "| `{policy}` |");
        for (_, cheat) in CHEATS {
            let tasks = format!(r#"{{ "tasks" : {{ "cheat" : {{ "loop" : -1, {} }} }} }}"#, cheat(turn));
            let workload = hls_workload::read_rt_app(policy, tasks.as_bytes())
                .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
            let threads = format!("thread \"cheat\"{params}\nthread \"honest\" {{ cpu-bound; }}");
            let text = format!("machine cpus=1\n{policy} \"S\" {{\n{threads}\n}}\n");
            let outcome = run(policy, text.as_bytes(), &workload, CHEATING, options)?;
            let _ = write!(table, " {} % |", percent(&outcome.result.threads[0]));
        }
        table.push('\n');
    }
    Ok(table)
}

fn percent(thread: &ThreadResult) -> Decimal {
    Decimal(i64::try_from(thread.ran.0 * 100_000 / CHEATING.0).unwrap_or(i64::MAX))
}

/// The table of penalties: how often the threads of a crowd migrate in a second, and how far from its part one of them
/// is in the end.
///
/// # Errors
/// Why a hierarchy could not be run.
pub fn migrations(options: &Options) -> Result<String, Vec<String>> {
    let mut table = String::from("| `migration` |");
    for (cpus, threads, others) in CROWDS {
        let beside = if others.is_empty() { "" } else { ", sleepers" };
        let _ = write!(table, " {threads} on {cpus} CPUs{beside} |");
    }
    let _ = writeln!(table, "\n|---:|{}", "---|".repeat(CROWDS.len()));
    for penalty in PENALTIES {
        let _ = write!(table, "| {penalty} ms |");
        for (cpus, threads, others) in CROWDS {
            let (weights, policy) = (vec![1; threads], format!("bvt migration=\"{penalty}ms\""));
            let text = hierarchy(cpus, &policy, &weights, others);
            let outcome = run(&policy, text.as_bytes(), &Workload::default(), MIGRATING, options)?;
            let migrations: u64 = outcome.result.threads.iter().map(|thread| thread.migrations).sum();
            let rate = Decimal::ratio_nearest(migrations, MIGRATING.0 / Nanos::from_secs(1).0);
            let error = milliseconds(error(&outcome, &weights));
            let _ = write!(table, " {rate}/s, {error} ms |");
        }
        table.push('\n');
    }
    Ok(table)
}
