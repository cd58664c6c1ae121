//! Patterns for the names of threads: `*` stands for any bytes, `?` for one, everything else for itself.
//!
//! Relies on nothing. Never recurses and never goes back further than the last `*`.

use std::fmt;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob(String);

impl Glob {
    /// Takes any text as a pattern.
    pub fn new(pattern: &str) -> Glob {
        Glob(pattern.to_owned())
    }

    /// The least number of bytes that a name must have to match.
    pub fn least_len(&self) -> usize {
        self.0.bytes().filter(|byte| *byte != b'*').count()
    }

    /// Whether the whole name matches. A name is bytes: Linux may cut it anywhere, even within a character.
    pub fn matches(&self, name: &[u8]) -> bool {
        let pattern = self.0.as_bytes();
        let (mut in_pattern, mut in_name) = (0, 0);
        // The place behind the last `*`, and where in the name to go on if the `*` takes one more byte.
        let mut retry = None;
        loop {
            match (pattern.get(in_pattern), name.get(in_name)) {
                (None, None) => return true,
                (Some(b'*'), _) => {
                    in_pattern += 1;
                    retry = Some((in_pattern, in_name + 1));
                }
                (Some(wanted), Some(found)) if [b'?', *found].contains(wanted) => {
                    in_pattern += 1;
                    in_name += 1;
                }
                _ => match retry {
                    Some((behind_star, next)) if next <= name.len() => {
                        (in_pattern, in_name) = (behind_star, next);
                        retry = Some((behind_star, next + 1));
                    }
                    _ => return false,
                },
            }
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_and_question_marks_match_as_in_a_shell() {
        for (pattern, good, bad) in [
            ("nginx", &["nginx"][..], &["", "ngin", "nginx2", "Nginx"][..]),
            ("ngin*", &["ngin", "nginx", "nginx: worker"], &["ngi", "xnginx"]),
            ("*", &["", "a", "*"], &[]),
            ("a?c", &["abc", "a?c", "a*c"], &["ac", "abbc"]),
            ("*b*b?", &["bbx", "abcbx", "bbbbb"], &["bb", "b", "abcb"]),
            ("a**c", &["ac", "abc"], &["ab"]),
        ] {
            let glob = Glob::new(pattern);
            good.iter().for_each(|name| assert!(glob.matches(name.as_bytes()), "{pattern} {name}"));
            bad.iter().for_each(|name| assert!(!glob.matches(name.as_bytes()), "{pattern} {name}"));
        }
        assert!(Glob::new("caf?").matches(b"caf\xc3"), "a name that is cut within a character");
    }

    /// The definition: a `*` takes no byte, or one and then perhaps more.
    fn by_definition(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => {
                by_definition(rest, name) || (!name.is_empty() && by_definition(pattern, &name[1..]))
            }
            ([b'?', rest @ ..], [_, others @ ..]) => by_definition(rest, others),
            ([wanted, rest @ ..], [found, others @ ..]) => wanted == found && by_definition(rest, others),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn matches_as_defined(pattern in "[ab?*]{0,8}", name in "[ab]{0,10}") {
            let expected = by_definition(pattern.as_bytes(), name.as_bytes());
            let glob = Glob::new(&pattern);
            prop_assert_eq!(glob.matches(name.as_bytes()), expected);
            prop_assert!(!expected || glob.least_len() <= name.len());
        }
    }
}
