//! A world as a model: which events may happen in it, what must hold after each, and which of its states are alike.

use crate::scheduling::hierarchies::{CPUS, THREADS};
use crate::scheduling::pages::Written;
use crate::scheduling::world::{Event, World, WorldState};
use crate::scheduling::{normal, promises};
use crate::states::{Digest, Model};
use hls_core::{CoreVp, Image, policies};

impl Model for World {
    type State = WorldState;
    type Step = Event;

    fn state(&self) -> WorldState {
        WorldState { core: self.core.snapshot(), platform: self.platform }
    }

    fn state_into(&self, other: &mut WorldState) {
        self.core.snapshot_into(&mut other.core);
        other.platform = self.platform;
    }

    fn set(&mut self, state: &WorldState) {
        self.core.restore(&state.core);
        self.platform = state.platform;
    }

    fn key(&mut self) -> u128 {
        let mut digest = Digest::default();
        let running = self.platform.running.map(Option::unwrap_or_default);
        self.platform.vps.into_iter().chain(running).for_each(|number| digest.add(number.0.into()));
        add_core(&mut digest, &self.core.image());
        digest.key()
    }

    fn list_events(&mut self, events: &mut Vec<Event>) {
        (0..THREADS).for_each(|thread| self.list_for_thread(thread, events));
        if self.platform.vps[0] != CoreVp::NONE {
            events.push(Event::Tell(0));
        }
        for place in 0..self.schedulers.len() {
            let policy = self.policy(place);
            if !policy.properties.joins && policy.name != "round-robin" {
                events.push(Event::Replace(place));
            }
            let written = Written::list(&self.core, self.schedulers[place]);
            events.extend(written.map(|written| Event::Write(place, written)));
        }
        let offline: Vec<usize> = self.core.offline().map(usize::from).collect();
        let change = |cpu| if offline.contains(&cpu) { Event::Online(cpu) } else { Event::Offline(cpu) };
        events.extend((0..CPUS).map(change));
        events.push(Event::Tick);
        if self.due().is_some() {
            events.extend([Event::Due, Event::Late]);
        }
    }

    fn list_due(&mut self, steps: &mut Vec<Event>) {
        let kick = self.core.kick();
        steps.extend((0..CPUS).filter(|cpu| (kick >> cpu) & 1 == 1).map(Event::Decide));
    }

    fn describe(&self, event: Event) -> String {
        event.to_string()
    }

    fn perform(&mut self, event: Event) -> Result<(), String> {
        let before = promises::Before::of(self);
        let refused = self.carry_out(event).err();
        before.compare(self, event, refused)
    }

    fn check(&mut self) -> Result<(), String> {
        if self.core.kick() != 0 {
            return Ok(()); // The invariants hold when no decision is due: the steps lead there.
        }
        promises::check(self)
    }
}

/// Adds a core with the built-in policies to a key.
pub(crate) fn add_core(digest: &mut Digest, state: &Image<'_>) {
    let name = |number| policies().iter().find(|policy| policy.id == number).map_or("", |policy| policy.name);
    normal::add(digest, state, name);
}

/// Lets every thread want a CPU, and every CPU decide.
///
/// # Errors
/// What is broken meanwhile.
pub fn wake_all(world: &mut World) -> Result<(), String> {
    for thread in
        (0..THREADS).filter(|thread| world.platform.vps[*thread] != CoreVp::NONE).collect::<Vec<_>>()
    {
        world.perform(Event::Request(thread))?;
        loop {
            let mut due = vec![];
            world.list_due(&mut due);
            let Some(step) = due.first() else { break };
            world.perform(*step)?;
        }
    }
    Ok(())
}
