//! What the engine's BPF programs tell of threads, in the order in which it happened: `struct event` of `bpf/domain.h`.

use crate::Error;
use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

/// What happened to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread came, and has the VP.
    Came,
    /// There was no room for the thread.
    Refused,
    /// The thread ended; the VP may soon be another thread's.
    Gone,
    /// The thread is being given this name, which `/proc` may not have yet.
    Renamed(Vec<u8>),
    /// The thread is in another cgroup, and so may be all threads of its process.
    Moved,
}

/// A thread and what happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// What happened.
    pub what: What,
    /// The thread's VP in the core.
    pub vp: u32,
    /// The thread's TID.
    pub tid: u32,
    /// The thread's process.
    pub tgid: u32,
}

/// The ring buffer through which BPF programs send their news.
pub struct Ring {
    ring: RingBuffer<'static>,
    came: Rc<RefCell<Vec<News>>>,
}

impl Ring {
    /// Listens to the map.
    pub fn new(map: &MapHandle) -> Result<Ring, Error> {
        let failed = |error| Error::Failed(format!("the news of threads cannot be had: {error:#}"));
        let came = Rc::new(RefCell::new(Vec::new()));
        let into = came.clone();
        let mut builder = RingBufferBuilder::new();
        let hear = move |bytes: &[u8]| {
            into.borrow_mut().extend(read(bytes));
            0
        };
        builder.add(map, hear).map_err(failed)?;
        Ok(Ring { ring: builder.build().map_err(failed)?, came })
    }

    /// A descriptor that can be read when there is news, of whatever kind; it lives as long as this.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring keeps the descriptor open until the ring is dropped, and `self` is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }

    /// All news since the last time.
    pub fn take(&mut self) -> Vec<News> {
        // An error here means that nothing came; a later call will tell.
        let _ = self.ring.consume();
        self.came.take()
    }
}

/// Reads one piece of news; `None` where its kind is not known.
fn read(bytes: &[u8]) -> Option<News> {
    let word = |at: usize| {
        let bytes = bytes.get(4 * at..4 * at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let (kind, vp, tid, tgid) = (word(0)?, word(1)?, word(2)?, word(3)?);
    let what = match kind {
        1 if vp == 0 => What::Refused,
        1 => What::Came,
        2 => What::Gone,
        3 => What::Renamed(bytes.get(16..32)?.split(|&byte| byte == 0).next()?.to_vec()),
        4 => What::Moved,
        _ => return None,
    };
    Some(News { what, vp, tid, tgid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_read() {
        let bytes = |words: [u32; 4]| words.map(u32::to_ne_bytes).concat();
        let came = read(&bytes([1, 7, 100, 99]));
        assert_eq!(came, Some(News { what: What::Came, vp: 7, tid: 100, tgid: 99 }));
        assert_eq!(read(&bytes([1, 0, 100, 99])).map(|news| news.what), Some(What::Refused));
        assert_eq!(read(&bytes([4, 7, 100, 99])).map(|news| news.what), Some(What::Moved));
        let renamed = [&bytes([3, 7, 100, 99])[..], b"new name\0of old.."].concat();
        assert_eq!(read(&renamed).map(|news| news.what), Some(What::Renamed(b"new name".to_vec())));
        assert_eq!(read(&renamed[..20]), None);
        assert_eq!(read(&bytes([9, 7, 100, 99])), None);
        assert_eq!(read(&[1, 0, 0]), None);
    }
}
