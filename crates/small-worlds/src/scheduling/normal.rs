//! The key of a core's state: what decides its future, and nothing else.
//!
//! The core and its policies read the time only to compare it with other times, or to take the length from one to the
//! other. So a state and the same state a while later have the same futures, that while later; the key has lengths of
//! time from now in place of times. Where a policy compares numbers of its own in the same manner (the tags of
//! proportional share), the key has their distances from one of them. The key leaves out what nothing reads before it
//! is written again: links and keys of VPs that are in no queue, what is left of a turn or a period that is over,
//! counts of grants and CPU time, the shapes of search trees, and the numbers that order equal keys, of which only the
//! order is kept. It also leaves out where children that want a CPU are looked for: the states of VPs say which are
//! there, and the list of children says in which order. It names a policy's words by the policy's name; if a policy is
//! not named here, every word of it counts, and so does the time.
//!
//! All of this is an argument, and may be wrong or become wrong: an exploration compares twins (`states`).

use super::pages::{add_child, add_pages};
use super::parts::{NEVER, PERIOD_OF_BUDGET, READY, RUNNING, WAITING, add_list, add_rank, add_words, from};
use super::plans::{add_owner, add_plan, add_planned, add_slot, add_table, add_turn_or_slot};
use crate::states::Digest;
use hls_core::limits;
use hls_core::{Image, NodeImage, TreeNodeImage, VpImage};

/// The flag of VPs that are out of budget.
const THROTTLED: u16 = 2;
/// How a policy's words go into the key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// Of a VP: the rest of a turn. The queue is a list, and a search tree.
    Turn,
    /// Of a VP: the rest of a turn, and a level. Queues are lists, and one search tree.
    Turns,
    /// The same, with a heap by the time when waits began, and how long a VP has to sleep until it is rested.
    TurnsAndWaits,
    /// Of a VP: the rest of a quantum, a level, and why it has it. Queues are lists, and one search tree, with a heap
    /// by the time when waits began.
    TurnsAndBoosts,
    /// Tags that are compared with each other.
    Tags,
    /// Virtual times that are compared with each other, and what is left of a warp's limit.
    Borrowed,
    /// Of a VP: a budget, and the end of its period. Queues are heaps by that.
    Budgets,
    /// The same, with two heaps of VPs that are READY.
    Bandwidths,
    /// Of a VP: a budget, the end of its period, its bandwidth, and an epoch, in which it is active. A queue by the
    /// ends of periods, and a heap by these or by virtual times. Of a scheduler: the VP that runs, how much of its run
    /// is settled, the active bandwidth, the epoch, and the pace at which the last part was settled.
    Reclaimed,
    /// Of a VP: a budget, the end of its period, and the rest of a turn. VPs with budget are in a queue by the ends of
    /// periods; those without in a list, and in a heap by these ends.
    Jobs,
    /// A budget and the end of its period, for one child, without a heap.
    Budget,
    /// Of a VP: a budget, the end of its period, a rank, and the rest of a turn. A search tree by rank, and a heap by
    /// the ends of periods.
    Reserves,
    /// Of a VP: a budget, and the end of its period. A search tree by the times when VPs must run, and a heap by the
    /// ends of periods.
    Slack,
    /// The same by priority, with a budget that is renewed at fixed instants.
    Servers,
    /// Of a VP: a budget, since when it could be used, and what comes back when. A search tree by priority, and a heap
    /// of throttled VPs by when something comes back.
    Pieces,
    /// Of a VP: a deadline, a debt, and budgets for deadlines, which are in the scheduler. Two heaps of VPs that are
    /// READY.
    Rates,
    /// Of a VP: its place, which is a period or a number. The queue is in order of places.
    Places,
    /// Of a VP: a counter, for which epoch it holds, and in which the VP runs next. The queue is by epoch and goodness.
    Epochs,
    /// A VP's number.
    Child,
    /// Tickets in a tree, and a generator that draws them. The queue is a list, and a search tree.
    Tickets,
    /// Virtual times that are compared with each other, and requests. Three queues by these times.
    Requests,
    /// Of a VP: the offset of its slot in its periods, and a constraint. A search tree in order of turns, another one
    /// by deadline, and a heap by when slots begin.
    Slots,
    /// Of a scheduler: a table of amounts and periods, and the owner of the present slot. A search tree in order of
    /// turns.
    SplitSlots,
    /// A mean of virtual times and requests, as above, and lags of VPs that sleep.
    Lags,
    /// Tags that are compared with each other, in a search tree; and heaps by weight.
    Surpluses,
    /// Of a scheduler: a plan, and the present place in it. Of a VP: when its next period begins, and its last slot
    /// ends.
    Plan,
    /// What a process reads and writes.
    Pages,
    /// Not known.
    Any,
}

