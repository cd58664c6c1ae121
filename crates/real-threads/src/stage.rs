//! What all threads of the process of real threads see: their orders, the memory that they share with the process
//! that gave them, and the CPUs that they may use.

use crate::area::Area;
use crate::orders::Orders;
use crate::sharing::Sharing;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::io;

/// What all threads of the process see.
pub struct Stage<'a> {
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
    /// The first so many of those that this process may use.
    pub fn first(count: u16) -> io::Result<Cpus> {
        let mine = sched_getaffinity(None)?;
        let mut allowed = CpuSet::new();
        let numbers = (0..CpuSet::MAX_CPU).filter(|&cpu| mine.is_set(cpu));
        numbers.take(count.into()).for_each(|cpu| allowed.set(cpu));
        Ok(Cpus { allowed })
    }

    /// Those of a mask, a bit each. The first that the run may use is CPU 0 of its hierarchy.
    pub fn of(&self, mask: u64) -> CpuSet {
        let mut set = CpuSet::new();
        let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| self.allowed.is_set(cpu));
        let chosen = allowed.zip(0..64).filter(|(_, number)| mask & 1 << number != 0);
        chosen.for_each(|(cpu, _)| set.set(cpu));
        set
    }
}
