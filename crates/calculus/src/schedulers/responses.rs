//! Response times of servers with fixed priorities, each a budget C in every period T: what the resource kernel and the
//! deferrable, polling and sporadic servers have in common.
//!
//! A server that keeps its budget while its child sleeps can use it at the end of one period and again at the start of
//! the next, and takes up to ceil((t + T - C)/T)*C of a window of length t. A server that loses its budget, or has it
//! back a period after it could use it, takes what a periodic task takes of a window that begins when nothing of its
//! priority or a higher one is wanted: ceil(t/T)*C. With the least R = C_i + the sum of that over all servers above, if
//! it is at most T_i, a server that has budget, or gets it, has used it within R, if its child wants that much. Budgets
//! are hard: a refused server takes no more than the budget with which the others were analysed, and only that server
//! is refused.
//!
//! Which of several equals goes first is not known here (the one that came first): each counts the others as above it.
//!
//! Below another supply CPU time comes later than on a whole CPU, at worst at the end of the period. There the
//! least R is not used: R = T_i must do, that is, C_i + the sum at T_i is at most the supply in T_i. Supplies are never
//! faster than time, so the supply in any shorter window lacks no more than the rest of T_i.

use super::claims::{Claim, claims};
use super::{Complaint, Instance, Provided, Refused};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{floor_nanos, time_ceil, whole};
use crate::work::INTEGERS_A_STEP;
use hls_units::Nanos;

/// The most terms of sums that are worked out for response times; beyond that many only R = T is tried.
const MAX_TERMS: usize = 100_000_000;

/// A budget C every T, in nanoseconds.
pub(super) type Server = (u128, u128);

/// What becomes of a budget while the server's child sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asleep {
    /// It stays until the period ends.
    Kept,
    /// It is lost, or a period passes from when it could be used until it is back.
    Paid,
}

/// The labels of servers: `rank` says which goes first (the least), and `promise` is the guarantee of a server that has
/// its budget within the given time, at most a period.
pub(super) fn provide<R: Ord>(
    instance: &Instance,
    rule: Rule,
    asleep: Asleep,
    rank: impl Fn(usize, &Claim) -> R,
    promise: impl Fn(usize, Claim, Nanos) -> Guarantee,
) -> Provided {
    const NEEDED: &str = "ALL of one CPU, or another supply";
    let held = match instance.single_vp() {
        Ok(held) => held,
        Err(found) => return instance.nothing_because(rule, NEEDED, found),
    };
    if matches!(held.guarantee, Guarantee::Null | Guarantee::Ps { .. }) {
        return instance.nothing_because(rule, NEEDED, held.absolute().rounded_for_people());
    }
    let claims = match claims(instance, rule) {
        Ok(claims) => claims,
        Err(provided) => return provided,
    };
    let ranks: Vec<R> = claims.iter().enumerate().map(|(child, claim)| rank(child, claim)).collect();
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by_key(|child| &ranks[*child]);
    let sorted: Vec<Server> = order.iter().map(|child| claims[*child].nanos()).collect();
    let mut verdicts = vec![Ok((String::new(), Nanos::ZERO)); claims.len()];
    let left = instance.work.left().map_or(0, |left| usize::try_from(left).unwrap_or(usize::MAX));
    let most = MAX_TERMS.min(left.saturating_mul(INTEGERS_A_STEP));
    let mut work = Responses { asleep, terms: 0, most };
    for (place, child) in order.iter().enumerate() {
        let equals = order[place..].iter().take_while(|other| ranks[**other] == ranks[*child]).count();
        let mut above = sorted[..place + equals].to_vec();
        let own = above.remove(place);
        verdicts[*child] = work.in_time(held, own, &above);
    }
    instance.work.take((work.terms + sorted.len() * sorted.len()).div_ceil(INTEGERS_A_STEP) + 1);
    let mut provided = Provided { labels: Vec::new(), complaints: Vec::new() };
    for (child, (claim, verdict)) in claims.into_iter().zip(verdicts).enumerate() {
        match verdict {
            Ok((formula, response)) => {
                let guarantee = promise(child, claim, response);
                provided.labels.push(instance.label(guarantee, rule, formula));
            }
            Err((needed, found)) => {
                provided.labels.push(instance.null(rule, format!("needs {needed}, but there is {found}")));
                provided.complaints.push(Complaint { child: Some(child), needed, found });
            }
        }
    }
    provided
}

/// The guarantee of a child that is served within R of instants that are a period apart. The first instant comes a
/// period after the child woke up at the latest.
pub(super) fn a_period_later(claim: Claim, response: Nanos) -> Guarantee {
    let share = claim.utilisation();
    let nothing = &claim.period + whole(response.0) - &claim.budget;
    Guarantee::Psbe { delta: &share * nothing, share }
}

