//! The numbers in a hierarchy file that its author can change one at a time, for the search for the smallest mend.
//!
//! Relies on the registry of policies for the values that the reader accepts. Changes nothing itself.

use crate::analysis::Input;
use crate::model::{Edge, Hierarchy};
use crate::params::{range, set_by};
use crate::value::LONGEST;
use hls_calculus::{Guarantee, Owner, Rational, Setting};
use hls_core::pages::{CHILD, SLOT};
use hls_core::{ParamInfo, Unit};

/// A parameter that is zero where a file leaves it out (a warp) is changed by whole microseconds.
const FIRST_STEP_NS: u64 = 1_000;
/// The finest share that a need is changed by, as parts of one.
const SHARE_GRAINS: u64 = 1_000_000;

/// Every number that one change in the file can change, with the values that the reader accepts: first the schedulers'
/// numbers, then the edges' numbers, each in the order of `hierarchy`, from which `input` was made.
pub fn settings(hierarchy: &Hierarchy, input: &Input) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (at, scheduler) in hierarchy.schedulers.iter().enumerate() {
        for (info, value) in scheduler.policy.scheduler_params.iter().zip(&scheduler.params) {
            settings.push(of_param(Owner::Scheduler(at), info, *value, None));
        }
    }
    let mut first = 0;
    for instances in input.origins.chunk_by(|one, next| one.edge == next.edge) {
        let owner = Owner::Edges(first..first + instances.len());
        first += instances.len();
        of_edge(hierarchy, hierarchy.edge(instances[0].edge), &owner, &mut settings);
    }
    settings
}

/// The parameters of an edge, and the numbers of its guarantee that set no parameter.
fn of_edge(hierarchy: &Hierarchy, edge: &Edge, owner: &Owner, settings: &mut Vec<Setting>) {
    let policy = edge.parent.map(|parent| &hierarchy.schedulers[parent].policy);
    let infos = policy.map_or(&[][..], |policy| &policy.vp_params);
    let mut of_vp = of_vp(owner, infos, &edge.params, edge.requested.as_ref());
    if policy.is_some_and(|policy| policy.properties.has_pages) {
        // These numbers say which child it is, not what it gets.
        of_vp.retain(|setting| !matches!(setting.param.as_deref(), Some(SLOT | CHILD)));
    }
    settings.extend(of_vp);
}

/// The parameters of a VP, and the numbers of its requested guarantee that set no parameter.
pub fn of_vp(owner: &Owner, infos: &[ParamInfo], values: &[u64], asked: Option<&Guarantee>) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut setting_one = Vec::new();
    for (info, value) in infos.iter().zip(values) {
        let asked = asked.and_then(|asked| set_by(asked, info.name));
        setting_one.extend(asked);
        settings.push(of_param(owner.clone(), info, *value, asked));
    }
    if let Some(asked) = asked {
        let numbers = (0..).take_while(|number| asked.number(*number).is_some());
        let needs = numbers.filter(|number| !setting_one.contains(number));
        settings.extend(needs.map(|number| of_need(owner.clone(), asked, number)));
    }
    settings
}

fn of_param(owner: Owner, info: &ParamInfo, value: u64, asked: Option<usize>) -> Setting {
    let range = range(info);
    let grain = if info.unit == Unit::Time && value == 0 { FIRST_STEP_NS } else { 1 };
    Setting {
        owner,
        param: Some(info.name.to_owned()),
        asked,
        range: whole(*range.start())..=whole(*range.end()),
        grain: whole(grain),
    }
}

fn of_need(owner: Owner, asked: &Guarantee, number: usize) -> Setting {
    let is_share = match asked {
        Guarantee::Psbe { .. } => number == 0,
        Guarantee::Resu { .. } | Guarantee::Ps { .. } => true,
        _ => false,
    };
    let (most, grain) =
        if is_share { (whole(1), whole(1) / whole(SHARE_GRAINS)) } else { (whole(LONGEST.0), whole(1)) };
    Setting { owner, param: None, asked: Some(number), range: grain.clone()..=most, grain }
}

fn whole(number: u64) -> Rational {
    Rational::from_integer(number.into())
}
