//! Parameters of schedulers and VPs from the texts of a request, in the notation of hierarchy files.
//!
//! Relies on the policies' parameter lists; knows no policy by name. Ignores nothing: a text that was not read is an
//! error.

use crate::error::Error;
use hls_calculus::{Guarantee, time_exact};
use hls_client::Texts;
use hls_core::{ParamInfo, Unit};
use hls_hierarchy::params::{range, set_by};
use hls_units::Nanos;
use std::collections::BTreeSet;

/// The name under which a request states a guarantee among its parameters, as a file does.
const GUARANTEE: &str = "guarantee";

/// The same for the CPUs that a new scheduler may hold at once.
const WIDTH: &str = "width";

/// The texts of a request while they are read.
pub(crate) struct Reader<'t> {
    texts: &'t Texts,
    known: BTreeSet<&'static str>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(texts: &'t Texts) -> Reader<'t> {
        Reader { texts, known: BTreeSet::new() }
    }

    /// The guarantee that is asked for, if one is.
    pub(crate) fn guarantee(&mut self) -> Result<Option<Guarantee>, Error> {
        self.known.insert(GUARANTEE);
        self.texts.get(GUARANTEE).map(|text| guarantee(text)).transpose()
    }

    /// The requested number of VPs of a scheduler below one that holds `held`, if the request states it.
    pub(crate) fn width(&mut self, held: u16) -> Result<Option<u16>, Error> {
        self.known.insert(WIDTH);
        let Some(text) = self.texts.get(WIDTH) else { return Ok(None) };
        match whole(text) {
            Some(width) if (1..=held.into()).contains(&width) => Ok(Some(width as u16)),
            _ => bad(format!(
                "parameter `{WIDTH}`: found {text}, expected 1 to {held}, which is what its place may hold"
            )),
        }
    }

    /// The values of `infos` in their order: as stated, as `need` sets them, or the defaults.
    pub(crate) fn values(
        &mut self,
        infos: &'static [ParamInfo],
        need: Option<&Guarantee>,
    ) -> Result<Vec<u64>, Error> {
        self.known.extend(infos.iter().map(|info| info.name));
        infos.iter().map(|info| self.value(info, need)).collect()
    }

    fn value(&self, info: &ParamInfo, need: Option<&Guarantee>) -> Result<u64, Error> {
        let stated = self.texts.get(info.name).map(|text| value(info, text)).transpose()?;
        let implied = need.map(|need| implied(info, need)).transpose()?.flatten();
        match (stated, implied) {
            (Some(stated), Some(implied)) if stated != implied => bad(format!(
                "parameter `{}`: found {}, expected {}, as the guarantee has it",
                info.name,
                shown(info, stated),
                shown(info, implied)
            )),
            _ => stated.or(implied).or(info.default).ok_or_else(|| {
                Error::BadValue(format!("found no `{}`, expected one: {}", info.name, info.doc))
            }),
        }
    }

    /// Refuses texts that were not read.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.texts.keys().find(|name| !self.known.contains(name.as_str())) {
            None => Ok(()),
            Some(unknown) => {
                let known: Vec<String> = self.known.iter().map(|name| format!("`{name}`")).collect();
                bad(format!("found the parameter `{unknown}`, expected one of {}", known.join(", ")))
            }
        }
    }
}

/// A guarantee from text.
pub(crate) fn guarantee(text: &str) -> Result<Guarantee, Error> {
    Guarantee::parse(text).map_err(|error| Error::BadValue(format!("guarantee: {error}")))
}

/// One value from text: a time with its unit, or a whole number.
pub(crate) fn value(info: &ParamInfo, text: &str) -> Result<u64, Error> {
    let refuse = |reason: String| bad(format!("parameter `{}`: {reason}", info.name));
    let number = match info.unit {
        Unit::Time => match Nanos::parse(text) {
            Ok(time) => time.0,
            Err(error) => return refuse(error.to_string()),
        },
        Unit::Count => match whole(text) {
            Some(number) => number,
            None => return refuse(format!("found `{text}`, expected a whole number")),
        },
    };
    let range = range(info);
    if range.contains(&number) {
        return Ok(number);
    }
    let (least, most) = (shown(info, *range.start()), shown(info, *range.end()));
    refuse(format!("found {}, expected {least} to {most}", shown(info, number)))
}

fn whole(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The value that a guarantee gives a parameter.
fn implied(info: &ParamInfo, need: &Guarantee) -> Result<Option<u64>, Error> {
    let Some(exact) = set_by(need, info.name).and_then(|number| need.number(number)) else {
        return Ok(None);
    };
    let whole = Some(exact).filter(|exact| exact.is_integer());
    let value = whole.and_then(|exact| exact.to_integer().try_into().ok());
    let range = range(info);
    if let Some(value) = value.filter(|value| range.contains(value)) {
        return Ok(Some(value));
    }
    let (least, most) = (shown(info, *range.start()), shown(info, *range.end()));
    bad(format!("guarantee: found a {} of {}, expected {least} to {most}", info.name, time_exact(exact)))
}

/// A value as a file has it.
pub(crate) fn shown(info: &ParamInfo, value: u64) -> String {
    match info.unit {
        Unit::Time => Nanos(value).to_string(),
        Unit::Count => value.to_string(),
    }
}

fn bad<T>(reason: String) -> Result<T, Error> {
    Err(Error::BadValue(reason))
}
