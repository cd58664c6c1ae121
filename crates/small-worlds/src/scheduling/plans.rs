//! What the key of a state has of policies that lay out time in advance: plans, slots and tables of slots.

use super::hierarchies::TABLE_NS;
use super::parts::{NEVER, PERIOD_OF_BUDGET, READY, RUNNING, WAITING, add_rank};
use crate::states::Digest;
use hls_core::{Image, VpImage};

/// A plan: the seats, the order of the jobs, and how much of the round, and of the slot that was opened last, is over.
/// A plan that rests stands still.
pub(super) fn add_plan(digest: &mut Digest, words: &[u64], now: u64) {
    const SEATS: std::ops::Range<usize> = 5..13;
    const PLAN_WORDS: usize = 25;
    let [begin_at, round, until, owner_and_wants, places] = words[..5] else {
        unreachable!("it has more words")
    };
    let [jobs, next, half, is_busy] = [0, 16, 32, 48].map(|shift| places >> shift & 0xffff);
    let at = if is_busy == 0 { begin_at } else { now };
    [at - begin_at.min(at), begin_at.saturating_sub(at), round, until.saturating_sub(at), owner_and_wants]
        .iter()
        .for_each(|word| digest.add(*word));
    digest.add(jobs | next << 16 | is_busy << 32);
    words[SEATS].iter().for_each(|word| digest.add(*word));
    let plan = &words[SEATS.end + PLAN_WORDS * half as usize..][..PLAN_WORDS];
    (0..jobs as usize).for_each(|n| digest.add(plan[n / 16] >> (n % 16 * 4) & 15));
}

/// A VP of a plan: its seat and its debt, and its next period in the time of the plan. When its last slot ends matters
/// only while it has that slot, or runs.
pub(super) fn add_planned(digest: &mut Digest, state: &Image<'_>, v: usize) {
    let vp = &state.vps[v];
    let words = &state.schedulers[vp.parent as usize].word;
    let [next_at, until, seat_and_debt, _] = vp.word;
    let owns_slot = words[3] & u64::from(u32::MAX) == seat_and_debt >> 32;
    digest.add(next_at.wrapping_sub(words[0]));
    digest.add(seat_and_debt);
    digest.add(if owns_slot || vp.state == RUNNING { until.wrapping_sub(state.head.now_ns) } else { 0 });
}

/// The owner of the present slot, as far as that is known.
pub(super) fn add_owner(digest: &mut Digest, until: u64, owner: u64, now: u64) {
    digest.add(until.saturating_sub(now));
    digest.add(if until > now { owner & u64::from(u32::MAX) } else { 0 });
}

/// For a VP that wants a CPU: its place in the order of turns, which it keeps while it runs in its slot; and why it
/// runs.
pub(super) fn add_turn_or_slot(
    digest: &mut Digest,
    state: &Image<'_>,
    v: usize,
    reason: impl Fn(&VpImage) -> u64,
) {
    let vp = &state.vps[v];
    if vp.state == WAITING {
        return;
    }
    add_rank(digest, state, v, |v| (state.vps[v].state == WAITING, state.queue_nodes[v].seq));
    digest.add(if vp.state == RUNNING { reason(vp) } else { 0 });
}

/// A slot: how long ago the last one began. A constraint that is over is none.
pub(super) fn add_slot(digest: &mut Digest, state: &Image<'_>, v: usize) {
    const OFFSET: u64 = (1 << 42) - 1;
    const HAS_JOB: u64 = 1 << 43;
    const REASON: u64 = 3 << 44;
    let (vp, now) = (&state.vps[v], state.head.now_ns);
    let [bits, from, until, left] = vp.word;
    let period = vp.param[PERIOD_OF_BUDGET];
    digest.add((now + period - (bits & OFFSET)) % period);
    let has_constraint = left > 0 && until > now;
    digest.add(if has_constraint { left } else { 0 });
    digest.add(if has_constraint { from.saturating_sub(now) } else { 0 });
    digest.add(if has_constraint { until - now } else { 0 });
    digest.add(if vp.state == READY { bits & HAS_JOB } else { 0 });
    add_turn_or_slot(digest, state, v, |vp| vp.word[0] & REASON);
    let is_due = |v: usize| state.vps[v].state != WAITING;
    if is_due(v) {
        digest.add(state.nodes[v].key.wrapping_sub(now));
        add_rank(digest, state, v, |v| ((is_due(v), state.nodes[v].key), state.nodes[v].seq));
    }
}

/// A table of slots: amounts and periods, the present place in the longest period that may come, when children that
/// have gone leave the table, and whether its present owner has yet to be looked at.
pub(super) fn add_table(digest: &mut Digest, words: &[u64], now: u64) {
    const TABLE: usize = 4;
    let [until, clean_at, owner, entries] = [words[0], words[1], words[2], words[3]];
    let end = TABLE + 2 * (entries & u64::from(u32::MAX)) as usize;
    add_owner(digest, until, owner, now);
    digest.add(if until > now { entries >> 32 } else { 0 });
    digest.add(if clean_at == 0 { NEVER } else { clean_at.saturating_sub(now) });
    digest.add(now % TABLE_NS);
    words[TABLE..end].iter().for_each(|word| digest.add(*word));
}
