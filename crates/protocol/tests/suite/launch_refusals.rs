//! What a launch refuses, and where what is too long goes.

use duologue_protocol::Wire;
use duologue_protocol::control::{
    AgentDefinition, HookMatcher, McpServerConfig, SdkMcpServerManifest,
};
use duologue_protocol::launch::*;
use duologue_protocol::permission::PermissionMode;
use serde_json::json;

use super::launch::{ID, ROOT, args_for, object};

fn launch() -> Launch {
    Launch::new()
}

fn refused(launch: &Launch) -> LaunchError {
    let Err(error) = launch.plan(None) else { panic!("not refused: {launch:?}") };
    assert!(!error.to_string().is_empty());
    error
}

#[test]
fn what_contradicts_itself() {
    let table = [
        (launch().model("a").fallback_models(["b", "a"]), "model", "fallback_models"),
        (
            launch()
                .permission_prompts(PermissionPrompts::Host)
                .permission_prompt_tool("mcp__a__b"),
            "permission_prompts",
            "permission_prompt_tool",
        ),
        (
            launch()
                .permission_prompts(PermissionPrompts::Deny)
                .permission_prompt_tool("mcp__a__b"),
            "permission_prompts",
            "permission_prompt_tool",
        ),
        (
            launch().permission_mode(PermissionMode::BypassPermissions),
            "permission_mode(BypassPermissions)",
            "allow_dangerously_skip_permissions(false)",
        ),
        (
            launch().thinking(Thinking::adaptive()).max_thinking_tokens(1),
            "thinking",
            "max_thinking_tokens",
        ),
        (
            launch().settings(Settings::File("s.json".into())).sandbox(object(&json!({}))),
            "settings by file",
            "sandbox",
        ),
        (
            launch().mcp_server("a", McpServerConfig::http("u")).sdk_mcp_server("a"),
            "mcp_server",
            "sdk_mcp_server",
        ),
        (
            launch().no_session_persistence(true).session_mirror(true),
            "no_session_persistence",
            "session_mirror",
        ),
        (
            launch().managed_settings_delivery(Delivery::Initialize),
            "managed_settings_delivery(Initialize)",
            "no managed_settings",
        ),
    ];
    for (launch, one, other) in table {
        match refused(&launch) {
            LaunchError::Contradiction { first, second, .. } => {
                assert_eq!((first, second), (one, other));
            }
            error => panic!("{error}"),
        }
    }
}

#[test]
fn what_cannot_work() {
    let fork = |id: &str| Conversation::Fork { of: "x".into(), cut: None, id: Some(id.into()) };
    let cut = Conversation::Resume { id: ID.into(), cut: Some(Cut::after("")) };
    let agent = AgentDefinition::new().description("no prompt");
    let late = HookMatcher::new().hook_callback_ids(["a".into()]).timeout(0u32);
    let manifest = SdkMcpServerManifest::new();
    let table = [
        (launch().model(" "), "model"),
        (launch().agent(""), "agent"),
        (launch().fallback_models(["a,b"]), "fallback_models"),
        (launch().betas([""]), "betas"),
        (launch().tools(Tools::List(vec!["Read, Write".into()])), "tools"),
        (launch().allowed_tools(["Read,Write"]), "allowed_tools"),
        (launch().allowed_tools(["Bash(a) Write"]), "allowed_tools"),
        (launch().allowed_tools(["Bash(a"]), "allowed_tools"),
        (launch().allowed_tools([r"Bash(echo \) , b)"]), "allowed_tools"),
        (launch().disallowed_tools([""]), "disallowed_tools"),
        (launch().permission_prompt_tool("stdio"), "permission_prompt_tool"),
        (launch().hook("Stop", HookMatcher::new()), "hook"),
        (launch().hook("Stop", late), "hook"),
        (launch().define_agent("a", agent), "define_agent"),
        (launch().mcp_server("a", McpServerConfig::new()), "mcp_server"),
        (launch().mcp_server("a", McpServerConfig::http("")), "mcp_server"),
        (launch().mcp_server("a", McpServerConfig::sdk("a")), "mcp_server"),
        (launch().mcp_server("", McpServerConfig::http("u")), "mcp_server"),
        (launch().sdk_mcp_server_manifest("a", manifest), "sdk_mcp_server_manifest"),
        (launch().max_turns(0), "max_turns"),
        (launch().max_budget_usd(0.0), "max_budget_usd"),
        (launch().max_budget_usd(f64::NAN), "max_budget_usd"),
        (launch().max_budget_usd(f64::INFINITY), "max_budget_usd"),
        (launch().task_budget(0), "task_budget"),
        (launch().project_config_root("here"), "project_config_root"),
        (launch().setting_sources(["user,project"]), "setting_sources"),
        (launch().conversation(Conversation::NewWithId("mine".into())), "conversation"),
        (launch().conversation(Conversation::ResumeOrNew("a title".into())), "conversation"),
        (launch().conversation(Conversation::resume("")), "conversation"),
        (launch().conversation(fork("mine")), "conversation"),
        (
            launch().conversation(Conversation::ForkContinue { id: Some("x".into()) }),
            "conversation",
        ),
        (launch().conversation(cut), "conversation"),
        (launch().model("a\0b"), "model"),
        (launch().env("", "x"), "env"),
        (launch().env("A=B", "x"), "env"),
        (launch().env("A", "x\0"), "env"),
        (launch().extra_flag(""), "extra_args"),
        (launch().extra_flag("-x"), "extra_args"),
        (launch().extra_flag("a b"), "extra_args"),
        (launch().extra_arg("model=x", "y"), "extra_args"),
        (launch().extra_arg("output-format", "text"), "extra_args"),
        (launch().extra_arg("--session-id", ID), "extra_args"),
        (launch().extra_arg("permission-prompt-tool", "x"), "extra_args"),
        (launch().model("a").extra_arg("model", "b"), "extra_args"),
        (launch().extra_flag("x").extra_flag("x"), "extra_args"),
    ];
    for (launch, named) in table {
        match refused(&launch) {
            LaunchError::Invalid { option, .. } => assert_eq!(option, named),
            error => panic!("{error}"),
        }
    }
}

