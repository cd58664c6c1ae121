//! Compilers read untrusted input: tests what they may reach, and what they may use up.
//!
//! Needs the compilers of this machine. If its kernel cannot confine a compiler, these tests say so and are skipped,
//! except in continuous integration.

use crate::support::{OF_EACH_COMPILER, compiler};
use hls_policy_build::{Builder, Error, PolicyFile, Target, Template, exposed};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// Whether this kernel confines compilers.
fn confines() -> bool {
    let exposed = exposed().expect("a thread can be confined");
    if !exposed.is_empty() {
        eprintln!("skipped: this kernel cannot keep a compiler from {}", exposed.join(" and "));
        let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
        assert!(!is_ci, "in continuous integration it must");
    }
    exposed.is_empty()
}

/// The template's policy with `before` inserted before its first line of code, and `behind` after its last line.
fn policy(before: &str, behind: &str) -> [(u8, PolicyFile); 1] {
    let [(path, text), _] = Template::new("one").expect("it is a name").files;
    let include = "#include \"../core/policy.h\"\n";
    assert!(text.contains(include));
    let text = format!("{}\n{behind}\n", text.replace(include, &format!("{include}{before}\n")));
    [(64, PolicyFile::new(&path, text.into_bytes()).expect("it is a policy"))]
}

/// The messages of a failing compiler that is this script.
fn said_by(script: &str) -> String {
    let folder = tempfile::tempdir().expect("there is room");
    let path = compiler(folder.path(), &format!("{script}\nexit 1"));
    let builder = Builder { cc: path.into(), ..Builder::default() };
    match builder.build(Target::Native, &policy("", "")) {
        Err(Error::System(what)) => what,
        other => panic!("{other:?}"),
    }
}

/// A policy can neither get a file of the caller into messages nor into the object.
#[test]
fn no_file_of_the_caller_is_read() {
    if !confines() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    for mode in [0o600, 0o644] {
        let secret = folder.path().join(format!("secret-{mode:o}"));
        fs::write(&secret, "int hidden_words = 4711 here;\n").expect("there is room");
        fs::set_permissions(&secret, Permissions::from_mode(mode)).expect("it is ours");
        let (secret, up) = (secret.display().to_string(), "../".repeat(20));
        for target in OF_EACH_COMPILER {
            for (before, behind) in [
                (format!("#include \"{secret}\""), String::new()),
                (format!("#include \"{up}{secret}\""), String::new()),
                (String::new(), format!("asm(\".incbin \\\"{secret}\\\"\");")),
            ] {
                let built = Builder::default().build(target, &policy(&before, &behind));
                let text = format!("{:?}", built.as_ref().map(|built| String::from_utf8_lossy(&built.bytes)));
                assert!(built.is_err(), "{target:?} {mode:o} {before}{behind}");
                assert!(!text.contains("4711") && !text.contains("hidden_words"), "{text}");
                let why = ["denied", "not find", "not found", "t open"].iter().any(|why| text.contains(why));
                assert!(why, "{target:?}: {text}");
            }
        }
    }
}

/// Every policy may read the core.
#[test]
fn the_core_is_read() {
    for target in OF_EACH_COMPILER {
        let before = "#include \"../core/levels.h\"";
        let built = Builder::default().build(target, &policy(before, ""));
        assert!(built.is_ok(), "{target:?}: {built:?}");
    }
}

#[test]
fn a_compiler_reaches_nothing_but_its_build() {
    if !confines() {
        return;
    }
    let outside = tempfile::tempdir().expect("there is room");
    fs::set_permissions(outside.path(), Permissions::from_mode(0o777)).expect("it is ours");
    let script = format!(
        "(cat /etc/passwd && echo read-it; ls / && echo listed-it; echo 1 >{}/made && echo wrote-it) 2>/dev/null >&2
         ls core/core.h >&2; echo 1 >mine && echo wrote-mine >&2; echo no >/dev/null && echo wrote-null >&2
         echo \"user=$(id -u) groups=$(id -G) memory=$(ulimit -v) net=$(readlink /proc/self/ns/net)=\" >&2",
        outside.path().display()
    );
    let said = said_by(&script);
    for never in ["read-it", "listed-it", "wrote-it", "root:"] {
        assert!(!said.contains(never), "{said}");
    }
    for expected in ["core/core.h", "wrote-mine", "wrote-null", "memory=4194304"] {
        assert!(said.contains(expected), "{said}");
    }
    assert!(!outside.path().join("made").exists());
    let value = |name: &str| {
        let (_, behind) = said.split_once(&format!("{name}=")).unwrap_or_else(|| panic!("{name}: {said}"));
        behind.split([' ', '=']).next().unwrap_or_default().to_owned()
    };
    if rustix::process::geteuid().is_root() {
        let user: u32 = value("user").parse().expect("a number");
        assert!((61184..65520).contains(&user), "{said}");
        assert_eq!(value("groups"), value("user"));
        let ours = fs::read_link("/proc/self/ns/net").expect("it is there").display().to_string();
        assert!(value("net").starts_with("net:[") && value("net") != ours, "{said}");
    }
}

/// Each bomb is ended by a limit: of time, of memory, or of a file's size.
#[test]
fn a_bomb_ends_with_an_error() {
    let doubled = (1..40)
        .fold("#define B0 1,1,1,1\n".to_owned(), |text, i| format!("{text}#define B{i} B{0} B{0}\n", i - 1));
    for (what, before) in [
        ("inclusion", "#include \"one.c\"\n#include \"one.c\"".to_owned()),
        ("text", format!("{doubled}static int bomb[] = {{B39}};")),
        ("object", "char one_bomb[1ul << 37] = {1};".to_owned()),
        ("assembler", "asm(\".data\\n.fill 0x1000000000, 1, 7\\n.text\");".to_owned()),
    ] {
        for target in [Target::Native, Target::Engine] {
            let builder = Builder { time_limit: Duration::from_secs(2), ..Builder::default() };
            let built = builder.build(target, &policy(&before, ""));
            let error = built.map(|built| built.bytes.len()).expect_err(what).to_string();
            let is_told = error.contains("was ended, as it") || error.contains("nested too deeply");
            assert!(is_told, "{what}, {target:?}: {error}");
        }
    }
}

/// A cache in which other users can write is not used.
#[test]
fn a_cache_that_others_can_write_is_not_used() {
    let folder = tempfile::tempdir().expect("there is room");
    let cache = folder.path().join("cache");
    let builder = Builder { cache: Some(cache.clone()), ..Builder::default() };
    let build = || builder.build(Target::Description, &policy("", "")).expect("it is a policy");
    let (first, second) = (build(), build());
    assert_eq!((first.cached, second.cached), (false, true));
    let others_may_write = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o777));
    others_may_write(&cache).expect("it is ours");
    // Another user replaces our build.
    for entry in fs::read_dir(&cache).expect("it is there") {
        fs::write(entry.expect("it is listed").path(), "other").expect("it is ours");
    }
    let third = build();
    assert!(!third.cached && third.bytes == first.bytes);
}
