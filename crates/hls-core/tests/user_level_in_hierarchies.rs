//! User-level schedulers in hierarchies: below other policies, below and beside each other, and anywhere in random
//! hierarchies. The tests act as the processes.

use crate::support::{ByHand, MS, policy_of, timeline};
use hls_core::pages::{Decided, Knows, PageEvent, UserWord, decision};
use hls_core::{Calls, CoreScheduler, CoreVp, Params, policies};
use hls_scenario::{Machine, Script, Trial};
use hls_units::Nanos;

/// The policy of the scheduler above is replaced twice: the decisions below remain valid.
#[test]
fn policies_above_come_and_go() {
    let mut machine = Machine::new(1, None);
    let root = machine.root("fixed-priority", &[]);
    let s = machine.below(root, &[1], "user-level", &[]);
    let threads: Vec<CoreVp> = (0..4).map(|slot| machine.thread(s, &[slot, slot, 0])).collect();
    threads[1..].iter().for_each(|&thread| machine.wake(thread));
    let events = machine.core.kernel_page(s).unwrap().events;
    machine.core.write_page(s, UserWord::Next(0), decision(events, Knows::Child, 1)).unwrap();
    for policy in ["round-robin", "eevdf", "fixed-priority"].into_iter().map(policy_of) {
        let presets: Vec<u64> = policy.scheduler_params.iter().map(|param| param.default.unwrap()).collect();
        machine.core.replace(root, policy.id, Params::from_slice(&presets), machine.now).unwrap();
        machine.settled();
        assert_eq!(timeline(&mut machine, &threads, 30), "b".repeat(30), "{}", policy.name);
    }
    assert_eq!(machine.core.kernel_page(s).unwrap().events, events, "it has not noticed");
}

/// Two such schedulers, one below the other: the urgencies at the closest common scheduler of the running and the
/// woken thread decide whether the woken thread runs at once, and no agent is asked. Each process gets the events of
/// its own children.
#[test]
fn the_closest_common_scheduler_decides_about_a_wake_up() {
    let mut machine = Machine::new(1, None);
    let outer = machine.root("user-level", &[]);
    let inner = machine.below(outer, &[5, 1, 0], "user-level", &[]);
    let below = |machine: &mut Machine, s, urgency, slot| machine.thread(s, &[urgency, slot, 100 + slot]);
    let upcall = below(&mut machine, inner, 9, 1);
    let other = below(&mut machine, inner, 2, 2);
    let beside = below(&mut machine, outer, 7, 2);
    let threads = [upcall, other, beside];
    let runs = |machine: &mut Machine| timeline(machine, &threads, 2);
    machine.wake(other);
    machine.wake(upcall);
    assert_eq!(runs(&mut machine), "aa", "at once: it is the inner one's affair");
    machine.block(upcall);
    machine.wake(beside);
    assert_eq!(runs(&mut machine), "cc", "more urgent than the inner scheduler");
    machine.wake(upcall);
    assert_eq!(runs(&mut machine), "cc", "its urgency means nothing to the outer one");
    machine.block(beside);
    assert_eq!(runs(&mut machine), "aa", "what was pending");
    machine.block(upcall);
    machine.block(other);
    let urgent = [(UserWord::Urgency(1), 8), (UserWord::Touched, 1 << 1)];
    urgent.into_iter().for_each(|(word, value)| machine.core.write_page(outer, word, value).unwrap());
    machine.wake(beside);
    machine.wake(upcall);
    assert_eq!(runs(&mut machine), "aa", "the outer process has said that the inner scheduler goes first");
    let heard = |s| {
        let page = machine.core.kernel_page(s).unwrap();
        (1..=page.events)
            .filter_map(|number| page.event(number))
            .filter(|(kind, _)| *kind == PageEvent::Wakeup)
            .count()
    };
    assert_eq!([heard(outer), heard(inner)], [4, 4]);
    let by_agent = |s| machine.core.decided(s).unwrap().by_agent;
    assert_eq!([by_agent(outer), by_agent(inner)], [0, 0]);
}

/// A process has only its own page: whatever it writes there, the scheduler beside it is not affected.
#[test]
fn a_page_affects_its_scheduler_alone() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("fixed-priority", &[]);
    let [hostile, other] = [1, 1].map(|priority| machine.below(root, &[priority], "user-level", &[]));
    let children =
        |machine: &mut Machine, s| (1..4).map(|n| machine.thread(s, &[n, n, 0])).collect::<Vec<_>>();
    let (its, others) = (children(&mut machine, hostile), children(&mut machine, other));
    its.iter().chain(&others).for_each(|&thread| machine.wake(thread));
    for place in 0..UserWord::COUNT {
        machine.core.write_page(hostile, UserWord::At(place), 0x1001 | 1 << (place % 64)).unwrap();
        machine.core.yield_now(others[2], machine.now);
        machine.settled();
        machine.run_to(machine.now + Nanos(MS / 10));
        assert!(machine.running.contains(&Some(others[2])), "word {place}");
    }
    assert!(machine.core.user_page(other).unwrap().words().all(|word| word == 0));
    let Decided { followed, stale, by_agent, .. } = machine.core.decided(other).unwrap();
    assert_eq!((followed, stale, by_agent), (0, 0, 0));
}

/// Hierarchies in which processes that write random words, decisions and others, decide for half of the schedulers:
/// all invariants hold after every event, no thread is on two CPUs, and decisions terminate. `HLS_SEEDS=20000` runs a
/// long campaign.
#[test]
fn nothing_breaks_whatever_processes_write() {
    let seeds = std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_500);
    let (trial, mut sum) = (Trial::of_built_in(), [0; 4]);
    for seed in 0..seeds {
        let script = Script::draw(seed, 200, policies(), Some(policy_of("user-level")));
        let (stage, ended) = trial.play(&script);
        if let Err((after, failure)) = ended {
            panic!("seed {seed}, after {after} events: {failure}");
        }
        let core = &stage.machine.core;
        for decided in (1..=20).filter_map(|scheduler| core.decided(CoreScheduler(scheduler))) {
            let Decided { followed, stale, by_urgency, by_agent, .. } = decided;
            for (sum, count) in sum.iter_mut().zip([followed, stale, by_urgency, by_agent]) {
                *sum += count;
            }
        }
    }
    println!("followed, stale, by urgency, by agent: {sum:?}");
    assert!(sum.iter().all(|sum| *sum > seeds), "{sum:?} is hardly a test");
}
