//! A policy on trial: the scripts of seeds, and what they find, made small.

use crate::{Event, Failure, Script, Stage, TakenOut, Told};
use hls_core::{Call, Library, PolicyInfo, policies};
use hls_units::Nanos;
use std::fmt;
use std::sync::Arc;

/// Steps of a script.
const STEPS: u32 = 200;

/// As often is tried whether less does, too.
const MOST_TRIES: u32 = 600;

/// What scripts are about.
#[derive(Clone)]
pub struct Trial {
    library: Option<Arc<Library>>,
    /// The policy that is tried, with its number in the library.
    tried: Option<PolicyInfo>,
    forgives: bool,
}

/// Something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The seed of the script.
    pub seed: u64,
    /// How many events of it there were up to the failure.
    pub after: usize,
    /// As little of the script as leads to failure of that kind.
    pub script: Script,
    /// The failure, then.
    pub failure: Failure,
    /// The same, by the numbers that schedulers and threads have in the script.
    pub told: String,
    /// The script, event by event.
    pub events: Vec<String>,
}

impl Trial {
    /// Of the policies that are built in.
    pub fn of_built_in() -> Trial {
        Trial { library: None, tried: None, forgives: false }
    }

    /// Of the policy with this number in a build.
    pub fn of_loaded(library: Arc<Library>, number: u8) -> Trial {
        let tried = library.policies().iter().find(|policy| policy.id == number).cloned();
        Trial { library: Some(library), tried, forgives: false }
    }

    /// The same, where policies may be taken out: what they leave behind is tried.
    pub fn forgiving(self) -> Trial {
        Trial { forgives: true, ..self }
    }

    /// Carries a script out; the first failure, and the number of the event that led to it. A last round serves what
    /// is due when the script has ended.
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

    /// What happens under a seed.
    pub fn script(&self, seed: u64) -> Script {
        Script::draw(seed, STEPS, policies(), self.tried.as_ref())
    }

    /// Carries out what happens under a seed; the calls of the core that it took.
    ///
    /// # Errors
    /// What went wrong, made small.
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
        let told = self.tell(&stage, &failure);
        let events = script.events.iter().map(|event| Told(event, self.policies()).to_string()).collect();
        Finding { seed, after: after + 1, script, failure, told, events }
    }

    /// The policies that there are.
    pub fn policies(&self) -> &[PolicyInfo] {
        self.library.as_ref().map_or(policies(), |library| library.policies())
    }

    /// The build of the core that is tried; `None`: the one that is built in.
    pub fn library(&self) -> Option<&Arc<Library>> {
        self.library.as_ref()
    }

    /// As few events as lead to failure of the same kind, then as few CPUs and VPs.
    fn shrink(&self, mut script: Script, after: usize, failure: Failure) -> (Script, Failure) {
        script.events.truncate(after + 1);
        let mut least = Least { trial: self, tries: 0, script, failure };
        let mut step = least.script.events.len() / 2;
        while step > 0 {
            let mut from = 0;
            while from < least.script.events.len() {
                let mut fewer = least.script.clone();
                fewer.events.drain(from..(from + step).min(fewer.events.len()));
                if !least.becomes(fewer) {
                    from += step;
                }
            }
            step /= 2;
        }
        while least.script.cpus > 1
            && least.becomes(Script { cpus: least.script.cpus - 1, ..least.script.clone() })
        {}
        for at in 0..least.script.events.len() {
            loop {
                let mut fewer = least.script.clone();
                match fewer.events.get_mut(at) {
                    Some(Event::Scheduler { below, .. }) if below.len() > 1 => {
                        below.truncate(below.len() - 1)
                    }
                    _ => break,
                }
                if !least.becomes(fewer) {
                    break;
                }
            }
        }
        (least.script, least.failure)
    }

    /// The failure in the words of who knows the script.
    fn tell(&self, stage: &Stage, failure: &Failure) -> String {
        let scheduler =
            |s| stage.scheduler(s).map_or("a scheduler".into(), |number| format!("scheduler {number}"));
        let vp =
            |vp| stage.thread(vp).map_or("a scheduler below".into(), |number| format!("thread {number}"));
        match failure {
            Failure::TakenOut(TakenOut { at, scheduler: s, offence, hook, about }) => {
                let of = match *hook {
                    "grant" => format!(" of CPU {about}"),
                    _ if *about != 0 => format!(" of {}", vp(*about)),
                    _ => String::new(),
                };
                format!("at {at}, {}, hook {hook}{of}: {offence}", scheduler(*s))
            }
            Failure::Broken(fault) => format!("{}: {fault}", scheduler(fault.scheduler)),
            Failure::TwoCpus(which) => format!("{} runs on two CPUs", vp(*which)),
            Failure::Endless => {
                "timers, slices and decisions follow each other without end in one instant".into()
            }
            Failure::Stuck(which) => {
                format!(
                    "{} is ready, all others sleep, and no timer is set: it would wait for ever",
                    vp(*which)
                )
            }
        }
    }
}

/// The least script so far, with the failure to which it leads.
struct Least<'t> {
    trial: &'t Trial,
    tries: u32,
    script: Script,
    failure: Failure,
}

impl Least<'_> {
    /// Takes one that is less, if it leads to the same failure; whether it does.
    fn becomes(&mut self, mut less: Script) -> bool {
        self.tries += 1;
        if self.tries > MOST_TRIES {
            return false;
        }
        let Err((after, found)) = self.trial.play(&less).1 else { return false };
        if !found.is_like(&self.failure) {
            return false;
        }
        less.events.truncate(after + 1);
        (self.script, self.failure) = (less, found);
        true
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.told)?;
        let cpus = self.script.cpus;
        writeln!(f, "the least that leads to it, on {cpus} CPU{}:", if cpus == 1 { "" } else { "s" })?;
        self.events.iter().try_for_each(|event| writeln!(f, "    {event}"))
    }
}
