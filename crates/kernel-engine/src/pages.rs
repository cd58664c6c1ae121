//! The pages, in the kernel, of user-level schedulers (`include/hls_pages.h`). Each page is a map of its own. A
//! process that gets its descriptor maps it into memory; BPF programs find it by the number of the scheduler's pages,
//! in a map of maps (`core/port/pages.h`).
//!
//! No process can write what the engine writes: that map is frozen before any process gets it. From then on the
//! kernel refuses all writes except by BPF programs.

use crate::Error;
use crate::object::Loaded;
use hls_core::pages::{KernelPage, UserPage, VERSION};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, libbpf_sys};
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The pages of one scheduler, to be handed to the process that runs it.
pub struct Pages {
    /// What the engine writes: [`KernelPage`]. It can be mapped only for reading.
    pub kernel: OwnedFd,
    /// What the process writes: [`UserPage`].
    pub user: OwnedFd,
}

impl Pages {
    /// What the engine has written up to now.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn read_kernel(&self) -> Result<KernelPage, Error> {
        // SAFETY: the map's value is a `struct hls_kernel_page`, of which any bytes are a [`KernelPage`].
        unsafe { read(&self.kernel) }
    }

    /// What the process has written up to now.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn read_user(&self) -> Result<UserPage, Error> {
        // SAFETY: as above, with `struct hls_user_page`.
        unsafe { read(&self.user) }
    }
}

/// # Safety
/// The descriptor belongs to a page's map, the map's value has the size of `T`, and any bytes are a valid `T`.
unsafe fn read<T>(page: &OwnedFd) -> Result<T, Error> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: the kernel writes as many bytes as the map's value has: all of `value`.
    match unsafe {
        libbpf_sys::bpf_map_lookup_elem(page.as_raw_fd(), ONLY.as_ptr().cast(), value.as_mut_ptr().cast())
    } {
        // SAFETY: the kernel has written it.
        0 => Ok(unsafe { value.assume_init() }),
        error => Err(cannot("be read", libbpf_rs::Error::from_raw_os_error(-error))),
    }
}

/// Where the programs of an object find the pages.
pub(crate) struct PageMaps {
    kernel: MapHandle,
    user: MapHandle,
}

impl PageMaps {
    /// The page maps of a loaded object. No scheduler has pages there yet.
    pub fn of(loaded: &Loaded) -> Result<PageMaps, Error> {
        Ok(PageMaps { kernel: loaded.map("kernel_pages")?, user: loaded.map("user_pages")? })
    }

    /// Makes the pages of this number, from 1 on, and replaces older ones: a process keeps old pages that it has
    /// mapped, but they have no effect any more. If this fails, there are no pages.
    pub fn make(&self, number: NonZero<u8>) -> Result<Pages, Error> {
        let made = self.try_to_make(number);
        if made.is_err() {
            self.remove(number)?;
        }
        made
    }

    fn try_to_make(&self, number: NonZero<u8>) -> Result<Pages, Error> {
        let kernel = page("hls_kernel_page", size_of::<KernelPage>())?;
        let mut first = [0; size_of::<KernelPage>()];
        first[..size_of_val(&VERSION)].copy_from_slice(&VERSION.to_ne_bytes());
        kernel.update(&ONLY, &first, MapFlags::ANY).map_err(|error| cannot("be written", error))?;
        kernel.freeze().map_err(|error| cannot("be frozen", error))?;
        let user = page("hls_user_page", size_of::<UserPage>())?;
        for (pages, page) in [(&self.kernel, &kernel), (&self.user, &user)] {
            let descriptor = page.as_fd().as_raw_fd().to_ne_bytes();
            let placed = pages.update(&key(number), &descriptor, MapFlags::ANY);
            placed.map_err(|error| cannot("be given to the scheduler", error))?;
        }
        let owned =
            |page: BorrowedFd| page.try_clone_to_owned().map_err(|error| cannot("be had", error.into()));
        Ok(Pages { kernel: owned(kernel.as_fd())?, user: owned(user.as_fd())? })
    }

    /// Removes the pages of this number.
    pub fn remove(&self, number: NonZero<u8>) -> Result<(), Error> {
        [&self.kernel, &self.user].into_iter().try_for_each(|pages| match pages.delete(&key(number)) {
            Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                Err(cannot("be taken away", error))
            }
            _ => Ok(()),
        })
    }
}

/// The one key of a page's map.
const ONLY: [u8; 4] = 0_u32.to_ne_bytes();

/// The key of the pages of this number in a map of maps.
fn key(number: NonZero<u8>) -> [u8; 4] {
    u32::from(number.get()).to_ne_bytes()
}

/// A map of one value, which is a page: zeroes.
fn page(name: &str, bytes: usize) -> Result<MapHandle, Error> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        map_flags: libbpf_sys::BPF_F_MMAPABLE,
        ..Default::default()
    };
    let made = MapHandle::create(MapType::Array, Some(name), ONLY.len() as u32, bytes as u32, 1, &options);
    made.map_err(|error| cannot("be made", error))
}

fn cannot(what: &str, error: libbpf_rs::Error) -> Error {
    Error::Failed(format!("a page of a scheduler cannot {what}: {error:#}"))
}
