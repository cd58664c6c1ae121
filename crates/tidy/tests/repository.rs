//! The rules on the repository itself. Everything that breaks one is listed at once.

use std::fs;
use std::path::Path;

use hls_tidy::{Tree, examples, layers, picture};

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = Tree::read(&root).expect("the repository can be read");
    assert!(tree.has(Path::new("core/core.c")) && tree.has(Path::new("crates/tidy/src/lib.rs")));
    let findings = tree.findings();
    let list: String = findings.iter().map(|finding| format!("\n{finding}")).collect();
    assert!(findings.is_empty(), "expected none, found {} breaches:{list}", findings.len());
}

/// A linked work tree of git has a file `.git` at its root, which names a folder of the machine.
#[test]
fn the_repository_is_tidy_in_a_linked_work_tree_too() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linked");
    fs::create_dir_all(&root).expect("the folder of the tests can be written");
    for name in [".git", "gitlink"] {
        fs::write(root.join(name), "gitdir: /somebody/hls/.git/worktrees/linked\n")
            .expect("the folder of the tests can be written");
    }
    let found = Tree::read(&root).expect("the folder can be read").findings();
    let found: Vec<&str> = found.iter().filter_map(|finding| finding.path.to_str()).collect();
    assert_eq!(found, ["gitlink"], "the same text in another file is refused");
}

#[test]
fn the_picture_of_the_crates_is_drawn_from_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = Tree::read(&root).expect("the repository can be read");
    let crates = layers::crates(&tree).expect("every crate says its layer");
    hls_golden::assert_golden(&root.join("docs/internals/crates.svg"), &picture::draw(&crates));
}

#[test]
fn the_index_of_the_examples_has_all_of_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let index = examples::index(&Tree::read(&root).expect("the repository can be read"));
    assert!(!index.contains("|  |"), "expected a comment at the head of each example:\n{index}");
    hls_golden::assert_golden(&root.join("examples/README.md"), &index);
}
