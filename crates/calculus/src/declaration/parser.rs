//! The text of a declaration, word by word: guarantees, conditions, expressions (the grammar is in `mod.rs`). Relies on
//! the way in which guarantees are read. Every refusal points at its place; no text exhausts the stack.

use super::expression::{Condition, Expression, Operator, Relation};
use super::{Need, Signature, Template};
use crate::description::Unit;
use crate::guarantee::{Kind, Quantity};
use crate::parse::{ParseError, Token};
use crate::rational::Rational;
use std::ops::Range;

/// The most bytes of a text, which bound the depth of expressions, too, and the most parentheses inside each other.
const MAX_BYTES: usize = 1_000;
const MAX_NESTING: usize = 32;

/// An expression with its place and what it counts.
struct Term {
    value: Expression,
    /// 1 for a time, 0 for a plain number, -1 for a number divided by a time, and so on.
    dimension: i32,
    /// Whether the expression has a parameter of a VP outside of all sums.
    of_child: bool,
    span: Range<usize>,
}

/// A text that is read from left to right.
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    tokens: Vec<Token<'t>>,
    next: usize,
    pub(super) policy: &'t Signature,
    /// The terms of `sum(...)` so far.
    pub(super) sums: Vec<Expression>,
    in_sum: bool,
    nesting: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, policy: &'t Signature) -> Result<Parser<'t>, ParseError> {
        if text.len() > MAX_BYTES {
            let rest = Token { text: "", offset: MAX_BYTES };
            return Err(rest.error(format!("{} bytes", text.len()), format!("at most {MAX_BYTES}")));
        }
        let tokens = tokens(text)?;
        Ok(Parser { text, tokens, next: 0, policy, sums: Vec::new(), in_sum: false, nesting: 0 })
    }

    /// The next word; an empty one at the end of the text.
    pub(super) fn peek(&self) -> Token<'t> {
        let end = Token { text: "", offset: self.text.trim_end().len() };
        self.tokens.get(self.next).copied().unwrap_or(end)
    }

    /// Takes a word, if it is the next one; whether it was.
    pub(super) fn takes(&mut self, word: &str) -> bool {
        let is_next = self.peek().text == word;
        self.next += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), ParseError> {
        if self.takes(word) { Ok(()) } else { Err(self.wrong(format!("`{word}`"))) }
    }

    /// The error that the next word is not what was expected.
    pub(super) fn wrong(&self, expected: impl Into<String>) -> ParseError {
        match self.peek() {
            end @ Token { text: "", .. } => end.error("the end".into(), expected),
            token => token.wrong(expected),
        }
    }

    pub(super) fn end(&self, expected: &str) -> Result<(), ParseError> {
        if self.peek().text.is_empty() { Ok(()) } else { Err(self.wrong(expected)) }
    }

    /// A guarantee that a place may have to give; its numbers may be left out.
    pub(super) fn need(&mut self) -> Result<Need, ParseError> {
        let kind = kind(self.peek()).filter(|kind| !matches!(kind, Kind::Mpr | Kind::Job));
        let behind = self.tokens.get(self.next + 1).map(|token| token.text);
        if let (Some(kind), None | Some("or")) = (kind, behind) {
            self.next += 1;
            return Ok(Need::Any(kind));
        }
        let (template, of_child) = self.guarantee()?;
        if let Some(span) = of_child {
            let expected = "parameters of the scheduler, or `sum(...)` over all children";
            return Err(self.at(&span).wrong(expected));
        }
        Ok(Need::This(template, self.sums.clone()))
    }

    /// A guarantee with its numbers, and the place of the first parameter of a VP in these.
    pub(super) fn guarantee(&mut self) -> Result<(Template, Option<Range<usize>>), ParseError> {
        if self.takes("sbf") {
            self.expect("(")?;
            let delay = self.number("a delay", Quantity::Time)?;
            self.expect(",")?;
            let rate = self.number("a rate", Quantity::Share)?;
            self.expect(")")?;
            let of_child =
                [&rate, &delay].into_iter().find(|term| term.of_child).map(|term| term.span.clone());
            let error = two(rate.value.clone(), Operator::Times, delay.value);
            return Ok((Template { kind: Kind::Psbe, numbers: vec![rate.value, error] }, of_child));
        }
        let Some(kind) = kind(self.peek()) else { return Err(self.wrong(kinds())) };
        self.next += 1;
        let mut numbers = Vec::new();
        let mut of_child = None;
        for (at, (what, quantity)) in kind.parameters().iter().enumerate() {
            if at > 0 {
                self.takes(",");
            }
            let term = self.number(&format!("{what} for {}", kind.name()), *quantity)?;
            of_child = of_child.or(term.of_child.then_some(term.span));
            numbers.push(term.value);
        }
        Ok((Template { kind, numbers }, of_child))
    }

    /// One number of a guarantee.
    fn number(&mut self, what: &str, quantity: Quantity) -> Result<Term, ParseError> {
        if self.peek().text.is_empty() {
            return Err(self.wrong(what));
        }
        let term = self.expression()?;
        let dimension = i32::from(quantity == Quantity::Time);
        self.must_count(&term, dimension, &format!("{what}, {}", counted(dimension)))?;
        Ok(term)
    }

    /// The conditions behind a word, if that word is next.
    pub(super) fn conditions(&mut self, word: &str) -> Result<Vec<Condition>, ParseError> {
        let mut conditions = Vec::new();
        let mut more = self.takes(word);
        while more {
            conditions.push(self.condition()?);
            more = self.takes("and");
        }
        Ok(conditions)
    }

    fn condition(&mut self) -> Result<Condition, ParseError> {
        let left = self.expression()?;
        let symbol = self.peek().text;
        let Some(relation) = Relation::EVERY.into_iter().find(|relation| relation.symbol() == symbol) else {
            return Err(self.wrong("`<=`, `<`, `>=` or `>`"));
        };
        self.next += 1;
        let right = self.expression()?;
        self.must_count(&right, left.dimension, &format!("{}, as on the left", counted(left.dimension)))?;
        Ok(Condition {
            relation,
            of_times: left.dimension == 1,
            of_child: left.of_child || right.of_child,
            text: self.text[left.span.start..right.span.end].to_owned(),
            left: left.value,
            right: right.value,
        })
    }

    fn must_count(&self, term: &Term, dimension: i32, expected: &str) -> Result<(), ParseError> {
        if term.dimension == dimension {
            return Ok(());
        }
        let place = self.at(&term.span);
        Err(place.error(format!("`{}`, {}", place.text, counted(term.dimension)), expected))
    }

    fn at(&self, span: &Range<usize>) -> Token<'t> {
        Token { text: &self.text[span.clone()], offset: span.start }
    }

    fn expression(&mut self) -> Result<Term, ParseError> {
        let mut left = self.product()?;
        while let Some(operator) = self.takes_one([("+", Operator::Plus), ("-", Operator::Minus)]) {
            let right = self.product()?;
            self.must_count(&right, left.dimension, &format!("{}, as on the left", counted(left.dimension)))?;
            left = join(left, operator, right);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Term, ParseError> {
        let mut left = self.atom()?;
        while let Some(operator) = self.takes_one([("*", Operator::Times), ("/", Operator::Over)]) {
            let right = self.atom()?;
            left = join(left, operator, right);
        }
        Ok(left)
    }

    fn takes_one(&mut self, operators: [(&str, Operator); 2]) -> Option<Operator> {
        operators.into_iter().find(|(symbol, _)| self.takes(symbol)).map(|(_, operator)| operator)
    }

    fn atom(&mut self) -> Result<Term, ParseError> {
        let token = self.peek();
        let start = token.offset;
        // Whatever names parameters have.
        if token.text.is_empty() {
            return Err(self.wrong(self.names()));
        }
        if token.text == "sum" {
            return self.sum(start);
        }
        if token.text == "(" {
            let term = self.parenthesised()?;
            return Ok(Term { span: start..self.behind(), ..term });
        }
        let (value, dimension, of_child) = if token.text.starts_with(|c: char| c.is_ascii_digit()) {
            let (value, dimension) = literal(token)?;
            (Expression::Number(value), dimension, false)
        } else {
            let (param, of_child) = self.policy.param(token.text).ok_or_else(|| self.wrong(self.names()))?;
            let value = if of_child { Expression::OfChild } else { Expression::OfScheduler };
            (value(param.name), i32::from(param.unit == Unit::Time), of_child)
        };
        self.next += 1;
        Ok(Term { value, dimension, of_child, span: start..self.behind() })
    }

    fn parenthesised(&mut self) -> Result<Term, ParseError> {
        if self.nesting == MAX_NESTING {
            return Err(self.wrong(format!("at most {MAX_NESTING} parentheses inside each other")));
        }
        self.nesting += 1;
        self.expect("(")?;
        let term = self.expression()?;
        self.expect(")")?;
        self.nesting -= 1;
        Ok(term)
    }

    fn sum(&mut self, start: usize) -> Result<Term, ParseError> {
        if self.in_sum {
            return Err(self.wrong("no sum inside a sum"));
        }
        self.next += 1;
        self.in_sum = true;
        let term = self.parenthesised()?;
        self.in_sum = false;
        self.sums.push(term.value);
        let value = Expression::Sum(self.sums.len() - 1);
        Ok(Term { value, dimension: term.dimension, of_child: false, span: start..self.behind() })
    }

    /// The end of the word that was taken last.
    fn behind(&self) -> usize {
        self.tokens[..self.next].last().map_or(0, |token| token.offset + token.text.len())
    }

    /// Takes the next word, whatever it is.
    pub(super) fn skip(&mut self) {
        self.next += 1;
    }

    /// What an expression may begin with.
    pub(super) fn names(&self) -> String {
        format!("a number, `sum(...)`, or a parameter of the policy: {}", self.policy.names())
    }
}

/// Splits a text into names, numbers and symbols.
fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let offset = text.len() - rest.len();
        let len = match first {
            '0'..='9' => number_len(rest),
            'a'..='z' | 'A'..='Z' => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c)).unwrap_or(rest.len())
            }
            '<' | '>' if rest[1..].starts_with('=') => 2,
            '(' | ')' | ',' | '+' | '-' | '*' | '/' | '<' | '>' | '=' => 1,
            _ => {
                let token = Token { text: &rest[..first.len_utf8()], offset };
                return Err(token.wrong("a name, a number or one of ( ) , + - * / < > ="));
            }
        };
        tokens.push(Token { text: &rest[..len], offset });
        rest = rest[len..].trim_start();
    }
    Ok(tokens)
}

