//! The index of the examples: a row for each file of `examples/`, with the first sentence of the comment that it opens
//! with. Relies on every example opening with one.

use crate::Tree;
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "# The examples

Hierarchies to start from, programs that talk to a running hierarchy, and policies to load. The comment at the head of
each says more, and what to try. This index is made from these comments, by `make bless`.

| file | what it is |
|---|---|
";

/// The text of the index.
#[must_use]
pub fn index(tree: &Tree) -> String {
    let examples = tree.texts.iter().filter(|(path, _)| {
        path.starts_with("examples") && path.extension().is_some_and(|e| e == "kdl" || e == "c")
    });
    let mut text = HEAD.to_owned();
    for (path, content) in examples {
        let link = path.strip_prefix("examples").unwrap_or(Path::new("")).display();
        let what = first_sentence(content).unwrap_or_default();
        writeln!(text, "| [{link}]({link}) | {what} |").expect("a string grows");
    }
    text
}

/// The first sentence of the comment at the head of a file; in C, of the comment behind the licence.
fn first_sentence(content: &str) -> Option<String> {
    let lines = content.lines().skip_while(|line| line.contains("SPDX") || *line == "/*");
    let said = |line: &str| match line.trim_start().strip_prefix("//").or(line.trim_start().strip_prefix("*"))
    {
        Some(said) => Some(said.trim().to_owned()),
        None => Some(line.strip_prefix("/*")?.trim_end_matches("*/").trim().to_owned()),
    };
    let paragraph: Vec<String> =
        lines.map_while(said).take_while(|line| !line.is_empty() && line != "/").collect();
    let paragraph = paragraph.join(" ");
    // The point behind an initial, as in `J. Regehr`, ends no sentence.
    let is_initial =
        |at: usize| paragraph[..at].split([' ', '(']).next_back().is_some_and(|word| word.len() < 2);
    let end = paragraph.match_indices(". ").map(|(at, _)| at).find(|&at| !is_initial(at));
    let sentence = &paragraph[..end.unwrap_or(paragraph.len())];
    let sentence = sentence.trim_end_matches('.').trim();
    (!sentence.is_empty()).then(|| sentence.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_of_the_first_comment_counts() {
        let one = |content| first_sentence(content).unwrap_or_default();
        assert_eq!(
            one("// A limit: one\n// and two. More.\n//\n// Try it.\nmachine\n"),
            "A limit: one and two"
        );
        assert_eq!(one("/* SPDX: x */\n/*\n * Asks. For more.\n */\nint a;\n"), "Asks");
        assert_eq!(one("// After (J. Doe, 1998). More.\n"), "After (J. Doe, 1998)");
        assert_eq!(one("/* SPDX: x */\n/* Asks. */\nint a;\n"), "Asks");
        assert_eq!(first_sentence("machine cpus=1\n"), None);
    }
}
