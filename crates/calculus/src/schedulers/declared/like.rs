//! `as POLICY`: the analysis of another policy, with other names or fixed values for its parameters. Relies on that
//! analysis. Never adds to it.

use super::SOURCE;
use crate::declaration::{Bound, Like, Value};
use crate::derivation::{Derivation, Rule};
use crate::graph::Edge;
use crate::guarantee::Guarantee;
use crate::schedulers::{self, Instance, Provided};
use std::sync::Arc;

const RULE: Rule = Rule { name: "declared, the policy's word that it is alike", source: SOURCE };

type Params = Vec<(String, u64)>;

impl Like {
    pub(super) fn provide(&self, instance: &Instance) -> Provided {
        let params = renamed(&self.scheduler_params, instance.params, &[]);
        let of_child = |edge: &&Edge| Edge {
            params: renamed(&self.vp_params, instance.params, &edge.params),
            ..(*edge).clone()
        };
        let edges: Vec<Edge> = instance.children.iter().map(of_child).collect();
        let other = Instance {
            params: &params,
            joins: instance.joins,
            tells_deadlines: instance.tells_deadlines,
            held: instance.held.clone(),
            children: edges.iter().collect(),
            names: instance.names.clone(),
            cpus: instance.cpus,
            mode: instance.mode,
            caps: instance.caps.clone(),
            work: instance.work,
        };
        let mut provided = schedulers::provide(&self.policy.into(), &other);
        // NULL keeps the other analysis's reason.
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

/// The parameters of the other policy with their values; those without a value are left out.
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