/// The length of a number and its unit; a `/` belongs to the number if a digit follows.
fn number_len(text: &str) -> usize {
    let is_digit = |at: usize| text[at..].starts_with(|c: char| c.is_ascii_digit());
    let ends = |(at, c): (usize, char)| !(c.is_ascii_digit() || c == '.' || (c == '/' && is_digit(at + 1)));
    let digits = text.char_indices().find(|place| ends(*place)).map_or(text.len(), |(at, _)| at);
    let unit = &text[digits..];
    digits + unit.find(|c: char| !c.is_alphabetic() && c != '%').unwrap_or(unit.len())
}

/// A number and its dimension.
pub(super) fn literal(token: Token) -> Result<(Rational, i32), ParseError> {
    const WHAT: &str = "a number";
    match token.text.chars().last() {
        Some(last) if last.is_alphabetic() => Ok((token.time(WHAT)?, 1)),
        _ => Ok((token.share(WHAT)?, 0)),
    }
}

fn kind(token: Token) -> Option<Kind> {
    Kind::EVERY.into_iter().find(|kind| kind.name() == token.text)
}

fn kinds() -> String {
    let names: Vec<&str> = Kind::EVERY.iter().map(|kind| kind.name()).collect();
    format!("a guarantee: {}, sbf(delay, rate)", names.join(", "))
}

/// What an expression of a dimension counts.
fn counted(dimension: i32) -> String {
    match dimension {
        0 => "a plain number".into(),
        1 => "a time".into(),
        _ => format!("a time to the power {dimension}"),
    }
}

fn two(left: Expression, operator: Operator, right: Expression) -> Expression {
    Expression::Two(Box::new(left), operator, Box::new(right))
}

fn join(left: Term, operator: Operator, right: Term) -> Term {
    let dimension = match operator {
        Operator::Plus | Operator::Minus => left.dimension,
        Operator::Times => left.dimension + right.dimension,
        Operator::Over => left.dimension - right.dimension,
    };
    Term {
        value: two(left.value, operator, right.value),
        dimension,
        of_child: left.of_child || right.of_child,
        span: left.span.start..right.span.end,
    }
}