impl Words {
    fn of(policy: &str) -> Words {
        match policy {
            "round-robin" => Words::Turn,
            "fixed-priority" => Words::Turns,
            "time-sharing" => Words::TurnsAndWaits,
            "windows-2000" => Words::TurnsAndBoosts,
            "proportional-share" | "stride" | "sfq" => Words::Tags,
            "bvt" => Words::Borrowed,
            "linux" => Words::Epochs,
            "reservation" => Words::Budgets,
            "cbs" | "constant-utilisation-server" => Words::Bandwidths,
            "tbs" => Words::Jobs,
            "grub" => Words::Reclaimed,
            "limit" => Words::Budget,
            "resource-kernel" => Words::Reserves,
            "least-slack" => Words::Slack,
            "deferrable-server" | "polling-server" => Words::Servers,
            "sporadic-server" => Words::Pieces,
            "bss-i" | "pshed" => Words::Rates,
            "background" => Words::Places,
            "join" => Words::Child,
            "lottery" => Words::Tickets,
            "eevdf" => Words::Requests,
            "linux-eevdf" => Words::Lags,
            "rialto" => Words::Slots,
            "rialto-nt" => Words::SplitSlots,
            "sfs" => Words::Surpluses,
            "spring" => Words::Plan,
            "user-level" => Words::Pages,
            _ => Words::Any,
        }
    }
}

/// How many words of a scheduler with levels are the queues of VPs that can use every CPU: their mask, and 64 lists.
/// The next word has the root of the search tree of the others, and after that time-sharing and windows-2000 have the
/// root of their heap.
const LEVELS: usize = 65;

/// The parameter of a bvt scheduler that is the penalty for migration.
const MIGRATION: usize = 3;

/// The word of a bvt scheduler with its keeper, behind a search tree for each CPU. The next word says when it keeps.
const KEEPER: usize = 6 + limits::MAX_CPUS / 2;

/// The level of time-sharing with VPs that are not in that heap.
const STARVED: u64 = 32;

/// The level of windows-2000 from which on VPs are not in that heap.
const LEAST_THAT_DOES_NOT_STARVE: u64 = 15;

/// Adds the state of a core to a key. `policy_name` names a policy by its number.
pub fn add(digest: &mut Digest, state: &Image<'_>, policy_name: impl Fn(u8) -> &'static str) {
    let head = state.head;
    digest.add(
        head.kick | head.offline << 16 | u64::from(head.nr_pinned) << 32 | u64::from(head.has_faulty) << 48,
    );
    add_list(digest, head.free_vp, |vp| state.vps[vp as usize].up_next);
    add_list(digest, head.seeking, |vp| state.vps[vp as usize].seeking_next);
    add_list(digest, head.pending, |s| state.schedulers[s as usize].pending_next);
    add_cpus(digest, state);
    let words: Vec<Words> = state.schedulers.iter().map(|s| Words::of(policy_name(s.policy))).collect();
    for (s, words) in words.iter().enumerate().skip(1) {
        add_scheduler(digest, state, s, *words);
    }
    // Where migration has a penalty, it counts whether a VP has ever run, also for VPs that may come there.
    let mut policies = words.iter().zip(state.schedulers);
    let has_penalty = policies.any(|(words, s)| *words == Words::Borrowed && s.param[MIGRATION] != 0);
    for (v, vp) in state.vps.iter().enumerate().skip(1).filter(|(_, vp)| vp.is_used()) {
        add_vp(digest, state, vp);
        digest.add(u64::from(has_penalty && vp.nr_grants != 0));
        if vp.parent != 0 {
            add_place(digest, state, v, words[vp.parent as usize]);
        }
    }
}

fn add_cpus(digest: &mut Digest, state: &Image<'_>) {
    for cpu in state.cpus {
        let clock = state.head.now_ns - cpu.stolen_ns;
        digest.add(cpu.resched | u64::from(cpu.depth) << 40);
        add_list(digest, cpu.claims, |vp| state.vps[vp as usize].seeking_next);
        for step in &cpu.path[..cpu.depth as usize] {
            digest.add(step.vp.into());
            digest.add(from(step.expires_at, clock));
            digest.add(from(step.first_expiry, clock));
        }
    }
}

