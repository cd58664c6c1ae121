//! The parameters that policies ask for: of their instances, and of each VP that they schedule.
//!
//! Everything here follows what the policies state ([`hls_core::PolicyInfo`]); no policy is known by name.

use crate::diagnostic::{Diagnostic, Refusal, Sink};
use crate::properties::Properties;
use crate::syntax::Property;
use crate::value::{self, LONGEST};
use hls_calculus::{Continuity, Guarantee, time_exact};
use hls_core::{ParamInfo, Unit};
use hls_units::Nanos;
use std::ops::RangeInclusive;

/// The parameters of a reservation that its guarantee states as well.
const BUDGET: &str = "budget";
const PERIOD: &str = "period";

/// What a file asks for on the edge that the parameters are read for.
#[derive(Clone, Copy)]
pub(crate) enum Request<'g> {
    /// Nothing, or the parameters are not an edge's.
    Nothing,
    /// Something that could not be read, and was reported.
    Refused,
    /// This guarantee.
    Guarantee(&'g Guarantee),
}

/// Reads the values of `params`, in their order; defaults where the node gives none. Incomplete after an error.
///
/// A basic reservation as the edge's `guarantee` gives the values of `budget` and `period`, and must not contradict
/// them.
pub(crate) fn read(
    params: &'static [ParamInfo],
    request: Request,
    properties: &mut Properties,
    sink: &mut Sink,
) -> Vec<u64> {
    let values = params.iter().map(|param| {
        let stated = properties.read(param.name, sink, |property| read_one(param, property));
        let implied = implied_by(request, param, properties, sink);
        match (stated, implied) {
            (Some(stated), Some(implied)) if stated != implied => {
                contradiction(param, stated, implied, properties, sink);
                None
            }
            (stated, implied) => stated.or(implied).or(param.default).or_else(|| {
                missing(param, request, properties, sink);
                None
            }),
        }
    });
    values.flatten().collect()
}

/// Which number of a guarantee sets a parameter as well: amount and period of a basic reservation do.
pub fn set_by(guarantee: &Guarantee, param: &str) -> Option<usize> {
    match (guarantee, param) {
        (Guarantee::Reservation { continuity: Continuity::Basic, .. }, BUDGET) => Some(0),
        (Guarantee::Reservation { continuity: Continuity::Basic, .. }, PERIOD) => Some(1),
        _ => None,
    }
}

/// The values that a file may give a parameter.
pub fn range(param: &ParamInfo) -> RangeInclusive<u64> {
    match param.unit {
        Unit::Time => param.min..=param.max.min(LONGEST.0),
        Unit::Count => param.min..=param.max,
    }
}

/// Reads one parameter's value.
fn read_one(param: &ParamInfo, property: &Property) -> Result<u64, Refusal> {
    match param.unit {
        Unit::Time => {
            let range = range(param);
            value::time(property, Nanos(*range.start())..=Nanos(*range.end())).map(|time| time.0)
        }
        Unit::Count => value::whole(property, range(param)),
    }
}

/// The value that a basic reservation gives a parameter: its amount is the budget, its period the period.
fn implied_by(
    request: Request,
    param: &ParamInfo,
    properties: &mut Properties,
    sink: &mut Sink,
) -> Option<u64> {
    let Request::Guarantee(guarantee) = request else {
        return None;
    };
    let exact = guarantee.number(set_by(guarantee, param.name)?)?;
    let range = range(param);
    let nanos =
        Some(exact).filter(|exact| exact.is_integer()).and_then(|exact| exact.to_integer().try_into().ok());
    let value = nanos.filter(|nanos| range.contains(nanos));
    if value.is_none() {
        let place = properties.get("guarantee").map_or(properties.node().span(), |p| p.value.span.clone());
        let found = format!("a guarantee with a {} of {}", param.name, time_exact(exact));
        let expected = format!(
            "a whole number of nanoseconds from {} to {}",
            Nanos(*range.start()),
            Nanos(*range.end())
        );
        sink.add(Diagnostic::error(place, properties.what(), found, expected));
    }
    value
}

/// Reports a value that the guarantee contradicts.
fn contradiction(param: &ParamInfo, stated: u64, implied: u64, properties: &mut Properties, sink: &mut Sink) {
    let place = properties.get(param.name).map_or(properties.node().span(), |p| p.value.span.clone());
    let expected = format!("{}, as the guarantee has it", Nanos(implied));
    let help = format!("the guarantee sets `{}`; leave it out, or leave out the guarantee", param.name);
    let found = Nanos(stated).to_string();
    sink.add(Diagnostic::error(place, format!("property `{}`", param.name), found, expected).help(help));
}

/// Reports a parameter that must be given, unless it, or the guarantee that implies it, was given and refused.
fn missing(param: &ParamInfo, request: Request, properties: &mut Properties, sink: &mut Sink) {
    let has_implied = matches!(param.name, BUDGET | PERIOD);
    let was_refused = match request {
        Request::Refused => has_implied,
        Request::Guarantee(guarantee) => set_by(guarantee, param.name).is_some(),
        Request::Nothing => false,
    };
    if was_refused || properties.get(param.name).is_some() || !properties.node().is_whole {
        return;
    }
    let expected = match param.unit {
        Unit::Time => format!("`{0}`, such as {0}=\"10ms\": {1}", param.name, param.doc),
        Unit::Count => format!("`{0}`, such as {0}={2}: {1}", param.name, param.doc, param.min.max(1)),
    };
    let help = match request {
        Request::Guarantee(_) if has_implied => Some("only RESBH and RESBS state a budget and a period"),
        _ if has_implied => Some("guarantee=\"RESBH 10ms 20ms\" sets both budget and period"),
        _ => None,
    };
    let found = format!("no `{}`", param.name);
    let error = Diagnostic::error(properties.node().span(), properties.what(), found, expected);
    sink.add(error.help(help.map(str::to_owned)));
}
