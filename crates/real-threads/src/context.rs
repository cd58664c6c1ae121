//! What all threads of the process have in common: their orders, the memory that they share with the starter, their
//! mutexes, conditions and barriers, and the CPUs that they may use.

use crate::area::Area;
use crate::orders::Orders;
use crate::sharing::Sharing;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::io;

/// What all threads of the process have in common.
pub struct ProcessContext<'a> {
    pub orders: &'a Orders,
    pub area: &'a Area,
    pub sharing: Sharing<'a>,
    pub cpus: Cpus,
}

/// The CPUs that the run may use.
pub struct Cpus {
    pub allowed: CpuSet,
}

impl Cpus {
    /// The first `count` of the CPUs that this process may use.
    pub fn first(count: u16) -> io::Result<Cpus> {
        let mine = sched_getaffinity(None)?;
        let mut allowed = CpuSet::new();
        let numbers = (0..CpuSet::MAX_CPU).filter(|&cpu| mine.is_set(cpu));
        numbers.take(count.into()).for_each(|cpu| allowed.set(cpu));
        Ok(Cpus { allowed })
    }

    /// The machine's CPUs for a mask of CPUs of the hierarchy, a bit each: CPU 0 of the hierarchy is the first CPU that
    /// the run may use, and so on.
    pub fn of(&self, mask: u64) -> CpuSet {
        let mut set = CpuSet::new();
        let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| self.allowed.is_set(cpu));
        let chosen = allowed.zip(0..64).filter(|(_, number)| mask & 1 << number != 0);
        chosen.for_each(|(cpu, _)| set.set(cpu));
        set
    }
}
