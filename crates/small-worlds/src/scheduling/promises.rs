//! What must hold in a small world. First the core's own invariants; then what a user would expect without having read
//! a line of the core: that an event does what it says and nothing else, that a thread runs on one CPU that it may use,
//! that no CPU idles while a thread waits for it, that no thread waits for ever, and that a VP that was given back
//! leads nowhere.

use crate::scheduling::hierarchies::{CPUS, THREADS};
use crate::scheduling::world::{Event, World};
use hls_core::{Calls, CoreError, CoreVp, Image, Params, VpImage, VpState};
use hls_units::Nanos;

const READY: u8 = 1;
const RUNNING: u8 = 2;
const NEVER: u64 = u64::MAX;

/// What is known of a thread from outside.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ThreadBefore {
    vp: u32,
    state: VpState,
    above: u32,
    param: [u64; 4],
    usable: u64,
    ran: Nanos,
}

/// A world before an event.
pub(crate) struct Before {
    threads: [Option<ThreadBefore>; THREADS],
    offline: u64,
    now: Nanos,
}

fn threads(world: &World) -> [Option<ThreadBefore>; THREADS] {
    world.platform.vps.map(|vp| {
        let image = world.core.image().vps[vp.index()];
        (vp != CoreVp::NONE).then(|| ThreadBefore {
            vp: vp.0,
            state: world.core.state(vp),
            above: image.parent,
            param: image.param,
            usable: image.usable & ((1 << CPUS) - 1),
            ran: world.core.ran(vp, world.now()),
        })
    })
}

fn wants(thread: &ThreadBefore) -> bool {
    thread.state != VpState::Waiting
}

impl Before {
    pub(crate) fn of(world: &World) -> Before {
        Before { threads: threads(world), offline: world.core.image().head.offline, now: world.now() }
    }

    /// Whether the event has done what it says, and nothing else.
    pub(crate) fn compare(
        &self,
        world: &mut World,
        event: Event,
        refused: Option<CoreError>,
    ) -> Result<(), String> {
        self.compare_refusal(event, refused)?;
        let after = threads(world);
        for (thread, after) in after.iter().enumerate() {
            if let (Some(before), Some(after)) = (&self.threads[thread], after) {
                self.compare_thread(world, thread, before, after, (event, refused))?;
            }
        }
        if refused.is_some() && self.offline != world.core.image().head.offline {
            return Err("the core refused the event, and a CPU went offline".into());
        }
        match event {
            Event::Detach(thread) => self.threads[thread].map_or(Ok(()), |was| leads_nowhere(world, was.vp)),
            Event::Decide(cpu) => may_run(world, cpu),
            _ => Ok(()),
        }
    }

    /// Only some events may be refused, for some reasons, and some must be.
    fn compare_refusal(&self, event: Event, refused: Option<CoreError>) -> Result<(), String> {
        let is_last = self.offline != 0;
        let is_right = match event {
            Event::SetWrong(_) => refused == Some(CoreError::Param),
            Event::MoveWrong(..) => matches!(refused, Some(CoreError::Param | CoreError::Children)),
            Event::Tell(_) => refused == Some(CoreError::Unknown),
            Event::Offline(_) if is_last => refused == Some(CoreError::Busy),
            Event::Attach(..) | Event::Move(..) => refused.is_none_or(|error| error == CoreError::Children),
            _ => refused.is_none(),
        };
        let found =
            refused.map_or("the core took it".to_owned(), |error| format!("the core refused: {error}"));
        if is_right { Ok(()) } else { Err(format!("this event should have had another answer: {found}")) }
    }

