//! KDL text in, raw nodes with their places out.
//!
//! The `kdl` crate reads every word (numbers, strings and their escapes); the tree is built here, by a loop over the
//! tokens. That is on purpose: its parser for whole documents recurses once a level of braces *and* once an error, so
//! that a few thousand of either exhaust the stack; takes exponential time for nested `/- {`; and gives up at the
//! first property without a value. Here every line is read whatever the others hold, and nothing recurses.

use crate::diagnostic::{Diagnostic, Sink};
use crate::lex::{Kind, Lexer};
use crate::model::Span;
use hls_units::Nanos;
use kdl::{KdlEntry, KdlValue};

/// Braces inside braces that a file may have: more than any valid hierarchy needs.
pub(crate) const MAX_NESTING: usize = 64;
/// Bytes of one word.
pub(crate) const MAX_WORD_BYTES: usize = 1024;

/// A name with its place.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) kdl: KdlValue,
    /// As it is written, quotes included.
    pub(crate) written: String,
    pub(crate) span: Span,
}

/// `name=value`.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) name: Name,
    pub(crate) value: Value,
}

/// A node: `name "argument" property=value { ... }`.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: Name,
    pub(crate) arguments: Vec<Value>,
    pub(crate) properties: Vec<Property>,
    /// The node that it stands in: an index, smaller than its own.
    pub(crate) parent: Option<usize>,
    /// Whether all of its arguments and properties could be read.
    pub(crate) is_whole: bool,
}

impl Node {
    /// The first property of this name.
    pub(crate) fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name.text == name)
    }

    /// Its name and its first argument: what a message about the node as a whole points at.
    pub(crate) fn span(&self) -> Span {
        let end = self.arguments.first().map_or(self.name.span.end, |argument| argument.span.end);
        self.name.span.start..end.max(self.name.span.end)
    }
}

/// An open brace.
struct Block {
    span: Span,
    /// The node that its nodes belong to; `None`: it is commented out.
    node: Option<usize>,
    /// Where the parser stands behind it.
    behind: State,
}

/// Where the parser stands in the node that it reads.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Before a node's name.
    Between,
    /// In a node; `None`: one that is commented out or not readable.
    Entries(Option<usize>),
    /// In a node, behind braces that are commented out: other braces may follow.
    Braces(Option<usize>),
    /// Behind the braces of a node.
    Behind,
}

/// Reads the text's nodes, each one after the node that it stands in. What is no KDL is reported and left out.
pub(crate) fn parse(text: &str, sink: &mut Sink) -> Vec<Node> {
    let parser = Parser {
        text,
        lexer: Lexer::new(text),
        sink,
        nodes: Vec::new(),
        open: Vec::new(),
        state: State::Between,
    };
    parser.run()
}

struct Parser<'t, 's> {
    text: &'t str,
    lexer: Lexer<'t>,
    sink: &'s mut Sink,
    nodes: Vec<Node>,
    open: Vec<Block>,
    state: State,
}

impl Parser<'_, '_> {
    fn run(mut self) -> Vec<Node> {
        while !self.sink.is_full() {
            let token = self.lexer.next(self.sink);
            match token.kind {
                Kind::Word | Kind::BadWord => self.word(token.kind, token.span),
                Kind::Equals => self.error(token.span, "`=`", "a property's name before it"),
                Kind::End => self.state = State::Between,
                Kind::Slashdash => self.slashdash(token.span),
                Kind::Close => self.close(token.span),
                Kind::Open => self.open(token.span),
                Kind::Eof => break,
            }
            if self.open.len() > MAX_NESTING {
                let innermost = self.open[MAX_NESTING].span.clone();
                let found = format!("braces inside more than {MAX_NESTING} others");
                self.error(innermost, found, format!("at most {MAX_NESTING}"));
                return self.nodes;
            }
        }
        for block in std::mem::take(&mut self.open) {
            self.error(block.span, "`{` that is never closed", "a `}` for it");
        }
        self.nodes
    }

    fn error(&mut self, span: Span, found: impl Into<String>, expected: impl Into<String>) {
        self.sink.add(Diagnostic::error(span, "syntax", found, expected));
    }

