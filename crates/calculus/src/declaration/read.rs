//! `.accepts` and `.provides` from text (the grammar is in `mod.rs`). Relies on the parser. Stops at the first mistake
//! in a text, and reports that one.

use super::parser::{Parser, literal};
use super::{Bound, Like, Need, Promise, Provides, Signature, Value};
use crate::description::{Param, Unit};
use crate::guarantee::Kind;
use crate::parse::ParseError;
use hls_units::Nanos;
use num_traits::ToPrimitive;

/// Reads `.accepts`.
pub(super) fn accepts(text: &str, policy: &Signature) -> Result<Vec<Need>, ParseError> {
    let mut parser = Parser::new(text, policy)?;
    let mut needs = vec![parser.need()?];
    while parser.takes("or") {
        needs.push(parser.need()?);
    }
    parser.end("`or` and another guarantee, or the end")?;
    Ok(needs)
}

/// Reads `.provides`.
pub(super) fn provides(text: &str, policy: &Signature, others: &[Signature]) -> Result<Provides, ParseError> {
    let mut parser = Parser::new(text, policy)?;
    if parser.takes("as") {
        return Ok(Provides::Like(like(&mut parser, others)?));
    }
    let head = parser.peek();
    let (template, _) = parser.guarantee()?;
    if let Kind::Resu | Kind::Mpr | Kind::Job = template.kind {
        let reason = "a guarantee that a loaded policy can give: not RESU, not MPR, not JOB";
        return Err(head.wrong(reason));
    }
    let for_children = parser.conditions("for")?;
    let conditions = parser.conditions("when")?;
    parser.end(match (&for_children[..], &conditions[..]) {
        ([], []) => "`for`, `when`, or the end",
        (_, []) => "`and`, `when`, or the end",
        _ => "`and`, or the end",
    })?;
    Ok(Provides::Promise(Promise {
        template,
        for_children,
        conditions,
        sums: parser.sums,
        text: text.trim().to_owned(),
    }))
}

/// Reads what follows `as`: another policy, and what takes the place of that policy's parameters. A parameter that is
/// not mentioned takes the declaring policy's parameter of the same name, or else its default.
fn like(parser: &mut Parser, others: &[Signature]) -> Result<Like, ParseError> {
    let head = parser.peek();
    let Some(other) = others.iter().find(|other| other.name == head.text) else {
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
        policy: other.name,
        scheduler_params: bind(&other.scheduler_params, false)?,
        vp_params: bind(&other.vp_params, true)?,
        text: parser.text.trim().to_owned(),
    })
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

/// What takes the place of a parameter of the other policy.
fn value(parser: &Parser, param: &Param, of_vp: bool) -> Result<Value, ParseError> {
    let token = parser.peek();
    let unit = if param.unit == Unit::Time { "a time" } else { "a plain number" };
    if token.text.starts_with(|c: char| c.is_ascii_digit()) {
        let (number, dimension) = literal(token)?;
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

/// What takes the place of a parameter that the text does not mention.
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
