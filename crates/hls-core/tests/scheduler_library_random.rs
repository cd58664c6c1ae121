//! What the library of `include/hls_scheduler.h` tells a policy about its children agrees with the core, in random
//! runs: agents that are quick, slow or seldom asked, children that come, go and take each other's slots, and a
//! policy that does random things within its rules (`user_level/mirror.c`). `HLS_SEEDS=20000` runs a long campaign.

use crate::support::MS;
use crate::support::agent::{self, Program, World};
use hls_core::pages::{EVENT_KINDS, EVENTS, HELD, KernelPage, KernelSlot, PageEvent, SLOTS, UserPage};
use hls_core::{CoreVp, VpState};
use hls_units::Nanos;
use oorandom::{Rand32, Rand64};
use std::fs;
use std::path::Path;

const MIRROR: &str = "crates/hls-core/tests/user_level/mirror.c";

/// What a run has covered, so that a test can check that the run was useful.
#[derive(Debug, Default)]
struct Shown {
    /// Comparisons of the policy's beliefs with the core's state.
    comparisons: u64,
    /// The comparisons in turns that began with more new events than the ring holds.
    overruns: u64,
    /// Stale decisions, which were not followed; and followed decisions.
    stale: u64,
    followed: u64,
    /// Children that came into a used slot.
    reuses: u64,
}

/// A run: its threads by slot, its earlier threads, and the last event at the last comparison.
struct Run {
    world: World,
    random: Rand32,
    threads: Vec<(u64, CoreVp)>,
    used: [bool; SLOTS],
    compared: u64,
    shown: Shown,
}

impl Run {
    fn new(program: Program, seed: u64) -> Run {
        let mut random = Rand32::new(seed);
        let cpus = [1, 1, 2, 3][random.rand_range(0..4) as usize];
        let allowance = u64::from(random.rand_range(1..11));
        let mut world = World::with_cpus(cpus, program, allowance);
        world.turn_takes = Nanos([0, 0, 20_000, 700_000][random.rand_range(0..4) as usize]);
        let shown = Shown::default();
        Run { world, random, threads: Vec::new(), used: [false; SLOTS], compared: 0, shown }
    }

    fn step(&mut self) {
        let one = self.threads.get(self.random.rand_range(0..self.threads.len().max(1) as u32) as usize);
        let one = one.copied();
        match (self.random.rand_range(0..20), one) {
            (0 | 1, _) => self.add(),
            (2, Some((_, vp))) => {
                self.threads.retain(|(_, other)| *other != vp);
                self.world.remove(vp);
            }
            (3..8, Some((_, vp))) => self.world.wake(vp),
            (8..12, Some((_, vp))) => self.world.block(vp),
            (12..14, Some((_, vp))) => self.world.yield_now(vp),
            (14, Some((_, vp))) => {
                for _ in 0..self.random.rand_range(1..60) {
                    self.world.wake(vp);
                    self.world.block(vp);
                }
            }
            _ => {
                let length = self.random.rand_range(0..3_000_000);
                self.world.run_to(self.world.machine.now + Nanos(length.into()));
            }
        }
        self.compare();
    }

    fn add(&mut self) {
        let slot = u64::from(self.random.rand_range(1..9));
        if self.threads.iter().any(|(other, _)| *other == slot) {
            return;
        }
        let vp = self.world.thread(slot);
        self.threads.push((slot, vp));
        self.shown.reuses += u64::from(std::mem::replace(&mut self.used[slot as usize], true));
    }

