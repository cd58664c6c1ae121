//! Messages of compilers, by the lines of the policy author's file. Reads the plain text of gcc, clang and the
//! linker: `FILE:LINE:COLUMN: error: MESSAGE`, with lines before and after it that tell how the compiler came to that
//! place: by an inclusion, a macro, or an inlined call.

use crate::diagnostic::{Diagnostic, Severity};
use crate::file::PolicyFile;
use crate::words::in_words;

/// A place in a file of any kind.
#[derive(Clone, Copy)]
struct Place<'o> {
    path: &'o str,
    line: usize,
    column: Option<usize>,
}

/// A place in an author's file.
#[derive(Clone, Copy)]
struct AuthorPlace<'p> {
    file: &'p PolicyFile,
    line: usize,
    column: Option<usize>,
}

/// A message of a compiler.
struct Message<'o, 'p> {
    severity: Severity,
    /// The place in the author's file, or the place there that led to the message's own.
    author_place: Option<AuthorPlace<'p>>,
    /// The message's own place, if that is in a file of the core.
    core_place: Option<Place<'o>>,
    text: &'o str,
}

/// All messages about the policies; empty if there are none.
pub(crate) fn diagnostics(output: &str, policies: &[(u8, PolicyFile)]) -> Vec<Diagnostic> {
    let messages =
        Reader { policies, origin: None, origin_leads_to: None, messages: Vec::new() }.read(output);
    let mut found: Vec<Diagnostic> = Vec::new();
    // Messages about files of the core are consequences of messages about the author's.
    let of_the_author =
        |message: &Message<'_, '_>| message.author_place.is_some() || lacking(message, policies).is_some();
    let only_the_author = messages.iter().any(of_the_author);
    for message in messages.iter().filter(|message| !only_the_author || of_the_author(message)) {
        let Some(diagnostic) = diagnostic(message, policies) else { continue };
        if !found.contains(&diagnostic) {
            found.push(diagnostic);
        }
    }
    found
}

/// A name that the core expects of a policy and that the policy does not define, and the policy.
fn lacking<'p>(
    message: &Message<'_, '_>,
    policies: &'p [(u8, PolicyFile)],
) -> Option<(&'p PolicyFile, String)> {
    let mut words = message.text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.find_map(|word| {
        // Of the policies `asked` and `asked_times` the one with the longer name.
        let owners = policies.iter().map(|(_, file)| file).filter(|file| file.owns(word));
        let file = owners.max_by_key(|file| file.identifier().len())?;
        file.line_with(word).is_none().then(|| (file, file.in_its_own_words(word)))
    })
}

fn diagnostic(complaint: &Message<'_, '_>, policies: &[(u8, PolicyFile)]) -> Option<Diagnostic> {
    let severity = complaint.severity;
    if let (None, Some((file, word))) = (complaint.author_place, lacking(complaint, policies)) {
        // If a struct lacks a required hook, core/dispatch.h calls a function of that name, which does not exist.
        let what = match word.split_once("_lacks_hook_") {
            Some((policy, hook)) => format!("`.{hook}` in `{policy}_policy`"),
            None => format!("`{word}`"),
        };
        let message = format!("lacks {what}, which every policy has: `hls policy contract`");
        return Some(Diagnostic::error(file.path(), None, message));
    }
    // If the message names no policy: the policy that was added last.
    let file =
        complaint.author_place.map(|place| place.file).or_else(|| policies.last().map(|(_, file)| file))?;
    let message = in_words(&file.in_its_own_words(complaint.text));
    let message = match complaint.core_place {
        Some(Place { path, line, .. }) => {
            let path = path.rsplit("/../").next().unwrap_or(path);
            format!("while compiling `{}`: {path}:{line}: {message}", file.name())
        }
        None => message,
    };
    let (line, column) = (
        complaint.author_place.map(|place| place.line),
        complaint.author_place.and_then(|place| place.column),
    );
    Some(Diagnostic { file: file.path().into(), line, column, severity, message })
}

/// Reads the output line by line.
struct Reader<'o, 'p> {
    policies: &'p [(u8, PolicyFile)],
    /// The author's line that led to the next message, by an inclusion or an inlined call.
    origin: Option<AuthorPlace<'p>>,
    /// The file to which it led, once that is known.
    origin_leads_to: Option<&'o str>,
    messages: Vec<Message<'o, 'p>>,
}

