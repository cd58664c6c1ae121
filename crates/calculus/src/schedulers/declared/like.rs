//! `as POLICY`: the analysis of another policy, whose parameters have other names or fixed values. Relies on that
//! analysis. Never adds to it.

use super::read::{self, Parser};
use super::{SOURCE, Signature};
use crate::derivation::{Derivation, Rule};
use crate::graph::Edge;
use crate::guarantee::Guarantee;
use crate::parse::ParseError;
use crate::schedulers::{self, Entry, Instance, Param, Provided, Unit};
use hls_units::Nanos;
use num_traits::ToPrimitive;
use std::sync::Arc;

const RULE: Rule = Rule { name: "declared, the policy's word that it is alike", source: SOURCE };

/// A policy that says that it gives what another gives.
#[derive(Clone, Debug)]
pub(super) struct Like {
    pub(super) entry: &'static Entry,
    /// Where the parameters of that one's instances and VPs come from.
    pub(super) scheduler_params: Vec<Bound>,
    pub(super) vp_params: Vec<Bound>,
    /// As it is written.
    pub(super) text: String,
}

/// A parameter of the other policy, and what stands for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) name: &'static str,
    pub(super) value: Value,
}

/// What stands for a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    OfScheduler(&'static str),
    OfChild(&'static str),
    Number(u64),
}

type Params = Vec<(String, u64)>;

impl Like {
    /// Reads what follows `as`: a policy, and what stands for its parameters. For one that is not mentioned stands the
    /// policy's own of the same name, if it has one, or else the default.
    pub(super) fn read(parser: &mut Parser, others: &[Signature]) -> Result<Like, ParseError> {
        let head = parser.peek();
        let other = others.iter().find(|other| other.name == head.text);
        let Some((other, entry)) = other.and_then(|other| Some((other, schedulers::find(other.name)?)))
        else {
            let names: Vec<&str> = others.iter().map(|other| other.name).collect();
            return Err(parser.wrong(format!("a policy that has an analysis: {}", names.join(", "))));
        };
        parser.skip();
        let mut given: Vec<Bound> = Vec::new();
        let mut more = parser.takes("with");
        while more {
            given.push(binding(parser, other, &given)?);
            more = parser.takes(",");
        }
        parser.end(if given.is_empty() { "`with`, or the end" } else { "`,`, or the end" })?;
        let bind = |params: &[Param], of_vp| -> Result<Vec<Bound>, ParseError> {
            let one = |param: &Param| {
                let given = given.iter().find(|bound| bound.name == param.name).copied();
                given.or_else(|| unmentioned(parser, param, of_vp)).ok_or_else(|| {
                    let expected = format!("`with {} = ...`, a parameter or a number", param.name);
                    head.error(format!("nothing for `{}` of `{}`", param.name, other.name), expected)
                })
            };
            params.iter().map(one).collect()
        };
        Ok(Like {
            entry,
            scheduler_params: bind(&other.scheduler_params, false)?,
            vp_params: bind(&other.vp_params, true)?,
            text: parser.text.trim().to_owned(),
        })
    }

    pub(super) fn provide(&self, instance: &Instance) -> Provided {
        let params = renamed(&self.scheduler_params, instance.params, &[]);
        let of_child = |edge: &&Edge| Edge {
            params: renamed(&self.vp_params, instance.params, &edge.params),
            ..(*edge).clone()
        };
        let edges: Vec<Edge> = instance.children.iter().map(of_child).collect();
        let other = Instance {
            params: &params,
            held: instance.held.clone(),
            children: edges.iter().collect(),
            names: instance.names.clone(),
            cpus: instance.cpus,
            mode: instance.mode,
            caps: instance.caps.clone(),
            work: instance.work,
        };
        let mut provided = self.entry.provided(&other);
        // What is not promised says why by itself.
        for label in provided.labels.iter_mut().filter(|label| label.guarantee != Guarantee::Null) {
            label.resumes &= label.guarantee == Guarantee::All;
            label.derivation = Arc::new(Derivation {
                subject: String::new(),
                rule: RULE,
                premises: vec![label.derivation.clone()],
                formula: self.text.clone(),
                conclusion: label.guarantee.clone(),
            });
        }
        provided
    }
}

/// Reads `budget = slice` or `budget = 10ms`.
fn binding(parser: &mut Parser, other: &Signature, given: &[Bound]) -> Result<Bound, ParseError> {
    let token = parser.peek();
    let Some((param, of_vp)) = other.param(token.text) else {
        return Err(parser.wrong(format!("a parameter of `{}`: {}", other.name, other.names())));
    };
    if given.iter().any(|bound| bound.name == param.name) {
        return Err(token.error(format!("`{}` a second time", param.name), "each parameter once"));
    }
    parser.skip();
    parser.expect("=")?;
    let value = value(parser, &param, of_vp)?;
    parser.skip();
    Ok(Bound { name: param.name, value })
}

/// What stands for a parameter.
fn value(parser: &Parser, param: &Param, of_vp: bool) -> Result<Value, ParseError> {
    let token = parser.peek();
    let unit = if param.unit == Unit::Time { "a time" } else { "a plain number" };
    if token.text.starts_with(|c: char| c.is_ascii_digit()) {
        let (number, dimension) = read::literal(token)?;
        let fits = |number: &u64| (param.min..=param.max).contains(number);
        let is_alike = number.is_integer() && (dimension == 1) == (param.unit == Unit::Time);
        let number = number.to_integer().to_u64().filter(|number| is_alike && fits(number));
        return number.map(Value::Number).ok_or_else(|| {
            let show =
                |bound| if param.unit == Unit::Time { Nanos(bound).to_string() } else { bound.to_string() };
            token.wrong(format!("{unit}, whole, from {} to {}", show(param.min), show(param.max)))
        });
    }
    let Some((own, own_of_vp)) = parser.policy.param(token.text) else {
        return Err(parser.wrong(parser.names()));
    };
    match (own_of_vp, own.unit == param.unit) {
        (true, _) if !of_vp => Err(token.wrong("a parameter of the scheduler, or a number")),
        (_, false) => Err(token.wrong(unit)),
        (true, true) => Ok(Value::OfChild(own.name)),
        (false, true) => Ok(Value::OfScheduler(own.name)),
    }
}

/// What stands for a parameter that the text does not mention.
fn unmentioned(parser: &Parser, param: &Param, of_vp: bool) -> Option<Bound> {
    let own = parser
        .policy
        .param(param.name)
        .filter(|(own, own_of_vp)| own.unit == param.unit && (of_vp || !own_of_vp));
    let value = match own {
        Some((own, true)) => Value::OfChild(own.name),
        Some((own, false)) => Value::OfScheduler(own.name),
        None => Value::Number(param.default?),
    };
    Some(Bound { name: param.name, value })
}

/// The other policy's parameters; without those for which there is no value.
fn renamed(bound: &[Bound], of_scheduler: &[(String, u64)], of_child: &[(String, u64)]) -> Params {
    let value =
        |params: &[(String, u64)], name| params.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
    let one = |Bound { name, value: from }: &Bound| {
        let value = match *from {
            Value::OfScheduler(name) => value(of_scheduler, name)?,
            Value::OfChild(name) => value(of_child, name)?,
            Value::Number(number) => number,
        };
        Some(((*name).to_owned(), value))
    };
    bound.iter().filter_map(one).collect()
}
