//! Hierarchies driven by hand or by a seed: a core that keeps the rules of `core/hls.h`, and threads that come, go,
//! move and talk. Every invariant is checked after every event. Shared with the tests of `hls-kernel`, which play the
//! tapes.

use hls_core::{Calls, Core, CoreError, Params, limits, policies};
use hls_units::Nanos;

pub const FP: u8 = 1;
pub const TS: u8 = 2;
pub const PS: u8 = 3;
pub const RES: u8 = 4;
pub const JOIN: u8 = 5;
pub const LIMIT: u8 = 6;
pub const RR: u8 = 7;

pub const MS: u64 = 1_000_000;

/// A core that keeps the rules: schedules what is kicked and checks the invariants after every event. It writes down
/// every call.
pub struct Machine {
    pub core: Core,
    pub cpus: u16,
    pub running: Vec<Option<u32>>,
    pub now: Nanos,
    /// The VPs by which the machine grants each CPU.
    pub roots: Vec<u32>,
}

impl Machine {
    pub fn new(cpus: u16) -> Machine {
        let mut core = Core::new();
        core.record();
        (0..cpus).for_each(|cpu| core.add_cpu(cpu).unwrap());
        Machine { core, cpus, running: vec![None; cpus.into()], now: Nanos(0), roots: Vec::new() }
    }

    pub fn scheduler(&mut self, policy: u8, params: &[u64]) -> u32 {
        let policy = policies().iter().find(|p| p.id == policy).unwrap();
        let mut all: Vec<u64> = policy.scheduler_params.iter().map(|p| p.default.unwrap()).collect();
        all[..params.len()].copy_from_slice(params);
        self.core.create_scheduler(policy.id, Params::from_slice(&all)).unwrap()
    }

    pub fn root(&mut self, policy: u8, params: &[u64]) -> u32 {
        let s = self.scheduler(policy, params);
        self.roots = (0..self.cpus).map(|cpu| self.core.attach_root(s, cpu).unwrap()).collect();
        s
    }

    /// To be followed by `settle`.
    pub fn offline(&mut self, cpu: u16) -> Result<(), CoreError> {
        self.core.offline(cpu, self.now)?;
        self.running[usize::from(cpu)] = None;
        Ok(())
    }

    pub fn settle(&mut self) {
        while self.core.kick() != 0 {
            let cpu = self.core.kick().trailing_zeros() as u16;
            self.running[usize::from(cpu)] = self.core.schedule(cpu, self.now);
        }
        assert!(self.core.take_records(|_| ()));
        self.core
            .check()
            .unwrap_or_else(|fault| panic!("at {}: {fault}; running {:?}", self.now, self.running));
        for (i, vp) in self.running.iter().enumerate() {
            assert!(vp.is_none() || !self.running[..i].contains(vp), "a thread on two CPUs");
        }
    }

    /// The next instant at which the core wants to be called.
    pub fn next(&mut self) -> Nanos {
        let slices = (0..self.cpus).map(|cpu| self.core.expires_at(cpu)).min().unwrap();
        slices.min(self.core.timer_at())
    }

    pub fn run_until(&mut self, end: Nanos) {
        while self.next() <= end {
            self.now = self.next();
            self.core.timers(self.now);
            (0..self.cpus).for_each(|cpu| self.core.expire(cpu, self.now));
            self.settle();
        }
        self.now = end;
    }

    /// Interrupts have a CPU for a while, at most until something else happens.
    fn interrupt(&mut self, cpu: u16, length: Nanos) {
        let end = (self.now + length).min(self.next());
        self.core.steal(cpu, end - self.now);
        self.now = end;
    }
}

/// A small generator, so that a failing seed says all.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// A random hierarchy of all policies on a few CPUs: its schedulers with their policies, and its threads.
fn random_hierarchy(m: &mut Machine, random: &mut Random) -> (Vec<(u32, u8)>, Vec<u32>) {
    let root = [FP, TS, PS, RES, RR][random.below(5) as usize];
    let root = (m.root(root, &[]), root);
    let mut schedulers = vec![root];
    // One in eight goes as deep as it can.
    let is_deep = random.below(8) == 0;
    for _ in 0..if is_deep { limits::MAX_DEPTH as u64 + 2 } else { random.below(8) } {
        let above = if is_deep { schedulers.len() as u64 - 1 } else { random.below(schedulers.len() as u64) };
        let (parent, parent_policy) = schedulers[above as usize];
        let policy = [FP, TS, PS, RES, JOIN, LIMIT, RR][random.below(7) as usize];
        let s = m.scheduler(policy, &[]);
        let mut hung = false;
        for _ in 0..=random.below(u64::from(m.cpus)) {
            let params = vp_params(parent_policy, random);
            hung |= m.core.attach(parent, Some(s), params).is_ok();
        }
        if policy == JOIN && hung {
            let (other, other_policy) = schedulers[random.below(schedulers.len() as u64) as usize];
            let params = vp_params(other_policy, random);
            let _ = m.core.attach(other, Some(s), params);
        }
        if hung {
            schedulers.push((s, policy));
        } else {
            m.core.destroy_scheduler(s).unwrap();
        }
    }
    let mut threads = Vec::new();
    for _ in 0..12 {
        let (parent, policy) = schedulers[random.below(schedulers.len() as u64) as usize];
        let params = vp_params(policy, random);
        threads.extend(m.core.attach(parent, None, params));
    }
    for &t in &threads {
        if random.below(3) == 0 {
            let mask = 1 + random.below((1 << m.cpus) - 1);
            m.core.set_affinity(t, mask, m.now).unwrap();
        }
    }
    (schedulers, threads)
}

