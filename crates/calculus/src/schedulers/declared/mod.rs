//! Promises that a loaded policy declares of itself, as text in its file: `.accepts` and `.provides`.
//!
//! ```text
//! provides  = "as" POLICY [ "with" NAME "=" VALUE { "," NAME "=" VALUE } ]
//!           | guarantee [ "for" conditions ] [ "when" conditions ]
//! accepts   = guarantee { "or" guarantee }           the numbers may be left out: any of that type
//! guarantee = TYPE expression...                     as in hierarchy files: RESBS budget period
//!           | "sbf" "(" delay "," rate ")"           sbf(t) >= rate * (t - delay), that is PSBE rate, rate * delay
//! conditions = condition { "and" condition }
//! condition = expression ( "<=" | "<" | ">=" | ">" ) expression
//! ```
//! Expressions are made of numbers as in guarantees, the names of the policy's parameters (of a VP first, then of the
//! scheduler), `+ - * /`, parentheses and `sum(...)` over all children. Times and plain numbers do not mix. No text:
//! nothing is promised, and anything is accepted. A child for which `for` does not hold is promised nothing, and so is
//! everybody at a place that gives nothing, where NULL is accepted; one for which `when` does not hold is refused.
//!
//! Trusted is the policy's word that its algorithm delivers what it declares, where its own `when` holds and its place
//! gives what it accepts (a whole CPU, where a guarantee is declared and nothing else said). The monitor watches it as
//! any other promise. Checked is all three of these, and that the promises can be kept at all:
//! - `as POLICY`: the analysis of that policy, with its parameters as they are given.
//! - a guarantee to one child: the supply above implies it, wherever a window begins.
//! - guarantees to several: EDF over servers would keep them on the same supply, by the test of `reservation.rs`, with
//!   U the sum of their rates. What is no basic reservation is counted as one that is no weaker: sbf(t) <= s*(t - d)
//!   is kept by a server with x/y = s and y-x = d/2 (HLS, Theorem 4). For PSBE d is delta/s, for EDP the deadline less
//!   the amount, for continuous reservations nothing.
//!
//! Nothing declared reaches beyond the policy's own children: it counts as no limit for their siblings above, and
//! resumes nothing. RESU cannot be declared (nobody tells a loaded policy of instants), nor MPR, which no VP has.

mod expression;
mod like;
mod promise;
mod read;

use super::{Instance, Param, Provided, Refused, Slot};
use crate::derivation::Rule;
use crate::guarantee::{Guarantee, Kind};
use crate::label::Label;
use crate::parse::ParseError;
use crate::rewrite::rewrite;
use expression::{Expression, Values};
use like::Like;
use promise::Promise;
use std::fmt;

const SOURCE: &str = "the policy's file";
const NOTHING: Rule = Rule { name: "nothing declared", source: SOURCE };
const REFUSED: Rule = Rule { name: "declared, refused", source: SOURCE };

/// A policy's name and its parameters.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name in a hierarchy file.
    pub name: &'static str,
    /// Parameters of an instance.
    pub scheduler_params: Vec<Param>,
    /// Parameters of each VP that an instance schedules.
    pub vp_params: Vec<Param>,
}

impl Signature {
    /// A parameter by its name, and whether it is that of a VP.
    fn param(&self, name: &str) -> Option<(Param, bool)> {
        let find = |params: &[Param]| params.iter().find(|param| param.name == name).copied();
        let of_vp = find(&self.vp_params).map(|param| (param, true));
        of_vp.or_else(|| find(&self.scheduler_params).map(|param| (param, false)))
    }

    /// The names of all parameters, for people.
    fn names(&self) -> String {
        let params = self.vp_params.iter().chain(&self.scheduler_params);
        let names: Vec<String> = params.map(|param| format!("`{}`", param.name)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

/// Why a policy's declarations cannot be read: which text, and the place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredError {
    /// The member of the policy's description: `accepts` or `provides`.
    pub member: &'static str,
    /// What is wrong, with its place in that text.
    pub error: ParseError,
}

impl fmt::Display for DeclaredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`.{}`, byte {}: {}", self.member, self.error.offset, self.error)
    }
}

