//! What a user could change where a guarantee cannot be given, in words.
//!
//! Relies on [`hls_calculus::mend`], which has verified each change that is printed here. Decides nothing itself.

use crate::derived::Derived;
use hls_calculus::{Extent, Mend, Mends, Owner, Rational, Setting, mend};
use hls_core::Unit;
use hls_hierarchy::model::{Child, Edge, Hierarchy, Scheduler};
use hls_hierarchy::settings::settings;
use hls_units::Nanos;

impl Derived {
    /// The smallest changes that mend a problem of the analysis, for people; `None` where no change of one number does.
    /// `alone`: people see no other problem.
    pub(crate) fn advice(&self, hierarchy: &Hierarchy, problem: usize, alone: bool) -> Option<String> {
        let settings = settings(hierarchy, &self.input);
        let Mends { change, need, extent, .. } =
            mend(&self.input.graph, self.rules, &self.analysis, problem, &settings);
        let others = |mend: &Mend| match mend.removed == self.analysis.problems.len() {
            _ if alone => "",
            true => ", which mends all others, too",
            false => ", while others stay",
        };
        let change =
            change.map(|mend| self.change(hierarchy, &settings[mend.setting], &mend) + others(&mend));
        let need = need.map(|mend| self.asked(&settings[mend.setting], &mend.to));
        let which = if extent == Extent::Complete { "the smallest" } else { "a" };
        Some(match (change, need) {
            (Some(change), None) => format!("{which} change that mends it: {change}"),
            (Some(change), Some(need)) => {
                format!("{which} change that mends it: {change}; or else ask for {need}")
            }
            (None, Some(need)) => {
                format!("no change of one parameter that mends it was found; {need} could be given")
            }
            (None, None) if extent == Extent::Complete => return None,
            (None, None) => format!("no change of one number that mends it was found; {extent}"),
        })
    }

    /// `` `budget` of `video` from 20ms to 19.4ms (guarantee="RESBH 19.4ms 33ms") ``.
    fn change(&self, hierarchy: &Hierarchy, setting: &Setting, mend: &Mend) -> String {
        let (owner, infos) = match &setting.owner {
            Owner::Scheduler(at) => {
                let Scheduler { name, policy, .. } = &hierarchy.schedulers[*at];
                (format!("`{name}`"), &policy.scheduler_params[..])
            }
            Owner::Edges(edges) => {
                let edge = hierarchy.edge(self.input.origins[edges.start].edge);
                let parent = edge.parent.map(|parent| &hierarchy.schedulers[parent]);
                (edge_name(hierarchy, edge), parent.map_or(&[][..], |parent| &parent.policy.vp_params))
            }
        };
        let name = setting.param.as_deref().unwrap_or_default();
        let is_time = infos.iter().any(|info| info.name == name && info.unit == Unit::Time);
        let shown = |value: &Rational| match value.to_integer().try_into() {
            Ok(nanos) if is_time => Nanos(nanos).to_string(),
            _ => value.to_string(),
        };
        let asked = match setting.asked {
            Some(_) => format!(" (guarantee=\"{}\")", self.asked(setting, &mend.to)),
            None => String::new(),
        };
        format!("`{name}` of {owner} from {} to {}{asked}", shown(&mend.from), shown(&mend.to))
    }

    /// What the edges of a setting ask for when the setting has this value.
    fn asked(&self, setting: &Setting, value: &Rational) -> String {
        let Owner::Edges(edges) = &setting.owner else {
            return String::new();
        };
        let asked = &self.input.graph.edges[edges.start].requested;
        let asked = asked.as_ref().zip(setting.asked).map(|(asked, number)| asked.with_number(number, value));
        asked.map_or_else(String::new, |asked| asked.to_string())
    }
}

/// The child of an edge, as in `` `video` ``; for an edge to a join also the parent, as in `` `J` below `RES` ``: a
/// join has other edges.
pub(crate) fn edge_name(hierarchy: &Hierarchy, edge: &Edge) -> String {
    let scheduler = |at: usize| format!("`{}`", hierarchy.schedulers[at].name);
    match (edge.child, edge.parent) {
        (Child::Thread(thread), _) => format!("`{}`", hierarchy.threads[thread].name),
        (Child::Scheduler(join), Some(parent)) if hierarchy.schedulers[join].policy.properties.joins => {
            format!("{} below {}", scheduler(join), scheduler(parent))
        }
        (Child::Scheduler(child), _) => scheduler(child),
    }
}