    /// Whether the braces around this place are commented out.
    fn is_ignored(&self) -> bool {
        self.open.last().is_some_and(|block| block.node.is_none())
    }

    fn word(&mut self, kind: Kind, span: Span) {
        match self.state {
            State::Between => self.state = State::Entries(self.begin_node(kind, span)),
            State::Entries(node) => self.entry(node, kind, span),
            State::Braces(_) | State::Behind => {
                let found = format!("`{}` behind `}}`", &self.text[span.clone()]);
                self.error(span, found, "a new line or `;`");
                self.state = State::Entries(None);
            }
        }
    }

    /// Reads a node's name and adds the node, unless it is commented out or has no readable name.
    fn begin_node(&mut self, kind: Kind, span: Span) -> Option<usize> {
        if kind == Kind::BadWord || self.is_ignored() {
            return None;
        }
        let name = self.name(span, "the name of a node")?;
        let parent = self.open.last().and_then(|block| block.node);
        let (arguments, properties) = (Vec::new(), Vec::new());
        self.nodes.push(Node { name, arguments, properties, parent, is_whole: true });
        Some(self.nodes.len() - 1)
    }

    /// Reads `value` or `name = value`, given its first word. Without a node: goes past it.
    fn entry(&mut self, node: Option<usize>, kind: Kind, span: Span) {
        let has_value = self.lexer.peek(self.sink) == Kind::Equals;
        let value = if has_value { self.behind_equals(span.start) } else { None };
        let (Some(node), Kind::Word) = (node, kind) else {
            node.iter().for_each(|node| self.nodes[*node].is_whole = false);
            return;
        };
        if has_value {
            let name = self.name(span, "the name of a property");
            let property = name.zip(value.and_then(|value| self.value(value)));
            self.nodes[node].is_whole &= property.is_some();
            self.nodes[node].properties.extend(property.map(|(name, value)| Property { name, value }));
        } else {
            let value = self.value(span);
            self.nodes[node].is_whole &= value.is_some();
            self.nodes[node].arguments.extend(value);
        }
    }

    /// Goes past `=` and the value of the property that begins at `start`: the value's place, if there is a readable
    /// one.
    fn behind_equals(&mut self, start: usize) -> Option<Span> {
        let equals = self.lexer.next(self.sink).span;
        match self.lexer.peek(self.sink) {
            Kind::Word => Some(self.lexer.next(self.sink).span),
            Kind::BadWord => {
                self.lexer.next(self.sink);
                None
            }
            _ => {
                self.error(start..equals.end, "a property without a value", "a value behind `=`");
                None
            }
        }
    }

    fn slashdash(&mut self, span: Span) {
        while matches!(self.state, State::Between) && self.lexer.peek(self.sink) == Kind::End {
            self.lexer.next(self.sink);
        }
        match (self.state, self.lexer.peek(self.sink)) {
            (State::Between, Kind::Word | Kind::BadWord) => {
                self.lexer.next(self.sink);
                self.state = State::Entries(None);
            }
            (State::Entries(_), Kind::Word | Kind::BadWord) => {
                let word = self.lexer.next(self.sink);
                self.entry(None, word.kind, word.span);
            }
            (State::Entries(node) | State::Braces(node), Kind::Open) => {
                self.open_ignored(State::Braces(node))
            }
            (State::Behind, Kind::Open) => self.open_ignored(State::Behind),
            _ => self.error(span, "`/-`", "something behind it to comment out"),
        }
    }

    /// Goes into braces that are commented out.
    fn open_ignored(&mut self, behind: State) {
        let span = self.lexer.next(self.sink).span;
        self.open.push(Block { span, node: None, behind });
        self.state = State::Between;
    }

    fn open(&mut self, span: Span) {
        let node = match self.state {
            State::Entries(node) | State::Braces(node) => node,
            State::Between | State::Behind => {
                self.error(span.clone(), "`{`", "a node before it");
                None
            }
        };
        self.open.push(Block { span, node, behind: State::Behind });
        self.state = State::Between;
    }

