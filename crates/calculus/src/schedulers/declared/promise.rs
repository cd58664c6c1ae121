//! A declared guarantee: its own conditions, and whether what is promised to all children fits the supply above.
//! Relies on the same test as the reservation scheduler. Never claims what no algorithm could keep.

use super::evaluate::{self, Values};
use super::{NOTHING, REFUSED, SOURCE};
use crate::declaration::{Condition, Promise};
use crate::derivation::Rule;
use crate::guarantee::{Continuity, Guarantee};
use crate::label::Label;
use crate::rational::{Rational, Total, percent_ceil, whole};
use crate::rewrite::sum_implies;
use crate::schedulers::claims::carried;
use crate::schedulers::{Complaint, Instance, Provided, Refused};
use crate::work::Work;
use num_traits::{Signed, Zero};

const RULE: Rule = Rule { name: "declared, the policy's word", source: SOURCE };

/// What a child is promised, which is NULL if `for` leaves the child out, and the numbers of the conditions; or the
/// condition that does not hold.
type Verdict = Result<(Guarantee, String), Refused>;

impl Promise {
    pub(super) fn provide(&self, instance: &Instance) -> Provided {
        match self.claim(instance) {
            Ok((verdicts, fit)) => self.provided(instance, verdicts, &fit),
            Err(complaint) => {
                let reason = format!("needs {}, but there is {}", complaint.needed, complaint.found);
                Provided { complaints: vec![complaint], ..instance.nothing(REFUSED, reason) }
            }
        }
    }

    /// A verdict for each child, and why all promises together fit what the scheduler holds; or why no child is
    /// promised anything.
    fn claim(&self, instance: &Instance) -> Result<(Vec<Verdict>, String), Complaint> {
        let of_all = |(needed, found)| Complaint { child: None, needed, found };
        let held = instance.single_vp().map_err(|found| of_all(("one VP a child".to_owned(), found)))?;
        if let Guarantee::Resu { .. } = held.guarantee {
            let needed = "a supply in real time: below RESU only `as POLICY` is analysed".to_owned();
            return Err(of_all((needed, held.absolute().rounded_for_people())));
        }
        let sums = evaluate::sums(&self.sums, instance);
        let values = Values::of(instance, &sums);
        let common = self.conditions.iter().filter(|condition| !condition.of_child);
        let common = all_hold(common, &values).map_err(of_all)?;
        let verdict = |child| self.verdict(child, &common, &values.of_child(child));
        let verdicts = (0..instance.children.len()).map(verdict).collect::<Result<Vec<Verdict>, _>>()?;
        let promised = verdicts.iter().flatten().map(|(guarantee, _)| guarantee);
        let promised: Vec<&Guarantee> = promised.filter(|guarantee| **guarantee != Guarantee::Null).collect();
        let fit = fits(held, &promised, instance.work).map_err(of_all)?;
        Ok((verdicts, fit))
    }

    /// The verdict for one child. Where the child's numbers make no guarantee, it is not known what the child takes
    /// from the others, so that is a complaint about all.
    fn verdict(&self, child: usize, common: &str, values: &Values) -> Result<Verdict, Complaint> {
        if let Err((needed, found)) = all_hold(self.for_children.iter(), values) {
            return Ok(Ok((Guarantee::Null, format!("is for children with {needed}; this one has {found}"))));
        }
        let own = self.conditions.iter().filter(|condition| condition.of_child);
        let own = match all_hold(own, values) {
            Ok(own) => own,
            Err(refused) => return Ok(Err(refused)),
        };
        match self.template.value(values) {
            Ok(guarantee) => Ok(Ok((guarantee, format!("{common}{own}")))),
            Err(found) => {
                let needed = format!("the numbers of {}, as its policy says", self.template.kind.name());
                Err(Complaint { child: Some(child), needed, found })
            }
        }
    }

    fn provided(&self, instance: &Instance, verdicts: Vec<Verdict>, fit: &str) -> Provided {
        let mut provided = Provided { labels: Vec::new(), complaints: Vec::new() };
        for (child, verdict) in verdicts.into_iter().enumerate() {
            let label = match verdict {
                Ok((Guarantee::Null, reason)) => instance.null(NOTHING, format!("{}: {reason}", self.text)),
                Ok((guarantee, numbers)) => {
                    instance.label(guarantee, RULE, format!("{}: {numbers}{fit}", self.text))
                }
                Err((needed, found)) => {
                    let label = instance.null(REFUSED, format!("needs {needed}, but there is {found}"));
                    provided.complaints.push(Complaint { child: Some(child), needed, found });
                    label
                }
            };
            provided.labels.push(label);
        }
        provided
    }
}

/// The numbers of these conditions, each with a `; ` behind it, if all of them hold.
fn all_hold<'c>(conditions: impl Iterator<Item = &'c Condition>, values: &Values) -> Result<String, Refused> {
    conditions.map(|condition| Ok(condition.holds(values)? + "; ")).collect()
}

/// Why these guarantees, each to one child, can all be kept with what is held.
fn fits(held: &Label, promised: &[&Guarantee], work: &Work) -> Result<String, Refused> {
    let supply = held.supply();
    if let [only] = promised {
        let need = anywhere(only);
        let is_carried = supply.sums().iter().any(|sum| sum_implies(sum, &need, &held.derivation).is_some());
        let need = need.rounded_for_people();
        return if is_carried || only.rate().is_zero() {
            Ok(format!("{supply} gives {need}"))
        } else {
            Err((format!("{need} for one child"), supply.to_string()))
        };
    }
    let load: Total = promised.iter().map(|guarantee| guarantee.rate()).collect();
    let sum = load.percent_ceil();
    match promised.iter().filter_map(|guarantee| server_slack(guarantee)).min() {
        Some(start) => carried(&supply, &load, &sum, &start, work),
        None if load.at_most(&supply.rate()) => {
            Ok(format!("U = {sum} <= {} of {supply}", percent_ceil(&supply.rate())))
        }
        None => {
            let needed = format!("a rate of {sum}, which all children are promised together");
            Err((needed, format!("{} of {supply}", percent_ceil(&supply.rate()))))
        }
    }
}

/// The guarantee, or a stronger one, about windows that begin anywhere: a loaded policy does not know the phase of the
/// periods above it.
fn anywhere(guarantee: &Guarantee) -> Guarantee {
    match guarantee {
        Guarantee::Reservation { amount, period, .. } => Guarantee::rescs(amount.clone(), period.clone()),
        Guarantee::Edp { amount, deadline, .. } => Guarantee::rescs(amount.clone(), deadline.clone()),
        _ => guarantee.clone(),
    }
}

/// The y-x of a server with x in every y that is no weaker than the guarantee and has the same rate; `None` where
/// nothing is promised in finite time.
fn server_slack(guarantee: &Guarantee) -> Option<Rational> {
    match guarantee {
        Guarantee::Reservation { continuity: Continuity::Basic, amount, period, .. } => Some(period - amount),
        Guarantee::Edp { amount, deadline, .. } => Some((deadline - amount) / whole(2)),
        Guarantee::Psbe { share, delta } if share.is_positive() => Some(delta / (whole(2) * share)),
        Guarantee::All | Guarantee::Reservation { .. } => Some(Rational::zero()),
        _ => None,
    }
}
