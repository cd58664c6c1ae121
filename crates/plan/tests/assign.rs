//! Which thread of the hierarchy the threads of a machine belong to: hand-written cases, and random ones that are
//! compared with a slow model of the same rules.

use hls_plan::Plan;
use hls_plan::assign::{Assignment, Assignments, Counts, Instance, RealThread, Successor};
use hls_units::Nanos;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};

/// The threads of [`HIERARCHY`] in its order.
const FILM: usize = 0;
const WEB: usize = 1;
const SOUND: usize = 2;
const ALICE: usize = 3;
const ONE: usize = 4;
const CARD: usize = 6;
const LOOPBACK: usize = 7;

const HIERARCHY: &str = r#"
time-sharing "TS" default=#true {
    thread "film" instances=3 command="mpv film.mkv"
    thread "web" instances=2 unit="nginx.service"
    thread "sound" comm="pipe?ire*"
    thread "alice" instances=2 cgroup="/user.slice/user-1000.slice"
    thread "one" instances=2 pid=4
    thread "nobody"
    thread "card" instances=2 source="napi:eth0"
    thread "loopback" source="backlog:1"
}
"#;
const NGINX: &str = "/system.slice/nginx.service";
const ALICES: &str = "/user.slice/user-1000.slice/user@1000.service/app.slice/nginx.service";

fn assignments() -> Assignments {
    let (hierarchy, warnings) = hls_hierarchy::read(HIERARCHY.as_bytes()).expect("it is valid");
    assert_eq!(warnings, []);
    Assignments::new(&Plan::new(hierarchy, &Default::default()).expect("it fits"))
}

/// The first thread of a process without a parent.
fn process(pid: u32, comm: &'static str, cgroup: &'static str) -> RealThread<'static> {
    RealThread { tid: pid, tgid: pid, parent: 0, comm: comm.as_bytes(), cgroup }
}

fn is(node: usize, instance: u32) -> Assignment {
    Assignment::Instance(Instance { node, instance })
}

#[test]
fn every_rule_is_followed() {
    let mut map = assignments();
    let mut told = |thread: RealThread| map.update(&thread).0;
    assert_eq!(told(process(10, "bash", "/")), Assignment::Default);
    assert_eq!(told(process(11, "nginx", NGINX)), is(WEB, 0));
    assert_eq!(told(process(12, "nginx", ALICES)), is(ALICE, 0));
    assert_eq!(told(process(13, "pipewire-pulse", "/")), is(SOUND, 0));
    assert_eq!(told(process(4, "init", "/")), is(ONE, 0));
    assert_eq!(told(RealThread { tid: 14, ..process(4, "init", "/") }), is(ONE, 1));
    assert_eq!(told(RealThread { tid: 15, ..process(4, "init", "/") }), Assignment::Full(ONE));
    assert_eq!(told(process(16, "pipewire", NGINX)), Assignment::Conflict(WEB, SOUND));
    assert_eq!(map.counts(ONE), Counts { held: 2, waiting: 1, resting: 0 });
    assert_eq!(map.counts(99), Counts::default());
}

#[test]
fn only_threads_of_the_kernel_do_the_work_of_a_device() {
    let mut map = assignments();
    let of_kernel = |tid, comm| RealThread { parent: 2, ..process(tid, comm, "/") };
    assert_eq!(map.update(&of_kernel(20, "napi/eth0-8193")).0, is(CARD, 0));
    assert_eq!(map.update(&of_kernel(21, "napi/eth01-8193")).0, Assignment::Default);
    assert_eq!(map.update(&process(22, "napi/eth0-8194", "/")).0, Assignment::Default);
    assert_eq!(map.update(&of_kernel(23, "backlog_napi/1")).0, is(LOOPBACK, 0));
    assert_eq!(map.update(&of_kernel(24, "backlog_napi/10")).0, Assignment::Default);
}

