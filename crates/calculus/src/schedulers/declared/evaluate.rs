//! The values of a declaration's expressions for an instance and its children. Relies on exact rationals. Never rounds,
//! and never panics: what has no value says why.

use crate::declaration::{Condition, Expression, Operator, Relation, Template};
use crate::guarantee::Guarantee;
use crate::rational::{Rational, Total, share_floor, time_ceil, whole};
use crate::schedulers::Instance;
use num_traits::Zero;

/// The values that names have in an expression. Sums are worked out once for all children.
pub(super) struct Values<'a> {
    instance: &'a Instance<'a>,
    child: Option<usize>,
    sums: &'a [Result<Rational, String>],
}

impl<'a> Values<'a> {
    /// The values for an instance, outside of all children.
    pub(super) fn of(instance: &'a Instance<'a>, sums: &'a [Result<Rational, String>]) -> Values<'a> {
        Values { instance, child: None, sums }
    }

    /// The values for one of the children.
    pub(super) fn of_child(&self, child: usize) -> Values<'a> {
        Values { child: Some(child), ..*self }
    }
}

impl Expression {
    /// The value of the expression, or why there is none.
    pub(super) fn value(&self, values: &Values) -> Result<Rational, String> {
        let missing = |name: &str| format!("no value for `{name}`");
        match self {
            Expression::Number(number) => Ok(number.clone()),
            Expression::OfScheduler(name) => values.instance.param(name).ok_or_else(|| missing(name)),
            Expression::OfChild(name) => {
                let value = values.child.and_then(|child| values.instance.child_param(child, name));
                value.ok_or_else(|| missing(name))
            }
            Expression::Sum(at) => values.sums.get(*at).cloned().unwrap_or_else(|| Err(missing("sum"))),
            Expression::Two(left, operator, right) => {
                let (left, right) = (left.value(values)?, right.value(values)?);
                match operator {
                    Operator::Plus => Ok(left + right),
                    Operator::Minus => Ok(left - right),
                    Operator::Times => Ok(left * right),
                    Operator::Over if right.is_zero() => Err("a division by zero".into()),
                    Operator::Over => Ok(left / right),
                }
            }
        }
    }
}

/// The sums of a text, each over every VP of every child.
pub(super) fn sums(terms: &[Expression], instance: &Instance) -> Vec<Result<Rational, String>> {
    let no_child = Values::of(instance, &[]);
    let sum = |term: &Expression| {
        let of_child =
            |(child, vps): (usize, u16)| Ok(term.value(&no_child.of_child(child))? * whole(vps.into()));
        let vps = instance.children.iter().map(|edge| edge.width.max(1)).enumerate();
        vps.map(of_child)
            .collect::<Result<Total, String>>()?
            .value()
            .ok_or_else(|| "a sum of too many different fractions".to_owned())
    };
    terms.iter().map(sum).collect()
}

impl Condition {
    /// Both sides with their numbers, if the condition holds; else what is needed and what there is instead.
    pub(super) fn holds(&self, values: &Values) -> Result<String, (String, String)> {
        let needed = || format!("`{}`, as its policy says", self.text);
        let no_value = |reason| (needed(), reason);
        let left = self.left.value(values).map_err(no_value)?;
        let right = self.right.value(values).map_err(no_value)?;
        let show = if self.of_times { time_ceil } else { share_floor };
        let (holds, not) = match self.relation {
            Relation::AtMost => (left <= right, ">"),
            Relation::Below => (left < right, ">="),
            Relation::AtLeast => (left >= right, "<"),
            Relation::Above => (left > right, "<="),
        };
        let (left, right) = (show(&left), show(&right));
        if holds {
            Ok(format!("{} {} {}", left, self.relation.symbol(), right))
        } else {
            Err((needed(), format!("{left} {not} {right}")))
        }
    }
}

impl Template {
    /// The guarantee with the values of its numbers, or why these make none.
    pub(super) fn value(&self, values: &Values) -> Result<Guarantee, String> {
        let numbers =
            self.numbers.iter().map(|number| number.value(values)).collect::<Result<Vec<_>, _>>()?;
        let guarantee = self.kind.with(&numbers).ok_or("a number of CPUs that is none")?;
        match guarantee.check() {
            Ok(()) => Ok(guarantee),
            Err(fault) => Err(format!("{guarantee}, and {} is needed", fault.expected)),
        }
    }
}
