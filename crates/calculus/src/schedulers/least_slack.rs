//! Least slack first (Dertouzos, IFIP 1974; Mok, MIT 1983) over hard budgets, with a quantum q against endless
//! switches: a child that runs stays until another's slack is less by q.
//!
//! Every child is promised RESBH x,y where a reservation scheduler would admit budgets of x + q. The proof: let a
//! server with c of its budget left and its period ending at d have v = d - (c+q)/u, where u = (x+q)/y. One that does
//! not want the CPU, or has used its budget, and has v < t is taken for one with v = t, d = t+y. By the wake-up rule
//! (see `policies/least_slack.c`), which keeps c and d only if v >= t, cuts c to what makes v = t, or begins a new
//! period at t > v, the server's demand with an end of at most D is (D-v)*u for D >= d, and 0 before: sleep and
//! wake-ups add nothing. Let F(t,D) be the sum of these, and S(t,D) the supply from t to D. Then F <= S at all times:
//! - While no server waits with a period that ends by D, all v of the sum are t or later, and F <= U*(D-t) <= S.
//! - While a server runs with a period that ends by D, both sides fall alike.
//! - While b runs, with a period that ends at e > D, and a waits, with a period that ends at d <= D: by the quantum e -
//!   c(b) <= d - c(a) + q. F(t,e) has c(b) + q of b, so F(t,D) <= S(t,e) - c(b) - q <= S(t,D) + (e-D) - c(b) - q <=
//!   S(t,D) - c(a): there is room for what b takes, up to the instant at which a has used its budget.
//!
//! For a server that wants its c at D = d that means c + q <= F(d,d) <= 0, so no budget is left at the end of a period.
//! An only child waits for no other, counts without q, and keeps c whole. On several CPUs nothing is known.

use super::{Entry, Instance, Limits, Provided, reservation};
use crate::derivation::Rule;
use crate::rational::Rational;
use num_traits::Zero;

pub(super) const ENTRY: Entry = Entry {
    policy: "least-slack",
    source: "Dertouzos, IFIP 1974; Mok, MIT 1983; with hard budgets and a quantum",
    accepts: "ALL of one CPU, or any supply that carries the demand",
    provides: "RESBH budget,period to every child, if budgets that are longer by a quantum could be kept",
    limits: Limits::PaidBudget,
    provide,
};

const RULE: Rule =
    Rule { name: "least slack", source: "optimal like EDF, for budgets that are longer by the quantum" };

fn provide(instance: &Instance) -> Provided {
    if let Err(found) = instance.single_vp() {
        return instance.nothing_because(RULE, "one VP", found);
    }
    let quantum = instance.param("quantum").unwrap_or_else(Rational::zero);
    let more = if instance.children.len() > 1 { quantum } else { Rational::zero() };
    reservation::provide_longer(instance, &more).by(RULE)
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::labels;

    /// The promises of a scheduler with a quantum of 2 ns to children with these budgets and periods.
    fn promised(held: &str, claims: &[(u64, u64)]) -> Vec<String> {
        let params: Vec<_> = claims.iter().map(|(x, y)| [("budget", *x), ("period", *y)]).collect();
        let children: Vec<&[(&str, u64)]> = params.iter().map(|params| &params[..]).collect();
        labels("least-slack", held, &[("quantum", 2)], &children)
    }

    #[test]
    fn budgets_are_tested_with_a_quantum_more() {
        assert_eq!(promised("ALL", &[(8, 20), (10, 24)]), ["RESBH 8ns 20ns", "RESBH 10ns 24ns"]);
        assert_eq!(promised("ALL", &[(9, 20), (10, 24)]), ["NULL"; 2]);
        assert_eq!(promised("ALL", &[(20, 20)]), ["RESBH 20ns 20ns"]);
        assert_eq!(promised("RESBS 10ns 20ns", &[(5, 30)]), ["RESBH 5ns 30ns"]);
        assert_eq!(promised("PS 1/2", &[(1, 100)]), ["NULL"]);
    }
}
