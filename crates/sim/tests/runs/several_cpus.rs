//! Tests what the calculus promises on several CPUs in runs: in every window in which a VP wanted a CPU all the time,
//! not only in windows of a few lengths.

use super::support::{Run, Stint, carry_out, paranoid, plan};
use hls_calculus::{Guarantee, Mode, Rational};
use hls_check::Derived;
use hls_monitor::event::{ObservedVp, What};
use hls_units::Nanos;
use hls_workload::program::Workload;
use oorandom::Rand32;

/// How many hierarchies of each kind are drawn; `HLS_SEEDS=4000` makes a campaign of it.
fn seeds() -> u64 {
    std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

const LENGTH: Nanos = Nanos::from_millis(300);

const SHAPES: [&str; 4] = [
    "cpu-bound",
    "bursty run=\"100us..3ms\" sleep=\"100us..9ms\"",
    "periodic run=\"100us..2ms\" every=\"7ms\" jitter=\"0us..3ms\"",
    "bursty run=\"5ms..50ms\" sleep=\"1us..1ms\"",
];

fn shape(random: &mut Rand32) -> &'static str {
    SHAPES[random.rand_range(0..4) as usize]
}

/// The spans in which the VP wanted a CPU, each from its request to its release.
fn wants(run: &Run, vp: ObservedVp) -> Vec<(Nanos, Nanos)> {
    let mut wants = Vec::new();
    let mut since = None;
    for record in run.records.iter().filter(|record| record.vp == vp) {
        match record.what {
            What::Request => since = since.or(Some(record.at)),
            What::Release | What::Leave => wants.extend(since.take().map(|since| (since, record.at))),
            _ => {}
        }
    }
    wants.extend(since.map(|since| (since, LENGTH)));
    wants
}

/// A curve of straight pieces, given by its corners: CPU time by window, or by instant.
struct Curve(Vec<(Nanos, Nanos)>);

impl Curve {
    /// The CPU time that a VP got from the start of the run, by instant.
    fn received(stints: &[Stint]) -> Curve {
        let mut total = Nanos::ZERO;
        let mut corners = vec![(Nanos::ZERO, total)];
        for &(_, from, to) in stints {
            corners.push((from, total));
            total += to - from;
            corners.push((to, total));
        }
        corners.push((LENGTH, total));
        Curve(corners)
    }

    /// The least CPU time that the guarantee promises, by length of the window, rounded down.
    fn least(guarantee: &Guarantee) -> Curve {
        let whole = |value: &Rational| Nanos(value.floor().to_integer().try_into().unwrap());
        let corners = guarantee.sbf_corners(&Rational::from_integer(LENGTH.0.into()));
        Curve(corners.iter().map(|(window, time)| (whole(window), whole(time))).collect())
    }

    fn at(&self, at: Nanos) -> Nanos {
        let next = self.0.partition_point(|&(corner, _)| corner <= at);
        let (from, low) = self.0[next - 1];
        let Some(&(to, high)) = self.0.get(next) else { return low };
        let rise = u128::from((high - low).0) * u128::from((at - from).0) / u128::from((to - from).0);
        low + Nanos(rise as u64)
    }
}

/// A window in which the VP wanted the CPU all the time and got less than the guarantee promises: its start, its end,
/// and the CPU time in it.
///
/// Both curves, of what is received and of what is promised, are straight between their corners. So in the worst window
/// two of these are true: it begins where the VP lost the CPU, it ends where the VP got the CPU, it is as long as a
/// corner of the promise.
fn shortfall(run: &Run, vp: ObservedVp, guarantee: &Guarantee) -> Option<(Nanos, Nanos, Nanos)> {
    let stints = run.all_stints(vp);
    let (received, least) = (Curve::received(&stints), Curve::least(guarantee));
    let lengths: Vec<Nanos> = least.0.iter().map(|&(length, _)| length).collect();
    let short = |(from, to): (Nanos, Nanos)| {
        let got = received.at(to) - received.at(from);
        (got < least.at(to - from)).then_some((from, to, got))
    };
    wants(run, vp).into_iter().find_map(|(since, until)| {
        let inside = |at: &Nanos| (since..=until).contains(at);
        let lost: Vec<Nanos> = stints.iter().map(|stint| stint.2).filter(inside).chain([since]).collect();
        let gained: Vec<Nanos> = stints.iter().map(|stint| stint.1).filter(inside).chain([until]).collect();
        let between = lost.iter().flat_map(|&from| gained.iter().map(move |&to| (from, to)));
        let after = lost.iter().flat_map(|&from| lengths.iter().map(move |&length| (from, from + length)));
        let before =
            gained.iter().flat_map(|&to| lengths.iter().map(move |&length| (to.saturating_sub(length), to)));
        let windows = between.chain(after).chain(before);
        windows.filter(|&(from, to)| since <= from && from < to && to <= until).find_map(short)
    })
}

