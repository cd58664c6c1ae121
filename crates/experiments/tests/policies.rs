//! The table in `docs/policies.md` is the one that `hls-experiments policies` prints. `HLS_BLESS=1` writes it anew.

use hls_experiments::policies;
use std::path::Path;

#[test]
fn the_document_has_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/policies.md");
    let document = std::fs::read_to_string(&path).expect("the document is there");
    let (before, rest) = document.split_once("\n| policy |").expect("the document has a table");
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    let table = policies::table(&root).unwrap_or_else(|errors| panic!("{}", errors.join("\n")));
    hls_golden::assert_golden(&path, &format!("{before}\n{table}\n{after}"));
}
