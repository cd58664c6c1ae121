//! Figure 1 of the HLS paper, played by hand in steps of a millisecond, as input for the tests of the reports.
//!
//! FP → RES (video player 5/33, J 10/20), FP → J → PS (word processor 1, voice recognition 4). One frame of the video
//! takes 7 ms instead of 4, so that its budget runs out and a deadline is missed; one millisecond is stolen.

use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::observe::{Observer, Pace, Promise};
use hls_monitor::requests::{Accounted, Periodic, RequestRule, RequestTest, Share, Wakes};
use hls_monitor::result::{Child, RunResult, SchedulerInfo, Topology, VpInfo};
use hls_monitor::windows::Window;
use hls_units::Nanos;

const MACHINE: ObservedVp = ObservedVp(1);
const RES: ObservedVp = ObservedVp(2);
const J_BY_FP: ObservedVp = ObservedVp(3);
const VIDEO: ObservedVp = ObservedVp(4);
const J_BY_RES: ObservedVp = ObservedVp(5);
const PS: ObservedVp = ObservedVp(6);
const WORDS: ObservedVp = ObservedVp(7);
const VOICE: ObservedVp = ObservedVp(8);
/// The millisecond that is stolen.
const STOLEN: u64 = 92;

/// The hierarchy of Figure 3.
pub fn topology() -> Topology {
    let scheduler = |name: &str, policy: &str| SchedulerInfo { name: name.into(), policy: policy.into() };
    let vp = |name: &str, parent, child, guarantee: &str| VpInfo {
        name: name.into(),
        parent,
        child,
        guarantee: guarantee.into(),
        ..VpInfo::default()
    };
    let to = Child::Scheduler;
    Topology {
        cpus: 1,
        schedulers: vec![
            scheduler("FP", "fixed-priority"),
            scheduler("RES", "reservation"),
            scheduler("J", "join"),
            scheduler("PS", "proportional-share"),
        ],
        vps: vec![
            VpInfo::default(),
            vp("FP", None, to(ObservedScheduler(0)), "ALL"),
            vp("RES", Some(ObservedScheduler(0)), to(ObservedScheduler(1)), "ALL"),
            vp("J", Some(ObservedScheduler(0)), to(ObservedScheduler(2)), "NULL"),
            vp("video player", Some(ObservedScheduler(1)), Child::Thread, "RESBH 5ms 33ms"),
            vp("J", Some(ObservedScheduler(1)), to(ObservedScheduler(2)), "RESBH 10ms 20ms"),
            vp("PS", Some(ObservedScheduler(2)), to(ObservedScheduler(3)), "RESBS 10ms 20ms"),
            vp("word processor", Some(ObservedScheduler(3)), Child::Thread, "PSBE 1/10 22ms"),
            vp("voice recognition", Some(ObservedScheduler(3)), Child::Thread, "PSBE 2/5 58ms"),
        ],
    }
}

/// What a test plays.
struct Player {
    records: Vec<Record>,
    wanted: [bool; 9],
    running: Vec<ObservedVp>,
    throttled: [bool; 9],
    video_work: u64,
    video_done: bool,
    budget: [u64; 9],
    deadline: [u64; 9],
    tags: [u64; 9],
}

impl Player {
    fn tell(&mut self, ms: u64, vp: ObservedVp, what: What) {
        self.records.push(Record { at: Nanos::from_millis(ms), vp, cpu: 0, what });
    }

    /// Releases a frame each 33 ms and refills the budgets.
    fn begin(&mut self, ms: u64) {
        let at = Nanos::from_millis;
        if ms.is_multiple_of(33) {
            if !self.video_done {
                self.tell(ms, VIDEO, What::Miss { count: 1 });
            }
            self.video_work += if ms == 66 { 7 } else { 4 };
            self.video_done = false;
            self.tell(ms, VIDEO, What::JobRelease { deadline: at(ms + 33) });
        }
        for (vp, amount, period) in [(VIDEO, 5, 33), (J_BY_RES, 10, 20)] {
            if ms.is_multiple_of(period) {
                (self.budget[vp.index()], self.deadline[vp.index()]) = (amount, ms + period);
                self.throttled[vp.index()] = false;
                let (budget, deadline) = (at(amount), at(ms + period));
                self.tell(ms, vp, What::Replenish { budget, deadline });
            }
        }
    }

