//! `hls man`: writes the manual pages, one for each command.
//!
//! Relies on the definition of the command line that the help comes from, too.

use crate::exit::{Error, Verdict};
use clap::Command;
use clap_mangen::Man;
use hls_session::AtomicFile;
use std::fs;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
For all users, as root:
    hls man /usr/local/share/man/man1
    man hls-run

Exit codes: 0, 2 bad usage, 3 the system failed.";

/// Arguments of `hls man`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct ManArgs {
    /// The folder for the pages: hls.1, hls-run.1, hls-ctl-status.1 ...
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Runs the command.
pub fn man(args: &ManArgs, command_line: Command) -> Result<Verdict, Error> {
    let folder = &args.folder;
    fs::create_dir_all(folder)
        .map_err(|error| Error::System(format!("cannot write {}: {error}", folder.display())))?;
    let mut command_line = command_line.disable_help_subcommand(true);
    command_line.build();
    write_pages(&command_line, folder)?;
    Ok(Verdict::Kept)
}

/// Writes the pages of a command and of all below it, but not of those that `hls` starts itself.
fn write_pages(command: &Command, folder: &Path) -> Result<(), Error> {
    let source = concat!("hls ", env!("CARGO_PKG_VERSION"));
    // The date of a page is not known. If it were empty, the source would stand in its place.
    let page = Man::new(command.clone()).date(" ").source(source).manual("HLS for Linux");
    let mut file = AtomicFile::create(&folder.join(page.get_filename()))?;
    page.render(&mut file)?;
    file.commit()?;
    let mut below = command.get_subcommands().filter(|below| !below.is_hide_set());
    below.try_for_each(|below| write_pages(below, folder))
}
