//! Names in messages: the nearest known name to one that is not known, and lists of names.
//!
//! Relies on the `strsim` crate for the distance of two words.

/// What was probably meant: the candidate that takes the fewest edits, and not more than a third of the word.
pub(crate) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let most = word.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 4 * most)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The most names that [`listed`] shows.
const MAX_LISTED: usize = 12;

/// Names in quotes, for a message: the first twelve; the others are counted.
pub fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let all: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let shown = all[..all.len().min(MAX_LISTED)].join(", ");
    match all.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A near name as advice.
pub(crate) fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// The words in quotes, for a message: `` `a`, `b` or `c` ``.
pub(crate) fn one_of<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => format!("`{}`", only.as_ref()),
        [some @ .., last] => {
            let some: Vec<String> = some.iter().map(|word| format!("`{}`", word.as_ref())).collect();
            format!("{} or `{}`", some.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_is_near_and_nothing_else() {
        let policies = ["fixed-priority", "reservation", "join"];
        assert_eq!(nearest("fixed-prority", policies), Some("fixed-priority"));
        assert_eq!(nearest("jion", policies), Some("join"));
        assert_eq!(nearest("lottery", policies), None);
    }

    #[test]
    fn lists_read_as_english() {
        assert_eq!(one_of::<&str>(&[]), "nothing");
        assert_eq!(one_of(&["a"]), "`a`");
        assert_eq!(one_of(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
