//! Builds of policies: the template, and all built-in policies under other names.

use crate::support::{compiler, opened};
use hls_core::{Calls, Core, CoreError, Params, limits};
use hls_policy_build::{Builder, Error, NUMBERS, PolicyFile, Target, Template};
use hls_units::Nanos;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The policy of a template.
fn template(name: &str) -> PolicyFile {
    let [(path, text), _] = Template::new(name).expect("it is a name").files;
    PolicyFile::new(&path, text.into_bytes()).expect("a template is a policy")
}

/// The text of the error: mistakes in the policy, or the system's error.
fn refusal(outcome: Result<hls_policy_build::Built, Error>) -> String {
    match outcome.expect_err("it was to be refused") {
        Error::Refused(found) => found.iter().map(|one| format!("{one}\n")).collect(),
        Error::System(what) => panic!("{what}"),
    }
}

/// The existing working folders of builds.
fn folders() -> Vec<PathBuf> {
    let all = fs::read_dir(std::env::temp_dir())
        .expect("there is one")
        .map(|entry| entry.expect("it is listed").path());
    all.filter(|path| path.to_string_lossy().contains("hls-policy-")).collect()
}

#[test]
fn a_template_is_built_for_everything() {
    for target in Target::ALL {
        let built = Builder::default().build(target, &[(64, template("asked-times"))]);
        let built = built.unwrap_or_else(|error| panic!("{target:?}: {error}"));
        assert!(built.bytes.starts_with(b"\x7fELF") && !built.cached);
        let has = |text: &str| built.bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(has("asked_times_grant"), "{target:?}");
        // The object is the same wherever it is built.
        assert!(!has("hls-policy-"), "{target:?}");
    }
}

#[test]
fn a_native_build_has_the_policy_among_its_own() {
    let policies =
        [(70, template("one")), (200, template("one").renamed("other-one").expect("it is a name"))];
    let library = opened(&policies);
    let loaded: Vec<_> = library.loaded().map(|policy| (policy.id, policy.name)).collect();
    assert_eq!(loaded, [(70, "one"), (200, "other-one")]);
    let params = |list: &[hls_core::ParamInfo]| list.iter().map(|param| param.name).collect::<Vec<_>>();
    for policy in library.loaded() {
        assert_eq!(
            (params(&policy.scheduler_params), params(&policy.vp_params)),
            (vec!["quantum"], vec!["weight"])
        );
    }
}

#[test]
fn the_policy_of_the_template_does_what_it_says() {
    let mut core = Core::new();
    core.set_library(Some(Arc::new(opened(&[(64, template("one"))]))));
    core.add_cpu(0).expect("there is room");
    let one = core.create_scheduler(64, Params::from_slice(&[5_000_000])).expect("it is in range");
    core.attach_root(one, 0).expect("it has no parent yet");
    assert_eq!(core.attach(one, None, Params::from_slice(&[101])), Err(CoreError::Param));
    let mut thread = |weight| core.attach(one, None, Params::from_slice(&[weight])).expect("it is in range");
    let threads = [thread(3), thread(1)];
    threads.iter().for_each(|&thread| core.request(thread, Nanos::ZERO));
    let mut turns = Vec::new();
    for _ in 0..6 {
        let now = turns.iter().map(|&(_, length)| length).sum();
        core.expire(0, Nanos(now));
        let thread = core.schedule(0, Nanos(now));
        core.check().unwrap_or_else(|fault| panic!("{fault}"));
        turns.push((thread, core.expires_at(0).0 - now));
    }
    let [heavy, light] = threads.map(Some);
    let round = [(heavy, 15_000_000), (light, 5_000_000)];
    assert_eq!(turns, [round, round, round].concat());
}

