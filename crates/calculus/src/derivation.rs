//! How a guarantee came about: a tree of rules, premises and formulas with their numbers. Relies on nothing but
//! [`Guarantee`]. Never recomputes anything: it is a record.

use crate::guarantee::Guarantee;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// The reason why a scheduler promises nothing: what it needs, and what it holds instead.
pub(crate) fn refusal(needed: &str, found: &str) -> String {
    format!("needs {needed}, but there is {found}")
}

/// A rule of inference and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule's name.
    pub name: &'static str,
    /// Paper and section, or the argument where no paper has it.
    pub source: &'static str,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.name, self.source)
    }
}

/// One step: by `rule`, from `premises`, `conclusion` holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// Where the guarantee holds, such as an edge's name; empty for a step in between.
    pub subject: String,
    /// The rule that was used.
    pub rule: Rule,
    /// What the rule was used on. Shared, since the labels of siblings follow from the same premise.
    pub premises: Vec<Arc<Derivation>>,
    /// The rule's formula with its numbers filled in, or the reason why there is nothing to compute.
    pub formula: String,
    /// What follows.
    pub conclusion: Guarantee,
}

impl Derivation {
    /// The tree as text, the conclusion first and each premise indented below what follows from it. A premise that was
    /// already shown is not expanded again, so the length is linear in the number of steps.
    pub fn render(&self) -> String {
        let mut shown = HashSet::new();
        let mut text = String::new();
        let mut stack = vec![(self, 0)];
        while let Some((step, depth)) = stack.pop() {
            let indent = "  ".repeat(depth);
            let subject = if step.subject.is_empty() { String::new() } else { format!("{}: ", step.subject) };
            let first_time = shown.insert(std::ptr::from_ref(step));
            let again = if first_time { "" } else { " (as above)" };
            text.push_str(&format!("{indent}{subject}{}{again}\n", step.conclusion));
            if first_time {
                text.push_str(&format!("{indent}  by {}\n", step.rule));
                if !step.formula.is_empty() {
                    text.push_str(&format!("{indent}  {}\n", step.formula));
                }
                stack.extend(step.premises.iter().rev().map(|premise| (premise.as_ref(), depth + 1)));
            }
        }
        text
    }
}
