//! The conditions of JOB for each child of a BVT scheduler: see the module above. What is the same for all children is
//! worked out once, so that many children do not take long.

use super::{GRANULES_A_NANOSECOND, InTime, Warper, Warpers};
use crate::rational::{Rational, share_floor, time_ceil, time_floor, whole};
use crate::work::Work;
use num_traits::{One, Signed, Zero};

/// The virtual times of f, of a sibling and of the scheduler, and the warp of f, are rounded to granules.
const ROUNDINGS: u64 = 4;
/// After this many corners a response time is given up.
const MAX_CORNERS: usize = 10_000;

/// The children, with what the conditions need of them.
pub(crate) struct Conditions<'w> {
    each: &'w [Warper],
    /// The parts of the CPU.
    weights: Vec<Rational>,
    /// The warps in virtual time.
    warps: Vec<Rational>,
    /// What each may get beyond its part by its limits, and the allowance.
    within: Vec<Option<Rational>>,
    /// What each may be ahead by its warp, and the allowance.
    ahead: Vec<Rational>,
    /// The children that their limits keep within their part, by how much less each of them then adds for its weight.
    order: Vec<usize>,
    /// The finest part of virtual time that the core counts, in nanoseconds.
    granule: Rational,
}

impl<'w> Conditions<'w> {
    pub fn new(warpers: &'w Warpers) -> Conditions<'w> {
        let Warpers { allowance, each } = warpers;
        let total: Rational = each.iter().map(|warper| &warper.share).sum();
        let weights: Vec<Rational> = each.iter().map(|warper| &warper.share / &total).collect();
        let warps = each.iter().zip(&weights).map(|(warper, weight)| &warper.warp / weight).collect();
        let beyond = |(Warper { limit, unwarp, .. }, weight): (&Warper, &Rational)| {
            let beyond = limit * (Rational::one() - weight);
            (limit.is_positive() && beyond <= weight * unwarp).then(|| beyond + allowance)
        };
        let within: Vec<Option<Rational>> = each.iter().zip(&weights).map(beyond).collect();
        let ahead: Vec<Rational> = each.iter().map(|warper| &warper.warp + allowance).collect();
        let gain = |n: usize| Some((n, (&ahead[n] - within[n].as_ref()?) / &weights[n]));
        let mut gains: Vec<(usize, Rational)> = (0..each.len()).filter_map(gain).collect();
        gains.sort_by(|(_, one), (_, other)| other.cmp(one));
        let order = gains.into_iter().map(|(n, _)| n).collect();
        let granule = total / whole(GRANULES_A_NANOSECOND);
        Conditions { each, weights, warps, within, ahead, order, granule }
    }

    /// The greatest debt with which a child wakes up for a request in its turn: the least that is found over sets G of
    /// siblings, which are the first in their order.
    pub fn debt(&self, child: usize) -> Rational {
        let ordered: Vec<usize> = self.order.iter().copied().filter(|n| *n != child).collect();
        let others = || (0..self.each.len()).filter(|n| *n != child);
        let mut sum: Rational = others().map(|n| &self.ahead[n]).sum();
        let mut rest = Rational::one() - &self.weights[child];
        // The least of the siblings out of G behind each place of the order, and of the siblings in G before it.
        let never = others().filter(|n| self.within[*n].is_none()).map(|n| &self.ahead[n]).min();
        let mut least_out = vec![never];
        for n in ordered.iter().rev() {
            least_out.push(least_out.last().copied().flatten().into_iter().chain([&self.ahead[*n]]).min());
        }
        let (mut least_in, mut debt) = (None::<&Rational>, None::<Rational>);
        for place in 0..=ordered.len() {
            let least = least_out[ordered.len() - place].into_iter().chain(least_in).min();
            let Some(least) = least.filter(|_| rest.is_positive()) else { break };
            let found = (&sum - least + &self.granule) / &rest;
            debt = debt.into_iter().chain([found]).min();
            let Some(n) = ordered.get(place) else { break };
            if let Some(within) = &self.within[*n] {
                sum += within - &self.ahead[*n];
                rest -= &self.weights[*n];
                least_in = least_in.into_iter().chain([within]).min();
            }
        }
        debt.unwrap_or_default()
    }

    /// The debt if G has the siblings that ask for JOB, and so stay within their part; `None` where they leave nothing
    /// to the others.
    pub fn debt_beside(&self, child: usize, asks: &[bool]) -> Option<Rational> {
        let others = (0..self.each.len()).filter(|n| *n != child);
        let (mut sum, mut least) = (self.granule.clone(), None::<&Rational>);
        let mut rest = Rational::one() - &self.weights[child];
        for n in others {
            let within = self.within[n].as_ref().filter(|_| asks[n]);
            if within.is_some() {
                rest -= &self.weights[n];
            }
            let adds = within.unwrap_or(&self.ahead[n]);
            sum += adds;
            least = least.into_iter().chain([adds]).min();
        }
        rest.is_positive().then(|| (sum - least.cloned().unwrap_or_default()) / rest)
    }

    /// By how much a child's virtual warp must exceed a sibling's so that the child stays ahead of it.
    pub fn lead(&self, child: usize, debt: &Rational) -> Rational {
        &self.each[child].limit / &self.weights[child] + debt + whole(ROUNDINGS) * &self.granule
    }

    /// Whether a child is done in time with requests of at most this amount that come this period apart, and within
    /// what time.
    ///
    /// # Errors
    /// The first condition that does not hold, with its numbers.
    pub fn in_time(
        &self,
        child: usize,
        (amount, period): (&Rational, &Rational),
        work: &Work,
    ) -> Result<InTime, String> {
        let own = &self.each[child];
        let (weight, debt) = (&self.weights[child], self.debt(child));
        self.may(child, amount, period)?;
        let lead = self.lead(child, &debt);
        let warp = &self.warps[child];
        if self.each.len() > 1 && *warp < lead {
            return Err(format!(
                "a warp of {} is needed to stay ahead of children that are not warped: the limit, {}, and {} of its \
                 debt, {}; it is {}",
                time_ceil(&(&lead * weight)),
                time_ceil(&own.limit),
                share_floor(weight),
                time_ceil(&debt),
                time_floor(&own.warp)
            ));
        }
        let others = (0..self.each.len()).filter(|n| *n != child);
        let ahead: Vec<usize> =
            others.filter(|n| self.each[*n].warp.is_positive() && *warp < &self.warps[*n] + &lead).collect();
        let endless =
            |n: &&usize| !(self.each[**n].limit.is_positive() && self.each[**n].unwarp.is_positive());
        if let Some(n) = ahead.iter().find(endless) {
            let least = (&self.warps[*n] + &lead) * weight;
            return Err(format!(
                "`{}`, which it is not ahead of, may run warped for any time; a `warp-limit` and an `unwarp` there, \
                 or a warp of {} here, would do",
                self.each[*n].name,
                time_ceil(&least)
            ));
        }
        let response = self.response((amount, period), &ahead, work).map_err(|reason| {
            format!(
                "with what {} that it is not ahead of may take warped, {} {reason} come within {}",
                self.names(&ahead),
                time_ceil(amount),
                time_ceil(period)
            )
        })?;
        if &own.unwarp + &response > *period {
            let (unwarp, rest) = (time_ceil(&own.unwarp), time_floor(&(period - &response)));
            return Err(format!(
                "an `unwarp` of at most {rest} is needed, what a period leaves after {}, when it is done beside \
                 {}; it is {unwarp}",
                time_ceil(&response),
                self.names(&ahead)
            ));
        }
        let formula = format!(
            "W = {} >= L/r + D = {} + {}; R = {}, with what {} may take warped; U <= T - R",
            time_floor(warp),
            time_ceil(&(&own.limit / weight)),
            time_ceil(&debt),
            time_ceil(&response),
            self.names(&ahead)
        );
        Ok(InTime { response, formula })
    }

    /// Whether the limit and the share are enough for requests of this kind.
    pub fn may(&self, child: usize, amount: &Rational, period: &Rational) -> Result<(), String> {
        let (own, weight) = (&self.each[child], &self.weights[child]);
        if own.limit < *amount {
            let limit = if own.limit.is_zero() { "none".into() } else { time_floor(&own.limit) };
            return Err(format!("a `warp-limit` of {} or more is needed; it is {limit}", time_ceil(amount)));
        }
        if weight * period < *amount {
            return Err(format!(
                "{} in every {} take more than its part, {} of the CPU",
                time_ceil(amount),
                time_floor(period),
                share_floor(weight)
            ));
        }
        Ok(())
    }

    /// The least time in which these siblings leave `amount` if all run warped for as long as they may, the limit
    /// first; where it is longer than `most`, or was given up, how it then may come. From one corner of what they take
    /// to the next, what is left grows only where none of them is warped. At each corner each sibling costs a step.
    fn response(
        &self,
        (amount, most): (&Rational, &Rational),
        ahead: &[usize],
        work: &Work,
    ) -> Result<Rational, &'static str> {
        const LATE: &str = "may not";
        let (mut at, mut left) = (Rational::zero(), Rational::zero());
        for _ in 0..MAX_CORNERS {
            if !work.take(ahead.len()) {
                break;
            }
            let phases = ahead.iter().map(|n| {
                let Warper { limit, unwarp, .. } = &self.each[*n];
                let cycle = limit + unwarp;
                let into = &at - (&at / &cycle).floor() * &cycle;
                if into < *limit { (true, limit - into) } else { (false, cycle - into) }
            });
            let phases: Vec<(bool, Rational)> = phases.collect();
            let warped = whole(phases.iter().filter(|(is_warped, _)| *is_warped).count() as u64);
            let next = phases.into_iter().map(|(_, length)| length).min();
            let slope = Rational::one() - warped;
            if slope.is_positive() {
                let end = &at + amount - &left;
                if next.as_ref().is_none_or(|next| end <= &at + next) {
                    return if end <= *most { Ok(end) } else { Err(LATE) };
                }
            }
            let next = next.ok_or(LATE)?;
            left += slope * &next;
            at += next;
            if at > *most {
                return Err(LATE);
            }
        }
        Err("was not found, before the search gave up, to")
    }

    fn names(&self, children: &[usize]) -> String {
        let names: Vec<String> = children.iter().map(|n| format!("`{}`", self.each[*n].name)).collect();
        if names.is_empty() { "no sibling".into() } else { names.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two children that run warped for a microsecond of every two: two steps a corner.
    #[test]
    fn corners_are_steps() {
        let us = |us: u64| whole(us * 1_000);
        let warper = |name: &str| Warper {
            name: name.into(),
            share: whole(1),
            warp: us(1),
            limit: us(1),
            unwarp: us(1),
        };
        let each = ["a", "b", "c"].map(warper).to_vec();
        let warpers = Warpers { allowance: whole(0), each };
        let conditions = Conditions::new(&warpers);
        let response =
            |amount: u64, work: &Work| conditions.response((&us(amount), &us(1 << 40)), &[1, 2], work);
        let given_up = Err("was not found, before the search gave up, to");
        let (most, enough) = (Work::of(u64::MAX), Work::of(22));
        assert_eq!(response(1 << 39, &most), given_up);
        assert_eq!(most.left(), Some(u64::MAX - 2 * MAX_CORNERS as u64));
        assert_eq!((response(100, &enough), enough.left()), (given_up, None));
    }
}
