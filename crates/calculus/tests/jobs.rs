//! JOB, the promise about single requests: what gives it, the conditions under which a thread below BVT has it, and the
//! planner, by the numbers of worked examples.

use crate::support::scheduler;
use hls_calculus::warps::{Request, WarpPlan, Warper, Warpers, plan, windows};
use hls_calculus::{Child, Edge, Graph, Guarantee, Label, Mode, Rational, analyse, implies, time_ceil};
use num_traits::{ToPrimitive, Zero};

fn g(text: &str) -> Guarantee {
    Guarantee::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn us(time: u64) -> Rational {
    Rational::from_integer((time * 1_000).into())
}

#[test]
fn what_gives_a_job() {
    for (have, need) in [
        ("ALL", "JOB 2ms 20ms 2ms"),
        ("RESCS 2ms 5ms", "JOB 2ms 20ms 5ms"),
        ("RESBS 2ms 5ms", "JOB 2ms 8ms 8ms"),
        ("EDP 10ms 2ms 5ms", "JOB 2ms 20ms 13ms"),
        ("PSBE 1/2 1ms", "JOB 2ms 20ms 6ms"),
        ("JOB 2ms 20ms 3ms", "JOB 2ms 20ms 3ms"),
        ("JOB 2ms 20ms 3ms", "JOB 2ms 21ms 4ms"),
        ("JOB 2ms 20ms 3ms", "JOB 1ms 20ms 2ms"),
        ("JOB 2ms 20ms 3ms", "NULL"),
    ] {
        assert!(implies(&g(have), &g(need)).is_ok(), "{have} to {need}");
    }
    for (have, need) in [
        ("NULL", "JOB 2ms 20ms 20ms"),
        ("PS 1/2", "JOB 2ms 20ms 20ms"),
        ("RESU 1/2", "JOB 2ms 20ms 20ms"),
        ("RESBS 2ms 5ms", "JOB 2ms 8ms 7.999ms"),
        ("JOB 2ms 20ms 3ms", "JOB 2.001ms 20ms 4ms"),
        ("JOB 2ms 20ms 3ms", "JOB 2ms 19ms 3ms"),
        ("JOB 2ms 20ms 3ms", "JOB 2ms 20ms 2.999ms"),
        ("JOB 2ms 20ms 3ms", "JOB 1ms 20ms 1.999ms"),
        ("JOB 2ms 20ms 2ms", "RESBS 1ms 40ms"),
        ("JOB 2ms 20ms 2ms", "PS 1/100"),
        ("JOB 2ms 20ms 2ms", "ALL"),
        ("MPR 10ms 10ms 2", "JOB 2ms 20ms 20ms"),
    ] {
        assert!(implies(&g(have), &g(need)).is_err(), "{have} to {need}");
    }
}

/// A child: share, warp, limit, unwarp in us, and what it asks for.
type Asks<'a> = ([u64; 4], Option<&'a str>);

/// Labels below a BVT scheduler that holds the machine, with an allowance in us.
fn labels(allowance: u64, children: &[Asks], above: Option<&str>) -> Vec<(Label, Option<Guarantee>)> {
    labels_with(1, &[("allowance", allowance)], children, above)
}

/// The same on `cpus` CPUs, with any parameters of the scheduler, times in us.
fn labels_with(
    cpus: u16,
    scheduler_params: &[(&str, u64)],
    children: &[Asks],
    above: Option<&str>,
) -> Vec<(Label, Option<Guarantee>)> {
    let named = |name: &str, value: u64| (name.to_owned(), value);
    let edge =
        |parent, child, params, requested| Edge { parent, child, params, requested, width: 1, pinned: false };
    let mut graph = Graph { cpus, ..Graph::default() };
    graph.schedulers.push(scheduler("res", "reservation", Vec::new()));
    graph.schedulers.push(scheduler(
        "bvt",
        "bvt",
        scheduler_params.iter().map(|(name, us)| named(name, us * 1_000)).collect(),
    ));
    graph.edges.push(edge(None, Child::Scheduler(usize::from(above.is_none())), Vec::new(), None));
    if above.is_some() {
        let budget = vec![named("budget", 9_000_000), named("period", 10_000_000)];
        graph.edges.push(edge(Some(0), Child::Scheduler(1), budget, None));
    }
    for (n, ([share, warp, limit, unwarp], asks)) in children.iter().enumerate() {
        let times = [("warp", warp), ("warp-limit", limit), ("unwarp", unwarp)];
        let mut params: Vec<(String, u64)> =
            times.iter().map(|(name, us)| named(name, *us * 1_000)).collect();
        params.push(named("share", *share));
        graph.edges.push(edge(Some(1), Child::Thread(format!("t{n}")), params, asks.map(g)));
    }
    let first = graph.edges.len() - children.len();
    let asked: Vec<_> = graph.edges[first..].iter().map(|edge| edge.requested.clone()).collect();
    analyse(&graph, Mode::Tight).labels.into_iter().skip(first).zip(asked).collect()
}

