//! What a loaded policy declares of itself, as text in its file, `.accepts` and `.provides`, and what that is once it
//! is read: data. `schedulers/declared/` says what it is worth in a place of a hierarchy.
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
//! nothing is promised, and anything is accepted. A child for which `for` does not hold is promised nothing. Where NULL
//! is accepted, a place that gives nothing promises nothing to any child. A child for which `when` does not hold is
//! refused.
//!
//! RESU cannot be declared (a loaded policy is not told of instants), nor MPR, which no VP has. Relies on the way in
//! which guarantees are read. Never looks at a hierarchy.

mod expression;
mod parser;
mod read;

pub(crate) use expression::{Condition, Expression, Operator, Relation};

use crate::description::Param;
use crate::guarantee::Kind;
use crate::parse::ParseError;
use std::fmt;

/// A policy's name and its parameters.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The policy's name in a hierarchy file.
    pub name: &'static str,
    /// Parameters of an instance.
    pub scheduler_params: Vec<Param>,
    /// Parameters of each VP that an instance schedules.
    pub vp_params: Vec<Param>,
}

impl Signature {
    /// A parameter by its name, and whether it is a parameter of a VP.
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
    /// What is wrong, with its place in the text of that member.
    pub error: ParseError,
}

impl fmt::Display for DeclaredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`.{}`, byte {}: {}", self.member, self.error.offset, self.error)
    }
}

impl std::error::Error for DeclaredError {}

/// What a loaded policy declares that it accepts and provides.
#[derive(Clone, Debug)]
pub struct Declared {
    policy: &'static str,
    /// One of these must be given to the scheduler; anything suffices where the list is empty.
    pub(crate) accepts: Vec<Need>,
    pub(crate) provides: Provides,
}

/// What is promised to the children.
#[derive(Clone, Debug)]
pub(crate) enum Provides {
    Nothing,
    Like(Like),
    Promise(Promise),
}

/// What a scheduler's place must give: a guarantee, or any guarantee of a type.
#[derive(Clone, Debug)]
pub(crate) enum Need {
    Any(Kind),
    This(Template, Vec<Expression>),
}

/// A guarantee with expressions for its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) kind: Kind,
    pub(crate) numbers: Vec<Expression>,
}

impl Declared {
    /// Reads what a policy declares. `others` are the policies that may follow `as`.
    ///
    /// # Errors
    /// The first mistake in each text.
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
}

/// A guarantee to each child.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) template: Template,
    /// Behind `for`: which children have the promise; nothing is promised to the others.
    pub(crate) for_children: Vec<Condition>,
    /// Behind `when`: what must hold for the promise to be given.
    pub(crate) conditions: Vec<Condition>,
    /// The terms of `sum(...)` in the text, each of which is summed over all children.
    pub(crate) sums: Vec<Expression>,
    /// The promise as the policy's file has it.
    pub(crate) text: String,
}

/// The declaration of a policy that it gives what another policy gives.
#[derive(Clone, Debug)]
pub(crate) struct Like {
    /// The other policy.
    pub(crate) policy: &'static str,
    /// Where the parameters of the other policy's instances and VPs come from.
    pub(crate) scheduler_params: Vec<Bound>,
    pub(crate) vp_params: Vec<Bound>,
    /// The declaration as the policy's file has it.
    pub(crate) text: String,
}

/// A parameter of the other policy, and what takes its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
}

/// What takes the place of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    OfScheduler(&'static str),
    OfChild(&'static str),
    Number(u64),
}
