//! Events: the keys of a phase that a thread carries out one after the other.
//!
//! Relies on rt-app's rule that a key is an event when it begins with the event's name, so that `run`, `run0` and
//! `run_long` are all `run`. Never takes an event out of its order; one that is not simulated is named and left out.

use super::deadline::JobGrid;
use super::fields::{integer, micros, object, refuse_repeated, setting, text, unknown};
use super::reader::TaskReader;
use super::shared::Kind;
use crate::json::{Member, Node, Value};
use crate::program::{ResourceId, Span, Step, WhenLate};
use hls_units::Nanos;

/// The kinds of events.
#[derive(Clone, Copy)]
pub(super) enum Event {
    Run,
    Runtime,
    Sleep,
    Timer,
    Lock,
    Unlock,
    Wait,
    Signal,
    Broadcast,
    Sync,
    SemPost,
    SemWait,
    Barrier,
    Suspend,
    Resume,
    Yield,
    /// With the reason.
    NotSimulated(&'static str),
}

/// Names with what they stand for; the first that a key begins with counts, so `runtime` comes before `run`.
const EVENTS: [(&str, Event); 20] = [
    ("runtime", Event::Runtime),
    ("run", Event::Run),
    ("sleep", Event::Sleep),
    ("timer", Event::Timer),
    ("lock", Event::Lock),
    ("unlock", Event::Unlock),
    ("wait", Event::Wait),
    ("signal", Event::Signal),
    ("broad", Event::Broadcast),
    ("sync", Event::Sync),
    ("sem_post", Event::SemPost),
    ("sem_wait", Event::SemWait),
    ("barrier", Event::Barrier),
    ("suspend", Event::Suspend),
    ("resume", Event::Resume),
    ("yield", Event::Yield),
    // The tutorial's name for `nodes_membind`, which rt-app itself takes for a `mem` event.
    ("membind_nodes", Event::NotSimulated("memory nodes are not part of the model")),
    ("mem", Event::NotSimulated("memory traffic is not part of the model")),
    ("iorun", Event::NotSimulated("devices are not part of the model")),
    ("fork", Event::NotSimulated("no thread is created in the course of a run")),
];

/// The event that a key stands for, if it is one.
pub(super) fn event_of(key: &str) -> Option<Event> {
    EVENTS.iter().find(|(name, _)| key.starts_with(name)).map(|(_, event)| *event)
}

impl TaskReader<'_> {
    /// Appends the steps of an event; none when something is wrong with it.
    pub fn event(&mut self, event: Event, member: &Member) {
        let steps = self.steps_of(event, member).unwrap_or_default();
        self.steps.extend(steps);
    }

    fn steps_of(&mut self, event: Event, Member { at, key, node }: &Member) -> Option<Vec<Step>> {
        Some(match event {
            Event::Run => vec![self.run(node, key)?],
            Event::Runtime => vec![Step::RunUntilElapsed(micros(node, key, self.diagnostics)?)],
            Event::Sleep => vec![Step::Sleep(Span::exactly(micros(node, key, self.diagnostics)?))],
            Event::Timer => self.timer(node)?,
            Event::Lock => vec![Step::Lock(self.mutex(node)?)],
            Event::Unlock => vec![Step::Unlock(self.mutex(node)?)],
            Event::Wait => vec![self.wait(node)?.1],
            Event::Signal => vec![Step::Signal(self.condition(node)?)],
            Event::Broadcast => vec![Step::Broadcast(self.condition(node)?)],
            Event::Sync => {
                let (condition, wait) = self.wait(node)?;
                vec![Step::Signal(condition), wait]
            }
            Event::SemPost => vec![Step::Post(self.semaphore(node)?)],
            Event::SemWait => vec![Step::AwaitPost(self.semaphore(node)?)],
            Event::Barrier => {
                let name = self.name_of(node, Kind::Barrier, "the name of a barrier")?;
                vec![Step::Barrier(self.shared.barrier(name, self.threads))]
            }
            Event::Suspend => self.suspend(node)?,
            Event::Resume => self.resume(node)?,
            Event::Yield => vec![self.end_of_turn(*at)],
            Event::NotSimulated(reason) => {
                self.not_simulated(*at, key, reason);
                Vec::new()
            }
        })
    }

    /// A length of CPU time; -1: for ever.
    fn run(&mut self, node: &Node, key: &str) -> Option<Step> {
        let what = format!("a whole number of microseconds for `{key}`, or -1 for ever,");
        let micros = integer(node, -1, &what, self.diagnostics)?;
        let length = u64::try_from(micros).ok().map(Nanos::from_micros);
        Some(length.map_or(Step::RunForever, |length| Step::Run(Span::exactly(length))))
    }

    /// The name in a value, of a resource of this kind.
    fn name_of<'n>(&mut self, node: &'n Node<'n>, kind: Kind, expected: &str) -> Option<&'n str> {
        let name = text(node, expected, self.diagnostics)?;
        self.shared.check_declared(kind, name, node.at, self.diagnostics);
        Some(name)
    }

    fn mutex(&mut self, node: &Node) -> Option<ResourceId> {
        let name = self.name_of(node, Kind::Mutex, "the name of a mutex")?;
        Some(self.shared.mutex(name))
    }

