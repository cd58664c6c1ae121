//! The exploration itself, of models with known futures.

use super::{Bounds, Choice, Explored, Memory, Model, explore};

/// A number that events raise by one or two. While it is odd, a step is due, which adds one.
struct Numbers {
    number: u32,
    /// States are alike if the numbers are, by this measure.
    key_of: fn(u32) -> u32,
    /// Broken at this number.
    broken_at: u32,
    /// Has the step take one off again, so that steps follow each other without end.
    endless: bool,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers { number: 0, key_of: |number| number, broken_at: u32::MAX, endless: false }
    }
}

impl Model for Numbers {
    type State = u32;
    type Step = i32;

    fn state(&self) -> u32 {
        self.number
    }

    fn state_into(&self, other: &mut u32) {
        *other = self.number;
    }

    fn set(&mut self, state: &u32) {
        self.number = *state;
    }

    fn key(&mut self) -> u128 {
        (self.key_of)(self.number).into()
    }

    fn list_events(&mut self, steps: &mut Vec<i32>) {
        steps.extend([1, 2]);
    }

    fn list_due(&mut self, steps: &mut Vec<i32>) {
        if self.number % 2 == 1 {
            steps.push(1);
        } else if self.endless && self.number > 0 {
            steps.push(-1);
        }
    }

    fn describe(&self, step: i32) -> String {
        format!("{}{step:+}", self.number)
    }

    fn perform(&mut self, step: i32) -> Result<(), String> {
        self.number = self.number.checked_add_signed(step).ok_or("below 0")?;
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        if self.number == self.broken_at { Err(format!("it is {}", self.number)) } else { Ok(()) }
    }
}

fn explored(mut model: Numbers, length: usize) -> Explored {
    explore(&mut model, &mut Memory::default(), &[0], Bounds { length, twin_of: 1 })
}

/// With one event: 0; +1; +1 and the step; +2. With two: each of the last three with +1 and with +2; and the step
/// behind those that lead to 3.
#[test]
fn all_sequences_are_counted() {
    assert_eq!(explored(Numbers::default(), 0).sequences, 1);
    assert_eq!(explored(Numbers::default(), 1).sequences, 1 + 3);
    let two = explored(Numbers::default(), 2);
    assert_eq!((two.sequences, two.states, &two.violation), (1 + 3 + 6 + 3, 5, &None));
    assert!(two.twins > 0);
}

#[test]
fn what_is_broken_is_found_by_a_shortest_sequence() {
    let violation = explored(Numbers { broken_at: 4, ..Numbers::default() }, 5).violation.unwrap();
    assert_eq!(violation.steps, ["0+2", "2+2"]);
    assert_eq!(violation.what, "it is 4");
    let mut again = Numbers::default();
    for choice in &violation.choices {
        let step = Choice::of(*choice, &mut again).unwrap();
        again.perform(step).unwrap();
    }
    assert_eq!(again.number, 4);
}

#[test]
fn a_key_that_joins_states_with_different_futures_is_found() {
    // 1 and 4 have the same key, but a step is due in 1 alone.
    let violation = explored(Numbers { key_of: |number| number % 3, ..Numbers::default() }, 3).violation;
    assert!(violation.unwrap().what.contains("the same key"));
}

#[test]
fn steps_without_end_are_found() {
    let violation = explored(Numbers { endless: true, ..Numbers::default() }, 1).violation;
    assert!(violation.unwrap().what.contains("without end"));
}
