//! The `load` statements: policies from files of their own, `load "asked_times.c" as="asked-times-2"`.
//!
//! A file with such statements is read twice: [`loads`] finds them; then the caller builds those policies and gives
//! what they say of themselves to [`crate::read_with`]. This file opens nothing itself.

use crate::diagnostic::{Diagnostic, Sink};
use crate::model::{LoadStatement, Span};
use crate::policies::{LOAD, Policies, name_fault};
use crate::properties::Properties;
use crate::syntax::{self, Node};
use crate::value;
use hls_units::is_hidden;
use kdl::KdlValue;

/// The `load` statements of a hierarchy file that can be read. [`crate::read_with`] reports the others, and what is
/// wrong with the rest of the file.
pub fn loads(bytes: &[u8]) -> Vec<LoadStatement> {
    let mut unheard = Sink::default();
    let Some(text) = crate::text::text(bytes, &mut unheard) else { return Vec::new() };
    let nodes = syntax::parse(text, &mut unheard);
    statements(&nodes).filter_map(|node| load(node, &mut unheard)).collect()
}

/// All `load` statements. Reports two statements with one name, and the name of a policy that need not be loaded.
pub(crate) fn read(nodes: &[Node], policies: &Policies, sink: &mut Sink) -> Vec<LoadStatement> {
    let mut loads: Vec<LoadStatement> = Vec::new();
    for node in statements(nodes) {
        let Some(load) = load(node, sink) else { continue };
        let name = load.policy();
        let expected = "a name that no other policy has";
        let help = || Some(format!("as=\"{name}-2\" gives it another name"));
        if let Some(first) = loads.iter().find(|other| other.policy() == name) {
            let found = format!("the name `{name}` a second time");
            let error = Diagnostic::error(load.span.clone(), "`load`", found, expected);
            sink.add(error.help(help()).first(first.span.clone()));
        } else if policies.find(&name).is_some_and(|policy| policy.declared.is_none()) {
            let found = format!("the name `{name}` of a policy that need not be loaded");
            sink.add(Diagnostic::error(load.span.clone(), "`load`", found, expected).help(help()));
        }
        loads.push(load);
    }
    loads
}

fn statements(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    nodes.iter().filter(|node| node.parent.is_none() && node.name.text == LOAD)
}

fn load(node: &Node, sink: &mut Sink) -> Option<LoadStatement> {
    let mut properties = Properties::new(node, "`load`", sink);
    let name = properties.read("as", sink, |property| {
        let name = value::text(property, "a policy's name")?;
        match name_fault(name) {
            None => Ok(name.to_owned()),
            Some(expected) => {
                let place = property.value.span.clone();
                Err(value::refuse(property, place, format!("`{}`", property.value.written), expected))
            }
        }
    });
    let is_good = node.property("as").is_some() == name.is_some();
    properties.finish(sink);
    let path = path(node, sink)?;
    is_good.then(|| LoadStatement { path, name, span: node.span() })
}

/// The node's only argument.
fn path(node: &Node, sink: &mut Sink) -> Option<String> {
    const EXPECTED: &str = "a policy's C file, such as \"asked_times.c\"";
    let mut refuse = |span: Span, found: String| {
        sink.add(Diagnostic::error(span, "`load`", found, EXPECTED));
        None
    };
    match node.arguments.as_slice() {
        [] if !node.is_whole => None,
        [] => refuse(node.span(), "no file".into()),
        [_, second, ..] => refuse(second.span.clone(), format!("a second argument, `{}`", second.written)),
        [only] => match &only.kdl {
            KdlValue::String(path) if is_c_file(path) => Some(path.clone()),
            _ => refuse(only.span.clone(), format!("`{}`", only.written)),
        },
    }
}

fn is_c_file(path: &str) -> bool {
    let stem = path.rsplit('/').next().and_then(|file| file.strip_suffix(".c"));
    stem.is_some_and(|stem| !stem.is_empty()) && !path.contains(is_hidden)
}
