//! The same scenarios in three versions: every difference has its reason.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use duologue_tape::Reader;
use duologue_tape::diff::shape::{self, Shapes};
use duologue_tape::diff::{self, Difference};
use duologue_testkit::root;
use serde::Deserialize;

const NEWEST: &str = "2.1.325";
const OLDER: [&str; 2] = ["2.0.77", "1.0.128"];

#[derive(Deserialize)]
struct Reasons {
    difference: Vec<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    reason: String,
    what: Vec<String>,
    scenarios: Option<Vec<String>>,
    versions: Option<Vec<String>>,
}

impl Reason {
    /// Which of its names this difference has.
    fn names(&self, version: &str, scenario: &str, difference: &Difference) -> Option<&String> {
        let of = |list: &Option<Vec<String>>, matches: &dyn Fn(&str) -> bool| {
            list.as_ref().is_none_or(|list| list.iter().any(|item| matches(item)))
        };
        if !of(&self.versions, &|known| known == version)
            || !of(&self.scenarios, &|known| scenario.starts_with(known))
        {
            return None;
        }
        let kind = difference.kind.name();
        let field = difference.field.as_deref().map(|field| format!(" {field}"));
        let rest = format!("{}{}", difference.event, field.unwrap_or_default());
        self.what.iter().find(|what| {
            let (wanted, form) = what.split_once(' ').unwrap();
            let form_fits = match form.strip_suffix('*') {
                Some(start) => rest.starts_with(start),
                None => rest == form,
            };
            (wanted == "*" || wanted == kind) && form_fits
        })
    }
}

fn compare(a: &Path, b: &Path) -> Vec<Difference> {
    let [mut a, mut b] = [a, b].map(|path| Reader::new(File::open(path).unwrap()));
    diff::compare(&mut a, &mut b).unwrap()
}

#[test]
fn every_difference_between_versions_has_its_reason() {
    let recordings = root().join("recordings");
    let text = fs::read_to_string(recordings.join("differences.toml")).unwrap();
    let reasons: Reasons = toml::from_str(&text).unwrap();
    let mut needed = BTreeSet::new();
    let mut unnamed = Vec::new();
    let mut compared = 0;
    for version in OLDER {
        for entry in fs::read_dir(recordings.join(version)).unwrap() {
            let old = entry.unwrap().path();
            let name = old.file_name().unwrap().to_str().unwrap();
            let new = recordings.join(NEWEST).join(name);
            if !new.exists() {
                continue;
            }
            compared += 1;
            for difference in compare(&new, &old) {
                let found =
                    reasons.difference.iter().enumerate().find_map(|(at, reason)| {
                        Some((at, reason.names(version, name, &difference)?))
                    });
                match found {
                    Some(found) => drop(needed.insert(found)),
                    None => unnamed.push(format!("{version} {name}: {difference}")),
                }
            }
        }
    }
    assert!(compared > 120, "only {compared} were compared");
    assert!(unnamed.is_empty(), "{} without a reason:\n{}", unnamed.len(), unnamed.join("\n"));
    for (at, reason) in reasons.difference.iter().enumerate() {
        let used = needed.iter().any(|(other, _)| *other == at);
        assert!(used, "nothing needs this reason any more: {}", reason.reason);
    }
}

#[test]
fn every_recording_equals_itself() {
    for recording in duologue_testkit::recordings() {
        assert_eq!(compare(&recording.path, &recording.path), [], "{}", recording.name);
    }
}

#[test]
fn shapes_tell_what_came_and_went() {
    let shapes = |version: &str| {
        let path = root().join("recordings").join(version).join("04-bash-allow.tape");
        Shapes::read(&mut Reader::new(File::open(path).unwrap())).unwrap()
    };
    let differences = shape::compare(&shapes("1.0.128"), &shapes(NEWEST));
    let added =
        ("control_request/can_use_tool (to host)".to_owned(), "request.tool_use_id".to_owned());
    assert!(differences.added_fields.contains(&added), "{differences:?}");
    assert!(differences.added_types.contains(&"system/thinking_tokens (to host)".to_owned()));
    assert!(shape::compare(&shapes(NEWEST), &shapes(NEWEST)).is_empty());
}
