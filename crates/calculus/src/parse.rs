//! Guarantees from text, such as `RESBH 10ms 33ms` or `PSBE 1/10, 22ms`. Relies on `hls_units` for the units of time.
//! Reads every number exactly; never rounds.

use crate::guarantee::{Guarantee, Kind};
use crate::rational::{Rational, from_nanos};
use hls_units::Nanos;
use num_bigint::BigInt;
use num_traits::Zero;
use std::fmt;

/// Longest number that is read, in bytes.
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
struct Token<'a> {
    text: &'a str,
    offset: usize,
}

impl Token<'_> {
    fn error(self, found: String, expected: impl Into<String>) -> ParseError {
        ParseError { offset: self.offset, len: self.text.len(), found, expected: expected.into() }
    }

    fn wrong(self, expected: impl Into<String>) -> ParseError {
        let shown: String = self.text.chars().take(40).collect();
        self.error(format!("`{shown}`"), expected)
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

/// The parameters that are still to be read.
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

    fn time(&mut self, what: &str) -> Result<Rational, ParseError> {
        let token = self.take(&format!("{what}, a time with a unit such as 10ms,"))?;
        let digits = token.text.find(|c: char| !is_number_char(c)).unwrap_or(token.text.len());
        let (number, unit) = token.text.split_at(digits);
        if number.is_empty() {
            return Err(token.wrong(format!("{what}, a time such as 10ms")));
        }
        if unit.is_empty() {
            return Err(
                token.error(format!("the bare number `{number}`"), "a time with a unit, such as 10ms")
            );
        }
        let unit =
            Nanos::parse(&format!("1{unit}")).map_err(|error| token.error(error.found, error.expected))?;
        let number = rational(number)
            .ok_or_else(|| token.wrong(format!("{what}, a time such as 10ms, 1.5ms or 10/3ms")))?;
        Ok(number * from_nanos(unit))
    }

    fn share(&mut self, what: &str) -> Result<Rational, ParseError> {
        let token = self.take(&format!("{what}, such as 1/10, 0.1 or 10%,"))?;
        let (number, scale) = match token.text.strip_suffix('%') {
            Some(number) => (number, 100),
            None => (token.text, 1),
        };
        let number =
            rational(number).ok_or_else(|| token.wrong(format!("{what}, such as 1/10, 0.1 or 10%")))?;
        Ok(number / Rational::from_integer(BigInt::from(scale)))
    }

    fn cpus(&mut self) -> Result<u16, ParseError> {
        let token = self.take("a number of CPUs")?;
        token.text.parse().map_err(|_| token.wrong(format!("a number of CPUs, from 1 to {}", u16::MAX)))
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
    let guarantee = match kind {
        Kind::All => Guarantee::All,
        Kind::Null => Guarantee::Null,
        Kind::Resu => Guarantee::Resu { rate: parameters.share("a rate")? },
        Kind::Ps => Guarantee::Ps { share: parameters.share("a share")? },
        Kind::Psbe => {
            Guarantee::Psbe { share: parameters.share("a share")?, delta: parameters.time("an error")? }
        }
        Kind::Reservation(continuity, hard) => Guarantee::Reservation {
            continuity,
            hard,
            amount: parameters.time("an amount")?,
            period: parameters.time("a period")?,
        },
        Kind::Edp => Guarantee::Edp {
            period: parameters.time("a period")?,
            amount: parameters.time("an amount")?,
            deadline: parameters.time("a deadline")?,
        },
        Kind::Mpr => Guarantee::Mpr {
            period: parameters.time("a period")?,
            amount: parameters.time("an amount")?,
            cpus: parameters.cpus()?,
        },
    };
    parameters.finish()?;
    Ok(guarantee)
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
