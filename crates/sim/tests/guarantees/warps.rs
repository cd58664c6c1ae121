//! What `bvt` alone promises, drawn on purpose: JOB to threads with warps that are planned for it, and parts of several
//! CPUs to threads with equal shares.

use super::draw::Draw;
use super::tree::{HOG, Work};
use hls_calculus::warps::{Request, Warper, Warpers, plan as plan_warps};
use hls_calculus::{Guarantee, Rational, ceil_nanos};
use hls_core::policies;
use hls_scenario::{Given, Value};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

const BVT: &str = "bvt";

/// The allowance that the policy has if none is drawn.
const ALLOWANCE: u64 = 5 * MS;

impl Draw {
    /// Puts a scheduler in the place of the root, which is a thread.
    pub(super) fn put_bvt(&mut self) {
        let bvt = policies().iter().find(|policy| policy.name == BVT).expect("it is built in");
        self.put(0, bvt, &Guarantee::All, true);
    }

    /// Draws other children of a scheduler that has whole CPUs, if its policy promises more to these than shares.
    pub(super) fn promise_more(&mut self, at: usize) {
        let tree = &self.case.tree;
        let Some(mut scheduler) = tree.scheduler(at).filter(|it| it.policy.name == BVT).cloned() else {
            return;
        };
        let cpus = scheduler.width.unwrap_or(self.case.cpus);
        let allowance = scheduler.params.iter().find(|(name, _)| *name == "allowance");
        let allowance = if let Some((_, Value::Time(time))) = allowance { *time } else { ALLOWANCE };
        let children = if cpus > 1 {
            scheduler.params.retain(|(name, _)| ["allowance", "migration"].contains(name));
            Some(self.even_shares(cpus))
        } else {
            self.warping(allowance)
        };
        let Some(children) = children else { return };
        self.case = self.case.without(&self.case.tree.children(at));
        self.case.tree.put(at, scheduler, children, &HOG);
    }

    /// Draws the one share that each child of several CPUs has: mostly one by which virtual times are exact.
    pub(super) fn even_shares(&mut self, cpus: u64) -> Vec<Given> {
        let share = self.random.one_of(&[1, 1, 2, 16, 3]);
        (0..cpus + self.random.between(1, 3)).map(|_| vec![("share", Value::Count(share))]).collect()
    }

    /// Draws children; the first of them ask for JOB, and have the least warps that give it, or the first a smaller
    /// one; `None` where no warps give it.
    pub(super) fn warping(&mut self, allowance: u64) -> Option<Vec<Given>> {
        let rational = |number: u64| Rational::from_integer(number.into());
        let count = self.random.between(2, 4) as usize;
        let asking = self.random.between(1, count as u64 - 1) as usize;
        let shares: Vec<u64> = (0..count).map(|_| self.random.between(1, 8)).collect();
        let total: u64 = shares.iter().sum();
        let (mut each, mut asked) = (Vec::new(), Vec::new());
        for (n, share) in shares.iter().enumerate() {
            let amount = self.random.between(1, 30) * 100 * US;
            let limit = amount * self.random.one_of(&[100, 100, 110, 150]) / 100;
            let unwarp =
                (limit * (total - share)).div_ceil(*share) * self.random.one_of(&[100, 100, 120, 200]) / 100;
            let limits = if n < asking { [limit, unwarp] } else { [0, 0] };
            let [limit, unwarp] = limits.map(rational);
            let warp =
                if n >= asking && self.random.chance(30) { self.random.between(1, 20) * 100 * US } else { 0 };
            let (name, share, warp) = (format!("c{n}"), rational(*share), rational(warp));
            each.push(Warper { name, share, warp, limit, unwarp });
            // Only the order of the responses counts here: the period is as long as can be.
            let response = rational(self.random.between(1, 2));
            let request = Request { amount: rational(amount), period: rational(1_000_000 * MS), response };
            asked.push((n < asking).then_some(request));
        }
        let warpers = plan_warps(&Warpers { allowance: rational(allowance), each }, &asked).ok()?.warpers;
        let mut children: Vec<Given> =
            (0..count).map(|n| self.asking(&warpers, n, asked[n].as_ref())).collect::<Option<_>>()?;
        if let (true, [_, (_, Value::Time(warp)), ..]) = (self.random.chance(20), &mut children[0][..]) {
            *warp = *warp * self.random.between(30, 99) / 100;
        }
        Some(children)
    }

    /// The parameters of a child that warps, and the JOB that it asks for, mostly with the least period.
    fn asking(&mut self, warpers: &Warpers, child: usize, asked: Option<&Request>) -> Option<Given> {
        let time = |time: &Rational| ceil_nanos(time).0;
        let Warper { share, warp, limit, unwarp, .. } = &warpers.each[child];
        let mut params = vec![("share", Value::Count(time(share)))];
        let times = [("warp", warp), ("warp-limit", limit), ("unwarp", unwarp)];
        params.extend(times.iter().map(|(name, value)| (*name, Value::Time(time(value)))));
        let Some(Request { amount, period, .. }) = asked else { return Some(params) };
        let response = time(&warpers.in_time(child, amount, period).ok()?.response);
        let least = time(&(amount / warpers.weight(child))).max(response + time(unwarp));
        let period = least * self.random.one_of(&[100, 100, 100, 105, 150]) / 100;
        params.push(("guarantee", Value::Job([time(amount), period, response])));
        Some(params)
    }

    /// Draws requests that mostly come in their turn, and mostly take as much as is promised.
    pub(super) fn requests(&mut self, [amount, period, _]: [u64; 3], marks: &[u64]) -> Work {
        let run = match self.random.between(0, 9) {
            0..=5 => (amount, amount),
            6..=8 => (US.min(amount), amount),
            _ => (amount, amount * 3 / 2),
        };
        let every = if self.random.chance(70) { period } else { period + self.random.between(1, 3_000) * US };
        let offset = if self.random.chance(60) { self.time(marks) } else { 0 };
        let jitter =
            if self.random.chance(20) { self.random.between(1, period / US / 2 + 1) * US } else { 0 };
        Work::Periodic { run, every, offset, jitter }
    }
}