fn add_scheduler(digest: &mut Digest, state: &Image<'_>, s: usize, words: Words) {
    let (sched, now) = (&state.schedulers[s], state.head.now_ns);
    digest.add(u64::from_ne_bytes([
        sched.policy,
        sched.level,
        sched.in_pending,
        sched.refused,
        sched.joins,
        sched.single,
        sched.violation,
        0,
    ]));
    digest.add(u64::from(sched.nr_up) | u64::from(sched.nr_requested) << 16);
    digest.add(u64::from(sched.nr_ready) | u64::from(sched.nr_running) << 32);
    add_list(digest, sched.first_up, |vp| state.vps[vp as usize].up_next);
    add_list(digest, sched.first_child, |vp| state.vps[vp as usize].sib_next);
    digest.add(from(sched.timer_at, now));
    if sched.timer_at != NEVER {
        let seq = state.timers[s].seq;
        let equals = (1..state.schedulers.len()).filter(|&other| {
            let earlier = (state.timers[other].seq.wrapping_sub(seq) as i64) < 0;
            state.schedulers[other].timer_at == sched.timer_at && earlier
        });
        digest.add(equals.count() as u64);
    }
    let [deadline_at, warp_ns] = sched.told;
    digest.add(if deadline_at == 0 { NEVER } else { from(deadline_at, now) });
    digest.add(warp_ns);
    sched.param.iter().for_each(|param| digest.add(*param));
    match words {
        Words::Child | Words::Budget => add_words(digest, &sched.word),
        Words::Turn => digest.add(sched.word[0]),
        Words::Turns => {
            add_words(digest, &sched.word[..LEVELS]);
            add_words(digest, &sched.word[LEVELS + 1..]);
        }
        Words::TurnsAndWaits | Words::TurnsAndBoosts => add_words(digest, &sched.word[..LEVELS]),
        Words::Tags => {
            digest.add(sched.word[1].wrapping_sub(sched.word[0]));
            digest.add(sched.word[3] >> 32);
        }
        Words::Borrowed => {
            digest.add(sched.word[1].wrapping_sub(sched.word[0]));
            let [keeper, keeps_at] = [sched.word[KEEPER], sched.word[KEEPER + 1]];
            digest.add(if keeps_at == now { keeper & u64::from(u32::MAX) } else { 0 });
        }
        Words::Budgets
        | Words::Bandwidths
        | Words::Jobs
        | Words::Reserves
        | Words::Slack
        | Words::Servers
        | Words::Pieces
        | Words::Rates
        | Words::Places
        | Words::Epochs => {}
        Words::Tickets => add_words(digest, &sched.word[..3]),
        Words::Reclaimed => add_reclaiming(digest, &sched.word),
        Words::Requests => {
            digest.add(sched.word[1]);
            digest.add(sched.word[5] >> 32);
            add_words(digest, &sched.word[6..8]);
        }
        Words::Slots => add_owner(digest, sched.word[0], sched.word[1], now),
        Words::SplitSlots => add_table(digest, &sched.word, now),
        Words::Lags => {
            add_words(digest, &sched.word[1..3]);
            digest.add(sched.word[5] >> 32);
        }
        Words::Surpluses => {}
        Words::Plan => add_plan(digest, &sched.word, now),
        Words::Pages => add_pages(digest, state, s),
        Words::Any => {
            digest.add(now);
            digest.add(state.head.seq);
            add_words(digest, &sched.word);
        }
    }
}

fn add_vp(digest: &mut Digest, state: &Image<'_>, vp: &VpImage) {
    digest.add(u64::from(vp.parent) | u64::from(vp.child) << 32);
    digest.add(vp.usable);
    let [low, high] = vp.flags.to_ne_bytes();
    let [owed, owed_more] = vp.owed_us.to_ne_bytes();
    digest.add(u64::from_ne_bytes([vp.state, low, high, owed, owed_more, vp.cpu, vp.suspension, 0]));
    vp.param.iter().for_each(|param| digest.add(*param));
    if vp.state == RUNNING {
        let clock = state.head.now_ns - state.cpus[usize::from(vp.cpu)].stolen_ns;
        digest.add(vp.level.into());
        digest.add(vp.granted_at.wrapping_sub(clock));
    }
}

