//! What every option of a launch becomes.

use duologue_protocol::CallbackId;
use duologue_protocol::control::{
    AgentDefinition, HookMatcher, Initialize, McpServerConfig, SdkMcpServerConfig,
    SdkMcpServerManifest,
};
use duologue_protocol::launch::*;
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::{RawObject, Text, Wire};
use duologue_testkit::peers::imitated_version;
use serde_json::{Value, json};

/// An absolute path.
pub(crate) const ROOT: &str = if cfg!(windows) { r"C:\r" } else { "/r" };
/// A UUID.
pub(crate) const ID: &str = "6f2b1c1e-93a5-4c0e-8a51-1d5d0a7f3c11";

pub(crate) fn object(value: &Value) -> RawObject {
    RawObject::of(value).unwrap()
}

/// What the newest CLI is told besides the three arguments that always stand there.
fn args(launch: &Launch) -> Vec<String> {
    args_for(launch, None)
}

pub(crate) fn args_for(launch: &Launch, version: Option<&str>) -> Vec<String> {
    let version = version.map(|version| CliVersion::parse(version).unwrap());
    let plan = launch.plan(version.as_ref()).unwrap();
    let args: Vec<String> = plan.args.into_iter().map(|arg| arg.into_string().unwrap()).collect();
    let always = ["--output-format=stream-json", "--verbose", "--input-format=stream-json"];
    assert_eq!(args[..3], always);
    args[3..].to_vec()
}

/// What `initialize` says besides its tag.
fn handshake(launch: &Launch) -> Value {
    handshake_for(launch, None)
}

fn handshake_for(launch: &Launch, version: Option<&str>) -> Value {
    let version = version.map(|version| CliVersion::parse(version).unwrap());
    let plan = launch.plan(version.as_ref()).unwrap();
    let mut said: Value = serde_json::from_str(&plan.initialize.to_json()).unwrap();
    assert_eq!(said.as_object_mut().unwrap().remove("subtype").unwrap(), "initialize");
    said
}

/// What changes in the environment, without the marks that go.
fn env(launch: &Launch) -> Vec<(String, EnvChange)> {
    let plan = launch.clone().keep_outer_marks(true).plan(None).unwrap();
    plan.env.into_iter().map(|(name, change)| (name.into_string().unwrap(), change)).collect()
}

fn set(name: &str, value: &str) -> (String, EnvChange) {
    (name.to_owned(), EnvChange::Set(value.into()))
}

fn launch() -> Launch {
    Launch::new()
}

fn agent() -> AgentDefinition {
    AgentDefinition::new().description("Finds faults").prompt("Find faults.")
}

fn matcher(id: &str) -> HookMatcher {
    HookMatcher::new().hook_callback_ids([CallbackId::from(id)])
}

#[test]
fn options_that_are_not_set_send_nothing() {
    assert_eq!(args(&launch()), Vec::<String>::new());
    assert_eq!(handshake(&launch()), json!({}));
    assert_eq!(env(&launch()), []);
}

