//! The Rust library, crates/user-level-scheduler, does what the C library does: from the same pages both leave the
//! same words in the user page, turn by turn, in random runs, under policies that exist in both languages.

#[path = "../../user-level-scheduler/examples/edf.rs"]
mod edf;
#[path = "../../user-level-scheduler/examples/fp_rr.rs"]
mod fp_rr;

use crate::support::agent::{Program, World, compile, kernel_words, user_words};
use hls_core::CoreVp;
use hls_core::pages::{KernelPage, UserPage};
use hls_units::Nanos;
use hls_user_level_scheduler::{Event, KernelPage as Kernel, Pages, Policy, SLOTS, Scheduler, Slot, Slots};
use oorandom::Rand32;
use std::sync::atomic::{AtomicU64, Ordering};

/// The policy of `user_level/mirror.c`, without its checks: it does random things that a policy may do.
struct Mirror {
    random: u64,
}

impl Mirror {
    fn random(&mut self) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    fn act(&mut self, s: &mut Scheduler<'_>, slot: Slot) {
        match self.random() % 8 {
            0 => s.set_urgency(slot, self.random() % 5),
            1 => s.hold(slot),
            2 | 3 => s.let_go(slot),
            4 => s.give_slice(slot, self.random() % 4 * 700_000),
            5 => {
                let asked = self.random() | 1 << Event::New as u64;
                let events = Event::ALL.into_iter().filter(|event| asked >> *event as u64 & 1 == 1);
                s.ask(slot, &events.collect::<Vec<_>>());
            }
            6 => s.wake_at(s.now_ns() + self.random() % 5_000_000),
            _ => {}
        }
    }
}

impl Policy for Mirror {
    fn thread_new(&mut self, s: &mut Scheduler<'_>, slot: Slot) {
        if self.random == 0 {
            self.random = s.setting(0, 0).unwrap_or(1);
        }
        self.act(s, slot);
    }

    fn thread_remove(&mut self, s: &mut Scheduler<'_>, slot: Slot) {
        self.act(s, slot);
    }

    fn wakeup(&mut self, s: &mut Scheduler<'_>, slot: Slot) {
        self.act(s, slot);
    }

    fn block(&mut self, s: &mut Scheduler<'_>, slot: Slot) {
        self.act(s, slot);
    }

    fn yielded(&mut self, s: &mut Scheduler<'_>, slot: Slot) {
        self.act(s, slot);
    }

    fn elapsed(&mut self, s: &mut Scheduler<'_>, slot: Slot, _: u64) {
        self.act(s, slot);
    }

    fn timer(&mut self, s: &mut Scheduler<'_>) {
        s.present().for_each(|slot| s.let_go(slot));
        s.wake_at(s.now_ns() + 3_000_000);
    }

    fn schedule(&mut self, _: &mut Scheduler<'_>, _: usize, mut candidates: Slots) -> Option<Slot> {
        let slot = self.random() as usize % SLOTS;
        if self.random().is_multiple_of(4) { Some(slot) } else { candidates.next() }
    }
}

/// Has a turn of the library in Rust beside each turn of a program in C.
fn observe<P: Policy + 'static>(world: &mut World, mut policy: P, settings: &str) {
    let mut scheduler: Option<Scheduler<'static>> = None;
    let settings = settings.to_owned();
    world.observer = Some(Box::new(move |kernel: &KernelPage, before: &UserPage, after: &UserPage| {
        // Leaked: the scheduler refers to its pages, and the core's pages are elsewhere each time.
        let kernel: &'static Kernel = Box::leak(Box::new(kernel_words(kernel).map(AtomicU64::new)));
        let user: &'static _ = Box::leak(Box::new(user_words(before).map(AtomicU64::new)));
        let pages = Pages { kernel, user };
        let scheduler = scheduler.get_or_insert_with(|| Scheduler::new::<P>(pages, &settings));
        scheduler.set_pages(pages);
        scheduler.turn(&mut policy);
        for (place, (ours, theirs)) in user.iter().zip(user_words(after)).enumerate() {
            let is_of_an_event = !(3 + Event::ALL.len()..3 + 8).contains(&place);
            let ours = ours.load(Ordering::Relaxed);
            assert!(ours == *theirs || !is_of_an_event, "word {place}: {ours:#x}, in C {theirs:#x}");
        }
    }));
}

/// Lets threads come, go, wake up and sleep at random.
fn play(mut world: World, seed: u64) -> u64 {
    let mut random = Rand32::new(seed);
    world.turn_takes = Nanos(u64::from(random.rand_range(0..3)) * 30_000);
    let mut threads: Vec<CoreVp> = (1..6).map(|slot| world.thread(slot)).collect();
    for _ in 0..150 {
        let one = random.rand_range(0..5) as usize;
        match random.rand_range(0..9) {
            0 => {
                world.remove(threads[one]);
                threads[one] = world.thread(one as u64 + 1);
            }
            1..3 => world.wake(threads[one]),
            3..5 => world.block(threads[one]),
            5 => world.yield_now(threads[one]),
            6 => (0..random.rand_range(0..60)).for_each(|_| {
                world.wake(threads[one]);
                world.block(threads[one]);
            }),
            _ => world.run_to(world.machine.now + Nanos(random.rand_range(0..4_000_000).into())),
        }
    }
    world.turns
}

/// Plays a policy in both languages.
fn compare<P: Policy + 'static>(source: &str, settings: &str, policy: impl Fn() -> P) {
    let object = compile(source);
    let mut turns = 0;
    for seed in 0..30 {
        let cpus = 1 + seed as u16 % 2;
        let mut world = World::without_turns(cpus, Program::open(&object, settings), 5);
        observe(&mut world, policy(), settings);
        world.begin();
        turns += play(world, seed);
    }
    assert!(turns > 2000, "{turns} turns");
}

#[test]
fn fp_rr_writes_the_same_words() {
    compare("examples/user-level/fp_rr.c", "1=3,3ms 2=3 3=2 4=2,700us 5=1", fp_rr::FpRr::new);
}

#[test]
fn edf_writes_the_same_words() {
    compare("examples/user-level/edf.c", "1=5ms 2=7ms 3=20ms 4=100ms", edf::Edf::new);
}

#[test]
fn whatever_a_policy_may_do_writes_the_same_words() {
    compare("crates/hls-core/tests/user_level/mirror.c", "0=7", || Mirror { random: 0 });
}
