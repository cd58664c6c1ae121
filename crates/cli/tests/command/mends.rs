//! The changes that `hls check` advises, made to the file: then the problem is gone, and with a change that is smaller
//! by one step it is not.

use super::outcome::{Outcome, files, hls};
use hls_units::Nanos;
use std::fs;

/// `` the smallest change that mends it: `budget` of `video` from 20ms to 19.4ms (guarantee="RESBH 19.4ms 33ms") ``.
#[derive(Debug)]
struct Advice {
    param: String,
    node: String,
    from: String,
    to: String,
    guarantee: Option<String>,
}

impl Advice {
    fn read(line: &str) -> Advice {
        let mut quoted = line.split_once("the smallest change that mends it: ").expect(line).1.split('`');
        let (param, node) = (quoted.nth(1).unwrap().to_owned(), quoted.nth(1).unwrap().to_owned());
        let mut words = quoted.next().unwrap().split([' ', ',', ';', ')']).skip_while(|word| *word != "from");
        let (from, to) = (words.nth(1).unwrap().to_owned(), words.nth(1).unwrap().to_owned());
        let guarantee =
            line.split_once("(guarantee=\"").map(|(_, text)| text.split('"').next().unwrap().to_owned());
        Advice { param, node, from, to, guarantee }
    }

    /// The advice with the value one step nearer to the old one; `None` where no value lies between the two.
    fn nearer(&self) -> Option<Advice> {
        let read = |text: &str| text.parse().or_else(|_| Nanos::parse(text).map(|time| time.0)).unwrap();
        let (from, to): (u64, u64) = (read(&self.from), read(&self.to));
        let step =
            std::iter::successors(Some(1), |step| Some(step * 10)).find(|step| from < step * 1_000).unwrap();
        let nearer = if to < from { to + step } else { to - step };
        let is_between = (to.min(from) + 1..to.max(from)).contains(&nearer);
        let is_time = self.from.ends_with('s');
        let nearer = if is_time { Nanos(nearer).to_string() } else { nearer.to_string() };
        let guarantee = self.guarantee.as_ref().map(|text| text.replacen(&self.to, &nearer, 1));
        is_between.then(|| Advice {
            param: self.param.clone(),
            node: self.node.clone(),
            from: self.from.clone(),
            to: nearer,
            guarantee,
        })
    }

    /// The text of a file that follows the advice.
    fn follow(&self, text: &str) -> String {
        let name = format!("\"{}\"", self.node);
        let quote =
            |value: &str| if value.ends_with('s') { format!("\"{value}\"") } else { value.to_owned() };
        let with = match &self.guarantee {
            Some(guarantee) => format!("guarantee=\"{guarantee}\""),
            None => format!("{}={}", self.param, quote(&self.to)),
        };
        let edit = |line: &str| {
            let property = with.split('=').next().unwrap();
            let Some((before, after)) = line.split_once(&format!(" {property}=")) else {
                return line.replacen(&name, &format!("{name} {with}"), 1);
            };
            let end = match after.strip_prefix('"') {
                Some(quoted) => quoted.find('"').unwrap() + 2,
                None => after.find(' ').unwrap_or(after.len()),
            };
            format!("{before} {with}{}", &after[end..])
        };
        text.lines()
            .map(|line| if line.contains(&name) { edit(line) } else { line.to_owned() } + "\n")
            .collect()
    }
}

/// The places with a problem, such as `3:5`, and the first line about one.
fn problems(text: &str) -> (Vec<String>, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file.kdl");
    fs::write(&path, text).unwrap();
    let Outcome { code, stderr, .. } = hls(&["check", path.to_str().unwrap()]);
    assert!(
        code == Some(0) && stderr.is_empty() || code == Some(1) && !stderr.is_empty(),
        "{text}\n{stderr}"
    );
    let place = |line: &str| line.split_once("file.kdl:").unwrap().1.split(": ").next().unwrap().to_owned();
    (stderr.lines().map(place).collect(), stderr.lines().next().unwrap_or_default().to_owned())
}

/// The number of the line in a place.
fn line(place: &str) -> &str {
    place.split(':').next().unwrap()
}

#[test]
fn advice_mends_and_a_smaller_change_does_not() {
    let paths = files().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_case = |name: &str| name.starts_with("mend-") && name.ends_with(".kdl");
    let mut cases = 0;
    for path in paths.filter(|path| is_case(path.file_name().unwrap().to_str().unwrap())) {
        let text = fs::read_to_string(&path).unwrap();
        let (before, first) = problems(&text);
        let advice = Advice::read(&first);
        let (after, _) = problems(&advice.follow(&text));
        let is_there = |places: &[String]| places.iter().any(|place| line(place) == line(&before[0]));
        assert!(!is_there(&after) && after.len() < before.len(), "{}: {advice:?}: {after:?}", path.display());
        if let Some(nearer) = advice.nearer() {
            let (after, _) = problems(&nearer.follow(&text));
            assert!(
                is_there(&after) || after.len() > before.len(),
                "{}: {nearer:?}: {after:?}",
                path.display()
            );
        }
        cases += 1;
    }
    assert!(cases >= 6, "the test files are lost");
}
