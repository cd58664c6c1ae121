//! How many CPUs the machine of a hierarchy has: `--cpus` decides; without it the file; if the file says nothing, the
//! number of CPUs that are online on this machine. The rule is the same for all commands that read a hierarchy file.
//!
//! Relies on the kernel's lists of CPUs. Never decides whether an engine can run a hierarchy of that many CPUs.

use crate::exit::Error;
use hls_core::limits::MAX_CPUS;
use hls_hierarchy::Cpus;
use hls_hierarchy::model::Machine;
use hls_kernel_engine::doctor::cpus;
use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

/// What `--cpus` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedCpus {
    /// This number of CPUs.
    Number(u16),
    /// As many CPUs as are online on this machine.
    Online,
}

impl AskedCpus {
    /// Reads `4` or `online`.
    pub fn parse(text: &str) -> Result<AskedCpus, String> {
        let number = text.parse().ok().filter(|cpus| (1..=MAX_CPUS as u16).contains(cpus));
        match (text, number) {
            ("online", _) => Ok(AskedCpus::Online),
            (_, Some(cpus)) => Ok(AskedCpus::Number(cpus)),
            _ => Err(format!("found `{text}`, expected a whole number from 1 to {MAX_CPUS}, or `online`")),
        }
    }

    /// What the reader of a hierarchy file is to know.
    ///
    /// # Errors
    /// Where the CPUs that are online are asked for, and cannot be counted or are too many.
    pub fn for_reader(asked: Option<AskedCpus>) -> Result<Cpus, Error> {
        Ok(match asked {
            Some(AskedCpus::Number(cpus)) => Cpus::Exactly(cpus),
            Some(AskedCpus::Online) => Cpus::Exactly(online()?),
            // A number that is too large matters only if the file does not say how many CPUs there are.
            None => Cpus::UnlessStated(online().unwrap_or(1)),
        })
    }
}

/// What decided how many CPUs the machine has, where the file did not.
pub fn origin(asked: Option<AskedCpus>, machine: &Machine) -> Result<Option<String>, Error> {
    let by = match (asked, machine.stated_cpus) {
        (None, Some(_)) => return Ok(None),
        (None, None) => {
            online()?;
            return Ok(Some("online here; `--cpus` or `machine cpus=` say otherwise".into()));
        }
        (Some(AskedCpus::Number(_)), _) => "by `--cpus`",
        (Some(AskedCpus::Online), _) => "online here, by `--cpus online`",
    };
    Ok(Some(match machine.stated_cpus.filter(|stated| *stated != machine.cpus) {
        Some(stated) => format!("{by}; the file says {stated}"),
        None => by.into(),
    }))
}

/// How many CPUs are online on this machine.
pub fn online() -> Result<u16, Error> {
    let online = match count("online") {
        Some(online) => online,
        None => available_parallelism().map(NonZero::get)?,
    };
    match u16::try_from(online) {
        Ok(cpus) if online <= MAX_CPUS => Ok(cpus),
        _ => {
            let expected = format!("expected {MAX_CPUS} at most (`--cpus` or `machine cpus=` say otherwise)");
            Err(Error::Input(format!("found {online} CPUs online here, {expected}")))
        }
    }
}

/// How many CPUs this machine may have while it runs: one that is offline may come back.
pub fn present() -> Result<u16, Error> {
    let online = online()?;
    Ok(count("present").and_then(|present| u16::try_from(present).ok()).unwrap_or(online))
}

fn count(which: &str) -> Option<usize> {
    cpus(Path::new("/"), which).map(|cpus| cpus as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_cpus_are_read_or_refused() {
        assert_eq!(AskedCpus::parse("1"), Ok(AskedCpus::Number(1)));
        assert_eq!(AskedCpus::parse("online"), Ok(AskedCpus::Online));
        for bad in ["", "0", "-1", "65", "70000", "all", "2.5"] {
            assert!(AskedCpus::parse(bad).is_err(), "{bad}");
        }
    }
}
