//! The descriptions of policies are read as data: they are equal to the descriptions in the native build, no code is
//! run to read them, and an object that was tampered with is an error.
//!
//! Needs the C compiler of this machine.

use hls_core::{Library, PolicyInfo, PolicyTable, described_policies, limits, policies};
use hls_policy_build::{Builder, NUMBERS, PolicyFile, Target, Template};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;
use tempfile::NamedTempFile;

fn built(target: Target, policies: &[(u8, PolicyFile)]) -> Vec<u8> {
    let built = Builder::default().build(target, policies);
    built.unwrap_or_else(|error| panic!("{target:?}: {error}")).bytes
}

fn loaded(table: &[PolicyInfo]) -> &[PolicyInfo] {
    let (built_in, loaded) = table.split_at(policies().len());
    assert_eq!(built_in, policies());
    loaded
}

/// The policies of the examples and of the gallery that a compiler accepts, and the built-in policies that can be
/// loaded, under other names: a policy with pages cannot be loaded.
fn all() -> Vec<(u8, PolicyFile)> {
    let folders = ["../../examples/policies", "tests/gallery", "../../policies"];
    let entries = folders.into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "c"));
    let is_without = |path: &PathBuf, text| !fs::read_to_string(path).unwrap().contains(text);
    paths.retain(|path| is_without(path, "by the compiler") && is_without(path, ".has_pages"));
    paths.sort();
    let other = |file: PolicyFile| file.renamed(&format!("my-{}", file.name())).unwrap();
    NUMBERS.zip(paths.iter().map(|path| other(PolicyFile::read(path).unwrap()))).collect()
}

#[test]
fn what_is_read_is_what_the_native_build_says() {
    let files = all();
    let table = described_policies(&built(Target::Description, &files)).unwrap();
    assert_eq!(loaded(&table).len(), files.len());
    let mut native = NamedTempFile::new().unwrap();
    native.write_all(&built(Target::Native, &files)).unwrap();
    // These are the tests' own policies.
    let library = Library::open(native.path()).unwrap();
    assert_eq!(table, *library.policies());
    let has = |has: fn(&PolicyInfo) -> bool| loaded(&table).iter().any(has);
    assert!(has(|info| !info.messages.is_empty() && info.messages.iter().any(|it| !it.fields.is_empty())));
    assert!(has(|info| info.provides.is_some() && !info.vp_params.is_empty()));
    assert!(has(|info| info.properties.joins) && has(|info| info.max_children == limits::MAX_VPS as u32));
    assert!(has(|info| !info.properties.joins && info.max_children < 100));
}

#[test]
fn a_build_without_loaded_policies_describes_none() {
    assert!(loaded(&described_policies(&built(Target::Description, &[])).unwrap()).is_empty());
}

/// A policy with this line before all others.
fn with(line: &str) -> Vec<(u8, PolicyFile)> {
    let [(path, text), _] = Template::new("turns").unwrap().files;
    vec![(64, PolicyFile::new(&path, format!("{text}\n{line}\n").into_bytes()).unwrap())]
}

#[test]
fn what_no_policy_may_say_is_an_error() {
    let [(path, text), _] = Template::new("turns").unwrap().files;
    let long = format!(".what = \"{}\"", "x".repeat(5000));
    for (instead, expected) in [
        (".what = (const char *)64", "found an address that is a number"),
        (".what = (const char *)turns_grant", "found"),
        (".what = \"\\033[2J\"", "expected a text"),
        (".what = \"\\377\"", "expected a text"),
        (&long[..], "found a text without an end"),
    ] {
        let what = text.lines().find(|line| line.contains(".what = ")).unwrap();
        let text = text.replace(what, &format!("    {instead},"));
        let file = PolicyFile::new(&path, text.into_bytes()).unwrap();
        let error = described_policies(&built(Target::Description, &[(64, file)])).unwrap_err().to_string();
        assert!(
            error.starts_with("what policies say of themselves: ") && error.contains(expected),
            "{error}"
        );
    }
    let text = text.replace("HLS_COUNT, 1, 1, 100,", "HLS_COUNT, 1, 100, 1,");
    let file = PolicyFile::new(&path, text.into_bytes()).unwrap();
    let error = described_policies(&built(Target::Description, &[(64, file)])).unwrap_err().to_string();
    assert!(error.contains("`weight`: found the range 100 to 1"), "{error}");
}

/// A policy may have any code that the compiler accepts, and none of it is run to read the policy's description.
#[test]
fn nothing_of_a_policy_is_run() {
    let attack = "__attribute__((constructor)) static void turns_attack(void) { __builtin_trap(); }";
    let table = described_policies(&built(Target::Description, &with(attack))).unwrap();
    assert_eq!(loaded(&table)[0].name, "turns");
}

static SOUND: LazyLock<(Vec<u8>, PolicyTable)> = LazyLock::new(|| {
    let object = built(Target::Description, &with(""));
    let table = described_policies(&object).unwrap();
    (object, table)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Reading an object ends for any bytes, with policies that are possible in a file or with an error.
    #[test]
    fn an_object_that_was_tampered_with_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..4),
        cut in prop::option::weighted(0.05, any::<prop::sample::Index>()),
    ) {
        let mut object = SOUND.0.clone();
        // After its code an object has its tables, which contain the offsets of everything; before it, its header.
        let tables = object.len() / 2;
        for (index, byte, place) in changes {
            let at = match place {
                0 => index.index(64),
                1 => index.index(object.len()),
                _ => tables + index.index(object.len() - tables),
            };
            object[at] = byte;
        }
        object.truncate(cut.map_or(object.len(), |cut| cut.index(SOUND.0.len())));
        if let Ok(table) = described_policies(&object) {
            let sound = |info: &PolicyInfo| {
                info.id >= limits::FIRST_LOADED && info.scheduler_params.len() <= limits::SCHEDULER_PARAMS
            };
            prop_assert!(loaded(&table).iter().all(sound));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(described_policies(&bytes).is_err());
    }
}

/// Some of the changes above leave a sound table and some do not: the test covers both.
#[test]
fn every_byte_of_the_table_matters() {
    let (object, table) = &*SOUND;
    let changed = (0..object.len()).step_by(37).filter(|&at| {
        let mut object = object.clone();
        object[at] ^= 0xff;
        described_policies(&object).as_ref() != Ok(table)
    });
    let changed = changed.count();
    assert!((1..object.len() / 37).contains(&changed), "{changed} of {}", object.len() / 37);
}