fn vp_params(policy: u8, random: &mut Random) -> Params {
    Params::from_slice(&match policy {
        FP => vec![random.below(4)],
        TS => vec![random.below(32)],
        PS => vec![1 + random.below(5), random.below(2) * random.below(20) * MS],
        RES | LIMIT => {
            let period = 1 + random.below(40);
            vec![(1 + random.below(period)) * MS, period * MS]
        }
        _ => vec![],
    })
}

/// A hierarchy with threads that come, go, move and talk.
pub struct Scenario {
    pub machine: Machine,
    random: Random,
    schedulers: Vec<(u32, u8)>,
    threads: Vec<u32>,
}

impl Scenario {
    pub fn new(seed: u64) -> Scenario {
        let mut random = Random(seed);
        let mut machine = Machine::new(1 + random.below(4) as u16);
        let (schedulers, threads) = random_hierarchy(&mut machine, &mut random);
        Scenario { machine, random, schedulers, threads }
    }

    fn pick<T: Copy>(&mut self, of: impl Fn(&Scenario) -> &[T]) -> Option<T> {
        let length = of(self).len() as u64;
        (length > 0).then(|| self.random.below(length)).map(|index| of(self)[index as usize])
    }

    /// Time goes on, and something happens to a thread.
    pub fn step(&mut self) {
        if self.machine.core.kick() == 0 {
            let end = self.machine.now + Nanos(self.random.below(8 * MS));
            if self.random.below(8) == 0 {
                let cpu = self.random.below(self.machine.cpus.into()) as u16;
                self.machine.interrupt(cpu, Nanos(self.random.below(MS)));
            }
            self.machine.run_until(end.max(self.machine.now));
        }
        let Some(thread) = self.pick(|s| &s.threads) else { return self.arrive() };
        let now = self.machine.now;
        let core = &mut self.machine.core;
        match self.random.below(16) {
            0..6 => core.request(thread, now),
            6..10 => core.release(thread, now),
            10 => core.yield_now(thread, now),
            11 if self.random.below(2) == 0 => self.cpu_comes_or_goes(),
            11 => {
                let mask = 1 + self.random.below((1 << self.machine.cpus) - 1);
                core.set_affinity(thread, mask, now).unwrap();
            }
            12 => self.leave(thread),
            13 => self.arrive(),
            14 => self.change(thread),
            _ if self.random.below(4) == 0 => self.replace(),
            _ => self.hierarchy_moves(thread),
        }
        // Several things may happen at one instant before the CPUs decide.
        if self.random.below(3) > 0 {
            self.machine.settle();
        }
    }

    fn arrive(&mut self) {
        let (parent, policy) = self.pick(|s| &s.schedulers).unwrap();
        let params = vp_params(policy, &mut self.random);
        let Ok(thread) = self.machine.core.attach(parent, None, params) else { return };
        self.machine.core.watch(thread, true).unwrap();
        self.threads.push(thread);
    }

    fn leave(&mut self, thread: u32) {
        self.machine.core.detach(thread, self.machine.now).unwrap();
        self.threads.retain(|&t| t != thread);
    }

    /// The thread tells its scheduler a new value of some parameter, which that may refuse, and something else.
    fn change(&mut self, thread: u32) {
        let (param, value) =
            (self.random.below(3) as u32, self.random.below(40) * MS.pow(self.random.below(2) as u32));
        let _ = self.machine.core.message(thread, param, value, self.machine.now);
        let _ = self.machine.core.tell(thread, 0, Params([value, 0, 0, 0]), self.machine.now);
    }

    /// A CPU goes, if it is not the last, or is back.
    fn cpu_comes_or_goes(&mut self) {
        let cpu = self.random.below(self.machine.cpus.into()) as u16;
        if self.random.below(3) > 0 {
            self.machine.core.online(cpu, self.machine.now).unwrap();
        } else {
            let _ = self.machine.offline(cpu);
        }
    }

    fn hierarchy_moves(&mut self, thread: u32) {
        let (parent, policy) = self.pick(|s| &s.schedulers).unwrap();
        let params = vp_params(policy, &mut self.random);
        let _ = self.machine.core.move_to(thread, parent, params, self.machine.now);
    }

    /// A scheduler gets another policy in its place, which may refuse.
    fn replace(&mut self) {
        let at = self.random.below(self.schedulers.len() as u64) as usize;
        let policy = [FP, TS, PS, RES, LIMIT, RR][self.random.below(6) as usize];
        let (scheduler, old) = self.schedulers[at];
        let policy = if old == JOIN { JOIN } else { policy };
        let info = policies().iter().find(|p| p.id == policy).unwrap();
        let params: Vec<u64> = info.scheduler_params.iter().map(|p| p.default.unwrap()).collect();
        let now = self.machine.now;
        let _ = self.machine.core.replace(scheduler, policy, Params::from_slice(&params), now);
        let name = self.machine.core.scheduler(scheduler).unwrap().policy;
        self.schedulers[at].1 = policies().iter().find(|p| p.name == name).unwrap().id;
    }
}
