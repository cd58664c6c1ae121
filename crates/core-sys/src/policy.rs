//! The policies as the C registry lists them: names, parameters, units, defaults.

use crate::ffi;
use std::ffi::{CStr, c_char};
use std::sync::LazyLock;

/// What a parameter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds; written with a unit in a file.
    Time,
    /// A plain whole number.
    Count,
}

/// A parameter of a scheduler or of a VP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name in a file, such as `quantum`.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// The value when the file gives none; `None`: it must be given.
    pub default: Option<u64>,
    /// Least allowed value.
    pub min: u64,
    /// Greatest allowed value.
    pub max: u64,
    /// One sentence for people.
    pub doc: &'static str,
}

/// A policy that a file may name: one of the core, or one that is known and cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Its number in the core, never reused; 0: the core does not have it.
    pub id: u8,
    /// Its name in a file, such as `fixed-priority`.
    pub name: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
    /// Paper and section that it follows.
    pub source: &'static str,
    /// How many VPs an instance schedules at most.
    pub max_children: u32,
    /// Whether an instance may hold several VPs of different parents (a join).
    pub joins: bool,
    /// Parameters of an instance.
    pub scheduler_params: Vec<ParamInfo>,
    /// Parameters that an instance asks of each VP that it schedules.
    pub vp_params: Vec<ParamInfo>,
}

impl PolicyInfo {
    /// Whether the core has it, so that a hierarchy with it can be run.
    pub fn runs(&self) -> bool {
        self.id != 0
    }
}

static POLICIES: LazyLock<Vec<PolicyInfo>> = LazyLock::new(read_table);

/// All policies of the core, in the order of the registry.
pub fn policies() -> &'static [PolicyInfo] {
    &POLICIES
}

/// A string literal of the C side.
fn literal(text: *const c_char) -> &'static str {
    // SAFETY: the tables hold string literals, which are NUL-terminated and live as long as the program.
    unsafe { CStr::from_ptr(text) }.to_str().expect("the tables of the core are ASCII")
}

fn read_params(first: *const ffi::ParamDescription, count: u32) -> Vec<ParamInfo> {
    (0..count as usize)
        .map(|i| {
            // SAFETY: the C side states how many entries the constant table has.
            let param = unsafe { &*first.add(i) };
            ParamInfo {
                name: literal(param.name),
                unit: if param.unit == 0 { Unit::Time } else { Unit::Count },
                default: (param.preset != u64::MAX).then_some(param.preset),
                min: param.least,
                max: param.greatest,
                doc: literal(param.doc),
            }
        })
        .collect()
}

fn read_table() -> Vec<PolicyInfo> {
    let mut policies = Vec::new();
    loop {
        // SAFETY: the table ends with an entry whose number is 0, and the loop stops there.
        let policy = unsafe {
            &*(&raw const ffi::hls_policy_table).cast::<ffi::PolicyDescription>().add(policies.len())
        };
        if policy.number == 0 {
            return policies;
        }
        policies.push(PolicyInfo {
            id: u8::try_from(policy.number).expect("policy numbers fit a byte"),
            name: literal(policy.name),
            doc: literal(policy.doc),
            source: literal(policy.source),
            max_children: policy.most_children,
            joins: policy.joins != 0,
            scheduler_params: read_params(policy.params, policy.nr_params),
            vp_params: read_params(policy.vp_params, policy.nr_vp_params),
        });
    }
}

/// The invariant of this number in words.
pub(crate) fn invariant(number: u32) -> &'static str {
    for i in 0.. {
        // SAFETY: the table ends with an entry whose number is 0, and the loop stops there.
        let entry =
            unsafe { &*(&raw const ffi::hls_invariant_table).cast::<ffi::InvariantDescription>().add(i) };
        if entry.number == 0 {
            break;
        }
        if entry.number == number {
            return literal(entry.doc);
        }
    }
    "an invariant that this version does not know"
}
