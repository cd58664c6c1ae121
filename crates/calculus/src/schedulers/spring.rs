//! Spring: a plan, found before it is promised (J. A. Stankovic et al., "The Spring System: Integrated Support for
//! Complex Real-Time Systems", Real-Time Systems 1999; HLS section 5.1).
//!
//! Each child's amount is a job in each of its periods, which runs in one piece. A plan for the hyperperiod is
//! searched job by job: the jobs with the least H = deadline + earliest start are tried first, and where some job would
//! be late after a partial plan, the last step of the plan is taken back and its next best choice is tried. The search
//! is bounded, so a set that has a plan may be refused; the refusal says which bound was met.
//!
//! The plan repeats, and is kept whether or not a child wants its slots. In each period a child has one slot, so a
//! window that ends in it, or begins in it since the child wakes there, sees no less than RESBH x,y says; for a child
//! that wakes after its slot, RESBH promises nothing in that period. On RESU a slot is a notified interval, and its
//! length is in the slower processor's time.

use super::claims::{Claim, claims_on_processor};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::description::{BUDGET, Description, PERIOD};
use crate::work::INTEGERS_A_STEP;
use num_integer::Integer;

pub(super) const ENTRY: Entry = Entry {
    policy: "spring",
    source: "Stankovic et al., Real-Time Systems 1999",
    accepts: "ALL or RESU; jobs for which a plan without preemption is found",
    provides: "RESBH budget,period to every child",
    joins: false,
    limits: Limits::Budget,
    description: Some(Description {
        doc: "a plan for all jobs of the hyperperiod, each in one piece",
        scheduler_params: &[],
        vp_params: &[BUDGET, PERIOD],
    }),
    provide,
};

const RULE: Rule = Rule { name: "Spring, planned", source: ENTRY.source };

/// The most jobs that are planned.
const MAX_JOBS: u128 = 10_000;
/// The most choices that are taken back.
const MAX_BACKTRACKS: usize = 1_000;
/// The most children that are tried as the next one of a plan.
const MAX_CHOICES: usize = 4;

fn provide(instance: &Instance) -> Provided {
    let (held, claims) = match claims_on_processor(instance, RULE) {
        Ok(both) => both,
        Err(provided) => return provided,
    };
    let nanos: Vec<(u128, u128)> = claims.iter().map(Claim::nanos).collect();
    let mut tried = 0;
    let plan = plan(&nanos, &mut tried);
    instance.work.take(tried * nanos.len() / INTEGERS_A_STEP);
    match plan {
        Err(found) => instance.nothing_because(RULE, "jobs for which a plan is found", found),
        Ok(plan) => {
            let formula = format!("a plan of {} jobs, found with {} backtracks", plan.jobs, plan.backtracks);
            let labels =
                claims.into_iter().map(|claim| instance.paced(held, claim.guarantee(), RULE, &formula));
            Provided { labels: labels.collect(), complaints: Vec::new() }
        }
    }
}

/// A plan that was found: how many jobs it has, and how many choices were taken back.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    jobs: u128,
    backtracks: usize,
}

/// A partial plan: the children whose next job may follow, the best last, and the one whose job follows.
struct Step {
    free_at: u128,
    choices: Vec<usize>,
    taken: usize,
}

/// Searches a plan for a hyperperiod of children of these amounts and periods, or says why there is none. Counts the
/// partial plans that it tries.
fn plan(claims: &[(u128, u128)], tried: &mut usize) -> Result<Plan, String> {
    let jobs = count(claims).ok_or(format!("a hyperperiod of more than {MAX_JOBS} jobs"))?;
    let hyperperiod = claims.iter().fold(1, |lcm: u128, (_, period)| lcm.lcm(period));
    let mut done = vec![0_u128; claims.len()];
    let mut steps: Vec<Step> = Vec::new();
    let (mut free_at, mut planned, mut backtracks) = (0, 0, 0);
    while planned < jobs {
        *tried += 1;
        steps.push(Step {
            free_at,
            choices: choices(claims, &done, hyperperiod, free_at),
            taken: usize::MAX,
        });
        let next = loop {
            let Some(step) = steps.last_mut() else {
                return Err(format!("none after {backtracks} backtracks, with {MAX_CHOICES} choices a step"));
            };
            if let Some(child) = step.choices.pop() {
                step.taken = child;
                break (step.free_at, child);
            }
            steps.pop();
            if let Some(step) = steps.last() {
                done[step.taken] -= 1;
                planned -= 1;
                backtracks += 1;
            }
            if backtracks > MAX_BACKTRACKS {
                return Err(format!("none within {MAX_BACKTRACKS} backtracks"));
            }
        };
        let (from, child) = next;
        let (amount, period) = claims[child];
        free_at = from.max(done[child] * period) + amount;
        done[child] += 1;
        planned += 1;
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

/// The children whose next job may run from `free_at` on, the best last; none if one of them would be late in any
/// case.
fn choices(claims: &[(u128, u128)], done: &[u128], hyperperiod: u128, free_at: u128) -> Vec<usize> {
    let mut choices: Vec<(u128, usize)> = Vec::new();
    for (child, (amount, period)) in claims.iter().enumerate() {
        let release = done[child] * period;
        if release == hyperperiod {
            continue;
        }
        let (start, deadline) = (free_at.max(release), release + period);
        if start + amount > deadline {
            return Vec::new();
        }
        choices.push((deadline + start, child));
    }
    if choices.len() > MAX_CHOICES {
        choices.select_nth_unstable(MAX_CHOICES);
        choices.truncate(MAX_CHOICES);
    }
    choices.sort_unstable();
    choices.into_iter().rev().map(|(_, child)| child).collect()
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
        assert!(backtracks(&[(1, 2), (1, 20_001)]).unwrap_err().contains("more than 10000 jobs"));
        assert!(backtracks(&[(1, u128::from(u64::MAX)), (1, u128::from(u64::MAX) - 1)]).is_err());
    }
}
