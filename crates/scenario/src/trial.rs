//! A policy on trial: the scripts of seeds, and what they find, made small.

use crate::{Script, Stage, TakenOut, Told, Trouble};
use hls_core::{Call, Library, PolicyInfo, policies};
use std::fmt;
use std::sync::Arc;

/// Steps of a script.
const STEPS: u32 = 200;

/// As often is tried whether less does, too.
const MOST_TRIES: u32 = 1_000;

/// What scripts are about.
#[derive(Clone)]
pub struct Trial {
    library: Option<Arc<Library>>,
    /// The policy that is tried, with its number in the library.
    tried: Option<PolicyInfo>,
}

/// Something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The seed of the script.
    pub seed: u64,
    /// How many events of it there were up to the trouble.
    pub after: usize,
    /// As little of the script as leads to trouble of that kind.
    pub script: Script,
    /// The trouble, then.
    pub trouble: Trouble,
    /// The same, by the numbers that schedulers and threads have in the script.
    pub told: String,
    /// The script, event by event.
    pub events: Vec<String>,
}

impl Trial {
    /// Of the policies that are built in.
    pub fn of_built_in() -> Trial {
        Trial { library: None, tried: None }
    }

    /// Of the policies that were loaded with a build, of which there is one.
    pub fn of_loaded(library: Arc<Library>) -> Trial {
        let tried = library.loaded().next().cloned();
        Trial { library: Some(library), tried }
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
        match Stage::play(&script, self.library.clone()) {
            (mut stage, Ok(())) => Ok(stage.machine.core.take_tape()),
            (_, Err((after, trouble))) => Err(Box::new(self.finding(seed, script, after, trouble))),
        }
    }

    fn finding(&self, seed: u64, script: Script, after: usize, trouble: Trouble) -> Finding {
        let (script, trouble) = self.shrink(script, after, trouble);
        let (stage, _) = Stage::play(&script, self.library.clone());
        let told = self.tell(&stage, &trouble);
        let events = script.events.iter().map(|event| Told(event, self.policies()).to_string()).collect();
        Finding { seed, after: after + 1, script, trouble, told, events }
    }

    /// The policies that there are.
    pub fn policies(&self) -> &[PolicyInfo] {
        self.library.as_ref().map_or(policies(), |library| library.policies())
    }

    /// The build of the core that is tried; `None`: the one that is built in.
    pub fn library(&self) -> Option<&Arc<Library>> {
        self.library.as_ref()
    }

    /// As few events as lead to trouble of the same kind.
    fn shrink(&self, mut script: Script, after: usize, mut trouble: Trouble) -> (Script, Trouble) {
        script.events.truncate(after + 1);
        let mut tries = 0;
        let mut step = script.events.len() / 2;
        while step > 0 {
            let mut from = 0;
            while from < script.events.len() && tries < MOST_TRIES {
                let mut fewer = script.clone();
                fewer.events.drain(from..(from + step).min(script.events.len()));
                tries += 1;
                match Stage::play(&fewer, self.library.clone()).1 {
                    Err((after, found)) if found.is_like(&trouble) => {
                        fewer.events.truncate(after + 1);
                        (script, trouble) = (fewer, found);
                    }
                    _ => from += step,
                }
            }
            step /= 2;
        }
        (script, trouble)
    }

    /// The trouble in the words of who knows the script.
    fn tell(&self, stage: &Stage, trouble: &Trouble) -> String {
        let scheduler = |s| stage.scheduler(s).map_or("a scheduler".into(), |number| format!("scheduler {number}"));
        let vp = |vp| stage.thread(vp).map_or("a scheduler below".into(), |number| format!("thread {number}"));
        match trouble {
            Trouble::TakenOut(TakenOut { at, scheduler: s, offence, hook, about }) => {
                let of = match *hook {
                    "grant" => format!(" of CPU {about}"),
                    _ if *about != 0 => format!(" of {}", vp(*about)),
                    _ => String::new(),
                };
                format!("at {at}, {}, hook {hook}{of}: {offence}", scheduler(*s))
            }
            Trouble::Broken(fault) => format!("{}: {fault}", scheduler(fault.scheduler)),
            Trouble::TwoCpus(which) => format!("{} runs on two CPUs", vp(*which)),
            Trouble::Endless => "timers, slices and decisions follow each other without end in one instant".into(),
            Trouble::Stuck(which) => {
                format!("{} is ready, all others sleep, and no timer is set: it would wait for ever", vp(*which))
            }
        }
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
