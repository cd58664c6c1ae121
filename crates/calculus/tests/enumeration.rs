//! Supplies and rewrites against enumeration: every schedule of [`SLOTS`] unit slots that keeps a guarantee; for a
//! group of VPs, every schedule of a period.
//!
//! A schedule is a bit string. What `keeps` says is written from the definitions of the paper (a grid with a hidden
//! phase, every window), not from the formulas under test.

use hls_calculus::{Continuity, Guarantee, Kind, Rational, Supply, best_basic_amount, implies, rewrite};
use num_bigint::BigInt;
use std::collections::BTreeSet;

const SLOTS: u32 = 14;

fn int(n: u32) -> Rational {
    Rational::from_integer(BigInt::from(n))
}

fn ratio(n: u32, d: u32) -> Rational {
    Rational::new(BigInt::from(n), BigInt::from(d))
}

/// A guarantee on integers, with the definition that the enumeration uses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    /// `x` within the first `deadline` slots of every period of a hidden grid, and no more in the period if hard.
    Grid { x: u32, y: u32, deadline: u32, hard: bool },
    /// `x` in every window of `y` slots, and no more if hard.
    Everywhere { x: u32, y: u32, hard: bool },
    /// At least `n/d * t - delta` in every window.
    Bounded { n: u32, d: u32, delta: u32 },
}

impl Model {
    fn guarantee(self) -> Guarantee {
        match self {
            Model::Grid { x, y, deadline, hard } if deadline == y => {
                Guarantee::Reservation { continuity: Continuity::Basic, hard, amount: int(x), period: int(y) }
            }
            Model::Grid { x, y, deadline, .. } => {
                Guarantee::Edp { period: int(y), amount: int(x), deadline: int(deadline) }
            }
            Model::Everywhere { x, y, hard } => Guarantee::Reservation {
                continuity: Continuity::Continuous,
                hard,
                amount: int(x),
                period: int(y),
            },
            Model::Bounded { n, d, delta } => Guarantee::Psbe { share: ratio(n, d), delta: int(delta) },
        }
    }

    /// Whether the schedule can be part of an endless one that keeps the guarantee.
    fn keeps(self, schedule: u32) -> bool {
        let count = |from: u32, to: u32| (schedule >> from & ((1u32 << (to - from)) - 1)).count_ones();
        match self {
            Model::Grid { x, y, deadline, hard } => (0..y).any(|phase| {
                // Periods from the one that may begin before the first slot.
                (0..=SLOTS / y + 1).all(|period| {
                    let start = (phase + period * y) as i32 - y as i32;
                    let clip = |at: i32| at.clamp(0, SLOTS as i32) as u32;
                    let (from, by, to) = (clip(start), clip(start + deadline as i32), clip(start + y as i32));
                    let unseen = deadline - (by - from);
                    count(from, by) + unseen >= x && (!hard || count(from, to) <= x)
                })
            }),
            Model::Everywhere { x, y, hard } => (0..=SLOTS - y).all(|from| {
                let received = count(from, from + y);
                received >= x && (!hard || received == x)
            }),
            Model::Bounded { n, d, delta } => (0..SLOTS)
                .all(|from| (from + 1..=SLOTS).all(|to| d * (count(from, to) + delta) >= n * (to - from))),
        }
    }

    fn schedules(self) -> Vec<bool> {
        (0..1u32 << SLOTS).map(|schedule| self.keeps(schedule)).collect()
    }
}

fn models() -> Vec<Model> {
    let mut models = Vec::new();
    for y in 1..=5 {
        for x in 1..=y {
            for hard in [false, true] {
                models.push(Model::Everywhere { x, y, hard });
                models.push(Model::Grid { x, y, deadline: y, hard });
            }
            models.extend((x..y).map(|deadline| Model::Grid { x, y, deadline, hard: false }));
        }
    }
    for (n, d) in [(1, 1), (1, 2), (1, 3), (2, 3), (3, 4)] {
        models.extend((1..=4).map(|delta| Model::Bounded { n, d, delta }));
    }
    models
}

#[test]
fn supply_is_the_least_and_the_most_of_all_schedules() {
    for model in models().into_iter().filter(|model| !matches!(model, Model::Bounded { .. })) {
        let (guarantee, schedules) = (model.guarantee(), model.schedules());
        for window in 0..=SLOTS {
            let counts = || {
                let kept = (0..1u32 << SLOTS).filter(|schedule| schedules[*schedule as usize]);
                kept.map(move |schedule| (schedule & ((1 << window) - 1)).count_ones())
            };
            assert_eq!(
                guarantee.sbf(&int(window)),
                int(counts().min().unwrap()),
                "sbf({window}) of {guarantee}"
            );
            assert_eq!(
                guarantee.ubf(&int(window)),
                int(counts().max().unwrap()),
                "ubf({window}) of {guarantee}"
            );
        }
    }
}

