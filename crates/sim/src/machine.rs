//! The machine: its CPUs with what they run, and its clock ticks.

use hls_units::Nanos;

/// A CPU, the thread that it runs and the interrupt that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    /// The number of the thread that the CPU runs.
    pub current: Option<u32>,
    /// From when on the CPU's time goes into the thread's program: later than now while the thread pays for a switch.
    pub progress_from: Nanos,
    /// The interrupt that the CPU is in: from when on it is not accounted for yet, and when it ends.
    pub interrupted: Option<(Nanos, Nanos)>,
    /// When the first slice on the CPU ends: the core's answer after the last decision.
    pub expires_at: Nanos,
}

impl Cpu {
    /// A CPU that has nothing to do.
    pub const IDLE: Cpu =
        Cpu { current: None, progress_from: Nanos::ZERO, interrupted: None, expires_at: Nanos::MAX };
}

/// The first tick at or after an instant; the instant itself where timers are precise, without `tick_hz`.
pub fn on_tick(tick_hz: Option<u32>, at: Nanos) -> Nanos {
    const SECOND: u128 = 1_000_000_000;
    let Some(hz) = tick_hz else { return at };
    if at == Nanos::MAX {
        return at;
    }
    let hz = u128::from(hz);
    let tick = (u128::from(at.0) * hz).div_ceil(SECOND);
    Nanos(u64::try_from(tick * SECOND / hz).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_round_up() {
        assert_eq!(on_tick(None, Nanos(5)), Nanos(5));
        assert_eq!(on_tick(Some(1000), Nanos(0)), Nanos(0));
        assert_eq!(on_tick(Some(1000), Nanos(1)), Nanos(1_000_000));
        assert_eq!(on_tick(Some(1000), Nanos(1_000_000)), Nanos(1_000_000));
        assert_eq!(on_tick(Some(1024), Nanos(10_000_000)), Nanos(10_742_187));
        assert_eq!(on_tick(Some(1024), Nanos(10_742_187)), Nanos(10_742_187));
        assert_eq!(on_tick(Some(1024), Nanos::MAX), Nanos::MAX);
    }
}
