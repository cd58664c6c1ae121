//! Declarations as they are read and refused, and what they are worth: each refused case beside the accepted one.

use super::*;
use crate::declaration::{DeclaredError, Signature};
use crate::description::Param;
use crate::graph::{Child, Edge};
use crate::rational::{Rational, whole};
use crate::rules::Mode;
use crate::schedulers::{Complaint, HeldVps, Unit, find};
use crate::work::Work;
use proptest::prelude::*;

fn param(name: &'static str, unit: Unit) -> Param {
    Param { name, unit, default: None, min: 0, max: u64::MAX, doc: "" }
}

/// A policy with one of everything.
fn policy() -> Signature {
    Signature {
        name: "table",
        scheduler_params: vec![param("quantum", Unit::Time), param("least-slack", Unit::Time)],
        vp_params: vec![
            param("slice", Unit::Time),
            param("round", Unit::Time),
            param("share", Unit::Count),
            param("rank", Unit::Count),
        ],
    }
}

/// The policies that may follow `as`, with the parameters that the core's policies have.
fn others() -> Vec<Signature> {
    let budget = vec![param("budget", Unit::Time), param("period", Unit::Time)];
    let shares = vec![param("share", Unit::Count), Param { default: Some(0), ..param("warp", Unit::Time) }];
    let signature = |name, scheduler_params, vp_params| Signature { name, scheduler_params, vp_params };
    vec![
        signature("reservation", vec![], budget),
        signature("proportional-share", vec![param("quantum", Unit::Time)], shares),
        signature("join", vec![], vec![]),
    ]
}

fn read(accepts: Option<&str>, provides: Option<&str>) -> Result<Declared, Vec<DeclaredError>> {
    Declared::read(&policy(), &others(), accepts, provides)
}

/// What is provided on one VP that holds this, with these parameters of the scheduler and of each child.
fn on(provide: impl Fn(&Instance) -> Provided, held: &str, own: &[Value], children: &[&[Value]]) -> Provided {
    let owned = |list: &[Value]| list.iter().map(|(name, value)| ((*name).into(), *value)).collect();
    let edge = |params: &&[Value]| Edge {
        parent: None,
        child: Child::Thread("t".into()),
        params: owned(params),
        requested: None,
        width: 1,
        pinned: false,
    };
    let edges: Vec<Edge> = children.iter().map(edge).collect();
    let held = Label::new(Guarantee::parse(held).unwrap(), 1, NOTHING, Vec::new(), String::new());
    let params: Vec<(String, u64)> = owned(own);
    provide(&Instance {
        params: &params,
        joins: false,
        tells_deadlines: true,
        held: vec![HeldVps { label: &held, width: 1 }],
        children: edges.iter().collect(),
        names: vec!["t"; edges.len()],
        cpus: 1,
        mode: Mode::Tight,
        caps: vec![None; edges.len()],
        work: &Work::unlimited(),
    })
}