    /// If the policy knows all events, compares its beliefs with the core's state.
    fn compare(&mut self) {
        let world = &self.world;
        let core = &world.machine.core;
        let (kernel, user) =
            (core.kernel_page(world.scheduler).unwrap(), core.user_page(world.scheduler).unwrap());
        if world.is_thinking() || kernel.events != user.answered || kernel.events == self.compared {
            return;
        }
        let says = |what: &str, slot: u64| world.program.asked(what, slot);
        assert_eq!(says("mirror_says_faults", 0), 0);
        assert_eq!(says("mirror_says_seen", 0), kernel.events);
        assert_eq!(says("mirror_says_wanting", 0), kernel.wanting & !1);
        for slot in 1..SLOTS as u64 {
            let thread = self.threads.iter().find(|(taken, _)| *taken == slot);
            let found = world.found.slot[slot as usize];
            assert_eq!((says("mirror_says_present", 0) >> slot) & 1, u64::from(thread.is_some()));
            assert_eq!(user.urgency[slot as usize], says("mirror_says_urgency", slot));
            let Some((_, vp)) = thread else {
                assert_eq!(user.urgency[slot as usize], 0);
                assert_eq!(user.slice[slot as usize] << 16, 0, "a slice without a child");
                continue;
            };
            assert_eq!(says("mirror_says_child", slot), found.child);
            assert_eq!(says("mirror_says_ran_ns", slot), found.ran_ns);
            assert!(found.ran_ns <= core.ran(*vp, world.machine.now).0);
            assert_eq!(kernel.wanting >> slot & 1 == 1, core.state(*vp) != VpState::Waiting);
            let is_held = user.urgency[slot as usize] == HELD && user.touched == 0;
            assert!(!is_held || core.state(*vp) != VpState::Running, "slot {slot} is held, and runs");
        }
        self.shown.comparisons += 1;
        self.shown.overruns += u64::from(kernel.events - self.compared > EVENTS as u64);
        self.compared = kernel.events;
    }
}

/// Pages of a scheduler without events.
fn empty_pages() -> (KernelPage, UserPage) {
    let (slot, ring, words) = ([KernelSlot::default(); SLOTS], [0; EVENTS], [0; 64]);
    let kernel =
        KernelPage { version: 1, events: 0, asked: 0, wanting: 0, at_ns: 0, cpus: 1, width: 1, slot, ring };
    let (next, urgency, slice, ask) = (words, words, words, [0; EVENT_KINDS]);
    (kernel, UserPage { answered: 0, wake_at_ns: 0, touched: 0, ask, next, urgency, slice })
}

/// Writes an event into a kernel page, as the engine does.
fn write_event(page: &mut KernelPage, kind: PageEvent, slot: usize) {
    page.events += 1;
    page.ring[page.events as usize % EVENTS] = page.events << 16 | (kind as u64) << 8 | slot as u64;
    page.slot[slot].event = page.events;
    match kind {
        PageEvent::Wakeup => page.wanting |= 1 << slot,
        PageEvent::Block => page.wanting &= !(1 << slot),
        _ => {}
    }
}

/// The ring has fewer events than have happened, also when the count of events does not show it yet because the
/// engine is about to write one more. A child that may have slept meanwhile is assumed to have slept.
#[test]
fn events_that_the_ring_has_lost_are_made_up_for() {
    let mut mirror = Program::open(&agent::compile(MIRROR), "0=1");
    let (mut page, mut user) = empty_pages();
    page.slot[3].child = 33;
    write_event(&mut page, PageEvent::New, 3);
    write_event(&mut page, PageEvent::Wakeup, 3);
    mirror.turn(&page, &mut user);
    assert_eq!(mirror.asked("mirror_says_wakeups", 3), 1);
    write_event(&mut page, PageEvent::Block, 3);
    write_event(&mut page, PageEvent::Wakeup, 3);
    for _ in 0..EVENTS - 2 {
        write_event(&mut page, PageEvent::Time, 0);
    }
    let mut overtaken = page;
    let next = page.events + 1;
    overtaken.ring[next as usize % EVENTS] = next << 16 | (PageEvent::Time as u64) << 8;
    for (page, wakeups) in [(overtaken, 2), (page, 2)] {
        mirror.turn(&page, &mut user);
        assert_eq!(mirror.asked("mirror_says_wakeups", 3), wakeups);
        assert_eq!(mirror.asked("mirror_says_wanting", 0), 1 << 3);
        assert_eq!((mirror.asked("mirror_says_seen", 0), user.answered), (page.events, page.events));
    }
}

