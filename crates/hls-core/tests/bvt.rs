//! What the policy `bvt` decides: schedules that were worked out by hand, a character a millisecond.
//!
//! From its source: figures 1 to 5 and section 5, in experiments/bvt-*.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreScheduler, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with a root that shares the CPU with this allowance, in milliseconds, and threads with these parameters:
/// share, and in milliseconds warp, limit and unwarp time.
struct Bench {
    machine: Machine,
    threads: Vec<CoreVp>,
}

impl Bench {
    fn new(allowance: u64, threads: &[[u64; 4]]) -> Bench {
        Bench::with(&[allowance], threads)
    }

    /// The parameters of the scheduler are in milliseconds, too, in the order of the policy's list.
    fn with(params: &[u64], threads: &[[u64; 4]]) -> Bench {
        let mut machine = Machine::new(1, None);
        let params: Vec<u64> = params.iter().map(|param| param * MS).collect();
        let bvt: CoreScheduler = machine.root("bvt", &params);
        let params = |[share, warp, limit, unwarp]: [u64; 4]| [share, warp * MS, limit * MS, unwarp * MS];
        let threads = threads.iter().map(|&thread| machine.thread(bvt, &params(thread))).collect();
        Bench { machine, threads }
    }

    fn wake(&mut self, thread: usize) {
        self.machine.wake(self.threads[thread]);
    }

    fn block(&mut self, thread: usize) {
        self.machine.block(self.threads[thread]);
    }

    fn stall(&mut self, thread: usize) {
        self.machine.core.stall(self.threads[thread], self.machine.now);
        self.machine.settled();
    }

    /// Which thread runs in each millisecond until `end`: `f`, `g`, `h`, `k`; `.`: none.
    fn run_to(&mut self, end: u64) -> String {
        let mut runs = String::new();
        while self.machine.now < Nanos(end * MS) {
            let before: Vec<u64> = self.ran();
            let now = self.machine.now;
            self.machine.run_to(now + Nanos(MS));
            let nth = (self.ran().iter().zip(&before)).position(|(now, before)| now - before == MS);
            runs.push(nth.map_or('.', |nth| ['f', 'g', 'h', 'k'][nth]));
        }
        runs
    }

    fn ran(&self) -> Vec<u64> {
        self.threads.iter().map(|&vp| self.machine.core.ran(vp, self.machine.now).0).collect()
    }
}

const EVEN: [u64; 4] = [1, 0, 0, 0];

#[test]
fn two_even_threads_take_turns_as_long_as_the_allowance_lets_them() {
    let mut bench = Bench::new(3, &[EVEN, EVEN]);
    bench.wake(0);
    bench.wake(1);
    assert_eq!(bench.run_to(15), "fffggggggffffff");
}

/// The second thread is charged twice as much for a millisecond, and may get ahead by twice as much.
#[test]
fn a_thread_with_twice_the_share_runs_for_twice_as_long() {
    let mut bench = Bench::new(4, &[[2, 0, 0, 0], EVEN]);
    bench.wake(0);
    bench.wake(1);
    assert_eq!(bench.run_to(24), "ffffggggggffffffffffffgg");
}

/// A thread that comes while another runs alone has saved nothing, and waits for the allowance.
#[test]
fn a_thread_that_wakes_up_has_saved_nothing() {
    let mut bench = Bench::new(2, &[EVEN, EVEN]);
    bench.wake(0);
    assert_eq!(bench.run_to(6), "ffffff");
    bench.wake(1);
    assert_eq!(bench.run_to(14), "ffggggff");
}

#[test]
fn a_thread_that_slept_has_saved_nothing() {
    let mut bench = Bench::new(2, &[EVEN, EVEN]);
    bench.wake(0);
    bench.wake(1);
    assert_eq!(bench.run_to(2), "ff");
    bench.block(1);
    assert_eq!(bench.run_to(6), "ffff");
    bench.wake(1);
    assert_eq!(bench.run_to(16), "ffggggffff");
}

#[test]
fn a_warped_thread_runs_at_once_and_pays_later() {
    let mut bench = Bench::new(2, &[EVEN, [1, 6, 0, 0]]);
    bench.wake(0);
    assert_eq!(bench.run_to(4), "ffff");
    bench.wake(1);
    assert_eq!(bench.run_to(20), "ggggggggffffgggg");
}

