//! One line for each time that a thread leaves a CPU, after the manner of `perf sched timehist`.
//!
//! A line tells when and where which thread ran, how long it had been off the CPU before (*wait time*), how much of
//! that it wanted the CPU (*sch delay*), and how long it ran. Stolen time counts as running here, as it does for perf.
//! Relies on records in time order; keeps a few words for each VP and writes as it goes.

use crate::format::{decimal, shorten};
use hls_monitor::event::{ObservedVp, Record, What};
use hls_monitor::result::{Child, Topology};
use hls_units::Nanos;
use std::io::{self, Write};

/// Columns for a thread's name.
const NAME_WIDTH: usize = 30;

/// Where a thread is, and since when.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// Its name, cut to the column; nothing if the VP is not a thread's.
    name: Option<String>,
    /// When it left a CPU last.
    left_at: Option<Nanos>,
    /// When it began to want the CPU that it does not have.
    ready_at: Option<Nanos>,
    running: Option<Running>,
}

impl Thread {
    fn of(topology: &Topology, vp: ObservedVp) -> Thread {
        let is_thread = topology.vps.get(vp.index()).is_some_and(|info| info.child == Child::Thread);
        let name = is_thread.then(|| shorten(topology.child_name(vp), NAME_WIDTH));
        Thread { name, ..Thread::default() }
    }
}

/// A run that has not ended.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: Nanos,
    cpu: u16,
    waited: Nanos,
    delayed: Nanos,
}

/// Writes the list while records come in.
pub struct TimeHist<W> {
    out: W,
    /// By VP.
    threads: Vec<Thread>,
}

impl<W: Write> TimeHist<W> {
    /// Begins with the heading.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn new(mut out: W, topology: &Topology) -> io::Result<Self> {
        let rule = |width| "-".repeat(width);
        let mut line = |time, cpu, thread: &str, wait, delay, run| {
            writeln!(out, "{time:>15}  {cpu:<6}  {thread:NAME_WIDTH$}  {wait:>10}  {delay:>10}  {run:>10}")
        };
        line("time [s]", "cpu", "thread", "wait [ms]", "delay [ms]", "run [ms]")?;
        line(&rule(15), &rule(6), &rule(NAME_WIDTH), &rule(10), &rule(10), &rule(10))?;
        let threads = (0..topology.vps.len()).map(|vp| Thread::of(topology, ObservedVp::at(vp))).collect();
        Ok(TimeHist { out, threads })
    }

    /// A VP has come, which may have the number of a VP that has left.
    pub fn join(&mut self, topology: &Topology, vp: ObservedVp) {
        if self.threads.len() <= vp.index() {
            self.threads.resize(vp.index() + 1, Thread::default());
        }
        self.threads[vp.index()] = Thread::of(topology, vp);
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        let thread = self.threads.get_mut(record.vp.index()).filter(|thread| thread.name.is_some());
        let Some(thread) = thread else { return Ok(()) };
        let at = record.at;
        match record.what {
            What::Request => thread.ready_at = Some(at),
            What::Grant => {
                let since = |earlier: Option<Nanos>| at.saturating_sub(earlier.unwrap_or(at));
                let waited = since(thread.left_at.or(thread.ready_at));
                let delayed = since(thread.ready_at.take());
                thread.running = Some(Running { since: at, cpu: record.cpu, waited, delayed });
            }
            What::Revoke | What::Release | What::Leave => {
                thread.ready_at = (record.what == What::Revoke).then_some(at);
                if let Some(running) = thread.running.take() {
                    thread.left_at = Some(at);
                    return self.line(record.vp, at, running);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes the threads that still run at `end`, flushes, and gives the output back.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn finish(mut self, end: Nanos) -> io::Result<W> {
        for vp in 0..self.threads.len() {
            if let Some(running) = self.threads[vp].running {
                self.line(ObservedVp::at(vp), end, running)?;
            }
        }
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the run that ends at `at`.
    fn line(&mut self, vp: ObservedVp, at: Nanos, running: Running) -> io::Result<()> {
        let micros = |time: Nanos| decimal(u128::from(time.0 / 1_000), 3);
        let name = self.threads[vp.index()].name.as_deref().unwrap_or_default();
        let time = decimal(u128::from(at.0 / 1_000), 6);
        let (wait, delay) = (micros(running.waited), micros(running.delayed));
        let run = micros(at.saturating_sub(running.since));
        let cpu = running.cpu;
        writeln!(self.out, "{time:>15}  [{cpu:04}]  {name:NAME_WIDTH$}  {wait:>10}  {delay:>10}  {run:>10}")
    }
}