#[test]
fn exec_and_a_move_change_it_and_nothing_else_does() {
    let mut map = assignments();
    assert_eq!(map.update(&process(10, "bash", "/")).0, Assignment::Default);
    assert_eq!(map.update(&process(10, "pipewire", "/")).0, is(SOUND, 0));
    assert_eq!(map.update(&process(10, "pipewire-2", "/")).0, is(SOUND, 0));
    assert_eq!(map.update(&process(10, "pipewire-2", ALICES)).0, Assignment::Conflict(SOUND, ALICE));
    assert_eq!(map.update(&process(10, "bash", ALICES)).0, is(ALICE, 0));
    assert_eq!(map.counts(SOUND), Counts::default());
    assert_eq!(map.update(&process(10, "bash", "/")).0, Assignment::Default);
    assert_eq!(map.assignment(10), Some(Assignment::Default));
    assert_eq!((map.exit(10), map.assignment(10)), (None, None));
}

#[test]
fn a_waiting_thread_follows_one_that_ends_or_goes() {
    let mut map = assignments();
    for (pid, expected) in [
        (10, is(WEB, 0)),
        (11, is(WEB, 1)),
        (12, Assignment::Full(WEB)),
        (13, Assignment::Full(WEB)),
        (14, Assignment::Full(WEB)),
    ] {
        assert_eq!(map.update(&process(pid, "nginx", NGINX)), (expected, None));
    }
    assert_eq!(map.exit(13), None, "one that only waited");
    let first = Successor { tid: 12, instance: Instance { node: WEB, instance: 0 } };
    assert_eq!(map.exit(10), Some(first));
    let second = Successor { tid: 14, instance: Instance { node: WEB, instance: 1 } };
    assert_eq!(map.update(&process(11, "nginx", "/")), (Assignment::Default, Some(second)));
    assert_eq!(map.update(&process(11, "nginx", NGINX)), (Assignment::Full(WEB), None), "at the end");
    assert_eq!(map.counts(WEB), Counts { held: 2, waiting: 1, resting: 0 });
}

#[test]
fn what_a_command_starts_belongs_to_it() {
    let mut map = assignments();
    let child = |pid, parent| RealThread { parent, ..process(pid, "mpv", "/") };
    map.start(FILM, 20);
    assert_eq!(map.update(&process(20, "hls", "/")).0, is(FILM, 0));
    assert_eq!(map.update(&process(20, "mpv", "/")).0, is(FILM, 0), "exec");
    assert_eq!(map.update(&RealThread { tid: 21, ..process(20, "mpv", "/") }).0, is(FILM, 1), "its thread");
    assert_eq!(map.update(&child(22, 20)).0, is(FILM, 2), "its child");
    assert_eq!(map.update(&child(23, 22)).0, Assignment::Full(FILM), "its grandchild");
    assert_eq!(map.update(&child(24, 1)).0, Assignment::Default, "a stranger");
    // The parent ends, and the grandchild gets another parent: it still belongs to the command.
    assert_eq!(map.exit(22).map(|successor| successor.tid), Some(23));
    assert_eq!(map.update(&child(23, 1)).0, is(FILM, 2));
    assert_eq!(map.update(&child(25, 23)).0, Assignment::Full(FILM));
    // A reused number does not belong to the command.
    for tid in [20, 21, 23, 25] {
        map.exit(tid);
    }
    assert_eq!(map.update(&process(20, "mpv", "/")).0, Assignment::Default);
    assert_eq!(map.counts(FILM), Counts::default());
}

#[test]
fn a_number_that_is_used_again_without_an_end_is_another_thread() {
    let mut map = assignments();
    assert_eq!(map.update(&RealThread { tid: 31, ..process(30, "pipewire", "/") }).0, is(SOUND, 0));
    assert_eq!(map.update(&process(32, "pipewire", "/")).0, Assignment::Full(SOUND));
    let successor = Successor { tid: 32, instance: Instance { node: SOUND, instance: 0 } };
    assert_eq!(map.update(&process(31, "pipewire", "/")), (Assignment::Full(SOUND), Some(successor)));
}

