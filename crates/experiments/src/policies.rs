//! The table of policies: for each that the core has, how much C it is, what it takes and provides, in how many
//! windows of random hierarchies its promises were held, and how many mutants of it and of its analysis the tests are
//! to notice. A header of `policies/` counts for each policy that includes it.
//!
//! Policies come from the core's registry, files by their names, figures of hierarchies from the last campaign (`make
//! policies`): a policy that came after it has none yet.

use hls_core::{ParamInfo, PolicyInfo, policies};
use std::fmt::Write;
use std::path::Path;

/// The name by which the table is asked for.
pub const NAME: &str = "policies";

/// Where the last campaign left its results, and what the mutants are, in the repository.
const RESULTS: &str = "docs/policies.csv";
const MUTANTS: &str = "scripts/mutants.txt";

/// A file of the repository, as text.
fn read(path: &Path) -> Result<String, Vec<String>> {
    crate::files::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The table, as Markdown; or the files that could not be read.
pub fn table(repository: &Path) -> Result<String, Vec<String>> {
    let (results, mutants) = (read(&repository.join(RESULTS))?, read(&repository.join(MUTANTS))?);
    let mut table = String::from(
        "| policy | lines of C | parameters; of a child | provides | from its source \
         | hierarchies | windows | broken | mutants |\n\
         |---|--:|---|---|---|--:|--:|--:|--:|\n",
    );
    for policy in policies() {
        let files = files_of(policy.name, repository)?;
        let analysis = format!("crates/calculus/src/schedulers/{}.rs", policy.name.replace('-', "_"));
        let lines: usize = files.iter().map(|(_, text)| lines_of_code(text)).sum();
        let paths = files.iter().map(|(path, _)| path).chain([&analysis]);
        let noticed: usize = paths.map(|path| mutants_of(&mutants, path)).sum();
        let file = &files[0].0;
        let provides = hls_calculus::schedulers::find(policy.name).map_or("nothing", |entry| entry.provides);
        let name = policy.name;
        let [hierarchies, windows, broken] = figures(&results, name);
        writeln!(
            table,
            "| [`{name}`](../{file}) | {lines} | {} | {provides} | {} \
             | {hierarchies} | {windows} | {broken} | {noticed} |",
            parameters(policy),
            from_its_source(policy.name, repository)
        )
        .expect("a string");
    }
    let [hierarchies, windows, broken] = figures(&results, "mixed");
    writeln!(table, "| all, mixed | | | | | {hierarchies} | {windows} | {broken} | |").expect("a string");
    Ok(table)
}

/// The policy's file, which says its name, and the headers beside it that it includes: each with its text.
fn files_of(name: &str, repository: &Path) -> Result<Vec<(String, String)>, Vec<String>> {
    for path in crate::files::files(&repository.join("policies"), ".c")? {
        let text = read(&path)?;
        if !text.contains(&format!(".name = \"{name}\"")) {
            continue;
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let headers: Vec<String> = headers_beside(&text).map(|header| format!("policies/{header}")).collect();
        let mut files = vec![(format!("policies/{file}"), text)];
        for header in headers {
            let text = read(&repository.join(&header))?;
            files.push((header, text));
        }
        return Ok(files);
    }
    Err(vec![format!("found no file of the policy `{name}` in policies/")])
}

/// The headers of `policies/` that a policy includes.
fn headers_beside(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("#include \"../policies/")?.strip_suffix('"'))
}

/// What the tests of a policy repeat of its source, as they say themselves.
fn from_its_source(name: &str, repository: &Path) -> String {
    let file = format!("crates/hls-core/tests/{}.rs", name.replace('-', "_"));
    let tests = read(&repository.join(&file)).unwrap_or_default();
    let said = tests.lines().find_map(|line| line.split_once("From its source: "));
    said.map_or("-".to_owned(), |(_, what)| format!("[{}](../{file})", what.trim_end_matches('.')))
}

/// The names of the parameters of a scheduler, and of each child.
fn parameters(policy: &PolicyInfo) -> String {
    let names = |params: &[ParamInfo]| {
        let names: Vec<&str> = params.iter().map(|param| param.name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    format!("{}; {}", names(&policy.scheduler_params), names(&policy.vp_params))
}

/// Lines of C that are neither blank nor comments.
fn lines_of_code(text: &str) -> usize {
    let (mut code, mut is_comment) = (0, false);
    for line in text.lines() {
        let (mut rest, mut has_code) = (line, false);
        while !rest.trim().is_empty() {
            let (mark, next) = if is_comment { ("*/", false) } else { ("/*", true) };
            let (before, after) = match rest.split_once(mark) {
                Some((before, after)) => (before, Some(after)),
                None => (rest, None),
            };
            has_code |= !is_comment && !before.trim().is_empty();
            let Some(after) = after else { break };
            (rest, is_comment) = (after, next);
        }
        code += usize::from(has_code);
    }
    code
}

/// How many mutants change this file.
fn mutants_of(mutants: &str, file: &str) -> usize {
    let lines = mutants.lines().filter(|line| !line.starts_with('#'));
    lines.filter(|line| line.split('\t').nth(1) == Some(file)).count()
}

/// What the last campaign found: hierarchies that were run, windows of the policy's promises, and broken promises.
fn figures(results: &str, name: &str) -> [String; 3] {
    let none = || "not yet".to_owned();
    let row = results.lines().map(|line| line.split(',').collect::<Vec<_>>()).find(|row| row[0] == name);
    let Some([_, hierarchies, refused, windows, _, broken]) = row.as_deref() else {
        return [none(), none(), none()];
    };
    let ran = hierarchies.parse::<u64>().ok().zip(refused.parse::<u64>().ok());
    let ran = ran.map_or_else(none, |(hierarchies, refused)| hierarchies.saturating_sub(refused).to_string());
    [ran, (*windows).to_owned(), (*broken).to_owned()]
}

#[test]
fn comments_and_blank_lines_are_not_counted() {
    let text = "/* a\n\n b */\nint a; /* c */\n\n/* d */ int e; /* f\n*/\n\t/* g */\n}\n";
    assert_eq!(lines_of_code(text), 3);
}
