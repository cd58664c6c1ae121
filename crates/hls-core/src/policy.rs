//! The policies as the C registry lists them: names, parameters, units, defaults.

use crate::ffi;
use crate::properties::PolicyProperties;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

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

/// A message that threads may send to their scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageInfo {
    /// Its name, such as `run-at`. Its number is its place in the list.
    pub name: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
    /// What it carries, at most [`limits::VP_PARAMS`](crate::limits::VP_PARAMS) values.
    pub fields: Vec<ParamInfo>,
}

/// A policy that a file may name: one of the core, or a known policy that cannot be run.
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
    /// What it needs of its place, by its own declaration; `None`: nothing, or the calculus knows it.
    pub accepts: Option<&'static str>,
    /// What it promises, likewise.
    pub provides: Option<&'static str>,
    /// Builds of a policy with the same version understand each other's state.
    pub state_version: u32,
    /// The most VPs that an instance schedules.
    pub max_children: u32,
    /// The properties that it states.
    pub properties: PolicyProperties,
    /// Parameters of an instance.
    pub scheduler_params: Vec<ParamInfo>,
    /// Parameters of each VP that an instance schedules.
    pub vp_params: Vec<ParamInfo>,
    /// The messages that it accepts.
    pub messages: Vec<MessageInfo>,
}

/// All policies of a build of the core: the built-in ones, then those that were loaded.
pub type PolicyTable = Arc<[PolicyInfo]>;

impl PolicyInfo {
    /// The same, kept for the life of this process, one copy each.
    pub fn kept(&self) -> &'static PolicyInfo {
        static KEPT: Mutex<Vec<&'static PolicyInfo>> = Mutex::new(Vec::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| **known == self) {
            return known;
        }
        let info: &'static PolicyInfo = Box::leak(Box::new(self.clone()));
        kept.push(info);
        info
    }
}

static POLICIES: LazyLock<Vec<PolicyInfo>> = LazyLock::new(|| {
    // SAFETY: the table of this process's own build.
    unsafe { read_policies(&raw const ffi::hls_library) }
});

/// All policies that are built in, in the order of the registry.
pub fn policies() -> &'static [PolicyInfo] {
    &POLICIES
}

/// A string of the C side, copied and kept for the life of this process, as its build may be closed.
///
/// # Safety
/// It is NULL, or a string with a NUL at its end.
unsafe fn literal(text: *const c_char) -> Option<&'static str> {
    // SAFETY: the caller's promise.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })?;
    Some(interned(&text.to_string_lossy()))
}

/// The copy of this text that the process keeps.
pub(crate) fn interned(text: &str) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.into());
    texts.insert(kept);
    kept
}

/// # Safety
/// `first` points to `count` entries.
unsafe fn read_params(first: *const ffi::ParamDescription, count: u64) -> Vec<ParamInfo> {
    let read = |i| {
        // SAFETY: the caller's promise; the strings are literals.
        unsafe {
            let param = &*first.add(i);
            ParamInfo {
                name: literal(param.name).unwrap_or_default(),
                unit: if param.unit == 0 { Unit::Time } else { Unit::Count },
                default: (param.preset != u64::MAX).then_some(param.preset),
                min: param.least,
                max: param.greatest,
                doc: literal(param.doc).unwrap_or_default(),
            }
        }
    };
    (0..count as usize).map(read).collect()
}

/// # Safety
/// As above.
unsafe fn read_messages(first: *const ffi::MessageDescription, count: u32) -> Vec<MessageInfo> {
    let read = |i| {
        // SAFETY: as above.
        unsafe {
            let message = &*first.add(i);
            MessageInfo {
                name: literal(message.name).unwrap_or_default(),
                doc: literal(message.doc).unwrap_or_default(),
                fields: read_params(message.fields, message.nr_fields),
            }
        }
    };
    (0..count as usize).map(read).collect()
}

/// The properties of these bits.
fn properties(bits: u32) -> PolicyProperties {
    let is_set = |name: &str| property_bits().any(|(bit, of)| of == name && u64::from(bits) & bit != 0);
    PolicyProperties::read(is_set)
}

/// # Safety
/// A build of the core has written it.
unsafe fn read_policy(described: &ffi::PolicyDescription) -> PolicyInfo {
    // SAFETY: the caller's promise: pointers are valid, counts are the tables' counts, strings are literals.
    unsafe {
        PolicyInfo {
            id: u8::try_from(described.number).expect("the compiler has seen that policy numbers fit a byte"),
            name: literal(described.name).unwrap_or_default(),
            doc: literal(described.what).unwrap_or_default(),
            source: literal(described.source).unwrap_or_default(),
            accepts: literal(described.accepts),
            provides: literal(described.provides),
            state_version: described.state_version,
            max_children: described.most_children,
            properties: properties(described.properties),
            scheduler_params: read_params(described.params, described.nr_params.into()),
            vp_params: read_params(described.vp_params, described.nr_vp_params.into()),
            messages: read_messages(described.messages, described.nr_messages),
        }
    }
}

/// The policies of a build.
///
/// # Safety
/// It is a build of the core with the sizes of this build.
pub(crate) unsafe fn read_policies(library: *const ffi::Library) -> Vec<PolicyInfo> {
    let policy_at = |place| {
        let mut described = MaybeUninit::uninit();
        // SAFETY: the caller's promise; where there is such a policy, all members of its description are written.
        unsafe {
            let is_there = ((*library).describe_policy)(place, described.as_mut_ptr());
            is_there.then(|| read_policy(described.assume_init_ref()))
        }
    };
    (0..).map_while(policy_at).collect()
}

/// The entries of a table.
///
/// # Safety
/// It is a table of this process's own build.
unsafe fn entries(table: *const ffi::NumberDescription) -> impl Iterator<Item = (u64, &'static str)> {
    // SAFETY: the caller's promise; the last entry has the number 0.
    let entries = (0..).map(move |i| unsafe { &*table.add(i) }).take_while(|entry| entry.number != 0);
    // SAFETY: a literal.
    entries.map(|entry| (entry.number, unsafe { literal(entry.doc) }.unwrap_or_default()))
}

/// The bits of the properties, in the order of their members in `struct hls_policy`, with their names.
pub(crate) fn property_bits() -> impl Iterator<Item = (u64, &'static str)> {
    // SAFETY: a constant of the C side.
    unsafe { entries(ffi::hls_library.properties) }
}

/// The text of a number.
///
/// # Safety
/// It is a table of this process's own build.
unsafe fn in_words(table: *const ffi::NumberDescription, number: u64, unknown: &'static str) -> &'static str {
    // SAFETY: the caller's promise.
    let mut entries = unsafe { entries(table) };
    entries.find(|(of, _)| *of == number).map_or(unknown, |(_, text)| text)
}

/// The invariant of this number.
pub(crate) fn invariant(number: u32) -> &'static str {
    // SAFETY: a constant of the C side.
    unsafe {
        in_words(ffi::hls_library.invariants, number.into(), "an invariant that this version does not know")
    }
}

/// How a policy broke its contract, by the number of `enum hls_violation`.
pub fn violation(number: u64) -> &'static str {
    // SAFETY: a constant of the C side.
    unsafe {
        in_words(ffi::hls_library.violations, number, "its policy did something unknown to this version")
    }
}

/// The hook of this number, as in the end of its function's name.
pub fn hook(number: u64) -> &'static str {
    // SAFETY: a constant of the C side.
    unsafe { in_words(ffi::hls_library.hooks, number, "no") }
}
