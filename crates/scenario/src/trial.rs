//! Trials of policies: plays the scripts of seeds, and makes a script that fails as small as it can be.

use crate::{Event, EventInWords, Failure, PolicyDisabled, Script, Stage};
use hls_core::{Call, CoreVp, Library, PolicyInfo, limits, policies};
use hls_units::Nanos;
use std::fmt;
use std::sync::Arc;

/// The number of steps of a script.
const STEPS: u32 = 200;

/// How many smaller scripts are played at most to find the smallest that fails.
const MAX_TRIES: u32 = 600;

/// The policies that scripts are drawn for and played with.
#[derive(Clone)]
pub struct Trial {
    library: Option<Arc<Library>>,
    /// The policy that half of the schedulers have; `None`: all policies are drawn alike.
    tried: Option<PolicyInfo>,
    /// See [`Stage::forgives`].
    forgives: bool,
}

/// A script that fails, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The seed of the script.
    pub seed: u64,
    /// The number of events of the whole script up to the failure.
    pub after: usize,
    /// The smallest part of the script found that leads to a failure of the same kind.
    pub script: Script,
    /// The failure of that part.
    pub failure: Failure,
    /// That failure in words, with the numbers that schedulers and threads have in the script.
    pub in_words: String,
    /// The events of that part in words.
    pub events: Vec<String>,
}

impl Trial {
    /// A trial of all the policies that are built in.
    pub fn of_built_in() -> Trial {
        Trial { library: None, tried: None, forgives: false }
    }

    /// A trial of the policy that has this number in a build of the core.
    pub fn of_loaded(library: Arc<Library>, number: u8) -> Trial {
        let tried = library.policies().iter().find(|policy| policy.id == number).cloned();
        Trial { library: Some(library), tried, forgives: false }
    }

    /// The same trial, where it is no failure that the core takes a policy out: scripts go on with what that leaves
    /// behind.
    pub fn forgiving(self) -> Trial {
        Trial { forgives: true, ..self }
    }

    /// Plays a script; the error is the first failure, with the index of the event that led to it. Timers and slices
    /// that are due at the end of the script are served, too.
    pub fn play(&self, script: &Script) -> (Stage, Result<(), (usize, Failure)>) {
        let mut stage = Stage::new(script.cpus, self.library.clone());
        stage.forgives = self.forgives;
        let events = script.events.iter().chain([&Event::Pass(Nanos(0))]).enumerate();
        for (at, event) in events {
            if let Err(failure) = stage.perform(event) {
                return (stage, Err((at, failure)));
            }
        }
        (stage, Ok(()))
    }

    /// The script of a seed. Beside a policy that is tried there are only the policies that every engine has: then the
    /// verifier need not look at the others.
    pub fn script(&self, seed: u64) -> Script {
        let is_beside = |policy: &&PolicyInfo| self.tried.is_none() || policy.id < limits::FIRST_OPTIONAL;
        let beside: Vec<PolicyInfo> = policies().iter().filter(is_beside).cloned().collect();
        Script::draw(seed, STEPS, &beside, self.tried.as_ref())
    }

    /// Plays the script of a seed, and returns the calls of the core that were made.
    ///
    /// # Errors
    /// The failure, with the smallest script that leads to it.
    pub fn run(&self, seed: u64) -> Result<Vec<Call>, Box<Finding>> {
        let script = self.script(seed);
        match self.play(&script) {
            (mut stage, Ok(())) => Ok(stage.machine.core.take_tape()),
            (_, Err((after, failure))) => Err(Box::new(self.finding(seed, script, after, failure))),
        }
    }

    fn finding(&self, seed: u64, script: Script, after: usize, failure: Failure) -> Finding {
        let (script, failure) = self.shrink(script, after, failure);
        let (stage, _) = self.play(&script);
        let in_words = self.in_words(&stage, &failure);
        let events =
            script.events.iter().map(|event| EventInWords(event, self.policies()).to_string()).collect();
        Finding { seed, after: after + 1, script, failure, in_words, events }
    }

