//! Counts the checks of all invariants in a run with `--paranoid`, and reports the number at the end: a run in which
//! no check could be made has shown nothing.

use crate::console::{Console, Error};

/// The checks of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Checks in which all invariants held.
    pub made: u64,
    /// Checks that were not possible because decisions were due all the time.
    pub missed: u64,
}

impl Checks {
    /// Counts a check that was made, or one that could not be made.
    pub fn count(&mut self, is_made: bool) {
        *if is_made { &mut self.made } else { &mut self.missed } += 1;
    }

    /// Reports how many checks there were.
    ///
    /// # Errors
    /// No check was made.
    pub fn report(self, console: &dyn Console) -> Result<(), Error> {
        let Checks { made, missed } = self;
        if made == 0 {
            return Err(Error::System(format!(
                "--paranoid: found a decision due whenever the invariants were to be checked ({missed} times), \
                 expected one check at least"
            )));
        }
        let missed = match missed {
            0 => String::new(),
            missed => {
                format!("; {missed} more times decisions were due all the while, and nothing was checked")
            }
        };
        console.say(&format_args!(
            "note: all invariants held, each of the {made} times they were checked{missed}"
        ));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Display;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Said(Mutex<String>);

    impl Console for Said {
        fn say(&self, text: &dyn Display) {
            *self.0.lock().unwrap() += &text.to_string();
        }
    }

    #[test]
    fn a_run_without_a_check_fails_and_others_say_how_many_there_were() {
        let said = Said::default();
        let mut checks = Checks::default();
        assert!(checks.report(&said).is_err());
        checks.count(false);
        assert!(checks.report(&said).unwrap_err().to_string().contains("(1 times)"));
        assert_eq!(*said.0.lock().unwrap(), "");
        checks.count(true);
        checks.report(&said).unwrap();
        let expected = "note: all invariants held, each of the 1 times they were checked; 1 more times decisions were \
                        due all the while, and nothing was checked";
        assert_eq!(*said.0.lock().unwrap(), expected);
    }
}
