//! The users of this machine that own schedulers (`owner=` in a hierarchy file).

use crate::console::Error;
use hls_hierarchy::Diagnostic;
use hls_hierarchy::model::{Hierarchy, Scheduler, User};

/// The owner of each scheduler, where the file names one.
///
/// # Errors
/// This machine has no such user; with the place in the file.
pub fn owners(hierarchy: &Hierarchy) -> Result<Vec<Option<u32>>, Error> {
    hierarchy.schedulers.iter().map(owner).collect()
}

fn owner(scheduler: &Scheduler) -> Result<Option<u32>, Error> {
    let Some(owner) = &scheduler.owner else { return Ok(None) };
    match &owner.value {
        User::Uid(uid) => Ok(Some(*uid)),
        User::Name(name) => match uzers::get_user_by_name(name) {
            Some(user) => Ok(Some(user.uid())),
            None => {
                let node = format!("scheduler `{}`", scheduler.name);
                let found = format!("no user `{name}`");
                let refused =
                    Diagnostic::error(owner.span.clone(), node, found, "a user of this machine, or a number");
                Err(Error::Hierarchy(vec![refused]))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners_of(owner: &str) -> Result<Vec<Option<u32>>, Error> {
        let text = format!("time-sharing \"rest\" default=#true owner={owner}");
        let (hierarchy, _) = hls_hierarchy::read(text.as_bytes()).unwrap();
        owners(&hierarchy)
    }

    #[test]
    fn owners_are_users_of_this_machine_or_numbers() {
        assert_eq!(owners_of("\"root\"").unwrap(), [Some(0)]);
        assert_eq!(owners_of("4711").unwrap(), [Some(4711)]);
        let Err(Error::Hierarchy(refused)) = owners_of("\"no-one\"") else { panic!("it is refused") };
        assert!(refused[0].to_string().contains("found no user `no-one`"), "{}", refused[0]);
    }
}
