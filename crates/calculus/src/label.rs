//! The label of an edge: a guarantee, how many VPs have it, in the time of which processor, and why. Relies on the
//! rewrites to compare the guarantee with a need. Never changes what was derived.

use crate::derivation::{Derivation, Rule};
use crate::description::WHOLE_RATE;
use crate::guarantee::Guarantee;
use crate::rational::{Rational, whole};
use crate::rewrite::{Refusal, implies_on, sum_implies};
use crate::together::Supply;
use num_traits::{One, Signed, Zero};
use std::sync::Arc;

const TELLS_NOTHING: Rule = Rule {
    name: "no deadlines told",
    source: "RESU r of a policy that tells none is RESBS r*g, g, where the deadlines in their place are g apart",
};

/// What the analysis derives for an edge of a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The strongest guarantee that the analysis can show for the edge.
    pub guarantee: Guarantee,
    /// What else holds at the same time (below a join), in real time.
    pub beside: Supply,
    /// How many of the edge's VPs have the guarantee at once; the others have NULL. Zero for NULL.
    pub count: u16,
    /// How many of the edge's VPs can have a CPU at once, by what is below them: a join has one VP below it.
    /// [`u16::MAX`] where nothing there is narrower than the edge.
    pub usable: u16,
    /// The speed of the processor that the amounts are counted for: 1, except below RESU (HLS section 5.1).
    pub scale: Rational,
    /// With RESU, for a scheduler that tells no deadlines: how far apart the deadlines are that it is given instead, in
    /// real time.
    pub deadlines_every: Option<Rational>,
    /// Whether the guarantee still holds for a VP that declines a CPU because its child already runs on another one,
    /// and requests again when the child loses the other CPU. A join on several CPUs holds such VPs of its parents.
    pub resumes: bool,
    /// Why the policy cannot give the JOB that the edge asks for; `None` where it can, or where the guarantee itself
    /// says why.
    pub refused: Option<String>,
    /// Why the guarantee holds.
    pub derivation: Arc<Derivation>,
}

impl Label {
    /// A label for `count` VPs that follows by one rule; amounts in real time.
    pub(crate) fn new(
        guarantee: Guarantee,
        count: u16,
        rule: Rule,
        premises: Vec<Arc<Derivation>>,
        formula: String,
    ) -> Label {
        let derivation =
            Derivation { subject: String::new(), rule, premises, formula, conclusion: guarantee.clone() };
        let count = if guarantee == Guarantee::Null { 0 } else { count };
        Label {
            beside: Supply::default(),
            count,
            usable: u16::MAX,
            scale: Rational::one(),
            deadlines_every: None,
            resumes: guarantee == Guarantee::All,
            refused: None,
            guarantee,
            derivation: Arc::new(derivation),
        }
    }

    /// What RESU is worth to a scheduler that tells no deadlines; another label stays. Amounts are in real time.
    ///
    /// The processor has done its part of the work by each deadline: a reservation of that part between the deadlines
    /// that it is given, from its wake-up on. A join tells what its child tells, and nobody knows how far apart such
    /// deadlines are: to a join RESU is worth its share in the long run.
    pub fn untold(&self, to_a_join: bool) -> Label {
        let Guarantee::Resu { rate } = &self.guarantee else { return self.clone() };
        let speed = speed_floor(&self.scale, rate);
        let guarantee = match &self.deadlines_every {
            Some(every) if !to_a_join && (&speed * every).floor().is_positive() => {
                Guarantee::resbs((speed * every).floor(), every.clone())
            }
            _ => Guarantee::Ps { share: speed },
        };
        let formula = format!("{guarantee} of {}", self.rounded_for_people());
        Label::new(guarantee, self.count, TELLS_NOTHING, vec![self.derivation.clone()], formula)
    }

    /// Below a slower processor, an amount that is no whole nanoseconds in real time is rounded down: so the core
    /// counts budgets.
    pub(crate) fn floor_to_nanos(&mut self) {
        let Guarantee::Reservation { amount, .. } = &self.guarantee else { return };
        let real = amount * &self.scale;
        if self.scale.is_one() || real.is_integer() {
            return;
        }
        self.guarantee = match real.floor() {
            none if none.is_zero() => Guarantee::Null,
            whole => self.guarantee.with_number(0, &(whole / &self.scale)),
        };
        Arc::make_mut(&mut self.derivation).conclusion = self.guarantee.clone();
    }

