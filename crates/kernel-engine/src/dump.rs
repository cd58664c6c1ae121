//! A domain as text, for debugging: what each CPU runs, and every scheduler with its children. Numbers are the core's
//! own, as in the report of a broken invariant.
//!
//! Reads a domain that may be changing meanwhile, unless it is sealed; the dump ends, whatever values it reads.

use crate::domain::Domain;
use hls_core::{CoreScheduler, CoreVp, View, VpEntry, VpState, limits};
use std::fmt::{self, Write};

/// The domain as it is now.
pub fn dump(domain: &mut Domain) -> String {
    let mut text = String::new();
    write(domain, &mut text).expect("a string takes all");
    text
}

fn write(domain: &mut Domain, out: &mut String) -> fmt::Result {
    let kick = domain.view().kick();
    domain.view().offline().try_for_each(|cpu| writeln!(out, "CPU {cpu} is offline"))?;
    for cpu in 0..limits::MAX_CPUS as u32 {
        let (path, due) = domain.view().path(cpu);
        if path.is_empty() && due == 0 && (kick >> cpu) & 1 == 0 {
            continue;
        }
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        let levels = (0..u64::BITS).filter(|level| (due >> level) & 1 == 1);
        let levels: Vec<String> = levels.map(|level| level.to_string()).collect();
        write!(out, "CPU {cpu} is granted to VPs [{}]", path.join(" > "))?;
        match levels.is_empty() {
            true => writeln!(out)?,
            false => writeln!(out, "; decisions are due at levels {}", levels.join(", "))?,
        }
    }
    (1..limits::MAX_SCHEDULERS as u32)
        .map(CoreScheduler)
        .try_for_each(|scheduler| write_scheduler(domain, scheduler, out))
}

fn write_scheduler(domain: &mut Domain, number: CoreScheduler, out: &mut String) -> fmt::Result {
    let Some(entry) = domain.view().scheduler(number) else { return Ok(()) };
    writeln!(
        out,
        "scheduler {number}, {}: {} children, {} ready, {} running; has {} VPs, {} requested",
        entry.policy, entry.children, entry.ready, entry.running, entry.vps, entry.requested
    )?;
    let mut waiting = 0;
    for (vp, child) in children(domain.view(), entry.first) {
        if child.state == VpState::Waiting && child.child == CoreScheduler::NONE {
            waiting += 1;
            continue;
        }
        write!(out, "  VP {vp}, ")?;
        match child.child {
            CoreScheduler::NONE => write!(out, "thread {}", domain.thread(vp).pid)?,
            below => write!(out, "scheduler {below}")?,
        }
        match child.state {
            VpState::Waiting => write!(out, ": waiting")?,
            VpState::Ready => write!(out, ": ready")?,
            VpState::Running => write!(out, ": running on CPU {}", child.cpu)?,
        }
        let notes = [
            (child.throttled, ", throttled"),
            (child.seeking, ", seeking a CPU"),
            (child.child == CoreScheduler::NONE && domain.thread(vp).queued_at_ns != 0, ", queued"),
        ];
        notes.iter().filter(|(is, _)| *is).try_for_each(|(_, note)| out.write_str(note))?;
        if child.usable != u64::MAX {
            write!(out, ", CPUs {:#x}", child.usable)?;
        }
        writeln!(out)?;
    }
    if waiting > 0 { writeln!(out, "  and {waiting} threads that want no CPU") } else { Ok(()) }
}

/// The children of a scheduler; a broken list ends after the largest possible number of VPs.
fn children(view: &View, first: CoreVp) -> Vec<(CoreVp, VpEntry)> {
    let in_range = |vp: CoreVp| (vp != CoreVp::NONE && vp.index() < limits::MAX_VPS).then_some(vp);
    let entry = |vp| Some((vp, view.vp(vp)?));
    let next = |&(_, entry): &(CoreVp, VpEntry)| in_range(entry.next);
    std::iter::successors(in_range(first).and_then(entry), |last| next(last).and_then(entry))
        .take(limits::MAX_VPS)
        .collect()
}
