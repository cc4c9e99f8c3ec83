//! Changes of the permissions: in force at once, and kept.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use duologue_embedded::permission::{Permissions, RuleSource};
use duologue_protocol::Wire;
use duologue_protocol::permission::{PermissionMode, PermissionUpdate};
use serde_json::{Value, json};

use super::support::{judge, judge_command};

fn update(json: Value) -> PermissionUpdate {
    PermissionUpdate::from_json(&json.to_string()).unwrap()
}

#[test]
fn in_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let mut permissions = Permissions::new(folder.path());
    let rules = json!([{ "toolName": "Bash", "ruleContent": "touch *" }]);
    let change = |kind: &str| {
        let behavior = "allow";
        update(
            json!({ "type": kind, "rules": rules, "behavior": behavior, "destination": "session" }),
        )
    };
    let allowed = |permissions: &Permissions| {
        judge_command(permissions, folder.path(), "touch x").is_allowed()
    };
    permissions.apply(&change("addRules")).unwrap();
    assert!(allowed(&permissions));
    permissions.apply(&change("removeRules")).unwrap();
    assert!(!allowed(&permissions));
    permissions.apply(&change("replaceRules")).unwrap();
    permissions.apply(&change("replaceRules")).unwrap();
    assert_eq!(permissions.rules().len(), 1);
    let mode = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
    permissions.apply(&update(mode)).unwrap();
    assert_eq!(permissions.mode(), PermissionMode::AcceptEdits);

    let directories =
        json!({ "type": "addDirectories", "directories": ["/etc"], "destination": "session" });
    permissions.apply(&update(directories.clone())).unwrap();
    let reads = |permissions: &Permissions| {
        judge(permissions, folder.path(), "Read", &json!({ "file_path": "/etc/x" })).is_allowed()
    };
    assert!(reads(&permissions));
    let mut directories = directories;
    directories["type"] = json!("removeDirectories");
    permissions.apply(&update(directories)).unwrap();
    assert!(!reads(&permissions));
    assert!(!folder.path().join(".claude").exists());
}

#[test]
fn in_settings_files() {
    let folder = tempfile::tempdir().unwrap();
    let config = tempfile::tempdir().unwrap();
    let path = folder.path().join(".claude/settings.local.json");
    fs::create_dir(folder.path().join(".claude")).unwrap();
    let before = "{\n  \"zebra\": { \"b\": 1,   \"a\": 2 },\n  \"permissions\": {\n    \"deny\": [\"WebFetch\"],\n    \"allow\": [\"Bash(ls)\"]\n  },\n  \"alpha\": 1\n}\n";
    fs::write(&path, before).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    let mut permissions = Permissions::new(folder.path());
    permissions.set_config_dir(config.path());
    let add = |destination: &str| {
        let rules = json!([{ "toolName": "Bash", "ruleContent": "echo (x) *" }]);
        update(
            json!({ "type": "addRules", "rules": rules, "behavior": "allow", "destination": destination }),
        )
    };
    permissions.apply(&add("localSettings")).unwrap();
    permissions.apply(&add("localSettings")).unwrap();
    let after = "{\n  \"zebra\": { \"b\": 1,   \"a\": 2 },\n  \"permissions\": {\n    \"deny\": [\"WebFetch\"],\n    \"allow\": [\n      \"Bash(ls)\",\n      \"Bash(echo \\\\(x\\\\) *)\"\n    ]\n  },\n  \"alpha\": 1\n}\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(permissions.rules().len(), 1);

    permissions.apply(&add("userSettings")).unwrap();
    permissions.apply(&add("projectSettings")).unwrap();
    for file in [config.path().join("settings.json"), folder.path().join(".claude/settings.json")] {
        let settings: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(settings, json!({ "permissions": { "allow": ["Bash(echo \\(x\\) *)"] } }));
    }
}

#[test]
fn a_source_that_does_not_count_is_written_but_not_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let mut permissions = Permissions::new(folder.path());
    permissions.set_setting_sources(vec![RuleSource::UserSettings]);
    let rules = json!([{ "toolName": "Bash", "ruleContent": null }]);
    let add = json!({ "type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings" });
    permissions.apply(&update(add)).unwrap();
    assert!(folder.path().join(".claude/settings.local.json").exists());
    assert!(!judge_command(&permissions, folder.path(), "touch x").is_allowed());
}

#[test]
fn settings_that_are_broken_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".claude/settings.local.json");
    fs::create_dir(folder.path().join(".claude")).unwrap();
    fs::write(&path, "{ not json").unwrap();
    let mut permissions = Permissions::new(folder.path());
    let rules = json!([{ "toolName": "Bash" }]);
    let add = json!({ "type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings" });
    assert!(permissions.apply(&update(add)).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ not json");
}
