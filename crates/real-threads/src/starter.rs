//! The starter's side: starts the process of the threads, receives its messages and events, and ends it.

use crate::area::Area;
use crate::clock::{self, ring};
use crate::orders::{Message, Orders, ThreadEnd};
use hls_monitor::event::{ObservedVp, Record};
use hls_monitor::result::{QueueResult, RunResult};
use hls_plan::Plan;
use hls_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering::Acquire;

/// The kernel's number of a thread.
pub type Tid = u32;

/// How long threads may take to end after the run, since each needs a CPU to end.
const GRACE: Nanos = Nanos::from_secs(20);
/// How long it may take until all threads that arrive at the start of the run have started.
const PATIENCE: Nanos = Nanos::from_secs(120);

/// The process of the threads, for the process that started it. Dropping this kills the process with all its threads.
///
/// The process also ends when the thread that started it does, even if other threads of the starter's process live on.
pub struct ThreadProcess {
    child: Child,
    messages: Messages,
    area: Area,
    /// The VP of each thread, by the thread's number.
    vps: Vec<ObservedVp>,
    /// The threads that have arrived so far.
    threads: Vec<(ObservedVp, Tid)>,
    /// The instant at which the run began, by CLOCK_MONOTONIC.
    go_at: Nanos,
    /// The instant of the last event that was delivered.
    delivered_at: Nanos,
    /// The figures of all threads, once the process has sent them: then all threads have ended.
    ends: Option<(Vec<ThreadEnd>, Vec<QueueResult>)>,
}

/// The figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The figures of each thread that arrived, in the order of the plan.
    pub threads: Vec<ThreadEnd>,
    /// The figures of their queues.
    pub queues: Vec<QueueResult>,
    /// How long the run lasted.
    pub length: Nanos,
    /// The number of events that were lost because they were not taken in time, and that are in no figure.
    pub lost: u64,
}

impl ThreadProcess {
    /// Starts `command`, which must call [`crate::serve`], and waits until all threads that arrive at the start of the
    /// run have started. They wait for [`ThreadProcess::go`].
    ///
    /// # Errors
    /// When a thread is the agent of a scheduler; when the process cannot be started, or a thread in it cannot: the
    /// message names the thread.
    pub fn start(mut command: Command, plan: &Plan, seed: u64) -> io::Result<ThreadProcess> {
        if plan.groups.iter().any(|group| group.program.as_agent().is_some()) {
            return Err(io::Error::other("found an agent, which no real thread plays"));
        }
        let orders = Orders::new(plan, seed);
        let (area, mut file) = Area::create(orders.threads())?;
        // The process reads its orders from where its standard input stands: behind the area.
        let behind = file.seek(SeekFrom::End(0))?;
        serde_json::to_writer(&file, &orders)?;
        file.seek(SeekFrom::Start(behind))?;
        // In a process group of its own: Ctrl-C at a terminal is a signal for the starter alone.
        command.stdin(Stdio::from(file)).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or(ErrorKind::BrokenPipe)?;
        let mut load = ThreadProcess {
            child,
            messages: Messages { out, read: Vec::new() },
            area,
            vps: plan.threads().map(|thread| thread.vp).collect(),
            threads: Vec::new(),
            go_at: Nanos::MAX,
            delivered_at: Nanos::ZERO,
            ends: None,
        };
        match load.messages.next(clock::now().saturating_add(PATIENCE))? {
            Some(Message::Ready) => {}
            Some(Message::Failed(reason)) => return Err(io::Error::other(reason)),
            other => return Err(unexpected(&other, "`Ready`")),
        }
        let tid = |number: u32| load.area.slot(number).tid().load(Acquire);
        let tids = (0..).zip(&load.vps).map(|(number, &vp)| (vp, tid(number)));
        load.threads = tids.filter(|&(_, tid)| tid != 0).collect();
        Ok(load)
    }

    /// The pid of the process, which is the tid of the thread that creates the others.
    pub fn pid(&self) -> Tid {
        self.child.id()
    }

    /// The threads that have arrived so far, each with its VP and its tid.
    pub fn threads(&self) -> &[(ObservedVp, Tid)] {
        &self.threads
    }

    /// Lets the run begin now and last for `length`. Returns the present instant, by CLOCK_MONOTONIC.
    pub fn go(&mut self, length: Nanos) -> Nanos {
        self.go_at = clock::now();
        self.area.go(self.go_at, length);
        ring(self.area.bell());
        self.go_at
    }

    /// How long the run has lasted up to now.
    pub fn elapsed(&self) -> Nanos {
        clock::now().saturating_sub(self.go_at)
    }

    /// The threads that have arrived since the last call, each with its VP and its tid; waits for one no longer than
    /// `patience`. Each of these threads waits for [`ThreadProcess::admit`].
    ///
    /// # Errors
    /// When the process has failed, or a thread cannot be created.
    pub fn arrivals(&mut self, patience: Nanos) -> io::Result<Vec<(ObservedVp, Tid)>> {
        let mut arrivals = Vec::new();
        let mut until = clock::now().saturating_add(patience);
        while !self.is_over() {
            match self.messages.next(until)? {
                None => break,
                Some(Message::Arrived(number)) => arrivals.extend(self.arrived(number)),
                Some(Message::Done(ends, queues)) => self.ends = Some((ends, queues)),
                Some(Message::Failed(reason)) => return Err(io::Error::other(reason)),
                other => return Err(unexpected(&other, "`Arrived` or `Done`")),
            }
            until = Nanos::ZERO;
        }
        Ok(arrivals)
    }

