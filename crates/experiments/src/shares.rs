//! How well the policies that give shares keep to them, what a thread gains by cheating, and what a penalty for
//! migration costs: three tables, in the simulator.
//!
//! The first has the greatest error among threads that always want the CPU: how far one of them is from its part of the
//! CPU time that they had together. The second has what a thread gets beside another one of the same share that always
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

/// A policy that gives its children parts of the CPU.
struct Policy {
    name: &'static str,
    /// The parameters of a thread with this share; the second number is the sum of all shares.
    of_share: fn(u64, u64) -> String,
    /// The shares of threads that always want the CPU.
    weights: [&'static [u64]; 2],
    /// How long one of its turns is by its presets.
    turn: Nanos,
}

const PROPORTIONAL: [Policy; 12] = [
    by_share("proportional-share"),
    by_share("bvt"),
    by_share("stride"),
    by_share("sfq"),
    by_share("sfs"),
    by_share("lottery"),
    by_share("eevdf"),
    Policy {
        name: "linux-eevdf",
        of_share: |weight, _| format!("priority={}", 20 - nice(weight)),
        weights: [&[215, 526, 1024], &[15, 1586]],
        turn: Nanos::from_millis(3),
    },
    Policy { of_share: soft, ..by_share("cbs") },
    Policy { of_share: soft, ..by_share("grub") },
    Policy { of_share: rate, ..by_share("bss-i") },
    Policy { of_share: rate, ..by_share("pshed") },
];

const fn by_share(name: &'static str) -> Policy {
    let of_share = |share, _| format!("share={share}");
    Policy { name, of_share, weights: [&[1, 2, 5], &[1, 100]], turn: QUANTUM }
}

/// A server that goes on with a later deadline when its budget is used up: a millisecond for each share.
fn soft(share: u64, all: u64) -> String {
    format!("budget=\"{share}ms\" period=\"{all}ms\" soft=1")
}

fn rate(share: u64, all: u64) -> String {
    format!("rate-ppm={}", share * 1_000_000 / all)
}

/// The nice value with this weight in Linux, for the weights that are used here and for a sleeper.
fn nice(weight: u64) -> i64 {
    match weight {
        15 => 19,
        215 => 7,
        526 => 3,
        1586 => -2,
        _ => 0,
    }
}

/// The other policies that cheats are tried against, how long one of their turns is by their presets, and what the
/// cheat asks for.
const OTHERS: [(&str, Nanos, &str); 4] = [
    ("round-robin", QUANTUM, ""),
    ("time-sharing", Nanos::from_millis(20), ""),
    ("linux", Nanos::from_millis(60), ""),
    ("windows-2000", Nanos::from_millis(20), " wake-boost=6"),
];

/// The quantum, and the allowance of `bvt`, by preset.
const QUANTUM: Nanos = Nanos::from_millis(10);

/// After how many seconds errors are taken.
const SECONDS: [u64; 3] = [1, 10, 100];

/// A thread's name, and what it does.
type Sleeper = (&'static str, &'static str);

/// Threads beside them, of share 1, that use a part of their shares, and wake up often.
const SLEEPERS: [Sleeper; 2] = [
    ("sleeper", r#"periodic run="1ms" every="20ms""#),
    ("waker", r#"bursty run="100us..900us" sleep="1ms..40ms""#),
];

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

/// CPUs, how many threads of the same share always want one of them, and the threads beside them.
const CROWDS: [(u64, usize, &[Sleeper]); 4] = [(2, 3, &[]), (4, 5, &[]), (4, 7, &[]), (4, 7, &SLEEPERS)];

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
        let name = policy.name;
        let cases = policy.weights.iter().flat_map(|weights| [(weights, &[][..]), (weights, &SLEEPERS)]);
        for (weights, sleepers) in cases {
            let names: Vec<String> = weights.iter().map(u64::to_string).collect();
            let beside = if sleepers.is_empty() { "" } else { ", sleepers" };
            let _ = write!(table, "| `{name}` | {}{beside} |", names.join(":"));
            for seconds in SECONDS {
                let length = Nanos::from_secs(seconds);
                let text = hierarchy(1, name, policy.of_share, weights, sleepers);
                let outcome = run(name, text.as_bytes(), &Workload::default(), length, options)?;
                let _ = write!(table, " {} ms |", milliseconds(error(&outcome, weights)));
            }
            table.push('\n');
        }
    }
    Ok(table)
}

/// A hierarchy with a thread for each share, and others of share 1, below a policy, which may have parameters.
fn hierarchy(
    cpus: u64,
    policy: &str,
    of_share: fn(u64, u64) -> String,
    weights: &[u64],
    others: &[Sleeper],
) -> String {
    let all = weights.iter().sum::<u64>() + others.len() as u64;
    let mut text = format!("machine cpus={cpus}\n{policy} {{\n");
    for (number, share) in weights.iter().enumerate() {
        let _ = writeln!(text, "    thread \"{number}\" {} {{ cpu-bound; }}", of_share(*share, all));
    }
    for (name, does) in others {
        let _ = writeln!(text, "    thread \"{name}\" {} {{ {does}; }}", of_share(1, all));
    }
    text + "}\n"
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
    let of_both = |policy: Policy| (policy.name, policy.turn, (policy.of_share)(1, 2), String::new());
    let others = OTHERS.map(|(policy, turn, of_cheat)| (policy, turn, String::new(), of_cheat.to_owned()));
    for (policy, turn, params, of_cheat) in PROPORTIONAL.map(of_both).into_iter().chain(others) {
        let _ = write!(table, "| `{policy}` |");
        for (_, cheat) in CHEATS {
            let tasks = format!(r#"{{ "tasks" : {{ "cheat" : {{ "loop" : -1, {} }} }} }}"#, cheat(turn));
            let workload = hls_workload::read_rt_app(policy, tasks.as_bytes())
                .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
            let threads =
                format!("thread \"cheat\" {params} {of_cheat}\nthread \"honest\" {params} {{ cpu-bound; }}");
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
            let text = hierarchy(cpus, &policy, by_share("bvt").of_share, &weights, others);
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
