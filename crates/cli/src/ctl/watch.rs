//! `hls ctl watch`: prints what changes in the hierarchy that runs, as it happens.

use super::tree::clean;
use hls_client::interface::{Change, Kind, Watch};
use hls_client::{Client, ClientError};
use hls_report::ascii::write_line;
use std::io::{ErrorKind, Write};

/// Prints the changes, as JSON or in words, a line each, until the run ends.
pub fn watch(hls: Client, json: bool, out: &mut impl Write) -> Result<(), ClientError> {
    let mut next = None;
    for reply in hls.subscribe(&Watch {}) {
        let changes = match reply {
            Ok(reply) => reply.changes,
            Err(ClientError::Connection(error)) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        };
        for change in changes {
            if json {
                write_line(out, &change)?;
            } else {
                let missed = next.map_or(0, |next| change.number - next);
                if missed > 0 {
                    writeln!(out, "({missed} changes came too fast, and are not shown)")?;
                }
                writeln!(out, "{}", in_words(&change))?;
            }
            next = Some(change.number + 1);
        }
        out.flush()?;
    }
    Ok(())
}

/// What has happened.
fn in_words(change: &Change) -> String {
    let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, clean);
    let [scheduler, guarantee, policy] = [&change.scheduler, &change.guarantee, &change.policy].map(text);
    let thread = change.thread.unwrap_or_default();
    match change.kind {
        Kind::Created => format!("created `{scheduler}` ({policy}), which is promised {guarantee}"),
        Kind::Destroyed => format!("destroyed `{scheduler}`"),
        Kind::Disabled => format!("`{scheduler}` has lost its policy `{policy}`, which broke its contract"),
        Kind::Restored => format!("`{scheduler}` has `{policy}` again"),
        Kind::Placed => format!("thread {thread} is below `{scheduler}`, which promises it {guarantee}"),
        Kind::Released if change.scheduler.is_none() => format!("thread {thread} has ended"),
        Kind::Released => format!("thread {thread} is below `{scheduler}`, which promises it nothing"),
        Kind::Suspended => format!("thread {thread} is suspended by `{scheduler}`"),
        Kind::Resumed => format!("thread {thread} is no longer suspended by `{scheduler}`"),
        Kind::Loaded => format!("loaded `{policy}`"),
        Kind::Unloaded => format!("unloaded `{policy}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends these messages, and then ends.
    fn watched(messages: &[&str], json: bool) -> String {
        let mut messages = messages.iter();
        let hls = Client::of(move |_| match messages.next() {
            Some(message) => Ok((message.as_bytes().to_vec(), Vec::new())),
            None => Err(ErrorKind::UnexpectedEof.into()),
        });
        let mut out = Vec::new();
        watch(hls, json, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn changes_are_told_in_words_or_as_json() {
        let messages = [
            r#"{"continues":true,"parameters":{"changes":[]}}"#,
            r#"{"continues":true,"parameters":{"changes":[
                {"number":1,"kind":"created","scheduler":"A\u001b","guarantee":"NULL","policy":"stride"},
                {"number":2,"kind":"placed","scheduler":"A","thread":7,"guarantee":"RESBH 1ms 9ms"}]}}"#,
            r#"{"continues":true,"parameters":{"changes":[{"number":5,"kind":"released","thread":7}]}}"#,
        ];
        let expected = "created `A?` (stride), which is promised NULL\n\
                        thread 7 is below `A`, which promises it RESBH 1ms 9ms\n\
                        (2 changes came too fast, and are not shown)\n\
                        thread 7 has ended\n";
        assert_eq!(watched(&messages, false), expected);
        let json = watched(&messages, true);
        assert_eq!(json.lines().count(), 3);
        assert_eq!(json.lines().last(), Some(r#"{"number":5,"kind":"released","thread":7}"#));
    }
}
