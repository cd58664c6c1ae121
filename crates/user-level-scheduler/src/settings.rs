//! Settings of a policy, by slot, as the environment's `HLS_SETTINGS` has them: `1=3,20ms 2=4,50ms`.

use crate::slots::Slot;

/// The value at this place, from 0 on, of a slot.
pub(crate) fn setting(text: &str, slot: Slot, place: usize) -> Option<u64> {
    let values = text.split_whitespace().filter_map(|one| one.split_once('='));
    let mut values = values.filter(|(of, _)| of.parse() == Ok(slot)).map(|(_, values)| values);
    values.find_map(|values| value(values.split(',').nth(place)?))
}

/// A number, or a time with its unit.
fn value(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[digits..] {
        "" | "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_units_and_places() {
        let text = "0=3ms 1=3,20ms 12=7us,2s,9ns";
        assert_eq!(setting(text, 0, 0), Some(3_000_000));
        assert_eq!(setting(text, 1, 0), Some(3));
        assert_eq!(setting(text, 1, 1), Some(20_000_000));
        assert_eq!(
            [0, 1, 2].map(|place| setting(text, 12, place)),
            [Some(7000), Some(2_000_000_000), Some(9)]
        );
        assert_eq!(setting(text, 1, 2), None);
        assert_eq!(setting(text, 2, 0), None);
        assert_eq!(setting("1=x 1=4h 2", 1, 0), None);
    }
}
