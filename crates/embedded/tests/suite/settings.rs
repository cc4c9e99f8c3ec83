//! Settings files and command hooks.

use std::fs;
use std::path::Path;

use duologue_embedded::permission::Permissions;
use duologue_embedded::settings::{
    CommandHook, CommandHookOutcome, SettingSource, Settings, SettingsPlaces,
};
use duologue_embedded::tools::Cancel;
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::{RawObject, Wire};
use serde_json::{Value, json};

use super::support::judge_command;

fn write(path: &Path, value: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, value.to_string()).unwrap();
}

#[test]
fn the_sources_that_are_named_count() {
    let folder = tempfile::tempdir().unwrap();
    let places = SettingsPlaces::new(folder.path().join("project"), folder.path().join("config"));
    let settings = |mode: &str, rule: &str| json!({ "permissions": { "defaultMode": mode, "allow": [rule], "additionalDirectories": ["/etc"] } });
    write(&places.file(SettingSource::User), &settings("plan", "Bash(user *)"));
    write(&places.file(SettingSource::Project), &settings("acceptEdits", "Bash(project *)"));
    fs::write(places.file(SettingSource::Local), "{ broken").unwrap();

    let load = |sources: &str, flag: Option<&str>| {
        Settings::load(&places, &SettingSource::parse_list(sources).unwrap(), flag)
    };
    assert!(load("", None).rules.is_empty());
    assert_eq!(load("user", None).rules[0].spelled(), "Bash(user *)");
    let all = load("user,project,local", Some(r#"{"permissions":{"deny":["WebFetch"]}}"#));
    assert_eq!(all.rules.len(), 3);
    assert_eq!(all.faults.len(), 1);
    assert_eq!(load("", Some("no-such-file.json")).faults.len(), 1);
    assert!(SettingSource::parse_list("user,nobody").is_err());

    let mut permissions = Permissions::new(&places.project);
    all.apply_to(&mut permissions);
    assert_eq!(permissions.mode(), PermissionMode::AcceptEdits);
    assert!(judge_command(&permissions, &places.project, "project x && user y").is_allowed());
    assert!(judge_command(&permissions, &places.project, "cat /etc/hosts").is_allowed());
    assert!(permissions.denies_tool("WebFetch"));
}

#[test]
fn a_file_cannot_switch_permissions_off() {
    let folder = tempfile::tempdir().unwrap();
    let places = SettingsPlaces::new(folder.path(), folder.path().join("config"));
    let settings = json!({ "permissions": { "defaultMode": "bypassPermissions" } });
    write(&places.file(SettingSource::Project), &settings);
    let mut permissions = Permissions::new(folder.path());
    Settings::load(&places, &SettingSource::ALL, None).apply_to(&mut permissions);
    assert_eq!(permissions.mode(), PermissionMode::Default);
}

fn hook(event: &str, matcher: &str, command: &str) -> CommandHook {
    let places = SettingsPlaces::new("/nowhere", "/nowhere");
    let hooks = json!({ "hooks": { event: [{
        "matcher": matcher,
        "hooks": [{ "type": "command", "command": command, "timeout": 0.5 }, { "type": "prompt" }],
    }] } });
    let settings = Settings::load(&places, &[], Some(&hooks.to_string()));
    assert_eq!(settings.hooks.len(), 1);
    settings.hooks[0].clone()
}

#[test]
fn matchers() {
    let matches = |matcher, tool| hook("PreToolUse", matcher, "true").matches(Some(tool));
    assert!(matches("", "Bash") && matches("*", "Bash") && matches("Bash", "Bash"));
    assert!(matches("Edit|Write", "Write") && matches("Edit, Write", "Write"));
    assert!(matches("Task", "Agent"));
    assert!(!matches("Bash", "BashOutput") && !matches("Edit|Write", "Read"));
    assert!(matches("mcp__.*", "mcp__a__b") && matches("^Ba", "Bash"));
    assert!(!matches("(", "Bash"));
}

#[tokio::test]
async fn a_hook_reads_and_decides() {
    let folder = tempfile::tempdir().unwrap();
    let input = RawObject::of(&json!({ "tool_name": "Bash" })).unwrap();
    let run = async |event: &str, command: &str| {
        let hook = hook(event, "", command);
        let run = hook.run(&input, folder.path(), &Cancel::new()).await.unwrap();
        let output: Value = serde_json::from_str(&hook.output(&run).to_json()).unwrap();
        (run, output)
    };
    let (told, _) = run("PreToolUse", "cat; echo \"$CLAUDE_PROJECT_DIR\" >&2").await;
    assert_eq!(told.stdout, "{\"tool_name\":\"Bash\"}\n");
    assert_eq!(told.stderr.trim(), folder.path().to_string_lossy());

    let (blocked, output) = run("PreToolUse", "echo no >&2; exit 2").await;
    assert_eq!((blocked.exit_code, blocked.outcome), (Some(2), CommandHookOutcome::Error));
    assert_eq!(output["hookSpecificOutput"]["permissionDecision"], "deny");
    let (_, output) = run("Stop", "echo go on >&2; exit 2").await;
    assert_eq!(output["decision"], "block");
    let (_, output) = run("PreToolUse", "exit 1").await;
    assert_eq!(output, json!({}));
    let (_, output) =
        run("PostToolUse", r#"echo '{"continue":false,"stopReason":"enough"}'"#).await;
    assert_eq!(output, json!({ "continue": false, "stopReason": "enough" }));
    let (_, output) = run("UserPromptSubmit", "echo it rains").await;
    assert_eq!(output["hookSpecificOutput"]["additionalContext"], "it rains");
    let (late, output) = run("PreToolUse", "sleep 600").await;
    assert_eq!((late.outcome, output), (CommandHookOutcome::Cancelled, json!({})));
}

#[tokio::test]
async fn a_hook_need_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let input = RawObject::of(&json!({ "text": "x".repeat(1_000_000) })).unwrap();
    let hook = hook("Stop", "", "echo done");
    let run = hook.run(&input, folder.path(), &Cancel::new()).await.unwrap();
    assert_eq!((run.stdout.as_str(), run.exit_code), ("done\n", Some(0)));
}