/// By the paper's rule (section 6), a warp as long as a request is enough for the highest level. But the request at 4
/// waits, because the thread still owes what it borrowed before. A warp as long as the request plus that debt is
/// enough.
#[test]
fn a_warp_that_forgets_the_debt_is_too_short() {
    let run = |warp: u64| {
        let mut bench = Bench::new(3, &[[1, warp, 0, 0], EVEN, EVEN, EVEN]);
        let mut runs = String::new();
        for at in 0..17 {
            if at % 4 == 0 {
                bench.wake(0);
            }
            if at == 0 {
                (1..4).for_each(|thread| bench.wake(thread));
            }
            let ran = bench.run_to(at + 1);
            if ran == "f" {
                bench.block(0);
            }
            runs += &ran;
        }
        runs
    };
    assert_eq!(run(1), "fggghhhkkkfgfhhhk");
    assert_eq!(run(3), "fgggfkkkfhhhfgggf");
}

/// A thread that loops while warped runs for its limit, and then shares the CPU like any other thread.
#[test]
fn a_warp_ends_with_its_limit() {
    let mut bench = Bench::new(2, &[EVEN, [1, 60, 3, 10]]);
    bench.wake(0);
    assert_eq!(bench.run_to(2), "ff");
    bench.wake(1);
    assert_eq!(bench.run_to(5), "ggg");
    // The warped thread is ahead by 3: the other thread goes on until it is ahead by the allowance. The warped thread
    // does not warp again by itself.
    assert_eq!(bench.run_to(16), "fffffggggff");
    assert_eq!(bench.run_to(40), "ffggggffffggggffffggggff");
}

/// The rest of the limit survives a short sleep; the used part is renewed when the unwarp time is over.
#[test]
fn a_limit_is_there_anew_when_the_unwarp_time_is_over() {
    let mut bench = Bench::new(2, &[EVEN, [1, 60, 3, 10]]);
    bench.wake(0);
    bench.wake(1);
    assert_eq!(bench.run_to(2), "gg");
    bench.block(1);
    assert_eq!(bench.run_to(4), "ff");
    bench.wake(1);
    // The last of three; then it is even with the other thread.
    assert_eq!(bench.run_to(5), "g");
    assert_eq!(bench.run_to(9), "fffg");
    bench.block(1);
    assert_eq!(bench.run_to(10), "f");
    // It may not warp until 15, ten after it last ran warped. It is behind by one then, so it has run meanwhile.
    bench.wake(1);
    let barred = bench.run_to(15);
    assert!(barred.contains('f'), "{barred}");
    assert_eq!(bench.run_to(18), "ggg");
    assert_eq!(bench.run_to(20), "ff");
}

/// `on` and `off` take effect at once, for waiting and for running threads.
#[test]
fn messages_turn_the_warp_on_and_off() {
    let (on, off) = (0, 1);
    let mut bench = Bench::new(2, &[EVEN, [1, 60, 0, 0]]);
    let tell = |bench: &mut Bench, message| {
        let (vp, now) = (bench.threads[1], bench.machine.now);
        bench.machine.core.tell(vp, message, hls_core::Params::default(), now).unwrap();
        bench.machine.settle().unwrap();
    };
    tell(&mut bench, off);
    bench.wake(0);
    bench.wake(1);
    assert_eq!(bench.run_to(1), "f");
    tell(&mut bench, on);
    assert_eq!(bench.run_to(5), "gggg");
    tell(&mut bench, off);
    // The other thread is behind by 3, and goes on until it is ahead by 2.
    assert_eq!(bench.run_to(11), "fffffg");
}

/// Without a credit a page fault is a sleep like any other.
#[test]
fn a_stall_without_credit_is_a_sleep() {
    let mut bench = Bench::with(&[2, 0], &[EVEN, EVEN]);
    bench.wake(0);
    bench.wake(1);
    assert_eq!(bench.run_to(2), "ff");
    bench.stall(1);
    assert_eq!(bench.run_to(6), "ffff");
    bench.wake(1);
    assert_eq!(bench.run_to(16), "ffggggffff");
}