/// Works out response times.
struct Responses {
    asleep: Asleep,
    /// How many terms of sums it has worked out.
    terms: usize,
    /// After how many terms it gives up.
    most: usize,
}

impl Responses {
    /// Whether a server has its budget in time below these: the formula and the time; or what is needed and what there
    /// is.
    fn in_time(&mut self, held: &Label, own: Server, above: &[Server]) -> Result<(String, Nanos), Refused> {
        let (budget, period) = own;
        let count = above.len();
        if held.guarantee == Guarantee::All
            && let Some(response) = self.response(own, above)
        {
            let text = format!("R = {} <= {}, below {count} servers", time(response), time(period));
            return Ok((text, nanos(response)));
        }
        let wanted = budget + self.interference(period, above);
        let (supply, shown) = match &held.guarantee {
            Guarantee::All => (period, String::new()),
            _ => {
                let guarantee = held.absolute();
                let supply = floor_nanos(&guarantee.sbf(&whole(nanos(period).0)));
                (u128::from(supply.0), format!(" of {}", guarantee.rounded_for_people()))
            }
        };
        let text = format!(
            "{} in {}{shown}, with what {count} servers above it may take",
            time(supply),
            time(period)
        );
        if wanted <= supply {
            Ok((format!("{} <= {text}", time(wanted)), nanos(period)))
        } else {
            let gave_up = match self.terms < self.most || held.guarantee != Guarantee::All {
                true => "",
                false => "; its response time was given up, too many steps",
            };
            Err((format!("{} in a period", time(wanted)), text + gave_up))
        }
    }

    /// The least R with C + interference(R) <= R, if it is at most T and found in time.
    fn response(&mut self, (budget, period): Server, above: &[Server]) -> Option<u128> {
        let mut response = budget;
        while response <= period && self.terms < self.most {
            self.terms += 1 + above.len();
            let wanted = budget + self.interference(response, above);
            if wanted == response {
                return Some(response);
            }
            response = wanted;
        }
        None
    }

    /// The most that these servers take of a window.
    fn interference(&self, window: u128, above: &[Server]) -> u128 {
        let early = |(budget, period): &Server| match self.asleep {
            Asleep::Kept => period - budget,
            Asleep::Paid => 0,
        };
        above.iter().map(|server| (window + early(server)).div_ceil(server.1) * server.0).sum()
    }
}

fn nanos(time: u128) -> Nanos {
    u64::try_from(time).map_or(Nanos::MAX, Nanos)
}

fn time(time: u128) -> String {
    time_ceil(&whole(nanos(time).0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(asleep: Asleep, own: Server, above: &[Server]) -> Option<u128> {
        Responses { asleep, terms: 0, most: MAX_TERMS }.response(own, above)
    }

    #[test]
    fn responses_below_servers_that_keep_their_budgets() {
        let response = |own, above: &[Server]| response(Asleep::Kept, own, above);
        assert_eq!(response((1, 4), &[]), Some(1));
        // Plain response time analysis says 2: but the budget above may come at the end of a period and at the next
        // start.
        assert_eq!(response((1, 5), &[(1, 4)]), Some(3));
        // 3 + ceil((9+3)/4) + ceil((9+4)/5) = 9, which is more than any R below; 7 with plain analysis.
        assert_eq!(response((3, 9), &[(1, 4), (1, 5)]), Some(9));
        assert_eq!(response((4, 9), &[(1, 4), (1, 5)]), None);
        // 52 + 2*52 = 156; and 36 + 2*52 = 140.
        assert_eq!(response((52, 140), &[(52, 100)]), None);
        assert_eq!(response((36, 140), &[(52, 100)]), Some(140));
        assert_eq!(response((37, 140), &[(52, 100)]), None);
    }

    #[test]
    fn a_response_time_is_given_up() {
        // Only a ten-thousandth of the CPU is left: it takes a term for each of many steps towards the response.
        let (own, above) = ((1_000_000, 100_000_000_000), [(999_900, 1_000_000)]);
        let response = |most: usize| {
            let mut responses = Responses { asleep: Asleep::Paid, terms: 0, most };
            (responses.response(own, &above), responses.terms)
        };
        let (found, terms) = response(MAX_TERMS);
        assert!(found.is_some() && terms > 1000, "{found:?}, {terms} terms");
        assert_eq!(response(terms), (found, terms));
        assert_eq!(response(terms - 2), (None, terms - 2));
    }

    #[test]
    fn responses_below_servers_that_pay() {
        let response = |own, above: &[Server]| response(Asleep::Paid, own, above);
        assert_eq!(response((1, 5), &[(1, 4)]), Some(2));
        assert_eq!(response((3, 9), &[(1, 4), (1, 5)]), Some(7));
        // 52 + 52 = 104 is beyond 100, so another budget comes: 156.
        assert_eq!(response((52, 140), &[(52, 100)]), None);
        assert_eq!(response((48, 140), &[(52, 100)]), Some(100));
    }
}
