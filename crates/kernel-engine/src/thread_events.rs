//! The events of threads that the engine's BPF programs report, in the order in which they happened: `struct event` of
//! `bpf/domain.h`.

use crate::Error;
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

/// What happened to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadEventKind {
    /// It is new, and has the VP.
    New,
    /// There was no room for it.
    Refused,
    /// It ended; the VP may be another's soon.
    Gone,
    /// It is being given this name, which `/proc` may not have yet.
    Renamed(Vec<u8>),
    /// It is in another cgroup, and so may be all threads of its process.
    Moved,
}

/// An event of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadEvent {
    /// What happened.
    pub kind: ThreadEventKind,
    /// Its VP in the core.
    pub vp: u32,
    /// Its TID.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
}

/// The ring buffer in which the BPF programs leave the events.
pub struct EventRing {
    ring: RingBuffer<'static>,
    unread: Rc<RefCell<Vec<ThreadEvent>>>,
}

impl EventRing {
    /// Reads from the map of that ring buffer.
    pub fn new(map: &MapHandle) -> Result<EventRing, Error> {
        let failed = |error| Error::Failed(format!("the events of threads cannot be read: {error:#}"));
        let unread = Rc::new(RefCell::new(Vec::new()));
        let into = unread.clone();
        let mut builder = RingBufferBuilder::new();
        let add = move |bytes: &[u8]| {
            into.borrow_mut().extend(read(bytes));
            0
        };
        builder.add(map, add).map_err(failed)?;
        Ok(EventRing { ring: builder.build().map_err(failed)?, unread })
    }

    /// A descriptor that can be read when there is an event, of whatever kind; it lives as long as this.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring has it open until it is dropped, and `self` is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }

    /// All events since the last time.
    pub fn take(&mut self) -> Vec<ThreadEvent> {
        // An error here means that there is no event; a later call reads those that come.
        let _ = self.ring.consume();
        self.unread.take()
    }
}

/// An event from its bytes, if its kind is known.
fn read(bytes: &[u8]) -> Option<ThreadEvent> {
    let word = |at: usize| {
        let bytes = bytes.get(4 * at..4 * at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let (number, vp, tid, tgid) = (word(0)?, word(1)?, word(2)?, word(3)?);
    let kind = match number {
        1 if vp == 0 => ThreadEventKind::Refused,
        1 => ThreadEventKind::New,
        2 => ThreadEventKind::Gone,
        3 => ThreadEventKind::Renamed(bytes.get(16..32)?.split(|&byte| byte == 0).next()?.to_vec()),
        4 => ThreadEventKind::Moved,
        _ => return None,
    };
    Some(ThreadEvent { kind, vp, tid, tgid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read() {
        let bytes = |words: [u32; 4]| words.map(u32::to_ne_bytes).concat();
        let new = read(&bytes([1, 7, 100, 99]));
        assert_eq!(new, Some(ThreadEvent { kind: ThreadEventKind::New, vp: 7, tid: 100, tgid: 99 }));
        assert_eq!(read(&bytes([1, 0, 100, 99])).map(|event| event.kind), Some(ThreadEventKind::Refused));
        assert_eq!(read(&bytes([4, 7, 100, 99])).map(|event| event.kind), Some(ThreadEventKind::Moved));
        let renamed = [&bytes([3, 7, 100, 99])[..], b"new name\0of old.."].concat();
        assert_eq!(
            read(&renamed).map(|event| event.kind),
            Some(ThreadEventKind::Renamed(b"new name".to_vec()))
        );
        assert_eq!(read(&renamed[..20]), None);
        assert_eq!(read(&bytes([9, 7, 100, 99])), None);
        assert_eq!(read(&[1, 0, 0]), None);
    }
}
