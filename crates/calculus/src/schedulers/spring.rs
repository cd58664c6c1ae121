//! Spring: a plan, found before it is promised (J. A. Stankovic et al., "The Spring System: Integrated Support for
//! Complex Real-Time Systems", Real-Time Systems 1999; HLS section 5.1).
//!
//! Each child's amount is a job in each of its periods, which runs in one piece. A plan for the hyperperiod is searched
//! job by job, as `policies/spring.c` does it: the job with the least H = deadline + earliest start is tried first, and
//! where some job would be late after a partial plan, the last step of the plan is taken back and its next best choice
//! is tried. The search is bounded, so a set that has a plan may be refused; the refusal says which bound was met. The
//! core searches the same way if all children come while none wants the CPU. A child that comes later is refused by the
//! core if there is no plan for what is left of the periods of the others.
//!
//! The plan repeats, and is kept whether or not a child wants its slots. In each period a child has one slot, so a
//! window that ends in it, or begins in it since the child wakes there, sees no less than RESBH x,y says; for a child
//! that wakes after its slot, RESBH promises nothing in that period. On another supply than a whole CPU a slot is a
//! window of length x, in which sbf(x) is received: RESBS sbf(x),y. A window that begins `a` after the beginning of a
//! slot sees sbf(x-a) of it, no less than sbf(x) less `a`.

use super::claims::{Claim, claims_on_supply, held_in_slot};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::work::INTEGERS_A_STEP;
use num_integer::Integer;
use num_traits::Signed;
use std::cmp::Reverse;

pub(super) const ENTRY: Entry = Entry {
    policy: "spring",
    source: "Stankovic et al., Real-Time Systems 1999",
    accepts: "ALL of one CPU, or any supply; jobs for which a plan without preemption is found",
    provides: "RESBH budget,period to every child; below another supply RESBS sbf(budget),period",
    limits: Limits::Budget,
    provide,
};

const RULE: Rule = Rule { name: "Spring, planned", source: ENTRY.source };

/// The most children, jobs, choices of the longest partial plan that are taken back, and steps, as in the core. A
/// choice takes a step for each child, and one more.
const MAX_CHILDREN: usize = 16;
const MAX_JOBS: u128 = 400;
const MAX_BACK: usize = 32;
const MAX_STEPS: usize = 2900;

fn provide(instance: &Instance) -> Provided {
    let (held, claims) = match claims_on_supply(instance, RULE) {
        Ok(both) => both,
        Err(provided) => return provided,
    };
    let nanos: Vec<(u128, u128)> = claims.iter().map(Claim::nanos).collect();
    let mut taken = 0;
    let plan = plan(&nanos, &mut taken);
    instance.work.take(taken / INTEGERS_A_STEP);
    match plan {
        Err(found) => instance.nothing_because(RULE, "jobs for which a plan is found", found),
        Ok(plan) => {
            let formula = format!("a plan of {} jobs, found with {} backtracks", plan.jobs, plan.backtracks);
            let labels = claims.into_iter().map(|claim| planned(instance, held, claim, &formula));
            Provided { labels: labels.collect(), complaints: Vec::new() }
        }
    }
}

/// The label of a child that has a slot in each period.
fn planned(instance: &Instance, held: &Label, claim: Claim, formula: &str) -> Label {
    if held.guarantee == Guarantee::All {
        return instance.label(claim.guarantee(), RULE, formula);
    }
    let (amount, found) = held_in_slot(&held.supply(), &claim.budget);
    let guarantee =
        if amount.is_positive() { Guarantee::resbs(amount, claim.period) } else { Guarantee::Null };
    instance.label(guarantee, RULE, format!("{formula}; {found}"))
}

/// A plan that was found: how many jobs it has, and how many choices were taken back.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    jobs: u128,
    backtracks: usize,
}

/// A step of a partial plan: the CPU is free before it at `free_at`, and then the next job of this child follows.
struct Step {
    free_at: u128,
    child: usize,
}

