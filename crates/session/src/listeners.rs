//! All receivers of the records of a run: the observer, which makes its result, and the writers of its files.
//!
//! The files are created before the run, so that a bad name costs no time. They take their final names only after the
//! run, when all of them are written: a run that fails leaves none. Relies on records coming in order of time.

use crate::atomic_file::AtomicFile;
use crate::console::Error;
use crate::run::Files;
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record};
use hls_monitor::observe::{Observer, Promise};
use hls_monitor::result::{Decided, RunResult, Topology};
use hls_report::perfetto::TraceWriter;
use hls_report::timehist::TimeHist;
use hls_report::timeline::Timeline;
use hls_units::Nanos;
use std::io;
use std::path::PathBuf;

/// All receivers of the records of a run.
pub struct Listeners {
    /// Makes the result, and checks what happens against the promises.
    pub observer: Observer,
    timeline: Option<(Timeline, AtomicFile)>,
    trace: Option<TraceWriter<AtomicFile>>,
    timehist: Option<TimeHist<AtomicFile>>,
    /// The first write that failed.
    error: Option<io::Error>,
}

impl Listeners {
    /// Creates the files that are asked for, beside the observer of a run.
    pub fn new(files: &Files, topology: &Topology, observer: Observer) -> io::Result<Listeners> {
        let create = |path: &Option<PathBuf>| path.as_deref().map(AtomicFile::create).transpose();
        let Files { trace, timeline, timehist } = files;
        let timeline = timeline.as_ref().map(|(path, from, to)| {
            AtomicFile::create(path).map(|file| (Timeline::new(topology, *from, *to), file))
        });
        Ok(Listeners {
            observer,
            timeline: timeline.transpose()?,
            trace: create(trace)?.map(|file| TraceWriter::new(file, topology)).transpose()?,
            timehist: create(timehist)?.map(|file| TimeHist::new(file, topology)).transpose()?,
            error: None,
        })
    }

    /// Passes the next record on to all of them.
    pub fn record(&mut self, record: &Record) {
        self.observer.observe(record);
        if let Some((timeline, _)) = &mut self.timeline {
            timeline.record(record);
        }
        let traced = self.trace.as_mut().map_or(Ok(()), |trace| trace.record(record));
        let listed = self.timehist.as_mut().map_or(Ok(()), |timehist| timehist.record(record));
        self.note(traced.and(listed));
    }

    /// Whether what a VP does from moment to moment is judged or shown.
    pub fn needs_records_of(&self, vp: ObservedVp) -> bool {
        self.draws() || self.observer.needs_records_of(vp)
    }

    /// Whether a file shows what each VP does from moment to moment.
    pub fn draws(&self) -> bool {
        self.timeline.is_some() || self.trace.is_some() || self.timehist.is_some()
    }

    /// A VP of the observer has come by a request: it is shown from now on.
    pub fn join(&mut self, vp: ObservedVp) {
        let (topology, at) = (self.observer.topology(), self.observer.last_record_at());
        if let Some((timeline, _)) = &mut self.timeline {
            timeline.join(topology, vp, at);
        }
        if let Some(timehist) = &mut self.timehist {
            timehist.join(topology, vp);
        }
        let traced = self.trace.as_mut().map_or(Ok(()), |trace| trace.place(topology, vp, at));
        self.note(traced);
    }

    /// A VP of a thread is below another scheduler from now on.
    pub fn move_below(&mut self, vp: ObservedVp, scheduler: ObservedScheduler, now: Nanos) {
        self.observer.move_below(vp, scheduler, now);
        let topology = self.observer.topology();
        if let Some((timeline, _)) = &mut self.timeline {
            timeline.move_below(topology, vp, now);
        }
        let traced = self.trace.as_mut().map_or(Ok(()), |trace| trace.place(topology, vp, now));
        self.note(traced);
    }

    /// Checks what a VP gets against this promise, from `after` later on; an empty promise ends the checks.
    pub fn promise(&mut self, promise: Promise, now: Nanos, after: Nanos) {
        let (vp, text) = (promise.vp, if promise.is_empty() { String::new() } else { promise.text.clone() });
        match promise.is_empty() {
            true => self.observer.withdraw(vp, now),
            false => self.observer.promise_after(promise, now, after),
        }
        if let Some((timeline, _)) = &mut self.timeline {
            timeline.promise(vp, &text);
        }
        let traced = self.trace.as_mut().map_or(Ok(()), |trace| trace.promise(vp, &text, now));
        self.note(traced);
    }

    /// A scheduler was destroyed. `is_of_file`: it is one of the file and keeps its number.
    pub fn remove_scheduler(&mut self, scheduler: ObservedScheduler, is_of_file: bool) {
        if !is_of_file {
            self.observer.destroy_scheduler(scheduler);
        }
        if let Some((timeline, _)) = &mut self.timeline {
            timeline.remove_scheduler(scheduler);
        }
        if let Some(trace) = &mut self.trace {
            trace.remove_scheduler(scheduler);
        }
    }

    /// Keeps the error of the first write that failed.
    fn note(&mut self, written: io::Result<()>) {
        if self.error.is_none() {
            self.error = written.err();
        }
    }

    /// Passes on how the choices of user-level schedulers were made up to `now`.
    pub fn note_choices(&mut self, now: Nanos, decided: impl FnOnce() -> Vec<(ObservedScheduler, Decided)>) {
        let Some(trace) = &mut self.trace else { return };
        let written =
            decided().iter().try_for_each(|(scheduler, decided)| trace.choices(now, *scheduler, decided));
        self.note(written);
    }

    /// Whether all writes have gone well so far.
    pub fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Makes the result, has the engine complete it from its final accounts, writes the rest of the files, and gives
    /// all of them their final names.
    pub fn finish(
        mut self,
        length: Nanos,
        complete: impl FnOnce(&mut RunResult) -> Result<(), Error>,
    ) -> Result<RunResult, Error> {
        self.check()?;
        let mut result = self.observer.finish(length);
        complete(&mut result)?;
        let mut files = Vec::new();
        if let Some((timeline, mut file)) = self.timeline {
            timeline.write(&mut file, length)?;
            files.push(file);
        }
        if let Some(trace) = self.trace {
            files.push(trace.finish(length)?);
        }
        if let Some(timehist) = self.timehist {
            files.push(timehist.finish(length)?);
        }
        files.iter_mut().try_for_each(io::Write::flush)?;
        files.into_iter().try_for_each(AtomicFile::commit)?;
        Ok(result)
    }
}
