//! What the test of requests finds: reservations under a right EDF raise no alarm; under a wrong one it finds many
//! breaches that no window shows, since the VP sleeps too often to fill one.
//!
//! One scheduler with three reservations of 85 to 100 % of a CPU, slot by slot; the first one is observed.

use crate::slots::{Asleep, Ready, Runs, Server, Unit, monitor, play, play_units, reservation, sbf};
use hls_monitor::requests::Accounted;
use hls_monitor::result::WindowResult;
use hls_monitor::windows::{Monitor, Window};
use hls_units::Nanos;

/// How the scheduler is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The last one that wants the CPU has it, whenever its period ends.
    FixedPriority,
    RandomOrder,
    /// A VP that wakes up within its period keeps what it had left, however much.
    NoNewPeriod,
    /// The first reservation has one slot less than it should.
    BudgetOneShort,
}

const SLOTS: usize = 6_000;
const RUNS: u64 = 150;

/// Numbers drawn from a seed.
struct Random(u64);

impl Random {
    fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + (self.0 >> 33) % (most - least + 1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }
}

/// What a VP wants: all; or to be awake at random; or an amount at times that come again.
#[derive(Clone, Copy, Debug)]
enum Life {
    Hog,
    Random,
    Periodic { run: u64, every: u64, next: u64, left: u64 },
}

impl Life {
    fn wants(&mut self, now: u64, is_awake: bool, random: &mut Random) -> bool {
        match self {
            Life::Hog => true,
            Life::Random => random.chance(if is_awake { 87 } else { 25 }),
            Life::Periodic { run, every, next, left } => {
                if now >= *next {
                    *left += *run;
                    *next += *every + if random.chance(30) { random.between(0, 3) } else { 0 };
                }
                *left > 0
            }
        }
    }
}

/// Amounts and periods of three reservations that nearly fill a CPU.
fn draw_reservations(random: &mut Random) -> [(u64, u64); 3] {
    loop {
        let all = [(); 3].map(|()| (random.between(1, 6), random.between(4, 20)));
        let per_mille: u64 = all.iter().map(|(amount, period)| amount * 1_000 / period).sum();
        if all.iter().all(|(amount, period)| amount <= period) && (850..=997).contains(&per_mille) {
            return all;
        }
    }
}

/// The observed reservation, and what its VP did.
fn run(seed: u64, fault: Fault) -> ((u64, u64), Vec<Unit>) {
    let mut random = Random(seed);
    let reservations = draw_reservations(&mut random);
    let (amount, period) = reservations[0];
    let mut servers = reservations.map(|(amount, period)| Server { amount, period, budget: 0, end: 0 });
    let every =
        [period, period + 1, period + random.between(0, 9), 2 * period][random.between(0, 3) as usize];
    let run = random.between(1, amount);
    let periodic = Life::Periodic { run, every, next: random.between(0, 5), left: 0 };
    let first = if random.chance(50) { Life::Random } else { periodic };
    let mut other = || if random.chance(33) { Life::Hog } else { Life::Random };
    let mut lives = [first, other(), other()];
    let mut is_awake = [false; 3];
    let mut units = Vec::new();
    for now in 0..SLOTS as u64 {
        for vp in 0..3 {
            let (server, wants) = (&mut servers[vp], lives[vp].wants(now, is_awake[vp], &mut random));
            let keeps = fault == Fault::NoNewPeriod && now < server.end;
            if wants && !is_awake[vp] && !keeps {
                server.wake(now);
            }
            if fault == Fault::BudgetOneShort && vp == 0 {
                server.budget = server.budget.min((amount - 1).max(1));
            }
            is_awake[vp] = wants;
        }
        let chosen = choose(&servers, &is_awake, fault, &mut random);
        for (vp, server) in servers.iter_mut().enumerate() {
            // The period of one that sleeps is renewed when it wakes up.
            if is_awake[vp] {
                server.pass(now, chosen == Some(vp));
            }
        }
        if let (Some(0), Life::Periodic { left, .. }) = (chosen, &mut lives[0]) {
            *left -= 1;
        }
        units.push(match chosen {
            Some(0) => Runs,
            _ if is_awake[0] => Ready,
            _ => Asleep,
        });
    }
    ((amount, period), units)
}

/// Which VP runs, of those that are awake and have budget.
fn choose(servers: &[Server; 3], is_awake: &[bool; 3], fault: Fault, random: &mut Random) -> Option<usize> {
    let ready: Vec<usize> = (0..3).filter(|&vp| is_awake[vp] && servers[vp].budget > 0).collect();
    let first = ready.iter().map(|&vp| servers[vp].end).min()?;
    let candidates: Vec<usize> = match fault {
        Fault::FixedPriority => return ready.last().copied(),
        Fault::RandomOrder => ready,
        _ => ready.into_iter().filter(|&vp| servers[vp].end == first).collect(),
    };
    Some(candidates[random.between(0, candidates.len() as u64 - 1) as usize])
}

/// Windows of the lengths that are watched for a hard reservation.
fn windows(amount: u64, period: u64) -> Vec<Window> {
    let window = |length| Window {
        length: Nanos(length),
        promised: Nanos(sbf(period, amount, period, length)),
        ..Window::default()
    };
    [period + amount, 2 * period - amount, 2 * period, 3 * period, 10 * period].map(window).to_vec()
}

#[derive(Debug, Default)]
struct Found {
    requests: u64,
    tested: u64,
    /// In how many runs a request broke the promise.
    by_requests: u64,
    /// In how many runs a window broke the promise.
    by_windows: u64,
}

fn look_for(fault: Fault) -> Found {
    let mut found = Found::default();
    for seed in 0..RUNS {
        let ((amount, period), units) = run(seed, fault);
        let rule = reservation(amount, period, true, false);
        let requests = play(&units, &mut monitor(rule, Accounted::default(), 0));
        let mut watch = Monitor::new(windows(amount, period), Nanos::ZERO, Nanos::ZERO);
        play_units(&units, &mut watch);
        let of_windows = watch.finish(Nanos(SLOTS as u64));
        found.requests += requests.requests;
        found.tested += requests.tested;
        found.by_requests += u64::from(requests.verdict().is_broken());
        let is_short = |window: &WindowResult| window.verdict().is_broken();
        found.by_windows += u64::from(of_windows.iter().any(is_short));
    }
    println!("{fault:?}, {RUNS} runs: {found:?}");
    found
}

#[test]
fn a_right_scheduler_raises_no_alarm() {
    let found = look_for(Fault::None);
    assert_eq!((found.by_requests, found.by_windows), (0, 0), "{found:?}");
    assert!(found.tested * 10 > found.requests * 8, "{found:?}");
}

#[test]
fn requests_find_wrong_schedulers_that_windows_miss() {
    let wrong = [Fault::FixedPriority, Fault::RandomOrder, Fault::NoNewPeriod, Fault::BudgetOneShort];
    let least = [80, 40, 20, 60];
    for (fault, least) in wrong.into_iter().zip(least) {
        let found = look_for(fault);
        assert!(found.by_requests >= least, "{fault:?} {found:?}");
        assert!(found.by_requests >= found.by_windows, "{fault:?} {found:?}");
    }
}