    fn compare_thread(
        &self,
        world: &World,
        thread: usize,
        before: &ThreadBefore,
        after: &ThreadBefore,
        (event, refused): (Event, Option<CoreError>),
    ) -> Result<(), String> {
        let ran = if before.state == VpState::Running { world.now() - self.now } else { Nanos(0) };
        if after.ran != before.ran + ran {
            return Err(format!(
                "thread {thread} has had {} of CPU time, and was on a CPU for {ran} after {}",
                after.ran, before.ran
            ));
        }
        let mut expected = (wants(before), before.above, before.usable, before.param);
        match event {
            _ if refused.is_some() => {}
            Event::Request(changed) if changed == thread => expected.0 = true,
            Event::Block(changed) if changed == thread => expected.0 = false,
            Event::Bind(changed, cpus) if changed == thread => expected.2 = cpus,
            Event::Set(changed) if changed == thread => expected.3[0] = after.param[0],
            Event::Move(changed, to) if changed == thread => {
                expected.1 = world.schedulers[to].0;
                expected.3 = after.param;
            }
            _ => {}
        }
        let is_set = matches!(event, Event::Set(changed) if changed == thread);
        if is_set && after.param == before.param {
            return Err(format!("the parameter of thread {thread} did not change"));
        }
        if expected != (wants(after), after.above, after.usable, after.param) {
            return Err(format!(
                "the event has changed something else of thread {thread}, or not what it says"
            ));
        }
        Ok(())
    }
}

/// A thread that a CPU was told to run may use that CPU, which is online.
fn may_run(world: &World, cpu: usize) -> Result<(), String> {
    let Some(vp) = world.platform.running[cpu] else { return Ok(()) };
    let is_online = (world.core.image().head.offline >> cpu) & 1 == 0;
    let is_thread = world.platform.vps.contains(&vp);
    let may_use = (world.core.image().vps[vp.index()].usable >> cpu) & 1 == 1;
    if is_online && is_thread && may_use {
        return Ok(());
    }
    Err(format!("CPU {cpu} is to run VP {vp}: it is offline, or that is no thread that may use it"))
}

/// Calls about a VP that was given back are refused and change nothing; and nothing in the core names it.
fn leads_nowhere(world: &mut World, vp: u32) -> Result<(), String> {
    let snapshot = world.core.snapshot();
    let before = snapshot.image();
    let (core, now, to) = (&mut world.core, before.head.now_ns, world.schedulers[0]);
    let answers = [
        core.detach(CoreVp(vp), Nanos(now)),
        core.move_to(CoreVp(vp), to, Params::default(), Nanos(now)),
        core.set_affinity(CoreVp(vp), 1, Nanos(now)),
        core.set_param(CoreVp(vp), 0, 1, Nanos(now)),
        core.tell(CoreVp(vp), 0, Params::default(), Nanos(now)).map(drop),
        core.watch(CoreVp(vp), true),
    ];
    if answers.iter().any(|answer| *answer != Err(CoreError::NotFound)) || core.snapshot() != snapshot {
        return Err(format!(
            "a call about VP {vp}, which was given back, was not refused, or changed something"
        ));
    }
    let is_named = before.cpus.iter().any(|cpu| {
        let on_path = cpu.path[..cpu.depth as usize].iter().any(|step| step.vp == vp);
        on_path || listed(cpu.claims, &before, |next| before.vps[next].seeking_next, vp)
    });
    let is_child = before.schedulers.iter().any(|scheduler| {
        listed(scheduler.first_child, &before, |next| before.vps[next].sib_next, vp)
            || listed(scheduler.first_up, &before, |next| before.vps[next].up_next, vp)
    });
    let seeks = listed(before.head.seeking, &before, |next| before.vps[next].seeking_next, vp);
    if is_named || is_child || seeks {
        return Err(format!("VP {vp} was given back, and something in the core still leads to it"));
    }
    Ok(())
}

fn listed(first: u32, state: &Image<'_>, next: impl Fn(usize) -> u32, vp: u32) -> bool {
    let list = std::iter::successors(Some(first), |at| Some(next(*at as usize))).take_while(|at| *at != 0);
    list.take(state.vps.len()).any(|at| at == vp)
}

/// What must hold while no decision is due.
pub(crate) fn check(world: &mut World) -> Result<(), String> {
    world.core.check().map_err(|fault| fault.to_string())?;
    let due = world.due();
    let state = world.core.image();
    runs_what_was_said(world, &state)?;
    no_cpu_idles(world, &state)?;
    budgets_come_back(&state)?;
    nobody_waits_for_ever(world, &state, due)
}