impl std::error::Error for DeclaredError {}

/// What a loaded policy accepts and provides, as it says itself.
#[derive(Clone, Debug)]
pub struct Declared {
    policy: &'static str,
    /// Any of these will do; everything does where there is none.
    accepts: Vec<Need>,
    provides: Provides,
}

/// What is promised to the children.
#[derive(Clone, Debug)]
enum Provides {
    Nothing,
    Like(Like),
    Promise(Promise),
}

/// What a place may have to give: a guarantee, or any of a type.
#[derive(Clone, Debug)]
enum Need {
    Any(Kind),
    This(Template, Vec<Expression>),
}

/// A guarantee with expressions for its numbers.
#[derive(Clone, Debug)]
struct Template {
    kind: Kind,
    numbers: Vec<Expression>,
}

impl Template {
    /// The guarantee, or why it is none.
    fn value(&self, values: &Values) -> Result<Guarantee, String> {
        let numbers =
            self.numbers.iter().map(|number| number.value(values)).collect::<Result<Vec<_>, _>>()?;
        let guarantee = self.kind.with(&numbers).ok_or("a number of CPUs that is none")?;
        match guarantee.check() {
            Ok(()) => Ok(guarantee),
            Err(fault) => Err(format!("{guarantee}, and {} is needed", fault.expected)),
        }
    }
}

impl Declared {
    /// Reads what a policy declares; `others`: the policies that it may say it is like.
    ///
    /// # Errors
    /// The first that is wrong in each text.
    pub fn read(
        policy: &Signature,
        others: &[Signature],
        accepts: Option<&str>,
        provides: Option<&str>,
    ) -> Result<Declared, Vec<DeclaredError>> {
        let of = |member| move |error| DeclaredError { member, error };
        let accepted =
            accepts.map_or(Ok(Vec::new()), |text| read::accepts(text, policy)).map_err(of("accepts"));
        let provided = provides
            .map_or(Ok(Provides::Nothing), |text| read::provides(text, policy, others))
            .map_err(of("provides"));
        match (accepted, provided) {
            (Ok(_), Ok(provides @ Provides::Promise(_))) if accepts.is_none() => {
                Ok(Declared { policy: policy.name, accepts: vec![Need::Any(Kind::All)], provides })
            }
            (Ok(accepts), Ok(provides)) => Ok(Declared { policy: policy.name, accepts, provides }),
            (accepted, provided) => Err(accepted.err().into_iter().chain(provided.err()).collect()),
        }
    }

    /// The policy's name.
    pub fn policy(&self) -> &'static str {
        self.policy
    }

    /// The labels of an instance's children.
    pub(crate) fn provide(&self, instance: &Instance) -> Provided {
        // In no place, and without children: it is about to be destroyed.
        if instance.held.is_empty() && instance.children.is_empty() {
            return instance.nothing(NOTHING, "it is in no place");
        }
        if let Err((needed, found)) = self.accepted(instance) {
            return instance.nothing_because(REFUSED, needed, found);
        }
        let is_none = |slot: &Slot| slot.label.guarantee == Guarantee::Null;
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
                let need = template.value(&Values::of(instance, &expression::sums(sums, instance)));
                match need {
                    Ok(need) => held.satisfies(&need).is_ok(),
                    // Without children the sums over them are nothing, and so is what is needed.
                    Err(_) => instance.children.is_empty() && gives_some(held, template.kind),
                }
            }
        }
    }

    fn shown(&self, instance: &Instance) -> String {
        match self {
            Need::Any(kind) => kind.name().to_owned(),
            Need::This(template, sums) => {
                let need = template.value(&Values::of(instance, &expression::sums(sums, instance)));
                need.map_or_else(|reason| reason, |need| need.rounded_for_people())
            }
        }
    }
}

/// Whether what is held gives anything of this type.
fn gives_some(held: &Label, kind: Kind) -> bool {
    match kind {
        // A supply in finite time gives some reservation, and some PSBE.
        Kind::Reservation(_, false) | Kind::Edp | Kind::Psbe => held.supply().bounded().is_some(),
        _ => rewrite(&held.guarantee, kind).is_some(),
    }
}

#[cfg(test)]
mod tests;
