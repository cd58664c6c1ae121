//! What a machine gives when interrupts, or a host, take a part of it. Relies on a least distance and a greatest length
//! of the occurrences of each source. Never says ALL where anything is taken.
//!
//! One source takes C at most, and its occurrences are at least T apart: in a window of length T there lie the end of
//! one occurrence and the start of the next, or one whole, and never more than C in all. What is left is RESCS T-C, T.
//! Of several sources one may have to wait for another; over a stretch in which the CPU is taken without a pause, and
//! in any window of length t, the sources take no more than arrives, sum C + t * sum C/T. What is left is PSBE 1 - sum
//! C/T, sum C; of many sources each C/T is rounded up, since a sum of many fractions takes long to add up and to count
//! with. On several CPUs that holds wherever a VP runs, since the sources of all CPUs are counted together.

use crate::derivation::Rule;
use crate::graph::Stolen;
use crate::guarantee::Guarantee;
use crate::rational::{Rational, time_ceil, whole};
use num_traits::{One, Signed};

pub(crate) const STOLEN: Rule = Rule {
    name: "root, less what is stolen",
    source: "HLS, section 4.2: the machine gives ALL of what it has",
};

/// The rates of up to this many sources are added up as they are; of more, rounded up to a multiple of 1/[`FINEST`].
const FEW_SOURCES: usize = 16;
const FINEST: u64 = 1 << 40;

/// The part of the time that the sources take at most.
fn rate_ceil(sources: &[&Stolen]) -> Rational {
    let rate = |source: &&Stolen| whole(source.takes) / whole(source.every);
    let rounded_up = |source: &&Stolen| (rate(source) * whole(FINEST)).ceil() / whole(FINEST);
    match sources.len() <= FEW_SOURCES {
        true => sources.iter().map(rate).sum(),
        false => sources.iter().map(rounded_up).sum(),
    }
}

/// What the machine gives, and why; `None` where no source takes anything.
pub(crate) fn left_over(sources: &[Stolen]) -> Option<(Guarantee, String)> {
    let taken = |source: &&Stolen| source.takes > 0;
    let sources: Vec<&Stolen> = sources.iter().filter(taken).collect();
    let shown = |source: &&Stolen| {
        format!("{} every {}", time_ceil(&whole(source.takes)), time_ceil(&whole(source.every)))
    };
    let list = sources.iter().map(shown).collect::<Vec<_>>().join(" + ");
    if sources.iter().any(|source| source.every <= source.takes) {
        return Some((Guarantee::Null, format!("{list} may be taken: all that there is")));
    }
    if let [source] = sources[..] {
        let guarantee = Guarantee::rescs(whole(source.every - source.takes), whole(source.every));
        return Some((guarantee, format!("{list} may be taken")));
    }
    let delta: Rational = sources.iter().map(|source| whole(source.takes)).sum();
    let share = Rational::one() - rate_ceil(&sources);
    let formula = format!("{list} may be taken");
    match share.is_positive() {
        _ if sources.is_empty() => None,
        true => Some((Guarantee::Psbe { share, delta }, formula)),
        false => Some((Guarantee::Null, format!("{formula}: all that there is"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(sources: &[(u64, u64)]) -> Option<String> {
        let sources: Vec<Stolen> = sources.iter().map(|&(takes, every)| Stolen { every, takes }).collect();
        left_over(&sources).map(|(guarantee, _)| guarantee.to_string())
    }

    #[test]
    fn the_rest_is_what_nobody_takes() {
        assert_eq!(left(&[]), None);
        assert_eq!(left(&[(0, 10)]), None);
        assert_eq!(left(&[(2, 10)]).as_deref(), Some("RESCS 8ns 10ns"));
        assert_eq!(left(&[(2, 10), (1, 4)]).as_deref(), Some("PSBE 11/20 3ns"));
        assert_eq!(left(&[(2, 4), (2, 4)]).as_deref(), Some("NULL"));
        assert_eq!(left(&[(5, 4), (1, 100)]).as_deref(), Some("NULL"));
    }

    #[test]
    fn the_rates_of_many_are_rounded_against_us() {
        let many: Vec<Stolen> =
            (0..FEW_SOURCES as u64 + 1).map(|n| Stolen { every: 1009 + n, takes: 1 }).collect();
        let many: Vec<&Stolen> = many.iter().collect();
        let exact: Rational = many.iter().map(|source| whole(source.takes) / whole(source.every)).sum();
        let rounded = rate_ceil(&many);
        assert!(rounded > exact && rounded < &exact + whole(many.len() as u64) / whole(FINEST));
        assert!(rate_ceil(&many[1..]) < exact);
    }

    /// Sources in unit slots: each occurs as soon as it may or later, and waits for the other.
    #[test]
    fn no_less_is_left_whenever_sources_take_time() {
        let mut random = 0x5eed_u64;
        let mut below = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        for sources in
            [&[(2, 5)][..], &[(1, 2)], &[(2, 7), (1, 4)], &[(3, 9), (1, 3)], &[(1, 4), (1, 5), (2, 11)]]
        {
            let stolen: Vec<Stolen> = sources.iter().map(|&(takes, every)| Stolen { every, takes }).collect();
            let (rest, _) = left_over(&stolen).unwrap();
            let least: Vec<Rational> = (0..=120).map(|t| rest.sbf(&whole(t)).ceil()).collect();
            let least: Vec<u64> = least.iter().map(|least| least.to_integer().try_into().unwrap()).collect();
            for _ in 0..200 {
                let mut next: Vec<u64> = stolen.iter().map(|_| below(12)).collect();
                let (mut busy_until, mut slots) = (0, Vec::new());
                for now in 0..120 {
                    for (source, next) in stolen.iter().zip(&mut next) {
                        if now >= busy_until && now >= *next {
                            busy_until = now + source.takes - below(3) / 2 * below(source.takes);
                            *next = now + source.every + below(4) / 3;
                        }
                    }
                    slots.push(u64::from(now >= busy_until));
                }
                for from in 0..slots.len() {
                    let mut sum = 0;
                    for (length, slot) in (1..).zip(&slots[from..]) {
                        sum += slot;
                        assert!(sum >= least[length], "{sum} in {length} of {sources:?}");
                    }
                }
            }
        }
    }
}