/// Each CPU runs the thread that it was told to run, no thread runs on two, and each RUNNING thread runs on one.
fn runs_what_was_said(world: &World, state: &Image<'_>) -> Result<(), String> {
    for (cpu, image) in state.cpus.iter().enumerate() {
        let granted = image.depth.checked_sub(1).map(|last| image.path[last as usize].vp);
        if granted != world.platform.running[cpu].map(|vp| vp.0) {
            return Err(format!(
                "CPU {cpu} runs {:?}, and is granted to {granted:?}",
                world.platform.running[cpu]
            ));
        }
        may_run(world, cpu)?;
    }
    for vp in world.platform.vps.into_iter().filter(|vp| *vp != CoreVp::NONE) {
        let on = world.platform.running.iter().filter(|running| **running == Some(vp)).count();
        let is_running = state.vps[vp.index()].state == RUNNING;
        if on != usize::from(is_running) {
            return Err(format!("the thread of VP {vp} runs on {on} CPUs"));
        }
    }
    Ok(())
}

/// No CPU is idle while a thread could have it: one that is READY, may use the CPU, and has above it, up to the root,
/// VPs that are READY, none of them out of budget. Which CPUs the core believes a scheduler's VP to refuse does not
/// count.
fn no_cpu_idles(world: &World, state: &Image<'_>) -> Result<(), String> {
    let head = state.head;
    let is_idle = |cpu: &usize| state.cpus[*cpu].depth == 0 && (head.offline >> cpu) & 1 == 0;
    for cpu in (0..CPUS).filter(is_idle) {
        for vp in world.platform.vps.into_iter().filter(|vp| *vp != CoreVp::NONE) {
            let may_use = (state.vps[vp.index()].usable >> cpu) & 1 == 1;
            if may_use && could_have_a_cpu(state, vp.0) {
                return Err(format!("CPU {cpu} is idle, and the thread of VP {vp}, which may use it, waits"));
            }
        }
    }
    Ok(())
}

fn could_have_a_cpu(state: &Image<'_>, vp: u32) -> bool {
    let image = &state.vps[vp as usize];
    if image.state != READY || image.is_throttled() {
        return false;
    }
    let above = &state.schedulers[image.parent as usize];
    if above.joins != 0 && above.nr_running != 0 {
        return false; // The join's child has a CPU already.
    }
    ups(state, image).any(|up| state.vps[up as usize].parent == 0 || could_have_a_cpu(state, up))
}

/// The VPs that the scheduler above a VP holds.
fn ups(state: &Image<'_>, image: &VpImage) -> impl Iterator<Item = u32> {
    let first = state.schedulers[image.parent as usize].first_up;
    let ups = std::iter::successors(Some(first), |up| Some(state.vps[*up as usize].up_next));
    ups.take_while(|up| *up != 0).take(state.vps.len())
}

/// Whether a VP, or one above it, may wait for what a process writes.
fn may_wait_for_a_process(state: &Image<'_>, vp: u32) -> bool {
    let image = &state.vps[vp as usize];
    let waits = image.is_throttled() && state.schedulers[image.parent as usize].page != 0;
    waits || (image.parent != 0 && ups(state, image).any(|up| may_wait_for_a_process(state, up)))
}

/// A scheduler with a child that is out of budget has a timer: nothing else would end that.
fn budgets_come_back(state: &Image<'_>) -> Result<(), String> {
    for (vp, image) in state.vps.iter().enumerate().filter(|(_, image)| image.is_used()) {
        let above = &state.schedulers[image.parent as usize];
        if image.is_throttled() && above.timer_at == NEVER && !may_wait_for_a_process(state, vp as u32) {
            return Err(format!("VP {vp} is out of budget, and its scheduler has no timer"));
        }
    }
    Ok(())
}

/// Where no thread runs, a thread that wants a CPU that it may use waits for a time that comes: nothing else would help
/// it.
fn nobody_waits_for_ever(world: &World, state: &Image<'_>, due: Option<Nanos>) -> Result<(), String> {
    if world.platform.running.iter().any(Option::is_some) {
        return Ok(());
    }
    let online = !state.head.offline & ((1 << CPUS) - 1);
    let waits = world.platform.vps.into_iter().find(|vp| {
        let image = &state.vps[vp.index()];
        let is_ready = *vp != CoreVp::NONE && image.state == READY && image.usable & online != 0;
        is_ready && !may_wait_for_a_process(state, vp.0)
    });
    match waits {
        Some(vp) if due.is_none() => {
            Err(format!("the thread of VP {vp} waits, no thread runs, and nothing is due"))
        }
        _ => Ok(()),
    }
}