    fn close(&mut self, span: Span) {
        match self.open.pop() {
            Some(block) => self.state = block.behind,
            None => self.error(span, "`}`", "a `{` before it"),
        }
    }

    /// Reads a word that must be a name.
    fn name(&mut self, span: Span, what: &str) -> Option<Name> {
        let value = self.value(span)?;
        match value.kdl {
            KdlValue::String(text) => Some(Name { text, span: value.span }),
            _ => {
                self.error(value.span, format!("`{}`", value.written), what);
                None
            }
        }
    }

    /// Reads a word with the `kdl` crate.
    fn value(&mut self, span: Span) -> Option<Value> {
        let written = &self.text[span.clone()];
        if written.len() > MAX_WORD_BYTES {
            self.error(
                span,
                format!("a word of {} bytes", written.len()),
                format!("at most {MAX_WORD_BYTES}"),
            );
            return None;
        }
        if written.starts_with('(') {
            self.error(span, format!("the type annotation `{written}`"), "a value without a type");
            return None;
        }
        match KdlEntry::parse(written) {
            Ok(entry) if entry.name().is_none() => {
                Some(Value { kdl: entry.value().clone(), written: written.to_owned(), span })
            }
            _ => {
                let is_time = Nanos::parse(written).is_ok();
                let expected = match written.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) {
                    true if is_time => "a value",
                    true => "a number that fits 64 bits",
                    false => "a name, a number or a string in quotes",
                };
                let is_flag = ["true", "false"].contains(&written);
                let help = match is_time {
                    true => Some(format!("times stand in quotes: \"{written}\"")),
                    false => is_flag.then(|| format!("KDL writes `#{written}`")),
                };
                let found = format!("`{written}`");
                self.sink.add(Diagnostic::error(span, "syntax", found, expected).help(help));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdl::{KdlDocument, KdlNode};

    /// Everything that a tree of nodes says, one line a node.
    fn flatten(depth: usize, nodes: &[KdlNode], lines: &mut Vec<String>) {
        for node in nodes {
            let entries =
                node.entries().iter().map(|e| format!("{:?}={:?}", e.name().map(|n| n.value()), e.value()));
            let (properties, arguments): (Vec<_>, Vec<_>) =
                entries.partition(|entry| entry.starts_with("Some"));
            lines.push(format!("{depth} {} {arguments:?} {properties:?}", node.name().value()));
            flatten(depth + 1, node.children().map_or(&[], |children| children.nodes()), lines);
        }
    }

    fn flatten_ours(nodes: &[Node]) -> Vec<String> {
        let mut depths: Vec<usize> = Vec::new();
        let line = |node: &Node| {
            let depth = node.parent.map_or(0, |parent| depths[parent] + 1);
            depths.push(depth);
            let arguments: Vec<_> =
                node.arguments.iter().map(|value| format!("None={:?}", value.kdl)).collect();
            let properties = node.properties.iter();
            let properties: Vec<_> =
                properties.map(|p| format!("{:?}={:?}", Some(&p.name.text), p.value.kdl)).collect();
            format!("{depth} {} {arguments:?} {properties:?}", node.name.text)
        };
        nodes.iter().map(line).collect()
    }

    /// Both readers read every fixture alike, and refuse the same ones.
    #[test]
    fn agrees_with_the_kdl_crate() {
        let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
        let folders = ["ok", "err"].map(|folder| std::fs::read_dir(format!("{tests}/{folder}")).unwrap());
        let files = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|e| e == "kdl")) {
            let Ok(text) = String::from_utf8(std::fs::read(&file).unwrap()) else {
                continue;
            };
            let mut sink = Sink::default();
            let ours = flatten_ours(&parse(&text, &mut sink));
            match KdlDocument::parse(&text) {
                Ok(document) => {
                    let mut theirs = Vec::new();
                    flatten(0, document.nodes(), &mut theirs);
                    assert_eq!(ours, theirs, "{}", file.display());
                    assert!(!sink.has_errors(), "{}", file.display());
                }
                Err(_) => assert!(sink.has_errors(), "{}", file.display()),
            }
        }
    }
}