/// What each child has, or, if its need is not met, the reason.
fn shown(allowance: u64, children: &[Asks], above: Option<&str>) -> Vec<String> {
    let of_child =
        |(label, asked): (Label, Option<Guarantee>)| match asked.and_then(|it| label.shortcoming(&it)) {
            Some(reason) => reason,
            None => label.guarantee.rounded_for_people(),
        };
    labels(allowance, children, above).into_iter().map(of_child).collect()
}

/// The page's example: a controller, a player and a compiler, planned for an allowance of 1 ms.
const CTL: [u64; 4] = [20, 12_882, 2_500, 12_000];
const MPEG: [u64; 4] = [35, 12_335, 10_000, 19_000];
const GCC: [u64; 4] = [45, 0, 0, 0];

#[test]
fn bvt_gives_a_job_to_a_child_that_stays_ahead() {
    let asks: [Asks; 3] = [(CTL, Some("JOB 2ms 20ms 2ms")), (MPEG, Some("JOB 9ms 33ms 11.5ms")), (GCC, None)];
    let with = |n: usize, own: Asks<'static>| {
        let mut asks = asks.to_vec();
        asks[n] = own;
        shown(1_000, &asks, None)[n].clone()
    };
    let all = shown(1_000, &asks, None);
    // By the limit of the controller and the warp of the player: less than the 11.72 ms by the limits of both.
    assert_eq!(all, ["JOB 2ms 20ms 2ms", "JOB 9ms 33ms 11.5ms", "PSBE 9/20 9.876ms"]);
    // A JOB stands beside the share: the child has both.
    let (label, _) = &labels(1_000, &asks, None)[0];
    let Guarantee::Psbe { share, delta } = &label.beside.sums()[0].0[0] else { panic!("{label:?}") };
    assert!(label.satisfies(&Guarantee::Psbe { share: share.clone(), delta: delta.clone() }).is_ok());
    assert_eq!(share, &Rational::new(1.into(), 5.into()));
    // Each condition, just not met.
    let says = |n, own, words: &str| {
        let said: String = with(n, own);
        assert!(said.contains(words), "{said}, not {words}");
    };
    says(0, ([20, 12_882, 1_999, 12_000], Some("JOB 2ms 20ms 2ms")), "a `warp-limit` of 2ms or more");
    says(0, ([20, 12_882, 0, 12_000], Some("JOB 2ms 20ms 2ms")), "it is none");
    says(0, ([20, 5_833, 2_500, 12_000], Some("JOB 2ms 20ms 2ms")), "ahead of children that are not warped");
    says(0, ([20, 12_882, 2_500, 18_001], Some("JOB 2ms 20ms 2ms")), "an `unwarp` of at most 18ms");
    says(1, ([35, 12_335, 10_000, 21_501], Some("JOB 9ms 33ms 11.5ms")), "an `unwarp` of at most 21.5ms");
    says(0, (CTL, Some("JOB 2ms 9.999ms 2ms")), "more than its part");
    says(1, (MPEG, Some("JOB 9ms 33ms 11.499ms")), "a request may wait for 2.5ms");
    // Between both levels the controller is behind a player that is warped: 2 + 10.
    says(0, ([20, 12_800, 2_500, 12_000], Some("JOB 2ms 20ms 2ms")), "an `unwarp` of at most 8ms");
    says(0, ([20, 12_800, 2_500, 8_000], Some("JOB 2ms 20ms 2ms")), "a request may wait for 10ms");
    assert_eq!(with(0, ([20, 12_800, 2_500, 8_000], Some("JOB 2ms 20ms 12ms"))), "JOB 2ms 20ms 12ms");
}

