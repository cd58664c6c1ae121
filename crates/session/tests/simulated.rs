//! A simulated session through the crate's interface: changes in between are made or refused, the console gets the
//! reasons, and the result has the threads and schedulers that were added.
//!
//! Relies on the simulator alone.

use hls_calculus::{Mode, Rules};
use hls_check::Derived;
use hls_client::interface::{Create, Destroy, Failure, Method, Move, Reserve};
use hls_client::{Client, ClientError, Texts};
use hls_monitor::event::ObservedVp;
use hls_plan::Plan;
use hls_session::{
    AgentPrograms, Console, Engine, Error, Files, LoadedPolicies, Options, Outcome, ScriptedChange, Subject,
    run,
};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fmt::Display;
use std::sync::{Arc, Mutex};

/// A reservation for one thread; two others share what is left.
const FILE: &str = r#"
fixed-priority "FP" {
    reservation "RES" priority=2 {
        thread "one" guarantee="RESBH 5ms 50ms"
    }
    round-robin "rest" priority=0 { thread "other"; thread "third" }
}
"#;

/// Keeps the lines that are written.
#[derive(Default)]
struct Said(Mutex<Vec<String>>);

impl Console for Said {
    fn say(&self, text: &dyn Display) {
        self.0.lock().unwrap().push(text.to_string());
    }
}

/// The VP of a thread of the plan.
fn vp(plan: &Plan, name: &str) -> ObservedVp {
    plan.threads().find(|thread| thread.name == name).expect("a thread of the file").vp
}

fn simulate(
    changes: impl Fn(&Plan) -> Vec<ScriptedChange<'static>>,
) -> (Result<Outcome, Error>, Vec<String>) {
    simulate_into(&Files::default(), changes)
}

/// Simulates, and writes these files, too.
fn simulate_into(
    files: &Files,
    changes: impl Fn(&Plan) -> Vec<ScriptedChange<'static>>,
) -> (Result<Outcome, Error>, Vec<String>) {
    let (hierarchy, _) = hls_hierarchy::read(FILE.as_bytes()).expect("a valid file");
    let plan = Plan::new(hierarchy.with_default(), &Workload::default()).expect("a plan");
    let rules = Rules { mode: Mode::Tight, global: false };
    let derived = Derived::new(&plan, rules);
    let policies = LoadedPolicies::load(&[], Vec::new()).expect("no policies");
    let script = Some(changes(&plan));
    let (mut parts, said) = (0, Arc::new(Said::default()));
    let progress = &mut |part, of| {
        assert!(part > parts && part <= of, "{part} of {of} after {parts}");
        parts = part;
    };
    let length = Nanos::from_secs(4);
    let engine = Engine::Simulator { length, script, agents: AgentPrograms::new(), progress };
    let options = Options { rules, seed: 1, paranoid: true, slack: Nanos::ZERO, files };
    let console: Arc<dyn Console> = said.clone();
    let outcome = run(Subject { plan, derived: &derived, policies: &policies }, engine, &options, &console);
    let lines = said.0.lock().unwrap().clone();
    (outcome, lines)
}

fn at(seconds: u64, call: impl Method + 'static) -> ScriptedChange<'static> {
    let ask = move |hls: &mut Client, _: &dyn Fn(ObservedVp) -> bool| match hls.call(&call) {
        Ok(_) => Ok(true),
        Err(ClientError::Failure(
            Failure::Refused { .. } | Failure::NotFound { .. } | Failure::InUse { .. },
        )) => Ok(false),
        Err(error) => Err(Error::System(error.to_string())),
    };
    ScriptedChange { at: Nanos::from_secs(seconds), ask: Box::new(ask) }
}

/// A scheduler is created, a thread is moved below it for a second, and it is destroyed; the first attempt fails.
fn come_and_go(plan: &Plan) -> Vec<ScriptedChange<'static>> {
    let other = vp(plan, "other");
    let create = Create {
        policy: "round-robin".into(),
        name: "A".into(),
        below: "FP".into(),
        parameters: Texts::from([("priority".into(), "1".into())]),
    };
    let to = |to: &str| Move { thread: other.0, to: to.into(), parameters: Texts::new() };
    let destroy = Destroy { name: "A".into() };
    vec![at(1, create), at(1, to("A")), at(2, destroy.clone()), at(2, to("rest")), at(2, destroy)]
}

/// The picture shows the scheduler, with the thread below it, at their place and while they existed.
#[test]
fn pictures_show_what_requests_have_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.svg");
    for (from, to, expected) in [
        (0, 1_000, vec!["FP", "RES", "one", "rest", "other", "third"]),
        (1_200, 1_800, vec!["FP", "RES", "one", "rest", "other", "third", "A", "other"]),
        (2_200, 4_000, vec!["FP", "RES", "one", "rest", "other", "third", "other"]),
    ] {
        let timeline = Some((path.clone(), Nanos::from_millis(from), Nanos::from_millis(to)));
        simulate_into(&Files { timeline, ..Files::default() }, come_and_go).0.unwrap();
        let picture = std::fs::read_to_string(&path).unwrap();
        let is_name =
            |line: &&str| line.contains(r#"class="thread""#) || line.contains(r#"class="scheduler""#);
        let names = picture.lines().filter(is_name).filter_map(|line| line.split(['>', '<']).nth(2));
        // After the CPU, between the root and the default scheduler, which every hierarchy with changes has.
        let names: Vec<&str> = names.skip(1).collect();
        assert_eq!(names, [&["all"], &expected[..], &["rest-2"]].concat(), "from {from} ms");
    }
}

/// A scheduler is created in the core and in the result, a thread lives below it for a second, and it is destroyed.
#[test]
fn a_scheduler_comes_and_goes() {
    let (outcome, said) = simulate(come_and_go);
    let Outcome { result, refused } = outcome.unwrap();
    // Only the first attempt to destroy it was refused: a thread was there.
    assert_eq!((refused, &said[..]), (1, &[][..]));
    // For a second `other` had all that the reservation left, and for three seconds half of it, as `third` had.
    let ran = |name: &str| result.threads.iter().find(|thread| result.topology.child_name(thread.vp) == name);
    let [other, third] = ["other", "third"].map(|name| ran(name).expect("a thread of the file").ran);
    assert_eq!((other, third), (Nanos::from_millis(2_250), Nanos::from_millis(1_350)));
    assert_eq!(result.guarantees.iter().filter(|guarantee| !guarantee.is_kept()).count(), 0);
}

/// A change that the calculus refuses has no effect, and is counted.
#[test]
fn what_cannot_be_granted_is_refused() {
    let (outcome, _) = simulate(|plan| {
        let other = vp(plan, "other");
        let guarantee = "RESBH 48ms 50ms".into();
        let too_much = Reserve { thread: other.0, guarantee, below: Some("RES".into()) };
        vec![at(1, too_much), at(3, Destroy { name: "no such scheduler".into() })]
    });
    let (alone, _) = simulate(|_| Vec::new());
    let (outcome, alone) = (outcome.unwrap(), alone.unwrap());
    assert_eq!((outcome.refused, alone.refused), (2, 0));
    assert_eq!(outcome.result.threads, alone.result.threads);
}