#[test]
fn the_hierarchy_of_the_template_is_read_with_its_policy() {
    let [(path, _), (_, hierarchy)] = Template::new("asked-times").expect("it is a name").files;
    let loads = hls_hierarchy::loads(hierarchy.as_bytes());
    assert_eq!(loads.iter().map(|load| load.path.as_ref()).collect::<Vec<&Path>>(), [path]);
    let library = opened(&[(64, template("asked-times"))]);
    let mut policies = hls_hierarchy::Policies::default();
    library.loaded().for_each(|policy| policies.load(policy).expect("a file can name it"));
    let read =
        hls_hierarchy::read_with(&policies, hls_hierarchy::Cpus::UnlessStated(1), hierarchy.as_bytes());
    assert!(read.as_ref().is_ok_and(|(_, warnings)| warnings.is_empty()), "{read:?}");
}

#[test]
fn a_name_that_is_built_in_is_taken() {
    let file = PolicyFile::read(Path::new("../../policies/reservation.c")).expect("it is a policy");
    let found = refusal(Builder::default().build(Target::Native, &[(64, file)]));
    assert!(found.contains("found the name `reservation`, which is taken"), "{found}");
}

#[test]
#[ignore = "compiles dozens of policies at once, which takes a minute: make night"]
fn policies_that_are_built_in_are_built_beside_themselves() {
    let folder = Path::new("../../policies");
    let paths = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it is listed").path());
    let mut policies = Vec::new();
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == "c")) {
        let file = PolicyFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let name = file.name();
        for name in [format!("{name}-2"), format!("my-{name}")] {
            policies.push((64 + policies.len() as u8, file.renamed(&name).expect("it is a name")));
        }
        let found = refusal(Builder::default().build(Target::Native, &[(64, file)]));
        assert!(found.contains(&format!("found the name `{name}`, which is taken")), "{found}");
    }
    assert!(policies.len() >= 14, "{policies:?}");
    for target in [Target::Native, Target::Replay] {
        let built = Builder::default().build(target, &policies);
        assert!(built.is_ok(), "{target:?}: {}", built.expect_err("it was not"));
    }
}

#[test]
fn numbers_and_names_are_there_once() {
    let (one, other) = (template("one"), template("other"));
    let build = |policies: &[(u8, PolicyFile)]| refusal(Builder::default().build(Target::Native, policies));
    let found = build(&[(64, one.clone()), (64, other.clone()), (63, template("third"))]);
    let told = "other.c: error: found the number 64, which one.c has, expected one from 64 to 255 that is free\n\
                third.c: error: found the number 63, expected one from 64 to 255 that is free\n";
    assert_eq!(found, told);
    let found = build(&[(64, one.clone()), (65, other.renamed("one").expect("it is a name"))]);
    assert_eq!(
        found,
        "other.c: error: found the name `one`, which is taken by the policy of one.c, expected another\n"
    );
    assert!(Builder::default().build(Target::Native, &[]).is_ok());
    assert_eq!(*NUMBERS.start(), limits::FIRST_LOADED);
}

#[test]
fn what_a_policy_lacks_is_named() {
    let [(path, text), _] = Template::new("one").expect("it is a name").files;
    for (lacking, line) in [
        ("`.grant` in `one_policy`", "    .grant = one_grant,\n"),
        ("`ONE_MESSAGES`", "#define ONE_MESSAGES(M)\n"),
    ] {
        assert!(text.contains(line), "{line}");
        // A function that is in no struct would cause a warning of its own.
        let text = text
            .replace(line, "")
            .replace("static u32 one_grant", "__attribute__((unused)) static u32 one_grant");
        let file = PolicyFile::new(&path, text.into_bytes())
            .expect("it is a policy")
            .renamed("two")
            .expect("a name");
        for target in [Target::Native, Target::Replay] {
            let found = refusal(Builder::default().build(target, &[(64, file.clone())]));
            let told =
                format!("one.c: error: lacks {lacking}, which every policy has: `hls policy contract`\n");
            assert!(found.starts_with(&told), "{target:?}: {found}");
        }
    }
}

