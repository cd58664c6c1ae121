//! What the declaration of a loaded policy is worth at a scheduler's place in a hierarchy.
//!
//! The calculus trusts that the policy's algorithm delivers what it declares, where its own `when` holds and its place
//! gives what it accepts (a whole CPU, where a guarantee is declared and `accepts` is empty); a run watches such
//! promises like any others. The calculus checks `when`, what the place gives, and that the promises can be kept at
//! all:
//! - `as POLICY`: the analysis of that policy, with its parameters as they are given.
//! - a guarantee to one child: the supply above implies it, wherever a window begins.
//! - guarantees to several: EDF over servers would keep them on the same supply, by the test of `reservation.rs`, with
//!   U the sum of their rates. What is no basic reservation is counted as one that is no weaker: sbf(t) <= s*(t - d)
//!   is kept by a server with x/y = s and y-x = d/2 (HLS, Theorem 4). For PSBE d is delta/s, for EDP the deadline less
//!   the amount, for continuous reservations nothing.
//!
//! A declaration is about the policy's own children only: it limits nothing for siblings of the policy's scheduler, and
//! its guarantees do not resume below a join (see `join.rs`).

mod evaluate;
mod like;
mod promise;

use super::{HeldVps, Instance, Provided, Refused};
use crate::declaration::{Declared, Need, Provides};
use crate::derivation::Rule;
use crate::guarantee::{Guarantee, Kind};
use crate::label::Label;
use crate::rewrite::{rewrite, steps_to_compare};
use evaluate::Values;

const SOURCE: &str = "the policy's file";
const NOTHING: Rule = Rule { name: "nothing declared", source: SOURCE };
const REFUSED: Rule = Rule { name: "declared, refused", source: SOURCE };

impl Declared {
    /// The labels of an instance's children.
    pub(crate) fn provide(&self, instance: &Instance) -> Provided {
        // A scheduler without parent and children is about to be destroyed.
        if instance.held.is_empty() && instance.children.is_empty() {
            return instance.nothing(NOTHING, "it is in no place");
        }
        if let Err((needed, found)) = self.accepted(instance) {
            return instance.nothing_because(REFUSED, needed, found);
        }
        let is_none = |slot: &HeldVps| slot.label.guarantee == Guarantee::Null;
        let may_be_none = self.accepts.iter().any(|need| matches!(need, Need::Any(Kind::Null)));
        if may_be_none && instance.held.iter().all(is_none) {
            return instance.nothing(NOTHING, "its place promises nothing, which it accepts");
        }
        match &self.provides {
            Provides::Nothing => instance.nothing(NOTHING, "its file promises nothing"),
            Provides::Like(like) => like.provide(instance),
            Provides::Promise(promise) => promise.provide(instance),
        }
    }

    /// Whether the place gives something that is accepted.
    fn accepted(&self, instance: &Instance) -> Result<(), Refused> {
        let given = |need: &Need| instance.held.iter().any(|slot| need.is_met(slot.label, instance));
        if self.accepts.is_empty() || self.accepts.iter().any(given) {
            return Ok(());
        }
        let needed: Vec<String> = self.accepts.iter().map(|need| need.shown(instance)).collect();
        let held: Vec<String> =
            instance.held.iter().map(|slot| slot.label.absolute().rounded_for_people()).collect();
        let found = if held.is_empty() { "nothing".to_owned() } else { held.join(" and ") };
        Err((format!("{}, which is all that it accepts", needed.join(" or ")), found))
    }
}

impl Need {
    fn is_met(&self, held: &Label, instance: &Instance) -> bool {
        match self {
            Need::Any(kind) => gives_some(held, *kind),
            Need::This(template, sums) => {
                let need = template.value(&Values::of(instance, &evaluate::sums(sums, instance)));
                match need {
                    Ok(need) => {
                        let steps = steps_to_compare(&held.guarantee, &need);
                        instance.work.take(steps) && held.satisfies(&need).is_ok()
                    }
                    // Without children sums over them are zero, and the numbers may make no guarantee.
                    Err(_) => instance.children.is_empty() && gives_some(held, template.kind),
                }
            }
        }
    }

    fn shown(&self, instance: &Instance) -> String {
        match self {
            Need::Any(kind) => kind.name().to_owned(),
            Need::This(template, sums) => {
                let need = template.value(&Values::of(instance, &evaluate::sums(sums, instance)));
                need.map_or_else(|reason| reason, |need| need.rounded_for_people())
            }
        }
    }
}

/// Whether what is held gives some guarantee of this type.
fn gives_some(held: &Label, kind: Kind) -> bool {
    match kind {
        // A supply in finite time gives some reservation, and some PSBE.
        Kind::Reservation(_, false) | Kind::Edp | Kind::Psbe => held.supply().bounded().is_some(),
        _ => rewrite(&held.guarantee, kind).is_some(),
    }
}

#[cfg(test)]
mod tests;
