//! The process of the threads: reads its orders, creates the threads, and sends their figures.
//!
//! The orders are in the file that is its standard input, behind the area at the start of that file. Messages go to its
//! standard output. Its first thread creates all others, and never computes.

use crate::area::Area;
use crate::body::ThreadBody;
use crate::clock;
use crate::context::{Cpus, ProcessContext};
use crate::orders::{Group, Message, Orders, ThreadEnd};
use crate::sharing::Sharing;
use hls_monitor::result::QueueResult;
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

/// The stack of a thread: small, as a thread nests few calls and has few local variables.
const STACK_BYTES: usize = 128 << 10;

/// Runs the threads that the starter of this process orders, to their ends.
///
/// # Errors
/// When no message can be sent to the starter; all other errors are sent in a message.
pub fn serve() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let outcome = read_orders().and_then(|(orders, area)| {
        // The parent may have died before the signal was asked for.
        if getppid().map(Pid::as_raw_nonzero).map(|pid| pid.get() as u32) != Some(orders.parent) {
            return Err(io::Error::other("found another parent than the one that gives orders"));
        }
        run_threads(&orders, &area)
    });
    send(&match outcome {
        Ok((ends, queues)) => Message::Done(ends, queues),
        Err(error) => Message::Failed(error.to_string()),
    })
    // Threads that still wait for the start of the run end with the process.
}

fn read_orders() -> io::Result<(Orders, Area)> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let orders: Orders = serde_json::from_reader(BufReader::new(&mut file))?;
    let area = Area::open(file, orders.threads())?;
    Ok((orders, area))
}

fn send(message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// Creates the threads of the orders, each when it arrives, and waits for their ends. Returns their figures, and the
/// figures of their queues.
fn run_threads(orders: &Orders, area: &Area) -> io::Result<(Vec<ThreadEnd>, Vec<QueueResult>)> {
    let cpus = Cpus::first(orders.cpus)?;
    orders.groups.iter().try_for_each(|group| check_cpus(&cpus, group))?;
    let sharing = Sharing::new(area, &orders.resources, &orders.queues, orders.threads());
    let context = ProcessContext { orders, area, sharing, cpus };
    std::thread::scope(|scope| {
        let mut creator = Creator::new(scope, &context);
        if let Err(error) = creator.create_all() {
            // Threads that have started wait for a run that never begins: the process must not wait for them.
            send(&Message::Failed(error.to_string()))?;
            std::process::exit(3);
        }
        let ends = creator.join()?;
        Ok((ends, context.sharing.queues()))
    })
}

/// Refuses a group with threads that would be bound, at first or by a step, only to CPUs that this machine lacks.
fn check_cpus(cpus: &Cpus, group: &Group) -> io::Result<()> {
    let of_step = |step: &Step| match step {
        Step::SetAffinity(Some(cpus)) => Some(cpus.iter().fold(0u64, |mask, cpu| mask | 1 << cpu)),
        _ => None,
    };
    let mut masks = std::iter::once(group.affinity).chain(group.program.steps.iter().filter_map(of_step));
    if masks.all(|mask| cpus.of(mask).count() > 0) {
        return Ok(());
    }
    let (name, usable) = (group.names.first().map_or("", String::as_str), cpus.allowed.count());
    Err(io::Error::other(format!(
        "thread `{name}`: found a CPU that this machine does not have, expected one of its first {usable}"
    )))
}

/// Creates the threads, and holds their handles.
struct Creator<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    context: &'env ProcessContext<'env>,
    threads: Vec<ScopedJoinHandle<'scope, Option<ThreadEnd>>>,
    /// Each new thread sends here that it is prepared, or why it cannot be.
    prepared: (Sender<io::Result<()>>, Receiver<io::Result<()>>),
}

impl<'scope, 'env> Creator<'scope, 'env> {
    fn new(scope: &'scope Scope<'scope, 'env>, context: &'env ProcessContext<'env>) -> Creator<'scope, 'env> {
        Creator { scope, context, threads: Vec::new(), prepared: channel() }
    }

