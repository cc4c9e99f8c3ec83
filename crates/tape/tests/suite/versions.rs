//! The same scenarios in three versions: every difference has a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use duologue_tape::Reader;
use duologue_tape::diff::shape::{self, Shapes};
use duologue_tape::diff::{self, Difference};
use duologue_testkit::peers::imitated_version;
use duologue_testkit::root;
use serde::Deserialize;
use serde_json::Value;

const OLDER: [&str; 2] = ["2.0.77", "1.0.128"];

#[derive(Deserialize)]
struct Reasons {
    difference: Vec<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    reason: String,
    /// What differs, and in which recordings.
    seen: BTreeMap<String, Vec<String>>,
}

/// Whether a difference matches a pattern: `KIND EVENT`, `KIND EVENT FIELD`, or the latter and ` = VALUE`, the
/// value that the older one has.
fn is_named(what: &str, difference: &Difference) -> bool {
    let (what, value) = match what.split_once(" = ") {
        Some((what, value)) => (what, Some(serde_json::from_str::<Value>(value).unwrap())),
        None => (what, None),
    };
    let field = difference.field.as_deref().map(|field| format!(" {field}")).unwrap_or_default();
    what == format!("{} {}{field}", difference.kind.name(), difference.event)
        && value.is_none_or(|value| value == difference.b)
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
    // Every name at every place: reason, what, where.
    let mut unneeded = BTreeSet::new();
    for reason in &reasons.difference {
        for (what, places) in &reason.seen {
            unneeded.extend(places.iter().map(|place| (&reason.reason, what, place)));
        }
    }
    let mut unnamed = Vec::new();
    let mut compared = 0;
    for version in OLDER {
        for entry in fs::read_dir(recordings.join(version)).unwrap() {
            let old = entry.unwrap().path();
            let new = recordings.join(imitated_version()).join(old.file_name().unwrap());
            if !new.exists() {
                continue;
            }
            compared += 1;
            let name = old.file_stem().unwrap().to_str().unwrap();
            let places = [format!("{version}/{name}"), format!("{version}/*")];
            for difference in compare(&new, &old) {
                let mut named = false;
                for reason in &reasons.difference {
                    for (what, known) in &reason.seen {
                        let place = known.iter().find(|place| places.contains(place));
                        if let Some(place) = place.filter(|_| is_named(what, &difference)) {
                            unneeded.remove(&(&reason.reason, what, place));
                            named = true;
                        }
                    }
                }
                if !named {
                    unnamed.push(format!("{version}/{name}: {difference}"));
                }
            }
        }
    }
    assert!(compared > 120, "only {compared} were compared");
    assert!(unnamed.is_empty(), "{} without a reason:\n{}", unnamed.len(), unnamed.join("\n"));
    assert!(unneeded.is_empty(), "nothing needs this any more: {unneeded:#?}");
}

#[test]
fn every_recording_equals_itself() {
    for recording in duologue_testkit::recordings() {
        assert_eq!(compare(&recording.path, &recording.path), [], "{}", recording.name);
    }
}

#[test]
fn shapes_list_added_and_removed_types_and_fields() {
    let shapes = |version: &str| {
        let path = root().join("recordings").join(version).join("04-bash-allow.tape");
        Shapes::read(&mut Reader::new(File::open(path).unwrap())).unwrap()
    };
    let differences = shape::compare(&shapes("1.0.128"), &shapes(imitated_version()));
    let added =
        ("control_request/can_use_tool (to host)".to_owned(), "request.tool_use_id".to_owned());
    assert!(differences.added_fields.contains(&added), "{differences:?}");
    assert!(differences.added_types.contains(&"system/thinking_tokens (to host)".to_owned()));
    assert!(shape::compare(&shapes(imitated_version()), &shapes(imitated_version())).is_empty());
}
