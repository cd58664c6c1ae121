//! Task sets under a guarantee: the numbers of the papers, brute force on unit slots, a comparison with another
//! implementation, and the least reservations.
//!
//! The other implementation is the crate `response-time-analysis` (Brandenburg); its EDF and fixed-priority analyses
//! are for a dedicated processor; for reservations the crate's fixed-point search is used with the crate's supplies and
//! demands.

use hls_calculus::tasks::{
    Miss, Order, Response, Task, TaskSet, least_amount, least_utilisation, limited_response,
    reserved_response,
};
use hls_calculus::{Continuity, Guarantee, Rational, Supply};
use num_bigint::BigInt;
use proptest::prelude::*;

fn ratio(n: u64, d: u64) -> Rational {
    Rational::new(BigInt::from(n), BigInt::from(d))
}

fn whole(n: u64) -> Rational {
    ratio(n, 1)
}

fn task((run, every, deadline, jitter): (u64, u64, u64, u64)) -> Task {
    Task { run: whole(run), every: whole(every), deadline: whole(deadline), jitter: whole(jitter) }
}

/// Tasks with the deadline at the next arrival.
fn implicit(order: Order, tasks: &[(u64, u64)]) -> TaskSet {
    TaskSet { order, tasks: tasks.iter().map(|&(run, every)| task((run, every, every, 0))).collect() }
}

fn supply(text: &str) -> Supply {
    Supply::from(Guarantee::parse(text).unwrap())
}

fn responses(set: &TaskSet, text: &str) -> Vec<Response> {
    set.verdict(&supply(text)).responses
}

fn exactly(responses: &[u64]) -> Vec<Response> {
    responses.iter().map(|&response| Response::Bound(whole(response))).collect()
}

#[test]
fn the_textbook_s_numbers_on_a_whole_cpu() {
    let fixed = |tasks: &[(u64, u64)]| responses(&implicit(Order::FixedPriority, tasks), "ALL");
    assert_eq!(fixed(&[(1, 4), (1, 5), (3, 9), (3, 18)]), exactly(&[1, 2, 7, 18]));
    assert_eq!(fixed(&[(52, 100), (52, 140)]), exactly(&[52, 156]));
    assert_eq!(fixed(&[(52, 140), (52, 100)]), exactly(&[52, 108]));
    let two = |order| TaskSet { order, tasks: vec![task((1, 5, 5, 0)), task((6, 10, 9, 0))] };
    assert_eq!(responses(&two(Order::Edf), "ALL")[1], Response::Bound(whole(7)));
    assert_eq!(responses(&two(Order::FixedPriority), "ALL")[1], Response::Bound(whole(8)));
}

#[test]
fn a_full_cpu_is_decided() {
    let full = implicit(Order::Edf, &[(1, 2), (1, 3), (1, 6)]);
    assert_eq!(full.verdict(&supply("ALL")).miss, None);
    let tight = |deadline| TaskSet {
        order: Order::Edf,
        tasks: vec![task((1, 2, deadline, 0)), task((1, 3, 3, 0)), task((1, 6, 6, 0))],
    };
    // All tasks have a deadline at 6, up to which the CPU is full, so the first task's deadline may be as short as its
    // run time.
    assert_eq!(tight(1).verdict(&supply("ALL")).miss, None);
    let over = implicit(Order::Edf, &[(1, 2), (1, 3), (1, 5)]).verdict(&supply("ALL"));
    assert!(matches!(over.miss, Some(Miss::Short { .. })), "{over:?}");
}

#[test]
fn the_first_window_that_fails_is_named() {
    let set = implicit(Order::Edf, &[(2, 10), (3, 15)]);
    let Some(Miss::Short { task, job, window }) = set.verdict(&supply("RESBS 5ns 10ns")).miss else {
        panic!()
    };
    assert_eq!(
        (task, job, window.window, window.wanted, window.supply),
        (0, 0, whole(10), whole(2), whole(0))
    );
    let set = implicit(Order::FixedPriority, &[(2, 10), (3, 20)]);
    let Some(Miss::Short { task, window, .. }) = set.verdict(&supply("RESCS 2ns 6ns")).miss else { panic!() };
    assert_eq!((task, window.window, window.wanted, window.supply), (1, whole(20), whole(7), whole(6)));
}

