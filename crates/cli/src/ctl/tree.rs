//! The hierarchy that runs, as a tree for people: what each VP was promised and what it has had.
//!
//! A join is written in full below the first of its parents. Threads that are promised nothing are only counted where
//! they are below the default scheduler; below other schedulers the first few dozen have a line each. Relies on the
//! server to send parents before their children.

use hls_client::interface::{Decisions, Processor, Scheduler, StatusReply, Thread};
use hls_report::format::{count, time_rounded};
use hls_report::layout::{Column, number, text, write_rows};
use hls_units::{Nanos, is_hidden};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// How many threads of a scheduler have a line each.
const MAX_THREADS: usize = 40;

const COLUMNS: [Column; 7] = [
    text(""),
    text(""),
    text("promised"),
    number("CPU time", "owed"),
    number("CPU time", "had"),
    number("CPU time", "stolen"),
    number("", "broken"),
];

type Row = [String; 7];

/// What a VP, or several together, were promised and have had.
struct Supply {
    guarantee: String,
    promised_ns: u64,
    ran_ns: u64,
    stolen_ns: u64,
    broken: u64,
}

impl From<&Processor> for Supply {
    fn from(of: &Processor) -> Supply {
        let Processor { promised_ns, ran_ns, stolen_ns, broken, .. } = *of;
        Supply { guarantee: of.guarantee.clone(), promised_ns, ran_ns, stolen_ns, broken }
    }
}

impl From<&Thread> for Supply {
    fn from(of: &Thread) -> Supply {
        let Thread { promised_ns, ran_ns, stolen_ns, broken, .. } = *of;
        Supply { guarantee: of.guarantee.clone(), promised_ns, ran_ns, stolen_ns, broken }
    }
}

/// Writes the tree.
///
/// # Errors
/// The errors of `out`.
pub fn write_status(out: &mut impl Write, status: &StatusReply) -> io::Result<()> {
    let plural = if status.cpus == 1 { "" } else { "s" };
    let stolen = time_rounded(Nanos(status.stolen_ns));
    write!(out, "machine with {} CPU{plural}, {stolen} of CPU time stolen", status.cpus)?;
    let rounded = |time: Option<u64>| time.map(|time| time_rounded(Nanos(time)));
    match (rounded(status.longest_hold_ns), rounded(status.longest_wait_ns)) {
        (Some(hold), Some(wait)) => {
            writeln!(out, "; its lock was held for {hold} at most, and waited for up to {wait}")?
        }
        _ => writeln!(out)?,
    }
    let mut tree = Tree { status, rows: Vec::new(), seen: BTreeSet::new() };
    tree.add_below(None, "");
    write_rows(out, &COLUMNS, &tree.rows)?;
    for Scheduler { name, policy, disabled_policy, decided, .. } in &status.schedulers {
        if let Some(Decisions { followed, stale, by_urgency, by_agent, agent_ns }) = decided {
            writeln!(
                out,
                "{name} has followed {} decisions of its process, and chosen {} times by urgency; {} decisions were \
                 stale, and its agent was asked {} times, for {} of CPU time",
                count(*followed),
                count(*by_urgency),
                count(*stale),
                count(*by_agent),
                time_rounded(Nanos(*agent_ns))
            )?;
        }
        if let Some(disabled) = disabled_policy {
            writeln!(out, "{name} has {policy} in the place of a disabled policy, {disabled}")?;
        }
    }
    Ok(())
}

struct Tree<'s> {
    status: &'s StatusReply,
    rows: Vec<Row>,
    /// The schedulers that have been written in full, with everything below them.
    seen: BTreeSet<&'s str>,
}