    /// The policies of the core that is tried.
    pub fn policies(&self) -> &[PolicyInfo] {
        self.library.as_ref().map_or(policies(), |library| library.policies())
    }

    /// The build of the core that is tried; `None`: the one that is built in.
    pub fn library(&self) -> Option<&Arc<Library>> {
        self.library.as_ref()
    }

    /// Makes a script that fails smaller as long as a failure of the same kind stays: first its events, then its CPUs
    /// and the VPs of its schedulers.
    fn shrink(&self, mut script: Script, after: usize, failure: Failure) -> (Script, Failure) {
        script.events.truncate(after + 1);
        let mut smallest = Smallest { trial: self, tries: 0, script, failure };
        let mut step = smallest.script.events.len() / 2;
        while step > 0 {
            let mut from = 0;
            while from < smallest.script.events.len() {
                let mut fewer = smallest.script.clone();
                fewer.events.drain(from..(from + step).min(fewer.events.len()));
                if !smallest.replace_by(fewer) {
                    from += step;
                }
            }
            step /= 2;
        }
        while smallest.script.cpus > 1
            && smallest.replace_by(Script { cpus: smallest.script.cpus - 1, ..smallest.script.clone() })
        {
        }
        for at in 0..smallest.script.events.len() {
            loop {
                let mut fewer = smallest.script.clone();
                match fewer.events.get_mut(at) {
                    Some(Event::Scheduler { below, .. }) if below.len() > 1 => {
                        below.truncate(below.len() - 1)
                    }
                    _ => break,
                }
                if !smallest.replace_by(fewer) {
                    break;
                }
            }
        }
        (smallest.script, smallest.failure)
    }

    /// The failure in words, with the numbers of the script.
    fn in_words(&self, stage: &Stage, failure: &Failure) -> String {
        let scheduler =
            |s| stage.scheduler(s).map_or("a scheduler".into(), |number| format!("scheduler {number}"));
        let vp =
            |vp| stage.thread(vp).map_or("a scheduler below".into(), |number| format!("thread {number}"));
        match failure {
            Failure::PolicyDisabled(PolicyDisabled { at, scheduler: s, violation, hook, about }) => {
                let of = match *hook {
                    "grant" => format!(" of CPU {about}"),
                    _ if *about != 0 => format!(" of {}", vp(CoreVp(*about))),
                    _ => String::new(),
                };
                format!("at {at}, {}, hook {hook}{of}: {violation}", scheduler(*s))
            }
            Failure::Broken(fault) => format!("{}: {fault}", scheduler(fault.scheduler)),
            Failure::TwoCpus(which) => format!("{} runs on two CPUs", vp(*which)),
            Failure::Endless => {
                "timers, slices and decisions follow each other without end in one instant".into()
            }
            Failure::Circular(_) => failure.to_string(),
            Failure::Stuck(which) => {
                format!(
                    "{} is ready, all others sleep, and no timer is set: it would wait for ever",
                    vp(*which)
                )
            }
        }
    }
}

/// The smallest script found so far, with the failure to which it leads.
struct Smallest<'t> {
    trial: &'t Trial,
    tries: u32,
    script: Script,
    failure: Failure,
}

impl Smallest<'_> {
    /// Takes a smaller script in place of the smallest so far, if it leads to the same failure; returns whether it
    /// does.
    fn replace_by(&mut self, mut smaller: Script) -> bool {
        self.tries += 1;
        if self.tries > MAX_TRIES {
            return false;
        }
        let Err((after, found)) = self.trial.play(&smaller).1 else { return false };
        if !found.is_like(&self.failure) {
            return false;
        }
        smaller.events.truncate(after + 1);
        (self.script, self.failure) = (smaller, found);
        true
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.in_words)?;
        let cpus = self.script.cpus;
        writeln!(
            f,
            "the smallest script that leads to it, on {cpus} CPU{}:",
            if cpus == 1 { "" } else { "s" }
        )?;
        self.events.iter().try_for_each(|event| writeln!(f, "    {event}"))
    }
}
