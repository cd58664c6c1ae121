//! Typed access to the keys and values of a JSON object.
//!
//! Relies on the rules of rt-app: a setting that is `null` is absent, an integer is one of 32 bits, and neither `10.0`
//! nor `"10"` is an integer. Never guesses: a value of another type is an error and then counts as absent.

use crate::diagnostics::Diagnostics;
use crate::json::{Member, Node, Value, quote};
use hls_units::Nanos;
use std::collections::HashSet;

/// The members of an object; `expected` says what kind of object.
pub(super) fn object<'n>(
    node: &'n Node<'n>,
    expected: &str,
    diagnostics: &mut Diagnostics,
) -> Option<&'n [Member<'n>]> {
    match &node.value {
        Value::Object(members) => Some(members),
        _ => {
            diagnostics.error(node.at, node.describe(), expected);
            None
        }
    }
}

/// The value of a setting, unless it is absent or `null`.
pub(super) fn setting<'n>(members: &'n [Member<'n>], key: &str) -> Option<&'n Node<'n>> {
    let is_given = |member: &&Member| member.key == key && !matches!(member.node.value, Value::Null);
    members.iter().find(is_given).map(|member| &member.node)
}

/// Refuses keys that are given twice. A repeated event is a second event, so only keys that `is_unique` are looked at.
pub(super) fn refuse_repeated(
    members: &[Member],
    is_unique: impl Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) {
    let mut seen = HashSet::new();
    for Member { at, key, .. } in members {
        if is_unique(key) && !seen.insert(key) {
            diagnostics.error(*at, format!("{} a second time", quote(key)), "each key once");
        }
    }
}

/// A whole number from `least` to the greatest that rt-app can hold; `what` says which.
pub(super) fn integer(node: &Node, least: i32, what: &str, diagnostics: &mut Diagnostics) -> Option<i32> {
    let number = match node.value {
        Value::Number(text) => text.parse::<i32>().ok().filter(|number| *number >= least),
        _ => None,
    };
    if number.is_none() {
        diagnostics.error(node.at, node.describe(), format!("{what} from {least} to {}", i32::MAX));
    }
    number
}

/// A count of things, from 0.
pub(super) fn count(node: &Node, what: &str, diagnostics: &mut Diagnostics) -> Option<u32> {
    integer(node, 0, what, diagnostics).map(i32::unsigned_abs)
}

/// A length of time, which rt-app counts in microseconds.
pub(super) fn micros(node: &Node, key: &str, diagnostics: &mut Diagnostics) -> Option<Nanos> {
    let what = format!("a whole number of microseconds for `{key}`");
    count(node, &what, diagnostics).map(|micros| Nanos::from_micros(micros.into()))
}

/// A string; `what` says what it names.
pub(super) fn text<'n>(node: &'n Node<'n>, what: &str, diagnostics: &mut Diagnostics) -> Option<&'n str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => {
            diagnostics.error(node.at, node.describe(), what);
            None
        }
    }
}

/// A boolean.
pub(super) fn boolean(node: &Node, key: &str, diagnostics: &mut Diagnostics) -> Option<bool> {
    match node.value {
        Value::Bool(value) => Some(value),
        _ => {
            diagnostics.error(node.at, node.describe(), format!("true or false for `{key}`"));
            None
        }
    }
}

/// The sentence on a key that rt-app passes over. `context` is empty or ends in `: `.
pub(super) fn unknown(context: &str, key: &str) -> String {
    format!("{context}the key {} has no effect: rt-app does not know it here.", quote(key))
}