    /// The guarantee with its amounts in real time.
    pub fn absolute(&self) -> Guarantee {
        self.guarantee.scaled(&self.scale)
    }

    /// Everything that holds on the edge, exactly, in real time. Empty where nothing is promised in finite time or in
    /// the long run, and for RESU, which promises nothing without notifications.
    pub fn supply(&self) -> Supply {
        Supply::best([Supply::from(self.absolute()), self.beside.clone()])
    }

    /// Whether this label implies a need, by the guarantee itself or by what holds beside it. Below a slower processor
    /// the need is in the time of that processor, as is all that is asked for there. Label and need are compared in
    /// real time, since a slower processor keeps its rate between notified instants only, and not in windows that begin
    /// anywhere. MPR is a need of as many VPs as the label counts, and as can be used.
    ///
    /// # Errors
    /// Why the guarantee itself does not.
    pub fn satisfies(&self, need: &Guarantee) -> Result<Derivation, Refusal> {
        let need = self.in_real_time(need);
        let first = implies_on(&self.absolute(), self.count.min(self.usable), &need);
        if first.is_ok() {
            return first;
        }
        let beside = self.beside.sums().iter().find_map(|sum| sum_implies(sum, &need, &self.derivation));
        beside.map_or(first, Ok)
    }

    /// A need in the time of this label as a need in real time. ALL is a whole CPU wherever it is asked for.
    fn in_real_time(&self, need: &Guarantee) -> Guarantee {
        if *need == Guarantee::All { Guarantee::All } else { need.scaled(&self.scale) }
    }

    /// The guarantee for people; where its amounts are in the time of a slower processor, also the speed of that
    /// processor.
    pub(crate) fn rounded_for_people(&self) -> String {
        let guarantee = self.guarantee.rounded_for_people();
        if self.scale.is_one() {
            return guarantee;
        }
        format!("{guarantee} in the time of a processor of speed {}", self.scale)
    }

    /// Why this label does not imply a need, for people; `None` where it does. For NULL the reason is why nothing is
    /// promised.
    pub fn shortcoming(&self, need: &Guarantee) -> Option<String> {
        let refusal = self.satisfies(need).err()?;
        let Derivation { rule, formula, .. } = &*self.derivation;
        match &self.guarantee {
            _ if self.refused.is_some() => self.refused.clone(),
            Guarantee::Null if !formula.is_empty() => Some(format!("{}: {formula}", rule.name)),
            _ if self.would_do_if_used(need) => Some(format!(
                "only {} of {} VPs can have a CPU at once: what is below them has no more",
                self.usable, self.count
            )),
            _ if self.scale.is_one() => Some(refusal.reason),
            _ => Some(format!("in real time {}", refusal.reason)),
        }
    }

    /// Whether the label would imply a need if all of its VPs could be used.
    fn would_do_if_used(&self, need: &Guarantee) -> bool {
        self.usable < self.count && Label { usable: u16::MAX, ..self.clone() }.satisfies(need).is_ok()
    }

    /// Whether this label and another have the same reason for promising nothing, or not what is asked for.
    pub fn has_reason_of(&self, other: &Label) -> bool {
        let (own, others) = (&self.derivation, &other.derivation);
        let is_same = own.rule == others.rule && own.formula == others.formula;
        let is_alike = self.refused == other.refused && self.usable == other.usable;
        is_alike && (self.guarantee != Guarantee::Null || is_same)
    }

    /// Whether another label promises the same; their derivations may differ.
    pub fn promises_as(&self, other: &Label) -> bool {
        self.guarantee == other.guarantee
            && self.count == other.count
            && self.scale == other.scale
            && self.deadlines_every == other.deadlines_every
            && self.resumes == other.resumes
            && self.beside == other.beside
    }

    /// Says on which edge the label is.
    pub(crate) fn named(mut self, subject: &str) -> Label {
        Arc::make_mut(&mut self.derivation).subject = subject.to_owned();
        self
    }
}

/// The speed of a processor that has this rate of another one, as the core counts: in millionths, rounded down.
pub(crate) fn speed_floor(above: &Rational, rate: &Rational) -> Rational {
    (above * rate * whole(WHOLE_RATE)).floor() / whole(WHOLE_RATE)
}
