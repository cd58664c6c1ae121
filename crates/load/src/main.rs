//! The process of the threads as a program of its own, for this crate's tests: the command has it as `hls load-threads`.

fn main() -> std::io::Result<()> {
    hls_load::serve()
}
