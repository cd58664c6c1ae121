//! What other threads get beside a scheduler with a process that does harm, in the simulator: agents of every kind,
//! one to eight schedulers below each other. Three tables: a neighbour with a promise, a thread of the scheduler above,
//! and a thread of the scheduler itself.
//!
//! ```text
//!            machine (reservation)
//!      4 ms in 10 /       \ 6 ms in 10
//!          user-1          neighbour
//!         /  |   \
//!    agent own-1  user-2
//!                 /  |  \
//!            agent own-2 ...  down to the scheduler with the agent that is tried, and its threads
//! ```

use crate::decimal::Decimal;
use crate::run::{Outcome, run};
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fmt::Write;

/// The folder of the experiment.
pub const NAME: &str = "user-level-isolation";

/// How long each hierarchy is run.
const LENGTH: Nanos = Nanos::from_secs(10);

/// How many schedulers of processes are below each other; the last one's agent is tried.
const DEPTHS: [u32; 4] = [1, 2, 4, 8];

/// The length of the windows in which the neighbour's CPU time is measured: twice the period of its promise.
const WINDOW: Nanos = Nanos::from_millis(20);

/// What the tried agent does.
const AGENTS: [(&str, &str); 9] = [
    ("there is none", ""),
    (ALL_SLEEP, ""),
    ("works", r#"by="fixed-priority" cost="5us""#),
    ("is slow", r#"by="fixed-priority" cost="5ms""#),
    ("is stale", r#"by="stale" cost="5us""#),
    ("is dead", r#"by="dead" cost="5us""#),
    ("loops", r#"by="loops" cost="1ms""#),
    ("storms", r#"by="storms" cost="1us""#),
    ("writes garbage", r#"by="garbage" cost="1us..50us""#),
];

/// No agent, and threads that all sleep at times: this harm comes from any child that comes and goes, not from agents.
const ALL_SLEEP: &str = "there is none, and all threads sleep at times";

/// Each hierarchy is run with this number of seeds; the tables have the worst result.
const SEEDS: u64 = 5;

struct Table {
    title: &'static str,
    /// The figure that it has of a run at a depth.
    of: fn(&Outcome, u32) -> Option<Nanos>,
    /// The worse one.
    worse: fn(Nanos, Nanos) -> Nanos,
    text: fn(Nanos) -> String,
}

const TABLES: [Table; 3] = [
    Table { title: "the neighbour's least in 20 ms", of: neighbour, worse: Ord::min, text: milliseconds },
    Table {
        title: "the longest response of the thread above",
        of: thread_above,
        worse: Ord::max,
        text: milliseconds,
    },
    Table { title: "the part of its own threads", of: own_threads, worse: Ord::min, text: percent },
];

/// The three tables.
///
/// # Errors
/// Why a hierarchy could not be run, or which promises were broken.
pub fn tables(options: &Options) -> Result<String, Vec<String>> {
    let mut tables = TABLES.map(|table| {
        let depths: String = DEPTHS.iter().map(|depth| format!(" {depth} deep |")).collect();
        format!("| {}; the agent |{depths}\n|---|{}\n", table.title, "---:|".repeat(DEPTHS.len()))
    });
    for (name, agent) in AGENTS {
        let rows = DEPTHS.map(|depth| runs(name, agent, depth, options));
        let rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
        for (table, text) in TABLES.iter().zip(&mut tables) {
            let _ = write!(text, "| {name} |");
            for (outcomes, depth) in rows.iter().zip(DEPTHS) {
                let worst =
                    outcomes.iter().filter_map(|outcome| (table.of)(outcome, depth)).reduce(table.worse);
                let _ = write!(text, " {} |", worst.map_or("-".into(), table.text));
            }
            text.push('\n');
        }
    }
    Ok(tables.join("\n"))
}

/// The outcomes of an agent at this depth, one for each seed.
fn runs(name: &str, agent: &str, depth: u32, options: &Options) -> Result<Vec<Outcome>, Vec<String>> {
    let mine = if name == ALL_SLEEP { r#"{ bursty run="50us..5ms" sleep="1ms..20ms"; }"# } else { "" };
    let text = hierarchy(agent, mine, depth);
    let with_seed = |seed| {
        let options = Options { seed, ..options.clone() };
        let outcome = run(name, text.as_bytes(), &Workload::default(), LENGTH, &options)?;
        are_kept(name, depth, &outcome)?;
        Ok(outcome)
    };
    (0..SEEDS).map(with_seed).collect()
}

/// Whether all that the calculus promises was kept in every window.
fn are_kept(name: &str, depth: u32, outcome: &Outcome) -> Result<(), Vec<String>> {
    let broken = outcome.result.guarantees.iter().filter(|promise| !promise.is_kept());
    let broken: Vec<String> = broken
        .map(|promise| (outcome.result.topology.child_name(promise.vp), &promise.guarantee))
        .map(|(child, guarantee)| format!("the agent {name}, {depth} deep: {child} was promised {guarantee}"))
        .collect();
    if broken.is_empty() { Ok(()) } else { Err(broken) }
}

/// A hierarchy with `depth` schedulers of processes below each other. The last one has this agent, and the thread
/// `mine` with this workload.
fn hierarchy(agent: &str, mine: &str, depth: u32) -> String {
    let mut text = String::from("machine cpus=1\nreservation \"machine\" {\n");
    text += "thread \"neighbour\" budget=\"6ms\" period=\"10ms\"\n";
    for level in 1..=depth {
        let place = if level == 1 { "budget=\"4ms\" period=\"10ms\"" } else { "urgency=1" };
        let _ = writeln!(text, "user-level \"user-{level}\" {place} allowance=\"500us\" every=\"10ms\" {{");
        let agent = if level < depth { r#"by="fixed-priority" cost="5us""# } else { agent };
        if !agent.is_empty() {
            let _ = writeln!(text, "thread \"agent-{level}\" slot=0 {{ agent {agent}; }}");
        }
        if level < depth {
            let own = r#"urgency=2 { periodic run="100us" every="10ms"; }"#;
            let _ = writeln!(text, "thread \"own-{level}\" {own}");
        }
    }
    let _ = writeln!(text, "thread \"mine\" urgency=1 {mine}");
    text += "thread \"bursts\" urgency=2 { bursty run=\"50us..150us\" sleep=\"1ms..3ms\"; }\n";
    text + &"}\n".repeat(depth as usize + 1)
}

/// The least CPU time that the neighbour had in any window in which it wanted the CPU.
fn neighbour(outcome: &Outcome, _: u32) -> Option<Nanos> {
    let promise = outcome.result.guarantees.iter().find(|promise| outcome.names(promise.vp, "neighbour"))?;
    promise.windows.iter().find(|window| window.window == WINDOW)?.least
}

/// The longest that a job of the thread right above the tried scheduler took.
fn thread_above(outcome: &Outcome, depth: u32) -> Option<Nanos> {
    let name = format!("own-{}", depth - 1);
    let thread = outcome.result.threads.iter().find(|thread| outcome.names(thread.vp, &name))?;
    Some(thread.response.worst)
}

/// The CPU time that the threads of the tried scheduler had, without its agent.
fn own_threads(outcome: &Outcome, _: u32) -> Option<Nanos> {
    let is_own = |name: &str| ["mine", "bursts"].contains(&name);
    let threads = outcome.result.threads.iter();
    let own = threads.filter(|thread| is_own(outcome.result.topology.child_name(thread.vp)));
    Some(Nanos(own.map(|thread| thread.ran.0).sum()))
}

fn milliseconds(time: Nanos) -> String {
    format!("{} ms", Decimal::ratio_nearest(time.0, 1_000_000))
}

/// A part of the length of the run.
fn percent(time: Nanos) -> String {
    format!("{} %", Decimal::ratio_nearest(time.0 * 100, LENGTH.0))
}
