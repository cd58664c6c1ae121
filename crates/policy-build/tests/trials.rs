//! Policies on trial as modules. The built-in ones pass. The bad ones of `gallery/` are noticed as their comments say
//! (`Noticed:`), and do no harm to other schedulers. A policy that does random things within the contract never
//! breaks an invariant of the core.

use crate::support;
use hls_core::{Calls, CoreScheduler, CoreVp, Library, Params, policies};
use hls_policy_build::{Builder, Error, PolicyFile, Severity, Target};
use hls_scenario::{Machine, Trial};
use hls_units::Nanos;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const MS: u64 = 1_000_000;

/// The policies of a folder.
fn paths(folder: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it is listed").path());
    let mut paths: Vec<_> = all.filter(|path| path.extension().is_some_and(|end| end == "c")).collect();
    paths.sort();
    assert!(paths.len() >= 7, "{paths:?}");
    paths
}

fn read(path: &Path) -> PolicyFile {
    PolicyFile::read(path).unwrap_or_else(|error| panic!("{error}"))
}

/// How many seeds a test goes through.
fn seeds(usually: u64) -> u64 {
    std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usually)
}

/// Policies as a native build has them, from number 64 on, opened.
fn opened(policies: impl Iterator<Item = PolicyFile>) -> Arc<Library> {
    Arc::new(support::opened(&(64..).zip(policies).collect::<Vec<_>>()))
}

/// The built-in policies as loaded ones, with `my-` before their names: all except policies with pages, which no
/// loaded policy may have.
fn built_in() -> Arc<Library> {
    static ALL: OnceLock<Arc<Library>> = OnceLock::new();
    let mine = |file: PolicyFile| file.renamed(&format!("my-{}", file.name())).expect("it is a name");
    let has_pages = |path: &PathBuf| fs::read_to_string(path).expect("it is there").contains(".has_pages");
    let paths = || paths("../../policies").into_iter().filter(|path| !has_pages(path));
    ALL.get_or_init(|| opened(paths().map(|path| mine(read(&path))))).clone()
}

/// A machine with one CPU, and a root with this policy of [`built_in`].
fn under(policy: &str) -> (Machine, CoreScheduler) {
    let library = built_in();
    let id = library.loaded().find(|loaded| loaded.name == policy).expect("it is built in").id;
    let mut machine = Machine::new(1, Some(library));
    let root = machine.core.create_scheduler(id, Params::from_slice(&[])).unwrap();
    machine.make_root(root).unwrap();
    (machine, root)
}

#[test]
fn policies_that_are_built_in_pass_as_modules() {
    let library = built_in();
    for policy in library.loaded() {
        let trial = Trial::of_loaded(library.clone(), policy.id);
        for seed in 0..seeds(60) {
            if let Err(finding) = trial.run(seed) {
                panic!("{}, seed {seed}, after {} events: {finding}", policy.name, finding.after);
            }
        }
    }
}

/// How a policy of the gallery is noticed (alternatives have `|` between them), and at which lines, if any.
fn noticed(path: &Path) -> (String, Vec<usize>) {
    let text = fs::read_to_string(path).expect("it was listed");
    let how = text.lines().find_map(|line| line.split_once("Noticed: ")).expect("it says so").1.trim().into();
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains("/* here */"));
    (how, lines.map(|(at, _)| at + 1).collect())
}

/// The policies with a mistake that shows at run time, without ending the process: each with its number in a build of
/// all of them.
fn running() -> (Arc<Library>, Vec<(u8, PathBuf, String)>) {
    static ALL: OnceLock<Arc<Library>> = OnceLock::new();
    let all = paths("tests/gallery").into_iter().map(|path| (noticed(&path).0, path));
    let all: Vec<_> = all.filter(|(how, _)| !how.contains("by the") && !how.contains("crashed")).collect();
    let library = ALL.get_or_init(|| opened(all.iter().map(|(_, path)| read(path)))).clone();
    (library, (64..).zip(all).map(|(number, (how, path))| (number, path, how)).collect())
}

#[test]
fn compilers_name_the_line() {
    for path in paths("tests/gallery") {
        let (how, lines) = noticed(&path);
        if how != "by the compiler" {
            continue;
        }
        let built = Builder::default().build(Target::Native, &[(64, read(&path))]);
        let Err(Error::Refused(found)) = built else { panic!("{}: nothing was found", path.display()) };
        let first = found.iter().find(|one| one.severity == Severity::Error).expect("it was refused");
        assert!(first.line.is_some_and(|line| lines.contains(&line)), "{first}");
    }
}