    /// The VPs that have the CPU in the next millisecond, from the root down.
    fn choose(&self, words: bool) -> Vec<ObservedVp> {
        let reserved = [VIDEO, J_BY_RES]
            .into_iter()
            .filter(|&vp| self.budget[vp.index()] > 0 && (vp != VIDEO || self.video_work > 0));
        let first = reserved.min_by_key(|&vp| self.deadline[vp.index()]);
        let voice = !words || self.tags[VOICE.index()] <= self.tags[WORDS.index()];
        let thread = if voice { VOICE } else { WORDS };
        match first {
            Some(VIDEO) => vec![MACHINE, RES, VIDEO],
            Some(_) => vec![MACHINE, RES, J_BY_RES, PS, thread],
            None => vec![MACHINE, J_BY_FP, PS, thread],
        }
    }

    /// Tells what changes when `next` runs and the VPs of `wanted` want to.
    fn switch(&mut self, ms: u64, next: Vec<ObservedVp>, wanted: [bool; 9]) {
        for vp in std::mem::take(&mut self.running).into_iter().rev() {
            if !next.contains(&vp) {
                let what = if wanted[vp.index()] { What::Revoke } else { What::Release };
                self.tell(ms, vp, what);
            } else {
                self.running.insert(0, vp);
            }
        }
        for vp in (1..9).map(ObservedVp) {
            if wanted[vp.index()] && !self.wanted[vp.index()] {
                self.tell(ms, vp, What::Request);
            }
            let is_empty = [VIDEO, J_BY_RES].contains(&vp) && self.budget[vp.index()] == 0;
            if is_empty && wanted[vp.index()] && !self.throttled[vp.index()] {
                self.throttled[vp.index()] = true;
                self.tell(ms, vp, What::Throttle);
            }
        }
        for &vp in &next {
            if !self.running.contains(&vp) {
                self.tell(ms, vp, What::Grant);
            }
        }
        (self.running, self.wanted) = (next, wanted);
    }

    /// Charges a millisecond to the VPs that had it.
    fn charge(&mut self, ms: u64) {
        if ms == STOLEN {
            return self.tell(ms + 1, ObservedVp::NONE, What::Stolen { length: Nanos::from_millis(1) });
        }
        for vp in self.running.clone() {
            self.budget[vp.index()] = self.budget[vp.index()].saturating_sub(1);
            self.tags[vp.index()] += if vp == VOICE { 1 } else { 4 };
        }
        if self.running.contains(&VIDEO) {
            self.video_work -= 1;
            if self.video_work == 0 {
                self.video_done = true;
                let response = Nanos::from_millis((ms + 1) % 33);
                self.tell(ms + 1, VIDEO, What::JobDone { response });
            }
        }
    }
}

/// The records of the first `length` milliseconds.
pub fn records(length: u64) -> Vec<Record> {
    let mut player = Player {
        records: Vec::new(),
        wanted: [false; 9],
        running: Vec::new(),
        throttled: [false; 9],
        video_work: 0,
        video_done: true,
        budget: [0; 9],
        deadline: [0; 9],
        tags: [0; 9],
    };
    let mut last_choice = Vec::new();
    for ms in 0..length {
        player.begin(ms);
        let words = ms % 120 < 100;
        let mut next = player.choose(words);
        let goes_on = |vp: &ObservedVp| ms % 4 != 0 && words && *vp != VIDEO;
        if let (Some(&before), Some(last)) = (last_choice.last(), next.last_mut())
            && goes_on(&before)
            && goes_on(last)
        {
            *last = before;
        }
        last_choice.clone_from(&next);
        let reserved =
            player.budget[J_BY_RES.index()] > 0 || player.video_work > 0 && player.budget[VIDEO.index()] > 0;
        let video = player.video_work > 0;
        let wanted = [false, true, reserved, true, video, true, true, words, true];
        player.switch(ms, next, wanted);
        player.charge(ms);
    }
    player.records
}

