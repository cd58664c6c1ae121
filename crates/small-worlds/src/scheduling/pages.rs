//! Schedulers with a process as their policy: what the process may write, and what the key of a state has of their
//! pages.
//!
//! The policy compares numbers of events with each other only, so the key has their distances. A decision that can
//! never be followed any more is as good as none; counts of decisions decide nothing.

use super::hierarchies::{CPUS, TICK_NS};
use super::parts::{NEVER, READY, RUNNING, WAITING, add_rank, add_words, from};
use crate::states::Digest;
use hls_core::pages::{HELD, Knows, PageEvent, UserPage, UserWord, decision, slice};
use hls_core::{Core, CoreError, CoreScheduler, Image, PagesImage, VpImage};
use std::fmt;

/// What a process writes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The agent has dealt with all events.
    Answer,
    /// The agent wants to be asked about everything; or about nothing, if it was asked about everything before.
    Ask,
    /// The agent wants to be asked in a tick.
    WakeAt,
    /// The child in slot 1 is to be next on CPU 0.
    Decide,
    /// The child in slot 2 is to be next on CPU 1, whatever happens to others.
    DecideLoosely,
    /// The child in slot 1 names the one in slot 2 for CPU 0, before it blocks or yields.
    DecideBefore,
    /// The child in slot 1 is held; or not any more.
    Hold,
    /// The child in slot 1 has a slice of a tick; or not any more.
    Slice,
}

impl Written {
    /// All of them.
    const ALL: [Written; 8] = {
        use Written::*;
        [Answer, Ask, WakeAt, Decide, DecideLoosely, DecideBefore, Hold, Slice]
    };

    /// What the process of a scheduler may write: the same in states that are alike.
    pub(crate) fn list(core: &Core, scheduler: CoreScheduler) -> impl Iterator<Item = Written> + use<> {
        let has_pages = core.pages(scheduler).is_some();
        Written::ALL.into_iter().filter(move |_| has_pages)
    }

    /// The words.
    fn words(self, core: &Core, scheduler: CoreScheduler, user: &UserPage) -> Vec<(UserWord, u64)> {
        let events = core.kernel_page(scheduler).map_or(0, |page| page.events);
        let now = core.image().head.now_ns;
        let toggled = |before: u64, value: u64| if before == value { 0 } else { value };
        match self {
            Written::Answer => vec![(UserWord::Answered, events)],
            Written::Ask => {
                let kinds = (0..).map_while(PageEvent::from_number);
                kinds.map(|kind| (UserWord::Ask(kind), toggled(user.ask[kind as usize], u64::MAX))).collect()
            }
            Written::WakeAt => vec![(UserWord::WakeAt, now + TICK_NS)],
            Written::Decide => vec![(UserWord::Next(0), decision(events, Knows::All, 1))],
            Written::DecideLoosely => vec![(UserWord::Next(1), decision(events, Knows::Child, 2))],
            Written::DecideBefore => {
                vec![(UserWord::Next(0), decision(events + 1, Knows::After(1), 2))]
            }
            Written::Hold => {
                let urgency = toggled(user.urgency[1], HELD);
                vec![(UserWord::Urgency(1), urgency), (UserWord::Touched, user.touched | 1 << 1)]
            }
            Written::Slice => vec![(UserWord::Slice(1), toggled(user.slice[1], slice(1, TICK_NS)))],
        }
    }

    /// Writes the words.
    ///
    /// # Errors
    /// The scheduler has no pages.
    pub(crate) fn write(self, core: &mut Core, scheduler: CoreScheduler) -> Result<(), CoreError> {
        let user = *core.user_page(scheduler).ok_or(CoreError::NotFound)?;
        let words = self.words(core, scheduler, &user);
        words.into_iter().try_for_each(|(word, value)| core.write_page(scheduler, word, value))
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Written::Answer => "that the agent has dealt with all events",
            Written::Ask => "that the agent wants to be asked about everything, or nothing",
            Written::WakeAt => "that the agent wants to be asked in a tick",
            Written::Decide => "that slot 1 is next on CPU 0",
            Written::DecideLoosely => "that slot 2 is next on CPU 1, whatever happens to others",
            Written::DecideBefore => "that slot 2 is next on CPU 0 when slot 1 gives it up",
            Written::Hold => "that slot 1 is held, or not any more",
            Written::Slice => "that slot 1 has a slice, or not any more",
        })
    }
}

/// Places of words in a scheduler: the policy's `struct user_level`.
const EVENTS: usize = 5;
const ASKED: usize = 6;
const TAKEN: usize = 7;
const WAKE_AT: usize = 9;
const LOOKED_AT: usize = 10;
const LAST_EVENT: usize = 12;
const LEFT: usize = 13;
const END_AT: usize = 14;
const IS_PARKED_AND_TO_REVIEW: usize = 16;

/// How often the timer looks at urgencies, where no decision does.
const LOOKS_EVERY_NS: u64 = 100_000;

/// The parameter of a scheduler that is the period of the agent's allowance.
const EVERY: usize = 1;

fn slot_of(vp: &VpImage) -> usize {
    vp.word[3] as u32 as usize
}

fn is_agent(vp: &VpImage) -> bool {
    slot_of(vp) == 0
}

