//! Transcripts that real versions of Claude Code wrote, and what the TypeScript SDK says about them.
//!
//! `tests/compare/run` compares with the SDKs themselves, on more; this needs neither node nor a network.

use std::path::Path;

use serde_json::Value;

#[path = "../../examples/report.rs"]
#[allow(dead_code, reason = "the example has a `main`")]
mod report;

fn check(version: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(version);
    let expected = std::fs::read(folder.join("typescript-sdk.json")).unwrap();
    let mut expected: Value = serde_json::from_slice(&expected).unwrap();
    let sessions = duologue_sessions::Sessions::in_config_dir(&folder);
    let mut found = report::report(&sessions, "/tmp/duologue-fixture/work").unwrap();
    for report in [&mut expected, &mut found] {
        // A checkout gives files the times and the order of the checkout.
        report.as_object_mut().unwrap().remove("page");
        forget_times(report);
        for part in ["all", "project", "people"] {
            let list = report[part].as_array_mut().unwrap();
            list.sort_by_key(|info| info["id"].as_str().or(info.as_str()).unwrap().to_owned());
        }
    }
    assert_eq!(found, expected);
    assert_eq!(expected["all"].as_array().unwrap().len(), 4);
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("modified");
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

#[test]
fn sessions_of_every_version_are_read_as_the_sdk_reads_them() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(fixtures).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().is_dir());
    let versions: Vec<_> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(versions.len() >= 3, "{versions:?}");
    versions.iter().for_each(|version| check(version));
}
