//! Draws the parameters of a scheduler and of its children from what the scheduler's policy states: ranges, presets,
//! units and properties. So a new policy is drawn with no word about it here.
//!
//! What is read from a policy's lists:
//!
//! - two times of a VP without presets are a budget and a period, and all budgets together fit what the scheduler is
//!   promised, often to the last nanosecond, and sometimes not quite;
//! - budgets of a policy that plans (`.plans`) have places in a table besides;
//! - a number without a preset beside a budget is a priority: mostly the shorter the period the higher;
//! - numbers named [`RATE`] are parts of a CPU in millionths;
//! - the first time of a scheduler is a turn; of one that has pages, its agent's allowance, and a period;
//! - the first parameter of a VP is always given; others with presets make a child a special one.

use crate::random::Random;
use hls_core::pages::{AGENTS_SLOT, SLOT};
use hls_core::{ParamInfo, Params, PolicyInfo, Unit};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// The longest period of a budget, so that a run has many of them.
const MAX_PERIOD: u64 = 50 * MS;

/// No time below this one is drawn of any that a policy allows, unless it allows no other: it would only make more
/// events.
const MIN_TIME: u64 = MS / 10;

/// A parameter that is a part of a CPU, in millionths.
pub const RATE: &str = "rate-ppm";

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// In nanoseconds.
    Time(u64),
    /// A plain number.
    Count(u64),
    /// No parameter, but a guarantee that is asked for: JOB with an amount, a period and a response time.
    Job([u64; 3]),
}

/// Parameters by their names; those that are not here have their presets.
pub type Given = Vec<(&'static str, Value)>;

/// What a VP is promised, as far as the budgets below it depend on that.
pub trait Supply {
    /// The longest time without any, rounded up; `None`: there is no bound.
    fn blackout_ns(&self) -> Option<u64>;
    /// The least in any window of this length.
    fn least_ns(&self, window_ns: u64) -> u64;
    /// The part of a CPU in the long run, in millionths, rounded down.
    fn rate_ppm(&self) -> u64;
}

/// A CPU that nobody else has.
#[derive(Clone, Copy, Debug)]
pub struct WholeCpu;

impl Supply for WholeCpu {
    fn blackout_ns(&self) -> Option<u64> {
        Some(0)
    }

    fn least_ns(&self, window_ns: u64) -> u64 {
        window_ns
    }

    fn rate_ppm(&self) -> u64 {
        WHOLE
    }
}

/// A whole CPU in millionths.
const WHOLE: u64 = 1_000_000;

/// The place of a scheduler in a hierarchy.
#[derive(Clone, Copy)]
pub struct Place<'s> {
    /// What the scheduler's VP is promised.
    pub held: &'s dyn Supply,
    /// How many CPUs the machine has, so how many VPs a child may have.
    pub cpus: u64,
    /// Whether a policy that plans must take the children, and as many again, whenever they come. Otherwise it may
    /// refuse them.
    pub is_roomy: bool,
}

/// The names of the budget and the period of each VP; `None`: the policy has no budgets.
pub fn budget_and_period(policy: &PolicyInfo) -> Option<[&'static str; 2]> {
    let is_required = |info: &&ParamInfo| info.unit == Unit::Time && info.default.is_none();
    let required: Vec<&str> = policy.vp_params.iter().filter(is_required).map(|info| info.name).collect();
    required.try_into().ok()
}

/// The values in the order of the policy's list, presets included.
pub(crate) fn in_order(infos: &[ParamInfo], given: &Given) -> Params {
    let value = |info: &ParamInfo| {
        let found = given.iter().find(|(name, _)| *name == info.name);
        match found {
            Some((_, Value::Time(value) | Value::Count(value))) => *value,
            _ => info.default.unwrap_or(info.min),
        }
    };
    Params::from_slice(&infos.iter().map(value).collect::<Vec<_>>())
}

