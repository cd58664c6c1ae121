//! The content of the guest, and the initramfs made of it.
//!
//! Relies on a static busybox and on `ldd` of the host. The same content gives the same bytes: entries are in order of
//! their names, have no times, and belong to root.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cpio::newc;

use crate::error::failed;
use crate::{Error, tool};

/// What the guest runs, and which programs and files it has beside busybox.
#[derive(Debug, Clone, Default)]
pub struct Guest {
    /// The scripts that the guest runs one after the other, even if one fails.
    pub scripts: Vec<Script>,
    /// Programs of the host, by path or by name in PATH. In the guest they stand before busybox's in PATH, with the
    /// shared libraries that they are linked with.
    pub programs: Vec<PathBuf>,
    /// Other files and folders: the path on the host, and the absolute path in the guest. Executable files stay
    /// executable.
    pub files: Vec<(PathBuf, String)>,
}

/// A script for the guest: `#!/bin/sh` of busybox, or of a shell that is among the programs.
#[derive(Debug, Clone)]
pub struct Script {
    /// The name of the script in the outcome, unique in the guest: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The text of the script, from the `#!` on.
    pub text: String,
}

impl Script {
    /// Reads a script from a file; the file's name becomes the script's.
    ///
    /// # Errors
    /// `Input` when the file cannot be read.
    pub fn read(path: &Path) -> Result<Script, Error> {
        let text =
            fs::read_to_string(path).map_err(|error| Error::Input(format!("{}: {error}", path.display())))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Script { name, text })
    }
}

const INIT: &str = include_str!("init.sh");

/// One file of the archive.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    /// The console that the kernel gives the first process, before anything is mounted.
    Console,
    Text {
        text: String,
    },
    Copy {
        of: PathBuf,
    },
}

/// The content of the archive, by path without the leading slash. In this order folders come before what is in them.
#[derive(Default)]
struct Tree(BTreeMap<String, Entry>);

/// Writes the initramfs of `guest` to the file `path`.
///
/// # Errors
/// `Input` where a program or file does not exist, or a name is not allowed; `Unavailable` without busybox.
pub(crate) fn write_initramfs(guest: &Guest, path: &Path) -> Result<(), Error> {
    let mut tree = Tree::default();
    let busybox = tool::find(Path::new("busybox"))
        .filter(|path| libraries(path).is_ok_and(|all| all.is_empty()))
        .ok_or_else(|| Error::Unavailable("a static busybox is missing (Debian's busybox-static)".into()))?;
    tree.add("/bin/busybox", Entry::Copy { of: busybox })?;
    tree.add("/dev/console", Entry::Console)?;
    tree.add("/init", Entry::Text { text: init(&guest.scripts)? })?;
    for script in &guest.scripts {
        tree.add(&format!("/usr/scripts/{}", script.name), Entry::Text { text: script.text.clone() })?;
    }
    for program in &guest.programs {
        tree.add_program(program)?;
    }
    for (from, to) in &guest.files {
        tree.add_file(from, to)?;
    }
    let write = || {
        let mut out = BufWriter::new(File::create(path)?);
        for (name, entry) in &tree.0 {
            entry.write(name, &mut out)?;
        }
        newc::trailer(out)?.flush()
    };
    write().map_err(failed(path.display()))
}

/// The text of the first process, with a call for every script.
fn init(scripts: &[Script]) -> Result<String, Error> {
    let mut calls = String::new();
    for (i, Script { name, .. }) in scripts.iter().enumerate() {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            let what = "expected letters, digits, `-`, `_` and `.`, and no `.` in front";
            return Err(Error::Input(format!("found a script named `{name}`, {what}")));
        }
        if scripts[..i].iter().any(|earlier| earlier.name == *name) {
            return Err(Error::Input(format!("found two scripts named `{name}`, expected one of a name")));
        }
        calls.push_str(&format!("run {name}\n"));
    }
    Ok(INIT.replace("\nRUN\n", &format!("\n{calls}")))
}

impl Tree {
    /// Adds an entry at an absolute path, with the folders above it.
    fn add(&mut self, path: &str, entry: Entry) -> Result<(), Error> {
        let inside = path.trim_matches('/');
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !path.starts_with('/') || !inside.split('/').all(plain) {
            return Err(Error::Input(format!(
                "found `{path}` as a path in the guest, expected an absolute one"
            )));
        }
        for (slash, _) in inside.match_indices('/') {
            self.put(&inside[..slash], Entry::Folder)?;
        }
        self.put(inside, entry)
    }

    /// Adds an entry. The same entry may be added twice, as a library of two programs is; a different one at the same
    /// path is refused.
    fn put(&mut self, name: &str, entry: Entry) -> Result<(), Error> {
        match self.0.insert(name.to_owned(), entry) {
            Some(other) if other != self.0[name] => {
                Err(Error::Input(format!("found two things to put at /{name} in the guest, expected one")))
            }
            _ => Ok(()),
        }
    }

