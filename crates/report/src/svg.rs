//! What all pictures share: lengths, colours, names and the marks of an axis. Never uses a float.

use hls_units::Nanos;
use std::fmt;

/// Colours of threads and of the text on them, from the colour-blind-safe palette of Okabe and Ito. Its vermilion is
/// left for misses, and its black for schedulers.
pub(crate) const THREAD_COLOURS: [(&str, &str); 6] = [
    ("#0072b2", "#fff"),
    ("#e69f00", "#000"),
    ("#009e73", "#fff"),
    ("#cc79a7", "#000"),
    ("#56b4e9", "#000"),
    ("#f0e442", "#000"),
];

/// A length in tenths of a pixel.
#[derive(Clone, Copy)]
pub(crate) struct Tenths(pub u64);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 10 {
            0 => write!(f, "{}", self.0 / 10),
            tenth => write!(f, "{}.{tenth}", self.0 / 10),
        }
    }
}

/// Text that XML takes as it stands.
pub(crate) struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\u{fffe}' | '\u{ffff}' => f.write_str("\u{fffd}")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// The round instants in the interval: as many as possible, at most about `most`.
pub(crate) fn ticks(from: Nanos, to: Nanos, most: u64) -> Vec<Nanos> {
    let step = round_step(to.saturating_sub(from).0, most);
    let first = from.0.div_ceil(step);
    let at = |number: u64| number.checked_mul(step).map(Nanos).filter(|&at| at <= to);
    (first..).map_while(at).collect()
}

/// The least round step that fits into the length at most about `most` times.
pub(crate) fn round_step(length: u64, most: u64) -> u64 {
    let mut steps =
        (0..20).flat_map(|power| [1, 2, 5].map(|digit| 10u64.saturating_pow(power).saturating_mul(digit)));
    steps.find(|step| length / step <= most).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let ms = Nanos::from_millis;
        let ticks_ms =
            |from, to| ticks(ms(from), ms(to), 12).iter().map(|at| at.0 / 1_000_000).collect::<Vec<_>>();
        assert_eq!(ticks_ms(0, 200), [0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200]);
        assert_eq!(ticks_ms(1_003, 1_030), [1_005, 1_010, 1_015, 1_020, 1_025, 1_030]);
        assert!(ticks(Nanos::ZERO, Nanos::MAX, 12).len() <= 13);
        assert_eq!(ticks(Nanos(7), Nanos(8), 12), [Nanos(7), Nanos(8)]);
        assert_eq!(ticks(ms(0), ms(42), 5).len(), 5);
    }

    #[test]
    fn names_cannot_end_the_markup() {
        assert_eq!(Escaped("a<b>&\"c\"").to_string(), "a&lt;b&gt;&amp;&quot;c&quot;");
    }
}