/// The nearest value that the policy allows.
fn valued(info: &ParamInfo, value: u64) -> (&'static str, Value) {
    let value = value.clamp(info.min, info.max);
    (info.name, if info.unit == Unit::Time { Value::Time(value) } else { Value::Count(value) })
}

/// Whatever a policy allows.
impl Random {
    /// Draws values of all parameters in the ranges that a policy states. Times without a preset are sorted, as no
    /// budget is longer than the period that follows it.
    pub(crate) fn any_params(&mut self, infos: &[ParamInfo]) -> Given {
        let mut values: Vec<u64> = infos.iter().map(|info| self.any_value(info)).collect();
        let is_required = |info: &ParamInfo| info.default.is_none() && info.unit == Unit::Time;
        let mut times: Vec<u64> = infos
            .iter()
            .zip(&values)
            .filter(|(info, _)| is_required(info))
            .map(|(_, value)| *value)
            .collect();
        times.sort_unstable();
        let required = infos.iter().zip(&mut values).filter(|(info, _)| is_required(info));
        required.zip(times).for_each(|((_, value), time)| *value = time);
        infos.iter().zip(values).map(|(info, value)| valued(info, value)).collect()
    }

    fn any_value(&mut self, info: &ParamInfo) -> u64 {
        if let Some(default) = info.default.filter(|_| self.once_in(2)) {
            return default;
        }
        let range = info.max.saturating_sub(info.min);
        let usual = !self.once_in(8);
        match info.unit {
            Unit::Time if usual => (MS * (1 + self.below(40))).clamp(info.min, info.max),
            Unit::Time => (MIN_TIME << self.below(12)).clamp(info.min, info.max),
            Unit::Count if usual => info.min + self.below(range.min(4) + 1),
            Unit::Count => info.min + self.below(range.saturating_add(1)).min(range),
        }
    }
}

/// What fits together.
impl Random {
    /// Draws parameters of a scheduler.
    pub fn scheduler_params(&mut self, policy: &PolicyInfo, held: &dyn Supply) -> Given {
        let params = &policy.scheduler_params;
        if policy.properties.has_pages {
            return self.allowance(params, held);
        }
        let mut given = Given::new();
        for (nth, info) in params.iter().enumerate() {
            if info.default.is_some() && !self.chance(if nth == 0 { 90 } else { 15 }) {
                continue;
            }
            let value = match info.unit {
                Unit::Time if nth == 0 => self.turn(),
                Unit::Time => self.short(),
                Unit::Count if info.name == RATE => self.rate(held),
                Unit::Count => self.count(info),
            };
            given.push(valued(info, value));
        }
        given
    }

    /// Draws children of a scheduler with these parameters: a list of parameters for each.
    pub fn children(&mut self, policy: &PolicyInfo, own: &Given, place: &Place<'_>) -> Vec<Given> {
        let most = u64::from(policy.max_children).min(if self.chance(10) { 8 } else { 4 });
        let least = if self.chance(70) { most.min(2) } else { 1 };
        let count = self.between(least, most);
        let budgets = match budget_and_period(policy) {
            Some(_) if policy.properties.plans => self.slots(count, place),
            Some(_) => self.budgets(count, place.held, own),
            None => Vec::new(),
        };
        let rates = self.rates(count, place.is_roomy);
        let mut children: Vec<Given> = Vec::new();
        for (nth, rate) in rates.into_iter().enumerate() {
            let child = self.child(policy, budgets.get(nth).copied(), rate, &children);
            children.push(child);
        }
        if policy.properties.has_pages && self.chance(90) {
            children.push(vec![(SLOT, Value::Count(AGENTS_SLOT))]);
        }
        children
    }

