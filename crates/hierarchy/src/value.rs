//! What a property's value says: times, numbers, CPU lists, guarantees. Every refusal points at the part it is about.
//!
//! Relies on `hls_units` and `hls_calculus` to read times and guarantees.

use crate::diagnostic::{Diagnostic, Refusal};
use crate::model::Span as Place;
use crate::syntax::{Property, Value};
use hls_calculus::Guarantee;
use hls_units::Nanos;
use hls_workload::program::Span;
use kdl::KdlValue;
use std::ops::RangeInclusive;

/// The longest time that a file may state: a year. Sums of a few hundred of them still fit 64 bits.
pub(crate) const LONGEST: Nanos = Nanos::from_secs(365 * 24 * 3600);
/// The shortest time above zero that a file may state.
pub(crate) const SHORTEST: Nanos = Nanos(1);
/// Timer interrupts a second that a machine may have: one a microsecond.
pub(crate) const MAX_TICK_HZ: u32 = 1_000_000;

/// A refusal of a property's value, or of the `part` of it.
pub(crate) fn refuse(
    property: &Property,
    part: Place,
    found: String,
    expected: impl Into<String>,
) -> Refusal {
    Box::new(Diagnostic::error(part, format!("property `{}`", property.name.text), found, expected))
}

/// The place of some bytes of a string's content; the whole value, when escapes make that unclear.
fn place_within(value: &Value, text: &str, offset: usize, len: usize) -> Place {
    let plain = value.written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) == Some(text);
    if plain && len > 0 && offset.saturating_add(len) <= text.len() {
        let start = value.span.start + 1 + offset;
        start..start + len
    } else {
        value.span.clone()
    }
}

/// The value in words.
fn in_words(value: &Value) -> String {
    match value.kdl {
        KdlValue::String(_) => format!("the text `{}`", value.written),
        KdlValue::Integer(_) => format!("the bare number `{}`", value.written),
        KdlValue::Float(_) => format!("the fraction `{}`", value.written),
        KdlValue::Bool(_) | KdlValue::Null => format!("`{}`", value.written),
    }
}

/// The value as a text.
pub(crate) fn text<'p>(property: &'p Property, expected: &str) -> Result<&'p str, Refusal> {
    match &property.value.kdl {
        KdlValue::String(text) => Ok(text),
        _ => Err(refuse(property, property.value.span.clone(), in_words(&property.value), expected)),
    }
}

/// A property that is `#true` or `#false`.
pub(crate) fn flag(property: &Property) -> Result<bool, Refusal> {
    match property.value.kdl {
        KdlValue::Bool(flag) => Ok(flag),
        _ => {
            let found = in_words(&property.value);
            Err(refuse(property, property.value.span.clone(), found, "`#true` or `#false`"))
        }
    }
}

/// A whole number.
pub(crate) fn whole(property: &Property, range: RangeInclusive<u64>) -> Result<u64, Refusal> {
    let (value, expected) =
        (&property.value, format!("a whole number from {} to {}", range.start(), range.end()));
    let found = match value.kdl {
        KdlValue::Integer(number) => match u64::try_from(number) {
            Ok(number) if range.contains(&number) => return Ok(number),
            _ => format!("`{}`", value.written),
        },
        _ => in_words(value),
    };
    Err(refuse(property, value.span.clone(), found, expected))
}

/// A time, such as `"10ms"`.
pub(crate) fn time(property: &Property, range: RangeInclusive<Nanos>) -> Result<Nanos, Refusal> {
    let text = text(property, "a time with a unit, such as \"10ms\"")?;
    time_within(property, text, 0, text, &range)
}

/// A time or the two ends of a span of them, such as `"10us..50us"`.
pub(crate) fn span(property: &Property, range: RangeInclusive<Nanos>) -> Result<Span, Refusal> {
    let text = text(property, "a time or a span of times, such as \"10ms\" or \"1ms..5ms\"")?;
    let Some((min_text, max_text)) = text.split_once("..") else {
        return time_within(property, text, 0, text, &range).map(Span::exactly);
    };
    let min = time_within(property, text, 0, min_text, &range)?;
    let max = time_within(property, text, min_text.len() + 2, max_text, &range)?;
    if min > max {
        let found = format!("a span from {min} down to {max}");
        return Err(refuse(property, property.value.span.clone(), found, "the shorter time first"));
    }
    Ok(Span { min, max })
}

/// A time that begins at byte `offset` of the property's `text`.
fn time_within(
    property: &Property,
    text: &str,
    offset: usize,
    part: &str,
    range: &RangeInclusive<Nanos>,
) -> Result<Nanos, Refusal> {
    let place = |at: usize, len: usize| place_within(&property.value, text, offset + at, len);
    let time = Nanos::parse(part)
        .map_err(|error| refuse(property, place(error.offset, error.len), error.found, error.expected))?;
    if range.contains(&time) {
        return Ok(time);
    }
    let expected = format!("a time from {} to {}", range.start(), range.end());
    Err(refuse(property, place(0, part.len()), format!("`{}`", part.trim()), expected))
}

/// A guarantee, such as `"RESBH 10ms 20ms"`.
pub(crate) fn guarantee(property: &Property) -> Result<Guarantee, Refusal> {
    let text = text(property, "a guarantee, such as \"RESBH 10ms 20ms\"")?;
    Guarantee::parse(text).map_err(|error| {
        let place = place_within(&property.value, text, error.offset, error.len);
        refuse(property, place, error.found, error.expected)
    })
}

/// A frequency of timer interrupts, such as `"1024Hz"`.
pub(crate) fn tick(property: &Property) -> Result<u32, Refusal> {
    let expected = format!("a whole frequency from 1Hz to {MAX_TICK_HZ}Hz, such as \"1024Hz\"");
    let text = text(property, &expected)?;
    let hertz = text.strip_suffix("Hz").map(str::trim_end).filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    match hertz.and_then(|hertz| hertz.parse().ok()) {
        Some(hertz @ 1..=MAX_TICK_HZ) => Ok(hertz),
        _ => Err(refuse(property, property.value.span.clone(), in_words(&property.value), expected)),
    }
}

/// A list of CPUs, such as `"0,2-3"`: in rising order, each once.
pub(crate) fn cpu_list(property: &Property, cpus: u16) -> Result<Vec<u16>, Refusal> {
    let text = text(property, "a list of CPUs, such as \"0,2-3\"")?;
    let mut listed = Vec::new();
    let mut offset = 0;
    for part in text.split(',') {
        let place = place_within(&property.value, text, offset, part.len());
        offset += part.len() + 1;
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u16>().ok().filter(|_| !text.contains('+'));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last && last < cpus => listed.extend(first..=last),
            (Some(first), Some(last)) if first <= last => {
                let expected = format!("CPUs from 0 to {}: the machine has {cpus}", cpus - 1);
                return Err(refuse(property, place, format!("CPU {last}"), expected));
            }
            _ => {
                let found =
                    if part.trim().is_empty() { "nothing".into() } else { format!("`{}`", part.trim()) };
                return Err(refuse(property, place, found, "a CPU or a range of CPUs, such as 0 or 2-3"));
            }
        }
    }
    listed.sort_unstable();
    listed.dedup();
    Ok(listed)
}
