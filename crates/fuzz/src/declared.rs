//! What a loaded policy declares: the first line of an input is what it accepts, the second what it provides, and the
//! others are a hierarchy file that may name the policy, `loaded`. An empty line declares nothing; where there is no
//! file, there is one with the policy in several places.

use crate::hierarchy::read_and_go_on;
use hls_core::{ParamInfo, PolicyInfo, PolicyProperties, Unit, limits};
use hls_hierarchy::{Policies, Source, Unusable};

/// Places in which a policy finds each kind of supply.
const FILE: &str = r#"
machine cpus=2
fixed-priority "FP" {
    reservation "RES" priority=2 {
        loaded "A" guarantee="RESBH 5ms 10ms" slot="1ms" {
            thread "a" budget="1ms" period="10ms" share=3
            thread "b" budget="2ms" period="20ms" guarantee="RESBS 2ms 20ms"
            thread "c" instances=3
        }
    }
    loaded "B" priority=1 { loaded "C" width=2 { thread "d" }; thread "e" guarantee="PSBE 1/4 10ms" }
}
"#;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (accepts, provides, file) = (line(), line(), line());
    let mut policies = Policies::default();
    match policies.load(&policy(accepts, provides)) {
        Ok(()) => {
            let file = if file.is_empty() { FILE } else { file };
            read_and_go_on(&policies, file.as_bytes(), &Source::new("file", file.as_bytes()));
        }
        Err(Unusable::Declares(errors)) => {
            for error in errors {
                let text = if error.member == "accepts" { accepts } else { provides };
                let (begin, length) = (error.error.offset, error.error.len);
                assert!(text.get(begin..begin + length).is_some(), "{error}");
                assert!(!error.error.found.is_empty() && !error.error.expected.is_empty());
            }
        }
        Err(other) => panic!("{other}"),
    }
}

/// A policy with these declarations. The texts are kept until the process ends, like the texts of all policies.
fn policy(accepts: &str, provides: &str) -> PolicyInfo {
    let kept = |text: &str| (!text.is_empty()).then(|| &*String::from(text).leak());
    let param = |name, unit, default, max| ParamInfo { name, unit, default, min: 1, max, doc: "" };
    PolicyInfo {
        id: limits::FIRST_LOADED,
        name: "loaded",
        doc: "",
        source: "",
        accepts: kept(accepts),
        provides: kept(provides),
        state_version: 1,
        max_children: limits::MAX_VPS as u32,
        properties: PolicyProperties::default(),
        scheduler_params: vec![
            param("slot", Unit::Time, Some(1_000_000), 10_000_000_000),
            param("turns", Unit::Count, Some(2), u64::MAX),
        ],
        vp_params: vec![
            param("budget", Unit::Time, Some(1_000_000), u64::MAX),
            param("period", Unit::Time, Some(100_000_000), u64::MAX),
            param("share", Unit::Count, Some(1), 65_536),
        ],
        messages: Vec::new(),
    }
}
