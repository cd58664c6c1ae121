//! What keys of states are made of: states of VPs, words, lists, lengths of time, and places among siblings.

use crate::states::Digest;
use hls_core::Image;

pub(super) const WAITING: u8 = 0;
pub(super) const READY: u8 = 1;
pub(super) const RUNNING: u8 = 2;
pub(super) const NEVER: u64 = u64::MAX;

/// The parameter of a VP that is the period of its budget.
pub(super) const PERIOD_OF_BUDGET: usize = 1;

/// No list of a small world is this long: a list that is has a circle, which the checks find.
pub(super) const LONGEST_LIST: usize = 64;

pub(super) fn add_list(digest: &mut Digest, first: u32, next: impl Fn(u32) -> u32) {
    let list = std::iter::successors(Some(first), |at| Some(next(*at))).take_while(|at| *at != 0);
    list.take(LONGEST_LIST).for_each(|at| digest.add(at.into()));
    digest.add(0);
}

/// Adds words; most of them are 0.
pub(super) fn add_words(digest: &mut Digest, words: &[u64]) {
    for (at, word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
        digest.add(at as u64);
        digest.add(*word);
    }
    digest.add(NEVER);
}

/// How far a time is from now, or from the time of a CPU's clock.
pub(super) fn from(time: u64, now: u64) -> u64 {
    if time == NEVER { NEVER } else { time.wrapping_sub(now) }
}

/// How many siblings with the same mark (the queue that they are in, and their key there) come before a VP: `rank`
/// gives the mark, and the number that orders those with the same one.
pub(super) fn add_rank<T: PartialEq>(
    digest: &mut Digest,
    state: &Image<'_>,
    v: usize,
    rank: impl Fn(usize) -> (T, u64),
) {
    let (parent, (mark, number)) = (state.vps[v].parent, rank(v));
    let is_before = |other: &usize| {
        let sibling = &state.vps[*other];
        let (its_mark, its_number) = rank(*other);
        let is_beside = sibling.is_used() && sibling.parent == parent && its_mark == mark;
        is_beside && (its_number.wrapping_sub(number) as i64) < 0
    };
    digest.add((1..state.vps.len()).filter(is_before).count() as u64);
}
