//! Other builds of the core, with loaded policies: shared objects whose entry points take the place of those
//! that are built in, over the same domain.

use crate::policy::{PolicyInfo, PolicyTable, read_policies};
use crate::tape::Call;
use crate::{ffi, limits};
use std::fmt;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// A build of the core that was opened. It goes with the last [`Core`](crate::Core) that it is used by.
pub struct Library {
    table: *const ffi::Library,
    policies: PolicyTable,
    /// The shared object in which `table` lies; never read, and closed last.
    _object: libloading::Library,
    /// The file that it was opened from, if that has no name.
    _file: Option<File>,
}

// SAFETY: all that `table` leads to is constant, and the code there has no state of its own.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.loaded().map(|policy| policy.name)).finish()
    }
}

/// Why a file could not be opened as a build of the core.
#[derive(Debug)]
pub enum OpenError {
    /// The dynamic linker does not take it, or it is something else.
    NotOne(String),
    /// It is a build of another version of the core.
    OtherVersion,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NotOne(why) => write!(f, "it is no build of the core: {why}"),
            OpenError::OtherVersion => {
                f.write_str("it was built from another version of the core than this program; build it anew")
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl Library {
    /// Opens a shared object, whose code then runs in this process with all its rights: like that of a plug-in it is
    /// believed to be what it says. So open what was built here, from sources of the core and of policies that this
    /// user may run; nothing keeps a native policy from writing where it likes.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path) -> Result<Library, OpenError> {
        let not_one = |error: libloading::Error| OpenError::NotOne(error.to_string());
        // SAFETY: a build of the core, which has no initialisers; that it is one is what this function's text asks for.
        let object = unsafe { libloading::Library::new(path) }.map_err(not_one)?;
        // SAFETY: the symbol's type is that of `core/port/native.c`.
        let table = *unsafe { object.get::<*const ffi::Library>(b"hls_library\0") }.map_err(not_one)?;
        // SAFETY: both tables have as many sizes as the version has; the first of them differ where versions do.
        let same = unsafe { *(*table).sizes == *ffi::hls_library.sizes };
        if !same {
            return Err(OpenError::OtherVersion);
        }
        // SAFETY: a build of this very version of the core.
        let policies = unsafe { read_policies(table) }.into();
        Ok(Library { table, policies, _object: object, _file: None })
    }

    /// The same with a file that has no name, and that stays open as long as what was opened: the dynamic linker takes
    /// what has the path of something that is open for that, and the path of this one is its descriptor.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_nameless(file: File) -> Result<Library, OpenError> {
        let library = Library::open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?;
        Ok(Library { _file: Some(file), ..library })
    }

    /// All of its policies: those that are built in, and those that were loaded.
    pub fn policies(&self) -> &PolicyTable {
        &self.policies
    }

    /// Those that were loaded.
    pub fn loaded(&self) -> impl Iterator<Item = &PolicyInfo> {
        self.policies.iter().filter(|policy| policy.id >= limits::FIRST_LOADED)
    }

    /// Makes a call.
    ///
    /// # Safety
    /// `h` is a domain that nobody else uses, and the call is sound.
    pub(crate) unsafe fn play(&self, h: *mut ffi::Hls, call: &mut Call) {
        // SAFETY: the caller's promise; the object is open as long as `self` lives.
        unsafe { ((*self.table).play)(h, call) }
    }
}
