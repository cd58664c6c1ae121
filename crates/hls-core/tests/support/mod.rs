//! A machine that tests drive by hand: small hierarchies in which every decision is known.

pub mod agent;

use hls_core::{Calls, CoreScheduler, CoreVp, Params, PolicyInfo, policies};
use hls_scenario::Machine;
use hls_units::Nanos;

pub const MS: u64 = 1_000_000;

/// The built-in policy of this name.
pub fn policy_of(name: &str) -> &'static PolicyInfo {
    policies()
        .iter()
        .find(|policy| policy.name == name)
        .unwrap_or_else(|| panic!("there is no policy {name}"))
}

/// Which thread runs on the first CPU in each of the next milliseconds: `a`, `b`, `c` ..., or none (`.`).
pub fn timeline(machine: &mut Machine, threads: &[CoreVp], length: u64) -> String {
    let millisecond = |_| {
        let nth = threads.iter().position(|&thread| machine.running[0] == Some(thread));
        machine.run_to(machine.now + Nanos(MS));
        nth.map_or('.', |nth| char::from(b'a' + nth as u8))
    };
    (0..length).map(millisecond).collect()
}

/// The same, with a thread, asleep at first, that serves jobs: pairs of arrival time, in order, and length.
pub fn served(
    machine: &mut Machine,
    threads: &[CoreVp],
    server: usize,
    jobs: &[(u64, u64)],
    length: u64,
) -> String {
    let (mut runs, mut pending) = (String::new(), 0);
    for now in 0..length {
        for (_, amount) in jobs.iter().filter(|(at, _)| *at == now) {
            pending += amount;
            machine.wake(threads[server]);
        }
        runs += &timeline(machine, threads, 1);
        if runs.ends_with(char::from(b'a' + server as u8)) {
            pending -= 1;
            if pending == 0 {
                machine.block(threads[server]);
            }
        }
    }
    runs
}

/// A machine, driven by hand.
pub trait ByHand {
    fn settled(&mut self);
    fn run_to(&mut self, end: Nanos);
    fn scheduler(&mut self, policy: &str, params: &[u64]) -> CoreScheduler;
    fn root(&mut self, policy: &str, params: &[u64]) -> CoreScheduler;
    fn below(
        &mut self,
        parent: CoreScheduler,
        vp_params: &[u64],
        policy: &str,
        params: &[u64],
    ) -> CoreScheduler;
    fn thread(&mut self, parent: CoreScheduler, params: &[u64]) -> CoreVp;
    fn wake(&mut self, vp: CoreVp);
    fn block(&mut self, vp: CoreVp);
    fn ran_ms(&self, vp: CoreVp) -> f64;
}

impl ByHand for Machine {
    fn settled(&mut self) {
        self.settle().unwrap_or_else(|trouble| panic!("at {}: {trouble}", self.now));
    }

    fn run_to(&mut self, end: Nanos) {
        self.run_until(end).unwrap_or_else(|trouble| panic!("at {}: {trouble}", self.now));
    }

    fn scheduler(&mut self, policy: &str, params: &[u64]) -> CoreScheduler {
        let policy = policy_of(policy);
        let mut all: Vec<u64> = policy.scheduler_params.iter().map(|p| p.default.unwrap()).collect();
        all[..params.len()].copy_from_slice(params);
        self.core.create_scheduler(policy.id, Params::from_slice(&all)).unwrap()
    }

    fn root(&mut self, policy: &str, params: &[u64]) -> CoreScheduler {
        let s = self.scheduler(policy, params);
        self.make_root(s).unwrap();
        s
    }

    fn below(
        &mut self,
        parent: CoreScheduler,
        vp_params: &[u64],
        policy: &str,
        params: &[u64],
    ) -> CoreScheduler {
        let s = self.scheduler(policy, params);
        self.core.attach(parent, Some(s), Params::from_slice(vp_params)).unwrap();
        s
    }

    fn thread(&mut self, parent: CoreScheduler, params: &[u64]) -> CoreVp {
        self.core.attach(parent, None, Params::from_slice(params)).unwrap()
    }

    fn wake(&mut self, vp: CoreVp) {
        self.core.request(vp, self.now);
        self.settled();
    }

    fn block(&mut self, vp: CoreVp) {
        self.core.release(vp, self.now);
        self.settled();
    }

    fn ran_ms(&self, vp: CoreVp) -> f64 {
        self.core.ran(vp, self.now).0 as f64 / MS as f64
    }
}
