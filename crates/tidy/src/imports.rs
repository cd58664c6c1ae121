//! Which file of a crate uses which other, read from its `use` lines and its paths that begin with `crate` or `super`.
//!
//! Relies on rustfmt's form. Reads text, so what a macro makes up is not seen. The tests at a file's end do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The place of a file in its crate: `["rt_app", "task"]` for `src/rt_app/task.rs`, nothing for the root.
pub(crate) type Module = Vec<String>;

/// The module that a path below `src` is; `None` for what belongs to no library: programs, and files of tests.
pub(crate) fn module_of(path: &Path) -> Option<Module> {
    let mut parts: Module =
        path.with_extension("").iter().map(|part| part.to_string_lossy().into()).collect();
    if path.extension()? != "rs" || parts.first()? == "bin" || parts.last()? == "tests" {
        return None;
    }
    if ["mod", "lib", "main"].contains(&parts.last()?.as_str()) {
        parts.pop();
    }
    Some(parts)
}

/// Which module uses which. A module's use of modules below it does not count: they are its own parts.
pub(crate) fn uses(texts: &BTreeMap<Module, &str>) -> BTreeMap<Module, BTreeSet<Module>> {
    let code: BTreeMap<&Module, String> =
        texts.iter().map(|(module, text)| (module, code_of(text))).collect();
    let shown = code.iter().map(|(module, code)| (*module, re_exports(module, code))).collect();
    let names = Names { modules: texts.keys().collect(), shown };
    let of = |module: &Module, code: &str| {
        let paths = paths(code).into_iter().filter_map(|path| absolute(module, &path));
        paths.map(|path| names.file_of(path)).filter(|used| !used.starts_with(module)).collect()
    };
    code.iter().map(|(module, code)| ((*module).clone(), of(module, code))).collect()
}

/// What the names of a crate stand for.
struct Names<'a> {
    modules: BTreeSet<&'a Module>,
    /// What each module re-exports: by name, the path of the original.
    shown: BTreeMap<&'a Module, BTreeMap<String, Module>>,
}

impl Names<'_> {
    /// The file that defines what a path names.
    fn file_of(&self, mut path: Module) -> Module {
        // What a module re-exports may be a re-export itself; the bound is for circles of them.
        for _ in 0..4 {
            let length =
                (0..=path.len()).rev().find(|&length| self.modules.contains(&path[..length].to_vec()));
            let (module, rest) = path.split_at(length.unwrap_or(0));
            let shown = rest.first().and_then(|name| self.shown.get(&module.to_vec())?.get(name));
            match shown {
                Some(shown) if *shown != path => path = [shown, &rest[1..]].concat(),
                _ => return module.to_vec(),
            }
        }
        path
    }
}

/// The text without comments and without the tests at its end.
fn code_of(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.take_while(|line| *line != "mod tests {").map(|line| format!("{line}\n")).collect()
}

/// All that the `use` lines of a text name, and its paths that begin with `crate` or `super`.
fn paths(code: &str) -> Vec<Module> {
    let statements = statements(code).filter(|(is_shown, _)| !is_shown);
    let mut found: Vec<Module> = statements.flat_map(|(_, tree)| expand(tree)).collect();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let path: String = code[at..].chars().take_while(|&c| is_path(c)).collect();
        found.push(parts(&path));
    }
    found
}

/// The `use` statements of a text, each with whether it re-exports what it names, and its tree.
fn statements(code: &str) -> impl Iterator<Item = (bool, &str)> {
    code.match_indices("use ").filter_map(|(at, word)| {
        let line = &code[code[..at].rfind('\n').map_or(0, |end| end + 1)..at];
        let is_statement = line.trim_start().is_empty() || line.trim_start().starts_with("pub");
        let (tree, _) = code[at + word.len()..].split_once(';')?;
        is_statement.then_some((line.contains("pub"), tree))
    })
}

/// What a module re-exports: each name, with the path that it stands for.
fn re_exports(module: &Module, code: &str) -> BTreeMap<String, Module> {
    let trees = statements(code).filter(|(is_shown, _)| *is_shown).flat_map(|(_, tree)| expand(tree));
    let absolute = trees.filter_map(|path| match path.first()?.as_str() {
        "crate" | "super" => absolute(module, &path),
        _ => Some([&module[..], &path[..]].concat()),
    });
    absolute.filter_map(|path| Some((path.last()?.clone(), path))).collect()
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    let Some((before, inner)) = tree.split_once('{') else { return vec![parts(tree)] };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut depth, mut start, mut branches) = (0, 0, vec![]);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                branches.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    let branches = branches.into_iter().filter(|branch| !branch.trim().is_empty());
    branches.flat_map(expand).map(|branch| [parts(before), branch].concat()).collect()
}

/// The names of a path, without what it is called here.
fn parts(path: &str) -> Module {
    let path = path.split(" as ").next().unwrap_or_default();
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// A path from the crate's root; `None` for one into another crate.
fn absolute(module: &Module, path: &Module) -> Option<Module> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "super" => Some([&module[..module.len().checked_sub(ups)?], &path[ups..]].concat()),
        _ => None,
    }
}

/// Files that use each other in a circle, each circle in order; none where the files can be read one after the other.
pub(crate) fn circles(uses: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let mut circles: Vec<Vec<Module>> = vec![];
    for module in uses.keys() {
        if circles.iter().any(|circle| circle.contains(module)) {
            continue;
        }
        let reached = reached_from(module, uses);
        let circle: Vec<Module> =
            reached.iter().filter(|other| reached_from(other, uses).contains(module)).cloned().collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

/// All that a module uses, and what that uses.
fn reached_from(module: &Module, uses: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![module]);
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if reached.insert(used.clone()) {
                next.push(used);
            }
        }
    }
    reached
}