/// An event on a machine with few threads, processes, names and cgroups.
#[derive(Clone, Debug)]
enum Event {
    Update { tid: u32, tgid: u32, parent: u32, comm: &'static str, cgroup: &'static str },
    Start { tgid: u32 },
    Exit { tid: u32 },
}

fn event() -> impl Strategy<Value = Event> {
    let comm = prop::sample::select(&["bash", "pipewire", "pipewire-pulse"][..]);
    let cgroup = prop::sample::select(&["/", NGINX, NGINX, ALICES][..]);
    let update = (1_u32..14, 1_u32..6, 0_u32..6, comm, cgroup)
        .prop_map(|(tid, tgid, parent, comm, cgroup)| Event::Update { tid, tgid, parent, comm, cgroup });
    prop_oneof![
        12 => update,
        1 => (1_u32..6).prop_map(|tgid| Event::Start { tgid }),
        4 => (1_u32..14).prop_map(|tid| Event::Exit { tid }),
    ]
}

/// A slow model of the rules.
#[derive(Default)]
struct Account {
    /// By TID: its process, the nodes that it fits, and since which event it fits the same.
    threads: BTreeMap<u32, (u32, Vec<usize>, usize)>,
    kin: HashSet<u32>,
}

impl Account {
    fn hear(&mut self, event: &Event, now: usize) {
        match *event {
            Event::Start { tgid } => drop(self.kin.insert(tgid)),
            Event::Exit { tid } => self.exit(tid),
            Event::Update { tid, tgid, parent, comm, cgroup } => {
                if self.threads.get(&tid).is_some_and(|(before, ..)| *before != tgid) {
                    self.exit(tid);
                }
                let is_new = !self.threads.values().any(|(process, ..)| *process == tgid);
                if is_new && self.kin.contains(&parent) {
                    self.kin.insert(tgid);
                }
                let fits = [
                    (FILM, self.kin.contains(&tgid)),
                    (WEB, cgroup == NGINX),
                    (SOUND, comm.starts_with("pipewire")),
                    (ALICE, cgroup == ALICES),
                    (ONE, [tid, tgid].contains(&4)),
                ];
                let fits: Vec<usize> = fits.iter().filter(|(_, fits)| *fits).map(|(node, _)| *node).collect();
                let before = self.threads.get(&tid).filter(|(_, before, _)| before[..] == fits[..]);
                let since = before.map_or(now, |(_, _, since)| *since);
                self.threads.insert(tid, (tgid, fits, since));
            }
        }
    }

    fn exit(&mut self, tid: u32) {
        if let Some((tgid, ..)) = self.threads.remove(&tid)
            && !self.threads.values().any(|(process, ..)| *process == tgid)
        {
            self.kin.remove(&tgid);
        }
    }

