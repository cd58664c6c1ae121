//! A load as its starter has it: starts the process, hears what it tells, ends it.

use crate::area::Area;
use crate::clock::{self, ring};
use crate::orders::{Message, Orders, ThreadEnd};
use hls_monitor::event::{Record, VpId};
use hls_monitor::result::RunResult;
use hls_plan::Plan;
use hls_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering::Acquire;

/// A thread's number in the kernel.
pub type Tid = u32;

/// Threads that end need a CPU for that, and have so long for it after the run.
const GRACE: Nanos = Nanos::from_secs(20);
/// How long it may take until all threads are there.
const PATIENCE: Nanos = Nanos::from_secs(120);

/// The process of the threads. Dropping it kills all of them.
///
/// That process also ends when the thread that started it does, even if other threads of this process live on.
pub struct Load {
    child: Child,
    messages: Messages,
    area: Area,
    /// By number, the VP of each thread.
    vps: Vec<VpId>,
    /// Those that have told their tids.
    threads: Vec<(VpId, Tid)>,
    go_at: Nanos,
    /// The time of the last event that was told.
    told_at: Nanos,
    /// What was told by the way: that all is over.
    ends: Option<Vec<ThreadEnd>>,
}

/// What became of the threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Each thread that came, in the order of the plan.
    pub threads: Vec<ThreadEnd>,
    /// How long the run lasted.
    pub length: Nanos,
    /// Events that nobody took in time, and that are in no count.
    pub lost: u64,
}

impl Load {
    /// Starts `command`, which must call [`crate::serve`], and waits until all threads that come with the run are
    /// there. They wait for [`Load::go`].
    ///
    /// # Errors
    /// When the process cannot be started, or says that a thread cannot be: the sentence names it.
    pub fn start(mut command: Command, plan: &Plan, seed: u64) -> io::Result<Load> {
        let orders = Orders::new(plan, seed);
        let (area, mut file) = Area::create(orders.threads())?;
        // The process finds its orders where its standard input stands: behind the area.
        let behind = file.seek(SeekFrom::End(0))?;
        serde_json::to_writer(&file, &orders)?;
        file.seek(SeekFrom::Start(behind))?;
        // In a group of its own: what is typed at a terminal is for us.
        command.stdin(Stdio::from(file)).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or(ErrorKind::BrokenPipe)?;
        let mut load = Load {
            child,
            messages: Messages { out, read: Vec::new() },
            area,
            vps: plan.threads().map(|thread| thread.vp).collect(),
            threads: Vec::new(),
            go_at: Nanos::MAX,
            told_at: Nanos::ZERO,
            ends: None,
        };
        match load.messages.next(clock::now().saturating_add(PATIENCE))? {
            Some(Message::Ready) => {}
            Some(Message::Failed(reason)) => return Err(io::Error::other(reason)),
            other => return Err(unexpected(&other, "that the threads are there")),
        }
        let tid = |number: u32| load.area.slot(number).tid().load(Acquire);
        let tids = (0..).zip(&load.vps).map(|(number, &vp)| (vp, tid(number)));
        load.threads = tids.filter(|&(_, tid)| tid != 0).collect();
        Ok(load)
    }

    /// The process, whose first thread creates those that come later.
    pub fn pid(&self) -> Tid {
        self.child.id()
    }

    /// The threads that have come so far, each with its tid.
    pub fn threads(&self) -> &[(VpId, Tid)] {
        &self.threads
    }

    /// The run begins now, and lasts so long. Says when that is, by CLOCK_MONOTONIC.
    pub fn go(&mut self, length: Nanos) -> Nanos {
        self.go_at = clock::now();
        self.area.go(self.go_at, length);
        ring(self.area.bell());
        self.go_at
    }

    /// How long the run has lasted.
    pub fn elapsed(&self) -> Nanos {
        clock::now().saturating_sub(self.go_at)
    }

    /// The threads that have come since this was asked last, waiting so long at most until there is one. Each waits
    /// until it is admitted.
    ///
    /// # Errors
    /// When the process has failed, or a thread cannot be created.
    pub fn arrivals(&mut self, patience: Nanos) -> io::Result<Vec<(VpId, Tid)>> {
        let mut come = Vec::new();
        let mut until = clock::now().saturating_add(patience);
        while !self.is_over() {
            match self.messages.next(until)? {
                None => break,
                Some(Message::Arrived(number)) => come.extend(self.arrived(number)),
                Some(Message::Done(ends)) => self.ends = Some(ends),
                Some(Message::Failed(reason)) => return Err(io::Error::other(reason)),
                other => return Err(unexpected(&other, "that a thread has come")),
            }
            until = Nanos::ZERO;
        }
        Ok(come)
    }