#[test]
fn bvt_gives_no_job_below_less_than_a_cpu_nor_beside_a_child_that_may_warp_for_ever() {
    let asks: [Asks; 2] = [([1, 60_000, 2_000, 10_000], Some("JOB 2ms 20ms 2ms")), ([1, 0, 0, 0], None)];
    assert_eq!(shown(1_000, &asks, None)[0], "JOB 2ms 20ms 2ms");
    assert!(
        shown(1_000, &asks, Some("RESBH 9ms 10ms"))[0].starts_with("JOB is shown below a whole CPU only")
    );
    let need = g("JOB 2ms 20ms 2ms");
    let with = |cpus, param| labels_with(cpus, &[("allowance", 1_000), (param, 1)], &asks, None)[0].0.clone();
    let reason = with(1, "stall-credit").shortcoming(&need).expect("no JOB");
    assert!(reason.contains("without a `stall-credit` only"), "{reason}");
    let reason = with(2, "migration").shortcoming(&need).expect("no JOB");
    assert!(reason.contains("without a `migration`"), "{reason}");
    assert!(with(1, "migration").satisfies(&need).is_ok() && with(2, "x").satisfies(&need).is_ok());
    let endless: [Asks; 2] = [asks[0], ([1, 60_000, 0, 0], None)];
    assert!(
        shown(1_000, &endless, None)[0]
            .contains("`t1`, which it is not ahead of, may run warped for any time")
    );
}

/// Four equal threads, C 3, p 1, T 4: by the paper's rule a warp of 1 does, and the request at 4 is done at 9. With the
/// debt, 2, it takes 3.
#[test]
fn the_debt_that_the_paper_leaves_out() {
    let asks = |warp: u64| -> [Asks; 4] {
        let even = ([1, 0, 0, 0], None);
        [([1, warp, 1_000, 3_000], Some("JOB 1ms 4ms 1ms")), even, even, even]
    };
    let by_paper = &shown(3_000, &asks(1_000), None)[0];
    assert!(by_paper.contains("a warp of 3.001ms is needed"), "{by_paper}");
    assert_eq!(shown(3_000, &asks(3_001), None)[0], "JOB 1ms 4ms 1ms");
}

fn example(allowance: u64) -> (Warpers, Vec<Option<Request>>) {
    let warper = |name: &str, [share, _, limit, unwarp]: [u64; 4]| Warper {
        name: name.into(),
        share: Rational::from_integer(share.into()),
        warp: Rational::zero(),
        limit: us(limit),
        unwarp: us(unwarp),
    };
    let each = vec![warper("ctl", CTL), warper("mpeg", MPEG), warper("gcc", GCC)];
    let request = |[amount, period, response]: [u64; 3]| {
        Some(Request { amount: us(amount), period: us(period), response: us(response) })
    };
    let asked = vec![request([2_000, 20_000, 2_000]), request([9_000, 33_000, 11_500]), None];
    (Warpers { allowance: us(allowance), each }, asked)
}

/// Hundredths of a millisecond, the nearest.
fn hundredths(time: &Rational) -> i64 {
    (time / us(10)).round().to_integer().to_i64().expect("a short time")
}

