//! What the numbers and conditions of a declaration are made of. Relies on exact rationals. Never has a value of its
//! own: that takes an instance.

use crate::rational::Rational;

/// An expression over the parameters of an instance and of one of its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    Number(Rational),
    /// A parameter of the instance.
    OfScheduler(&'static str),
    /// A parameter of the child's VP.
    OfChild(&'static str),
    /// A sum over all children, by its position among the sums of the text.
    Sum(usize),
    Two(Box<Expression>, Operator, Box<Expression>),
}

/// How two numbers make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    AtMost,
    Below,
    AtLeast,
    Above,
}

/// A condition that must hold before anything is promised.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) left: Expression,
    pub(crate) relation: Relation,
    pub(crate) right: Expression,
    /// Whether both sides are times; else both are plain numbers.
    pub(crate) of_times: bool,
    /// Whether the condition is about each child by itself.
    pub(crate) of_child: bool,
    /// The condition as the policy's file has it.
    pub(crate) text: String,
}

impl Relation {
    pub(crate) const EVERY: [Relation; 4] =
        [Relation::AtMost, Relation::Below, Relation::AtLeast, Relation::Above];

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Relation::AtMost => "<=",
            Relation::Below => "<",
            Relation::AtLeast => ">=",
            Relation::Above => ">",
        }
    }
}
