//! The machine that guarantees are derived for is ideal: its timers go off at once, and its switches and decisions cost
//! nothing. What a file states of its machine that the calculus leaves out is named here, so that a verdict can say so.
//!
//! Declared interrupts are not named: the calculus takes them off what the machine gives.

use hls_hierarchy::model::Machine;
use hls_units::Nanos;
use std::fmt;

/// What a machine does that guarantees and response times leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Timers wait for ticks, at this many a second.
    Ticks(u32),
    /// A switch to another thread costs this much CPU time, which that thread pays.
    SwitchCost(Nanos),
    /// A decision costs this much CPU time for each level of schedulers that takes part; the thread that runs then pays
    /// it.
    DecisionCost(Nanos),
}

impl LeftOut {
    /// Everything of this kind that a machine does.
    pub fn of(machine: &Machine) -> Vec<LeftOut> {
        let cost = |cost: Nanos| Some(cost).filter(|cost| *cost != Nanos::ZERO);
        let ticks = machine.tick_hz.map(LeftOut::Ticks);
        let switches = cost(machine.switch_cost).map(LeftOut::SwitchCost);
        let decisions = cost(machine.decision_cost).map(LeftOut::DecisionCost);
        [ticks, switches, decisions].into_iter().flatten().collect()
    }
}

impl fmt::Display for LeftOut {
    /// What is assumed, and what this machine does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Ticks(hz) => {
                write!(f, "timers go off at once (this machine's wait for ticks of {hz} Hz)")
            }
            LeftOut::SwitchCost(cost) => write!(f, "a switch costs nothing (this machine's: {cost})"),
            LeftOut::DecisionCost(cost) => {
                write!(f, "a decision costs nothing (this machine's: {cost} a level)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_states_is_left_out_and_nothing_else() {
        let machine = |text: &str| {
            let file = format!("machine {text}\nround-robin {{ thread \"t\"; }}\n");
            hls_hierarchy::read(file.as_bytes()).unwrap().0.machine
        };
        assert_eq!(LeftOut::of(&machine("cpus=2")), []);
        assert_eq!(LeftOut::of(&machine("switch-cost=\"0s\"")), []);
        let interrupted = "{ interrupt cpu=0 every=\"1ms\" takes=\"10us\"; }";
        assert_eq!(LeftOut::of(&machine(interrupted)), []);
        let all = machine("tick=\"100Hz\" switch-cost=\"5us\" decision-cost=\"1us\"");
        let us = Nanos::from_micros;
        assert_eq!(
            LeftOut::of(&all),
            [LeftOut::Ticks(100), LeftOut::SwitchCost(us(5)), LeftOut::DecisionCost(us(1))]
        );
    }
}