/// The second thread is behind by 6 when its page is there. It keeps 3 of these, and so it runs at once, until it is
/// ahead by the allowance of 2. A voluntary sleep keeps nothing.
#[test]
fn a_stalled_thread_keeps_its_credit() {
    let run = |stalls: bool| {
        let mut bench = Bench::with(&[2, 3], &[EVEN, EVEN]);
        bench.wake(0);
        bench.wake(1);
        assert_eq!(bench.run_to(2), "ff");
        if stalls {
            bench.stall(1)
        } else {
            bench.block(1)
        }
        assert_eq!(bench.run_to(6), "ffff");
        bench.wake(1);
        bench.run_to(16)
    };
    assert_eq!(run(true), "gggggffffg");
    assert_eq!(run(false), "ffggggffff");
}

/// No thread keeps more than it had: the second thread has missed only 4.
#[test]
fn a_credit_is_a_cap() {
    let mut bench = Bench::with(&[2, 100], &[EVEN, EVEN]);
    bench.wake(0);
    bench.wake(1);
    assert_eq!(bench.run_to(4), "ffgg");
    bench.stall(1);
    assert_eq!(bench.run_to(8), "ffff");
    bench.wake(1);
    assert_eq!(bench.run_to(14), "gggggg");
}

/// In the paper a stalled thread holds the scheduler's virtual time back, and all threads that wake up go on from
/// there. Here a thread that wakes up meanwhile has saved nothing.
#[test]
fn a_stalled_thread_holds_nobody_back() {
    let mut bench = Bench::with(&[2, 3], &[EVEN, EVEN, EVEN]);
    bench.wake(0);
    bench.wake(1);
    assert_eq!(bench.run_to(2), "ff");
    bench.stall(1);
    assert_eq!(bench.run_to(6), "ffff");
    bench.wake(1);
    assert_eq!(bench.run_to(7), "g");
    // The second thread is charged for it, and goes on.
    bench.machine.core.yield_now(bench.threads[1], bench.machine.now);
    bench.machine.settled();
    assert_eq!(bench.run_to(8), "g");
    // It is at 5. The third thread begins at 6, where the first one is.
    bench.wake(2);
    assert_eq!(bench.run_to(17), "gggffhhhh");
}

/// Another thread, which has a great share, preempts the first thread after each 1 ms and runs for 1 ms, too. In
/// units of 10 ms the first thread is charged tenfold, and gets a tenth of the CPU time of the third thread, which
/// has the same share. The paper assumes an error of one unit.
#[test]
fn in_units_a_thread_that_is_preempted_often_gets_a_part_of_its_share() {
    let run = |unit: u64| {
        let mut bench = Bench::with(&[20, 0, unit], &[EVEN, [1000, 1000, 0, 0], EVEN]);
        bench.wake(0);
        bench.wake(2);
        for at in 0..4_000 {
            let ran = bench.run_to(at + 1);
            match ran.as_str() {
                "f" => bench.wake(1),
                "g" => bench.block(1),
                _ => {}
            }
        }
        let ran = bench.ran();
        (ran[0] / MS, ran[2] / MS)
    };
    let (preempted, other) = run(0);
    assert!(preempted.abs_diff(other) <= 40, "{preempted} ms and {other} ms");
    let (preempted, other) = run(10);
    assert!((9..=11).contains(&(other / preempted)), "{preempted} ms and {other} ms");
}

/// Which thread runs on each of two CPUs in each millisecond until the end, of three even threads that never block.
fn on_two_cpus(migration: u64) -> [String; 2] {
    let mut machine = Machine::new(2, None);
    let bvt = machine.root("bvt", &[2 * MS, 0, 0, migration * MS]);
    let threads: Vec<CoreVp> = (0..3).map(|_| machine.thread(bvt, &EVEN)).collect();
    threads.iter().for_each(|&vp| machine.wake(vp));
    let mut runs = [String::new(), String::new()];
    for end in 1..=24 {
        for (runs, running) in runs.iter_mut().zip(&machine.running) {
            let nth = threads.iter().position(|&vp| Some(vp) == *running);
            runs.push(nth.map_or('.', |nth| ['f', 'g', 'h'][nth]));
        }
        machine.run_to(Nanos(end * MS));
    }
    runs
}

