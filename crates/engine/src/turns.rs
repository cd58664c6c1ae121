//! A queue of work in which users take turns: a user with much work does not delay other users.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

/// Waiting items: each user's in order of arrival, the users in turn.
#[derive(Debug)]
pub struct Turns<T> {
    /// By user. No list is empty.
    of_users: BTreeMap<u32, VecDeque<T>>,
    /// The user that had the last turn.
    last: u32,
}

impl<T> Default for Turns<T> {
    fn default() -> Turns<T> {
        Turns { of_users: BTreeMap::new(), last: u32::MAX }
    }
}

impl<T> Turns<T> {
    /// Adds an item behind the user's waiting items.
    pub fn add(&mut self, user: u32, item: T) {
        self.of_users.entry(user).or_default().push_back(item);
    }

    /// Takes the item that has waited longest, of the user that has the turn. Returns the user and the item.
    pub fn take(&mut self) -> Option<(u32, T)> {
        self.take_of(|_| true)
    }

    /// The same, among the users for which `may` is true.
    pub fn take_of(&mut self, may: impl Fn(u32) -> bool) -> Option<(u32, T)> {
        let behind = self.of_users.range((Excluded(self.last), Unbounded));
        let user =
            behind.chain(self.of_users.range(..=self.last)).map(|(user, _)| *user).find(|user| may(*user))?;
        let list = self.of_users.get_mut(&user)?;
        let item = list.pop_front()?;
        if list.is_empty() {
            self.of_users.remove(&user);
        }
        self.last = user;
        Some((user, item))
    }

    /// How many items of a user wait.
    pub fn count_of(&self, user: u32) -> usize {
        self.of_users.get(&user).map_or(0, VecDeque::len)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.of_users.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_take_turns() {
        let mut turns = Turns::default();
        (1..=5000).for_each(|item| turns.add(1001, item));
        turns.add(0, 6000);
        turns.add(1002, 7000);
        turns.add(1002, 7001);
        assert_eq!((turns.count_of(1001), turns.count_of(0), turns.count_of(7)), (5000, 1, 0));
        let order: Vec<_> = std::iter::from_fn(|| turns.take()).collect();
        assert_eq!(order[..6], [(0, 6000), (1001, 1), (1002, 7000), (1001, 2), (1002, 7001), (1001, 3)]);
        assert!(order.len() == 5003 && turns.is_empty());
    }

    #[test]
    fn a_late_user_has_the_next_turn_unless_it_may_not() {
        let mut turns = Turns::default();
        (1..=3).for_each(|item| turns.add(7, item));
        assert_eq!(turns.take(), Some((7, 1)));
        turns.add(5, 10);
        assert_eq!(turns.take(), Some((5, 10)));
        assert_eq!(turns.take(), Some((7, 2)));
        turns.add(9, 20);
        assert_eq!(turns.take_of(|user| user != 9), Some((7, 3)));
        assert_eq!(turns.take_of(|user| user != 9), None);
        assert_eq!(turns.take(), Some((9, 20)));
    }
}