#[test]
fn supply_of_a_bounded_share_holds_in_all_schedules() {
    for model in models().into_iter().filter(|model| matches!(model, Model::Bounded { .. })) {
        let (guarantee, schedules) = (model.guarantee(), model.schedules());
        for window in 0..=SLOTS {
            let kept = (0..1u32 << SLOTS).filter(|schedule| schedules[*schedule as usize]);
            let least = kept.map(|schedule| (schedule & ((1 << window) - 1)).count_ones()).min().unwrap();
            assert_eq!(guarantee.sbf(&int(window)).ceil(), int(least), "sbf({window}) of {guarantee}");
        }
    }
}

#[test]
fn every_accepted_rewrite_holds_in_all_schedules() {
    let models: Vec<(Model, Guarantee, Vec<bool>)> =
        models().into_iter().map(|model| (model, model.guarantee(), model.schedules())).collect();
    let mut accepted = 0;
    for (have_model, have, kept) in &models {
        for (need_model, need, wanted) in &models {
            let holds = kept.iter().zip(wanted).all(|(kept, wanted)| !kept || *wanted);
            match implies(have, need) {
                Ok(derivation) => {
                    assert!(holds, "{have} does not imply {need}, but: {}", derivation.render());
                    accepted += 1;
                }
                Err(refusal) => {
                    assert!(!holds || !is_tight(*have_model, *need_model), "{have} implies {need}: {refusal}")
                }
            }
        }
    }
    assert!(accepted > 2_500, "only {accepted} rewrites were tried");
}

/// Whether a refusal must be right: from a reservation or EDP to RESCS, or to PSBE up to the rate (T1, T3, T4, rule 1).
/// Elsewhere schedules of [`SLOTS`] slots are too short, or whole slots too coarse, to show a counterexample.
fn is_tight(have: Model, need: Model) -> bool {
    let (Model::Grid { x, y, .. } | Model::Everywhere { x, y, .. }) = have else {
        return false;
    };
    match need {
        Model::Everywhere { hard, .. } => !hard,
        Model::Bounded { n, d, .. } => n * y <= x * d,
        Model::Grid { .. } => false,
    }
}

#[test]
fn hidden_phases_beat_the_supply() {
    assert_eq!(best_basic_amount(&int(3), &int(8), &int(20)), int(6));
    assert_eq!(Guarantee::resbs(int(3), int(8)).sbf(&int(20)), int(5));
    assert_eq!(best_basic_amount(&int(3), &int(8), &int(16)), int(6));
    assert_eq!(best_basic_amount(&int(3), &int(8), &int(8)), int(3));
}

/// Two parents serve one VP, never both in the same slot.
#[test]
fn disjoint_supplies_add_up_in_all_schedules() {
    let grid = |x, y| Model::Grid { x, y, deadline: y, hard: false };
    let pairs = [
        (grid(1, 3), grid(1, 2)),
        (grid(1, 4), grid(2, 5)),
        (grid(2, 4), Model::Everywhere { x: 1, y: 4, hard: false }),
    ];
    for (one, other) in pairs {
        let together = Supply::sum(&[one.guarantee().into(), other.guarantee().into()]);
        let kept = [one, other].map(Model::schedules);
        for window in 1..=SLOTS {
            let first = (1u32 << window) - 1;
            let [ones, others] = kept.each_ref().map(|kept| {
                let schedules = (0..1u32 << SLOTS).filter(|schedule| kept[*schedule as usize]);
                schedules.map(|schedule| schedule & first).collect::<BTreeSet<u32>>()
            });
            let both = ones.iter().flat_map(|one| others.iter().map(move |other| (*one, *other)));
            let disjoint = both.filter(|(one, other)| one & other == 0);
            let least = disjoint.map(|(one, other)| (one | other).count_ones()).min().unwrap();
            assert!(together.sbf(&int(window)) <= int(least), "{together} in {window}");
        }
    }
}

/// Whether the slots can be cut at instants at most `gap` apart so that each stretch of length d has at least r*d.
fn keeps_rate(schedule: u32, rate: (u32, u32), gap: u32) -> bool {
    let count = |from: u32, to: u32| (schedule >> from & ((1u32 << (to - from)) - 1)).count_ones();
    let fair = |received: u32, length: u32| received * rate.1 >= rate.0 * length;
    // The first instant may lie before the slots: CPU time before the slots is not seen, and may have been received.
    let mut reachable = vec![false; SLOTS as usize + 1];
    reachable[0] = true;
    for at in 1..=SLOTS {
        let from_unseen = (at..=gap).any(|length| fair(count(0, at) + length - at, length));
        let from_seen = (at.saturating_sub(gap)..at)
            .any(|from| reachable[from as usize] && fair(count(from, at), at - from));
        reachable[at as usize] = from_unseen || from_seen;
    }
    (0..=SLOTS).any(|last| {
        let rest = SLOTS - last;
        reachable[last as usize]
            && (rest..=gap).any(|length| fair(count(last, SLOTS) + length - rest, length))
    })
}