    /// Whether all threads were found to have ended, when arrivals were asked for.
    pub fn is_over(&self) -> bool {
        self.ends.is_some()
    }

    fn arrived(&mut self, number: u32) -> Option<(VpId, Tid)> {
        let vp = *self.vps.get(number as usize)?;
        let thread = (vp, self.area.slot(number).tid().load(Acquire));
        self.threads.push(thread);
        Some(thread)
    }

    /// A thread that came later begins. Its program does so at this instant.
    pub fn admit(&self, vp: VpId) {
        let Some(number) = self.vps.iter().position(|&other| other == vp) else { return };
        let slot = self.area.slot(number as u32);
        slot.admit(clock::now());
        ring(slot.bell());
    }

    /// Hands on what the threads told since this was called last: `Arrive`, `Leave`, `JobRelease`, `JobDone` and
    /// `Miss`, in order of time, which is from the begin of the run. What a thread tells late, because it lost the CPU
    /// while it did so, comes with the time of what was told before it. A ring holds 2,048 events or, for more than
    /// 1,365 threads, fewer: call this some times a second.
    pub fn events(&mut self, sink: &mut dyn FnMut(&Record)) {
        let mut records = Vec::new();
        for (number, &vp) in (0..).zip(&self.vps) {
            let slot = self.area.slot(number);
            let events = std::iter::from_fn(|| slot.read());
            records.extend(events.map(|(at, what)| Record { at, vp, cpu: 0, what }));
        }
        records.sort_by_key(|record| record.at);
        for mut record in records {
            record.at = record.at.max(self.told_at);
            self.told_at = record.at;
            sink(&record);
        }
    }

    /// The run ends now, if it has not.
    pub fn end(&self) {
        let now = self.elapsed();
        if now >= self.area.end_at() {
            return;
        }
        self.area.end(now);
        (0..self.vps.len() as u32).for_each(|number| ring(self.area.slot(number).bell()));
        ring(self.area.bell());
    }

    /// Ends the run, waits for the end of all threads, and hands on the rest of what they told. A thread that gets no
    /// CPU cannot end: what keeps it from having one must be gone.
    ///
    /// # Errors
    /// When threads have not ended after 20 s, or the process has failed.
    pub fn finish(mut self, sink: &mut dyn FnMut(&Record)) -> io::Result<Outcome> {
        self.end();
        let patience = clock::now().saturating_add(GRACE);
        while !self.is_over() {
            match self.messages.next(patience)? {
                Some(Message::Done(ends)) => self.ends = Some(ends),
                Some(Message::Arrived(_)) => {}
                Some(Message::Failed(reason)) => return Err(io::Error::other(reason)),
                other => return Err(unexpected(&other, "that all threads have ended")),
            }
        }
        self.events(sink);
        let threads = self.ends.take().unwrap_or_default();
        let lost = (0..self.vps.len() as u32).map(|number| self.area.slot(number).lost()).sum();
        Ok(Outcome { threads, length: self.area.end_at(), lost })
    }
}

impl AsFd for Load {
    /// Can be read when [`Load::arrivals`] has news, or the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.messages.out.as_fd()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // It may have ended already, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Outcome {
    /// Fills in what only the threads know of a result: the work, frames and tasks of each, how long it took them to
    /// their first instruction when they woke up, and the work below each scheduler.
    pub fn complete(&self, result: &mut RunResult) {
        let ends: HashMap<VpId, &ThreadEnd> = self.threads.iter().map(|end| (end.vp, end)).collect();
        let topology = result.topology.clone();
        let lineages = topology.lineages();
        for thread in &mut result.threads {
            let Some(end) = ends.get(&thread.vp) else { continue };
            (thread.work, thread.frames, thread.tasks) = (end.work, end.frames, end.tasks.clone());
            thread.wake_latency = end.wake_latency;
            let parent = topology.vps.get(thread.vp as usize).and_then(|vp| vp.parent);
            for &above in parent.map_or(&[][..], |parent| &lineages[parent as usize]) {
                if let Some(scheduler) = result.schedulers.get_mut(above as usize) {
                    scheduler.below.work = scheduler.below.work.saturating_add(end.work);
                }
            }
        }
    }
}

fn unexpected(found: &Option<Message>, expected: &str) -> io::Error {
    let found = found.as_ref().map_or("nothing".to_owned(), |message| format!("{message:?}"));
    io::Error::other(format!("the process of the threads told {found}, expected {expected}"))
}

/// What the process tells.
struct Messages {
    out: ChildStdout,
    /// What has been read, up to a part of a line.
    read: Vec<u8>,
}

impl Messages {
    /// The next one; `None`: there was none at that instant.
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
