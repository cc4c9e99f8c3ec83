//! Nothing that a caller supplies becomes a flag, and the recordings hold no flag unheard of.

use std::collections::BTreeSet;
use std::fs;

use duologue_protocol::launch::*;
use duologue_protocol::permission::PermissionMode;
use duologue_testkit::recordings;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::launch::{ID, object};

/// Text that would like to be a flag.
fn text() -> impl Strategy<Value = String> {
    let hostile = prop::sample::select(vec![
        "--dangerously-skip-permissions",
        "-p",
        "--",
        "-",
        "=",
        "--model=x --verbose",
        "a\n--resume",
        "\"' $(x) `y` %z%",
        "x,--y",
        "{file 0}",
        "\u{2028}-\u{202e}",
    ]);
    prop_oneof![hostile.prop_map(str::to_owned), any::<String>()]
}

/// Each option that takes a text, with this one, and the flags that may come of it.
fn with(text: &str) -> Vec<(Launch, &'static [&'static str])> {
    let launch = Launch::new;
    let cut = Some(Cut::after(text).drops(text));
    vec![
        (launch().model(text), &["--model"]),
        (launch().fallback_models([text]), &["--fallback-model"]),
        (launch().agent(text), &["--agent"]),
        (launch().betas([text]), &["--betas"]),
        (launch().tools(Tools::List(vec![text.into()])), &["--tools"]),
        (launch().allowed_tools([text]), &["--allowedTools"]),
        (launch().disallowed_tools([text]), &["--disallowedTools"]),
        (launch().skills(Skills::List(vec![text.into()])), &["--allowedTools"]),
        (launch().permission_mode(PermissionMode::from(text)), &["--permission-mode"]),
        (launch().permission_prompt_tool(text), &["--permission-prompt-tool"]),
        (launch().mcp_config_files([text]), &["--mcp-config"]),
        (launch().effort(Effort::from(text)), &["--effort"]),
        (
            launch().thinking(Thinking::adaptive().display(text)),
            &["--thinking", "--thinking-display"],
        ),
        (launch().settings(Settings::File(text.into())), &["--settings"]),
        (launch().settings(object(&json!({ text: text }))), &["--settings"]),
        (launch().json_schema(object(&json!({ text: text }))), &["--json-schema"]),
        (launch().managed_settings(object(&json!({ text: text }))), &["--managed-settings"]),
        (launch().setting_sources([text]), &["--setting-sources"]),
        (launch().project_config_root(text), &["--project-config-root"]),
        (launch().add_dirs([text]), &["--add-dir"]),
        (launch().plugins([Plugin::new(text)]), &["--plugin-dir"]),
        (launch().debug_file(text), &["--debug-file"]),
        (launch().system_prompt(SystemPrompt::File(text.into())), &["--system-prompt-file"]),
        (launch().system_prompt(text), &["--system-prompt"]),
        (launch().system_prompt(SystemPrompt::Append(text.into())), &["--append-system-prompt"]),
        (
            launch().conversation(Conversation::Resume { id: text.into(), cut }),
            &["--resume", "--resume-session-at", "--resume-drops-turn"],
        ),
        (launch().conversation(Conversation::NewWithId(text.into())), &["--session-id"]),
        (launch().extra_arg("workload", text), &["--workload"]),
    ]
}

proptest! {
    #[test]
    fn any_text_stays_one_argument_behind_its_flag(text in text()) {
        for (launch, flags) in with(&text) {
            // The second takes the older roads.
            for version in [None, Some(CliVersion::new(2, 1, 52))] {
                // What is refused is not started.
                let Ok(plan) = launch.plan(version.as_ref()) else { continue };
                let args: Vec<&str> = plan.args.iter().map(|arg| arg.to_str().unwrap()).collect();
                let (always, rest) = args.split_at(3);
                prop_assert_eq!(always[1], "--verbose");
                prop_assert!(rest.len() <= flags.len());
                for arg in rest {
                    let (flag, _) = arg.split_once('=').unwrap();
                    prop_assert!(flags.contains(&flag), "{}", arg);
                }
                if flags == ["--model"] {
                    prop_assert_eq!(rest[0].strip_prefix("--model=").unwrap(), &text);
                }
            }
        }
    }

    #[test]
    fn a_rule_stays_one_rule(rules in prop::collection::vec("[a-c(), *\\\\]{1,8}", 1..5)) {
        let Ok(plan) = Launch::new().allowed_tools(rules.clone()).plan(None) else { return Ok(()) };
        let list = plan.args[3].to_str().unwrap().strip_prefix("--allowedTools=").unwrap();
        prop_assert_eq!(split_as_the_cli_does(list), rules);
    }

    #[test]
    fn an_extra_name_is_a_flag_or_is_refused(name in text()) {
        if let Ok(plan) = Launch::new().extra_flag(name.as_str()).plan(None) {
            let arg = plan.args[3].to_str().unwrap();
            let name = arg.strip_prefix("--").unwrap();
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
        }
    }
}

/// The splitter of the imitated CLI.
fn split_as_the_cli_does(list: &str) -> Vec<String> {
    let mut rules = Vec::new();
    let mut rule = String::new();
    let mut inside = false;
    for character in list.chars() {
        match character {
            ',' | ' ' if !inside => rules.push(std::mem::take(&mut rule)),
            _ => {
                inside = (inside || character == '(') && character != ')';
                rule.push(character);
            }
        }
    }
    rules.push(rule);
    rules.retain(|rule| !rule.trim().is_empty());
    rules
}

#[test]
fn all_flags_of_the_recordings_are_known() {
    // Flags that have another road here, or none because nothing is printed in stream-json mode.
    let raw = ["-p", "--forward-subagent-text", "--prompt-suggestions"];
    let mut seen = BTreeSet::new();
    for recording in recordings() {
        let text = fs::read_to_string(&recording.path).unwrap();
        let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        for arg in head["argv"].as_array().unwrap().iter().skip(1) {
            let flag = arg.as_str().unwrap().split('=').next().unwrap().to_owned();
            if flag.starts_with('-') {
                let known =
                    raw.contains(&flag.as_str()) || known_flags().any(|known| known == flag);
                assert!(known, "{flag} in {}", recording.path.display());
                seen.insert(flag);
            }
        }
    }
    assert!(seen.len() > 15, "{seen:?}");
    assert!(CliVersion::parse(ID).is_none());
}