/// Searches a plan for a hyperperiod of children of these amounts and periods, or says why there is none. Counts the
/// steps that it takes.
fn plan(claims: &[(u128, u128)], taken: &mut usize) -> Result<Plan, String> {
    if claims.len() > MAX_CHILDREN {
        return Err(format!("{} children, of at most {MAX_CHILDREN}", claims.len()));
    }
    let jobs = count(claims).ok_or(format!("a hyperperiod of more than {MAX_JOBS} jobs"))?;
    let hyperperiod = claims.iter().fold(1, |lcm: u128, (_, period)| lcm.lcm(period));
    let mut done = vec![0_u128; claims.len()];
    let mut steps: Vec<Step> = Vec::new();
    let (mut free_at, mut last, mut backtracks, mut longest) = (0, None, 0, 0);
    while (steps.len() as u128) < jobs {
        if *taken >= MAX_STEPS {
            return Err(format!("none within {MAX_STEPS} steps, {} for each choice", claims.len() + 1));
        }
        *taken += claims.len() + 1;
        if let Some(child) = choose(claims, &done, hyperperiod, free_at, last.take()) {
            steps.push(Step { free_at, child });
            let (amount, period) = claims[child];
            free_at = free_at.max(done[child] * period) + amount;
            done[child] += 1;
            longest = longest.max(steps.len());
            continue;
        }
        if longest - steps.len() == MAX_BACK {
            return Err(format!("none in which only the last {MAX_BACK} of {longest} choices are others"));
        }
        let Some(step) = steps.pop() else {
            return Err(format!("none after {backtracks} backtracks"));
        };
        backtracks += 1;
        done[step.child] -= 1;
        (free_at, last) = (step.free_at, Some(step.child));
    }
    Ok(Plan { jobs, backtracks })
}

/// How many jobs a hyperperiod has, if they are not too many.
fn count(claims: &[(u128, u128)]) -> Option<u128> {
    let shortest = claims.iter().map(|(_, period)| *period).min().unwrap_or(1);
    let mut hyperperiod: u128 = 1;
    for (_, period) in claims {
        hyperperiod = (hyperperiod / hyperperiod.gcd(period)).checked_mul(*period)?;
        if hyperperiod / shortest > MAX_JOBS {
            return None;
        }
    }
    let jobs: u128 = claims.iter().map(|(_, period)| hyperperiod / period).sum();
    (jobs <= MAX_JOBS).then_some(jobs)
}

/// The child that runs its next job from `free_at` on, the best behind the one that was tried last; none if there is no
/// other, or if the next job of some child would be late in any case.
fn choose(
    claims: &[(u128, u128)],
    done: &[u128],
    hyperperiod: u128,
    free_at: u128,
    last: Option<usize>,
) -> Option<usize> {
    let mut places = Vec::new();
    for (child, (amount, period)) in claims.iter().enumerate() {
        let release = done[child] * period;
        if release == hyperperiod {
            continue;
        }
        let (start, deadline) = (free_at.max(release), release + period);
        if start + amount > deadline {
            return None;
        }
        places.push((deadline + start, *period, Reverse(*amount), child));
    }
    let behind = places.iter().find(|place| Some(place.3) == last).copied();
    places.into_iter().filter(|place| behind.is_none_or(|behind| *place > behind)).min().map(|place| place.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_found_and_bounds_are_met() {
        let backtracks = |claims: &[(u128, u128)]| plan(claims, &mut 0).map(|plan| plan.backtracks);
        assert_eq!(plan(&[(1, 2), (2, 4)], &mut 0), Ok(Plan { jobs: 3, backtracks: 0 }));
        // Three in a row would leave no room for one of the jobs of 1 in every 2.
        assert!(backtracks(&[(1, 2), (3, 6)]).unwrap_err().contains("none after"));
        assert_eq!(plan(&[], &mut 0), Ok(Plan { jobs: 0, backtracks: 0 }));
        assert!(backtracks(&[(1, 100); 17]).unwrap_err().contains("17 children"));
        assert!(backtracks(&[(1, 2), (1, 20_001)]).unwrap_err().contains("more than 400 jobs"));
        assert!(backtracks(&[(1, u128::from(u64::MAX)), (1, u128::from(u64::MAX) - 1)]).is_err());
    }
}
