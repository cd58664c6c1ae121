//! The template of a new policy: a small working policy with comments to teach the contract, and a hierarchy to try it.

use crate::diagnostic::{Diagnostic, Error};
use crate::file::PolicyFile;
use crate::sources;
use std::path::PathBuf;

/// The name of the template's policy in C; no other word in its files contains it.
const STEM: &str = "weighted_turns";

/// The files of the template.
const FILES: [(&str, &str); 2] = [
    ("c", include_str!("../template/weighted_turns.c")),
    ("kdl", include_str!("../template/weighted_turns.kdl")),
];

/// The files of a new policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The name of each, and its text. The policy is the first, the hierarchy the second.
    pub files: [(PathBuf, String); 2],
}

impl Template {
    /// The files of a policy with this name, in the form of hierarchy files (`asked-times`) or of C (`asked_times`).
    /// Refused if the policy could not be built.
    pub fn new(name: &str) -> Result<Template, Error> {
        let stem = name.replace('-', "_");
        let path = PathBuf::from(format!("{stem}.c"));
        if let Some(by) = sources::taken_by(&stem) {
            let what = format!("found the name {name:?}, which is taken by {by}, expected another");
            return Err(Error::Refused(vec![Diagnostic::error(&path, None, what)]));
        }
        let forms: [fn(&str) -> String; 3] =
            [str::to_owned, str::to_uppercase, |stem| stem.replace('_', "-")];
        let files = FILES.map(|(extension, text)| {
            let text =
                forms.iter().fold(text.to_owned(), |text, form| text.replace(&form(STEM), &form(&stem)));
            (path.with_extension(extension), text)
        });
        PolicyFile::new(&path, files[0].1.clone().into_bytes())?;
        Ok(Template { files })
    }
}
