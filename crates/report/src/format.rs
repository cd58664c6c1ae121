//! Numbers as people read them. Integers only; a rounding is in the name.

use hls_units::{Nanos, is_hidden};

/// The units a time is shown in, smallest first, with their length in nanoseconds.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// About three digits, rounded to the nearest: `980us`, `12.3ms`, `30.0s`.
pub fn time_rounded(time: Nanos) -> String {
    if time.0 < 1_000 {
        return if time.0 == 0 { "0".into() } else { format!("{}ns", time.0) };
    }
    for (unit, scale) in &UNITS[1..] {
        for (decimals, parts) in [(2, 100), (1, 10), (0, 1)] {
            let rounded = (u128::from(time.0) * parts + u128::from(*scale) / 2) / u128::from(*scale);
            if rounded < 1_000 {
                return format!("{}{unit}", decimal(rounded, decimals));
            }
        }
    }
    format!("{}s", (u128::from(time.0) + 500_000_000) / 1_000_000_000)
}

/// At most three digits behind the point, rounded down: `168.837ms`.
pub(crate) fn time_floor(time: Nanos) -> String {
    time_exact(Nanos(time.0 - time.0 % step_of(time)))
}

/// At most three digits behind the point, rounded up: `168.838ms`.
pub(crate) fn time_ceil(time: Nanos) -> String {
    time_exact(Nanos(time.0.checked_next_multiple_of(step_of(time)).unwrap_or(time.0)))
}

/// What the third digit behind the point is worth, in nanoseconds.
fn step_of(time: Nanos) -> u64 {
    let fitting = UNITS.iter().rev().find(|(_, scale)| time.0 >= *scale);
    fitting.map_or(1, |(_, scale)| (scale / 1_000).max(1))
}

/// All digits: `4.999999ms`.
pub(crate) fn time_exact(time: Nanos) -> String {
    let fitting = (0..4u32).zip(UNITS).rev().find(|(_, (_, scale))| time.0 >= *scale);
    let Some((thousands, (unit, _))) = fitting else {
        return "0".into();
    };
    let text = decimal(u128::from(time.0), 3 * thousands);
    let text = if thousands > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// `part` of `whole` in per cent, rounded to the nearest tenth; `-` where `whole` is zero.
pub(crate) fn percent_rounded(part: Nanos, whole: Nanos) -> String {
    let (part, whole) = (u128::from(part.0), u128::from(whole.0));
    match (part * 1_000 + whole / 2).checked_div(whole) {
        Some(tenths) => format!("{}%", decimal(tenths, 1)),
        None => "-".into(),
    }
}

/// A count with its thousands set apart: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `number` with a point before its last `decimals` digits.
pub(crate) fn decimal(number: u128, decimals: u32) -> String {
    if decimals == 0 {
        return number.to_string();
    }
    let scale = 10u128.pow(decimals);
    format!("{}.{:0width$}", number / scale, number % scale, width = decimals as usize)
}

/// At most `width` characters of `text`, with an ellipsis where it was longer. Hidden characters are replaced, since
/// a name must not move the cursor, break a line or look like another name.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let clean = text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c });
    if text.chars().count() <= width {
        clean.collect()
    } else {
        clean.take(width.saturating_sub(1)).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_time_has_about_three_digits() {
        for (nanos, text) in [
            (0, "0"),
            (999, "999ns"),
            (1_000, "1.00us"),
            (9_994, "9.99us"),
            (9_995, "10.0us"),
            (999_499, "999us"),
            (999_500, "1.00ms"),
            (12_345_678, "12.3ms"),
            (30_000_000_000, "30.0s"),
            (86_400_000_000_000, "86400s"),
            (u64::MAX, "18446744074s"),
        ] {
            assert_eq!(time_rounded(Nanos(nanos)), text);
        }
    }

    #[test]
    fn an_exact_time_can_be_read_back() {
        for (nanos, text) in [
            (1, "1ns"),
            (1_000, "1us"),
            (4_999_999, "4.999999ms"),
            (10_000_000, "10ms"),
            (100_000_000, "100ms"),
            (1_000_000_001, "1.000000001s"),
        ] {
            assert_eq!(time_exact(Nanos(nanos)), text);
            assert_eq!(Nanos::parse(text), Ok(Nanos(nanos)));
        }
        assert_eq!(time_exact(Nanos::ZERO), "0");
    }

    #[test]
    fn a_time_is_cut_to_three_decimals_on_the_side_that_is_asked_for() {
        for (nanos, down, up) in [
            (0, "0", "0"),
            (999, "999ns", "999ns"),
            (168_837_172, "168.837ms", "168.838ms"),
            (999_999_999, "999.999ms", "1s"),
            (1_999_500_000, "1.999s", "2s"),
            (10_000_000, "10ms", "10ms"),
        ] {
            assert_eq!((time_floor(Nanos(nanos)), time_ceil(Nanos(nanos))), (down.into(), up.into()));
        }
        assert_eq!(time_ceil(Nanos(u64::MAX)), time_exact(Nanos(u64::MAX)));
    }

    #[test]
    fn shares_and_counts() {
        assert_eq!(percent_rounded(Nanos(10), Nanos(33)), "30.3%");
        assert_eq!(percent_rounded(Nanos(2), Nanos(3)), "66.7%");
        assert_eq!(percent_rounded(Nanos(1), Nanos(0)), "-");
        assert_eq!((count(0), count(999), count(1_234_567)), ("0".into(), "999".into(), "1,234,567".into()));
    }

    #[test]
    fn long_and_hostile_names_are_tamed() {
        assert_eq!(shorten("video player", 12), "video player");
        assert_eq!(shorten("video player", 6), "video…");
        assert_eq!(shorten("a\x1b[2J\nb", 20), "a\u{fffd}[2J\u{fffd}b");
    }
}