/// Runs a hierarchy, and panics if a window of a VP breaks the promise on its label. Returns the number of labels that
/// promise anything.
fn every_label_holds(text: &str, seed: u64) -> usize {
    let plan = plan(text, &Workload::default()).expect("an empty workload always fits");
    let derived = Derived::new(&plan, Mode::Tight);
    let promises: Vec<(ObservedVp, Guarantee)> =
        derived.watchable(&plan).map(|(vp, guarantee)| (vp, guarantee.clone())).collect();
    let run = carry_out(plan, Vec::new(), LENGTH, paranoid(seed)).expect("the run comes to its end");
    let mut held = 0;
    for (vp, guarantee) in promises.iter().filter(|(_, guarantee)| *guarantee != Guarantee::Null) {
        let name = run.result.topology.child_name(*vp);
        if let Some((from, to, got)) = shortfall(&run, *vp, guarantee) {
            panic!("seed {seed}: `{name}`, {guarantee}, got {got} from {from} to {to}\n{text}");
        }
        held += 1;
    }
    held
}

/// The lines of reservations of up to `per_mille` of a CPU together, the first `joins` of them for the join.
fn reservations(random: &mut Rand32, name: &str, mut per_mille: u32, joins: u32) -> String {
    let mut lines = String::new();
    for n in 0..joins + 5 {
        let share = random.rand_range(20..500).min(per_mille);
        let period = random.rand_range(3..25);
        if share * period < 1 {
            break;
        }
        per_mille -= share;
        let claim = format!("budget=\"{}us\" period=\"{period}ms\"", share * period);
        lines += &match n < joins {
            true => format!("join \"J\" {claim}\n"),
            false => format!("thread \"{name}{n}\" {claim} {{ {} }}\n", shape(random)),
        };
    }
    lines
}

/// Draws a thread below a join of two reservation schedulers, each with a CPU of its own, and hogs of a lower priority.
fn joined(random: &mut Rand32) -> String {
    let cpus = random.rand_range(2..5);
    let (first, second) = (reservations(random, "a", 1000, 1), reservations(random, "b", 1000, 1));
    format!(
        "machine cpus={cpus}\nfixed-priority \"F\" {{\n\
         reservation \"A\" priority=3 width=1 {{\n{first}}}\n\
         reservation \"B\" priority=2 width=1 {{\n{second}}}\n\
         thread \"hog\" priority=1 instances={cpus}\n}}\nthread \"joined\" parent=\"J\" {{ {} }}",
        shape(random)
    )
}

/// Draws a scheduler with as many CPUs as threads; a group of several VPs among reservations on several CPUs; and a
/// join of a reservation among these and of another reservation of a scheduler with one CPU.
fn spread(random: &mut Rand32) -> String {
    let cpus = random.rand_range(3..6);
    let group = random.rand_range(1..cpus - 1);
    let reserved = cpus - group - 1;
    let policy = ["round-robin", "proportional-share", "time-sharing"][random.rand_range(0..3) as usize];
    let threads: String = (0..group).map(|n| format!("thread \"g{n}\" {{ {} }}\n", shape(random))).collect();
    let width = random.rand_range(1..reserved + 1);
    let budget = random.rand_range(1..40) * 100;
    let wide = format!("round-robin \"W\" width={width} budget=\"{budget}us\" period=\"10ms\"");
    let below: String = (0..4).map(|n| format!("thread \"w{n}\" {{ {} }}\n", shape(random))).collect();
    let (many, one) = (reservations(random, "r", 550 * reserved, 1), reservations(random, "q", 1000, 1));
    format!(
        "machine cpus={cpus}\nfixed-priority \"F\" {{\n\
         {policy} \"G\" priority=4 width={group} {{\n{threads}}}\n\
         reservation \"R\" priority=3 width={reserved} {{\n{wide} {{\n{below}}}\n{many}}}\n\
         reservation \"Q\" priority=2 width=1 {{\n{one}}}\n\
         thread \"hog\" priority=1 instances={cpus}\n}}\nthread \"joined\" parent=\"J\" {{ {} }}",
        shape(random)
    )
}

#[test]
fn what_is_promised_on_several_cpus_holds() {
    let held: usize = (0..seeds()).map(|seed| every_label_holds(&spread(&mut Rand32::new(seed)), seed)).sum();
    assert!(held > 200, "{held} labels are hardly a test");
}

#[test]
fn the_strongest_guarantee_of_a_join_holds() {
    let held: usize = (0..seeds()).map(|seed| every_label_holds(&joined(&mut Rand32::new(seed)), seed)).sum();
    assert!(held > 100, "{held} labels are hardly a test");
}

/// The join has the CPU of B from 4.9 to 5.1 ms, and A grants the join the other CPU at 5 ms. At 5.1 ms A must still
/// have what it owes the join until 10 ms: 5 ms less the 0.1 ms that the join ran on the CPU of B since 5 ms.
#[test]
fn a_grant_that_was_declined_is_not_lost() {
    let text = r#"
        machine cpus=2
        fixed-priority "F" {
            reservation "A" priority=3 width=1 {
                thread "a" guarantee="RESBH 5ms 10ms"
                join "J" guarantee="RESBH 5ms 10ms"
            }
            reservation "B" priority=2 width=1 {
                thread "b" guarantee="RESBH 4.9ms 9ms"
                join "J" guarantee="RESBH 200us 9.5ms"
            }
        }
        thread "joined" parent="J" guarantee="RESBS 5ms 10ms""#;
    assert!(every_label_holds(text, 1) >= 4);
}
