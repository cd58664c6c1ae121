//! The program of constraint.c in Rust. The crate `hls-control` asks the control server; messages to a policy are a
//! system call that has no safe form in Rust, so they go through C:
//!
//!     cc -Iinclude -c examples/hls_ffi.c -o hls_ffi.o
//!     rustc --edition 2024 -C link-arg=hls_ffi.o examples/constraint.rs

use std::ffi::c_int;
use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

// SAFETY: these are the functions of hls_ffi.c, which keep no pointer.
unsafe extern "C" {
    /// A file descriptor for messages, or -1 and errno.
    safe fn hls_ffi_messenger() -> c_int;
    /// Sends a message of up to four values; the policy's answer, or -1 and errno.
    safe fn hls_ffi_tell(messenger: c_int, number: u32, values: &[u64; 4]) -> i64;
}

const MS: u64 = 1_000_000;

/// The messages of `rialto`, in the order of `hls policies`.
const BEGIN: u32 = 0;
const END: u32 = 1;

fn tell(messenger: c_int, number: u32, values: [u64; 4]) -> Result<i64, Error> {
    match hls_ffi_tell(messenger, number, &values) {
        -1 => Err(Error::last_os_error()),
        answer => Ok(answer),
    }
}

/// The work of a frame, some 10 ms of it.
fn work() {
    (0..2_000_000).fold(1_u64, |a, n| std::hint::black_box(a.rotate_left(7) ^ n));
}

fn main() -> Result<(), Error> {
    let frames: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let messenger = hls_ffi_messenger();
    if messenger < 0 {
        return Err(Error::last_os_error());
    }
    let (mut done, mut late, mut left_out) = (0, 0, 0);
    let begin = Instant::now();
    for frame in 0..frames {
        let at = begin + Duration::from_millis(40) * frame;
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        // From now on, 10 ms, by 30 ms from now.
        match tell(messenger, BEGIN, [0, 10 * MS, 30 * MS, 0]) {
            Ok(_) => {
                let deadline = Instant::now() + Duration::from_millis(30);
                work();
                late += u32::from(Instant::now() > deadline);
                done += 1;
                tell(messenger, END, [0; 4])?;
            }
            Err(error) if error.kind() == ErrorKind::ResourceBusy => left_out += 1,
            Err(error) => return Err(error),
        }
    }
    println!("{done} frames done, {late} of them late, {left_out} left out");
    Ok(())
}