impl<'o, 'p> Reader<'o, 'p> {
    fn read(mut self, output: &'o str) -> Vec<Message<'o, 'p>> {
        for line in output.lines() {
            if let Some(from) = leading_here(line) {
                self.origin = self
                    .origin
                    .filter(|_| self.origin_leads_to.is_none())
                    .or_else(|| self.author_place(from));
                self.origin_leads_to = None;
            } else if let Some((place, severity, message)) = complaint(line) {
                match severity {
                    Severity::Note => self.note(place, message),
                    _ => self.complaint(place, severity, message),
                }
            }
        }
        self.messages
    }

    /// The place, if it is in a file of an author.
    fn author_place(&self, place: Place<'_>) -> Option<AuthorPlace<'p>> {
        let name = place.path.rsplit_once("loaded/")?.1.strip_suffix(".c")?;
        let (_, file) = self.policies.iter().find(|(_, file)| file.identifier() == name)?;
        Some(AuthorPlace { file, line: place.line, column: place.column })
    }

    fn complaint(&mut self, place: Option<Place<'o>>, severity: Severity, message: &'o str) {
        let Some(place) = place else {
            // Without a place: if it is the first message, the reason why there is no other; else a summary.
            if self.messages.is_empty() {
                self.messages.push(Message { severity, author_place: None, core_place: None, text: message });
            }
            return;
        };
        let author_place = self.author_place(place);
        let core_place = author_place.is_none().then_some(place);
        let origin = self.origin.filter(|_| *self.origin_leads_to.get_or_insert(place.path) == place.path);
        self.messages.push(Message {
            severity,
            author_place: author_place.or(origin),
            core_place,
            text: message,
        });
    }

    /// A note tells which line of the author used a macro of the core there, or gives further places.
    fn note(&mut self, place: Option<Place<'o>>, message: &'o str) {
        let Some(author_place) = place.and_then(|place| self.author_place(place)) else { return };
        let of_macro = message.contains("expansion of macro") || message.contains("expanded from macro");
        match self.messages.last_mut() {
            Some(last) if last.author_place.is_none() => last.author_place = Some(author_place),
            _ if of_macro || message.starts_with("each undeclared identifier") => {}
            _ => self.messages.push(Message {
                severity: Severity::Note,
                author_place: Some(author_place),
                core_place: None,
                text: message,
            }),
        }
    }
}

/// The place in a line that tells from where the compiler came to the place of its next message.
fn leading_here(line: &str) -> Option<Place<'_>> {
    let from =
        line.strip_prefix("In file included from ").or_else(|| line.trim_start().strip_prefix("from "));
    let inlined = || line.trim_start().strip_prefix("inlined from ")?.rsplit_once(" at ").map(|(_, at)| at);
    place(from.or_else(inlined)?).map(|(place, _)| place)
}

/// A line with a message: its place, its severity, and its text.
fn complaint(line: &str) -> Option<(Option<Place<'_>>, Severity, &str)> {
    // The linker puts its own name first.
    let line = line.split_once(": ").filter(|(name, _)| name.ends_with("ld")).map_or(line, |(_, rest)| rest);
    let (at, rest) = match place(line) {
        Some((place, rest)) => (Some(place), rest),
        None => (None, line.rsplit_once(": error: ").map_or(line, |(before, _)| &line[before.len() + 2..])),
    };
    let severities = [
        ("fatal error: ", Severity::Error),
        ("error: ", Severity::Error),
        ("warning: ", Severity::Warning),
        ("note: ", Severity::Note),
    ];
    let rest = rest.trim_start();
    let found = severities
        .iter()
        .find_map(|(word, severity)| rest.strip_prefix(word).map(|message| (at, *severity, message)));
    found.or_else(|| rest.starts_with("undefined reference to ").then_some((at, Severity::Error, rest)))
}

/// The place at the beginning of a text, `FILE:LINE[:COLUMN]`, and the rest of the text.
fn place(text: &str) -> Option<(Place<'_>, &str)> {
    let (path, rest) = text.split_once(':')?;
    let (line, rest) = number(rest)?;
    let (column, rest) = match rest.strip_prefix(':').and_then(number) {
        Some((column, rest)) => (Some(column), rest),
        None => (None, rest),
    };
    Some((Place { path, line, column }, rest.trim_start_matches([':', ','])))
}

fn number(text: &str) -> Option<(usize, &str)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    Some((digits.parse().ok()?, rest))
}