#[test]
fn what_was_built_is_kept_until_something_changes() {
    let folder = tempfile::tempdir().expect("there is room");
    let builder = Builder { cache: Some(folder.path().join("made/here")), ..Builder::default() };
    let build = |number, file: &PolicyFile| {
        let built = builder.build(Target::Description, &[(number, file.clone())]);
        built.unwrap_or_else(|error| panic!("{error}"))
    };
    let one = template("one");
    let first = build(64, &one);
    let again = build(64, &one);
    assert_eq!((first.cached, again.cached), (false, true));
    assert_eq!(first.bytes, again.bytes);
    assert!(!build(65, &one).cached && !build(64, &one.renamed("two").expect("it is a name")).cached);
    assert!(build(64, &one).cached);
    let files = fs::read_dir(folder.path().join("made/here")).expect("it was made").count();
    assert_eq!(files, 3);
    // A cache folder that cannot be used is an error, rather than a slow build each time.
    fs::write(folder.path().join("file"), "").expect("there is room");
    let builder = Builder { cache: Some(folder.path().join("file")), ..Builder::default() };
    assert!(matches!(builder.build(Target::Description, &[(64, one)]), Err(Error::System(_))));
}

/// Without a compiler, objects that were built elsewhere, in a copied cache, are used.
#[test]
fn where_there_is_no_compiler_another_has_built_it() {
    let folder = tempfile::tempdir().expect("there is room");
    let there = Builder { cache: Some(folder.path().into()), ..Builder::default() };
    let none = || "no-such-compiler".into();
    let here = Builder { cc: none(), clang: none(), ..there.clone() };
    let [one, other] = ["one", "other"].map(|name| (64, template(name)));
    let both = [one.clone(), (65, other.1.clone())];
    let build =
        |builder: &Builder, policies: &[(u8, PolicyFile)]| builder.build(Target::Description, policies);
    assert!(build(&here, &both).is_err());
    let made = build(&there, &both).unwrap_or_else(|error| panic!("{error}"));
    let found = build(&here, &both).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((found.bytes, found.cached), (made.bytes, true));
    // Other policies, another number, another target are not the same.
    for policies in [[one].as_slice(), &[(66, other.1)]] {
        let error = build(&here, policies).expect_err("it is not there").to_string();
        assert!(error.contains("found no no-such-compiler that runs"), "{error}");
    }
    assert!(here.build(Target::Replay, &both).is_err());
}

#[test]
fn a_compiler_that_is_missing_is_named_with_its_package() {
    let none = || "no-such-compiler".into();
    let builder = Builder { cc: none(), clang: none(), ..Builder::default() };
    for (target, package) in
        [(Target::Native, "gcc"), (Target::Engine, "clang-19"), (Target::Replay, "clang-19")]
    {
        let found = builder.build(target, &[(64, template("one"))]).expect_err("there is none").to_string();
        assert!(found.contains("found no no-such-compiler that runs") && found.contains(package), "{found}");
    }
}

#[test]
fn a_compiler_that_takes_too_long_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().expect("there is room");
    // Stands for a compiler that starts other programs, as gcc does.
    let script = compiler(folder.path(), "sh -c 'exec sleep 6173.31' & wait");
    // On a busy machine it may be killed before it begins to sleep.
    let ended = [1, 4, 16, 64, 256].into_iter().find_map(|seconds| {
        let time_limit = Duration::from_secs(seconds);
        let builder = Builder { cc: script.clone().into(), time_limit, ..Builder::default() };
        let building = thread::spawn(move || builder.build(Target::Native, &[(64, template("one"))]));
        let mut here = None;
        while here.is_none() && !building.is_finished() {
            thread::sleep(Duration::from_millis(10));
            here = sleeping().and_then(|process| fs::read_link(process.join("cwd")).ok());
        }
        let was_there = folders().contains(here.as_ref()?);
        let error = building.join().expect("it ends").expect_err("it takes too long").to_string();
        assert!(error.contains(&format!("was ended, as it took more than {seconds} s")), "{error}");
        was_there.then_some(here?)
    });
    assert!(!ended.expect("it got so far").exists());
    while sleeping().is_some() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// The folder in `/proc` of the process that sleeps for this unique time.
fn sleeping() -> Option<PathBuf> {
    let processes = fs::read_dir("/proc").expect("it is there").flatten().map(|entry| entry.path());
    let is_it = |path: &PathBuf| {
        fs::read_to_string(path.join("cmdline")).is_ok_and(|command| command == "sleep\x006173.31\0")
    };
    processes.into_iter().find(is_it)
}