    /// Adds a file, or a folder with all that is in it. Follows links.
    fn add_file(&mut self, from: &Path, to: &str) -> Result<(), Error> {
        let wrong = |error: io::Error| Error::Input(format!("{}: {error}", from.display()));
        let kind = fs::metadata(from).map_err(wrong)?;
        if kind.is_file() {
            return self.add(to, Entry::Copy { of: from.to_owned() });
        }
        if !kind.is_dir() {
            return Err(Error::Input(format!(
                "{}: found a special file, expected a file or folder",
                from.display()
            )));
        }
        self.add(to, Entry::Folder)?;
        for entry in fs::read_dir(from).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            self.add_file(&path, &format!("{}/{name}", to.trim_end_matches('/')))?;
        }
        Ok(())
    }

    /// Adds a program and the libraries that it is linked with. Libraries go where every loader looks for them, by the
    /// names that the program asks for; the loader itself stays where the program expects it.
    fn add_program(&mut self, program: &Path) -> Result<(), Error> {
        let path = tool::find(program).ok_or_else(|| {
            Error::Input(format!("{}: found no such program, expected one", program.display()))
        })?;
        for library in libraries(&path)? {
            let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let to =
                if name.starts_with("ld-") { library.display().to_string() } else { format!("/lib/{name}") };
            self.add(&to, Entry::Copy { of: library })?;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.add(&format!("/usr/local/bin/{name}"), Entry::Copy { of: path })
    }
}

/// The loader and shared libraries of a program, as the host's loader finds them; a static program or script has none.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = match tool::output(Command::new("ldd").arg(program)) {
        Ok(listed) => listed,
        Err(Error::Failed(said)) if said.contains("not a dynamic executable") => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let mut found = vec![];
    for line in listed.lines() {
        if line.ends_with("=> not found") {
            return Err(Error::Input(format!("{}: library not found: {}", program.display(), line.trim())));
        }
        // `libc.so.6 => /lib/libc.so.6 (0x7f...)`, `/lib64/ld-linux-x86-64.so.2 (0x7f...)`; the vDSO has no path.
        let path = line.rsplit("=> ").next().unwrap_or_default().trim();
        if path.starts_with('/') {
            found.push(PathBuf::from(path.split(" (0x").next().unwrap_or_default()));
        }
    }
    Ok(found)
}

impl Entry {
    fn write(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        const FOLDER: u32 = 0o040_755;
        const CHARACTER_DEVICE: u32 = 0o020_600;
        const FILE: u32 = 0o100_644;
        const PROGRAM: u32 = 0o100_755;
        let header = newc::Builder::new(name);
        let entry = match self {
            Entry::Folder => header.mode(FOLDER).nlink(2).write(out, 0),
            Entry::Console => header.mode(CHARACTER_DEVICE).rdev_major(5).rdev_minor(1).write(out, 0),
            Entry::Text { text } => {
                let mut entry = header.mode(PROGRAM).write(out, size_in_archive(text.len() as u64)?);
                entry.write_all(text.as_bytes())?;
                entry
            }
            Entry::Copy { of } => {
                let mut file = File::open(of)?;
                let about = file.metadata()?;
                let mode = if about.permissions().mode() & 0o111 == 0 { FILE } else { PROGRAM };
                let mut entry = header.mode(mode).write(out, size_in_archive(about.len())?);
                io::copy(&mut file, &mut entry)?;
                entry
            }
        };
        entry.finish().map(|_| ())
    }
}

/// The size of a file as the archive has it, in 32 bits.
fn size_in_archive(bytes: u64) -> io::Result<u32> {
    u32::try_from(bytes)
        .map_err(|_| io::Error::other(format!("found a file of {bytes} bytes, expected less than 4 GiB")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(names: &[&str]) -> Vec<Script> {
        names.iter().map(|&name| Script { name: name.into(), text: String::new() }).collect()
    }

    #[test]
    fn the_first_process_calls_every_script_in_order() {
        assert!(init(&scripts(&["one", "two.sh"])).unwrap().contains("\nrun one\nrun two.sh\ntar "));
    }

    #[test]
    fn names_with_special_characters_and_duplicates_are_refused() {
        for names in [&["a b"][..], &["$(reboot)"], &[""], &[".."], &["a/b"], &["same", "same"]] {
            assert!(matches!(init(&scripts(names)), Err(Error::Input(_))), "{names:?}");
        }
    }

    #[test]
    fn one_place_has_one_thing() {
        let mut tree = Tree::default();
        let library = || Entry::Copy { of: "/lib/libc.so.6".into() };
        tree.add("/lib/libc.so.6", library()).unwrap();
        tree.add("/lib/libc.so.6", library()).unwrap();
        assert_eq!(tree.0.keys().collect::<Vec<_>>(), ["lib", "lib/libc.so.6"]);
        for (path, entry) in
            [("/lib/libc.so.6", Entry::Folder), ("/lib", library()), ("/lib/libc.so.6/x", library())]
        {
            assert!(matches!(tree.add(path, entry), Err(Error::Input(_))), "{path}");
        }
    }

    #[test]
    fn paths_that_are_not_absolute_and_plain_are_refused() {
        for path in ["here", "", "/", "/usr//bin", "/usr/../bin"] {
            assert!(matches!(Tree::default().add(path, Entry::Folder), Err(Error::Input(_))), "{path}");
        }
    }

    #[test]
    fn a_program_comes_with_its_libraries_and_its_loader() {
        let mut tree = Tree::default();
        tree.add_program(Path::new("sh")).unwrap();
        assert!(tree.0.contains_key("usr/local/bin/sh") && tree.0.contains_key("lib/libc.so.6"));
        assert!(tree.0.keys().any(|name| name.contains("/ld-")));
        assert!(matches!(tree.add_program(Path::new("no-such-program")), Err(Error::Input(_))));
    }
}