/// Without a penalty the first thread changes its CPU at each of its turns. With a penalty of 1, a waiting thread
/// must be earlier by 1, and a running thread goes on for 1 longer before another CPU's thread takes over. With a
/// great penalty the threads of one CPU share it, however much the thread on the other CPU gets.
#[test]
fn a_penalty_keeps_threads_on_their_cpus() {
    assert_eq!(on_two_cpus(0), ["ffhhhhffhhhhffhhhhffhhhh", "ggffggggffggggffggggffgg"]);
    assert_eq!(on_two_cpus(1), ["ffhhhhhhhhgggggggggfffff", "gggggfffffffffhhhhhhhhhg"]);
    assert_eq!(on_two_cpus(100), ["ffhhhhffffhhhhffffhhhhff", "gggggggggggggggggggggggg"]);
}

/// The third thread wakes up warped. The first thread is further ahead than the second, which has twice its share: so
/// the first loses its CPU to the third. With a great penalty the second loses its CPU, because the third last ran
/// there.
#[test]
fn a_wake_up_counts_the_penalty() {
    let who_waits = |migration: u64| {
        let mut machine = Machine::new(2, None);
        let bvt = machine.root("bvt", &[10 * MS, 0, 0, migration * MS]);
        let threads = [[1, 0], [2, 0], [1, 5 * MS]].map(|params| machine.thread(bvt, &params));
        let [f, g, h] = threads;
        machine.wake(f);
        machine.wake(h);
        machine.run_to(Nanos(MS));
        machine.block(h);
        machine.wake(g);
        machine.run_to(Nanos(4 * MS));
        machine.wake(h);
        threads.iter().position(|vp| !machine.running.contains(&Some(*vp)))
    };
    assert_eq!(who_waits(0), Some(0));
    assert_eq!(who_waits(100), Some(1));
}

/// Virtual times wrap after 834 days of CPU time of a VP of share 1. Twenty times, one thread has the CPU alone for
/// 100 days while the other sleeps; then both share a minute evenly, as on the first day.
#[test]
fn virtual_times_wrap_after_years() {
    const DAY: u64 = 86_400_000;
    let mut bench = Bench::with(&[1000, 500], &[EVEN, [1, 3000, 0, 0]]);
    for round in 0..20 {
        let (alone, other) = (round % 2, 1 - round % 2);
        bench.wake(alone);
        bench.machine.run_to(bench.machine.now + Nanos(100 * DAY * MS));
        bench.wake(other);
        let before = bench.ran();
        bench.machine.run_to(bench.machine.now + Nanos(60_000 * MS));
        let shared: Vec<u64> =
            bench.ran().iter().zip(&before).map(|(now, before)| (now - before) / MS).collect();
        assert_eq!(shared.iter().sum::<u64>(), 60_000);
        assert!(shared[0].abs_diff(shared[1]) <= 2 * (1_000 + 3_000), "round {round}: {shared:?}");
        bench.stall(alone);
        bench.block(other);
    }
}

/// The greatest error of one of `children` even threads on several CPUs, in milliseconds times the number of other
/// threads and CPUs together. The other threads sleep while it runs and are runnable while it waits, or act at
/// random.
fn worst_error_on(cpus: u64, children: u64, migration: u64) -> u64 {
    let mut worst = 0;
    for seed in 0..300 {
        let mut random = oorandom::Rand32::new(seed);
        let mut machine = Machine::new(cpus as u16, None);
        let bvt = machine.root("bvt", &[2 * MS, 0, 0, migration * MS]);
        let threads: Vec<CoreVp> = (0..children).map(|_| machine.thread(bvt, &EVEN)).collect();
        let (mut wants, mut error) = (vec![false; threads.len()], 0);
        for end in 1..=1_000 {
            let first_runs = machine.running.contains(&Some(threads[0]));
            for (n, &vp) in threads.iter().enumerate() {
                let to_want = match random.rand_range(0..100) {
                    0..40 => wants[n],
                    40..70 if n > 0 => !first_runs,
                    _ => n == 0 || random.rand_range(0..2) == 0,
                };
                match (wants[n], to_want) {
                    (false, true) => machine.wake(vp),
                    (true, false) => machine.block(vp),
                    _ => {}
                }
                wants[n] = to_want;
            }
            let gain = if machine.running.contains(&Some(threads[0])) { children + cpus - 1 } else { 0 };
            machine.run_to(Nanos(end * MS));
            error = if wants[0] { (error + cpus).saturating_sub(gain) } else { 0 };
            worst = worst.max(error);
        }
    }
    worst
}

