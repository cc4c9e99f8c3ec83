//! Whatever comes, nothing unsafe is taken for safe.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use duologue_embedded::permission::{Permissions, Rule, RuleSource, is_read_only_command};
use duologue_protocol::permission::PermissionBehavior;
use proptest::prelude::*;
use serde_json::json;

use super::support::{judge, judge_command};

/// A command line: pieces thrown together, or a plain one with something odd in it.
fn command() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        Just("ls -la"),
        Just("echo x"),
        Just("cat x"),
        Just("git status"),
        Just("pwd"),
        Just("echo 'a b'"),
        Just("echo \"a b\" c"),
        Just("ls 2>/dev/null"),
        Just("cat < x"),
    ];
    let joint = prop_oneof![Just("; "), Just(" && "), Just(" | "), Just("\n"), Just(" || ")];
    let line = proptest::collection::vec((plain, joint), 1..4);
    let odd = (line, soup(), any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(line, soup, at, with_soup)| {
            let mut text: String =
                line.iter().flat_map(|(plain, joint)| [*plain, *joint]).collect();
            text.push_str("true");
            if with_soup {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                text.insert_str(*at.get(&places), soup.get(..3).unwrap_or(&soup));
            }
            text
        },
    );
    prop_oneof![soup(), odd]
}

/// Pieces of command lines, harmless and not.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("ls"),
        Just("echo"),
        Just("cat"),
        Just("evil"),
        Just("git"),
        Just("status"),
        Just("cd"),
        Just(" "),
        Just(" "),
        Just(" "),
        Just(";"),
        Just("&&"),
        Just("|"),
        Just("&"),
        Just("\n"),
        Just(">"),
        Just("<"),
        Just("$("),
        Just(")"),
        Just("`"),
        Just("'"),
        Just("\""),
        Just("\\"),
        Just("x"),
        Just("/dev/null"),
        Just("2>&1"),
        Just("A=b"),
        Just("{"),
        Just("}"),
        Just("#"),
        Just("$x"),
        Just("~"),
        Just(".."),
        Just("-rf"),
        Just("*"),
        Just("é"),
        Just("\t"),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(text in ".{0,60}", rule in ".{0,20}", path in ".{0,30}") {
        let mut permissions = Permissions::new("/workspace");
        for behavior in [PermissionBehavior::Allow, PermissionBehavior::Deny, PermissionBehavior::Ask] {
            permissions.add_rules(&rule, behavior.clone(), RuleSource::CliArg);
            permissions.add_rules(&format!("Bash({rule}),Read({rule}),Edit({rule})"), behavior, RuleSource::Session);
        }
        let root = Path::new("/workspace");
        judge_command(&permissions, root, &text);
        judge(&permissions, root, "Read", &json!({ "file_path": path }));
        judge(&permissions, root, "Write", &json!({ "file_path": path }));
        judge(&permissions, root, "Glob", &json!({ "pattern": path, "path": text }));
        judge(&permissions, root, &text, &json!({}));
    }

    #[test]
    fn a_rule_is_spelled_as_it_is_read(tool in "[A-Za-z_]{1,9}", content in "[ -~]{1,20}") {
        let escaped = content.replace('\\', r"\\").replace('(', r"\(").replace(')', r"\)");
        let text = format!("{tool}({escaped})");
        let rule = Rule::parse(&text, PermissionBehavior::Allow, RuleSource::Session);
        let again = Rule::parse(&rule.spelled(), PermissionBehavior::Allow, RuleSource::Session);
        prop_assert_eq!(rule, again);
    }

    #[test]
    fn what_is_forbidden_stays_forbidden(before in command(), joint in "[;|\n]|&&|\\|\\||\\$\\(|`") {
        // After an open quote or in a comment it would be no command.
        let before = before.replace(['\'', '"', '\\', '#', '<', '>', '`'], "");
        let mut permissions = Permissions::new("/workspace");
        permissions.add_rules("Bash", PermissionBehavior::Allow, RuleSource::CliArg);
        permissions.add_rules("Bash(evil:*)", PermissionBehavior::Deny, RuleSource::CliArg);
        let command = format!("{before} {joint} evil now");
        let verdict = judge_command(&permissions, Path::new("/workspace"), &command);
        // A command that cannot be followed is asked about.
        prop_assert!(!verdict.is_allowed(), "{command}: {verdict:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// What is taken for harmless is given to a real shell, where `evil` leaves a mark.
    #[test]
    fn what_is_taken_for_harmless_is(command in command()) {
        if is_read_only_command(&command) {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("bin")).unwrap();
            fs::create_dir(folder.path().join("work")).unwrap();
            let evil = folder.path().join("bin/evil");
            fs::write(&evil, "#!/bin/sh\ntouch \"$(dirname \"$0\")/mark\"\n").unwrap();
            fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
            let path = std::env::var("PATH").unwrap();
            let bin = folder.path().join("bin");
            Command::new("bash")
                .args(["-c", &command])
                .env("PATH", format!("{}:{path}", bin.display()))
                .current_dir(folder.path().join("work"))
                .stdin(Stdio::null())
                .output()
                .unwrap();
            prop_assert!(!bin.join("mark").exists(), "{command} ran evil");
            let left = fs::read_dir(folder.path().join("work")).unwrap().count();
            prop_assert_eq!(left, 0, "{} left something", command);
        }
    }
}
