//! The periods that `hls fit` tries, as its argument names them.

use hls_units::Nanos;

/// The periods that are tried: one, or all multiples of a time up to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Periods(pub Vec<Nanos>);

/// Reads `5ms` or `1ms..100ms`.
pub fn periods(text: &str) -> Result<Periods, String> {
    const MOST: u64 = 1_000;
    let parse = |text| Nanos::parse(text).map_err(|error| error.to_string());
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (parse(from)?, parse(to)?);
    let expected = "expected a period such as 5ms, or FROM..TO for every multiple of FROM up to TO";
    if from == Nanos::ZERO || from > to {
        return Err(format!("found `{text}`, {expected}"));
    }
    let multiples = to.0 / from.0;
    if multiples > MOST {
        return Err(format!("found {multiples} multiples of {from} up to {to}, expected at most {MOST}"));
    }
    Ok(Periods((1..=multiples).map(|n| Nanos(n * from.0)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_or_refused() {
        assert_eq!(periods("5ms"), Ok(Periods(vec![Nanos::from_millis(5)])));
        let three = [2, 4, 6].map(Nanos::from_millis).to_vec();
        assert_eq!(periods("2ms..7ms"), Ok(Periods(three)));
        for bad in ["", "5", "0s", "2ms..1ms", "1us..1s", "1ms..", "0s..1ms"] {
            assert!(periods(bad).is_err(), "{bad}");
        }
    }
}