/// Whatever is in the kernel page, a policy is told nothing impossible, and decides only for its children.
#[test]
fn garbage_in_the_kernel_page_harms_no_policy() {
    let object = agent::compile(MIRROR);
    let mut random = Rand64::new(1);
    for seed in 0..seeds() / 10 {
        let mut mirror = Program::open(&object, &format!("0={}", seed + 1));
        let (mut page, mut user) = empty_pages();
        for _ in 0..200 {
            let mut word =
                || if random.rand_range(0..2) == 0 { random.rand_u64() } else { random.rand_range(0..70) };
            match word() % 4 {
                0 => page.events = word(),
                1 => page.wanting = word(),
                2 => page.slot[word() as usize % SLOTS].child = word(),
                _ => {
                    page.events += 1;
                    page.ring[page.events as usize % EVENTS] = page.events << 16 | word() & 0xffff;
                }
            }
            mirror.turn(&page, &mut user);
            assert_eq!(mirror.asked("mirror_says_faults", 0), 0, "seed {seed}");
            let decision = user.next[0];
            let named = 1 << (decision % SLOTS as u64);
            assert!(decision == 0 || named & mirror.asked("mirror_says_wanting", 0) != 0, "seed {seed}");
        }
    }
}

/// The policies of the examples, one of them in C++, and of the document, by their paths in the repository.
fn policies() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/user-level");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> =
        files.filter(|file| file.ends_with(".c")).map(|file| format!("examples/user-level/{file}")).collect();
    files.push("crates/hls-core/tests/user_level/first.cc".to_owned());
    files.push(in_the_document());
    files.sort();
    files
}

/// The first scheduler of docs/user-level-schedulers.md, written into a file.
fn in_the_document() -> String {
    let document = include_str!("../../../docs/user-level-schedulers.md");
    let (_, program) = document.split_once("```c\n").expect("a block of C");
    let (program, _) = program.split_once("```").expect("its end");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("last.c");
    fs::write(&file, program).expect("the folder of the tests can be written");
    file.to_str().expect("a path of text").to_owned()
}

/// Every policy is a program, too; whichever threads come and go, the remaining one gets the CPU.
#[test]
fn every_example_schedules() {
    for source in policies() {
        let object = agent::compile(&source);
        agent::cc(&["-pthread"], &source, &object.with_extension("program"));
        for seed in 0..seeds() / 100 {
            let mut world = World::with_cpus(1 + seed as u16 % 2, Program::open(&object, ""), 5);
            world.turn_takes = Nanos(seed % 3 * 20_000);
            let had = alone_after_all(&mut world, &mut Rand32::new(seed));
            assert!(had > Nanos(2 * MS), "{source}, seed {seed}: {had} in 40 ms");
        }
    }
}

/// Lets threads come, go, wake up and sleep at random. Returns the CPU time of one of them alone in the 40 ms after
/// that.
fn alone_after_all(world: &mut World, random: &mut Rand32) -> Nanos {
    let mut threads: Vec<CoreVp> = (1..6).map(|slot| world.thread(slot)).collect();
    for _ in 0..100 {
        let one = random.rand_range(0..5) as usize;
        match random.rand_range(0..8) {
            0 => {
                world.remove(threads[one]);
                threads[one] = world.thread(one as u64 + 1);
            }
            1..3 => world.wake(threads[one]),
            3..5 => world.block(threads[one]),
            5 => world.yield_now(threads[one]),
            _ => world.run_to(world.machine.now + Nanos(random.rand_range(0..4_000_000).into())),
        }
    }
    threads.iter().for_each(|thread| world.block(*thread));
    let last = threads[random.rand_range(0..5) as usize];
    world.wake(last);
    let before = world.machine.core.ran(last, world.machine.now);
    world.run_to(world.machine.now + Nanos(40 * MS));
    world.machine.core.ran(last, world.machine.now) - before
}

fn seeds() -> u64 {
    std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2000)
}

#[test]
fn a_policy_believes_what_the_core_knows() {
    let object = agent::compile(MIRROR);
    let mut all = Shown::default();
    for seed in 0..seeds() {
        let program = Program::open(&object, &format!("0={}", seed + 1));
        let mut run = Run::new(program, seed);
        println!("seed {seed}");
        for _ in 0..150 {
            run.step();
        }
        run.world.run_to(run.world.machine.now + Nanos(50 * MS));
        all.stale += run.world.stale;
        all.followed += run.world.machine.core.decided(run.world.scheduler).unwrap().followed;
        all.comparisons += run.shown.comparisons;
        all.overruns += run.shown.overruns;
        all.reuses += run.shown.reuses;
    }
    println!("{all:?}");
    assert!(all.comparisons > 10 * seeds() && all.overruns > seeds() / 10 && all.reuses > seeds() / 2);
    assert!(all.stale > seeds() && all.followed > 10 * seeds());
}