#[test]
fn trials_notice_what_is_bad() {
    let (library, all) = running();
    for (number, path, how) in all {
        let trial = Trial::of_loaded(library.clone(), number);
        let finding = (0..50).find_map(|seed| trial.run(seed).err());
        let finding = finding.unwrap_or_else(|| panic!("{}: not found: {how}", path.display()));
        println!("{}: {finding}", path.display());
        assert!(
            how.split(" | ").any(|one| finding.in_words.contains(one)),
            "{}: not {how} but {finding}",
            path.display()
        );
        assert!(finding.events.len() < 20, "{}: {finding}", path.display());
    }
}

/// Whatever the policy does, the core's own guarantees hold, and no runnable thread starves.
#[test]
fn a_policy_that_does_anything_breaks_nothing_but_itself() {
    let library = opened([read(Path::new("tests/anything/anything.c"))].into_iter());
    let trial = Trial::of_loaded(library, 64).forgiving();
    let mut disabled = BTreeMap::new();
    for seed in 0..seeds(300) {
        let (stage, ended) = trial.play(&trial.script(seed));
        if ended.is_err() {
            panic!("seed {seed}: {}", trial.run(seed).expect_err("it was just now"));
        }
        for one in &stage.machine.disabled_policies {
            *disabled.entry((one.violation, one.hook)).or_insert(0) += 1;
        }
    }
    println!("{disabled:#?}");
    assert!(disabled.len() > 10, "{disabled:#?}");
}

/// A reservation above, a bad policy with four threads, a hog below, on two CPUs.
struct Beside {
    machine: Machine,
    reserved: CoreVp,
    bad: CoreScheduler,
    threads: Vec<CoreVp>,
}

impl Beside {
    fn new(library: Arc<Library>, loaded: u8) -> Beside {
        let mut machine = Machine::new(2, Some(library));
        let core = &mut machine.core;
        let id = |name| policies().iter().find(|policy| policy.name == name).expect("it is built in").id;
        let mut scheduler =
            |policy, params: &[u64]| core.create_scheduler(policy, Params::from_slice(params)).unwrap();
        let root = scheduler(id("fixed-priority"), &[10 * MS]);
        let [reservations, bad] = [id("reservation"), loaded].map(|policy| scheduler(policy, &[]));
        machine.make_root(root).unwrap();
        let core = &mut machine.core;
        let mut below =
            |parent, child, params: &[u64]| core.attach(parent, child, Params::from_slice(params)).unwrap();
        below(root, Some(reservations), &[9]);
        below(root, Some(bad), &[5]);
        below(root, Some(bad), &[5]);
        let reserved = below(reservations, None, &[10 * MS, 30 * MS]);
        let hog = below(root, None, &[1]);
        let threads = (0..4).map(|_| below(bad, None, &[])).collect();
        for vp in [reserved, hog] {
            machine.core.request(vp, Nanos(0));
        }
        Beside { machine, reserved, bad, threads }
    }

    fn ran(&self, vp: CoreVp) -> u64 {
        self.machine.core.ran(vp, self.machine.now).0
    }

    /// Threads come and go for 300 ms; the last of them stay.
    fn run(&mut self) {
        let machine = &mut self.machine;
        for round in 0..100 {
            for (i, &thread) in self.threads.iter().enumerate() {
                match (round + i) % 5 {
                    0 | 2 => machine.core.request(thread, machine.now),
                    1 if round < 96 => machine.core.release(thread, machine.now),
                    _ => {}
                }
            }
            let end = machine.now + Nanos(3 * MS);
            machine
                .settle()
                .and_then(|()| machine.run_until(end))
                .unwrap_or_else(|trouble| panic!("{trouble}"));
        }
    }
}

/// Every call comes a millisecond late, as if the calls themselves took that long.
#[test]
fn calls_that_are_too_frequent_are_noticed_on_slow_machines() {
    let (library, all) = running();
    let often: Vec<_> = all.into_iter().filter(|(_, _, how)| how.contains("more often")).collect();
    assert!(often.len() > 2, "{often:?}");
    for (number, path, _) in often {
        let Beside { mut machine, threads, .. } = Beside::new(library.clone(), number);
        threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
        for _ in 0..500 {
            machine.settle().unwrap_or_else(|trouble| panic!("{}: {trouble}", path.display()));
            machine.now += Nanos(MS);
            machine.core.timers(machine.now);
            (0..machine.cpus).for_each(|cpu| machine.core.expire(cpu, machine.now));
        }
        assert_eq!(machine.disabled_policies.len(), 1, "{}", path.display());
    }
}

/// The periods of very many threads end at the same instant. The core calls the policy repeatedly for that, for a few
/// threads each time.
#[test]
fn no_policy_is_disabled_for_many_children() {
    let (mut machine, root) = under("my-reservation");
    for _ in 0..5_000 {
        let thread = machine.core.attach(root, None, Params::from_slice(&[MS, 100 * MS])).unwrap();
        machine.core.request(thread, machine.now);
    }
    for _ in 0..10 {
        machine.now += Nanos(100 * MS);
        while machine.core.timer_at() <= machine.now {
            machine.core.timers(machine.now);
            machine.settle().unwrap_or_else(|trouble| panic!("{trouble}"));
        }
    }
    assert_eq!(machine.disabled_policies.len(), 0, "{:?}", machine.disabled_policies);
}

