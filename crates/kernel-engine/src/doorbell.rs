//! The doorbell with which the engine's BPF programs wake this process: a ring buffer with empty entries. The events
//! themselves are in the arena ([`crate::domain`]), so that none is lost however many come at once.

use crate::Error;
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use std::os::fd::BorrowedFd;

/// The doorbell.
pub struct Doorbell {
    ring: RingBuffer<'static>,
}

impl Doorbell {
    /// The doorbell with this map.
    pub fn new(map: &MapHandle) -> Result<Doorbell, Error> {
        let failed = |error| Error::Failed(format!("the events of threads cannot be waited for: {error:#}"));
        let mut builder = RingBufferBuilder::new();
        builder.add(map, |_| 0).map_err(failed)?;
        Ok(Doorbell { ring: builder.build().map_err(failed)? })
    }

    /// A descriptor that is readable when the bell has rung; it lives as long as this.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring has it open until it is dropped, and `self` is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }

    /// Resets the bell. To be called before the arena is read: later events ring again.
    pub fn silence(&self) {
        // An error here means that the bell has not rung.
        let _ = self.ring.consume();
    }
}