    /// Draws the parameters of a child beside `others`. `budget`: its budget and its period.
    fn child(&mut self, policy: &PolicyInfo, budget: Option<[u64; 2]>, rate: u64, others: &[Given]) -> Given {
        let is_special = self.chance(40);
        let mut required = budget.into_iter().flatten();
        let mut child = Given::new();
        for (nth, info) in policy.vp_params.iter().enumerate() {
            // A process has its children in any slots, and the engine numbers them.
            if policy.properties.has_pages && nth > 0 {
                break;
            }
            let is_required = info.default.is_none();
            let value = match (info.unit, budget) {
                (Unit::Time, _) if is_required => required.next().unwrap_or_else(|| self.turn()),
                (Unit::Time, _) if nth == 0 => {
                    if self.chance(60) {
                        self.period()
                    } else {
                        continue;
                    }
                }
                (Unit::Count, _) if info.name == RATE => rate,
                (Unit::Count, Some([_, period])) if is_required && self.chance(80) => {
                    info.max - (period / MS).min(info.max - info.min)
                }
                (Unit::Count, _) if nth == 0 && policy.properties.promises_by_level => {
                    self.level(info, others)
                }
                (Unit::Count, _) if nth == 0 || is_required => self.count(info),
                _ if !is_special || self.chance(30) => continue,
                (Unit::Time, _) => self.short(),
                (Unit::Count, _) => self.count(info),
            };
            child.push(valued(info, value));
        }
        child
    }

    /// Draws a level, mostly one that no other child has.
    fn level(&mut self, info: &ParamInfo, others: &[Given]) -> u64 {
        let mut level = self.count(info);
        for _ in 0..4 {
            let is_taken = others.iter().flatten().any(|other| *other == valued(info, level));
            if is_taken && self.chance(90) {
                level = self.count(info);
            }
        }
        level
    }

    /// Draws a number, mostly a small one.
    fn count(&mut self, info: &ParamInfo) -> u64 {
        let range = info.max.saturating_sub(info.min).saturating_add(1);
        let range = if self.chance(90) { range.min(8) } else { range };
        info.min + self.below(range)
    }

    /// Draws the length of a turn.
    fn turn(&mut self) -> u64 {
        match self.below(3) {
            0 => self.between(1, 10) * 50 * US,
            1 => self.between(100, 2_000) * US,
            _ => self.between(1, 6) * MS,
        }
    }

    fn period(&mut self) -> u64 {
        if self.chance(50) { self.between(1, 12) * 500 * US } else { self.between(300, 7_000) * US }
    }

    /// Draws a short time, or none.
    fn short(&mut self) -> u64 {
        self.between(0, 80) * 100 * US
    }

    /// Draws the allowance of an agent in each period, mostly less than the supply, of a scheduler of which mostly all
    /// that it may be told holds: then something is promised below it.
    fn allowance(&mut self, params: &[ParamInfo], held: &dyn Supply) -> Given {
        let every = self.period().max(100 * US);
        let part = self.one_of(&[5, 20, 50, 80, 95, 110]);
        let mut times = [every * held.rate_ppm() / WHOLE * part / 100, every].into_iter();
        let value = |info: &ParamInfo| match info.unit {
            Unit::Time => times.next().unwrap_or(every),
            Unit::Count => {
                if self.chance(85) {
                    info.max
                } else {
                    info.min
                }
            }
        };
        let values: Vec<u64> = params.iter().map(value).collect();
        params.iter().zip(values).map(|(info, value)| valued(info, value)).collect()
    }

    /// Draws how much of a CPU there is, mostly less than the supply in the long run.
    fn rate(&mut self, held: &dyn Supply) -> u64 {
        held.rate_ppm() * self.one_of(&[1_010, 1_000, 990, 950, 900, 800, 500, 1]) / 1_000
    }

    /// Draws parts of a CPU, which often take the whole one.
    fn rates(&mut self, count: u64, is_roomy: bool) -> Vec<u64> {
        let whole = if is_roomy { WHOLE / 2 } else { self.one_of(&[WHOLE, WHOLE, 900_000, 1_010_000]) };
        self.parts(count, false).map(|(weight, sum)| weight * whole / sum).collect()
    }

