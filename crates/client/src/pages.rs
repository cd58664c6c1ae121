//! The pages of a user-level scheduler (`include/hls_pages.h`), on their way to its process.

use rustix::io::{FdFlags, fcntl_setfd};
use std::io;
use std::os::fd::OwnedFd;

/// The environment variable that gives an agent's process its scheduler: `NAME:KERNEL_PAGE:USER_PAGE`. The
/// descriptors follow the last two colons.
pub const SCHEDULER_VARIABLE: &str = "HLS_SCHEDULER";

/// The environment variable that says how many CPUs that scheduler may have at once.
pub const WIDTH_VARIABLE: &str = "HLS_WIDTH";

/// The descriptors of the two pages, to be mapped.
#[derive(Debug)]
pub struct Pages {
    /// The page that only the engine can write.
    pub kernel: OwnedFd,
    /// The page that the process writes.
    pub user: OwnedFd,
}

impl Pages {
    /// Lets the programs that this process starts, or becomes, inherit the descriptors, as long as the process has
    /// them itself. Returns the environment variables for the agent of the scheduler of this name.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn inherited(&self, scheduler: &str, width: u16) -> io::Result<[(&'static str, String); 2]> {
        use std::os::fd::AsRawFd;
        let Pages { kernel, user } = self;
        for page in [kernel, user] {
            fcntl_setfd(page, FdFlags::empty())?;
        }
        let name = format!("{scheduler}:{}:{}", kernel.as_raw_fd(), user.as_raw_fd());
        Ok([(SCHEDULER_VARIABLE, name), (WIDTH_VARIABLE, width.to_string())])
    }
}