/// A thread has a short slice in each of its periods: the time between them pays for the slices, too.
#[test]
fn no_policy_is_disabled_for_short_slices() {
    let (mut machine, root) = under("my-reservation");
    let thread = machine.core.attach(root, None, Params::from_slice(&[1_000, MS])).unwrap();
    machine.core.request(thread, machine.now);
    machine
        .settle()
        .and_then(|()| machine.run_until(Nanos(1_000 * MS)))
        .unwrap_or_else(|trouble| panic!("{trouble}"));
    assert_eq!(machine.disabled_policies.len(), 0, "{:?}", machine.disabled_policies);
}

/// Sixteen jobs that need nearly all of the CPU, and periods with few common factors: searches that go on until they
/// reach a bound, and plans with many jobs.
#[test]
fn no_policy_is_disabled_for_a_long_search() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..seeds(300) {
        let (mut machine, root) = under("my-spring");
        for child in 1..=24 {
            let period =
                [4, 6, 8, 9, 10, 12, 15, 16, 18, 20][((seed + 1) * child * 7 % 31 % 10) as usize] * MS;
            let budget = period * (1 + seed % 5) / 20 + child;
            match machine.core.attach(root, None, Params::from_slice(&[budget, period])) {
                Ok(_) => accepted += 1,
                Err(_) => refused += 1,
            }
        }
        machine
            .settle()
            .and_then(|()| machine.run_until(Nanos(MS)))
            .unwrap_or_else(|trouble| panic!("{trouble}"));
        assert_eq!(machine.disabled_policies.len(), 0, "seed {seed}: {:?}", machine.disabled_policies);
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 100 && refused > 100, "{accepted} accepted, {refused} refused");
}

/// A policy that sets its timer at every message, and four threads that send messages as often as they may.
#[test]
fn no_policy_is_disabled_for_messages_of_threads() {
    let text = fs::read_to_string("tests/gallery/wrong_message.c").unwrap();
    let throttles = "if (h->vp[v].state != HLS_READY)\n\t\thls_throttle(h, v);";
    assert!(text.contains(throttles));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong_message.c");
    fs::write(&path, text.replace(throttles, "(void)v, hls_set_timer(h, s, h->now_ns);")).unwrap();
    let Beside { mut machine, threads, .. } = Beside::new(opened([read(&path)].into_iter()), 64);
    threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
    for _ in 0..1000 {
        for &thread in &threads {
            machine.core.tell(thread, 0, Params::from_slice(&[0]), machine.now).unwrap();
            machine.core.timers(machine.now);
            machine.settle().unwrap_or_else(|trouble| panic!("{trouble}"));
        }
        machine.now += Nanos(10_000);
    }
    assert_eq!(machine.disabled_policies.len(), 0, "{:?}", machine.disabled_policies);
}

#[test]
fn what_is_beside_a_bad_policy_goes_on() {
    let (library, all) = running();
    for (number, path, how) in all {
        let mut beside = Beside::new(library.clone(), number);
        beside.run();
        assert_eq!(beside.ran(beside.reserved), 100 * MS, "{}", path.display());
        let name = path.display();
        // In a run, the behaviour of this policy cannot be distinguished from an allowed one, or it gets no messages.
        let is_seen = !["wait for ever", "register hook"].iter().any(|what| how.contains(what))
            && !path.ends_with("wrong_message.c");
        let entry = beside.machine.core.scheduler(beside.bad).unwrap();
        println!("{name}: {:?}", beside.machine.disabled_policies);
        assert_eq!(beside.machine.disabled_policies.len(), usize::from(is_seen), "{name}: {entry:?}");
        if !is_seen {
            continue;
        }
        assert_eq!((entry.policy, entry.violation.is_some()), ("round-robin", true), "{name}");
        for &thread in &beside.threads {
            beside.machine.core.request(thread, beside.machine.now);
        }
        let had: Vec<u64> = beside.threads.iter().map(|&thread| beside.ran(thread)).collect();
        let end = beside.machine.now + Nanos(300 * MS);
        beside.machine.settle().and_then(|()| beside.machine.run_until(end)).unwrap();
        // Two CPUs minus the reservation, divided by four.
        for (&thread, had) in beside.threads.iter().zip(had) {
            assert!(beside.ran(thread) - had >= 115 * MS, "{name}: {}", beside.ran(thread) - had);
        }
        assert_eq!(beside.ran(beside.reserved), 200 * MS, "{name}");
    }
}
