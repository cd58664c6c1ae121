//! The `machine` node: the CPUs, ticks, costs and interrupts of the machine that a hierarchy runs on.

use crate::diagnostic::{Diagnostic, Sink};
use crate::model::{Interrupt, Machine};
use crate::properties::Properties;
use crate::queues::Queues;
use crate::syntax::Node;
use crate::value::{self, LONGEST, SHORTEST};
use hls_core::limits::MAX_CPUS;
use hls_units::Nanos;

/// How many CPUs the machine of a hierarchy has, as far as the caller of the reader decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// This many, whatever the file says.
    Exactly(u16),
    /// This many if the file does not say.
    UnlessStated(u16),
}

/// The machine of a file that says nothing but its CPUs: precise timers, no costs, nothing stolen.
const DEFAULT: Machine = Machine {
    cpus: 1,
    stated_cpus: None,
    tick_hz: None,
    switch_cost: Nanos::ZERO,
    decision_cost: Nanos::ZERO,
    interrupts: Vec::new(),
};

/// Reads the `machine` node, if there is one, and the `interrupt` nodes in it.
pub(crate) fn read(
    node: Option<&Node>,
    interrupts: &[&Node],
    count: Cpus,
    queues: &mut Queues,
    sink: &mut Sink,
) -> Machine {
    let (Cpus::Exactly(preset) | Cpus::UnlessStated(preset)) = count;
    let Some(node) = node else {
        return Machine { cpus: preset, ..DEFAULT };
    };
    let mut properties = Properties::new(node, "`machine`", sink);
    let stated_cpus =
        properties.read("cpus", sink, |p| value::whole(p, 1..=MAX_CPUS as u64)).map(|cpus| cpus as u16);
    let tick_hz = properties.read("tick", sink, value::tick);
    let switch_cost = properties.read("switch-cost", sink, |p| value::time(p, Nanos::ZERO..=LONGEST));
    let decision_cost = properties.read("decision-cost", sink, |p| value::time(p, Nanos::ZERO..=LONGEST));
    properties.finish(sink);
    // If the file's number of CPUs was refused, nothing else in the file is refused because of it.
    let otherwise = match node.is_whole && node.property("cpus").is_none() {
        true => preset,
        false => MAX_CPUS as u16,
    };
    let cpus = match count {
        Cpus::Exactly(cpus) => cpus,
        Cpus::UnlessStated(_) => stated_cpus.unwrap_or(otherwise),
    };
    Machine {
        cpus,
        stated_cpus,
        tick_hz,
        switch_cost: switch_cost.unwrap_or(DEFAULT.switch_cost),
        decision_cost: decision_cost.unwrap_or(DEFAULT.decision_cost),
        interrupts: interrupts.iter().filter_map(|node| interrupt(node, cpus, queues, sink)).collect(),
    }
}

/// Reads an `interrupt` node: a source of stolen time, which must not take all of the CPU.
fn interrupt(node: &Node, cpus: u16, queues: &mut Queues, sink: &mut Sink) -> Option<Interrupt> {
    let mut properties = Properties::new(node, "`interrupt`", sink);
    let cpu = properties.require("cpu", "0", sink, |p| value::whole(p, 0..=u64::from(cpus) - 1));
    let every = properties.require("every", "\"1ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let takes = properties.require("takes", "\"10us..50us\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let to = properties.read("to", sink, |p| queues.fed(p));
    let next = properties.read("next", sink, |p| queues.fed(p));
    properties.finish(sink);
    let (cpu, every, takes) = (cpu?, every?, takes?);
    if takes.max >= every.min {
        let found = format!("one that may take {} every {}", takes.max, every.min);
        sink.add(Diagnostic::error(node.span(), "`interrupt`", found, "`takes` shorter than `every`"));
        return None;
    }
    Some(Interrupt { cpu: cpu as u16, every, takes, to, next })
}