    /// Whether [`ThreadProcess::arrivals`] has read that all threads have ended.
    pub fn is_over(&self) -> bool {
        self.ends.is_some()
    }

    fn arrived(&mut self, number: u32) -> Option<(ObservedVp, Tid)> {
        let vp = *self.vps.get(number as usize)?;
        let thread = (vp, self.area.slot(number).tid().load(Acquire));
        self.threads.push(thread);
        Some(thread)
    }

    /// Lets a thread that arrived after the start of the run begin its program now.
    pub fn admit(&self, vp: ObservedVp) {
        let Some(number) = self.vps.iter().position(|&other| other == vp) else { return };
        let slot = self.area.slot(number as u32);
        slot.admit(clock::now());
        ring(slot.bell());
    }

    /// Delivers the events that the threads have recorded since the last call to `sink`: `Arrive`, `Leave`,
    /// `JobRelease`, `JobDone`, `JobOpen` and `Miss`, in order of time, counted from the start of the run. An event
    /// that a thread recorded late, because it lost the CPU meanwhile, gets the time of the event delivered before it.
    /// A ring holds 2,048 events or, for more than 1,365 threads, fewer: call this several times a second.
    pub fn events(&mut self, sink: &mut dyn FnMut(&Record)) {
        let mut records = Vec::new();
        for (number, &vp) in (0..).zip(&self.vps) {
            let slot = self.area.slot(number);
            let events = std::iter::from_fn(|| slot.read());
            records.extend(events.map(|(at, what)| Record { at, vp, cpu: 0, what }));
        }
        records.sort_by_key(|record| record.at);
        for mut record in records {
            record.at = record.at.max(self.delivered_at);
            self.delivered_at = record.at;
            sink(&record);
        }
    }

    /// Lets the run end now, if it has not ended.
    pub fn end(&self) {
        let now = self.elapsed();
        if now >= self.area.end_at() {
            return;
        }
        self.area.end(now);
        (0..self.vps.len() as u32).for_each(|number| ring(self.area.slot(number).bell()));
        ring(self.area.bell());
    }

    /// Ends the run, waits for the end of all threads, and delivers their last events to `sink`. A thread needs a CPU
    /// to end: the caller must have stopped any scheduler that keeps it from one.
    ///
    /// # Errors
    /// When threads have not ended after 20 s, or the process has failed.
    pub fn finish(mut self, sink: &mut dyn FnMut(&Record)) -> io::Result<Outcome> {
        self.end();
        let patience = clock::now().saturating_add(GRACE);
        while !self.is_over() {
            match self.messages.next(patience)? {
                Some(Message::Done(ends, queues)) => self.ends = Some((ends, queues)),
                Some(Message::Arrived(_)) => {}
                Some(Message::Failed(reason)) => return Err(io::Error::other(reason)),
                other => return Err(unexpected(&other, "`Done`")),
            }
        }
        self.events(sink);
        let (threads, queues) = self.ends.take().unwrap_or_default();
        let lost = (0..self.vps.len() as u32).map(|number| self.area.slot(number).lost()).sum();
        Ok(Outcome { threads, queues, length: self.area.end_at(), lost })
    }
}

impl AsFd for ThreadProcess {
    /// The descriptor, readable when [`ThreadProcess::arrivals`] has something to read, or the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.messages.out.as_fd()
    }
}

impl Drop for ThreadProcess {
    fn drop(&mut self) {
        // Fails when the process has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Outcome {
    /// Fills in the parts of a result that only the threads know: the work, frames and tasks of each, the time from its
    /// wake-ups to its next instructions, and the work below each scheduler.
    pub fn complete(&self, result: &mut RunResult) {
        let ends: HashMap<ObservedVp, &ThreadEnd> = self.threads.iter().map(|end| (end.vp, end)).collect();
        result.queues.clone_from(&self.queues);
        let topology = result.topology.clone();
        let lineages = topology.lineages();
        for thread in &mut result.threads {
            let Some(end) = ends.get(&thread.vp) else { continue };
            (thread.work, thread.frames, thread.tasks) = (end.work, end.frames, end.tasks.clone());
            thread.wake_latency = end.wake_latency;
            let parent = topology.vps.get(thread.vp.index()).and_then(|vp| vp.parent);
            for &above in parent.map_or(&[][..], |parent| &lineages[parent.index()]) {
                if let Some(scheduler) = result.schedulers.get_mut(above.index()) {
                    scheduler.below.work = scheduler.below.work.saturating_add(end.work);
                }
            }
        }
    }
}

fn unexpected(found: &Option<Message>, expected: &str) -> io::Error {
    let found = found.as_ref().map_or("nothing".to_owned(), |message| format!("{message:?}"));
    io::Error::other(format!("found {found} from the process of the threads, expected {expected}"))
}

/// The messages of the process, a line each.
struct Messages {
    out: ChildStdout,
    /// What has been read of lines that are not parsed yet.
    read: Vec<u8>,
}

impl Messages {
    /// Waits for the next message; `None` if there is none at the instant `until`.
    fn next(&mut self, until: Nanos) -> io::Result<Option<Message>> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            let left = until.saturating_sub(clock::now());
            let left =
                Timespec { tv_sec: (left.0 / 1_000_000_000) as i64, tv_nsec: (left.0 % 1_000_000_000) as _ };
            match poll(&mut [PollFd::new(&self.out, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut bytes = [0; 4096];
            match self.out.read(&mut bytes)? {
                0 => return Err(io::Error::other("the process of the threads has ended too soon")),
                length => self.read.extend(&bytes[..length]),
            }
        }
    }
}