type Value = (&'static str, u64);

/// The labels, and the complaints.
fn worth(
    texts: [Option<&str>; 2],
    held: &str,
    own: &[Value],
    children: &[&[Value]],
) -> (Vec<String>, Vec<String>) {
    let declared = read(texts[0], texts[1]).unwrap();
    let provided = on(|instance| declared.provide(instance), held, own, children);
    let labels = provided.labels.iter().map(|label| label.guarantee.to_string()).collect();
    let complaint = |Complaint { needed, found, .. }| format!("{needed}, but {found}");
    (labels, provided.complaints.into_iter().map(complaint).collect())
}

/// Children with these slices and rounds.
fn slices<const N: usize>(of: [(u64, u64); N]) -> [[Value; 2]; N] {
    of.map(|(slice, round)| [("slice", slice), ("round", round)])
}

fn labels(accepts: &str, provides: &str, held: &str, of: &[(u64, u64)]) -> Vec<String> {
    let params: Vec<[Value; 2]> = of.iter().flat_map(|one| slices([*one])).collect();
    let children: Vec<&[Value]> = params.iter().map(|params| &params[..]).collect();
    let (labels, complaints) = worth([Some(accepts), Some(provides)], held, &[], &children);
    assert_eq!(
        labels.iter().any(|label| label == "NULL"),
        !complaints.is_empty(),
        "{labels:?} {complaints:?}"
    );
    if labels.iter().all(|label| label == "NULL") { Vec::new() } else { labels }
}

const NONE: [&str; 0] = [];

#[test]
fn nothing_declared_is_nothing_promised() {
    let children: [&[Value]; 2] = [&[], &[]];
    assert_eq!(worth([None, None], "ALL", &[], &children), (vec!["NULL".into(); 2], vec![]));
    assert_eq!(worth([Some("NULL"), Some("NULL")], "NULL", &[], &children), (vec!["NULL".into(); 2], vec![]));
    let (labels, complaints) = worth([Some("RESBS or PS 1/2"), None], "PS 1/3", &[], &children);
    assert_eq!(labels, ["NULL"; 2]);
    assert_eq!(complaints, ["RESBS or PS 1/2, which is all that it accepts, but PS 1/3"]);
}

#[test]
fn a_place_must_give_what_is_accepted() {
    let accepted = |accepts: &str, held: &str| {
        let own = [("quantum", 10), ("least-slack", 5)];
        let children: [&[Value]; 2] = [&[("slice", 1), ("round", 20)], &[("slice", 2), ("round", 20)]];
        worth([Some(accepts), None], held, &own, &children).1.is_empty()
    };
    for (accepts, held, not) in [
        ("ALL", "ALL", "RESU 1/2"),
        ("RESU", "RESU 1/2", "PS 1/2"),
        ("RESBS", "PSBE 1/2 5ns", "PS 1/2"),
        ("PSBE", "RESBH 1ns 9ns", "RESU 1/2"),
        ("RESBH", "RESBH 1ns 9ns", "RESBS 1ns 9ns"),
        ("PS", "RESU 1/2", "NULL"),
        ("RESBS sum(slice) quantum + least-slack", "RESBS 3ns 15ns", "RESBS 2ns 15ns"),
        ("RESBS sum(slice) 20ns", "RESBH 3ns 20ns", "RESBH 3ns 21ns"),
        ("sbf(2 * quantum, 30%)", "PSBE 30% 6ns", "PSBE 30% 7ns"),
        ("ALL or PS 1/3", "PS 1/3", "PS 1/4"),
        ("RESBS 1ns quantum / (2 - sum(1)) or ALL", "ALL", "RESBS 1ns 2ns"),
    ] {
        assert!(accepted(accepts, held), "{accepts} on {held}");
        assert!(!accepted(accepts, not), "{accepts} on {not}");
    }
}

/// A scheduler that was just created needs no CPU time for children yet, but it does need a place that gives a
/// guarantee of the right type; a scheduler that is about to be destroyed has no place.
#[test]
fn a_scheduler_without_children_needs_no_cpu_time_for_them() {
    let accepts = "ALL or RESBS sum(slice) 20ns";
    let refused = |held, children: &[&[Value]]| {
        worth([Some(accepts), Some("RESBS slice round")], held, &[], children).1.len()
    };
    assert_eq!(refused("RESBH 3ns 20ns", &[]), 0);
    assert_eq!(refused("NULL", &[]), 1);
    assert_eq!(refused("RESBH 3ns 20ns", &[&[("slice", 4), ("round", 20)]]), 1);

    let declared = read(Some(accepts), Some("RESBS slice round")).unwrap();
    let nowhere = |instance: &Instance| {
        let held = Vec::new();
        let (children, names, caps) = (instance.children.clone(), instance.names.clone(), vec![None; 1]);
        declared.provide(&Instance { held, children, names, caps, ..*instance })
    };
    let child: &[Value] = &[("slice", 1), ("round", 20)];
    assert_eq!(on(nowhere, "ALL", &[], &[]).complaints.len(), 0);
    assert_eq!(on(nowhere, "ALL", &[], &[child]).complaints.len(), 1);
}

#[test]
fn conditions_are_the_policy_s_and_the_supply_is_checked() {
    const EVERY: &str = "ALL or RESBS";
    let plain = |held, of: &[(u64, u64)]| labels(EVERY, "RESBS slice round", held, of);
    assert_eq!(plain("ALL", &[(10, 20), (10, 20)]), ["RESBS 10ns 20ns"; 2]);
    assert_eq!(plain("ALL", &[(10, 20), (11, 20)]), NONE);
    // As for the reservation scheduler: sbf(7) = 3, sbf(6) = 2; and U*t <= sbf(t) from the least y-x.
    assert_eq!(plain("RESBS 3ns 5ns", &[(3, 7)]), ["RESBS 3ns 7ns"]);
    assert_eq!(plain("RESBS 3ns 5ns", &[(3, 6)]), NONE);
    // RESBS 6,20 follows from 3,8 on a grid of the parent's choice, not on the child's: sbf(20) = 5.
    assert_eq!(plain("RESBS 3ns 8ns", &[(5, 20)]), ["RESBS 5ns 20ns"]);
    assert_eq!(plain("RESBS 3ns 8ns", &[(6, 20)]), NONE);
    assert_eq!(plain("RESBS 3ns 5ns", &[(1, 10), (1, 10)]), ["RESBS 1ns 10ns"; 2]);
    assert_eq!(plain("RESBS 3ns 5ns", &[(1, 10), (5, 10)]), NONE);
    assert_eq!(plain("RESBS 3ns 5ns", &[(1, 3), (1, 10)]), NONE);

    let half =
        |of: &[(u64, u64)]| labels("ALL", "RESBS slice round when sum(slice / round) <= 1/2", "ALL", of);
    assert_eq!(half(&[(5, 20), (5, 20)]), ["RESBS 5ns 20ns"; 2]);
    assert_eq!(half(&[(5, 20), (6, 20)]), NONE);
    // A condition on a child's parameters counts for that child alone.
    let each = "RESBS slice round when slice < round and sum(slice / round) <= 1 and round >= 10ns";
    assert_eq!(labels("ALL", each, "ALL", &[(5, 10), (5, 11)]), ["RESBS 5ns 10ns", "RESBS 5ns 11ns"]);
    assert_eq!(labels("ALL", each, "ALL", &[(5, 10), (4, 9)]), ["RESBS 5ns 10ns", "NULL"]);
    assert_eq!(labels("ALL", each, "ALL", &[(0, 10), (5, 10)]), NONE, "no reservation");
    assert_eq!(labels("ALL", "RESBS slice round / (1 - sum(1))", "ALL", &[(1, 2)]), NONE);
}

/// A declared guarantee needs a whole CPU even if the policy does not say what it accepts.
#[test]
fn a_guarantee_is_of_a_whole_cpu_unless_it_says_otherwise() {
    let on = |accepts, held| {
        let slices = slices([(1, 10)]);
        worth([accepts, Some("RESBS slice round")], held, &[], &[&slices[0]])
    };
    assert_eq!(on(None, "ALL").0, ["RESBS 1ns 10ns"]);
    assert_eq!(
        on(None, "RESBS 9ns 10ns"),
        (vec!["NULL".into()], vec!["ALL, which is all that it accepts, but RESBS 9ns 10ns".into()])
    );
    assert_eq!(on(Some("RESBS"), "RESBS 9ns 10ns").0, ["RESBS 1ns 10ns"]);
    assert_eq!(on(Some("RESU"), "RESU 1/2").0, ["NULL"], "nobody tells it of instants");
}

#[test]
fn each_kind_of_promise_is_held_against_the_supply() {
    let pair = |provides: &str, held, shares: [u64; 2]| {
        let shares = shares.map(|share| [("share", share), ("slice", 2), ("round", 8)]);
        let accepts = Some("PS");
        let (labels, _) =
            worth([accepts, Some(provides)], held, &[("quantum", 10)], &[&shares[0], &shares[1]]);
        labels
    };
    // Turns of a round robin: each in every window as long as a round.
    let turns = "RESCS quantum * share sum(quantum * share)";
    assert_eq!(pair(turns, "ALL", [1, 3]), ["RESCS 10ns 40ns", "RESCS 30ns 40ns"]);
    assert_eq!(pair(turns, "RESCS 39ns 40ns", [1, 3]), ["NULL"; 2]);
    let psbe = "PSBE share / sum(share) 4 * quantum";
    assert_eq!(pair(psbe, "ALL", [1, 3]), ["PSBE 1/4 40ns", "PSBE 3/4 40ns"]);
    assert_eq!(pair(psbe, "PSBE 1/2 1ns", [1, 3]), ["NULL"; 2], "more than the rate");
    let less = "sbf(4 * quantum, share / 10)";
    assert_eq!(pair(less, "ALL", [1, 3]), ["PSBE 1/10 4ns", "PSBE 3/10 12ns"]);
    // A server with y-x = 20 needs U*t <= (t-d)/2 for every t >= 20: d <= 4.
    assert_eq!(pair(less, "PSBE 1/2 2ns", [1, 3]), ["PSBE 1/10 4ns", "PSBE 3/10 12ns"]);
    assert_eq!(pair(less, "PSBE 1/2 3ns", [1, 3]), ["NULL"; 2]);
    // The supply carries both children, U = 1/2, from t = 2 on. A slice of 2 with a deadline of 6 needs that from
    // (6-2)/2 = 2 on, a continuous reservation from 0 on.
    assert_eq!(pair("EDP round slice 6ns", "PSBE 3/4 1/2ns", [1, 3]), ["EDP 8ns 2ns 6ns"; 2]);
    assert_eq!(pair("EDP round slice 5ns", "PSBE 3/4 1/2ns", [1, 3]), ["NULL"; 2]);
    assert_eq!(pair("RESCS slice round", "PSBE 3/4 1/2ns", [1, 3]), ["NULL"; 2]);
    assert_eq!(pair("RESCS slice round", "ALL", [1, 3]), ["RESCS 2ns 8ns"; 2]);
    assert_eq!(pair("PS share / 4", "PS 1", [1, 3]), ["PS 1/4", "PS 3/4"]);
    assert_eq!(pair("PS share / 4", "PS 1", [2, 3]), ["NULL"; 2]);
    assert_eq!(pair("PS share / 4", "PS 1", [1, 5]), ["NULL"; 2], "PS 5/4 is none, and takes what it likes");
}

#[test]
fn a_whole_cpu_goes_to_one_child() {
    let ranked = |ranks: [u64; 2]| {
        let ranks = ranks.map(|rank| [("rank", rank)]);
        worth([None, Some("ALL when rank >= 1")], "ALL", &[], &[&ranks[0], &ranks[1]]).0
    };
    assert_eq!(ranked([1, 0]), ["ALL", "NULL"]);
    assert_eq!(ranked([1, 1]), ["NULL", "NULL"]);
}

/// A child that `for` leaves out has NULL without an error; it counts in sums, and the promises to the others need not
/// leave room for it.
#[test]
fn a_promise_may_be_for_some_of_the_children() {
    let to = |provides: &str, of: &[(u64, u64)]| {
        let slices: Vec<[Value; 2]> = of.iter().flat_map(|one| slices([*one])).collect();
        let children: Vec<&[Value]> = slices.iter().map(|params| &params[..]).collect();
        worth([Some("ALL"), Some(provides)], "ALL", &[], &children)
    };
    let some = "RESBS slice round for slice > 0ns and round > 5ns when slice < round and sum(1) <= 3";
    let promised = |labels: &[&str]| (labels.iter().map(|label| (*label).to_owned()).collect(), vec![]);
    assert_eq!(to(some, &[(0, 10), (9, 10)]), promised(&["NULL", "RESBS 9ns 10ns"]));
    assert_eq!(to(some, &[(0, 10), (4, 5)]), promised(&["NULL"; 2]));
    assert_eq!(to(some, &[(0, 0)]), promised(&["NULL"]));
    assert_eq!(to(some, &[(9, 10), (9, 8)]).1, ["`slice < round`, as its policy says, but 9ns >= 8ns"]);
    assert_eq!(to(some, &[(0, 1), (0, 1), (0, 1), (1, 9)]).1.len(), 1, "there are four");
    assert_eq!(to(some, &[(9, 10), (9, 10)]).1.len(), 1, "more than there is");
}

/// Where a policy accepts NULL it may stand at a place that gives nothing; else that is an error.
#[test]
fn a_place_that_gives_nothing_promises_nothing() {
    let slices = slices([(1, 10)]);
    let on = |accepts, provides, held| worth([Some(accepts), Some(provides)], held, &[], &[&slices[0]]);
    for provides in ["RESBS slice round", "as reservation with budget = slice, period = round"] {
        assert_eq!(on("ALL or NULL", provides, "NULL"), (vec!["NULL".into()], vec![]));
        assert_eq!(on("ALL", provides, "NULL").1.len(), 1);
        assert_ne!(on("ALL or NULL", provides, "ALL").0, ["NULL"]);
    }
}

#[test]
fn a_policy_like_another_is_analysed_as_it_is() {
    let texts = |provides| [None, Some(provides)];
    let claims = slices([(10, 20), (10, 20)]);
    let children: [&[Value]; 2] = [&claims[0], &claims[1]];
    let like = "as reservation with budget = slice, period = round";
    assert_eq!(worth(texts(like), "ALL", &[], &children).0, ["RESBH 10ns 20ns"; 2]);
    let fixed = "as reservation with budget = 11ns, period = round";
    assert_eq!(worth(texts(fixed), "ALL", &[], &children).1.len(), 1);
    // A parameter of the same name in both policies need not be mentioned, and a parameter that a hierarchy file may
    // leave out has its default.
    let shares: [&[Value]; 2] = [&[("share", 1)], &[("share", 4)]];
    let (found, _) = worth(texts("as proportional-share"), "RESBH 10ns 20ns", &[("quantum", 10)], &shares);
    assert_eq!(found, ["PSBE 1/10 12ns", "PSBE 2/5 18ns"]);
    let accepts = [Some("ALL"), Some("as proportional-share")];
    assert_eq!(worth(accepts, "RESBH 10ns 20ns", &[("quantum", 10)], &shares).0, ["NULL"; 2]);
}

#[test]
fn a_derivation_names_the_policy_that_declares() {
    let shown = |provides: &str| {
        let declared = read(None, Some(provides)).unwrap();
        let claims = slices([(10, 20), (5, 20)]);
        let provided = on(|instance| declared.provide(instance), "ALL", &[], &[&claims[0], &claims[1]]);
        provided.labels[0].derivation.render()
    };
    let plain = shown("RESBS slice round when sum(slice / round) <= 1");
    assert!(plain.starts_with(
        "RESBS 10ns 20ns\n  by declared, the policy's word [the policy's file]\n  \
         RESBS slice round when sum(slice / round) <= 1: 3/4 <= 1; U = 75%; U*t <= sbf(t) of ALL for every t >= 10ns\n"
    ), "{plain}");
    let like = shown("as reservation with budget = slice, period = round");
    assert!(like.starts_with(
        "RESBH 10ns 20ns\n  by declared, the policy's word that it is alike [the policy's file]\n  \
         as reservation with budget = slice, period = round\n  RESBH 10ns 20ns\n    by reservation, utilisation"
    ), "{like}");
}

/// A missing word is not the name of a parameter, even where a parameter has the empty name.
#[test]
fn a_text_that_ends_too_early_is_refused_whatever_parameters_are_called() {
    let mut nameless = policy();
    nameless.vp_params.push(param("", Unit::Time));
    let text = "RESBS slice round when slice <";
    let error = Declared::read(&nameless, &others(), None, Some(text)).unwrap_err().remove(0).to_string();
    assert!(error.contains("found the end, expected a number"), "{error}");
}

/// Each text with the place at which it is refused, and the message.
#[test]
fn texts_are_refused_at_the_place() {
    let error = |result: Result<Declared, Vec<DeclaredError>>| result.unwrap_err().remove(0).to_string();
    for (text, at, said) in [
        ("", 0, "the end"),
        ("RESBX slice round", 0, "found `RESBX`, expected a guarantee: ALL, RESU"),
        ("resbs slice round", 0, "found `resbs`"),
        ("RESBS slice", 11, "found the end, expected a period for RESBS"),
        (
            "RESBS slice budget",
            12,
            "found `budget`, expected a number, `sum(...)`, or a parameter of the policy: `slice`, `round`",
        ),
        ("RESBS share round", 6, "`share`, a plain number, expected an amount for RESBS, a time"),
        ("RESBS slice*round round", 6, "`slice*round`, a time to the power 2"),
        ("RESBS slice + 1 round", 14, "found `1`, a plain number, expected a time, as on the left"),
        ("RESBS slice round rank", 18, "found `rank`, expected `for`, `when`, or the end"),
        ("RESBS slice round for", 21, "found the end, expected a number"),
        ("RESBS slice round for rank > 0 or", 31, "found `or`, expected `and`, `when`, or the end"),
        ("RESBS slice round when rank > 0 for", 32, "found `for`, expected `and`, or the end"),
        ("RESBS slice round when", 22, "found the end, expected a number"),
        ("RESBS slice round when slice", 28, "found the end, expected `<=`, `<`, `>=` or `>`"),
        ("RESBS slice round when slice = round", 29, "found `=`, expected `<=`"),
        ("RESBS slice round when slice <= 2", 32, "found `2`, a plain number, expected a time"),
        ("RESBS slice round when slice <= round or rank < 2", 38, "found `or`, expected `and`, or the end"),
        ("RESBS slice round when sum(sum(slice)) < round", 27, "found `sum`, expected no sum inside a sum"),
        ("RESBS slice round when sum slice < round", 27, "found `slice`, expected `(`"),
        ("RESBS (slice round", 13, "found `round`, expected `)`"),
        ("RESBS 10 round", 6, "found `10`, a plain number, expected an amount"),
        ("RESBS 10xs round", 6, "the unit `xs`"),
        ("RESBS slice; round", 11, "found `;`, expected a name, a number"),
        ("sbf(quantum)", 11, "found `)`, expected `,`"),
        ("sbf(share, quantum)", 4, "`share`, a plain number, expected a delay, a time"),
        ("RESU 1/2", 0, "found `RESU`, expected a guarantee that a loaded policy can give"),
        ("MPR 10ms 10ms 1", 0, "found `MPR`, expected a guarantee that a loaded policy can give"),
        ("as lotery", 3, "found `lotery`, expected a policy that has an analysis: reservation, "),
        ("as reservation", 3, "found nothing for `budget` of `reservation`, expected `with budget = ...`"),
        ("as reservation with budget = slice", 3, "found nothing for `period`"),
        (
            "as reservation with amount = slice",
            20,
            "found `amount`, expected a parameter of `reservation`: `budget`, `period`",
        ),
        ("as reservation with budget = slice, budget = round", 36, "found `budget` a second time"),
        ("as reservation with budget = rank, period = round", 29, "found `rank`, expected a time"),
        ("as reservation with budget = 3, period = round", 29, "found `3`, expected a time, whole, from 0s"),
        ("as reservation with budget = slice period = round", 35, "found `period`, expected `,`, or the end"),
        (
            "as proportional-share with quantum = slice",
            37,
            "found `slice`, expected a parameter of the scheduler",
        ),
        ("as reservation when slice < round", 15, "found `when`, expected `with`, or the end"),
    ] {
        let shown = error(read(None, Some(text)));
        assert!(
            shown.starts_with(&format!("`.provides`, byte {at}: ")) && shown.contains(said),
            "{text}: {shown}"
        );
    }
    for (text, at, said) in [
        ("ALL and RESU", 4, "found `and`, expected `or` and another guarantee"),
        ("ALL or", 6, "found the end, expected a guarantee"),
        ("RESBS slice quantum", 6, "found `slice`, expected parameters of the scheduler, or `sum(...)`"),
        ("MPR", 3, "found the end, expected a period for MPR"),
    ] {
        let shown = error(read(Some(text), None));
        assert!(
            shown.starts_with(&format!("`.accepts`, byte {at}: ")) && shown.contains(said),
            "{text}: {shown}"
        );
    }
    assert_eq!(read(Some("?"), Some("?")).unwrap_err().len(), 2, "both texts at once");
}

#[test]
fn no_text_is_too_deep() {
    let nested = |depth| format!("RESBS {}slice{} round", "(".repeat(depth), ")".repeat(depth));
    assert!(read(None, Some(&nested(32))).is_ok());
    assert!(read(None, Some(&nested(33))).is_err());
    let long = |terms| format!("RESBS slice{} round", "+slice".repeat(terms));
    assert!(read(None, Some(&long(163))).is_ok());
    let error = read(None, Some(&long(164))).unwrap_err().remove(0).to_string();
    assert_eq!(error, "`.provides`, byte 1000: found 1001 bytes, expected at most 1000");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// `as reservation` with parameters of other names gives the same labels as the reservation scheduler.
    #[test]
    fn as_reservation_equals_reservation(
        held in prop::sample::select(vec![
            "ALL", "RESBS 3us 5us", "RESBH 9us 10us", "RESCS 4us 5us", "PSBE 4/5 2us", "RESU 1/2", "PS 1/2", "NULL",
        ]),
        of in prop::collection::vec((0u64..6_000, 0u64..40_000), 0..5),
    ) {
        let own = slices_of(&of, ["slice", "round"]);
        let builtin = slices_of(&of, ["budget", "period"]);
        let refs = |params: &'static [[Value; 2]]| -> Vec<&'static [Value]> { params.iter().map(|p| &p[..]).collect() };
        let (own, builtin) = (refs(own.leak()), refs(builtin.leak()));
        let declared = read(None, Some("as reservation with period = round, budget = slice")).unwrap();
        let found = on(|instance| declared.provide(instance), held, &[], &own);
        let expected = on(|instance| find("reservation").unwrap().provided(instance), held, &[], &builtin);
        same(&found, &expected)?;
        // A guarantee that says what the reservation scheduler promises gives the same labels, too, but in the time of
        // a slower processor.
        let guarantee = read(Some("NULL"), Some("RESBH slice round")).unwrap();
        let found = on(|instance| guarantee.provide(instance), held, &[], &own);
        if held != "RESU 1/2" {
            let kept = |provided: &Provided| -> Vec<Guarantee> {
                provided.labels.iter().map(|label| label.guarantee.clone()).collect()
            };
            prop_assert_eq!(kept(&found), kept(&expected));
        }
    }

    /// In windows of any length the promises to all children together never need more than the supply.
    #[test]
    fn promises_fit_the_supply(
        held in prop::sample::select(vec![
            "ALL", "RESBS 3ns 5ns", "RESBH 9ns 10ns", "RESCS 4ns 5ns", "PSBE 4/5 2ns", "EDP 6ns 5ns 5ns",
        ]),
        provides in prop::sample::select(vec![
            "RESBS slice round", "RESCH slice round", "PSBE slice / round / 2 share * 1ns", "EDP round slice round",
            "EDP round + 5ns slice round", "RESCS slice round when share < 5", "sbf(round, slice / round)",
        ]),
        of in prop::collection::vec((1u64..5, 1u64..40, 0u64..8), 1..4),
    ) {
        let children: Vec<[Value; 3]> =
            of.iter().map(|(slice, round, share)| [("slice", *slice), ("round", *round), ("share", *share)]).collect();
        let children: Vec<&[Value]> = children.iter().map(|params| &params[..]).collect();
        let declared = read(Some("PSBE"), Some(provides)).unwrap();
        let provided = on(|instance| declared.provide(instance), held, &[], &children);
        let held = Guarantee::parse(held).unwrap();
        for window in (0..200).map(whole) {
            let promised: Rational = provided.labels.iter().map(|label| label.guarantee.sbf(&window)).sum();
            prop_assert!(promised <= held.sbf(&window), "{provides} on {held} in {window}: {of:?}");
        }
    }

    /// No text makes the reader panic.
    #[test]
    fn any_text_is_read_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "RESBS", "PSBE", "ALL", "sbf", "as", "reservation", "with", "for", "when", "and", "or", "sum", "(", ")", ",",
        "+", "-", "*", "/", "<=", ">", "=", "slice", "round", "share", "quantum", "10ms", "1/2", "0", "40%", "é",
        "10/", "1..2",
    ]), 0..14)) {
        let text = words.join(" ");
        for texts in [(Some(text.as_str()), None), (None, Some(text.as_str()))] {
            if let Ok(declared) = read(texts.0, texts.1) {
                let claims = slices([(0, 0), (1, 2)]);
                let children: [&[Value]; 2] = [&claims[0], &claims[1]];
                let provided = on(|instance| declared.provide(instance), "PSBE 1/2 2ns", &[], &children);
                prop_assert_eq!(provided.labels.len(), 2);
            }
        }
    }
}

fn slices_of(of: &[(u64, u64)], names: [&'static str; 2]) -> Vec<[Value; 2]> {
    of.iter().map(|(slice, round)| [(names[0], *slice), (names[1], *round)]).collect()
}

/// Whether two analyses give the same labels and the same complaints; derivations may differ, and a declared guarantee
/// does not resume.
fn same(found: &Provided, expected: &Provided) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.labels.len(), expected.labels.len());
    for (found, expected) in found.labels.iter().zip(&expected.labels) {
        let resumes = expected.guarantee == Guarantee::All;
        prop_assert!(found.promises_as(&Label { resumes, ..expected.clone() }), "{found:?} {expected:?}");
    }
    let said = |provided: &Provided| -> Vec<(Option<usize>, String, String)> {
        provided.complaints.iter().map(|c| (c.child, c.needed.clone(), c.found.clone())).collect()
    };
    prop_assert_eq!(said(found), said(expected));
    Ok(())
}
