//! Hierarchy files. Relies on the checks of the simulator in a run.

use hls_calculus::Mode;
use hls_check::Derived;
use hls_hierarchy::model::Hierarchy;
use hls_hierarchy::{Cpus, Diagnostic, MAX_DIAGNOSTICS, Policies, Severity, Source, loads, read_with};
use hls_plan::Plan;
use hls_sim::{Failure, Options, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;

/// How many events a run has at most: long runs are not the purpose here.
const EVENTS: usize = 300;
/// The longest time that is simulated.
const LENGTH: Nanos = Nanos(50_000_000);
/// A larger hierarchy is not run: each event checks all of it.
const MAX_THREADS_THAT_RUN: usize = 64;

pub(crate) fn run(bytes: &[u8]) {
    let source = Source::new("file", bytes);
    for load in loads(bytes) {
        assert!(bytes.get(load.span).is_some(), "the place of a statement is in the file");
    }
    read_and_go_on(&Policies::default(), bytes, &source);
}

/// Reads a hierarchy file with these policies, and does with the hierarchy what `hls check` and `hls run` do.
pub(crate) fn read_and_go_on(policies: &Policies, bytes: &[u8], source: &Source) {
    match read_with(policies, Cpus::UnlessStated(2), bytes) {
        Ok((hierarchy, warnings)) => {
            hold(source, &warnings);
            assert!(warnings.iter().all(|warning| warning.severity != Severity::Error));
            go_on(hierarchy, source);
        }
        Err(errors) => {
            hold(source, &errors);
            assert!(errors.iter().any(|error| error.severity == Severity::Error), "a refusal has an error");
        }
    }
}

/// What must be true of all diagnostics of a file.
fn hold(source: &Source, diagnostics: &[Diagnostic]) {
    assert!(diagnostics.len() <= MAX_DIAGNOSTICS + 1);
    for diagnostic in diagnostics {
        let line = source.line(diagnostic);
        assert!(line.starts_with("file:"), "{line}");
    }
}

fn go_on(hierarchy: Hierarchy, source: &Source) {
    let Ok(plan) = Plan::new(hierarchy, &Workload::default()) else { return };
    analysed(&plan, source);
    run_for_a_moment(plan);
}

/// As `hls check` does: the labels, the problems, and their corrections.
fn analysed(plan: &Plan, source: &Source) {
    let derived = Derived::new(plan, Mode::Tight);
    assert_eq!(derived.analysis.labels.len(), derived.input.graph.edges.len());
    let (asked, refused) = derived.asked_and_refused();
    assert!(refused <= asked);
    derived.tasks(plan);
    derived.promises(plan);
    for problem in [derived.problems(plan), derived.task_problems(plan)].concat() {
        assert!(source.line(&problem).starts_with("file:"));
    }
}

/// As `hls run` does, with the invariants of the core checked after each event. A run may end because of its workload,
/// or because the core has no room for its hierarchy.
pub(crate) fn run_for_a_moment(plan: Plan) {
    if plan.threads().count() > MAX_THREADS_THAT_RUN {
        return;
    }
    let options = Options { paranoid: true, ..Options::default() };
    let outcome = Simulation::new(plan, options).and_then(|mut simulation| {
        for _ in 0..EVENTS {
            if !simulation.step(LENGTH, &mut |_| ())? {
                break;
            }
        }
        Ok(())
    });
    match outcome {
        Ok(()) | Err(Failure::NoProgress { .. } | Failure::Refused { .. }) => {}
        Err(failure) => panic!("{failure}"),
    }
}