#[test]
fn a_notified_rate_is_a_bounded_share_in_all_schedules() {
    for (rate, gap) in [((1, 2), 2), ((1, 2), 4), ((1, 3), 3), ((2, 3), 3), ((1, 4), 4), ((3, 4), 4)] {
        // What RESU is worth where instants are notified every `gap`.
        let have = Guarantee::resbs(ratio(rate.0, rate.1) * int(gap), int(gap));
        let (bounded, _) = rewrite(&have, Kind::Psbe).unwrap();
        let Guarantee::Psbe { share, delta } = &bounded else { panic!("{bounded} is not PSBE") };
        let mut worst = int(0);
        for schedule in (0..1u32 << SLOTS).filter(|schedule| keeps_rate(*schedule, rate, gap)) {
            for window in 1..=SLOTS {
                let received = (schedule & ((1 << window) - 1)).count_ones();
                worst = worst.max(share * int(window) - int(received));
            }
        }
        assert_eq!(worst, *delta, "{bounded} of {have}");
    }
}

/// Every way in which a group of `cpus` is served in slots: `amount` in each period, at most `cpus` in a slot. The
/// least CPU time in a window of any length is the least in the end of a period, plus whole periods, plus the least in
/// the beginning of a period.
fn least_of_a_group(period: u32, amount: u32, cpus: u32, up_to: u32) -> Vec<u32> {
    let mut schedules: Vec<Vec<u32>> = vec![Vec::new()];
    for _ in 0..period {
        let longer = |schedule: &Vec<u32>| {
            (0..=cpus).map(|slot| [&schedule[..], &[slot]].concat()).collect::<Vec<_>>()
        };
        schedules = schedules.iter().flat_map(longer).collect();
    }
    schedules.retain(|schedule| schedule.iter().sum::<u32>() == amount);
    // The least CPU time from a slot to the end of the period, from the start of the period to a slot, and between two
    // slots.
    let least = |from: u32, to: u32| {
        let sums = schedules.iter().map(|schedule| schedule[from as usize..to as usize].iter().sum::<u32>());
        sums.min().unwrap()
    };
    let in_window = |window: u32| {
        let of_offset = |offset: u32| {
            let end = offset + window;
            if end <= period {
                return least(offset, end);
            }
            least(offset, period) + (end / period - 1) * amount + least(0, end % period)
        };
        (0..period).map(of_offset).min().unwrap()
    };
    (0..=up_to).map(in_window).collect()
}

#[test]
fn the_supply_of_a_group_is_the_least_of_all_schedules() {
    for (period, cpus) in [(1, 3), (2, 1), (3, 2), (4, 2), (4, 3), (5, 1), (5, 2), (3, 4)] {
        for amount in 1..=period * cpus {
            let need = Guarantee::Mpr { period: int(period), amount: int(amount), cpus: cpus as u16 };
            for (window, least) in (0..).zip(least_of_a_group(period, amount, cpus, 4 * period)) {
                let supply = need.sbf(&int(window));
                // Where the part of each VP is whole slots, slots are fine enough to show the worst case.
                assert!(supply <= int(least), "sbf({window}) of {need}");
                assert!(amount % cpus != 0 || supply == int(least), "sbf({window}) of {need}");
                assert_eq!(need.ubf(&int(window)), int(window * cpus));
            }
        }
    }
}

#[test]
fn what_is_held_covers_every_group_that_it_is_said_to() {
    let group = |period: u32, amount: u32, cpus: u16| Guarantee::Mpr {
        period: int(period),
        amount: int(amount),
        cpus,
    };
    let groups: Vec<Guarantee> = (1..=3)
        .flat_map(|cpus| {
            (1..=6).flat_map(move |period| (1..=period * cpus).map(move |x| (period, x, cpus as u16)))
        })
        .map(|(period, amount, cpus)| group(period, amount, cpus))
        .collect();
    let held = models().into_iter().map(Model::guarantee).chain([Guarantee::All]).chain(groups.clone());
    let mut accepted = 0;
    for have in held {
        for need in groups.iter().filter(|need| implies(&have, need).is_ok()) {
            accepted += 1;
            for half in 0..160 {
                let window = ratio(half, 2);
                assert!(have.sbf(&window) >= need.sbf(&window), "{have} does not give {need} in {window}");
            }
        }
    }
    assert!(accepted > 1_500, "only {accepted} were accepted");
    for (have, need, expected) in [
        ("MPR 10ms 12ms 2", "MPR 10ms 12ms 3", true),
        ("MPR 10ms 12ms 3", "MPR 10ms 12ms 2", false),
        ("MPR 10ms 12ms 2", "RESBS 2ms 10ms", false),
        ("PSBE 1/2 1ms", "MPR 4ms 2ms 1", true),
        ("PSBE 1/2 1.1ms", "MPR 4ms 2ms 1", false),
        ("ALL", "MPR 10ms 10ms 4", true),
        ("ALL", "MPR 10ms 11ms 4", false),
        ("NULL", "MPR 10ms 1ms 4", false),
    ] {
        let (have, need) = (Guarantee::parse(have).unwrap(), Guarantee::parse(need).unwrap());
        assert_eq!(implies(&have, &need).is_ok(), expected, "{have} to {need}");
    }
}
