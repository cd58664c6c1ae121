//! `hls-tidy`: prints the picture of the crates, or writes it to a file; the rules are held by this crate's test.

use hls_tidy::{Tree, layers, picture};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let tree = match Tree::read(Path::new(".")) {
        Ok(tree) => tree,
        Err(error) => return fail(&format!("the repository cannot be read: {error}")),
    };
    match layers::crates(&tree) {
        Ok(crates) if crates.is_empty() => fail("found no crates, expected to be in the repository's folder"),
        Ok(crates) => {
            print!("{}", picture::draw(&crates));
            ExitCode::SUCCESS
        }
        Err(findings) => fail(&findings.iter().map(|finding| format!("\n{finding}")).collect::<String>()),
    }
}

fn fail(why: &str) -> ExitCode {
    eprintln!("hls-tidy: {why}");
    ExitCode::from(2)
}
