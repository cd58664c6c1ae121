//! Time as real threads read it, and the ways to spend it: computing and waiting.
//!
//! Instants are nanoseconds of CLOCK_MONOTONIC. Computing makes no system call except to read the thread's CPU time.

use hls_units::Nanos;
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

/// Between two readings of the clock a thread counts up to this, since reading is slow on an emulated machine.
const STRIDE: u32 = 256;
/// When no more than this is left to compute, a thread reads the clock all the time. Counting up to [`STRIDE`] takes
/// less than this, even on an emulated machine.
const NEAR_END: Nanos = Nanos::from_micros(20);

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The present instant.
pub fn now() -> Nanos {
    read(ClockId::Monotonic)
}

/// The CPU time that this thread has had.
pub fn cpu_time() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

/// Computes until this much time has passed, whether the thread had a CPU all the time or not. CPU time passes no
/// faster than time: so a thread that has CPU time left to compute can spin for that long, and then see what is still
/// left.
pub fn spin(length: Nanos) {
    let end = now().saturating_add(length);
    loop {
        let left = end.saturating_sub(now());
        if left == Nanos::ZERO {
            return;
        }
        if left > NEAR_END {
            (0..STRIDE).for_each(|count| {
                black_box(count);
            });
        }
    }
}

/// Blocks while the bell still has the value `seen`, at most until the instant `until`. May return sooner: the caller
/// looks again for what it waits for.
pub fn wait(bell: &AtomicU32, seen: u32, until: Nanos) {
    // Seconds fit into the kernel's 63 bits, since there are fewer of them than nanoseconds.
    let until =
        Timespec { tv_sec: (until.0 / 1_000_000_000) as i64, tv_nsec: (until.0 % 1_000_000_000) as _ };
    // The bell was rung before, the time is over, a signal came: the caller finds out which.
    let _ = futex::wait_bitset(bell, futex::Flags::empty(), seen, Some(&until), NonZeroU32::MAX);
}

/// Rings a bell: wakes all threads that wait for it, in either process, and those that are about to wait.
pub fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    // Cannot fail: this is the address of a word.
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
