//! Time as the threads of a load see it, and the ways to spend it: computing and waiting.
//!
//! Instants are nanoseconds of CLOCK_MONOTONIC. Computing takes no system call but for reading the thread's CPU time.

use hls_units::Nanos;
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

/// Between two looks at the clock a thread counts up to this. Reading the clock is slow where the machine is emulated.
const STRIDE: u32 = 256;
/// What is left to compute when a thread begins to look all the time: a stride is shorter, even emulated.
const NEAR: Nanos = Nanos::from_micros(20);

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// This instant.
pub fn now() -> Nanos {
    read(ClockId::Monotonic)
}

/// The CPU time that this thread has had.
pub fn cpu_time() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

/// Keeps the CPU, when the thread has it, until so much time has passed. CPU time passes no faster than that, so what
/// is left of some CPU time can be spent like this, and then looked at again.
pub fn spin(length: Nanos) {
    let end = now().saturating_add(length);
    loop {
        let left = end.saturating_sub(now());
        if left == Nanos::ZERO {
            return;
        }
        if left > NEAR {
            (0..STRIDE).for_each(|count| {
                black_box(count);
            });
        }
    }
}

/// Blocks while the bell shows what was `heard` of it, until an instant at most. May return sooner: look again.
pub fn wait(bell: &AtomicU32, heard: u32, until: Nanos) {
    // The kernel takes seconds in 63 bits, and an instant that far away is never.
    let until =
        Timespec { tv_sec: (until.0 / 1_000_000_000) as i64, tv_nsec: (until.0 % 1_000_000_000) as _ };
    // It was rung before, the time is over, a signal came: all of these are for the caller to find out.
    let _ = futex::wait_bitset(bell, futex::Flags::empty(), heard, Some(&until), NonZeroU32::MAX);
}

/// Rings a bell: wakes all that wait for it, in whatever process, and those that are about to.
pub fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    // Fails for nobody: the address is that of a word.
    let _ = futex::wake(bell, futex::Flags::empty(), i32::MAX as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_time_and_a_spin_too() {
        let bell = AtomicU32::new(0);
        let begun = now();
        wait(&bell, 0, begun + Nanos::from_millis(2));
        assert!(now() >= begun + Nanos::from_millis(2));
        wait(&bell, 1, Nanos::MAX);
        let begun = now();
        spin(Nanos::from_micros(300));
        assert!(now() >= begun + Nanos::from_micros(300));
    }

    #[test]
    fn cpu_time_is_no_more_than_time() {
        let (begun, had) = (now(), cpu_time());
        spin(Nanos::from_millis(1));
        let had = cpu_time() - had;
        assert!(had > Nanos::ZERO && had <= now() - begun);
    }
}