/// Adds what its scheduler's policy knows of a VP.
fn add_place(digest: &mut Digest, state: &Image<'_>, v: usize, words: Words) {
    let (vp, node, now) = (&state.vps[v], &state.nodes[v], state.head.now_ns);
    match words {
        Words::TurnsAndWaits if vp.state == WAITING => add_rest(digest, vp, now),
        Words::Turn | Words::Turns | Words::TurnsAndWaits => {
            if vp.state != WAITING || words == Words::Turns {
                digest.add(vp.word[1]);
            }
            if vp.state != WAITING {
                digest.add(vp.word[0]);
            }
            if words == Words::TurnsAndWaits {
                digest.add(vp.word[2]);
            }
            if vp.state == READY {
                add_turn(digest, state, v, |sibling| sibling.word[1] == vp.word[1]);
            }
            add_heap_place(digest, state, v, words, now);
        }
        Words::TurnsAndBoosts => add_boost(digest, state, v),
        Words::Tags => add_tags(digest, state, v),
        Words::Borrowed => add_borrowed(digest, state, v),
        Words::Epochs => add_counter(digest, state, v),
        Words::Budgets | Words::Bandwidths | Words::Budget => {
            add_budget(digest, vp, now);
            add_heap_place(digest, state, v, words, now);
        }
        Words::Reclaimed => add_reclaimed(digest, state, v),
        Words::Jobs => add_job(digest, state, v),
        Words::Reserves => {
            add_deferrable_budget(digest, vp, now);
            digest.add(if vp.state == WAITING { 0 } else { vp.word[2] });
            digest.add(vp.word[3]);
            add_ready_and_due(digest, state, v, 0);
        }
        Words::Slack => {
            add_budget(digest, vp, now);
            add_ready_and_due(digest, state, v, now);
        }
        Words::Servers => {
            add_deferrable_budget(digest, vp, now);
            add_ready_and_due(digest, state, v, 0);
        }
        Words::Pieces => {
            add_pieces(digest, vp, now);
            add_ready(digest, state, v, 0);
            add_due(digest, state, v, |v| state.vps[v].flags & THROTTLED != 0);
        }
        Words::Rates => {
            add_deadlines(digest, state, v);
            add_heap_place(digest, state, v, words, now);
        }
        Words::Places => add_arrival(digest, state, v),
        Words::Child => {}
        Words::Tickets => {
            digest.add(vp.word[1]);
            if vp.state == READY {
                [vp.word[0], vp.word[2], vp.word[3]].iter().for_each(|word| digest.add(*word));
                add_turn(digest, state, v, |_| true);
            }
        }
        Words::Requests => add_request(digest, state, v),
        Words::Slots => add_slot(digest, state, v),
        Words::SplitSlots => add_turn_or_slot(digest, state, v, |vp| vp.word[0]),
        Words::Lags => add_lag(digest, state, v),
        Words::Surpluses => add_surplus(digest, state, v),
        Words::Plan => add_planned(digest, state, v),
        Words::Pages => add_child(digest, state, v),
        Words::Any => {
            vp.word.iter().for_each(|word| digest.add(*word));
            add_node(digest, node);
            add_tree_node(digest, &state.queue_nodes[v]);
        }
    }
}

/// For a VP of time-sharing that is asleep: how long it has yet to sleep, and the turn and level at which it goes on if
/// it is woken up before that. Rested, it begins anew.
fn add_rest(digest: &mut Digest, vp: &VpImage, now: u64) {
    let [left, level, owed, asleep_at] = vp.word;
    let slept = now - asleep_at;
    if slept >= owed {
        digest.add(NEVER);
    } else {
        [owed - slept, left, level].iter().for_each(|word| digest.add(*word));
    }
}

/// The deadlines of a VP's server that are still to come, with their budgets; of deadlines that have passed only the
/// last one's debt.
fn add_deadlines(digest: &mut Digest, state: &Image<'_>, v: usize) {
    const HEAD: usize = 2; // words of the scheduler before the lists
    const WORDS_OF_LIST: usize = 16;
    let (vp, now) = (&state.vps[v], state.head.now_ns);
    let [deadline_at, told_at, mut debt, list_and_count] = vp.word;
    digest.add(deadline_at.saturating_sub(now));
    digest.add(told_at.saturating_sub(now));
    let (list, count) = ((list_and_count & 0xffff_ffff) as usize, (list_and_count >> 32) as usize);
    let first = HEAD + (list - 1) * WORDS_OF_LIST;
    let budgets = state.schedulers[vp.parent as usize].word[first..first + 2 * count].chunks(2);
    for budget in budgets {
        let (at, left) = (budget[0], budget[1]);
        if at <= now {
            debt = (left as i64).min(0).unsigned_abs();
        } else {
            digest.add(at - now);
            digest.add(left);
        }
    }
    digest.add(debt);
    digest.add(list as u64);
}

