//! The process of the threads as a program of its own, for the tests of this crate. `hls` starts itself instead.

fn main() -> std::io::Result<()> {
    hls_real_threads::serve()
}
