//! Rialto: a time table (M. B. Jones, D. Rosu, M.-C. Rosu, "CPU Reservations and Time Constraints", SOSP 1997; HLS
//! section 5.1).
//!
//! Every child has one slot of its amount at the same offset of each of its periods. Two slots fit beside each other
//! if and only if gcd(y1,y2) >= x1 + x2, and then where their offsets differ, modulo the gcd, by at least the amount
//! of each. Slots are placed one after another, short periods first, each at the least offset that is free: a set
//! that needs another order is refused. A window as long as a child's period sees the child's whole slot, wherever the
//! window begins, and a child that wakes in its slot has the rest of the slot: RESCS x,y.
//!
//! `policies/rialto.c` places children as they come, and all of them in this order if that does not do. It goes round
//! the slots `ROUNDS` times at most to place one, in an order of its own. The least offset behind `at` that one slot
//! leaves free grows with `at`, so each round of the policy gets at least as far as one push here, whichever slot
//! pushes. So it finds every slot that is found here with fewer pushes than rounds: in its last round nothing pushes.
//!
//! On another supply than a whole CPU a slot is a window of length x: sbf(x) is received in it, at an unknown time.
//! That is EDP y,sbf(x),x. A child that wakes up `a` after the beginning of its slot has sbf(x-a) in it, no less than
//! sbf(x) less `a`.
//!
//! HLS promises RESCS on RESU, too. That would take an earliest deadline for each slot, and CPU time between slots that
//! is not used ahead of the next one. But turns use all that the slower processor has for the time up to the next slot,
//! as early as they can, and slots that nobody wants go to turns: a child that wakes up in its slot then finds nothing
//! left of it.

use super::claims::{Claim, claims_on_supply, held_in_slot};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::rational::{time_exact, whole};
use num_integer::Integer;
use num_traits::Signed;

pub(super) const ENTRY: Entry = Entry {
    policy: "rialto",
    source: "Jones, Rosu and Rosu, SOSP 1997",
    accepts: "ALL of one CPU, or any supply; slots for which a time table is found, 32 at most",
    provides: "RESCS budget,period to every child; below another supply EDP period,sbf(budget),budget",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "Rialto, time table", source: ENTRY.source };

/// The most children that the policy takes.
const MAX_CHILDREN: usize = 32;

/// How often the policy goes round the slots, to place another one.
const ROUNDS: usize = 128;

/// A slot of `amount` at `offset` of every period, all in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    offset: u128,
    amount: u128,
    period: u128,
}

fn provide(instance: &Instance) -> Provided {
    let (held, claims) = match claims_on_supply(instance, RULE) {
        Ok(both) => both,
        Err(provided) => return provided,
    };
    if claims.len() > MAX_CHILDREN {
        let found = format!("{} children", claims.len());
        return instance.nothing_because(RULE, format!("{MAX_CHILDREN} children at most"), found);
    }
    let nanos: Vec<(u128, u128)> = claims.iter().map(Claim::nanos).collect();
    let mut comparisons = 0;
    let table = table(&nanos, &mut comparisons);
    instance.work.take(comparisons);
    let table = match table {
        Ok(table) => table,
        Err(found) => return instance.nothing_because(RULE, "slots that fit in one time table", found),
    };
    let supply = held.supply();
    let labels = claims.into_iter().zip(table).map(|(Claim { budget, period, .. }, slot)| {
        let formula = format!(
            "a slot of {} at {} of every {}",
            time(slot.amount),
            time(slot.offset),
            time(slot.period)
        );
        if held.guarantee == Guarantee::All {
            return instance.label(Guarantee::rescs(budget, period), RULE, formula);
        }
        let (amount, found) = held_in_slot(&supply, &budget);
        let guarantee = match amount.is_positive() {
            true => Guarantee::Edp { period, deadline: budget, amount },
            false => Guarantee::Null,
        };
        instance.label(guarantee, RULE, format!("{formula}; {found}"))
    });
    Provided { labels: labels.collect(), complaints: Vec::new() }
}

