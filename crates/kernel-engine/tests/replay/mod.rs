//! Differential replay: the calls that were made to the native core are made to the BPF build, in the running kernel.
//! Every answer and, at the end, every byte of the domain and of the schedulers' pages must be the same.
//!
//! Tapes come from the simulator (all examples, hierarchies and workloads drawn from a seed) and from the random
//! scripts of `hls-scenario` (moves, messages, depth). If BPF is not allowed, the tests say so and pass; in
//! continuous integration (`CI` is set), where no one reads that, they fail.
//!
//! `HLS_SEEDS=20000 cargo test --release -p hls-kernel-engine replay::` runs a long campaign.
#![cfg(feature = "engine")]

#[path = "../../../sim/tests/runs/generator.rs"]
mod generator;
mod pages;
mod tapes;

use hls_core::pages::UserWord;
use hls_core::{Call, Calls, Core, CoreScheduler, Op, Params, Unsound, limits, policies};
use hls_kernel_engine::{Error, Replay};
use std::io::Write;

/// How many seeds a test goes through.
fn seeds(usually: u64) -> u64 {
    std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usually)
}

/// The core in the kernel; `None`, and a line that says so, if that is not allowed.
fn replay() -> Option<Replay> {
    match Replay::new() {
        Ok(replay) => Some(replay),
        Err(Error::NotAllowed(reason)) if std::env::var_os("CI").is_none_or(|value| value.is_empty()) => {
            let thread = std::thread::current();
            let line =
                format!("{}: skipped, BPF cannot be used: {reason}\n", thread.name().unwrap_or("replay"));
            // Not by `eprintln`: the test harness hides what a passing test prints with it.
            std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The native core after a tape was played on it. The results must be those on the tape, which was recorded natively.
fn native(tape: &[Call]) -> Core {
    let (mut core, mut played) = (Core::new(), tape.to_vec());
    core.play(&mut played).expect("a recorded tape is sound");
    if let Some(at) = first_difference(tape, &played) {
        panic!(
            "the native build itself differs at call {at}: {} the first time, then {}",
            tape[at], played[at]
        );
    }
    core
}

fn first_difference<T: PartialEq>(one: &[T], other: &[T]) -> Option<usize> {
    one.iter().zip(other).position(|(one, other)| one != other)
}

/// Where the BPF build's answers differ from the tape's, or its memory at the end differs from `core`'s.
fn difference(replay: &mut Replay, tape: &[Call], core: &Core) -> Option<String> {
    let mut played: Vec<Call> = tape.iter().map(|&call| Call { result: 0, ..call }).collect();
    replay.clear();
    replay.play(&mut played).expect("the kernel plays what is sound");
    if let Some(at) = first_difference(tape, &played) {
        return Some(format!("call {at} of {}: {} natively, {} in BPF", tape.len(), tape[at], played[at]));
    }
    let what = match first_difference(replay.memory(), core.memory()) {
        Some(at) => format!("byte {at} of the domain differs"),
        None => format!("the pages of scheduler {} differ", differing_pages(replay, core)?),
    };
    Some(format!("{} calls agree, and then {what}", tape.len()))
}

/// A scheduler with pages that are not the same in both builds.
fn differing_pages(replay: &Replay, core: &Core) -> Option<CoreScheduler> {
    let differ = |s: CoreScheduler| {
        let pages = core.pages(s).map(|number| replay.pages(number))?;
        let found = (pages.read_kernel().unwrap(), pages.read_user().unwrap());
        let expected = (core.kernel_page(s).unwrap(), core.user_page(s).unwrap());
        (expected != (&found.0, &found.1)).then_some(s)
    };
    (1..limits::MAX_SCHEDULERS as u32).map(CoreScheduler).find_map(differ)
}

/// The tape without calls that the difference does not need, with the native build's answers; and the difference.
fn shrink(replay: &mut Replay, tape: &[Call]) -> (Vec<Call>, String) {
    let mut differs = |tape: &[Call]| {
        let (mut core, mut native) = (Core::new(), tape.to_vec());
        core.play(&mut native).expect("a part of a sound tape is sound");
        difference(replay, &native, &core).map(|difference| (native, difference))
    };
    let mut best = differs(tape).expect("it differed just now");
    let mut step = tape.len() / 2;
    while step > 0 {
        let mut from = 0;
        while from < best.0.len() {
            let mut fewer = best.0.clone();
            fewer.drain(from..(from + step).min(best.0.len()));
            match differs(&fewer) {
                Some(found) => best = found,
                None => from += step,
            }
        }
        step /= 2;
    }
    best
}

/// Both builds agree on a tape, or the test fails with the shortest tape found on which they do not.
fn agree(replay: &mut Replay, name: &str, tape: &[Call]) {
    let core = native(tape);
    let Some(difference) = difference(replay, tape, &core) else { return };
    let (tape, shrunk) = shrink(replay, tape);
    let calls: Vec<String> = tape.iter().map(Call::to_string).collect();
    panic!("{name}: {difference}\nIn short: {shrunk}\n{}", calls.join("\n"));
}

#[test]
fn both_builds_decide_examples_alike() {
    let Some(mut replay) = replay() else { return };
    for (name, tape) in tapes::examples() {
        assert!(tape.len() > 500, "{name}: {} calls are hardly a test", tape.len());
        agree(&mut replay, &name, &tape);
    }
}

#[test]
fn both_builds_decide_random_runs_alike() {
    let Some(mut replay) = replay() else { return };
    for seed in 0..seeds(60) {
        agree(&mut replay, &format!("seed {seed}"), &tapes::drawn(seed));
    }
}

#[test]
fn both_builds_decide_random_events_in_random_hierarchies_alike() {
    let Some(mut replay) = replay() else { return };
    let mut used = [0; Op::COUNT + 1];
    for seed in 0..seeds(200) {
        let tape = tapes::scenario(seed);
        tape.iter().for_each(|call| used[call.op as usize] += 1);
        agree(&mut replay, &format!("seed {seed}"), &tape);
    }
    let missing: Vec<Option<Op>> =
        (1..used.len()).filter(|&op| used[op] == 0).map(|op| Op::from_number(op as u32)).collect();
    // The pace (the speed of the machine) is set when an engine begins.
    assert_eq!(missing, [Some(Op::SetPace)], "entry points that no scenario calls");
}

/// A tape with more calls than the arena has room for, some of which take long.
#[test]
fn a_long_tape_is_played_in_parts() {
    let Some(mut replay) = replay() else { return };
    let call = |op: Op, a, b| Call { op: op as u32, a, b, ..Call::default() };
    let round_robin = policies().iter().find(|policy| policy.name == "round-robin").expect("there is one");
    let create =
        Call { params: [1_000_000, 0, 0, 0, 0], ..call(Op::CreateScheduler, round_robin.id.into(), 0) };
    let mut tape = vec![call(Op::AddCpu, 0, 0), create, call(Op::AttachRoot, 1, 0)];
    tape.resize(500, call(Op::Attach, 1, 0));
    tape.resize(100_000, call(Op::Check, 0, 0));
    Core::new().play(&mut tape).unwrap();
    agree(&mut replay, "a long tape", &tape);
}

#[test]
fn an_altered_tape_is_noticed() {
    let Some(mut replay) = replay() else { return };
    let tape = tapes::scenario(1);
    let core = native(&tape);
    assert_eq!(difference(&mut replay, &tape, &core), None);
    let last_of = |op: Op| tape.iter().rposition(|call| call.op == op as u32).unwrap();
    for at in [0, tape.len() / 2, tape.len() - 1] {
        let mut altered = tape.clone();
        altered[at].result ^= 1 << 40;
        let found = difference(&mut replay, &altered, &core).expect("another result");
        assert!(found.starts_with(&format!("call {at} of ")), "{found}");
    }
    let mut altered = tape.clone();
    altered[last_of(Op::Schedule)].now_ns += 1;
    assert!(difference(&mut replay, &altered, &core).is_some(), "another time");
    let mut altered = tape.clone();
    let of_the_root = 1;
    altered.push(Call { op: Op::Watch as u32, a: of_the_root, b: 1, ..Call::default() });
    let found = difference(&mut replay, &altered, &core).expect("another flag");
    assert!(found.contains("byte "), "{found}");
}

#[test]
fn another_word_in_a_page_is_noticed() {
    let Some(mut replay) = replay() else { return };
    let user_level = policies().iter().find(|policy| policy.properties.has_pages).expect("there is one");
    let params: Vec<u64> = user_level.scheduler_params.iter().map(|info| info.default.unwrap()).collect();
    let mut core = Core::new();
    core.record();
    let scheduler = core.create_scheduler(user_level.id, Params::from_slice(&params)).unwrap();
    core.write_page(scheduler, UserWord::WakeAt, 1).unwrap();
    let tape = core.take_tape();
    assert_eq!(difference(&mut replay, &tape, &core), None);
    let mut altered = tape.clone();
    altered.last_mut().unwrap().value = 2;
    let found = difference(&mut replay, &altered, &core).expect("another word");
    assert!(found.ends_with(&format!("the pages of scheduler {scheduler} differ")), "{found}");
}

#[test]
fn a_call_that_no_build_can_make_is_refused() {
    let Some(mut replay) = replay() else { return };
    let sound = Call { op: Op::AddCpu as u32, ..Call::default() };
    let call = Call { op: Op::Schedule as u32, a: 64, ..Call::default() };
    assert_eq!(replay.play(&mut [sound, call]), Err(Error::Unsound(Unsound { at: 1, call })));
    assert!(replay.memory().iter().all(|&byte| byte == 0), "nothing was done");
    assert!(replay.play(&mut [sound]).is_ok());
}