    /// Draws weights, each with the sum of all. The sum may include a weight that no child has.
    fn parts(&mut self, count: u64, may_leave_some: bool) -> impl Iterator<Item = (u64, u64)> + use<> {
        let weights: Vec<u64> = (0..count).map(|_| self.between(1, 10)).collect();
        let rest = if may_leave_some && self.chance(50) { self.between(1, 10) } else { 0 };
        let sum = weights.iter().sum::<u64>() + rest;
        weights.into_iter().map(move |weight| (weight, sum))
    }

    /// Draws budgets with their periods that `held` can carry. Where the scheduler has turns, budgets may be shorter by
    /// one: some policies let others run for so long first.
    fn budgets(&mut self, count: u64, held: &dyn Supply, own: &Given) -> Vec<[u64; 2]> {
        if count == 1 {
            return vec![self.budget(held)];
        }
        let pause = held.blackout_ns().unwrap_or(0);
        let is_whole = pause == 0 && held.rate_ppm() == WHOLE;
        let load = if is_whole {
            self.one_of(&[1_000, 1_000, 1_000, 950, 600, 1_050])
        } else {
            self.one_of(&[1_100, 990, 900, 800, 650, 500])
        };
        let turn = match own.first() {
            Some((_, Value::Time(turn))) if self.chance(70) => *turn,
            _ => 0,
        };
        let parts: Vec<_> = self.parts(count, false).collect();
        let one = |(weight, sum): (u64, u64)| {
            let period = if pause == 0 { self.period() } else { pause * self.between(3, 16) / 2 };
            let period = period.clamp(100 * US, MAX_PERIOD);
            let budget = period * weight / sum * load / 1_000 * held.rate_ppm() / WHOLE;
            budgeted(budget.checked_sub(turn).unwrap_or(budget), period)
        };
        parts.into_iter().map(one).collect()
    }

    /// Draws a budget for an only child: exactly what `held` supplies in a period, or less, or (to be refused) more.
    fn budget(&mut self, held: &dyn Supply) -> [u64; 2] {
        let period = match held.blackout_ns() {
            Some(pause) if pause > 0 => pause + pause * self.between(1, 12) / 4 + self.between(0, 3) * US,
            _ => self.period(),
        };
        let period = period.clamp(100 * US, MAX_PERIOD);
        let most = held.least_ns(period);
        let budget = match self.below(10) {
            0..=4 => most,
            5..=7 => most * self.between(30, 99) / 100,
            _ => most * self.between(101, 200) / 100,
        };
        budgeted(budget, period)
    }

    /// Draws slots of a table: multiples of a time in which all slots have room one after another; or periods of which
    /// each divides the next, with slots in that time, or in each period as many as there is room for. A full table has
    /// room on all CPUs together. A roomy one has periods that divide each other, and a quarter of the time.
    fn slots(&mut self, count: u64, place: &Place<'_>) -> Vec<[u64; 2]> {
        let divisor = self.between(1, 40) * 250 * US;
        let form = if place.is_roomy { 1 } else { self.below(3) };
        let load = if place.is_roomy { 225 } else { self.one_of(&[1_000, 1_000, 450, 300]) };
        let mut times = 1;
        let mut slots = Vec::new();
        let parts: Vec<_> = self.parts(count, true).collect();
        for (weight, sum) in parts {
            let next = match form {
                0 => self.one_of(&[1, 1, 2, 3, 4, 5]),
                // Few jobs in each round: as many again must have room in a plan.
                _ if place.is_roomy => (times * self.between(1, 2)).min(8),
                _ => times * self.one_of(&[1, 1, 2, 2, 3]),
            };
            times = if divisor * next > MAX_PERIOD { times } else { next };
            let room = if form == 2 { divisor * times } else { divisor };
            slots.push(budgeted(room * weight / sum * load / 1_000 / place.cpus, divisor * times));
        }
        if self.chance(50) {
            slots.reverse();
        }
        slots
    }
}

fn budgeted(budget: u64, period: u64) -> [u64; 2] {
    [budget.clamp(US, period), period]
}
