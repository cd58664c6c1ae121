//! The properties of one node: the reader asks for each by name, and a property that it never asked for is an error.

use crate::diagnostic::{Diagnostic, Refusal, Sink};
use crate::names::{did_you_mean, nearest, one_of};
use crate::syntax::{Node, Property};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The properties of one node, and the names that were asked for: those that the node may have.
pub(crate) struct Properties<'n> {
    node: &'n Node,
    /// What the node is, for messages, such as ``thread `A` ``.
    what: String,
    asked: Vec<&'static str>,
}

impl<'n> Properties<'n> {
    /// Begins with a node and what to call it. Reports properties that are given twice.
    pub(crate) fn new(node: &'n Node, what: impl Into<String>, sink: &mut Sink) -> Properties<'n> {
        let mut seen = HashMap::new();
        for property in &node.properties {
            let span = property.name.span.clone();
            match seen.entry(&property.name.text) {
                Entry::Vacant(unseen) => {
                    unseen.insert(span);
                }
                Entry::Occupied(first) => {
                    let message = format!("property `{}`", property.name.text);
                    let error = Diagnostic::error(span, message, "it a second time", "each property once");
                    sink.add(error.first(first.get().clone()));
                }
            }
        }
        Properties { node, what: what.into(), asked: Vec::new() }
    }

    /// What the node is called in messages.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// The node itself.
    pub(crate) fn node(&self) -> &'n Node {
        self.node
    }

    /// The property of this name, if the node has it.
    pub(crate) fn get(&mut self, name: &'static str) -> Option<&'n Property> {
        self.asked.push(name);
        self.node.property(name)
    }

    /// What `read` makes of the property of this name; `None` when there is none, or when it was refused.
    pub(crate) fn read<T>(
        &mut self,
        name: &'static str,
        sink: &mut Sink,
        read: impl FnOnce(&'n Property) -> Result<T, Refusal>,
    ) -> Option<T> {
        self.get(name).and_then(|property| sink.ok(read(property)))
    }

    /// What `read` makes of a property that must be there; `example` shows in the error how it is written.
    pub(crate) fn require<T>(
        &mut self,
        name: &'static str,
        example: &str,
        sink: &mut Sink,
        read: impl FnOnce(&'n Property) -> Result<T, Refusal>,
    ) -> Option<T> {
        if self.get(name).is_none() && self.node.is_whole {
            let expected = format!("`{name}`, such as {name}={example}");
            let found = format!("no property `{name}`");
            sink.add(Diagnostic::error(self.node.span(), &self.what, found, expected));
        }
        self.read(name, sink, read)
    }

    /// Reports the properties that the reader never asked for.
    pub(crate) fn finish(mut self, sink: &mut Sink) {
        self.asked.sort_unstable();
        self.asked.dedup();
        for property in &self.node.properties {
            let name = property.name.text.as_str();
            if !self.asked.contains(&name) {
                let (found, expected) = (format!("the unknown property `{name}`"), one_of(&self.asked));
                let help = nearest(name, self.asked.iter().copied()).map(did_you_mean);
                sink.add(
                    Diagnostic::error(property.name.span.clone(), &self.what, found, expected).help(help),
                );
            }
        }
    }
}
