//! Shared objects, opened by the dynamic linker. Where there is none, as in WebAssembly, none can be opened.

use std::path::Path;

/// A shared object that was opened; closed when dropped.
pub(crate) struct SharedObject {
    #[cfg(unix)]
    object: libloading::Library,
    #[cfg(not(unix))]
    none: std::convert::Infallible,
}

impl SharedObject {
    /// Opens a shared object.
    ///
    /// # Errors
    /// The message of the dynamic linker.
    ///
    /// # Safety
    /// Its initialisers run in this process, and may do anything.
    #[cfg(unix)]
    pub(crate) unsafe fn open(path: &Path) -> Result<SharedObject, String> {
        // SAFETY: the caller's promise.
        let object = unsafe { libloading::Library::new(path) }.map_err(in_words)?;
        Ok(SharedObject { object })
    }

    /// The value of a symbol; its name ends in a NUL.
    ///
    /// # Errors
    /// The message of the dynamic linker.
    ///
    /// # Safety
    /// The symbol has this type. The value is used while this object lives.
    #[cfg(unix)]
    pub(crate) unsafe fn symbol<T: Copy>(&self, name: &[u8]) -> Result<T, String> {
        // SAFETY: the caller's promise.
        unsafe { self.object.get::<T>(name) }.map(|symbol| *symbol).map_err(in_words)
    }

    #[cfg(not(unix))]
    pub(crate) unsafe fn open(_path: &Path) -> Result<SharedObject, String> {
        Err("this machine has no dynamic linker".into())
    }

    #[cfg(not(unix))]
    pub(crate) unsafe fn symbol<T: Copy>(&self, _name: &[u8]) -> Result<T, String> {
        match self.none {}
    }
}

#[cfg(unix)]
fn in_words(error: libloading::Error) -> String {
    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
}