#[test]
fn what_becomes_a_flag() {
    let cut = || Some(Cut::after("m1").drops("p1"));
    let table: Vec<(Launch, &[&str])> = vec![
        (launch().model("opus"), &["--model=opus"]),
        (launch().fallback_models(["a", "b"]), &["--fallback-model=a,b"]),
        (launch().agent("critic"), &["--agent=critic"]),
        (launch().system_prompt(SystemPrompt::Default), &[]),
        (launch().system_prompt(SystemPrompt::File("p.md".into())), &["--system-prompt-file=p.md"]),
        (
            launch().system_prompt(SystemPrompt::AppendFile("p.md".into())),
            &["--append-system-prompt-file=p.md"],
        ),
        (launch().tools(Tools::Default), &["--tools=default"]),
        (launch().tools(Tools::None), &["--tools="]),
        (launch().tools(Tools::List(vec!["Read".into(), "Bash".into()])), &["--tools=Read,Bash"]),
        (launch().tools(Tools::List(vec![])), &["--tools="]),
        (
            launch().allowed_tools(["Read"]).allowed_tools(["Bash(git log, *)"]),
            &["--allowedTools=Read,Bash(git log, *)"],
        ),
        (launch().disallowed_tools(["Write", "Edit"]), &["--disallowedTools=Write,Edit"]),
        (launch().skills(Skills::All), &["--allowedTools=Skill"]),
        (
            launch()
                .allowed_tools(["Skill(pdf)"])
                .skills(Skills::List(vec!["pdf".into(), "team:docs".into()])),
            &["--allowedTools=Skill(pdf),Skill(team:docs)"],
        ),
        (launch().permission_mode(PermissionMode::Plan), &["--permission-mode=plan"]),
        (launch().permission_mode(PermissionMode::Manual), &["--permission-mode=default"]),
        (launch().permission_mode("hopeful"), &["--permission-mode=hopeful"]),
        (
            launch()
                .permission_mode(PermissionMode::BypassPermissions)
                .allow_dangerously_skip_permissions(true),
            &["--permission-mode=bypassPermissions", "--allow-dangerously-skip-permissions"],
        ),
        (launch().permission_prompts(PermissionPrompts::Host), &["--permission-prompt-tool=stdio"]),
        (launch().permission_prompts(PermissionPrompts::Deny), &["--permission-prompts=none"]),
        (launch().permission_prompt_tool("mcp__a__b"), &["--permission-prompt-tool=mcp__a__b"]),
        (
            launch().mcp_server("s", McpServerConfig::stdio("cmd", ["-x"])),
            &[
                r#"--mcp-config={"mcpServers":{"s":{"type":"stdio","command":"cmd","args":["-x"]}}}"#,
            ],
        ),
        (
            launch().mcp_server("s", McpServerConfig::sse("u")).strict_mcp_config(true),
            &[
                r#"--mcp-config={"mcpServers":{"s":{"type":"sse","url":"u"}}}"#,
                "--strict-mcp-config",
            ],
        ),
        (
            launch().mcp_config_files(["a.json", "{b}"]),
            &["--mcp-config=a.json", "--mcp-config=./{b}"],
        ),
        (launch().thinking(Thinking::Disabled), &["--thinking=disabled"]),
        (
            launch().thinking(Thinking::adaptive().display(ThinkingDisplay::Summarized)),
            &["--thinking=adaptive", "--thinking-display=summarized"],
        ),
        (
            launch().thinking(Thinking::budget(4096).display("omitted")),
            &["--max-thinking-tokens=4096", "--thinking-display=omitted"],
        ),
        (launch().max_thinking_tokens(0), &["--thinking=disabled"]),
        (launch().max_thinking_tokens(7), &["--max-thinking-tokens=7"]),
        (launch().effort(Effort::Xhigh), &["--effort=xhigh"]),
        (launch().max_turns(3), &["--max-turns=3"]),
        (launch().max_budget_usd(0.5), &["--max-budget-usd=0.5"]),
        (launch().max_budget_usd(1e-7), &["--max-budget-usd=0.0000001"]),
        (launch().task_budget(9000), &["--task-budget=9000"]),
        (launch().betas(["a", "b"]), &["--betas=a", "--betas=b"]),
        (launch().json_schema(object(&json!({}))), &["--json-schema={}"]),
        (launch().settings(object(&json!({"a": 1}))), &[r#"--settings={"a":1}"#]),
        (launch().settings(Settings::File("s.json".into())), &["--settings=s.json"]),
        (
            launch().sandbox(object(&json!({"on": true}))),
            &[r#"--settings={"sandbox":{"on":true}}"#],
        ),
        (launch().managed_settings(object(&json!({"a": 1}))), &[r#"--managed-settings={"a":1}"#]),
        (
            launch()
                .managed_settings(object(&json!({})))
                .managed_settings_delivery(Delivery::Initialize),
            &["--await-initialize", "--managed-settings-in-initialize"],
        ),
        (
            launch().setting_sources([SettingSource::User, SettingSource::Local]),
            &["--setting-sources=user,local"],
        ),
        (launch().setting_sources([] as [SettingSource; 0]), &["--setting-sources="]),
        (launch().project_config_root(ROOT), &["--project-config-root=ROOT"]),
        (launch().add_dirs(["a", "-b"]), &["--add-dir=a", "--add-dir=-b"]),
        (
            launch().plugins([Plugin::new("p"), Plugin::new("q").without_mcp()]),
            &["--plugin-dir=p", "--plugin-dir-no-mcp=q"],
        ),
        (
            launch().plugins([Plugin::new("p")]).plugin_delivery(Delivery::Initialize),
            &["--await-initialize"],
        ),
        (launch().conversation(Conversation::NewWithId(ID.into())), &["--session-id=ID"]),
        (launch().conversation(Conversation::resume("a title")), &["--resume=a title"]),
        (launch().conversation(Conversation::ResumeOrNew(ID.into())), &["--resume=ID"]),
        (launch().conversation(Conversation::Continue), &["--continue"]),
        (
            launch().conversation(Conversation::Resume { id: "-x".into(), cut: cut() }),
            &["--resume=-x", "--resume-session-at=m1", "--resume-drops-turn=p1"],
        ),
        (launch().conversation(Conversation::fork("x")), &["--resume=x", "--fork-session"]),
        (
            launch().conversation(Conversation::Fork {
                of: "x".into(),
                cut: Some(Cut::after("m1").drops("")),
                id: Some(ID.into()),
            }),
            &[
                "--resume=x",
                "--resume-session-at=m1",
                "--resume-drops-turn=",
                "--fork-session",
                "--session-id=ID",
            ],
        ),
        (launch().conversation(Conversation::fork_continue()), &["--continue", "--fork-session"]),
        (
            launch().conversation(Conversation::ForkContinue { id: Some(ID.into()) }),
            &["--continue", "--fork-session", "--session-id=ID"],
        ),
        (launch().no_session_persistence(true), &["--no-session-persistence"]),
        (launch().session_mirror(true), &["--session-mirror"]),
        (launch().partial_messages(true), &["--include-partial-messages"]),
        (launch().hook_events(true), &["--include-hook-events"]),
        (launch().replay_user_messages(true), &["--replay-user-messages"]),
        (launch().debug(true), &["--debug"]),
        (launch().debug(true).debug_file("d.log"), &["--debug-file=d.log"]),
        (launch().await_initialize(true), &["--await-initialize"]),
        (launch().extra_flag("maintenance"), &["--maintenance"]),
        (launch().extra_arg("--workload", "--x"), &["--workload=--x"]),
        (launch().extra_arg("workload", ""), &["--workload="]),
    ];
    for (launch, expected) in table {
        let expected: Vec<String> =
            expected.iter().map(|arg| arg.replace("ID", ID).replace("ROOT", ROOT)).collect();
        assert_eq!(args(&launch), expected, "{launch:?}");
        for arg in args(&launch) {
            let flag = arg.split('=').next().unwrap();
            let raw = ["--maintenance", "--workload"].contains(&flag);
            assert!(raw || known_flags().any(|known| known == flag), "{flag}");
        }
    }
}

#[test]
fn what_goes_into_the_handshake() {
    let manifest = SdkMcpServerManifest::new().initialize_result(RawObject::default());
    let config = SdkMcpServerConfig::new().timeout(5u32);
    let table: Vec<(Launch, Value)> = vec![
        (launch().system_prompt("be"), json!({"systemPrompt": ["be"]})),
        (
            launch().system_prompt(SystemPrompt::Custom(vec![
                "a".into(),
                SYSTEM_PROMPT_DYNAMIC_BOUNDARY.into(),
                "b".into(),
            ])),
            json!({"systemPrompt": ["a", "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__", "b"]}),
        ),
        (launch().system_prompt(SystemPrompt::Empty), json!({"systemPrompt": [""]})),
        (launch().system_prompt(SystemPrompt::Custom(vec![])), json!({"systemPrompt": [""]})),
        (
            launch().system_prompt(SystemPrompt::Append("x".into())),
            json!({"appendSystemPrompt": "x"}),
        ),
        (launch().exclude_dynamic_sections(true), json!({"excludeDynamicSections": true})),
        (launch().system_prompt_snapshot(false), json!({"systemPromptSnapshot": false})),
        (launch().plan_mode_instructions("p"), json!({"planModeInstructions": "p"})),
        (
            launch().define_agent("critic", agent()),
            json!({"agents": {"critic": {"description": "Finds faults", "prompt": "Find faults."}}}),
        ),
        (launch().tool_alias("Shell", "Bash"), json!({"toolAliases": {"Shell": "Bash"}})),
        (launch().skills(Skills::List(vec!["pdf".into()])), json!({"skills": ["pdf"]})),
        (launch().skills(Skills::All), json!({})),
        (
            launch()
                .hook("Stop", matcher("a"))
                .hook("Setup", matcher("b"))
                .hook("Stop", matcher("c")),
            json!({"hooks": {
                "Stop": [{"hookCallbackIds": ["a"]}, {"hookCallbackIds": ["c"]}],
                "Setup": [{"hookCallbackIds": ["b"]}],
            }}),
        ),
        (launch().sdk_mcp_server("calc"), json!({"sdkMcpServers": ["calc"]})),
        (
            launch().sdk_mcp_server_with("calc", config).sdk_mcp_server("calc"),
            json!({"sdkMcpServers": ["calc"], "sdkMcpServerConfigs": {"calc": {"timeout": 5}}}),
        ),
        (
            launch().sdk_mcp_server("calc").sdk_mcp_server_manifest("calc", manifest),
            json!({
                "sdkMcpServers": ["calc"],
                "sdkMcpServerManifests": {"calc": {"initializeResult": {}}},
            }),
        ),
        (launch().json_schema(object(&json!({"a": 1}))), json!({"jsonSchema": {"a": 1}})),
        (launch().title("t"), json!({"title": "t"})),
        (launch().prompt_suggestions(true), json!({"promptSuggestions": true})),
        (launch().agent_progress_summaries(true), json!({"agentProgressSummaries": true})),
        (launch().forward_subagent_text(true), json!({"forwardSubagentText": true})),
        (launch().supported_dialog_kinds(["a"]), json!({"supportedDialogKinds": ["a"]})),
        (launch().per_task_stop_affordance(true), json!({"perTaskStopAffordance": true})),
        (
            launch()
                .plugins([Plugin::new("p"), Plugin::new("q").without_mcp()])
                .plugin_delivery(Delivery::Initialize),
            json!({"plugins": [
                {"type": "local", "path": "p"},
                {"type": "local", "path": "q", "skipMcpDiscovery": true},
            ]}),
        ),
        (
            launch()
                .managed_settings(object(&json!({"a": 1})))
                .managed_settings_delivery(Delivery::Initialize),
            json!({"managedSettings": {"a": 1}}),
        ),
        (
            launch()
                .initialize(Initialize::new().rapid_followup_preempt(true).title("old"))
                .title("new"),
            json!({"title": "new", "rapidFollowupPreempt": true}),
        ),
    ];
    for (launch, expected) in table {
        assert_eq!(handshake(&launch), expected, "{launch:?}");
    }
}

#[test]
fn what_goes_into_the_environment() {
    let table = vec![
        (
            launch().question_preview(QuestionPreview::Html),
            "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT",
            "html",
        ),
        (launch().file_checkpointing(true), "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true"),
        (launch().session_state_events(true), "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"),
        (launch().config_dir("c"), "CLAUDE_CONFIG_DIR", "c"),
        (launch().client_app("app/1"), "CLAUDE_AGENT_SDK_CLIENT_APP", "app/1"),
        (launch().entrypoint("me"), "CLAUDE_CODE_ENTRYPOINT", "me"),
        (launch().env("A", "=b c"), "A", "=b c"),
        (launch().config_dir("c").env("CLAUDE_CONFIG_DIR", "d"), "CLAUDE_CONFIG_DIR", "d"),
    ];
    for (launch, name, value) in table {
        assert_eq!(env(&launch), [set(name, value)], "{launch:?}");
    }
    assert_eq!(env(&launch().env("A", "1").env_remove("A")), [("A".to_owned(), EnvChange::Remove)]);
}

#[test]
fn marks_of_an_outer_session_go() {
    let plan = launch().entrypoint("me").env("DEBUG", "1").plan(None).unwrap();
    for mark in OUTER_MARKS {
        let changes: Vec<_> = plan.env.iter().filter(|(name, _)| name == mark).collect();
        assert_eq!(changes.len(), 1, "{mark}");
        let kept = ["CLAUDE_CODE_ENTRYPOINT", "DEBUG"].contains(mark);
        assert_eq!(matches!(changes[0].1, EnvChange::Set(_)), kept, "{mark}");
    }
    // What is set may be secret.
    assert!(!format!("{:?}", launch().env("KEY", "hush")).contains("hush"));
}

#[test]
fn the_plan_has_the_duties_of_the_host() {
    let plan = launch().verbatim_prompts(true).cwd("here").plan(None).unwrap();
    assert!(plan.verbatim_prompts && !plan.initialize_first);
    assert_eq!(plan.cwd.unwrap().to_str(), Some("here"));
    assert!(launch().await_initialize(true).plan(None).unwrap().initialize_first);
    let fallback = launch().conversation(Conversation::ResumeOrNew(ID.into())).fallback().unwrap();
    assert_eq!(args(&fallback), [format!("--session-id={ID}")]);
    assert_eq!(launch().conversation(Conversation::Continue).fallback(), None);
}

#[test]
fn older_versions_get_their_own_roads() {
    let both = launch().system_prompt("be").sdk_mcp_server("calc");
    let flags = [
        "--system-prompt=be",
        r#"--mcp-config={"mcpServers":{"calc":{"type":"sdk","name":"calc"}}}"#,
    ];
    for old in ["1.0.128", "2.0.77", "2.1.52 (Claude Code)"] {
        assert_eq!(args_for(&both, Some(old)), flags, "{old}");
        assert_eq!(handshake_for(&both, Some(old)), json!({}), "{old}");
    }
    assert_eq!(args_for(&both, Some("2.1.197")), Vec::<String>::new());

    let table: Vec<(Launch, &str, &[&str])> = vec![
        (
            launch().system_prompt(SystemPrompt::Append("x".into())),
            "2.0.77",
            &["--append-system-prompt=x"],
        ),
        (launch().system_prompt(SystemPrompt::Empty), "2.0.77", &["--system-prompt="]),
        (launch().thinking(Thinking::Disabled), "2.0.77", &["--max-thinking-tokens=0"]),
        (launch().permission_prompts(PermissionPrompts::Deny), "2.1.197", &[]),
        // 2.1.197 does not know the flag, and both know the field.
        (launch().forward_subagent_text(true), "2.1.197", &[]),
        (launch().forward_subagent_text(true), imitated_version(), &[]),
        (
            launch().define_agent("a", AgentDefinition::new().description("d").prompt("p")),
            "1.0.128",
            &[r#"--agents={"a":{"description":"d","prompt":"p"}}"#],
        ),
    ];
    for (launch, version, expected) in table {
        assert_eq!(args_for(&launch, Some(version)), expected, "{version} {launch:?}");
    }
}

#[test]
fn options_that_an_old_version_ignores_are_listed() {
    let launch = launch().title("t").verbatim_prompts(true).system_prompt_snapshot(false);
    let unheeded =
        |version: &str| launch.plan(CliVersion::parse(version).as_ref()).unwrap().unheeded;
    assert_eq!(unheeded("2.0.77"), ["title", "verbatim_prompts", "system_prompt_snapshot"]);
    assert_eq!(unheeded("2.1.250"), ["system_prompt_snapshot"]);
    assert_eq!(unheeded(imitated_version()), Vec::<&str>::new());
    assert_eq!(launch.plan(None).unwrap().unheeded, Vec::<&str>::new());
}

#[test]
fn the_sandbox_is_laid_over_the_settings() {
    let settings = json!({"model": "x", "sandbox": {"a": {"b": 1, "c": 2}, "d": 3}});
    let sandbox = json!({"a": {"b": 9}, "e": [1]});
    let launch = launch().settings(object(&settings)).sandbox(object(&sandbox));
    let args = args(&launch);
    let merged: Value = serde_json::from_str(args[0].strip_prefix("--settings=").unwrap()).unwrap();
    let expected = json!({"a": {"b": 9, "c": 2}, "d": 3, "e": [1]});
    assert_eq!(merged, json!({"model": "x", "sandbox": expected}));
}

#[test]
fn versions() {
    let parse = CliVersion::parse;
    let today = CliVersion::new(2, 1, 330);
    for text in ["2.1.330", "2.1.330 (Claude Code)\n", " v2.1.330-beta.1", "2.1.330+x"] {
        assert_eq!(parse(text), Some(today), "{text}");
    }
    for text in
        ["", "2.1", "2.1.x", "2.1.3.4", "2..1", "claude 2.1.330", "2.1.99999999999", "2.1.3x"]
    {
        assert_eq!(parse(text), None, "{text}");
    }
    assert!(parse("2.1.99") < parse("2.1.330") && parse("2.0.999") < parse("2.1.0"));
    let text: Text = today.to_string().into();
    assert_eq!(text, "2.1.330");
}
