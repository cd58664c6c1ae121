//! The process of the threads: takes orders, creates the threads, tells what became of them.
//!
//! Orders stand in the file that is its standard input, behind the area that it begins with. Messages go to standard
//! output. Its first thread creates those that come later; it never computes.

use crate::area::Area;
use crate::body::Body;
use crate::clock;
use crate::orders::{Group, Message, Orders, ThreadEnd};
use crate::sharing::Sharing;
use crate::stage::{Cpus, Stage};
use hls_units::Nanos;
use hls_workload::program::Step;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{gettid, sched_setaffinity, set_current_timer_slack, set_name};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Threads call little and keep little.
const STACK_BYTES: usize = 128 << 10;

/// Serves the load that started this process, to its end.
///
/// # Errors
/// When nobody is there to be told; all else is told in a message.
pub fn serve() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let outcome = take_orders().and_then(|(orders, area)| {
        // The parent may have died before the signal was asked for.
        if getppid().map(Pid::as_raw_nonzero).map(|pid| pid.get() as u32) != Some(orders.parent) {
            return Err(io::Error::other("found another parent than the one that gives orders"));
        }
        perform(&orders, &area)
    });
    tell(&match outcome {
        Ok(ends) => Message::Done(ends),
        Err(error) => Message::Failed(error.to_string()),
    })
    // Threads that wait for a run that never begins end with the process.
}

fn take_orders() -> io::Result<(Orders, Area)> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let orders: Orders = serde_json::from_reader(BufReader::new(&mut file))?;
    let area = Area::open(file, orders.threads())?;
    Ok((orders, area))
}

fn tell(message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// Carries the orders out.
fn perform(orders: &Orders, area: &Area) -> io::Result<Vec<ThreadEnd>> {
    let cpus = Cpus::first(orders.cpus)?;
    orders.groups.iter().try_for_each(|group| check_cpus(&cpus, group))?;
    let sharing = Sharing::new(area, &orders.resources, orders.threads());
    let stage = Stage { orders, area, sharing, cpus };
    std::thread::scope(|scope| {
        let mut cast = Cast::new(scope, &stage);
        if let Err(error) = cast.create_all() {
            // The threads that are there wait for a run that never begins: the process must not wait for them.
            tell(&Message::Failed(error.to_string()))?;
            std::process::exit(3);
        }
        cast.join()
    })
}

/// Whether a thread would be bound to CPUs that this machine does not have.
fn check_cpus(cpus: &Cpus, group: &Group) -> io::Result<()> {
    let of_step = |step: &Step| match step {
        Step::SetAffinity(Some(cpus)) => Some(cpus.iter().fold(0u64, |mask, cpu| mask | 1 << cpu)),
        _ => None,
    };
    let mut masks = std::iter::once(group.affinity).chain(group.program.steps.iter().filter_map(of_step));
    if masks.all(|mask| cpus.of(mask).count() > 0) {
        return Ok(());
    }
    let (name, there) = (group.names.first().map_or("", String::as_str), cpus.allowed.count());
    Err(io::Error::other(format!(
        "thread `{name}`: found a CPU that this machine does not have, expected one of its first {there}"
    )))
}

/// The threads as they are created.
struct Cast<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    stage: &'env Stage<'env>,
    threads: Vec<ScopedJoinHandle<'scope, Option<ThreadEnd>>>,
    /// Each thread says here that it is there, or why not.
    there: (Sender<io::Result<()>>, Receiver<io::Result<()>>),
}

impl<'scope, 'env> Cast<'scope, 'env> {
    fn new(scope: &'scope Scope<'scope, 'env>, stage: &'env Stage<'env>) -> Cast<'scope, 'env> {
        Cast { scope, stage, threads: Vec::new(), there: channel() }
    }

    /// Creates all threads, each when it comes.
    fn create_all(&mut self) -> io::Result<()> {
        let Stage { orders, area, .. } = *self.stage;
        let (first, mut late): (Vec<&Group>, Vec<&Group>) =
            orders.groups.iter().partition(|group| group.arrive == Nanos::ZERO);
        first.into_iter().try_for_each(|group| self.create(group, false))?;
        tell(&Message::Ready)?;
        let go_at = wait_for(area.bell(), || Nanos::MAX, || area.go_at()).unwrap_or(Nanos::MAX);
        let ends_at = || go_at.saturating_add(area.end_at());
        late.sort_by_key(|group| group.arrive);
        for group in late {
            let at = go_at.saturating_add(group.arrive);
            wait_for(area.bell(), || at.min(ends_at()), || None::<()>);
            if clock::now() >= ends_at() {
                break;
            }
            self.create(group, true)?;
        }
        Ok(())
    }