#[test]
fn what_promises_nothing_in_time_carries_nothing() {
    for order in [Order::Edf, Order::FixedPriority] {
        for text in ["NULL", "PS 1/2", "RESU 1/2"] {
            let verdict = implicit(order, &[(1, 10)]).verdict(&supply(text));
            assert_eq!(verdict.responses, [Response::Unknown], "{text}");
            assert!(matches!(verdict.miss, Some(Miss::Short { .. })), "{text}: {verdict:?}");
        }
        let none = TaskSet { order, tasks: Vec::new() };
        assert_eq!(none.verdict(&supply("NULL")).miss, None);
    }
}

#[test]
fn bad_parameters_are_refused() {
    for (field, bad) in [(0, (0, 1, 1, 0)), (1, (1, 0, 1, 0)), (2, (1, 1, 0, 0))] {
        for order in [Order::Edf, Order::FixedPriority] {
            let set = TaskSet { order, tasks: vec![task((1, 9, 9, 0)), task(bad)] };
            let Some(Miss::Malformed { task: 1, fault }) = set.verdict(&supply("ALL")).miss else { panic!() };
            assert_eq!(fault.parameter, field);
            assert!(least_amount(&set, Continuity::Basic, &whole(5)).is_err());
        }
    }
    let negative = Task { jitter: whole(1) - whole(2), ..task((1, 9, 9, 0)) };
    assert_eq!(negative.check().unwrap_err().parameter, 3);
}

/// Hundreds of jobs may arrive while something is ready. The second task's bound is well below its deadline.
#[test]
fn response_times_under_edf_need_many_steps() {
    let numbers = [(1, 5, 5, 0), (100, 1000, 1000, 0), (2, 10, 10, 0), (5, 20, 45, 0), (10, 50, 50, 0)];
    let expected = [1, 694, 3, 22, 27];
    assert_eq!(responses(&set(Order::Edf, &numbers), "ALL"), exactly(&expected));
    for (index, response) in expected.into_iter().enumerate() {
        assert_eq!(oracle::dedicated(Order::Edf, &numbers, index), Some(response), "task {index}");
    }
}

/// With less to spare the analysis of response times is given up, and the verdict says so: only the deadlines are known
/// to be bounds.
#[test]
fn response_times_that_take_too_long_say_so() {
    let numbers =
        [(1, 5, 5, 0), (100, 1000, 1000, 0), (2, 10, 10, 0), (5, 20, 45, 0), (49_999, 200_000, 200_000, 0)];
    let set = set(Order::Edf, &numbers);
    let verdict = set.verdict(&supply("ALL"));
    let deadlines = numbers.iter().map(|numbers| Response::DeadlineOnly(whole(numbers.2)));
    assert_eq!((verdict.miss, verdict.responses), (None, deadlines.collect()));
    assert_eq!(set.miss(&supply("ALL")), None);
    // If two bounds hold, the lesser counts, and if they are equal, the bound of the analysis.
    let known = Response::Bound(whole(7));
    assert_eq!(Response::DeadlineOnly(whole(7)).and(known.clone()), known);
    assert_eq!(Response::Unknown.and(known.clone()).and(Response::DeadlineOnly(whole(9))), known);
}

/// A thousand million deadlines of the first task come before the first deadline of the second task. Under fixed
/// priority one step passes them all.
#[test]
fn what_takes_too_long_is_refused() {
    let tasks = vec![task((1, 4, 4, 0)), task((1, 4_000_000_000, 4_000_000_000, 0))];
    let verdict = TaskSet { order: Order::Edf, tasks: tasks.clone() }.verdict(&supply("ALL"));
    assert!(matches!(verdict.miss, Some(Miss::Undecided { .. })), "{verdict:?}");
    let verdict = TaskSet::rate_monotonic(tasks).verdict(&supply("ALL"));
    assert_eq!((verdict.miss, verdict.responses), (None, exactly(&[1, 2])));
}