/// With equal shares of m CPUs, each of K threads gets m/(K+m-1) of any time in which it is runnable, minus
/// (K-1)*2*(C+M)/(K+m-1). Three threads on two CPUs reach that without a penalty: with 1% less allowance the bound
/// would not hold.
#[test]
fn equal_shares_of_several_cpus_have_a_bound() {
    for (cpus, children, migration) in [(2, 3, 0), (2, 4, 0), (2, 3, 1), (2, 4, 2), (4, 5, 0), (4, 6, 1)] {
        let bound = (children - 1) * 2 * (2 + migration);
        let worst = worst_error_on(cpus, children, migration);
        println!("{children} threads on {cpus} CPUs, a penalty of {migration}: {worst} of {bound}");
        assert!(worst <= bound, "{children} threads on {cpus} CPUs: {worst} is above {bound}");
        assert!((cpus, children, migration) != (2, 3, 0) || worst == bound, "{worst} is below {bound}");
    }
}

/// A hog beside a scheduler with a hog and a thread that warps by 4 and wakes up at 7. The scheduler's VP may warp by
/// 6. It does not warp while its hog is the next to run.
fn two_levels(threshold: u64) -> Bench {
    let mut machine = Machine::new(1, None);
    let root = machine.root("bvt", &[2 * MS]);
    let below = machine.below(root, &[1, 6 * MS, 0, 0], "bvt", &[2 * MS, 0, 0, 0, threshold]);
    let threads = [(root, 0), (below, 4 * MS), (below, 0)].map(|(s, warp)| machine.thread(s, &[1, warp]));
    let mut bench = Bench { machine, threads: threads.to_vec() };
    bench.wake(0);
    bench.wake(2);
    assert_eq!(bench.run_to(7), "ffhhhhf");
    bench.wake(1);
    bench
}

/// When the thread wakes up, the scheduler comes ahead of the first hog, too.
#[test]
fn a_scheduler_is_warped_as_its_children_are() {
    let mut bench = two_levels(0);
    assert_eq!(bench.run_to(9), "gg");
    bench.block(1);
    // The scheduler's VP is at 6, the first hog at 3: the hog runs until it is at 8.
    assert_eq!(bench.run_to(20), "fffffhhhhff");
}

/// The warp of the scheduler's VP is a cap on the warp of its child; if no child warps, the VP warps as a thread
/// does.
#[test]
fn a_scheduler_is_warped_by_its_own_warp_at_most() {
    let run = |own: u64, child: u64| {
        let mut machine = Machine::new(1, None);
        let root = machine.root("bvt", &[2 * MS]);
        let below = machine.below(root, &[1, own * MS, 0, 0], "bvt", &[2 * MS]);
        let threads = [(root, 0), (below, child * MS)].map(|(s, warp)| machine.thread(s, &[1, warp]));
        let mut bench = Bench { machine, threads: threads.to_vec() };
        bench.wake(0);
        assert_eq!(bench.run_to(4), "ffff");
        bench.wake(1);
        bench.run_to(20)
    };
    assert_eq!(run(0, 6), run(0, 0));
    let expected = run(6, 0);
    assert_eq!(expected, "ggggggggffffgggg");
    assert_eq!([run(6, 6), run(6, 100)], [expected.clone(), expected]);
    assert_ne!(run(6, 3), run(6, 6));
}

/// With a threshold the scheduler's VP warps by all of its warp or by nothing.
fn with_threshold(threshold: u64) -> String {
    two_levels(threshold).run_to(38)
}

/// When the thread wakes up, the scheduler's VP moves from 4 to -2; the first hog is at 3, so the VP may run until
/// 5. But after 6 the hog below it, which does not warp, is the next to run: so the scheduler is at 10, and the first
/// hog runs until 12. Then the hog below gets 4, and the thread comes again, ahead of both hogs.
#[test]
fn from_the_threshold_on_a_scheduler_warps_fully() {
    let expected = "ggggggfffffffffhhhhggggffffffff";
    assert_eq!(with_threshold(3 * MS), expected);
    // A warp of the threshold itself is enough.
    assert_eq!(with_threshold(4 * MS), expected);
}

