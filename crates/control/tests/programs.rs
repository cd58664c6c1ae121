//! Programs in C and in Rust that make requests for themselves, and users as the kernel identifies them.
//!
//! Relies on gcc, and, to be another user, on root and setpriv; a test that cannot run here says so.

use crate::support::{FILE, Native, manager, with_server};
use hls_client::interface::{Failure, Reserve};
use hls_client::{Client, ClientError, this_thread};
use hls_control::Manager;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A manager that knows real threads.
fn real() -> Manager<Native> {
    let mut manager = manager();
    manager.engine().knows_real = true;
    manager
}

/// The example in C, made to talk to a socket.
fn compile(folder: &Path, socket: &Path) -> PathBuf {
    compile_file("examples/reserve.c", folder, socket)
}

fn compile_file(source: &str, folder: &Path, socket: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = folder.join("program");
    let output = Command::new("gcc")
        .args(["-Wall", "-Wextra", "-Werror", "-O2", "-Iinclude", source, "-o"])
        .arg(&program)
        .arg(format!("-DHLS_SOCKET=\"{}\"", socket.display()))
        .current_dir(root)
        .output()
        .expect("gcc is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// The examples of docs/messages.md, in C and in Rust, built as they say.
#[test]
fn the_programs_that_send_messages_can_be_built() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let build = |compiler: &str, flags: &[&str], program: &str| {
        let program = folder.path().join(program);
        let mut command = Command::new(compiler);
        let output = command.args(flags).arg("-o").arg(&program).current_dir(&root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    };
    let c = ["-Wall", "-Wextra", "-Werror", "-Iinclude", "-DHLS_SOCKET=\"/nowhere\""];
    let in_c = build("gcc", &[&c[..], &["examples/constraint.c"]].concat(), "in-c");
    let object = build("gcc", &[&c[..], &["-c", "examples/hls_ffi.c"]].concat(), "hls_ffi.o");
    let link = format!("link-arg={}", object.display());
    let rust = ["--edition", "2024", "-D", "warnings", "-C", &link, "examples/constraint.rs"];
    let in_rust = build("rustc", &rust, "in-rust");
    // No hierarchy runs: they say so.
    for program in [in_c, in_rust] {
        let output = Command::new(program).arg("3").output().unwrap();
        let (out, err) = said(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(1), ""), "{err}");
        assert!(err.contains("No such file or directory"), "{err}");
    }
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A folder with programs that every user can run.
fn folder_for_all() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// As `nobody`; `None` where this process may not become another user.
fn as_nobody(program: &Path) -> Option<Command> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    let is_able = Command::new("setpriv").args(command.get_args()).arg("true").output();
    if !is_able.is_ok_and(|output| output.status.success()) {
        println!("skipped: to be another user takes root and setpriv");
        return None;
    }
    command.arg(program);
    Some(command)
}

#[test]
fn a_program_in_c_reserves_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    with_server(real(), |socket| {
        let program = compile(folder.path(), socket);
        // Only root may do this; the next test is about other users.
        let (out, err) = said(&Command::new(&program).output().unwrap());
        if fs::metadata("/proc/self").unwrap().uid() != 0 {
            println!("skipped: only root may reserve below any scheduler");
            return;
        }
        assert_eq!(out, "5ms in every 33ms are reserved\n6ms are\nall is given back\n", "{err}");
        assert_eq!(err, "not 33ms: Device or resource busy\n");
    });
}

#[test]
fn a_program_in_c_is_a_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    with_server(real(), |socket| {
        let program = compile_file("crates/control/tests/promote.c", folder.path(), socket);
        if fs::metadata("/proc/self").unwrap().uid() != 0 {
            println!("skipped: only root may change every scheduler");
            return;
        }
        let (out, err) = said(&Command::new(&program).output().unwrap());
        assert_eq!(err, "");
        assert_eq!(
            out.lines().collect::<Vec<_>>(),
            [
                "promote with a quote: Invalid argument",
                "promote below nothing: Invalid argument",
                "promote: done",
                "kernel page: /dev/zero",
                "user page: /dev/null",
                "promote again: Device or resource busy",
                "pages: done",
                "kernel page: /dev/zero",
                "user page: /dev/null",
                "grant: done",
                "grant the agent's slot: Device or resource busy",
                "revoke: done",
                "revoke again: Invalid argument",
                "grant to another policy: Invalid argument",
                "demote: done",
                "demote again: Invalid argument",
            ]
        );
    });
}

/// A user's ninth connection is one too many; when another one is closed there is room again.
#[test]
fn a_program_in_c_is_told_of_too_many_connections() {
    let folder = folder_for_all();
    with_server(real(), |socket| {
        let program = compile_file("crates/control/tests/connections.c", folder.path(), socket);
        let Some(mut command) = as_nobody(&program) else { return };
        let (out, err) = said(&command.output().unwrap());
        assert_eq!(
            out, "with 8 others: Device or resource busy\nwith 7 others: Operation not permitted\n",
            "{err}"
        );
    });
}

#[test]
fn without_a_server_the_error_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &folder.path().join("none"));
    let (_, err) = said(&Command::new(&program).output().unwrap());
    assert_eq!(err, "no reservation of 5ms in every 33ms: No such file or directory\n");
}

/// A program learns of the end of a run by an error that has no other cause.
#[test]
fn a_program_in_c_can_tell_the_end_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut manager = real();
    manager.engine().ends_after = Some(0);
    with_server(manager, |socket| {
        let program = compile(folder.path(), socket);
        let (_, err) = said(&Command::new(&program).output().unwrap());
        let reason = "Cannot send after transport endpoint shutdown";
        assert_eq!(err, format!("no reservation of 5ms in every 33ms: {reason}\n"));
    });
}

/// The kernel identifies the peer: `nobody` owns no scheduler, and none of root's threads.
#[test]
fn the_kernel_vouches_for_the_user() {
    let folder = folder_for_all();
    with_server(real(), |socket| {
        let program = compile(folder.path(), socket);
        let Some(mut command) = as_nobody(&program) else { return };
        let (out, err) = said(&command.output().unwrap());
        assert_eq!(
            (&out[..], &err[..]),
            ("", "no reservation of 5ms in every 33ms: Operation not permitted\n")
        );
    });
    // The same user, now as the owner of a scheduler.
    let (native, mut layout) = Native::new(FILE, &[]);
    let at = layout.graph.schedulers.iter().position(|scheduler| scheduler.name == "RES").unwrap();
    layout.owners[at] = Some(65534);
    let mut manager = Manager::new(native, layout, hls_calculus::Mode::Tight).unwrap();
    manager.engine().knows_real = true;
    with_server(manager, |socket| {
        let program = compile(folder.path(), socket);
        let Some(mut command) = as_nobody(&program) else { return };
        let (out, err) = said(&command.output().unwrap());
        assert_eq!(out, "5ms in every 33ms are reserved\n6ms are\nall is given back\n", "{err}");
    });
}

#[test]
fn a_program_in_rust_reserves_for_itself() {
    with_server(real(), |socket| {
        let guarantee = "RESBH 5ms 33ms".to_owned();
        let reserve = Reserve { thread: this_thread(), guarantee, below: None };
        let granted = Client::connect_to(socket).and_then(|mut hls| hls.call(&reserve));
        match granted {
            Ok(granted) => assert_eq!(granted.guarantee, "RESBH 5ms 33ms"),
            // When the test runs as a user other than root.
            Err(ClientError::Failure(Failure::Denied { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    });
}
