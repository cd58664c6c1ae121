//! Uniformly slower processors: what BSS-I and PShED have in common (HLS section 5.1).
//!
//! EDF over the children's deadlines, and for each child a list of budgets by deadline, so that by each deadline a
//! child has had its rate of the time and can take no more from the others. A child tells its deadlines at run time;
//! one that tells none is given deadlines that are a `period` apart. Below a slower processor the rates are relative to
//! the speed of that processor.

use super::{Instance, Provided};
use crate::derivation::Rule;
use crate::description::WHOLE_RATE;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{Rational, Total, whole};
use num_traits::{One, Signed};

/// RESU to every child if the rates add up to one at most, and nothing to any child if they do not.
pub(super) fn provide(instance: &Instance, rule: Rule) -> Provided {
    let held = match instance.processor() {
        Ok(held) => held,
        Err((needed, found)) => return instance.nothing_because(rule, needed, found),
    };
    let rates: Option<Vec<Rational>> = (0..instance.children.len())
        .map(|child| Some(instance.child_param(child, "rate-ppm")? / whole(WHOLE_RATE)))
        .map(|rate| rate.filter(Rational::is_positive))
        .collect();
    let Some(rates) = rates else {
        return instance.nothing_because(rule, "a rate above 0 for every child", "one without");
    };
    let sum: Total = rates.iter().cloned().collect();
    let shown = format!("the sum of {} rates is {}", rates.len(), sum.percent_ceil());
    if !sum.at_most(&Rational::one()) {
        return instance.nothing_because(rule, "rates of at most 100% together", shown);
    }
    let labels = rates.into_iter().map(|rate| Label {
        deadlines_every: instance.param("period"),
        ..instance.paced(held, Guarantee::Resu { rate }, rule, &shown)
    });
    Provided { labels: labels.collect(), complaints: Vec::new() }
}