fn time(nanos: u128) -> String {
    time_exact(&whole(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

/// A slot for each amount and period, or why there is none. Counts the pairs of slots that are compared.
fn table(claims: &[(u128, u128)], comparisons: &mut usize) -> Result<Vec<Slot>, String> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by_key(|child| (claims[*child].1, u128::MAX - claims[*child].0));
    let mut placed: Vec<Slot> = Vec::new();
    for &child in &order {
        let (amount, period) = claims[child];
        let slot = place(Slot { offset: 0, amount, period }, &placed, comparisons)?;
        placed.push(slot);
    }
    let mut table = placed.clone();
    order.into_iter().zip(placed).for_each(|(child, slot)| table[child] = slot);
    Ok(table)
}

/// The slot at the least offset at which it meets none of the placed slots, or why there is no such offset.
fn place(mut slot: Slot, placed: &[Slot], comparisons: &mut usize) -> Result<Slot, String> {
    let shown = |slot: &Slot| format!("{} every {}", time(slot.amount), time(slot.period));
    let gcd = |other: &Slot| other.period.gcd(&slot.period);
    if let Some(other) = placed.iter().find(|other| gcd(other) < other.amount + slot.amount) {
        return Err(format!(
            "{} and {}: gcd of the periods {}",
            shown(other),
            shown(&slot),
            time(gcd(other))
        ));
    }
    // How many placed slots in a row, round and round, the new slot does not meet at this offset.
    let (mut missed, mut pushes) = (0, 0);
    for other in placed.iter().cycle() {
        if missed == placed.len() || slot.offset >= slot.period {
            break;
        }
        *comparisons += 1;
        let further = push(&slot, other);
        missed = if further == 0 { missed + 1 } else { 1 };
        pushes += usize::from(further > 0);
        slot.offset += further;
        if pushes >= ROUNDS {
            return Err(format!("no offset for {} after {ROUNDS} that are taken", shown(&slot)));
        }
    }
    if slot.offset < slot.period {
        return Ok(slot);
    }
    Err(format!("no room for {} beside {} slots of periods up to its own", shown(&slot), placed.len()))
}

/// How much later `slot` must begin not to meet `other`; zero where they do not meet.
fn push(slot: &Slot, other: &Slot) -> u128 {
    let grid = slot.period.gcd(&other.period);
    let behind = (slot.offset + grid - other.offset % grid) % grid;
    if behind < other.amount {
        other.amount - behind
    } else if behind + slot.amount > grid {
        grid - behind + other.amount
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::claimed;
    use super::*;

    #[test]
    fn slots_fit_as_the_gcd_says() {
        let offsets = |claims: &[(u128, u128)]| {
            table(claims, &mut 0).map(|table| table.iter().map(|slot| slot.offset).collect::<Vec<_>>())
        };
        assert_eq!(offsets(&[(2, 10), (3, 15)]), Ok(vec![0, 2]));
        assert!(offsets(&[(2, 10), (4, 15)]).unwrap_err().contains("gcd of the periods 5ns"));
        assert_eq!(offsets(&[(1, 4), (1, 2)]), Ok(vec![1, 0]));
        assert!(offsets(&[(1, 4), (1, 2), (1, 8), (1, 8)]).is_ok());
        assert!(offsets(&[(1, 4), (1, 2), (1, 8), (1, 8), (1, 16)]).unwrap_err().contains("no room"));
        assert_eq!(offsets(&[]), Ok(vec![]));
        // The first 100 of each 150 are taken, and the slot of 51 is pushed on for ever.
        let pushed = [(50, 150), (50, 150), (51, 150_000)];
        assert!(offsets(&pushed).unwrap_err().contains("after 128 that are taken"));
    }

    #[test]
    fn no_more_children_are_accepted_than_the_policy_takes() {
        let claims = |children: usize| vec![(1, 100); children];
        assert!(claimed("rialto", "ALL", &claims(32)).iter().all(|label| label == "RESCS 1ns 100ns"));
        assert_eq!(claimed("rialto", "ALL", &claims(33)), vec!["NULL"; 0]);
    }
}
