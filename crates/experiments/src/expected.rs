//! Reads what an experiment should give: the rows of its `expected.csv` or `kernel.csv`.
//!
//! In such a file `#` begins a comment line, and the first other line names the columns. Commas separate fields, and
//! blanks around a field do not count. Does no IO.

use crate::decimal::Decimal;
use crate::measure::{Measure, Value};
use hls_units::Nanos;
use std::fmt;

/// The columns, in their order.
const COLUMNS: [&str; 7] = ["file", "run", "measure", "of", "source", "expected", "tolerance"];

/// A row: one quantity that is measured in one run, and what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The hierarchy file without its `.kdl`.
    pub file: String,
    /// The length of the run.
    pub run: Nanos,
    /// The quantity that is measured.
    pub measure: Measure,
    /// The name of the thread (all its instances together) or scheduler that is measured; `*`: all of them.
    pub of: String,
    /// Where the expected value comes from: the paper, or a short derivation.
    pub source: String,
    /// The value that is expected.
    pub expected: Value,
    /// How far the measured value may be from the expected one.
    pub tolerance: Tolerance,
}

/// How far a measured value may be from the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerance {
    /// At most this much more or less.
    Within(Decimal),
    /// At most this many times as much, and at least the expected value divided by this.
    Factor(Decimal),
    /// The expected value, or more.
    OrMore,
    /// Exactly the expected value.
    Same,
}

impl Tolerance {
    fn parse(text: &str) -> Option<Tolerance> {
        match text {
            "or more" => Some(Tolerance::OrMore),
            "same" => Some(Tolerance::Same),
            _ => match text.strip_prefix('x') {
                Some(factor) => {
                    Decimal::parse(factor).filter(|factor| *factor >= Decimal(1_000)).map(Tolerance::Factor)
                }
                None => Decimal::parse(text).map(Tolerance::Within),
            },
        }
    }

    /// Whether a measured value is within the tolerance of the expected one.
    pub fn admits(self, expected: &Value, measured: &Value) -> bool {
        let (Value::Number(expected), Value::Number(measured)) = (expected, measured) else {
            return expected == measured;
        };
        let (e, m) = (i128::from(expected.0), i128::from(measured.0));
        match self {
            Tolerance::Within(distance) => (e - m).abs() <= i128::from(distance.0),
            Tolerance::Factor(factor) => {
                let factor = i128::from(factor.0);
                m * 1_000 <= e * factor && e * 1_000 <= m * factor
            }
            Tolerance::OrMore => m >= e,
            Tolerance::Same => m == e,
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Within(distance) => f.pad(&format!("±{distance}")),
            Tolerance::Factor(factor) => f.pad(&format!("x{factor}")),
            Tolerance::OrMore => f.pad("or more"),
            Tolerance::Same => f.pad("same"),
        }
    }
}

/// Reads a table.
///
/// # Errors
/// One message for each line that is wrong.
pub fn read(text: &str) -> Result<Vec<Expectation>, Vec<String>> {
    let is_content = |(_, line): &(usize, &str)| !line.trim().is_empty() && !line.starts_with('#');
    let mut lines = (1..).zip(text.lines()).filter(is_content);
    let head = lines.next().map(|(_, line)| fields(line));
    if head.as_deref() != Some(&COLUMNS) {
        return Err(vec![format!("found no line of columns, expected `{}`", COLUMNS.join(", "))]);
    }
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for (number, line) in lines {
        match expectation(line) {
            Ok(row) => rows.push(row),
            Err(error) => errors.push(format!("line {number}: {error}")),
        }
    }
    if errors.is_empty() { Ok(rows) } else { Err(errors) }
}

fn fields(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

fn expectation(line: &str) -> Result<Expectation, String> {
    let fields = fields(line);
    let [file, run, measure, of, source, expected, tolerance] = fields[..] else {
        return Err(format!("found {} fields, expected {}", fields.len(), COLUMNS.len()));
    };
    let measure = Measure::parse(measure)
        .ok_or_else(|| format!("found the measure `{measure}`, expected {}", Measure::names()))?;
    let tolerance = Tolerance::parse(tolerance).ok_or_else(|| {
        format!("found the tolerance `{tolerance}`, expected a number, x and a factor, `or more` or `same`")
    })?;
    Ok(Expectation {
        file: file.to_owned(),
        run: Nanos::parse(run).map_err(|error| error.to_string())?,
        measure,
        of: of.to_owned(),
        source: source.to_owned(),
        expected: match Decimal::parse(expected) {
            Some(number) if !measure.is_text() => Value::Number(number),
            None if measure.is_text() => Value::Text(expected.to_owned()),
            _ => return Err(format!("found the value `{expected}`, which {} cannot have", measure.name())),
        },
        tolerance,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# a comment\nfile, run, measure, of, source, expected, tolerance\n";

    #[test]
    fn a_table_is_read() {
        let text = format!(
            "{HEAD}a, 10s, share, one, paper, 19.9, 0.5\n\nb, 1s, guarantee, two, paper, PSBE 1/10 22ms, same\n"
        );
        let rows = read(&text).expect("the table is right");
        assert_eq!((rows[0].file.as_str(), rows[0].run), ("a", Nanos::from_secs(10)));
        assert_eq!(rows[0].expected, Value::Number(Decimal(19_900)));
        assert_eq!(rows[1].expected, Value::Text("PSBE 1/10 22ms".into()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for bad in [
            "a, 10s, share, one, paper, 19.9",
            "a, 10, share, one, paper, 19.9, 0.5",
            "a, 10s, weight, one, paper, 19.9, 0.5",
            "a, 10s, share, one, paper, much, 0.5",
            "a, 10s, guarantee, one, paper, 10, same",
            "a, 10s, share, one, paper, 19.9, x0.5",
            "a, 10s, share, one, paper, 19.9, some",
        ] {
            let errors = read(&format!("{HEAD}{bad}\n{bad}")).expect_err(bad);
            assert!(errors.len() == 2 && errors[1].starts_with("line 4: found "), "{errors:?}");
        }
        assert!(read("").is_err());
    }

    #[test]
    fn tolerances_admit_and_refuse() {
        let number = |text: &str| Value::Number(Decimal::parse(text).expect("a number"));
        let admits = |tolerance: &str, expected: &str, measured: &str| {
            Tolerance::parse(tolerance).expect("a tolerance").admits(&number(expected), &number(measured))
        };
        assert!(admits("0.5", "32.6", "33.1") && !admits("0.5", "32.6", "33.101"));
        assert!(admits("0.5", "32.6", "32.1") && !admits("0.5", "32.6", "32.099"));
        assert!(admits("x2", "10", "20") && !admits("x2", "10", "20.001"));
        assert!(admits("x2", "10", "5") && !admits("x2", "10", "4.999"));
        assert!(admits("or more", "10", "11") && !admits("or more", "10", "9.999"));
        assert!(admits("same", "10", "10") && !admits("same", "10", "10.001"));
        assert!(!Tolerance::Same.admits(&Value::Text("NULL".into()), &Value::Text("ALL".into())));
    }
}