#[test]
fn the_planner_does_the_worked_example() {
    for (allowance, debts, warps, own) in [
        (1_000, [1_667, 667], [6_440, 3_524], [1_288, 1_233]),
        (5_000, [2_556, 1_556], [8_218, 4_413], [1_644, 1_544]),
    ] {
        let (warpers, asked) = example(allowance);
        let WarpPlan { warpers, planned } = plan(&warpers, &asked).expect("a plan");
        let of = |number: fn(&hls_calculus::warps::Planned) -> &Rational| {
            [0, 1].map(|n: usize| hundredths(number(&planned[n])))
        };
        assert_eq!(of(|planned| &planned.debt), debts);
        assert_eq!(of(|planned| &planned.virtual_warp), warps);
        assert_eq!([0, 1].map(|n: usize| hundredths(&warpers.each[n].warp)), own);
        // The paper's, without the debt: for any allowance the same, and too little.
        assert_eq!(of(|planned| &planned.uncorrected), [4_107, 2_857]);
        let responses: Vec<String> = planned
            .iter()
            .map(|planned| time_ceil(&planned.in_time.as_ref().expect("in time").response))
            .collect();
        assert_eq!(responses, ["2ms", "11.5ms"]);
        let mut by_paper = warpers.clone();
        for (n, planned) in planned.iter().enumerate() {
            by_paper.each[n].warp = &planned.uncorrected * warpers.weight(n);
        }
        let found = by_paper.in_time(0, &us(2_000), &us(20_000));
        assert!(!found.as_ref().is_ok_and(|it| it.response <= us(2_000)), "{found:?}");
        // The compiler's delta by the limits of both, for C 1: 11.72.
        if allowance == 1_000 {
            let weight = warpers.weight(2);
            let beyond: Rational = [0, 1].map(|n| warpers.beyond(n).expect("within its part")).iter().sum();
            let turns = us(1_000) * (&weight + Rational::from_integer(1.into()));
            assert_eq!(hundredths(&((turns + &weight * beyond) / &weight)), 1_172);
        }
    }
}

#[test]
fn the_planner_says_which_condition_fails() {
    let refused = |change: fn(&mut Warpers, &mut Vec<Option<Request>>)| {
        let (mut warpers, mut asked) = example(1_000);
        change(&mut warpers, &mut asked);
        match plan(&warpers, &asked) {
            Err((child, reason)) => (child, reason),
            Ok(plan) => {
                let mut late = plan.planned.into_iter().filter_map(|it| Some((it.child, it.in_time.err()?)));
                late.next().expect("a child is refused")
            }
        }
    };
    let least = refused(|warpers, _| warpers.each[0].unwarp = us(9_999));
    assert_eq!((least.0, least.1.contains("an `unwarp` of 10ms or more")), (0, true), "{least:?}");
    let least = refused(|warpers, _| warpers.each[1].unwarp = us(18_571));
    assert_eq!((least.0, least.1.contains("an `unwarp` of 18.572ms or more")), (1, true), "{least:?}");
    let late = refused(|_, asked| asked[1].as_mut().expect("asked").response = us(11_400));
    assert_eq!(late, (1, "it is done within 11.5ms, and asks for 11.4ms".into()));
    let share = refused(|warpers, _| warpers.each[0].share = us(0) + Rational::from_integer(4.into()));
    assert!(share.1.contains("more than its part"), "{share:?}");
    let limit = refused(|warpers, _| warpers.each[1].limit = us(8_999));
    assert!(limit.1.contains("a `warp-limit` of 9ms or more"), "{limit:?}");
    let all = refused(|warpers, asked| {
        warpers.each.truncate(2);
        asked.truncate(2);
    });
    assert!(all.1.contains("all other children ask for JOB"), "{all:?}");
}

#[test]
fn the_windows_of_the_paper() {
    let found = |shares: &[u64], allowance: u64| {
        let windows = windows(shares, &Rational::from_integer(allowance.into()));
        let number = |number: &Rational| number.to_integer().to_u64().expect("small");
        let numbers = |list: &[Rational]| list.iter().map(number).collect::<Vec<_>>();
        let (virtual_window, physical) = (number(&windows.virtual_window), number(&windows.physical));
        (numbers(&windows.advances), virtual_window, numbers(&windows.each), physical)
    };
    assert_eq!(found(&[5, 3, 2], 10), (vec![6, 10, 15], 300, vec![50, 30, 20], 100));
    assert_eq!(found(&[40, 40, 20], 5), (vec![1, 1, 2], 10, vec![10, 10, 5], 25));
    assert_eq!(found(&[1], 5), (vec![1], 5, vec![5], 5));
}
