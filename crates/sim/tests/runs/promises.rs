//! Reservations that fit on a CPU get what their guarantees promise, whatever the threads below them do.

use super::support::{carry_out, ms, paranoid, plan};
use hls_hierarchy::model::{Child, ModelEdge};
use hls_monitor::observe::{Pace, Promise};
use hls_monitor::result::Verdict;
use hls_monitor::windows::Window;
use hls_sim::Plan;
use hls_units::Nanos;
use hls_workload::program::Workload;
use oorandom::Rand32;

const SHAPES: [&str; 5] = [
    "cpu-bound",
    "bursty run=\"100us..3ms\" sleep=\"100us..9ms\"",
    "periodic run=\"100us..2ms\" every=\"7ms\" jitter=\"0us..3ms\"",
    "frame-renderer frame=\"2ms\" gap=\"20ms\"",
    "bursty run=\"5ms..50ms\" sleep=\"1us..1ms\"",
];

/// Up to six reservations of at most a whole CPU together, above others that want all they can get.
fn hierarchy(random: &mut Rand32) -> String {
    let mut left_per_mille = 1000;
    let mut lines = String::new();
    for n in 0..6 {
        let share = random.rand_range(20..400);
        if share > left_per_mille {
            break;
        }
        left_per_mille -= share;
        let period = random.rand_range(2..40);
        let guarantee = format!("guarantee=\"RESBH {}us {period}ms\"", share * period);
        let shape = SHAPES[random.rand_range(0..5) as usize];
        lines += &match random.rand_range(0..3) {
            0 => {
                format!("round-robin \"G{n}\" {guarantee} {{ thread \"g{n}\" instances=2 {{ {shape} }} }}\n")
            }
            _ => format!("thread \"t{n}\" {guarantee} {{ {shape} }}\n"),
        };
    }
    format!(
        "machine switch-cost=\"20us\" decision-cost=\"2us\"\n\
         fixed-priority \"F\" {{\nreservation \"R\" priority=2 {{\n{lines}}}\nthread \"hog\" priority=1\n}}"
    )
}

/// The guarantees that the file asks for, as promises for the observer to test.
fn promises(plan: &Plan) -> Vec<Promise> {
    let vp_of = |edge: ModelEdge| match plan.hierarchy.edge(edge).child {
        Child::Scheduler(_) => {
            plan.edges.iter().find(|planned| planned.edge == edge).map(|planned| planned.vps[0])
        }
        Child::Thread(_) => plan.groups.iter().find(|group| group.edge == edge).map(|group| group.first_vp),
    };
    let promise = |edge: ModelEdge| {
        let guarantee = plan.hierarchy.edge(edge).requested.as_ref()?;
        let window = |length| Window {
            length,
            promised: guarantee.sbf_floor_nanos(length),
            allowed: Some(guarantee.ubf_ceil_nanos(length)),
            accounted: Nanos::ZERO,
        };
        let windows = guarantee.windows().into_iter().map(window).collect();
        Some(Promise {
            vp: vp_of(edge)?,
            text: guarantee.rounded_for_people(),
            windows,
            requests: None,
            pace: Pace::default(),
        })
    };
    (0..plan.hierarchy.edges.len()).map(ModelEdge).filter_map(promise).collect()
}

#[test]
fn reservations_that_fit_are_kept() {
    let mut kept = 0;
    for seed in 0..40 {
        let text = hierarchy(&mut Rand32::new(seed));
        let plan = plan(&text, &Workload::default()).expect("an empty workload always fits");
        let promises = promises(&plan);
        let run = carry_out(plan, promises, ms(400), paranoid(seed)).expect("the run comes to its end");
        for guarantee in &run.result.guarantees {
            let name = run.result.topology.child_name(guarantee.vp);
            assert!(guarantee.is_kept(), "seed {seed}: `{name}` {guarantee:?}\n{text}");
            kept += guarantee.windows.iter().filter(|window| window.verdict() == Verdict::Kept).count();
        }
    }
    assert!(kept > 100, "{kept} windows are hardly a test");
}

/// The refused case: one of two reservations of 60 % each is broken, and the monitor sees it.
#[test]
fn reservations_that_do_not_fit_are_broken() {
    let text = r#"
        reservation "R" {
            thread "a" guarantee="RESBH 6ms 10ms"
            thread "b" guarantee="RESBH 6ms 10ms"
        }"#;
    let plan = plan(text, &Workload::default()).expect("an empty workload always fits");
    let promises = promises(&plan);
    let run = carry_out(plan, promises, ms(400), paranoid(1)).expect("the run comes to its end");
    assert!(run.result.guarantees.iter().any(|guarantee| !guarantee.is_kept()));
}