#[test]
fn monotonic_orders_sort() {
    let tasks = vec![task((1, 9, 3, 0)), task((1, 5, 5, 0)), task((1, 9, 9, 0))];
    let first = |set: TaskSet| set.tasks.iter().map(|task| task.deadline.clone()).collect::<Vec<_>>();
    assert_eq!(first(TaskSet::rate_monotonic(tasks.clone())), [whole(5), whole(3), whole(9)]);
    assert_eq!(first(TaskSet::deadline_monotonic(tasks)), [whole(3), whole(5), whole(9)]);
}

#[test]
fn the_least_reservation_of_the_specification() {
    let tasks = implicit(Order::Edf, &[(7, 50), (9, 75)]);
    let fit = |set: &TaskSet| least_amount(set, Continuity::Basic, &whole(10)).unwrap().amount;
    assert_eq!(fit(&tasks), ratio(39, 14));
    assert_eq!(fit(&TaskSet::rate_monotonic(tasks.tasks)), ratio(7, 2));
    // A task that arrives once in every period of a continuous reservation needs its run time and no more.
    let one = implicit(Order::Edf, &[(10, 33)]);
    assert_eq!(least_amount(&one, Continuity::Continuous, &whole(33)).unwrap().amount, whole(10));
    assert_eq!(least_amount(&one, Continuity::Basic, &ratio(43, 2)).unwrap().amount, whole(10));
    let miss = least_amount(&implicit(Order::Edf, &[(6, 10), (6, 10)]), Continuity::Basic, &whole(5));
    assert!(miss.is_err(), "{miss:?}");
}

/// See `reserved.rs`: the claim needs a job within the budget, and releases a period apart.
#[test]
fn one_task_below_a_reservation_scheduler() {
    let response =
        |numbers, budget, period| reserved_response(&task(numbers), &whole(budget), &whole(period));
    assert_eq!(response((10, 33, 33, 0), 10, 33), Some(whole(33)));
    assert_eq!(response((10, 35, 35, 2), 10, 33), Some(whole(35)));
    assert_eq!(response((10, 34, 35, 2), 10, 33), None);
    assert_eq!(response((11, 33, 33, 0), 10, 33), None);
}

#[test]
fn the_least_utilisation_of_a_range() {
    let tasks = implicit(Order::Edf, &[(7, 50), (9, 75)]);
    let fit = least_utilisation(&tasks, Continuity::Basic, (1..=40).map(whole)).unwrap().unwrap();
    let each = (1..=40).map(|period| least_amount(&tasks, Continuity::Basic, &whole(period)).unwrap());
    assert_eq!(Some(fit.utilisation()), each.map(|fit| fit.utilisation()).min());
    let too_much = implicit(Order::Edf, &[(6, 10), (5, 10)]);
    assert!(least_utilisation(&too_much, Continuity::Basic, [whole(1), whole(2)]).is_err());
    assert_eq!(least_utilisation(&tasks, Continuity::Basic, []), Ok(None));
}

/// Tasks of small whole numbers: run, every, deadline, jitter.
type Numbers = (u64, u64, u64, u64);

fn tasks(most: usize, jitter: u64) -> impl Strategy<Value = Vec<Numbers>> {
    prop::collection::vec((1u64..4, 4u64..16, 2u64..24, 0..=jitter), 1..=most)
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Edf), Just(Order::FixedPriority)]
}

fn set(order: Order, tasks: &[Numbers]) -> TaskSet {
    TaskSet { order, tasks: tasks.iter().copied().map(task).collect() }
}

/// An explicit deadline periodic supply of whole numbers: period, amount, deadline.
fn periodic() -> impl Strategy<Value = (u64, u64, u64)> {
    let one = |(amount, later, slack)| (amount + later + slack, amount, amount + later);
    (1u64..6, 0u64..6, 0u64..6).prop_map(one)
}