#[test]
fn names_of_skills() {
    let names = [
        "", " ", " pdf", "pdf ", "a(b", "a)b", "a,b", "a\nb", "/pdf", "*", "a:*", "a *", r"a\",
        r"a\\b",
    ];
    for name in names {
        let error = refused(&launch().skills(Skills::List(vec![name.into()])));
        assert!(matches!(error, LaunchError::Invalid { option: "skills", .. }), "{name:?}");
    }
    let fine = ["pdf", "team:docs", "a b", r"a\b", "*a"].map(String::from).to_vec();
    assert!(launch().skills(Skills::List(fine)).plan(None).is_ok());
}

#[test]
fn what_an_old_version_does_not_know() {
    let resume = Conversation::Resume { id: ID.into(), cut: Some(Cut::after("m").drops("p")) };
    let fork = Conversation::ForkContinue { id: Some(ID.into()) };
    let table = [
        (launch().agent("a"), "1.0.128"),
        (launch().betas(["a"]), "1.0.128"),
        (launch().json_schema(object(&json!({}))), "1.0.128"),
        (launch().conversation(fork), "1.0.128"),
        (launch().effort(Effort::Low), "2.0.77"),
        (launch().thinking(Thinking::adaptive()), "2.0.77"),
        (launch().hook_events(true), "2.1.52"),
        (launch().effort(Effort::Xhigh), "2.1.52"),
        (launch().permission_mode(PermissionMode::Auto), "2.1.52"),
        (launch().permission_mode(PermissionMode::DontAsk), "1.0.128"),
        (launch().managed_settings(object(&json!({}))), "2.1.52"),
        (launch().project_config_root(ROOT), "2.1.197"),
        (launch().conversation(resume), "2.1.197"),
        (launch().plugins([Plugin::new("p")]).plugin_delivery(Delivery::Initialize), "2.1.197"),
    ];
    for (launch, text) in table {
        let version = CliVersion::parse(text).unwrap();
        let error = launch.plan(Some(&version)).unwrap_err();
        assert!(matches!(error, LaunchError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
        let next = CliVersion::new(version.major, version.minor, version.patch + 1);
        assert!(launch.plan(Some(&next)).is_ok(), "tried where nobody looked: {launch:?}");
    }
}

#[test]
fn long_values_become_files() {
    let long = "x".repeat(40 * 1024);
    let settings = object(&json!({"note": long}));
    let mut plan = launch()
        .settings(settings.clone())
        .mcp_server("s", McpServerConfig::stdio(long.as_str(), [""; 0]))
        .model("opus")
        .plan(None)
        .unwrap();
    assert_eq!(plan.files.len(), 2);
    for number in 0..plan.files.len() {
        let file = plan.files[number].clone();
        assert!(file.contents.contains(&long) && file.suffix == ".json");
        assert!(plan.args.iter().any(|arg| arg.to_str().unwrap().ends_with(&file.placeholder)));
        plan.place(number, format!("{{file {}}}-{number}", 1 - number));
    }
    let args: Vec<&str> = plan.args.iter().map(|arg| arg.to_str().unwrap()).collect();
    let mcp = plan.files.iter().position(|file| file.contents.contains("mcpServers")).unwrap();
    assert!(args.contains(&format!("--mcp-config={{file {}}}-{mcp}", 1 - mcp).as_str()));
    assert!(args.contains(&format!("--settings={{file {mcp}}}-{}", 1 - mcp).as_str()));
    assert!(args.contains(&"--model=opus"));
    assert!(plan.files.iter().any(|file| file.contents == settings.as_json()));

    let old = CliVersion::new(2, 0, 77);
    let plan = launch().system_prompt(long.as_str()).plan(Some(&old)).unwrap();
    assert_eq!(plan.args[3], "--system-prompt-file={file 0}");
    assert_eq!((plan.files[0].contents.as_str(), plan.files[0].suffix), (long.as_str(), ".txt"));
    let append = launch().system_prompt(SystemPrompt::Append(long.clone()));
    assert_eq!(append.plan(Some(&old)).unwrap().args[3], "--append-system-prompt-file={file 0}");
    // 1.0.128 has no such file, and nothing else.
    let error = append.plan(Some(&CliVersion::new(1, 0, 128))).unwrap_err();
    assert!(matches!(error, LaunchError::TooLong { .. }), "{error}");
}

#[test]
fn old_versions_begin_with_everything_allowed_but_cannot_be_allowed_it_later() {
    let old = CliVersion::new(1, 0, 128);
    let allowed = launch().allow_dangerously_skip_permissions(true);
    let error = allowed.clone().plan(Some(&old)).unwrap_err();
    assert!(matches!(error, LaunchError::Unsupported { .. }), "{error}");
    let plan = allowed.permission_mode(PermissionMode::BypassPermissions).plan(Some(&old)).unwrap();
    assert!(plan.args.iter().any(|arg| arg == "--permission-mode=bypassPermissions"));
    assert!(!plan.args.iter().any(|arg| arg == "--allow-dangerously-skip-permissions"));
}

#[test]
fn long_values_go_into_the_handshake() {
    let long = object(&json!({"note": "x".repeat(40 * 1024)}));
    let plan = launch().json_schema(long.clone()).model("m").plan(None).unwrap();
    assert_eq!(plan.args.len(), 4);
    assert!(plan.initialize.json_schema.value().is_some() && plan.files.is_empty());

    let plan = launch().managed_settings(long.clone()).plan(None).unwrap();
    assert_eq!(plan.args[3..], ["--managed-settings-in-initialize", "--await-initialize"]);
    assert!(plan.initialize_first);
    assert_eq!(plan.initialize.managed_settings.value().unwrap().as_json(), long.as_json());
    let old = launch().managed_settings(long).plan(Some(&CliVersion::new(2, 1, 197)));
    assert!(matches!(old, Err(LaunchError::TooLong { .. })));

    let prompt = launch().system_prompt("x".repeat(1 << 20)).plan(None).unwrap();
    assert!(prompt.args.len() == 3 && prompt.initialize.to_json().len() > 1 << 20);
}

#[test]
fn all_arguments_together_have_a_budget() {
    let budget = ArgvBudget::new(100, 250);
    // Three short ones are too many together: the longest goes.
    let plan = launch()
        .argv_budget(budget)
        .settings(object(&json!({"a": "x".repeat(70)})))
        .mcp_server("s", McpServerConfig::http("u"))
        .model("m".repeat(60))
        .plan(None)
        .unwrap();
    assert_eq!(plan.files.len(), 1);
    assert!(plan.args.iter().any(|arg| arg == "--settings={file 0}"));

    let dirs = (0..20).map(|number| format!("directory-{number}"));
    let error = launch().argv_budget(budget).add_dirs(dirs).plan(None).unwrap_err();
    assert!(matches!(error, LaunchError::ArgvTooLong { limit: 250, .. }), "{error}");
    let error = launch().model("m".repeat(40 * 1024)).plan(None).unwrap_err();
    let LaunchError::TooLong { flag, .. } = error else { panic!("{error}") };
    assert_eq!(flag, "--model");
}

#[test]
fn long_lists_of_tools_become_several() {
    let tools: Vec<String> =
        (0..3_000).map(|number| format!("mcp__server__tool_{number}")).collect();
    let args = args_for(&launch().argv_budget(ArgvBudget::UNIX).allowed_tools(tools.clone()), None);
    assert!(args.len() > 1);
    let found: Vec<&str> = args
        .iter()
        .inspect(|arg| assert!(arg.len() <= ArgvBudget::UNIX.value))
        .flat_map(|arg| arg.strip_prefix("--allowedTools=").unwrap().split(','))
        .collect();
    assert_eq!(found, tools);
}