    /// The threads that fit this node alone, in the order in which they began to.
    fn of(&self, node: usize) -> Vec<u32> {
        let mut fit: Vec<_> = self.threads.iter().filter(|(_, (_, fits, _))| fits[..] == [node]).collect();
        fit.sort_by_key(|(_, (_, _, since))| *since);
        fit.into_iter().map(|(tid, _)| *tid).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_right_and_no_instance_is_held_twice(events in prop::collection::vec(event(), 1..120)) {
        let (mut map, mut account) = (assignments(), Account::default());
        let mut held: BTreeMap<u32, Instance> = BTreeMap::new();
        for (now, event) in events.iter().enumerate() {
            account.hear(event, now);
            let successor = match *event {
                Event::Start { tgid } => {
                    map.start(FILM, tgid);
                    None
                }
                Event::Exit { tid } => map.exit(tid),
                Event::Update { tid, tgid, parent, comm, cgroup } => {
                    let comm = comm.as_bytes();
                    let (told, successor) = map.update(&RealThread { tid, tgid, parent, comm, cgroup });
                    prop_assert_eq!(Some(told), map.assignment(tid));
                    successor
                }
            };
            held = check(&map, &account, &held, event, successor)?;
        }
    }
}

/// Compares the assignments with the model and with the instances held before. Returns the instances held now.
fn check(
    map: &Assignments,
    account: &Account,
    before: &BTreeMap<u32, Instance>,
    event: &Event,
    successor: Option<Successor>,
) -> Result<BTreeMap<u32, Instance>, TestCaseError> {
    let mut held = BTreeMap::new();
    for (node, instances) in [3, 2, 1, 2, 2].into_iter().enumerate() {
        let fit = account.of(node);
        let (first, others) = fit.split_at(fit.len().min(instances));
        for tid in first {
            let Some(Assignment::Instance(instance)) = map.assignment(*tid) else {
                return Err(TestCaseError::fail(format!("{tid} is {:?}", map.assignment(*tid))));
            };
            prop_assert!(instance.node == node && (instance.instance as usize) < instances);
            held.insert(*tid, instance);
        }
        for tid in others {
            prop_assert_eq!(map.assignment(*tid), Some(Assignment::Full(node)));
        }
        let counts = Counts { held: first.len() as u32, waiting: others.len() as u32, resting: 0 };
        prop_assert_eq!(map.counts(node), counts);
    }
    for (tid, (_, fits, _)) in &account.threads {
        match fits[..] {
            [] => prop_assert_eq!(map.assignment(*tid), Some(Assignment::Default)),
            [one, other, ..] => prop_assert_eq!(map.assignment(*tid), Some(Assignment::Conflict(one, other))),
            [_] => {}
        }
    }
    let distinct: HashSet<Instance> = held.values().copied().collect();
    prop_assert_eq!(distinct.len(), held.len(), "an instance is held twice");
    let is_its_own =
        |tid: u32| matches!(*event, Event::Update { tid: own, .. } | Event::Exit { tid: own } if own == tid);
    for (tid, instance) in &held {
        let is_successor = successor == Some(Successor { tid: *tid, instance: *instance });
        let is_told = is_successor || is_its_own(*tid) || before.get(tid) == Some(instance);
        prop_assert!(is_told, "{} became {:?} and nobody was told", tid, instance);
    }
    Ok(held)
}

/// A thread that leaves a place and comes again waits until the place has rested; so does any other thread.
#[test]
fn an_instance_that_was_left_rests() {
    let mut map = assignments();
    let ms = Nanos::from_millis;
    let sound = Instance { node: SOUND, instance: 0 };
    map.set_rest(sound, ms(30));
    assert_eq!(map.update(&process(10, "pipewire", "/")).0, is(SOUND, 0));
    assert_eq!(map.update(&process(10, "bash", "/")), (Assignment::Default, None));
    assert_eq!(map.update(&process(11, "pipewire", "/")).0, Assignment::Full(SOUND));
    assert_eq!(map.counts(SOUND), Counts { held: 0, waiting: 1, resting: 1 });
    assert_eq!(map.pass(ms(100)), []);
    assert_eq!(map.update(&process(10, "pipewire", "/")).0, Assignment::Full(SOUND));
    assert_eq!(map.pass(Nanos(129_999_999)), []);
    assert_eq!(map.pass(ms(130)), [Successor { tid: 11, instance: sound }]);
    assert_eq!(map.counts(SOUND), Counts { held: 1, waiting: 1, resting: 0 });
    // The same when a thread ends; and where nobody waits, the instance is free.
    assert_eq!((map.exit(11), map.exit(10)), (None, None));
    assert_eq!((map.pass(ms(200)), map.pass(ms(230))), (vec![], vec![]));
    assert_eq!(map.update(&process(12, "pipewire", "/")).0, is(SOUND, 0));
    // No longer.
    map.set_rest(sound, Nanos::ZERO);
    assert_eq!(map.exit(12), None);
    assert_eq!(map.update(&process(13, "pipewire", "/")).0, is(SOUND, 0));
}
