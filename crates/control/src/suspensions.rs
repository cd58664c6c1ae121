//! Threads that a scheduler above them, at any distance, has suspended: no scheduler in between can give them a CPU
//! (G. Parmer and R. West, ACM TECS 13(1s), 2013, Table I: COS_STATE_SCHED_EXCL, "only parents may wake a thread that
//! they suspended").
//!
//! One scheduler at a time may have suspended a thread. The thread stays suspended until a user that may change what is
//! below that scheduler resumes it, or until the scheduler is destroyed. Relies on the engine to keep a thread
//! suspended when it moves.

use crate::asked::{Asked, Serve};
use crate::changes::change;
use crate::engine::{EngineError, HierarchyChange, RunningEngine};
use crate::error::Error;
use crate::manager::{Manager, Peer, Suspension};
use crate::varlink::Fault;
use hls_client::interface::{Change, Kind, Resume, ResumeReply, Suspend, SuspendReply};
use hls_core::About;
use hls_engine::ThreadKey;

impl Serve for Suspend {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<SuspendReply, Fault> {
        let by = asked.with(|it| it.suspend(asked.who, self.thread, self.by.as_deref()))?;
        Ok(SuspendReply { by })
    }
}

impl Serve for Resume {
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<ResumeReply, Fault> {
        Ok(ResumeReply { by: asked.with(|it| it.resume(asked.who, self.thread))? })
    }
}

impl<E: RunningEngine> Manager<E> {
    /// Suspends a thread in the name of a scheduler above it, at any distance; without a name, of its own scheduler.
    /// Returns the name of that scheduler.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn suspend(&mut self, who: Peer, tid: u32, by: Option<&str>) -> Result<String, Error> {
        self.sweep()?;
        let thread = self.living(tid)?;
        let at = self.scheduler_of(&thread)?;
        let holder = by.map_or(Ok(at), |name| self.tree.find(name).map(|(number, _)| number))?;
        let by = self.tree.scheduler(holder).map_or_else(String::new, |scheduler| scheduler.name.clone());
        if !self.tree.is_at_or_below(at, holder) {
            let found = format!("found thread {tid} below another scheduler than `{by}`");
            return Err(Error::BadValue(format!("{found}, expected one that is below it, at any distance")));
        }
        self.may_change_below(who, holder)?;
        if let Some(Suspension { by: other, .. }) = self.suspensions.get(&tid).filter(|held| held.by != by) {
            let found = format!("found thread {tid} suspended by `{other}`");
            return Err(Error::InUse(format!("{found}, expected one that is not suspended")));
        }
        self.engine.change(suspend(thread.key, true))?;
        let is_new =
            self.suspensions.insert(tid, Suspension { thread: thread.key, by: by.clone() }).is_none();
        if is_new {
            self.note_suspension(Kind::Suspended, tid, &by);
        }
        Ok(by)
    }

    /// Resumes a thread that was suspended. Returns the name of the scheduler that had suspended it.
    ///
    /// # Errors
    /// The error has the reason; nothing has changed.
    pub fn resume(&mut self, who: Peer, tid: u32) -> Result<String, Error> {
        self.sweep()?;
        let Some(Suspension { thread, by }) = self.suspensions.get(&tid).cloned() else {
            return Err(Error::NotFound(format!("found no suspended thread {tid}, expected one")));
        };
        let (holder, _) = self.tree.find(&by)?;
        self.may_change_below(who, holder)?;
        self.engine.change(suspend(thread, false))?;
        self.suspensions.remove(&tid);
        self.note_suspension(Kind::Resumed, tid, &by);
        Ok(by)
    }

    /// Resumes threads after the scheduler that suspended them is gone, and forgets threads that have ended.
    pub(crate) fn end_suspensions(&mut self) -> Result<(), Error> {
        let keys: Vec<ThreadKey> = self.suspensions.values().map(|suspension| suspension.thread).collect();
        let gone = self.gone(&keys)?;
        for (tid, Suspension { thread, by }) in self.suspensions.clone() {
            let lives = !gone.contains(&tid);
            if lives && self.tree.find(&by).is_ok() {
                continue;
            }
            if lives {
                match self.engine.change(suspend(thread, false)) {
                    Ok(_) | Err(EngineError::Gone) => {}
                    Err(EngineError::Ended) => return Err(Error::Ended),
                    // This is tried again before the next request.
                    Err(_) => continue,
                }
            }
            self.suspensions.remove(&tid);
            self.note_suspension(Kind::Resumed, tid, &by);
        }
        Ok(())
    }

    fn note_suspension(&self, kind: Kind, tid: u32, by: &str) {
        self.changes.add(|| [Change { scheduler: Some(by.to_owned()), thread: Some(tid), ..change(kind) }]);
    }
}

/// Suspends a thread, or resumes it.
fn suspend(thread: ThreadKey, on: bool) -> HierarchyChange {
    HierarchyChange::CallAbout { thread, about: About::suspend(on) }
}
