//! Which user numbers belong to one person. A user with subordinate numbers (`/etc/subuid`) can run processes with
//! each of these numbers, in a user namespace. Without this list, each number would count as a user of its own.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The files are read again after this time.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// The subordinate numbers of all users.
pub struct People {
    subordinate: Vec<(Range<u64>, u32)>,
    read_at: Instant,
}

impl People {
    /// Reads the files; if they cannot be read, no user has subordinate numbers.
    pub fn read() -> People {
        let text = |path: &str| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let subordinate = subordinate(&text("/etc/subuid"), &text("/etc/passwd"));
        People { subordinate, read_at: Instant::now() }
    }

    /// The user that has this number, as its own or as a subordinate one.
    pub fn person(&mut self, uid: u32) -> u32 {
        if self.read_at.elapsed() > KEPT_FOR {
            *self = People::read();
        }
        let is_within = |range: &Range<u64>| range.contains(&uid.into());
        self.subordinate.iter().find(|(range, _)| is_within(range)).map_or(uid, |(_, user)| *user)
    }
}

/// Ranges with their users, from lines `USER:FIRST:COUNT`, where the user is a name or a number.
fn subordinate(subuid: &str, passwd: &str) -> Vec<(Range<u64>, u32)> {
    let named = |line: &str| {
        let mut fields = line.split(':');
        let (name, _, uid) = (fields.next()?, fields.next()?, fields.next()?.parse::<u32>().ok()?);
        Some((name.to_owned(), uid))
    };
    let users: HashMap<String, u32> = passwd.lines().filter_map(named).collect();
    let range = |line: &str| {
        let [user, first, count] = line.split(':').collect::<Vec<_>>().try_into().ok()?;
        let (first, count): (u32, u32) = (first.parse().ok()?, count.trim().parse().ok()?);
        // The file may lack the name, which may come from a directory service: then the range is one person.
        let user = users.get(user).copied().or_else(|| user.parse().ok()).unwrap_or(first);
        Some((first.into()..u64::from(first) + u64::from(count), user))
    };
    subuid.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subordinate_numbers_are_their_user_s() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/nowhere:/bin/sh\n";
        let subuid = "alice:100000:65536\n1001:4294901760:65536\nnobody knows\nbob:1:1\nldap:300000:65536\n";
        let mut people = People { subordinate: subordinate(subuid, passwd), read_at: Instant::now() };
        for (uid, person) in
            [(1000, 1000), (99_999, 99_999), (100_000, 1000), (165_535, 1000), (165_536, 165_536)]
        {
            assert_eq!(people.person(uid), person);
        }
        assert_eq!((people.person(u32::MAX), people.person(1)), (1001, 1));
        assert_eq!(people.person(300_000), people.person(365_535), "one person, whose own number is unknown");
    }
}
