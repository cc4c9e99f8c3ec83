//! The same scenarios in three versions: every difference has its reason.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use duologue_tape::Reader;
use duologue_tape::diff::shape::{self, Shapes};
use duologue_tape::diff::{Summary, compare};
use duologue_testkit::{Named, Reasons, root};

const NEWEST: &str = "2.1.325";
const OLDER: [&str; 2] = ["2.0.77", "1.0.128"];

fn summary(path: &Path) -> Summary {
    Summary::read(&mut Reader::new(File::open(path).unwrap())).unwrap()
}

#[test]
fn every_difference_between_versions_has_its_reason() {
    let recordings = root().join("recordings");
    let reasons = Reasons::read(&recordings.join("differences.toml")).unwrap();
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
            for difference in compare(&summary(&new), &summary(&old)) {
                let found = reasons.find(Named {
                    version,
                    scenario: name,
                    kind: difference.kind.name(),
                    event: &difference.event,
                    field: difference.field.as_deref(),
                    a: &difference.a,
                    b: &difference.b,
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
    let unneeded = reasons.unneeded(|name| needed.contains(&name));
    assert!(unneeded.is_empty(), "nothing needs these any more:\n{}", unneeded.join("\n"));
}

#[test]
fn every_recording_equals_itself() {
    for recording in duologue_testkit::recordings() {
        let summary = summary(&recording.path);
        assert_eq!(compare(&summary, &summary), [], "{}", recording.name);
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
