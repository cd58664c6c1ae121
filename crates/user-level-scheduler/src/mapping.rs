//! Memory that the engine and this process share, by descriptors that this process was started with. The only file of
//! the crate with unsafe code: no crate offers a mapping of memory that others write as a safe call.

use crate::pages::{KernelPage, Pages, UserPage};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::os::fd::RawFd;
use std::ptr;

/// Maps the pages for as long as the process lives. They are words with any values, which are read and written by
/// atomic operations only: so whatever the descriptors are, the worst outcome is wrong words, or a signal where a file
/// is too short.
pub(crate) fn map(kernel: RawFd, user: RawFd) -> Result<Pages<'static>, Errno> {
    let kernel = map_words::<KernelPage>(kernel, ProtFlags::READ)?;
    let user = map_words::<UserPage>(user, ProtFlags::READ | ProtFlags::WRITE)?;
    Ok(Pages { kernel, user })
}

/// `T` is an array of atomic words.
fn map_words<T>(descriptor: RawFd, protection: ProtFlags) -> Result<&'static T, Errno> {
    if descriptor < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: it is not -1, and it is used during this call only, which fails if it is not open.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    // SAFETY: new memory, which nothing in this process refers to yet.
    let memory =
        unsafe { mmap(ptr::null_mut(), size_of::<T>(), protection, MapFlags::SHARED, descriptor, 0) }?;
    // SAFETY: as large as `T`, aligned to a page, never unmapped; atomic words are valid with any value, and may
    // change while they are referred to. Words of memory for reading are only loaded.
    Ok(unsafe { &*memory.cast::<T>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::Ordering;

    /// A file in memory, in place of a page of the kernel.
    fn page() -> File {
        let file = memfd_create("page", MemfdFlags::CLOEXEC).expect("a kernel with memfd");
        ftruncate(&file, 4096).expect("it is for writing");
        file.into()
    }

    #[test]
    fn both_sides_see_the_words() {
        let (kernel, user) = (page(), page());
        let pages = map(kernel.as_raw_fd(), user.as_raw_fd()).expect("files in memory can be mapped");
        kernel.write_all_at(&7_u64.to_ne_bytes(), 8).expect("it is for writing");
        assert_eq!(pages.events(), 7);
        pages.user[2].store(9, Ordering::Relaxed);
        let mut word = [0; 8];
        user.read_exact_at(&mut word, 16).expect("it is for reading");
        assert_eq!(u64::from_ne_bytes(word), 9);
    }

    #[test]
    fn what_is_no_page_is_refused() {
        let (kernel, (reader, _writer)) = (page(), std::io::pipe().expect("there are pipes"));
        assert_eq!(map(-1, kernel.as_raw_fd()).unwrap_err(), Errno::BADF);
        assert_eq!(map(kernel.as_raw_fd(), reader.as_raw_fd()).unwrap_err(), Errno::ACCESS);
        assert_eq!(map(reader.as_raw_fd(), kernel.as_raw_fd()).unwrap_err(), Errno::NODEV);
    }
}