/// For a VP of windows-2000 that is WAITING, it matters whether it waits for something, and since before now.
fn add_boost(digest: &mut Digest, state: &Image<'_>, v: usize) {
    let (vp, now) = (&state.vps[v], state.head.now_ns);
    let [left, level, asleep_at, starved] = vp.word;
    [left, level, starved].iter().for_each(|word| digest.add(*word));
    match vp.state {
        WAITING if asleep_at == NEVER => digest.add(NEVER),
        WAITING => digest.add((asleep_at == now).into()),
        READY => add_turn(digest, state, v, |sibling| sibling.word[1] == vp.word[1]),
        _ => {}
    }
    add_heap_place(digest, state, v, Words::TurnsAndBoosts, now);
}

/// How many of the siblings that are in the same queue come before a READY VP: in a list, or in the search tree.
fn add_turn(digest: &mut Digest, state: &Image<'_>, v: usize, is_in_queue: impl Fn(&VpImage) -> bool) {
    let place = |v: usize| match state.queue_nodes[v].height {
        0 => state.nodes[v].place,
        _ => state.queue_nodes[v].seq,
    };
    let vp = &state.vps[v];
    let is_before = |other: &usize| {
        let sibling = &state.vps[*other];
        let is_beside = sibling.is_used() && sibling.parent == vp.parent && is_in_queue(sibling);
        is_beside && sibling.state == READY && (place(*other).wrapping_sub(place(v)) as i64) < 0
    };
    digest.add((1..state.vps.len()).filter(is_before).count() as u64);
    digest.add(u64::from(state.queue_nodes[v].height != 0));
}

fn add_node(digest: &mut Digest, node: &NodeImage) {
    digest.add(node.key);
    digest.add(node.seq);
    digest.add(node.place);
    digest.add(node.dist.into());
    [node.left, node.right, node.up, node.prev, node.next]
        .iter()
        .for_each(|other| digest.add((*other).into()));
}

fn add_tree_node(digest: &mut Digest, node: &TreeNodeImage) {
    digest.add(node.height.into());
    if node.height != 0 {
        [node.key, node.seq, node.cpus].iter().for_each(|word| digest.add(*word));
        node.child.iter().chain([&node.up]).for_each(|other| digest.add((*other).into()));
    }
}

/// Whether a VP is in a heap of its scheduler. Links of a VP that has left one may be left behind.
fn is_in_heap(vp: &VpImage, words: Words) -> bool {
    match words {
        Words::TurnsAndWaits => vp.state == READY && vp.word[1] != STARVED,
        Words::TurnsAndBoosts => vp.state == READY && vp.word[1] < LEAST_THAT_DOES_NOT_STARVE,
        Words::Tags | Words::Borrowed | Words::Epochs => vp.state == READY,
        Words::Budgets => vp.state != WAITING,
        Words::Bandwidths | Words::Rates => vp.state == READY,
        Words::Reclaimed => vp.state == READY && vp.flags & THROTTLED == 0,
        Words::Jobs => vp.state == READY && vp.word[0] as i64 > 0,
        _ => false,
    }
}

/// The key of a VP in a queue, a heap or a search tree, and the number that orders equal keys. The search trees of
/// time-sharing and windows-2000 belong to levels.
fn key(state: &Image<'_>, v: usize, words: Words) -> (u64, u64) {
    let (node, tree) = (&state.nodes[v], &state.queue_nodes[v]);
    let is_in_tree = tree.height != 0 && ![Words::TurnsAndWaits, Words::TurnsAndBoosts].contains(&words);
    if is_in_tree { (tree.key, tree.seq) } else { (node.key, node.seq) }
}

/// The key of a VP that is in a queue, from `base`, and how many siblings with the same key come before it.
fn add_heap_place(digest: &mut Digest, state: &Image<'_>, v: usize, words: Words, base: u64) {
    let parent = state.vps[v].parent;
    if !is_in_heap(&state.vps[v], words) {
        return;
    }
    let (at, seq) = key(state, v, words);
    let is_before = |other: usize| {
        let sibling = &state.vps[other];
        let is_member = sibling.is_used() && sibling.parent == parent && is_in_heap(sibling, words);
        let (its, its_seq) = key(state, other, words);
        is_member && its == at && (its_seq.wrapping_sub(seq) as i64) < 0
    };
    digest.add(at.wrapping_sub(base));
    digest.add((1..state.vps.len()).filter(|other| is_before(*other)).count() as u64);
}