/// The pages of a scheduler, and what its policy knows besides.
pub(super) fn add_pages(digest: &mut Digest, state: &Image<'_>, s: usize) {
    let (scheduler, now) = (&state.schedulers[s], state.head.now_ns);
    let words = &scheduler.word;
    let is_parked = words[IS_PARKED_AND_TO_REVIEW] as u32 != 0;
    digest.add(words[TAKEN]);
    digest.add(words[IS_PARKED_AND_TO_REVIEW]);
    // When the timer may look at urgencies again: not before a while after it did.
    digest.add((words[LOOKED_AT] + LOOKS_EVERY_NS).saturating_sub(now));
    let wakes = is_parked && words[WAKE_AT] != 0;
    digest.add(if wakes { from(words[WAKE_AT], now) } else { NEVER });
    add_allowance(digest, state, s);
    digest.add(scheduler.page.into());
    let Some(PagesImage { kernel, user }) =
        (scheduler.page as usize).checked_sub(1).and_then(|page| state.pages.get(page))
    else {
        return;
    };
    digest.add(u64::from(words[ASKED] > user.answered));
    digest.add(if user.wake_at_ns == 0 { NEVER } else { from(user.wake_at_ns, now) });
    digest.add(user.touched);
    [&user.ask[..], &user.urgency, &user.slice].iter().for_each(|words| add_words(digest, words));
    for next in &user.next[..CPUS] {
        let last_of = |slot: u64| kernel.slot[slot as usize % kernel.slot.len()].event;
        digest.add(decision_key(*next, words[EVENTS], gave_way(words[LAST_EVENT]), last_of));
    }
}

/// The slot of the child that had the last event, as it is in the ring, if the child gave up its CPU by it.
fn gave_way(last_event: u64) -> Option<u64> {
    let (kind, slot) = (PageEvent::from_number((last_event >> 8) as u8), last_event & 0xff);
    matches!(kind, Some(PageEvent::Block | PageEvent::Yield)).then_some(slot)
}

/// A decision, with the distance of its number from the number of the last event, by which a slot `gave_way`; 0: it is
/// never followed.
fn decision_key(next: u64, events: u64, gave_way: Option<u64>, last_of: impl Fn(u64) -> u64) -> u64 {
    const NAMED: u64 = 0x1000;
    const LOOSE: u64 = 0x2000;
    const AFTER: u64 = 0x4000;
    let (number, what) = (next >> 16, next & 0xffff);
    let is_alive = match what {
        _ if what & NAMED == 0 => false,
        _ if what & LOOSE != 0 => number >= last_of(what & 0x3f),
        _ if what & AFTER != 0 && number == events => gave_way == Some(what >> 6 & 0x3f),
        _ => number >= events,
    };
    // A loose decision is followed up to the next event of the child, however long ago it was made.
    let ahead = number.saturating_sub(events);
    if is_alive { what | ahead << 16 } else { 0 }
}

/// The agent's allowance, which is renewed at fixed instants. When its period is over only a debt counts, unless an
/// agent runs, or could.
fn add_allowance(digest: &mut Digest, state: &Image<'_>, s: usize) {
    let (scheduler, now) = (&state.schedulers[s], state.head.now_ns);
    let (left, end) = (scheduler.word[LEFT], scheduler.word[END_AT]);
    let is_able = |vp: &VpImage| vp.state == RUNNING || (vp.state == READY && !vp.is_throttled());
    let mut agents = state.vps.iter().filter(|vp| vp.is_used() && vp.parent as usize == s && is_agent(vp));
    if end <= now && (left as i64) >= 0 && !agents.any(is_able) {
        digest.add(NEVER);
        digest.add((now - end) % scheduler.param[EVERY]);
    } else {
        digest.add(left);
        digest.add(end.wrapping_sub(now));
    }
}

/// A child: its slot, what is left of its slice, its urgency and place in the queue, and whether a decision that still
/// holds made it run.
pub(super) fn add_child(digest: &mut Digest, state: &Image<'_>, v: usize) {
    let vp = &state.vps[v];
    let [urgency, left, named_at, slot_and_slice] = vp.word;
    digest.add(slot_of(vp) as u64);
    digest.add(left);
    // The number of a slice that is over is not looked at.
    digest.add(if left == 0 { 0 } else { slot_and_slice >> 32 });
    if is_agent(vp) || vp.state == WAITING {
        return;
    }
    digest.add(urgency);
    let events = state.schedulers[vp.parent as usize].word[EVENTS];
    let is_named = named_at == NEVER || named_at == events + 1;
    digest.add(if vp.state == RUNNING && is_named { u64::from(named_at == NEVER) + 1 } else { 0 });
    let is_queued = |vp: &VpImage| vp.state == READY && !vp.is_throttled() && !is_agent(vp);
    if is_queued(vp) {
        add_rank(digest, state, v, |v| {
            let (of, node, tree) = (&state.vps[v], &state.nodes[v], &state.queue_nodes[v]);
            let number = if tree.height == 0 { node.seq } else { tree.seq };
            ((is_queued(of), of.word[0]), number)
        });
        digest.add(u64::from(state.queue_nodes[v].height != 0));
    }
}

#[cfg(test)]
mod tests {
    use super::decision_key;

    #[test]
    fn decisions_that_are_never_followed_are_alike() {
        let last_of = |slot: u64| [9, 7, 10][slot as usize];
        let key = |number: u64, what: u64| decision_key(number << 16 | what, 10, Some(2), last_of);
        assert_eq!(key(10, 0x1001), 0x1001);
        assert_eq!([key(9, 0x1001), key(10, 0x0001), key(6, 0x3001), key(9, 0x3002)], [0; 4]);
        assert_eq!([key(7, 0x3001), key(9, 0x3001)], [0x3001; 2]);
        assert_eq!(key(11, 0x1001), 0x1_1001);
        // After an event of slot 2, which was the last one, or of slot 1, which was not; or when no child gave way.
        assert_eq!([key(10, 0x5081), key(10, 0x5041)], [0x5081, 0]);
        assert_eq!(decision_key(10 << 16 | 0x5081, 10, None, last_of), 0);
    }
}