/// A child of a scheduler, as the tree shows it.
enum Child<'s> {
    Scheduler(&'s Scheduler),
    Thread(&'s Thread),
    /// Threads that share one line, which says how many they are.
    Threads(Vec<&'s Thread>),
}

impl<'s> Tree<'s> {
    /// Adds all that is below a scheduler, or, below the machine, the root.
    fn add_below(&mut self, parent: Option<&'s Scheduler>, branches: &str) {
        let children = self.children(parent);
        let last = children.len().saturating_sub(1);
        for (at, child) in children.into_iter().enumerate() {
            let (branch, rest) = if at == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let (name, kind, supply) = match &child {
                Child::Scheduler(scheduler) => self.scheduler(scheduler, parent),
                Child::Thread(thread) => (thread_name(thread), thread_kind(thread), Supply::from(*thread)),
                Child::Threads(threads) => {
                    let supply = sum(threads.iter().map(|thread| Supply::from(*thread)), "");
                    (format!("{} threads", threads.len()), String::new(), supply)
                }
            };
            self.rows.push(row(format!("{branches}{branch}{name}"), kind, &supply));
            if let Child::Scheduler(scheduler) = child
                && self.seen.insert(&scheduler.name)
            {
                self.add_below(Some(scheduler), &format!("{branches}{rest}"));
            }
        }
    }

    fn children(&self, parent: Option<&Scheduler>) -> Vec<Child<'s>> {
        let name = parent.map(|parent| parent.name.as_str());
        let is_below = |processor: &Processor| processor.parent.as_deref() == name;
        let schedulers = self.status.schedulers.iter().filter(|it| it.processors.iter().any(is_below));
        let mut children: Vec<Child> = schedulers.map(Child::Scheduler).collect();
        let threads = self.status.threads.iter().filter(|thread| Some(thread.scheduler.as_str()) == name);
        let (mut first, mut rest): (Vec<_>, Vec<_>) = if parent.is_some_and(|parent| parent.default) {
            threads.partition(|thread| thread.guarantee != "NULL" || thread.suspended_by.is_some())
        } else {
            (threads.collect(), Vec::new())
        };
        if first.len() > MAX_THREADS {
            rest.splice(0..0, first.split_off(MAX_THREADS));
        }
        children.extend(first.into_iter().map(Child::Thread));
        if !rest.is_empty() {
            children.push(Child::Threads(rest));
        }
        children
    }

    /// The name of a scheduler, its policy, and what it has of one parent.
    fn scheduler(&self, scheduler: &Scheduler, parent: Option<&Scheduler>) -> (String, String, Supply) {
        let name = parent.map(|parent| parent.name.as_str());
        let of_parent = scheduler.processors.iter().filter(|it| it.parent.as_deref() == name);
        let supplies: Vec<Supply> = of_parent.map(Supply::from).collect();
        let mut kind = scheduler.policy.clone();
        if self.seen.contains(scheduler.name.as_str()) {
            kind += ", see above";
        }
        if let Some(owner) = scheduler.owner {
            kind += &format!(", of user {owner}");
        }
        let guarantees = guarantees(&supplies);
        (clean(&scheduler.name), kind, sum(supplies.into_iter(), &guarantees))
    }
}

/// The guarantees of several VPs, equal ones counted together: `ALL (on 4 CPUs)`.
fn guarantees(supplies: &[Supply]) -> String {
    let groups = supplies.chunk_by(|a, b| a.guarantee == b.guarantee).map(|group| match group {
        [one] => one.guarantee.clone(),
        _ => format!("{} (on {} CPUs)", group[0].guarantee, group.len()),
    });
    groups.collect::<Vec<_>>().join(", ")
}

fn sum(supplies: impl Iterator<Item = Supply>, guarantee: &str) -> Supply {
    let none = Supply { guarantee: guarantee.into(), ran_ns: 0, promised_ns: 0, stolen_ns: 0, broken: 0 };
    supplies.fold(none, |sum, supply| Supply {
        ran_ns: sum.ran_ns.saturating_add(supply.ran_ns),
        promised_ns: sum.promised_ns.saturating_add(supply.promised_ns),
        stolen_ns: sum.stolen_ns.saturating_add(supply.stolen_ns),
        broken: sum.broken.saturating_add(supply.broken),
        ..sum
    })
}

/// `mpv (4711)`, or `mpv (4712 of 4711)` where it is not the main thread of its process.
fn thread_name(thread: &Thread) -> String {
    let Thread { thread: tid, process, comm, .. } = thread;
    let of = if tid == process { String::new() } else { format!(" of {process}") };
    format!("{} ({tid}{of})", clean(comm))
}

/// The kind of a thread, and, if it is suspended, the name of what suspended it.
fn thread_kind(thread: &Thread) -> String {
    let by = thread.suspended_by.as_ref();
    by.map_or_else(|| "thread".into(), |by| format!("thread, suspended by {}", clean(by)))
}

/// A name that a terminal can show: a thread may call itself anything.
pub fn clean(name: &str) -> String {
    name.replace(is_hidden, "?")
}

fn row(name: String, kind: String, supply: &Supply) -> Row {
    let time = |nanos| if nanos == 0 { "-".into() } else { time_rounded(Nanos(nanos)) };
    let Supply { guarantee, ran_ns, promised_ns, stolen_ns, broken } = supply;
    let broken = if *broken == 0 { "-".into() } else { count(*broken) };
    [name, kind, guarantee.clone(), time(*promised_ns), time(*ran_ns), time(*stolen_ns), broken]
}
