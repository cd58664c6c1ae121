//! Finds out whether a guest boots on KVM on this machine, by trying once, and remembers the answer in the cache.
//!
//! That the device exists is not enough: in a virtual machine it may exist and yet not run a whole kernel.

use std::fs::{self, OpenOptions};
use std::time::Duration;

use crate::error::failed;
use crate::{Accel, Error, Guest, Machine, Outcome, Script, Time, Vm};

/// How long the trial may take; a boot takes two seconds where KVM works.
const LIMIT: Duration = Duration::from_secs(20);

/// The remembered answer when KVM works; any other text is the reason why it does not.
const WORKS: &str = "works\n";

/// Returns whether a guest boots on KVM. That the user may not open the device is not remembered, since it can change.
pub(crate) fn works(vm: &Vm) -> Result<bool, Error> {
    if OpenOptions::new().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(false);
    }
    let host = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let remembered = vm.cache.join(format!("kvm-{}-{}", host.trim(), vm.kernel.release));
    if let Ok(answer) = fs::read_to_string(&remembered) {
        return Ok(answer == WORKS);
    }
    let folder = tempfile::tempdir_in(&vm.cache).map_err(failed(vm.cache.display()))?;
    let time = Time::Free(Accel::Kvm);
    let machine = Machine { time, limit: LIMIT, ..Machine::default() };
    let script = Script { name: "probe".into(), text: "#!/bin/sh\n".into() };
    let guest = Guest { scripts: vec![script], ..Guest::default() };
    let answer = match vm.run_quietly(&machine, &guest, folder.path()) {
        Ok(Outcome { cut_short: None, .. }) => WORKS.to_owned(),
        Ok(Outcome { cut_short: Some(why), .. }) => format!("{why}\n"),
        Err(error) => format!("{error}\n"),
    };
    fs::write(&remembered, &answer).map_err(failed(remembered.display()))?;
    Ok(answer == WORKS)
}
