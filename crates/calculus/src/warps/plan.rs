//! The planner of BVT: from shares, requests and limits to warps and response times (Duda and Cheriton, SOSP 1999,
//! section 6), corrected by the debt.
//!
//! A thread that is to be done sooner has a higher level; threads that ask for the same response time have one level.
//! From the lowest level up, W of a level is W of the level below plus L/r + D of the thread of the level for which
//! that is the greatest. Below them is level 0, of all children that ask for no JOB; their warps stay as they are. The
//! paper has no D: what it would say is beside it.
//!
//! Every thread that asks for JOB has to stay within its part by its limits, L*(1-r) <= r*U: else the debt of the
//! others would depend on its warp, and that on theirs. Relies on `warps` for the conditions, and has it look at the
//! plan once it is made. Never changes shares, nor which child asks for what.

use super::{Conditions, InTime, Warpers};
use crate::rational::{Rational, ceil_nanos, from_nanos, share_floor, time_ceil, time_floor, whole};
use crate::work::Work;
use num_traits::{One, Signed, Zero};

/// What a thread asks for: JOB. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The CPU time of a request.
    pub amount: Rational,
    /// The least time between the beginnings of two requests.
    pub period: Rational,
    /// Within which a request is to be done.
    pub response: Rational,
}

/// What is planned for a thread that asks for JOB. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Which child it is.
    pub child: usize,
    /// From 1, the lowest.
    pub level: usize,
    /// The greatest debt with which it wakes up for a request.
    pub debt: Rational,
    /// Its warp in virtual time, which is the same for its whole level.
    pub virtual_warp: Rational,
    /// The same without debts, as the paper has it.
    pub uncorrected: Rational,
    /// Whether it is done in time, and within which; or the condition that fails.
    pub in_time: Result<InTime, String>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpPlan {
    /// The children with their new warps.
    pub warpers: Warpers,
    /// The threads that ask for JOB, in the order of the children.
    pub planned: Vec<Planned>,
}

/// The windows of section 6.1 of the paper: if no child warps, all want the CPU, and all turns are of exactly the
/// allowance, all virtual times are the same at the end of each physical window if they are at its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// By how much virtual time each child advances for a unit of CPU time: the reciprocals of the shares as the least
    /// whole numbers.
    pub advances: Vec<Rational>,
    /// The virtual window, in nanoseconds.
    pub virtual_window: Rational,
    /// What each child has in a physical window, in nanoseconds.
    pub each: Vec<Rational>,
    /// The physical window, in nanoseconds.
    pub physical: Rational,
}

/// Plans warps: for each child what it asks for, if it asks for JOB. Limits and unwarp times are the children's.
///
/// # Errors
/// The child for which no warp suffices, and the condition that fails.
pub fn plan(warpers: &Warpers, asked: &[Option<Request>]) -> Result<WarpPlan, (usize, String)> {
    // The warps of the children that ask count nowhere but in the levels.
    let conditions = Conditions::new(warpers);
    let mut warpers = warpers.clone();
    let requests: Vec<(usize, &Request)> =
        asked.iter().enumerate().filter_map(|(child, asked)| Some((child, asked.as_ref()?))).collect();
    for (child, request) in &requests {
        conditions.may(*child, &request.amount, &request.period).map_err(|reason| (*child, reason))?;
        stays_within(&warpers, *child, request).map_err(|reason| (*child, reason))?;
    }
    let mut planned = Vec::new();
    let (mut below, mut uncorrected) = base(&warpers, asked);
    let asks: Vec<bool> = asked.iter().map(Option::is_some).collect();
    for (level, of_level) in (1..).zip(levels(&requests)) {
        let mut each = Vec::new();
        for child in of_level {
            let debt = match conditions.debt_beside(child, &asks) {
                _ if warpers.each.len() == 1 => Rational::zero(),
                Some(debt) => debt,
                None => {
                    return Err((child, "all other children ask for JOB, and one must not".to_owned()));
                }
            };
            let virtual_warp = &below + conditions.lead(child, &debt);
            each.push((child, debt, virtual_warp));
        }
        let warp = each.iter().map(|(.., warp)| warp.clone()).max().unwrap_or_default();
        let limit =
            |(child, ..): &(usize, Rational, Rational)| &warpers.each[*child].limit / warpers.weight(*child);
        uncorrected += each.iter().map(limit).max().unwrap_or_default();
        for (child, debt, _) in each {
            let own = ceil_nanos(&(&warp * warpers.weight(child)));
            warpers.each[child].warp = from_nanos(own);
            let (virtual_warp, uncorrected) = (warpers.virtual_warp(child), uncorrected.clone());
            below = below.max(virtual_warp.clone());
            let in_time = Err(String::new());
            planned.push(Planned { child, level, debt, virtual_warp, uncorrected, in_time });
        }
    }
    planned.sort_by_key(|planned| planned.child);
    let conditions = Conditions::new(&warpers);
    for (planned, (child, request)) in planned.iter_mut().zip(&requests) {
        planned.in_time = in_time(&conditions, *child, request);
    }
    Ok(WarpPlan { warpers, planned })
}

