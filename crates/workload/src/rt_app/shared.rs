//! What the tasks of a file share: mutexes, conditions, semaphores, barriers and timers.
//!
//! Relies on rt-app's rule that a resource comes to be where it is first used, and that resources of different kinds
//! have names of their own: the mutex `a` and the condition `a` are two things. Never counts a barrier's threads or
//! settles a timer's mode before the whole file is read, since every use has a say.

use super::fields::{object, refuse_repeated, setting, text, unknown};
use crate::diagnostics::Diagnostics;
use crate::json::{Member, Node, Value, quote};
use crate::program::{Resource, ResourceId, ResourceKind};
use std::collections::{HashMap, HashSet};

/// The kinds that names are looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Mutex,
    Condition,
    Semaphore,
    Barrier,
    Timer,
    /// Kinds that rt-app lets a file declare and never looks at.
    Idle,
}

/// The types that the `resources` object may give a resource.
const DECLARABLE: [(&str, Kind); 8] = [
    ("mutex", Kind::Mutex),
    ("wait", Kind::Condition),
    ("signal", Kind::Condition),
    ("broadcast", Kind::Condition),
    ("sync", Kind::Condition),
    ("timer", Kind::Timer),
    ("sleep", Kind::Idle),
    ("run", Kind::Idle),
];

/// The resources and timers met so far.
#[derive(Default)]
pub(super) struct Shared {
    /// What the `resources` object says, by name: the type and its kind.
    declared: HashMap<String, (&'static str, Kind)>,
    resources: Vec<Resource>,
    ids: HashMap<(Kind, String), ResourceId>,
    /// Conditions that a thread waits for.
    awaited: HashSet<ResourceId>,
    /// Conditions that a thread resumes, and where.
    resumed: Vec<(usize, ResourceId)>,
    /// One timer a task and name.
    timers: Vec<Timer>,
    timer_ids: HashMap<(String, String), u32>,
    /// What rt-app would make one timer.
    groups: Vec<TimerGroup>,
    group_ids: HashMap<String, usize>,
}

struct Timer {
    /// `task/timer`.
    name: String,
    /// Index into [`Shared::groups`].
    group: usize,
}

struct TimerGroup {
    /// Its name in the file.
    name: String,
    /// Where the last of its tasks uses it first.
    at: usize,
    /// Whether any use asks for absolute expiries: then rt-app makes all of them absolute.
    absolute: bool,
    /// How many threads rt-app would let share the timer.
    threads: u64,
}

impl Shared {
    /// Reads the `resources` object, which newer files leave out.
    pub fn declare(&mut self, node: &Node, diagnostics: &mut Diagnostics) {
        let Value::Object(members) = &node.value else {
            let sentence = "`resources` has no effect: rt-app reads it only when it is an object.".to_owned();
            return diagnostics.unsupported(node.at, sentence);
        };
        refuse_repeated(members, |_| true, diagnostics);
        for Member { key, node, .. } in members {
            if let Some(declared) = declared_type(key, node, diagnostics) {
                self.declared.insert(key.to_string(), declared);
            }
        }
    }

    /// Refuses a use of a declared resource as another kind. rt-app would make a second resource of the same name,
    /// which the author of a declaration does not mean.
    pub fn check_declared(&self, kind: Kind, name: &str, at: usize, diagnostics: &mut Diagnostics) {
        if let Some((type_name, declared)) = self.declared.get(name)
            && *declared != kind
        {
            let found = format!("{}, which `resources` declares as `{type_name}`", quote(name));
            let wanted = match kind {
                Kind::Mutex => "a mutex",
                Kind::Condition => "a condition",
                Kind::Semaphore => "a semaphore",
                Kind::Barrier => "a barrier",
                Kind::Timer | Kind::Idle => "a timer",
            };
            diagnostics.error(at, found, wanted);
        }
    }

    fn resource(&mut self, kind: Kind, name: &str, make: ResourceKind) -> ResourceId {
        *self.ids.entry((kind, name.to_owned())).or_insert_with(|| {
            self.resources.push(Resource { name: name.to_owned(), kind: make });
            (self.resources.len() - 1) as ResourceId
        })
    }

    /// The mutex of this name.
    pub fn mutex(&mut self, name: &str) -> ResourceId {
        self.resource(Kind::Mutex, name, ResourceKind::Mutex)
    }

    /// The condition of this name.
    pub fn condition(&mut self, name: &str) -> ResourceId {
        self.resource(Kind::Condition, name, ResourceKind::Condition)
    }

