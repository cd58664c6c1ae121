//! Reading files, and saying what is wrong with them.

use crate::exit::Error;
use hls_hierarchy::model::Hierarchy;
use hls_hierarchy::{Diagnostic, Source};
use hls_workload::program::Workload;
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::fs;
use std::io::IsTerminal;
use std::path::Path;

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| Error::Input(format!("{}: {error}", path.display())))
}

/// A hierarchy with the text that it was read from.
pub struct File {
    /// What it says.
    pub hierarchy: Hierarchy,
    /// For saying where.
    pub source: Source,
}

/// Reads and validates a hierarchy file; prints its warnings, or all of its errors.
pub fn hierarchy(path: &Path) -> Result<File, Error> {
    let bytes = read(path)?;
    let source = Source::new(&path.display().to_string(), &bytes);
    match hls_hierarchy::read(&bytes) {
        Ok((hierarchy, warnings)) => {
            warnings.iter().for_each(|warning| report(&source, warning));
            Ok(File { hierarchy, source })
        }
        Err(errors) => {
            errors.iter().for_each(|error| report(&source, error));
            Err(Error::Reported)
        }
    }
}

/// Says what is wrong and where: a line for programs, with the text drawn around it for people.
pub fn report(source: &Source, diagnostic: &Diagnostic) {
    if !std::io::stderr().is_terminal() {
        eprintln!("{}", source.line(diagnostic));
        return;
    }
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode());
    match handler.render_report(&mut text, &source.report(diagnostic)) {
        Ok(()) => eprintln!("{text}"),
        Err(_) => eprintln!("{}", source.line(diagnostic)),
    }
}

/// Reads an rt-app file; prints what of it cannot be simulated, or all of its errors.
pub fn workload(path: Option<&Path>) -> Result<Workload, Error> {
    let Some(path) = path else { return Ok(Workload::default()) };
    match hls_workload::read_rt_app(&path.display().to_string(), &read(path)?) {
        Ok(workload) => {
            workload.unsupported.iter().for_each(|sentence| eprintln!("warning: {sentence}"));
            Ok(workload)
        }
        Err(errors) => {
            errors.iter().for_each(|error| eprintln!("{error}"));
            Err(Error::Reported)
        }
    }
}