/// A tag in the past of virtual time is as good as virtual time itself: the VP's next request begins there, and
/// carries nothing over.
fn add_tags(digest: &mut Digest, state: &Image<'_>, v: usize) {
    let vp = &state.vps[v];
    let virtual_time = state.schedulers[vp.parent as usize].word[0];
    let ahead = vp.word[0].wrapping_sub(virtual_time);
    let is_past = (ahead as i64) < 0 || (ahead == 0 && vp.word[1] == 0);
    if vp.state == WAITING && is_past {
        digest.add(NEVER);
        return;
    }
    digest.add(ahead);
    digest.add(vp.word[1]);
    add_heap_place(digest, state, v, Words::Tags, virtual_time);
}

/// A virtual time in the past of the scheduler's is as good as the scheduler's: the VP's next request begins there. A
/// bar that is over is as good as none. A VP that wants a CPU has the extent of its warp.
fn add_borrowed(digest: &mut Digest, state: &Image<'_>, v: usize) {
    const REST: u64 = 0x1_ffff << 40;
    let (vp, now) = (&state.vps[v], state.head.now_ns);
    let scheduler = &state.schedulers[vp.parent as usize];
    let virtual_time = scheduler.word[0];
    digest.add(if vp.state == WAITING { 0 } else { vp.word[2] });
    let (ahead, bits) = (vp.word[0].wrapping_sub(virtual_time), vp.word[3]);
    let is_past = (ahead as i64) < 0 || (ahead == 0 && bits & REST == 0);
    if vp.state == WAITING && is_past {
        digest.add(NEVER);
        digest.add(bits & !REST);
    } else {
        digest.add(ahead);
        digest.add(bits);
    }
    let bar_end = if vp.word[1] == 0 { 0 } else { vp.word[1] + vp.param[3] };
    digest.add(bar_end.saturating_sub(now));
    add_heap_place(digest, state, v, Words::Borrowed, virtual_time);
}

/// A VP that does not count, and has a virtual time in the past, begins anew when it is requested.
fn add_request(digest: &mut Digest, state: &Image<'_>, v: usize) {
    const REST: u64 = 0x1_ffff;
    const FLAGS: u64 = 53;
    const COUNTS: u64 = 1 << FLAGS;
    let vp = &state.vps[v];
    let virtual_time = state.schedulers[vp.parent as usize].word[0];
    let [used, deadline, bits, since] = vp.word;
    let ahead = used.wrapping_sub(virtual_time);
    if vp.state == WAITING {
        let is_past = (ahead as i64) < 0 || (ahead == 0 && bits & REST == 0);
        digest.add(if bits & COUNTS == 0 && is_past { NEVER } else { ahead });
        digest.add(bits & (REST | COUNTS));
    } else {
        [ahead, bits, deadline.wrapping_sub(virtual_time)].iter().for_each(|word| digest.add(*word));
        digest.add(if vp.state == RUNNING { since } else { 0 });
    }
    let is_queued = |v: usize| state.vps[v].state == READY || state.vps[v].word[2] & COUNTS != 0;
    if vp.state != RUNNING && is_queued(v) {
        add_rank(digest, state, v, |v| {
            let (of, (key, number)) = (&state.vps[v], key(state, v, Words::Requests));
            let queue = if of.state == WAITING { of.word[2] & COUNTS } else { of.word[2] >> FLAGS };
            ((of.state, queue, key, is_queued(v)), number)
        });
    }
}

/// A tag in the past of virtual time is as good as virtual time itself, as with other tags.
fn add_surplus(digest: &mut Digest, state: &Image<'_>, v: usize) {
    let vp = &state.vps[v];
    let ahead = vp.word[0].wrapping_sub(state.schedulers[vp.parent as usize].word[0]);
    if vp.state == WAITING {
        let is_past = (ahead as i64) < 0 || (ahead == 0 && vp.word[1] == 0);
        digest.add(if is_past { NEVER } else { ahead });
        digest.add(if is_past { 0 } else { vp.word[1] });
        return;
    }
    [ahead, vp.word[1], vp.word[3]].iter().for_each(|word| digest.add(*word));
    // It matters which VP came first, among equal weights and among equal tags.
    add_rank(digest, state, v, |v| {
        let of = &state.vps[v];
        ((of.state == WAITING, of.word[3], of.param[0]), state.nodes[v].seq)
    });
    if vp.state == READY {
        add_rank(digest, state, v, |v| {
            let tag = &state.queue_nodes[v];
            ((state.vps[v].state == READY, tag.key), tag.seq)
        });
    }
}