fn edp((period, amount, deadline): (u64, u64, u64)) -> Supply {
    supply(&format!("EDP {period}ns {amount}ns {deadline}ns"))
}

/// A job in unit slots.
#[derive(Clone, Copy)]
struct Job {
    task: usize,
    arrival: i64,
    ready: i64,
    due: i64,
    left: u64,
}

/// For each task the longest time from the arrival of a job to its completion, on a CPU that is there in some slots
/// only. With `at_once` the run ends in the first slot in which no job is ready.
fn play(
    order: Order,
    tasks: usize,
    mut jobs: Vec<Job>,
    cpu: impl Iterator<Item = bool>,
    at_once: bool,
) -> Vec<i64> {
    let mut worst = vec![0; tasks];
    for (slot, is_there) in (0..).zip(cpu) {
        let ready = jobs.iter_mut().filter(|job| job.ready <= slot);
        let first = ready.min_by_key(|job| match order {
            Order::Edf => (job.due, job.task as i64, job.arrival),
            Order::FixedPriority => (job.task as i64, job.arrival, 0),
        });
        match first {
            Some(job) if is_there => {
                job.left -= 1;
                if job.left == 0 {
                    worst[job.task] = worst[job.task].max(slot + 1 - job.arrival);
                }
            }
            None if at_once => break,
            _ => {}
        }
        jobs.retain(|job| job.left > 0);
    }
    worst
}

/// A job of a task, ready at `delay` after its arrival or at 0, whichever is later.
fn job(task: usize, &(run, _, deadline, _): &Numbers, arrival: i64, delay: i64) -> Job {
    Job { task, arrival, ready: (arrival + delay).max(0), due: arrival + deadline as i64, left: run }
}

/// A pseudo-random whole number below `n`.
fn draw(state: &mut u64, n: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % n
}

fn demand(tasks: &[Numbers], window: u64) -> u64 {
    let jobs = |&(run, every, deadline, jitter): &Numbers| {
        run * (window + jitter).checked_sub(deadline).map_or(0, |late| late / every + 1)
    };
    tasks.iter().map(jobs).sum()
}

/// Whether the rate of the tasks is so far from the rate of the supply that a verdict does not take seconds.
fn is_clear(set: &TaskSet, supply: &Supply) -> bool {
    let load = set.utilisation() / supply.rate();
    load < ratio(9, 10) || load > ratio(11, 10)
}

const LONG: u64 = 2_000;

/// Between an amount that fails in one of very many windows and the whole CPU the least amount is found all the same:
/// exactly where that is affordable, else to the nanosecond. A search that gives up is no "no".
#[test]
fn a_least_amount_is_found_however_many_windows_there_are() {
    let us = |n: u64| n * 1_000;
    let set = |fast: (u64, u64), slow: (u64, u64)| implicit(Order::FixedPriority, &[fast, slow]);
    let second = 1_000_000_000;
    // 18,000 windows of the fast task lie before the deadline of the slow one, or 150,000.
    let few = set((us(50), us(500)), (9 * second / 2, 9 * second));
    let many = set((us(6), us(60)), (9 * second / 2, 9 * second));
    for (tasks, period, most) in [(few, us(500), us(301)), (many, us(60), us(37))] {
        let fit = least_amount(&tasks, Continuity::Basic, &whole(period)).unwrap();
        assert!(fit.is_least && fit.amount <= whole(most), "{}", fit.amount);
        let carries = |amount: Rational| {
            let text = format!("RESBS {}/{}ns {period}ns", amount.numer(), amount.denom());
            tasks.miss(&supply(&text))
        };
        assert_eq!(carries(fit.amount.clone()), None);
        assert!(matches!(carries(fit.amount - whole(1)), Some(Miss::Short { .. })));
    }
}

