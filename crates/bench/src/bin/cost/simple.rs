//! Compiles scx_simple, the simplest scheduler that sched_ext comes with, from the source of the kernel that the test
//! machine boots.
//!
//! Relies on that source, and on Debian's packages of libbpf's headers and of bpftool, which are fetched once and kept
//! beside the kernel; on clang; and on the guest for a description of the kernel's types.

use crate::{compile, output};
use hls_vm::{Apt, Error, Guest, Machine, OUT, Script, Vm};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The suite of Debian with libbpf's headers and bpftool: older than the kernel's, so that bpftool runs on hosts with
/// older libraries, too.
const TOOLS_SUITE: &str = "bookworm-backports";

/// Compiles scx_simple into the folder `work`, and returns the path of the object.
///
/// # Errors
/// `Unavailable` when something cannot be fetched or run here, `Failed` when a step fails.
pub fn object(vm: &Vm, cache: &Path, work: &Path) -> Result<PathBuf, Error> {
    let home = cache.join("scx_simple");
    if !home.is_dir() {
        fetch(vm, cache, &home)?;
    }
    let object = work.join("simple.bpf.o");
    let mut clang = Command::new("clang-19");
    // The flags of tools/sched_ext/Makefile.
    clang.args(["--target=bpf", "-mcpu=v3", "-g", "-O2", "-D__TARGET_ARCH_x86"]);
    clang.args(["-fms-extensions", "-Wno-microsoft-anon-tag"]);
    for folder in ["sched_ext", "sched_ext/include", "include"] {
        clang.arg("-I").arg(home.join(folder));
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/simple.bpf.c");
    compile(clang.arg("-c").arg(source).arg("-o").arg(&object))?;
    Ok(object)
}

/// Makes the folder `home`, whole or not at all: in it `sched_ext` has the kernel's tools/sched_ext, and `include` has
/// libbpf's headers and `vmlinux.h`.
fn fetch(vm: &Vm, cache: &Path, home: &Path) -> Result<(), Error> {
    let work = tempfile::tempdir_in(cache).map_err(failed(cache))?;
    let (ready, unpacked) = (work.path().join("ready"), work.path().join("unpacked"));
    fs::create_dir(&ready).map_err(failed(&ready))?;

    vm.unpack_source(&["tools/sched_ext"], work.path())?;
    let sched_ext = ready.join("sched_ext");
    fs::rename(work.path().join("tools/sched_ext"), &sched_ext).map_err(failed(&sched_ext))?;

    let tools = ["bpftool", "libbpf-dev"].map(str::to_owned);
    Apt::new(&work.path().join("apt"), TOOLS_SUITE)?.unpack(&tools, &unpacked)?;
    let include = ready.join("include");
    fs::rename(unpacked.join("usr/include"), &include).map_err(failed(&include))?;
    let types = types(vm, unpacked.join("usr/sbin/bpftool"), &work.path().join("guest"))?;
    fs::rename(types, include.join("vmlinux.h")).map_err(failed(&include))?;
    fs::rename(&ready, home).map_err(failed(home))
}

/// Has bpftool write the kernel's types as C in the guest, from the kernel's description of itself, and returns the
/// path of the file.
fn types(vm: &Vm, bpftool: PathBuf, folder: &Path) -> Result<PathBuf, Error> {
    let text = "#!/bin/sh -e\nbpftool btf dump file /sys/kernel/btf/vmlinux format c >\"$OUT/vmlinux.h\"\n";
    let guest = Guest {
        scripts: vec![Script { name: "types".into(), text: text.into() }],
        programs: vec![bpftool],
        ..Guest::default()
    };
    output(&vm.run_quietly(&Machine::default(), &guest, folder)?)?;
    Ok(folder.join(OUT).join("vmlinux.h"))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::Failed(format!("{}: {error}", path.display()))
}