/// The epochs that a VP has missed halve its counter, until it does not change any more.
fn add_counter(digest: &mut Digest, state: &Image<'_>, v: usize) {
    const SETTLED: u64 = 7;
    const KEYS_OF_AN_EPOCH: u64 = 128;
    let vp = &state.vps[v];
    let epoch = state.schedulers[vp.parent as usize].word[0];
    digest.add(vp.word[0]);
    digest.add((epoch - vp.word[1]).min(SETTLED));
    if vp.state == READY {
        digest.add(vp.word[2].wrapping_sub(epoch));
    }
    add_heap_place(digest, state, v, Words::Epochs, epoch * KEYS_OF_AN_EPOCH);
}

/// The budget of a period that is over is void when the VP is WAITING: the next request begins a period.
fn add_budget(digest: &mut Digest, vp: &VpImage, now: u64) {
    let (budget, end) = (vp.word[0], vp.word[1]);
    if vp.state == WAITING && end <= now {
        digest.add(NEVER - u64::from(budget > vp.param[0]));
        return;
    }
    digest.add(budget);
    digest.add(end.wrapping_sub(now));
    if vp.state == WAITING && vp.is_resumed() {
        digest.add(vp.word[2].wrapping_sub(now));
    }
}

/// A budget, and what is left of a turn; and the place of a VP in the queue of VPs with budget, or in the list of the
/// others, which lie in a heap by the ends of periods, too.
fn add_job(digest: &mut Digest, state: &Image<'_>, v: usize) {
    let (vp, now) = (&state.vps[v], state.head.now_ns);
    let has_budget = |vp: &VpImage| vp.word[0] as i64 > 0;
    add_budget(digest, vp, now);
    digest.add(vp.word[2]);
    add_heap_place(digest, state, v, Words::Jobs, now);
    if vp.state == READY && !has_budget(vp) {
        add_turn(digest, state, v, |sibling| !has_budget(sibling));
    }
    add_due(digest, state, v, |v| {
        let vp = &state.vps[v];
        vp.state != WAITING && !has_budget(vp) && state.nodes[v].dist != 0
    });
}

/// The VP that runs, how much of its run is settled, the active bandwidth, and the pace of what was settled last.
fn add_reclaiming(digest: &mut Digest, word: &[u64]) {
    let running = word[1] >> 32;
    let settled = if running == 0 { 0 } else { word[2] };
    add_words(digest, &[running, settled, word[3], if settled == 0 { 0 } else { word[6] }]);
}

/// A budget, a bandwidth, and whether the VP is active. Throttled VPs, and active ones that sleep, lie in a heap.
fn add_reclaimed(digest: &mut Digest, state: &Image<'_>, v: usize) {
    let (vp, now) = (&state.vps[v], state.head.now_ns);
    let is_active = |vp: &VpImage| vp.word[3] == state.schedulers[vp.parent as usize].word[5];
    add_budget(digest, vp, now);
    digest.add(vp.word[2]);
    digest.add(u64::from(is_active(vp)));
    add_heap_place(digest, state, v, Words::Reclaimed, now);
    add_due(digest, state, v, |v| {
        let vp = &state.vps[v];
        let is_throttled = vp.state == READY && vp.flags & THROTTLED != 0;
        is_throttled || (vp.state == WAITING && is_active(vp))
    });
}

/// A budget that is renewed at fixed instants, which begin with the first request. If a VP is WAITING, and owes
/// nothing, its budget is whole again when the period is over, and then only where the periods begin matters.
fn add_deferrable_budget(digest: &mut Digest, vp: &VpImage, now: u64) {
    let [left, end, ..] = vp.word;
    let period = vp.param[PERIOD_OF_BUDGET];
    if end == 0 {
        digest.add(NEVER);
    } else if vp.state == WAITING && end <= now && (left as i64) >= 0 {
        digest.add(NEVER);
        digest.add((now - end) % period);
    } else {
        digest.add(left);
        digest.add(end.wrapping_sub(now));
    }
}

