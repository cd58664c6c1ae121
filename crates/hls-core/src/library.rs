//! Other builds of the core, with loaded policies: shared objects with entry points that replace the built-in
//! ones, on the same domain.

use crate::policy::{PolicyInfo, PolicyTable, read_policies};
use crate::shared_object::SharedObject;
use crate::tape::Call;
use crate::{ffi, limits};
use std::fmt;
use std::fs::File;
#[cfg(unix)]
use std::os::fd::AsRawFd;
use std::path::Path;

/// A build of the core that was opened. It is closed when its last [`Core`](crate::Core) is dropped.
pub struct Library {
    table: *const ffi::Library,
    policies: PolicyTable,
    /// The shared object with `table`; never read, and closed last.
    _object: SharedObject,
    /// The file from which it was opened, if the file has no name.
    _file: Option<File>,
}

// SAFETY: everything that `table` points to is constant, and the code there has no state of its own.
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
    /// The dynamic linker refuses it, or it is not a build of the core.
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
    /// Opens a shared object. Its code then runs in this process, with all rights of the process: like a plug-in, it
    /// is trusted. So open only what was built here, from sources of the core and of policies that this user may run;
    /// nothing keeps a native policy from writing anywhere.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: &Path) -> Result<Library, OpenError> {
        // SAFETY: a build of the core, which has no initialisers; the caller opens only such builds, as the text
        // above demands.
        let object = unsafe { SharedObject::open(path) }.map_err(OpenError::NotOne)?;
        // SAFETY: the symbol has this type in `core/port/native.c`.
        let table =
            unsafe { object.symbol::<*const ffi::Library>(b"hls_library\0") }.map_err(OpenError::NotOne)?;
        // SAFETY: each table has all sizes of its version, and different versions differ in the first sizes.
        let same = unsafe { *(*table).sizes == *ffi::hls_library.sizes };
        if !same {
            return Err(OpenError::OtherVersion);
        }
        // SAFETY: a build of this very version of the core.
        let policies = unsafe { read_policies(table) }.into();
        Ok(Library { table, policies, _object: object, _file: None })
    }

    /// The same with a file without a name. The file stays open as long as the library: the dynamic linker takes a
    /// path that it has opened before for the same library, and the path of this file is its descriptor, which
    /// another file must not get.
    ///
    /// # Errors
    /// See [`OpenError`].
    #[cfg(unix)]
    pub fn open_nameless(file: File) -> Result<Library, OpenError> {
        let library = Library::open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?;
        Ok(Library { _file: Some(file), ..library })
    }

    /// All of its policies: the built-in ones, and the loaded ones.
    pub fn policies(&self) -> &PolicyTable {
        &self.policies
    }

    /// The loaded policies.
    pub fn loaded(&self) -> impl Iterator<Item = &PolicyInfo> {
        self.policies.iter().filter(|policy| policy.id >= limits::FIRST_LOADED)
    }

    /// Makes a call.
    ///
    /// # Safety
    /// `h` is a domain that no other code uses, and the call is sound.
    pub(crate) unsafe fn play(&self, h: *mut ffi::Hls, call: &mut Call) {
        // SAFETY: the caller's promise; the object is open as long as `self` lives.
        unsafe { ((*self.table).play)(h, call) }
    }
}
