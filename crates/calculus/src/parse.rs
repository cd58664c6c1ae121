//! Guarantees from text, such as `RESBH 10ms 33ms` or `PSBE 1/10, 22ms`. Relies on `hls_units` for the units of time.
//! Reads every number exactly; never rounds.

use crate::guarantee::{Guarantee, Kind, Quantity};
use crate::rational::{Rational, from_nanos, whole};
use hls_units::Nanos;
use num_bigint::BigInt;
use num_traits::Zero;
use std::fmt;

/// The longest number that is read, in bytes.
const MAX_NUMBER_LEN: usize = 1_000;

/// Why a text is not a guarantee. `offset` and `len` are bytes in the text that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// First byte of the offending part.
    pub offset: usize,
    /// Length of the offending part in bytes; zero where something is missing.
    pub len: usize,
    /// What was found.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for ParseError {}

/// A word of the text and where it begins.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) offset: usize,
}

impl Token<'_> {
    pub(crate) fn error(self, found: String, expected: impl Into<String>) -> ParseError {
        ParseError { offset: self.offset, len: self.text.len(), found, expected: expected.into() }
    }

    pub(crate) fn wrong(self, expected: impl Into<String>) -> ParseError {
        let shown: String = self.text.chars().take(40).collect();
        self.error(format!("`{shown}`"), expected)
    }

    /// A time with its unit, in nanoseconds.
    pub(crate) fn time(self, what: &str) -> Result<Rational, ParseError> {
        let digits = self.text.find(|c: char| !is_number_char(c)).unwrap_or(self.text.len());
        let (number, unit) = self.text.split_at(digits);
        if number.is_empty() {
            return Err(self.wrong(format!("{what}, a time such as 10ms")));
        }
        if unit.is_empty() {
            return Err(self.error(format!("the bare number `{number}`"), "a time with a unit, such as 10ms"));
        }
        let unit =
            Nanos::parse(&format!("1{unit}")).map_err(|error| self.error(error.found, error.expected))?;
        let number = rational(number)
            .ok_or_else(|| self.wrong(format!("{what}, a time such as 10ms, 1.5ms or 10/3ms")))?;
        Ok(number * from_nanos(unit))
    }

    pub(crate) fn share(self, what: &str) -> Result<Rational, ParseError> {
        let (number, scale) = match self.text.strip_suffix('%') {
            Some(number) => (number, 100),
            None => (self.text, 1),
        };
        let number =
            rational(number).ok_or_else(|| self.wrong(format!("{what}, such as 1/10, 0.1 or 10%")))?;
        Ok(number / whole(scale))
    }

    fn cpus(self, what: &str) -> Result<Rational, ParseError> {
        let cpus: Result<u16, _> = self.text.parse();
        let wrong = |_| self.wrong(format!("{what}, from 1 to {}", u16::MAX));
        cpus.map(|cpus| whole(u64::from(cpus))).map_err(wrong)
    }
}

impl Guarantee {
    /// Reads a guarantee: its type, then its parameters, parted by spaces or commas. Times need a unit; shares are
    /// `0.4`, `40%` or `2/5`. Refuses parameters that break the invariants of [`Guarantee`], at the place of the
    /// offender.
    pub fn parse(text: &str) -> Result<Guarantee, ParseError> {
        let tokens = tokens(text)?;
        let Some((&head, parameters)) = tokens.split_first() else {
            return Err(ParseError {
                offset: 0,
                len: text.len(),
                found: "nothing".into(),
                expected: kinds(),
            });
        };
        let kind = Kind::EVERY
            .into_iter()
            .find(|kind| kind.name() == head.text)
            .ok_or_else(|| head.wrong(kinds()))?;
        let guarantee =
            build(kind, &mut Parameters { kind, tokens: parameters, next: 0, end: text.trim_end().len() })?;
        guarantee.check().map_err(|fault| match parameters.get(fault.parameter) {
            Some(token) => token.wrong(fault.expected),
            None => head.wrong(fault.expected),
        })?;
        Ok(guarantee)
    }
}

fn kinds() -> String {
    let names: Vec<&str> = Kind::EVERY.iter().map(|kind| kind.name()).collect();
    format!("a guarantee: {}", names.join(", "))
}

/// Splits at white space and at single commas between parameters.
fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut comma_allowed = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        let offset = text.len() - rest.len();
        if rest.starts_with(',') {
            if !comma_allowed {
                return Err(Token { text: ",", offset }.wrong("a parameter before the comma"));
            }
            comma_allowed = false;
            rest = &rest[1..];
            continue;
        }
        let len = rest.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(rest.len());
        comma_allowed = !tokens.is_empty();
        tokens.push(Token { text: &rest[..len], offset });
        rest = &rest[len..];
    }
    if tokens.len() > 1 && !comma_allowed {
        return Err(Token { text: "", offset: text.trim_end().len() }
            .error("the end".into(), "a parameter after the comma"));
    }
    Ok(tokens)
}

/// The parameters of a guarantee that are still to be read.
struct Parameters<'a> {
    kind: Kind,
    tokens: &'a [Token<'a>],
    next: usize,
    end: usize,
}

impl<'a> Parameters<'a> {
    fn take(&mut self, what: &str) -> Result<Token<'a>, ParseError> {
        let missing = || ParseError {
            offset: self.end,
            len: 0,
            found: "the end".into(),
            expected: format!("{what} for {}", self.kind.name()),
        };
        let token = *self.tokens.get(self.next).ok_or_else(missing)?;
        self.next += 1;
        Ok(token)
    }

    fn number(&mut self, what: &str, quantity: Quantity) -> Result<Rational, ParseError> {
        match quantity {
            Quantity::Time => {
                let token = self.take(&format!("{what}, a time with a unit such as 10ms,"))?;
                token.time(what)
            }
            Quantity::Share => self.take(&format!("{what}, such as 1/10, 0.1 or 10%,"))?.share(what),
            Quantity::Cpus => self.take(what)?.cpus(what),
        }
    }

    fn finish(&self) -> Result<(), ParseError> {
        match self.tokens.get(self.next) {
            None => Ok(()),
            Some(token) => Err(token.wrong(format!(
                "nothing after the {} parameters of {}",
                self.next,
                self.kind.name()
            ))),
        }
    }
}

fn build(kind: Kind, parameters: &mut Parameters) -> Result<Guarantee, ParseError> {
    let numbers: Result<Vec<Rational>, ParseError> =
        kind.parameters().iter().map(|(what, quantity)| parameters.number(what, *quantity)).collect();
    let guarantee = kind.with(&numbers?);
    parameters.finish()?;
    Ok(guarantee.expect("there is a number for each parameter"))
}

fn is_number_char(c: char) -> bool {
    c.is_ascii_digit() || c == '.' || c == '/'
}

/// `12`, `0.125`, `1/3`, `1.5/7`; no signs, no exponents.
fn rational(text: &str) -> Option<Rational> {
    if text.len() > MAX_NUMBER_LEN {
        return None;
    }
    match text.split_once('/') {
        None => decimal(text),
        Some((above, below)) => {
            let below = decimal(below)?;
            if below.is_zero() { None } else { Some(decimal(above)? / below) }
        }
    }
}

fn decimal(text: &str) -> Option<Rational> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let digits: BigInt = format!("{whole}{fraction}").parse().ok()?;
    let scale = BigInt::from(10).pow(u32::try_from(fraction.len()).ok()?);
    Some(Rational::new(digits, scale))
}