/// What an observer makes of the first `length` milliseconds.
pub fn result(length: u64) -> RunResult {
    let ms = Nanos::from_millis;
    let window = |length, promised, allowed: Option<u64>| Window {
        length: ms(length),
        promised: ms(promised),
        allowed: allowed.map(ms),
        accounted: Nanos::ZERO,
    };
    let accounted = Accounted::default();
    let share = |share: (u64, u64), error| {
        let (numerator, denominator) = share;
        let rule = RequestRule::Share(Share { numerator, denominator, error: ms(error) });
        Some(RequestTest { rule, accounted })
    };
    let anew = |amount, period, first| {
        let (amount, period, wakes) = (ms(amount), ms(period), Wakes::Anew(ms(first)));
        let rule = RequestRule::Periodic(Periodic { amount, period, wakes });
        Some(RequestTest { rule, accounted })
    };
    let promise = |vp, text: &str, windows, requests| {
        let (text, pace) = (text.into(), Pace::default());
        Promise { vp, text, windows, requests, pace }
    };
    let promises = vec![
        promise(
            VIDEO,
            "RESBH 5ms 33ms",
            vec![window(61, 5, Some(15)), window(300, 10, Some(50))],
            anew(5, 33, 61),
        ),
        promise(
            J_BY_RES,
            "RESBH 10ms 20ms",
            vec![window(30, 10, Some(30)), window(100, 40, Some(60))],
            anew(10, 20, 30),
        ),
        promise(VOICE, "PSBE 2/5 58ms", vec![window(100, 16, None)], share((2, 5), 58)),
        promise(WORDS, "PSBE 1/10 22ms", vec![window(60, 12, None)], share((1, 10), 22)),
    ];
    let mut observer = Observer::new(topology(), promises);
    let records = records(length);
    records.iter().for_each(|record| observer.observe(record));
    let mut result = observer.finish(ms(length));
    result.engine = "sim".into();
    result.events = records.len() as u64;
    result.switches =
        records.iter().filter(|r| r.what == What::Grant && [VIDEO, WORDS, VOICE].contains(&r.vp)).count()
            as u64;
    for thread in &mut result.threads {
        thread.work = thread.ran;
    }
    result
}

/// The hierarchy once a scheduler has been created below FP, with a VP, and a thread has been moved below that one.
pub fn topology_with_guests(scheduler: &str, thread: &str) -> (Topology, [ObservedVp; 2]) {
    let mut topology = topology();
    let number = ObservedScheduler::at(topology.schedulers.len());
    topology.schedulers.push(SchedulerInfo { name: scheduler.into(), policy: "user-level".into() });
    let parent = Some(ObservedScheduler(0));
    let child = Child::Scheduler(number);
    topology.vps.push(VpInfo { name: scheduler.into(), parent, child, ..VpInfo::default() });
    let (parent, child) = (Some(number), Child::Thread);
    topology.vps.push(VpInfo { name: thread.into(), parent, child, ..VpInfo::default() });
    let last = topology.vps.len();
    (topology, [ObservedVp::at(last - 2), ObservedVp::at(last - 1)])
}

/// Has each of these VPs run for the millisecond that begins at `ms`, and leave.
pub fn visit(ms: u64, vps: [ObservedVp; 2]) -> Vec<Record> {
    let of = |ms, what| vps.map(|vp| Record { at: Nanos::from_millis(ms), vp, cpu: 0, what });
    [of(ms, What::Request), of(ms, What::Grant), of(ms + 1, What::Leave)].concat()
}
