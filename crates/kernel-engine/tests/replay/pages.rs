//! What processes can do with the pages that they get: map the user page for writing, and the kernel page only for
//! reading.

use super::replay;
use hls_core::pages::{UserPage, VERSION};
use libbpf_rs::libbpf_sys;
use std::ffi::{c_int, c_void};
use std::io;
use std::num::NonZero;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

unsafe extern "C" {
    fn mmap(at: *mut c_void, bytes: usize, may: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    fn mprotect(at: *mut c_void, bytes: usize, may: c_int) -> c_int;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
}

const PAGE: usize = 4096;
const READ: c_int = 1;
const WRITE: c_int = 2;
const SHARED: c_int = 1;

/// A page that is mapped.
struct Mapped(*mut c_void);

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the mapping any more.
        unsafe { munmap(self.0, PAGE) };
    }
}

fn map(page: &OwnedFd, may: c_int) -> Result<Mapped, io::ErrorKind> {
    // SAFETY: a new mapping, at an address that the system chooses.
    let at = unsafe { mmap(ptr::null_mut(), PAGE, may, SHARED, page.as_raw_fd(), 0) };
    if at.addr() == usize::MAX { Err(io::Error::last_os_error().kind()) } else { Ok(Mapped(at)) }
}

#[test]
fn what_the_engine_writes_no_process_can_write() {
    let Some(replay) = replay() else { return };
    let kernel = &replay.pages(NonZero::<u8>::MIN).kernel;
    assert_eq!(map(kernel, READ | WRITE).err(), Some(io::ErrorKind::PermissionDenied));
    let page = map(kernel, READ).unwrap();
    // SAFETY: the first word of the page; programs write it before any process has the page.
    assert_eq!(unsafe { page.0.cast::<u64>().read_volatile() }, VERSION);
    // SAFETY: changes the rights of the mapping, and nothing refers to it.
    assert_eq!(unsafe { mprotect(page.0, PAGE, READ | WRITE) }, -1);
    let (key, value) = (0_u32, [0_u8; PAGE]);
    // SAFETY: key and value are as long as the map's, or longer.
    let written = unsafe {
        libbpf_sys::bpf_map_update_elem(kernel.as_raw_fd(), (&raw const key).cast(), value.as_ptr().cast(), 0)
    };
    assert_eq!(io::Error::from_raw_os_error(-written).kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(replay.pages(NonZero::<u8>::MIN).read_kernel().unwrap().version, VERSION);
}

#[test]
fn what_a_process_writes_is_there() {
    let Some(replay) = replay() else { return };
    let pages = replay.pages(NonZero::<u8>::MIN);
    let page = map(&pages.user, READ | WRITE).unwrap();
    // SAFETY: the page is a `struct hls_user_page`, and nothing refers to it.
    unsafe { (*page.0.cast::<UserPage>()).urgency[7] = 5 };
    assert_eq!(pages.read_user().unwrap().urgency[7], 5);
}