/// The threads of each level, the lowest first.
fn levels(requests: &[(usize, &Request)]) -> Vec<Vec<usize>> {
    let mut responses: Vec<&Rational> = requests.iter().map(|(_, request)| &request.response).collect();
    responses.sort();
    responses.dedup();
    let of_level = |response: &&Rational| {
        let of_level = requests.iter().filter(|(_, request)| request.response == **response);
        of_level.map(|(child, _)| *child).collect()
    };
    responses.iter().rev().map(of_level).collect()
}

/// The greatest virtual warp of the children that ask for no JOB, with the debt and without.
fn base(warpers: &Warpers, asked: &[Option<Request>]) -> (Rational, Rational) {
    let others = (0..warpers.each.len()).filter(|child| asked[*child].is_none());
    let greatest = others.map(|child| warpers.virtual_warp(child)).max().unwrap_or_default();
    (greatest.clone(), greatest)
}

/// Whether a thread's limits keep it within its part, and leave it what it asks for.
fn stays_within(warpers: &Warpers, child: usize, request: &Request) -> Result<(), String> {
    let Request { period, response, .. } = request;
    let (own, weight) = (&warpers.each[child], warpers.weight(child));
    if warpers.beyond(child).is_none() {
        let least = &own.limit * (Rational::one() - &weight) / &weight;
        return Err(format!(
            "an `unwarp` of {} or more is needed, so that its limit keeps it within its part, {} of the CPU; it is {}",
            time_ceil(&least),
            share_floor(&weight),
            time_floor(&own.unwarp)
        ));
    }
    let rest = period - response;
    if own.unwarp > rest {
        let (unwarp, rest) = (time_ceil(&own.unwarp), time_floor(&rest));
        return Err(format!("an `unwarp` of at most {rest} is needed, period less response; it is {unwarp}"));
    }
    Ok(())
}

fn in_time(conditions: &Conditions, child: usize, request: &Request) -> Result<InTime, String> {
    let found = conditions.in_time(child, (&request.amount, &request.period), &Work::unlimited())?;
    if found.response > request.response {
        let (found, asked) = (time_ceil(&found.response), time_floor(&request.response));
        return Err(format!("it is done within {found}, and asks for {asked}"));
    }
    Ok(found)
}

/// The windows of these shares, whole numbers above zero, with this allowance.
pub fn windows(shares: &[u64], allowance: &Rational) -> Windows {
    let multiple = shares.iter().fold(1, |multiple, share| lcm(multiple, u128::from(*share)));
    let advances: Vec<u128> = shares.iter().map(|share| multiple / u128::from(*share).max(1)).collect();
    let divisor = advances.iter().fold(0, |divisor, advance| gcd(divisor, *advance)).max(1);
    let advances: Vec<u128> = advances.iter().map(|advance| advance / divisor).collect();
    let multiple = advances.iter().fold(1, |multiple, advance| lcm(multiple, *advance));
    let rational = |number: u128| Rational::from_integer(number.into());
    let virtual_window = allowance * rational(multiple);
    let advances: Vec<Rational> = advances.into_iter().map(rational).collect();
    let each: Vec<Rational> = advances.iter().map(|advance| &virtual_window / advance).collect();
    Windows { physical: each.iter().sum(), advances, virtual_window, each }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: u128, b: u128) -> u128 {
    if a == 0 || b == 0 {
        return 1;
    }
    (a / gcd(a, b)).saturating_mul(b)
}

/// The unwarp time of a thread that names none: all that a request in time leaves until the next, which is best for the
/// others.
pub fn longest_unwarp(request: &Request) -> Rational {
    let rest = &request.period - &request.response;
    if rest.is_negative() { whole(0) } else { rest }
}