/// The thread comes only ahead of its sibling hog. It gets half of its scheduler's time; the scheduler is even with
/// the first hog.
#[test]
fn below_the_threshold_a_scheduler_does_not_warp() {
    let expected = "fffggggffffhhggffffhhggffffhhgg";
    assert_eq!(with_threshold(4 * MS + 1), expected);
    assert_eq!(with_threshold(3_600_000 * MS), expected);
}

/// Without a threshold it warps by 4, as the thread does.
#[test]
fn without_a_threshold_a_scheduler_warps_as_its_child_does() {
    assert!(with_threshold(0).starts_with("gggggf"), "{}", with_threshold(0));
}

/// For the threshold of the scheduler `middle`, the scheduler `below` counts with its present warp: with its own
/// warp, once the thread below it warps by the threshold of `below`.
#[test]
fn a_threshold_counts_the_warp_of_a_scheduler() {
    let comes_ahead = |thread: u64, own: u64| {
        let mut machine = Machine::new(1, None);
        let root = machine.root("bvt", &[2 * MS]);
        let middle = machine.below(root, &[1, 6 * MS, 0, 0], "bvt", &[2 * MS, 0, 0, 0, 5 * MS]);
        let below = machine.below(middle, &[1, own * MS, 0, 0], "bvt", &[2 * MS, 0, 0, 0, 3 * MS]);
        let threads = [(root, 0), (below, thread)].map(|(s, warp)| machine.thread(s, &[1, warp * MS]));
        let mut bench = Bench { machine, threads: threads.to_vec() };
        bench.wake(0);
        bench.wake(1);
        bench.run_to(5);
        bench.run_to(16)
    };
    let ahead = comes_ahead(3, 5);
    assert_eq!(comes_ahead(100, 5), ahead);
    let even = comes_ahead(2, 5);
    assert_eq!(comes_ahead(3, 4), even);
    assert_ne!(ahead, even);
}

/// The threshold is the fifth parameter of a scheduler; a VP has four, and a fifth one is refused.
#[test]
fn a_vp_has_four_parameters() {
    let mut machine = Machine::new(1, None);
    let root = machine.root("bvt", &[2 * MS, 0, 0, 0, 3_600_000 * MS]);
    let refused = |params: &[u64], machine: &mut Machine| {
        machine.core.attach(root, None, hls_core::Params::from_slice(params)).is_err()
    };
    assert!(refused(&[1, 0, 0, 0, 1], &mut machine));
    assert!(!refused(&[1, 0, 0, 0, 0], &mut machine));
    let bvt = hls_core::policies().iter().find(|policy| policy.name == "bvt").expect("it is built in");
    let params = hls_core::Params([2 * MS, 0, 0, 0, 3_600_000 * MS + 1]);
    assert!(machine.core.create_scheduler(bvt.id, params).is_err());
}

/// A thread with a warp waits for a CPU that it may use. On another one its scheduler runs a thread without a warp, and
/// is not warped there: otherwise it would win that CPU, and lose it, without end.
#[test]
fn a_warp_that_a_cpu_cannot_use_does_not_win_it() {
    let mut m = Machine::new(2, None);
    let root = m.root("bvt", &[MS]);
    let keeps_first = m.thread(root, &[1, 1_000 * MS]);
    let other = m.thread(root, &[1]);
    let below = m.below(root, &[1, 500 * MS], "bvt", &[MS]);
    let [warped, plain] = [500 * MS, 0].map(|warp| m.thread(below, &[1, warp]));
    for thread in [keeps_first, warped] {
        m.core.set_affinity(thread, 0b01, m.now).unwrap();
    }
    [keeps_first, plain, other].into_iter().for_each(|thread| m.wake(thread));
    while m.running[1] != Some(other) {
        m.run_to(m.now + Nanos(MS / 10));
    }
    let before = m.core.decisions();
    m.wake(warped);
    let choices = m.core.decisions() - before;
    assert!(choices < 10, "{choices} choices");
    m.run_to(m.now + Nanos(100 * MS));
    let share = m.ran_ms(plain) / m.ran_ms(other);
    assert_eq!(m.running[0], Some(keeps_first));
    assert!((0.9..1.1).contains(&share), "{share}");
    m.block(keeps_first);
    assert_eq!(m.running[0], Some(warped));
}