    fn condition(&mut self, node: &Node) -> Option<ResourceId> {
        let name = self.name_of(node, Kind::Condition, "the name of a condition")?;
        Some(self.shared.condition(name))
    }

    fn semaphore(&mut self, node: &Node) -> Option<ResourceId> {
        let name = self.name_of(node, Kind::Semaphore, "the name of a semaphore")?;
        Some(self.shared.semaphore(name))
    }

    /// `yield` lets others go first; for a thread of SCHED_DEADLINE it ends the job, and the next one comes with the
    /// next period.
    fn end_of_turn(&mut self, at: usize) -> Step {
        let Some(JobGrid { period, deadline }) = self.jobs.grid() else { return Step::Yield };
        let timer = self.shared.timer(self.name, self.threads, "unique, of yield", at, true);
        let jitter = Span::exactly(Nanos::ZERO);
        Step::AwaitTimer { timer, period, when_late: WhenLate::Skip, deadline: Some(deadline), jitter }
    }

    /// The condition and the step of `{"ref": condition, "mutex": mutex}`.
    fn wait(&mut self, node: &Node) -> Option<(ResourceId, Step)> {
        const EXPECTED: &str = "an object with `ref`, a condition, and `mutex`, the mutex that is held";
        let members = self.object_of(node, &["ref", "mutex"], EXPECTED)?;
        let (Some(condition), Some(mutex)) = (setting(members, "ref"), setting(members, "mutex")) else {
            self.diagnostics.error(node.at, "an object that lacks one of the two", EXPECTED);
            return None;
        };
        let mutex = self.mutex(mutex);
        let name = self.name_of(condition, Kind::Condition, "the name of a condition")?;
        let condition = self.shared.awaited_condition(name);
        Some((condition, Step::Wait { condition, mutex: mutex? }))
    }

    fn timer(&mut self, node: &Node) -> Option<Vec<Step>> {
        const EXPECTED: &str = "an object with `ref`, the name of the timer, and `period` in microseconds";
        let members = self.object_of(node, &["ref", "period", "mode"], EXPECTED)?;
        let name = match setting(members, "ref") {
            Some(node) => self.name_of(node, Kind::Timer, "the name of a timer")?,
            None => "unknown",
        };
        let absolute = match setting(members, "mode") {
            Some(node) => self.is_absolute(node)?,
            None => false,
        };
        let Some(period) = setting(members, "period") else {
            self.diagnostics.error(node.at, "a timer without `period`", EXPECTED);
            return None;
        };
        let timer = self.shared.timer(self.name, self.threads, name, node.at, absolute);
        let period = micros(period, "period", self.diagnostics)?;
        if period.0 == 0 {
            // It has always expired already: rt-app does not block on it.
            return Some(Vec::new());
        }
        // The mode belongs to the timer and is known when all of its uses are.
        let deadline = Some(period);
        let jitter = Span::exactly(Nanos::ZERO);
        Some(vec![Step::AwaitTimer { timer, period, when_late: WhenLate::Restart, deadline, jitter }])
    }

    fn is_absolute(&mut self, node: &Node) -> Option<bool> {
        const EXPECTED: &str = "\"relative\" or \"absolute\" for `mode`";
        match text(node, EXPECTED, self.diagnostics)? {
            "relative" => Some(false),
            "absolute" => Some(true),
            _ => {
                self.diagnostics.error(node.at, node.describe(), EXPECTED);
                None
            }
        }
    }

    /// `suspend` waits, under a mutex of its own, for the condition of its name. Without a name it has the task's.
    fn suspend(&mut self, node: &Node) -> Option<Vec<Step>> {
        let name = match &node.value {
            Value::Missing => self.name,
            _ => text(node, "the name that a `resume` uses", self.diagnostics)?,
        };
        let name = if name.is_empty() { self.name } else { name };
        let (condition, mutex) = (self.shared.awaited_condition(name), self.shared.mutex(name));
        Some(vec![Step::Lock(mutex), Step::Wait { condition, mutex }, Step::Unlock(mutex)])
    }

    /// `resume` wakes all threads that wait for the condition of its name now, and none that wait later.
    fn resume(&mut self, node: &Node) -> Option<Vec<Step>> {
        let name = text(node, "the name that a `suspend` uses", self.diagnostics)?;
        let (condition, mutex) = (self.shared.resumed_condition(name, node.at), self.shared.mutex(name));
        Some(vec![Step::Lock(mutex), Step::Broadcast(condition), Step::Unlock(mutex)])
    }

    /// The members of an event's object; `known` are the known keys.
    fn object_of<'n>(
        &mut self,
        node: &'n Node<'n>,
        known: &[&str],
        expected: &str,
    ) -> Option<&'n [Member<'n>]> {
        let members = object(node, expected, self.diagnostics)?;
        refuse_repeated(members, |_| true, self.diagnostics);
        for Member { at, key, .. } in members.iter().filter(|member| !known.contains(&member.key.as_ref())) {
            let sentence = unknown(&self.context(), key);
            self.diagnostics.unsupported(*at, sentence);
        }
        Some(members)
    }
}