    /// Creates all threads, each when it arrives, unless the run ends before.
    fn create_all(&mut self) -> io::Result<()> {
        let ProcessContext { orders, area, .. } = *self.context;
        let (first, mut late): (Vec<&Group>, Vec<&Group>) =
            orders.groups.iter().partition(|group| group.arrive == Nanos::ZERO);
        first.into_iter().try_for_each(|group| self.create(group, false))?;
        send(&Message::Ready)?;
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

    /// Creates the threads of a group, and waits until each is prepared. `is_late`: the run has begun, and the starter
    /// has to admit them.
    fn create(&mut self, group: &'env Group, is_late: bool) -> io::Result<()> {
        for (number, name) in (group.first..).zip(&group.names) {
            let (context, sender) = (self.context, self.prepared.0.clone());
            let failed =
                |error: io::Error| io::Error::other(format!("thread `{name}` cannot be created: {error}"));
            let thread = move || {
                let prepared = prepare(context, group, number, name);
                let is_prepared = prepared.is_ok();
                // Cannot fail: the receiver outlives all threads.
                let _ = sender.send(prepared);
                if is_prepared { live(context, group, number, is_late) } else { None }
            };
            let handle = Builder::new().stack_size(STACK_BYTES).spawn_scoped(self.scope, thread);
            self.threads.push(handle.map_err(failed)?);
            self.prepared.1.recv().map_err(io::Error::other)?.map_err(failed)?;
            if is_late {
                send(&Message::Arrived(number))?;
            }
        }
        Ok(())
    }

    /// Waits for the ends of all threads, and returns their figures.
    fn join(self) -> io::Result<Vec<ThreadEnd>> {
        let panicked = |_| io::Error::other("a thread panicked; this is an error of hls");
        let ends = self.threads.into_iter().map(|thread| thread.join().map_err(panicked));
        ends.filter_map(Result::transpose).collect()
    }
}

/// Waits until `what` returns something, which it may begin to do when the bell rings; `None` if it does not up to the
/// instant `until`, which may change when the bell rings.
fn wait_for<T>(bell: &AtomicU32, until: impl Fn() -> Nanos, what: impl Fn() -> Option<T>) -> Option<T> {
    loop {
        let (seen, until) = (bell.load(Acquire), until());
        let found = what();
        if found.is_some() || clock::now() >= until {
            return found;
        }
        clock::wait(bell, seen, until);
    }
}

/// Gives the present thread its name, its timer slack and its CPUs, and publishes its tid.
fn prepare(context: &ProcessContext, group: &Group, number: u32, name: &str) -> io::Result<()> {
    let name: Vec<u8> = name.bytes().filter(|&byte| byte != 0).take(15).collect();
    set_name(&CString::new(name)?)?;
    set_current_timer_slack(NonZeroU64::new(1))?;
    sched_setaffinity(None, &context.cpus.of(group.affinity))?;
    let slot = context.area.slot(number);
    slot.touch();
    slot.tid().store(gettid().as_raw_nonzero().get() as u32, Release);
    Ok(())
}

/// Runs the program of the present thread from the start of the run, or from when the starter admits the thread; `None`
/// if the run ends before that.
fn live(context: &ProcessContext, group: &Group, number: u32, is_late: bool) -> Option<ThreadEnd> {
    let (area, slot) = (context.area, context.area.slot(number));
    let go_at = wait_for(area.bell(), || Nanos::MAX, || area.go_at())?;
    let arrival = if is_late {
        let ends_at = || go_at.saturating_add(area.end_at());
        wait_for(slot.bell(), ends_at, || slot.admitted_at())?.saturating_sub(go_at)
    } else {
        Nanos::ZERO
    };
    let before = Switches::of_this_thread();
    let end = ThreadBody::new(context, group, number, go_at).run(arrival);
    let after = Switches::of_this_thread();
    Some(ThreadEnd {
        preemptions: after.preemptions.saturating_sub(before.preemptions),
        switches: after.all.saturating_sub(before.all),
        migrations: after.migrations.saturating_sub(before.migrations),
        ..end
    })
}

/// The kernel's counts of a thread's switches.
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
