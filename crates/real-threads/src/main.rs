//! The process of the threads as a program of its own, for this crate's tests. The command `hls` has it too.

fn main() -> std::io::Result<()> {
    hls_real_threads::serve()
}