/// Below a limit a job is done when the limit has had the job's CPU time, if the job begins a period; and not if the
/// period of the job before may still go on, or a job takes more than the budget.
#[test]
fn below_a_limit_a_job_has_its_budget_at_once() {
    let task = |run, every, jitter| task((run, every, every, jitter));
    let done = |task: Task, held: &str| limited_response(&task, &whole(40), &whole(100), &supply(held));
    assert_eq!(done(task(30, 200, 0), "ALL"), Some(whole(30)));
    assert_eq!(done(task(30, 200, 7), "ALL"), Some(whole(37)));
    assert_eq!(done(task(40, 100, 0), "ALL"), Some(whole(40)));
    assert_eq!(done(task(41, 200, 0), "ALL"), None);
    assert_eq!(done(task(30, 99, 0), "ALL"), None);
    assert_eq!(done(task(30, 101, 2), "ALL"), None);
    assert_eq!(done(task(30, 200, 0), "RESBS 15ns 20ns"), Some(whole(45)));
    assert_eq!(done(task(30, 200, 0), "RESBS 5ns 20ns"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Under fixed priority the bound of a response time is reached when all tasks begin together and the supply is at
    /// its worst.
    #[test]
    fn fixed_priority_bounds_are_attained(tasks in tasks(3, 3), periodic in periodic()) {
        let (set, supply) = (set(Order::FixedPriority, &tasks), edp(periodic));
        prop_assume!(set.utilisation() < supply.rate() * ratio(9, 10));
        let jobs = tasks.iter().enumerate().flat_map(|(index, numbers)| {
            let arrival = move |n: u64| (n * numbers.1) as i64 - numbers.3 as i64;
            (0..LONG / numbers.1).map(move |n| job(index, numbers, arrival(n), 0))
        });
        let supplied: Vec<Rational> = (0..=LONG).map(|slot| supply.sbf(&whole(slot))).collect();
        let cpu = supplied.windows(2).map(|pair| pair[0] < pair[1]);
        let seen = play(Order::FixedPriority, tasks.len(), jobs.collect(), cpu, true);
        let seen: Vec<_> = seen.into_iter().map(|seen| Response::Bound(whole(seen as u64))).collect();
        prop_assert_eq!(set.verdict(&supply).responses, seen);
    }

    /// No bound is exceeded, whenever jobs arrive and become ready, and wherever in its periods the supply gives its
    /// CPU time.
    #[test]
    fn no_bound_is_exceeded(order in order(), tasks in tasks(4, 3), periodic in periodic(), mut seed: u64) {
        let (period, amount, deadline) = periodic;
        let set = set(order, &tasks);
        prop_assume!(is_clear(&set, &edp(periodic)));
        let verdict = set.verdict(&edp(periodic));
        for _ in 0..20 {
            let mut jobs = Vec::new();
            for (index, numbers) in tasks.iter().enumerate() {
                let mut arrival = draw(&mut seed, 8) as i64;
                while arrival < 300 {
                    jobs.push(job(index, numbers, arrival, draw(&mut seed, numbers.3 + 1) as i64));
                    arrival += (numbers.1 + draw(&mut seed, 3) / 2) as i64;
                }
            }
            let phase = draw(&mut seed, period);
            let mut cpu = vec![false; phase as usize];
            while cpu.len() < 300 {
                // The amount of a period comes as early as can be, as late as can be, or anywhere in between.
                let room = deadline - amount;
                let from = [0, room, draw(&mut seed, room + 1)][draw(&mut seed, 3) as usize];
                cpu.extend((0..period).map(|slot| (from..from + amount).contains(&slot)));
            }
            let seen = play(order, tasks.len(), jobs, cpu.into_iter().skip(phase as usize), false);
            for (index, seen) in seen.into_iter().enumerate() {
                let within = |bound: &Rational| whole(seen as u64) <= *bound;
                prop_assert!(verdict.responses[index].bound().is_none_or(within), "task {}: {}", index, seen);
                prop_assert!(verdict.miss.is_some() || seen as u64 <= tasks[index].2, "task {}: {}", index, seen);
            }
        }
    }

    /// EDF accepts a set if its demand in every window is within the supply, and else names the first window in which
    /// it is not.
    #[test]
    fn edf_compares_demand_and_supply(tasks in tasks(4, 3), periodic in periodic()) {
        let (set, supply) = (set(Order::Edf, &tasks), edp(periodic));
        let fails = |window: &u64| whole(demand(&tasks, *window)) > supply.sbf(&whole(*window));
        let failing = (0..LONG).find(fails);
        match set.verdict(&supply).miss {
            None => prop_assert_eq!(failing, None),
            Some(Miss::Short { window, .. }) => {
                prop_assert_eq!(failing.map(whole), Some(window.window.clone()));
                prop_assert_eq!(failing.map(|window| whole(demand(&tasks, window))), Some(window.wanted));
                prop_assert_eq!(supply.sbf(&window.window), window.supply);
            }
            Some(other) => prop_assert!(false, "{}", other),
        }
    }

    /// A verdict without a miss and response times within the deadlines are the same thing.
    #[test]
    fn a_response_within_the_deadline_is_no_miss(order in order(), tasks in tasks(3, 3), periodic in periodic()) {
        let set = set(order, &tasks);
        prop_assume!(is_clear(&set, &edp(periodic)));
        let verdict = set.verdict(&edp(periodic));
        let in_time = |(response, task): (&Response, &Numbers)| {
            response.bound().is_some_and(|response| *response <= whole(task.2))
        };
        let all_are = verdict.responses.iter().zip(&tasks).all(in_time);
        prop_assert_eq!(all_are, verdict.miss.is_none(), "{:?}", verdict);
    }

    /// The least amount suffices, and an amount that is less by a thousandth does not.
    #[test]
    fn the_least_amount_is_the_least(
        order in order(), tasks in tasks(3, 2), is_basic: bool, period in 1u64..40,
    ) {
        let set = set(order, &tasks);
        let (continuity, name) = match is_basic {
            true => (Continuity::Basic, "RESBS"),
            false => (Continuity::Continuous, "RESCS"),
        };
        let carries = |amount: &Rational| {
            let text = format!("{name} {}/{}ns {}/2ns", amount.numer(), amount.denom(), period);
            set.verdict(&supply(&text)).miss.is_none()
        };
        let whole_cpu = set.verdict(&supply("ALL")).miss.is_none();
        match least_amount(&set, continuity, &ratio(period, 2)) {
            Ok(fit) => {
                prop_assert!(carries(&fit.amount), "{}", fit.amount);
                let less = &fit.amount * ratio(999, 1000);
                prop_assert!(!carries(&less), "{}", less);
            }
            Err(_) => prop_assert!(!whole_cpu),
        }
    }
}

/// The other implementation, in the units of its crate.
mod oracle {
    use super::{Numbers, Order};
    use response_time_analysis::arrival::Sporadic;
    use response_time_analysis::demand::{RBF, RequestBound, step_offsets};
    use response_time_analysis::supply::{Constrained, Dedicated, Periodic, SupplyBound};
    use response_time_analysis::time::{Duration, Offset, Service};
    use response_time_analysis::wcet::Scalar;
    use response_time_analysis::{edf, fixed_point, fixed_priority};

    type Demand = RBF<Sporadic, Scalar>;

    /// A limit so large that the crate does not run its own brute force as well.
    const LIMIT: u64 = 200_000;

    fn limit() -> Duration {
        Duration::from(LIMIT)
    }

    pub fn demand(&(run, every, _, jitter): &Numbers) -> Demand {
        let arrivals = Sporadic::new(Duration::from(every), Duration::from(jitter));
        RBF::new(arrivals, Scalar::new(Service::from(run)))
    }

    /// The response time of one of the tasks by the crate's own analyses; `None` where the crate finds no bound.
    pub fn dedicated(order: Order, tasks: &[Numbers], index: usize) -> Option<u64> {
        let found = match order {
            Order::FixedPriority => {
                let higher: Vec<Demand> = tasks[..index].iter().map(demand).collect();
                fixed_priority::fully_preemptive::dedicated_uniproc_rta(
                    &demand(&tasks[index]),
                    &higher,
                    limit(),
                )
            }
            Order::Edf => {
                let demands: Vec<Demand> = tasks.iter().map(demand).collect();
                let task = |n: usize| {
                    let deadline = Duration::from(tasks[n].2);
                    edf::fully_preemptive::Task { rbf: &demands[n], deadline }
                };
                let others: Vec<_> = (0..tasks.len()).filter(|n| *n != index).map(task).collect();
                edf::fully_preemptive::dedicated_uniproc_rta(&task(index), &others, limit())
            }
        };
        found.ok().map(u64::from)
    }

    /// A supply of the crate: period, amount, deadline.
    pub fn supply((period, amount, deadline): (u64, u64, u64)) -> Box<dyn SupplyBound> {
        let (budget, whole) = (Service::from(amount), Duration::from(period));
        match () {
            () if amount == period => Box::new(Dedicated::new()),
            () if deadline == period => Box::new(Periodic::new(budget, whole)),
            () => Box::new(Constrained::new(budget, Duration::from(deadline), whole)),
        }
    }

    /// Fixed priority on a supply: the crate's analysis for a dedicated processor, with a supply of the crate in the
    /// place of that processor.
    pub fn on_supply(tasks: &[Numbers], index: usize, supply: &dyn SupplyBound) -> Option<u64> {
        let task = demand(&tasks[index]);
        let higher: Vec<Demand> = tasks[..index].iter().map(demand).collect();
        let above = |window| higher.iter().map(|other| other.service_needed(window)).sum::<Service>();
        let busy =
            fixed_point::search(&supply, limit(), |window| above(window) + task.service_needed(window));
        let last = Offset::from_time_zero(busy.ok()?);
        let response = |arrival: Offset| {
            let own = task.service_needed(arrival.closed_since_time_zero());
            let done = fixed_point::search(&supply, limit(), |window| own + above(window))?;
            Ok(done.saturating_sub(arrival.since_time_zero()))
        };
        let offsets = step_offsets(&task).take_while(|arrival| *arrival < last);
        fixed_point::max_response_time(offsets.map(response)).ok().map(u64::from)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The crate counts responses and deadlines from when a job becomes ready, we from its arrival: so the task under
    /// comparison has no jitter here, and under EDF no task has.
    #[test]
    fn a_second_opinion_on_a_cpu_of_its_own(order in order(), mut tasks in tasks(4, 3), which: prop::sample::Index) {
        let index = which.index(tasks.len());
        tasks[index].3 = 0;
        if order == Order::Edf {
            tasks.iter_mut().for_each(|task| task.3 = 0);
        }
        let set = set(order, &tasks);
        let asked = if order == Order::Edf { &set.tasks[..] } else { &set.tasks[..=index] };
        let wanted: Rational = asked.iter().map(Task::utilisation).sum();
        prop_assume!(wanted < ratio(9, 10));
        let verdict = set.verdict(&supply("ALL"));
        let theirs = oracle::dedicated(order, &tasks, index).map(whole);
        prop_assert_eq!(verdict.responses[index].bound().cloned(), theirs.map(|theirs| match (&verdict.miss, order) {
            // Where the deadline is met, the deadline is a bound of the response.
            (None, Order::Edf) => theirs.min(whole(tasks[index].2)),
            _ => theirs,
        }));
    }

    #[test]
    fn a_second_opinion_on_reservations(mut tasks in tasks(3, 3), periodic in periodic()) {
        let index = tasks.len() - 1;
        tasks[index].3 = 0;
        let (set, supply) = (set(Order::FixedPriority, &tasks), edp(periodic));
        prop_assume!(set.utilisation() < supply.rate() * ratio(9, 10));
        let theirs = oracle::on_supply(&tasks, index, &*oracle::supply(periodic)).map(whole);
        prop_assert_eq!(set.verdict(&supply).responses[index].bound().cloned(), theirs);
    }
}