    /// Creates the threads of a group, and sees that they are there.
    fn create(&mut self, group: &'env Group, is_late: bool) -> io::Result<()> {
        for (number, name) in (group.first..).zip(&group.names) {
            let (stage, there) = (self.stage, self.there.0.clone());
            let failed =
                |error: io::Error| io::Error::other(format!("thread `{name}` cannot be created: {error}"));
            let thread = move || {
                let prepared = prepare(stage, group, number, name);
                let is_there = prepared.is_ok();
                // The receiver outlives all threads.
                let _ = there.send(prepared);
                if is_there { play(stage, group, number, is_late) } else { None }
            };
            let handle = Builder::new().stack_size(STACK_BYTES).spawn_scoped(self.scope, thread);
            self.threads.push(handle.map_err(failed)?);
            self.there.1.recv().map_err(io::Error::other)?.map_err(failed)?;
            if is_late {
                tell(&Message::Arrived(number))?;
            }
        }
        Ok(())
    }

    /// Waits for the end of all.
    fn join(self) -> io::Result<Vec<ThreadEnd>> {
        let panicked = |_| io::Error::other("a thread panicked; this is an error of the load");
        let ends = self.threads.into_iter().map(|thread| thread.join().map_err(panicked));
        ends.filter_map(Result::transpose).collect()
    }
}

/// Waits for something that comes with a ring of the bell; `None`: it had not come at that instant, which a ring may
/// change.
fn wait_for<T>(bell: &AtomicU32, until: impl Fn() -> Nanos, what: impl Fn() -> Option<T>) -> Option<T> {
    loop {
        let (heard, until) = (bell.load(Acquire), until());
        let found = what();
        if found.is_some() || clock::now() >= until {
            return found;
        }
        clock::wait(bell, heard, until);
    }
}

/// What a thread does before it says that it is there.
fn prepare(stage: &Stage, group: &Group, number: u32, name: &str) -> io::Result<()> {
    let name: Vec<u8> = name.bytes().filter(|&byte| byte != 0).take(15).collect();
    set_name(&CString::new(name)?)?;
    set_current_timer_slack(NonZeroU64::new(1))?;
    sched_setaffinity(None, &stage.cpus.of(group.affinity))?;
    let slot = stage.area.slot(number);
    slot.touch();
    slot.tid().store(gettid().as_raw_nonzero().get() as u32, Release);
    Ok(())
}

/// The life of a thread; `None` if the run was over before it was admitted.
fn play(stage: &Stage, group: &Group, number: u32, is_late: bool) -> Option<ThreadEnd> {
    let (area, slot) = (stage.area, stage.area.slot(number));
    let go_at = wait_for(area.bell(), || Nanos::MAX, || area.go_at())?;
    let arrival = if is_late {
        let ends_at = || go_at.saturating_add(area.end_at());
        wait_for(slot.bell(), ends_at, || slot.admitted_at())?.saturating_sub(go_at)
    } else {
        Nanos::ZERO
    };
    let before = Switches::of_this_thread();
    let end = Body::new(stage, group, number, go_at).live(arrival);
    let after = Switches::of_this_thread();
    Some(ThreadEnd {
        preemptions: after.preemptions.saturating_sub(before.preemptions),
        switches: after.all.saturating_sub(before.all),
        migrations: after.migrations.saturating_sub(before.migrations),
        ..end
    })
}

/// What the kernel has counted for a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Switches {
    all: u64,
    preemptions: u64,
    migrations: u64,
}

impl Switches {
    fn of_this_thread() -> Switches {
        let text = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
        let value = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            let found = lines.into_iter().find(|(key, _)| key.trim() == name);
            found.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
        };
        Switches {
            all: value("nr_switches"),
            preemptions: value("nr_involuntary_switches"),
            migrations: value("se.nr_migrations"),
        }
    }
}
