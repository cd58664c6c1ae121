//! What compilers say, by the lines of the author's file. Reads the plain text that gcc, clang and the linker all
//! write: `FILE:LINE:COLUMN: error: MESSAGE`, with lines before and behind it that say how it came to that place.

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
struct Mine<'p> {
    file: &'p PolicyFile,
    line: usize,
    column: Option<usize>,
}

/// Something that a compiler said.
struct Said<'o, 'p> {
    severity: Severity,
    /// Where in the author's file, or from where there.
    mine: Option<Mine<'p>>,
    /// Where, if that is in a file of ours.
    ours: Option<Place<'o>>,
    message: &'o str,
}

/// All that is said of the policies; empty where nothing is.
pub(crate) fn diagnostics(output: &str, policies: &[(u8, PolicyFile)]) -> Vec<Diagnostic> {
    let said = Reader { policies, led: None, led_to: None, said: Vec::new() }.read(output);
    let mut found: Vec<Diagnostic> = Vec::new();
    // What is said of our own files comes of what is said of the author's.
    let of_the_author = |said: &Said<'_, '_>| said.mine.is_some() || lacking(said, policies).is_some();
    let only_the_author = said.iter().any(of_the_author);
    for said in said.iter().filter(|said| !only_the_author || of_the_author(said)) {
        let Some(diagnostic) = diagnostic(said, policies) else { continue };
        if !found.contains(&diagnostic) {
            found.push(diagnostic);
        }
    }
    found
}

/// What the policy should define, and does not, though the core asks for it.
fn lacking<'p>(said: &Said<'_, '_>, policies: &'p [(u8, PolicyFile)]) -> Option<(&'p PolicyFile, String)> {
    let mut words = said.message.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.find_map(|word| {
        // Of `asked` and `asked_times` the longer one.
        let owners = policies.iter().map(|(_, file)| file).filter(|file| file.owns(word));
        let file = owners.max_by_key(|file| file.identifier().len())?;
        file.line_with(word).is_none().then(|| (file, file.in_its_own_words(word)))
    })
}

fn diagnostic(said: &Said<'_, '_>, policies: &[(u8, PolicyFile)]) -> Option<Diagnostic> {
    let severity = said.severity;
    if let (None, Some((file, word))) = (said.mine, lacking(said, policies)) {
        // So `core/dispatch.h` calls a function that there is not, for a required hook that the struct lacks.
        let what = match word.split_once("_lacks_hook_") {
            Some((policy, hook)) => format!("`.{hook}` in `{policy}_policy`"),
            None => format!("`{word}`"),
        };
        let message = format!("lacks {what}, which every policy has: `hls policy contract`");
        return Some(Diagnostic::error(file.path(), None, message));
    }
    // Of several it is the last that was added.
    let file = said.mine.map(|mine| mine.file).or_else(|| policies.last().map(|(_, file)| file))?;
    let message = in_words(&file.in_its_own_words(said.message));
    let message = match said.ours {
        Some(Place { path, line, .. }) => {
            let path = path.rsplit("/../").next().unwrap_or(path);
            format!("while compiling `{}`: {path}:{line}: {message}", file.name())
        }
        None => message,
    };
    let (line, column) = (said.mine.map(|mine| mine.line), said.mine.and_then(|mine| mine.column));
    Some(Diagnostic { file: file.path().into(), line, column, severity, message })
}

/// What has been read so far.
struct Reader<'o, 'p> {
    policies: &'p [(u8, PolicyFile)],
    /// The author's line that led to what is said next, by an inclusion or by a call that was inlined.
    led: Option<Mine<'p>>,
    /// The file to which it led, as soon as that is known.
    led_to: Option<&'o str>,
    said: Vec<Said<'o, 'p>>,
}

impl<'o, 'p> Reader<'o, 'p> {
    fn read(mut self, output: &'o str) -> Vec<Said<'o, 'p>> {
        for line in output.lines() {
            if let Some(from) = leading_here(line) {
                self.led = self.led.filter(|_| self.led_to.is_none()).or_else(|| self.mine(from));
                self.led_to = None;
            } else if let Some((place, severity, message)) = complaint(line) {
                match severity {
                    Severity::Note => self.note(place, message),
                    _ => self.complaint(place, severity, message),
                }
            }
        }
        self.said
    }

    /// The place, if it is in a file of an author.
    fn mine(&self, place: Place<'_>) -> Option<Mine<'p>> {
        let name = place.path.rsplit_once("loaded/")?.1.strip_suffix(".c")?;
        let (_, file) = self.policies.iter().find(|(_, file)| file.identifier() == name)?;
        Some(Mine { file, line: place.line, column: place.column })
    }

    fn complaint(&mut self, place: Option<Place<'o>>, severity: Severity, message: &'o str) {
        let Some(place) = place else {
            // Without a place there are the reason why nothing else is said, and words of farewell.
            if self.said.is_empty() {
                self.said.push(Said { severity, mine: None, ours: None, message });
            }
            return;
        };
        let mine = self.mine(place);
        let ours = mine.is_none().then_some(place);
        let led = self.led.filter(|_| *self.led_to.get_or_insert(place.path) == place.path);
        self.said.push(Said { severity, mine: mine.or(led), ours, message });
    }

    /// Notes say by which line of the author a macro of ours came there, or what else belongs to it.
    fn note(&mut self, place: Option<Place<'o>>, message: &'o str) {
        let Some(mine) = place.and_then(|place| self.mine(place)) else { return };
        let of_macro = message.contains("expansion of macro") || message.contains("expanded from macro");
        match self.said.last_mut() {
            Some(last) if last.mine.is_none() => last.mine = Some(mine),
            _ if of_macro || message.starts_with("each undeclared identifier") => {}
            _ => self.said.push(Said { severity: Severity::Note, mine: Some(mine), ours: None, message }),
        }
    }
}

/// The place in a line that says from where a compiler came to what it is going to say.
fn leading_here(line: &str) -> Option<Place<'_>> {
    let from =
        line.strip_prefix("In file included from ").or_else(|| line.trim_start().strip_prefix("from "));
    let inlined = || line.trim_start().strip_prefix("inlined from ")?.rsplit_once(" at ").map(|(_, at)| at);
    place(from.or_else(inlined)?).map(|(place, _)| place)
}

/// A line in which something is said: where, how bad it is, and what.
fn complaint(line: &str) -> Option<(Option<Place<'_>>, Severity, &str)> {
    // The linker says first who it is.
    let line = line.split_once(": ").filter(|(who, _)| who.ends_with("ld")).map_or(line, |(_, rest)| rest);
    let (at, rest) = match place(line) {
        Some((place, rest)) => (Some(place), rest),
        None => (None, line.rsplit_once(": error: ").map_or(line, |(who, _)| &line[who.len() + 2..])),
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

/// The place at the beginning of a text, `FILE:LINE[:COLUMN]`, and what follows behind it.
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