/// For a VP that lies in a search tree while it is READY and not throttled, and in a heap by a time while it wants a
/// CPU: its places there. Keys of the tree count from `base`.
fn add_ready_and_due(digest: &mut Digest, state: &Image<'_>, v: usize, base: u64) {
    add_ready(digest, state, v, base);
    add_due(digest, state, v, |v| state.vps[v].state != WAITING && state.nodes[v].dist != 0);
}

/// The place of a VP in a search tree with keys that count from `base`.
fn add_ready(digest: &mut Digest, state: &Image<'_>, v: usize, base: u64) {
    let is_queued = |v: usize| state.queue_nodes[v].height != 0;
    if is_queued(v) {
        digest.add(state.queue_nodes[v].key.wrapping_sub(base));
        add_rank(digest, state, v, |v| {
            let place = &state.queue_nodes[v];
            ((is_queued(v), place.key), place.seq)
        });
    }
}

/// The place of a VP in a heap by a time, if it is there.
fn add_due(digest: &mut Digest, state: &Image<'_>, v: usize, is_due: impl Fn(usize) -> bool) {
    digest.add(if is_due(v) { state.nodes[v].key.wrapping_sub(state.head.now_ns) } else { NEVER });
    if is_due(v) {
        add_rank(digest, state, v, |v| ((is_due(v), state.nodes[v].key), state.nodes[v].seq));
    }
}

/// What is left of a budget, and what comes back when. For a VP that is WAITING, what is back is as good as left.
fn add_pieces(digest: &mut Digest, vp: &VpImage, now: u64) {
    let [mut left, since, mut first_at, packed] = vp.word;
    let (mut first, mut gap) = (packed & u64::from(u32::MAX), packed >> 32);
    while vp.state == WAITING && first != 0 && first_at <= now {
        let second = vp.param[0].wrapping_sub(left).wrapping_sub(first);
        left = left.wrapping_add(first);
        (first, first_at, gap) = (second, first_at + gap, 0);
    }
    digest.add(left);
    digest.add(first);
    // The time of nothing means nothing.
    digest.add(if first == 0 { NEVER } else { first_at.wrapping_sub(now) });
    digest.add(if first == 0 { 0 } else { gap });
    digest.add(if vp.state == WAITING { 0 } else { since.wrapping_sub(now) });
}

/// Among the VPs that have no period, those that came first go first.
fn add_arrival(digest: &mut Digest, state: &Image<'_>, v: usize) {
    let vp = &state.vps[v];
    let is_periodic = |vp: &VpImage| vp.param[0] != 0;
    if vp.state != WAITING && !is_periodic(vp) {
        add_rank(digest, state, v, |v| {
            let of = &state.vps[v];
            (of.state != WAITING && !is_periodic(of), of.word[0])
        });
    }
    if vp.state == READY && is_periodic(vp) {
        add_rank(digest, state, v, |v| {
            let (of, (key, number)) = (&state.vps[v], key(state, v, Words::Places));
            ((of.state == READY && is_periodic(of), key), number)
        });
    }
}

/// A VP that does not count comes with its lag; one that counts has a virtual time.
fn add_lag(digest: &mut Digest, state: &Image<'_>, v: usize) {
    const REST: u64 = 0x1_ffff;
    const FLAGS: u64 = 44;
    const COUNTS: u64 = 1 << FLAGS;
    let vp = &state.vps[v];
    let base = state.schedulers[vp.parent as usize].word[0];
    let [at, deadline, bits, since] = vp.word;
    digest.add(if bits & COUNTS == 0 { at } else { at.wrapping_sub(base) });
    if vp.state == WAITING {
        digest.add(bits & (REST | COUNTS));
    } else {
        [bits, deadline.wrapping_sub(base)].iter().for_each(|word| digest.add(*word));
        digest.add(if vp.state == RUNNING { since } else { 0 });
    }
    let is_queued = |v: usize| state.vps[v].state == READY || state.vps[v].word[2] & COUNTS != 0;
    if vp.state != RUNNING && is_queued(v) {
        add_rank(digest, state, v, |v| {
            let (of, (key, number)) = (&state.vps[v], key(state, v, Words::Lags));
            let queue = if of.state == WAITING { of.word[2] & COUNTS } else { of.word[2] >> FLAGS };
            ((of.state, queue, key, is_queued(v)), number)
        });
    }
}