    /// The semaphore of this name.
    pub fn semaphore(&mut self, name: &str) -> ResourceId {
        self.resource(Kind::Semaphore, name, ResourceKind::Semaphore)
    }

    /// The condition of this name, which a thread waits for.
    pub fn awaited_condition(&mut self, name: &str) -> ResourceId {
        let condition = self.condition(name);
        self.awaited.insert(condition);
        condition
    }

    /// The condition of this name, which an event at byte `at` resumes.
    pub fn resumed_condition(&mut self, name: &str, at: usize) -> ResourceId {
        let condition = self.condition(name);
        self.resumed.push((at, condition));
        condition
    }

    /// The barrier of this name, which takes `threads` more: rt-app counts the threads of every event that names it.
    pub fn barrier(&mut self, name: &str, threads: u32) -> ResourceId {
        let barrier = self.resource(Kind::Barrier, name, ResourceKind::Barrier(0));
        if let ResourceKind::Barrier(size) = &mut self.resources[barrier as usize].kind {
            *size = size.saturating_add(threads);
        }
        barrier
    }

    /// The timer that a task of `threads` instances calls `name`.
    pub fn timer(&mut self, task: &str, threads: u32, name: &str, at: usize, absolute: bool) -> u32 {
        // A timer with a name that begins with `unique` belongs to one thread, any other to all threads that name it.
        let unique = name.starts_with("unique");
        let id = match self.timer_ids.get(&(task.to_owned(), name.to_owned())) {
            Some(id) => *id,
            None => {
                let group = if unique { None } else { self.group_ids.get(name).copied() };
                let group = group.unwrap_or_else(|| self.new_group(name, unique));
                self.groups[group].at = at;
                self.groups[group].threads += if unique { 1 } else { u64::from(threads) };
                let id = self.timers.len() as u32;
                self.timers.push(Timer { name: format!("{task}/{name}"), group });
                self.timer_ids.insert((task.to_owned(), name.to_owned()), id);
                id
            }
        };
        self.groups[self.timers[id as usize].group].absolute |= absolute;
        id
    }

    fn new_group(&mut self, name: &str, unique: bool) -> usize {
        let group = self.groups.len();
        self.groups.push(TimerGroup { name: name.to_owned(), at: 0, absolute: false, threads: 0 });
        if !unique {
            self.group_ids.insert(name.to_owned(), group);
        }
        group
    }

    /// Whether a timer keeps its grid of expiries. Right only when the whole file is read.
    pub fn is_absolute(&self, timer: u32) -> bool {
        self.groups[self.timers[timer as usize].group].absolute
    }

    /// The resources and the names of the timers, once every use was met.
    pub fn finish(self, diagnostics: &mut Diagnostics) -> (Vec<Resource>, Vec<String>) {
        for (at, condition) in &self.resumed {
            if !self.awaited.contains(condition) {
                let found =
                    format!("{}, which nobody waits for", quote(&self.resources[*condition as usize].name));
                diagnostics.error(*at, found, "the name of a `suspend` of some task");
            }
        }
        for TimerGroup { name, at, threads, .. } in &self.groups {
            if *threads > 1 {
                let sentence = format!(
                    "the timer {} is shared by {threads} threads, which is not simulated: each of them gets its own.",
                    quote(name)
                );
                diagnostics.unsupported(*at, sentence);
            }
        }
        (self.resources, self.timers.into_iter().map(|timer| timer.name).collect())
    }
}

/// The type that an entry of `resources` gives; a mutex when it gives none.
fn declared_type(name: &str, node: &Node, diagnostics: &mut Diagnostics) -> Option<(&'static str, Kind)> {
    let members = object(node, "an object with the `type` of the resource", diagnostics)?;
    refuse_repeated(members, |_| true, diagnostics);
    for member in members.iter().filter(|member| member.key != "type") {
        diagnostics.unsupported(member.at, unknown(&format!("resource {}: ", quote(name)), &member.key));
    }
    let Some(node) = setting(members, "type") else {
        return Some(DECLARABLE[0]);
    };
    let expected = format!("one of {} for `type`", DECLARABLE.map(|(name, _)| name).join(", "));
    let given = text(node, &expected, diagnostics)?;
    let declared = DECLARABLE.iter().find(|(name, _)| *name == given);
    if declared.is_none() {
        diagnostics.error(node.at, node.describe(), expected);
    }
    declared.copied()
}
