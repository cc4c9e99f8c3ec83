//! Which option becomes which flag.

use std::ffi::{OsStr, OsString};

use crate::control::McpServerConfig;
use crate::json::RawObject;
use crate::permission::PermissionMode;
use crate::wire::{Map, Wire};

use super::argv::{Argv, Detour};
use super::choice::{
    Delivery, Effort, PermissionPrompts, Settings, Skills, SystemPrompt, Thinking, ThinkingDisplay,
    Tools,
};
use super::conversation::{Conversation, Cut};
use super::error::LaunchError;
use super::flags::{self, Flag, V1, V2_1_52, newer_than};
use super::options::Launch;
use super::version::CliVersion;

type Done = Result<(), LaunchError>;

/// Older CLIs accept the system prompt as a flag only, and the host's MCP servers most reliably.
pub(super) fn by_flags(version: Option<&CliVersion>) -> bool {
    version.is_some_and(|version| *version <= V2_1_52)
}

/// All flags.
pub(super) fn all(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    argv.value(flags::OUTPUT_FORMAT, "the wire", "stream-json")?;
    argv.switch(flags::VERBOSE, "the wire")?;
    argv.value(flags::INPUT_FORMAT, "the wire", "stream-json")?;
    model(launch, argv)?;
    prompt(launch, argv)?;
    tools(launch, argv)?;
    permissions(launch, argv)?;
    servers(launch, argv)?;
    settings(launch, argv)?;
    plugins(launch, argv)?;
    conversation(launch, argv)?;
    switches(launch, argv)?;
    extras(launch, argv)
}

fn model(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    if let Some(model) = &launch.model {
        argv.value(flags::MODEL, "model", model)?;
    }
    if !launch.fallback_models.is_empty() {
        argv.value(flags::FALLBACK_MODEL, "fallback_models", launch.fallback_models.join(","))?;
    }
    if let Some(agent) = &launch.agent {
        argv.value(flags::AGENT, "agent", agent)?;
    }
    if !launch.agents.is_empty() && argv.version().is_some_and(|version| *version <= V1) {
        argv.value(flags::AGENTS, "define_agent", launch.agents.to_json())?;
    }
    if let Some(thinking) = &launch.thinking {
        self::thinking(thinking, "thinking", argv)?;
    }
    match launch.max_thinking_tokens {
        Some(0) => self::thinking(&Thinking::Disabled, "max_thinking_tokens", argv)?,
        Some(tokens) => {
            self::thinking(&Thinking::budget(tokens), "max_thinking_tokens", argv)?;
        }
        None => {}
    }
    if let Some(effort) = &launch.effort {
        if *effort == Effort::Xhigh {
            newer_than(V2_1_52, argv.version(), "effort(Xhigh)")?;
        }
        argv.value(flags::EFFORT, "effort", effort.as_str())?;
    }
    if let Some(turns) = launch.max_turns {
        argv.value(flags::MAX_TURNS, "max_turns", turns.to_string())?;
    }
    if let Some(dollars) = launch.max_budget_usd {
        argv.value(flags::MAX_BUDGET_USD, "max_budget_usd", dollars.to_string())?;
    }
    if let Some(tokens) = launch.task_budget {
        argv.value(flags::TASK_BUDGET, "task_budget", tokens.to_string())?;
    }
    // The CLI reads "a,b" as one beta, so each has a flag of its own.
    for beta in &launch.betas {
        argv.value(flags::BETAS, "betas", beta)?;
    }
    if let Some(schema) = &launch.json_schema {
        let (option, detour) = ("json_schema", Detour::AlreadyInInitialize);
        argv.movable(flags::JSON_SCHEMA, option, schema.as_json(), detour)?;
    }
    Ok(())
}

fn thinking(thinking: &Thinking, option: &'static str, argv: &mut Argv<'_>) -> Done {
    let show = |argv: &mut Argv<'_>, display: &Option<ThinkingDisplay>| match display {
        Some(display) => argv.value(flags::THINKING_DISPLAY, option, display.as_str()),
        None => Ok(()),
    };
    match thinking {
        Thinking::Adaptive { display } => {
            argv.value(flags::THINKING, option, "adaptive")?;
            show(argv, display)
        }
        Thinking::Budget { tokens, display } => {
            argv.value(flags::MAX_THINKING_TOKENS, option, tokens.to_string())?;
            show(argv, display)
        }
        Thinking::Disabled if flags::THINKING.supported_by(argv.version()) => {
            argv.value(flags::THINKING, option, "disabled")
        }
        Thinking::Disabled => argv.value(flags::MAX_THINKING_TOKENS, option, "0"),
    }
}

/// Only what is not part of `initialize`: files, and everything for older CLIs.
fn prompt(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    let option = "system_prompt";
    let old = by_flags(argv.version());
    match &launch.system_prompt {
        None | Some(SystemPrompt::Default) => Ok(()),
        Some(SystemPrompt::File(path)) => argv.value(flags::SYSTEM_PROMPT_FILE, option, path),
        Some(SystemPrompt::AppendFile(path)) => {
            argv.value(flags::APPEND_SYSTEM_PROMPT_FILE, option, path)
        }
        Some(SystemPrompt::Append(text)) if old => {
            let detour = Detour::File(flags::APPEND_SYSTEM_PROMPT_FILE, ".txt");
            argv.movable(flags::APPEND_SYSTEM_PROMPT, option, text, detour)
        }
        Some(SystemPrompt::Custom(texts)) if old => {
            let texts: Vec<&str> = texts
                .iter()
                .map(String::as_str)
                .filter(|text| *text != super::SYSTEM_PROMPT_DYNAMIC_BOUNDARY)
                .collect();
            let detour = Detour::File(flags::SYSTEM_PROMPT_FILE, ".txt");
            argv.movable(flags::SYSTEM_PROMPT, option, &texts.join("\n\n"), detour)
        }
        Some(SystemPrompt::Empty) if old => argv.value(flags::SYSTEM_PROMPT, option, ""),
        Some(SystemPrompt::Append(_) | SystemPrompt::Custom(_) | SystemPrompt::Empty) => Ok(()),
    }
}

fn tools(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    match &launch.tools {
        None => {}
        Some(Tools::Default) => argv.value(flags::TOOLS, "tools", "default")?,
        Some(Tools::List(names)) => argv.list(flags::TOOLS, "tools", names)?,
        Some(Tools::None) => argv.value(flags::TOOLS, "tools", "")?,
    }
    let mut allowed = launch.allowed_tools.clone();
    let skills = match &launch.skills {
        None => Vec::new(),
        Some(Skills::All) => vec!["Skill".to_owned()],
        Some(Skills::List(names)) => names.iter().map(|name| format!("Skill({name})")).collect(),
    };
    for skill in skills {
        if !allowed.contains(&skill) {
            allowed.push(skill);
        }
    }
    if !allowed.is_empty() {
        argv.list(flags::ALLOWED_TOOLS, "allowed_tools", &allowed)?;
    }
    if !launch.disallowed_tools.is_empty() {
        argv.list(flags::DISALLOWED_TOOLS, "disallowed_tools", &launch.disallowed_tools)?;
    }
    Ok(())
}

fn permissions(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    if let Some(mode) = &launch.permission_mode {
        match mode {
            PermissionMode::Auto => newer_than(V2_1_52, argv.version(), "permission_mode(Auto)")?,
            PermissionMode::DontAsk => newer_than(V1, argv.version(), "permission_mode(DontAsk)")?,
            _ => {}
        }
        // Every version supports "default", only new ones its other name.
        let mode = if *mode == PermissionMode::Manual { &PermissionMode::Default } else { mode };
        argv.value(flags::PERMISSION_MODE, "permission_mode", mode.as_str())?;
    }
    // Old versions may start in that mode without this flag, but not change into it later.
    let begins = launch.permission_mode == Some(PermissionMode::BypassPermissions);
    let needless = begins && !flags::ALLOW_BYPASS.supported_by(argv.version());
    if launch.allow_dangerously_skip_permissions && !needless {
        argv.switch(flags::ALLOW_BYPASS, "allow_dangerously_skip_permissions")?;
    }
    match launch.permission_prompts {
        None => {}
        Some(PermissionPrompts::Host) => {
            argv.value(flags::PERMISSION_PROMPT_TOOL, "permission_prompts", "stdio")?;
        }
        Some(PermissionPrompts::Deny) if flags::PERMISSION_PROMPTS.supported_by(argv.version()) => {
            argv.value(flags::PERMISSION_PROMPTS, "permission_prompts", "none")?;
        }
        // Older CLIs deny unless there is a flag.
        Some(PermissionPrompts::Deny) => {}
    }
    if let Some(tool) = &launch.permission_prompt_tool {
        argv.value(flags::PERMISSION_PROMPT_TOOL, "permission_prompt_tool", tool)?;
    }
    Ok(())
}

fn servers(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    let mut servers: Map<McpServerConfig> = Map::new();
    for (name, server) in launch.mcp_servers.iter() {
        servers.insert(name.clone(), server.clone());
    }
    if by_flags(argv.version()) {
        for (name, _) in launch.sdk_mcp_servers.iter() {
            servers.insert(name.clone(), McpServerConfig::sdk(name.clone()));
        }
    }
    if !servers.is_empty() {
        let json = format!("{{\"mcpServers\":{}}}", servers.to_json());
        let detour = Detour::File(flags::MCP_CONFIG, ".json");
        argv.movable(flags::MCP_CONFIG, "mcp_server", &json, detour)?;
    }
    for path in &launch.mcp_config_files {
        argv.value(flags::MCP_CONFIG, "mcp_config_files", not_json(path.as_os_str()))?;
    }
    if launch.strict_mcp_config {
        argv.switch(flags::STRICT_MCP_CONFIG, "strict_mcp_config")?;
    }
    Ok(())
}

fn settings(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    let object = match (&launch.settings, &launch.sandbox) {
        (None, None) => None,
        (Some(Settings::File(path)), _) => {
            argv.value(flags::SETTINGS, "settings", not_json(path.as_os_str()))?;
            None
        }
        (Some(Settings::Object(settings)), None) => Some(settings.as_json().to_owned()),
        (Some(Settings::Object(settings)), Some(sandbox)) => Some(merge(settings, sandbox)?),
        (None, Some(sandbox)) => Some(merge(&RawObject::default(), sandbox)?),
    };
    if let Some(json) = object {
        let detour = Detour::File(flags::SETTINGS, ".json");
        argv.movable(flags::SETTINGS, "settings", &json, detour)?;
    }
    if let Some(managed) = &launch.managed_settings {
        let option = "managed_settings";
        match launch.managed_settings_delivery {
            Delivery::Flags => {
                let detour = Detour::ManagedSettings;
                argv.movable(flags::MANAGED_SETTINGS, option, managed.as_json(), detour)?;
            }
            Delivery::Initialize => {
                await_initialize(argv, option)?;
                argv.switch(flags::MANAGED_SETTINGS_IN_INITIALIZE, option)?;
            }
        }
    }
    if let Some(sources) = &launch.setting_sources {
        let sources: Vec<&str> = sources.iter().map(AsRef::as_ref).collect();
        argv.value(flags::SETTING_SOURCES, "setting_sources", sources.join(","))?;
    }
    if let Some(root) = &launch.project_config_root {
        argv.value(flags::PROJECT_CONFIG_ROOT, "project_config_root", root)?;
    }
    for directory in &launch.add_dirs {
        argv.value(flags::ADD_DIR, "add_dirs", directory)?;
    }
    Ok(())
}

/// The settings, merged with the sandbox.
fn merge(settings: &RawObject, sandbox: &RawObject) -> Result<String, LaunchError> {
    let read = |json: &RawObject, option| {
        json.to_value().map_err(|_| {
            LaunchError::invalid(option, json.as_json(), "it holds what no program can read")
        })
    };
    let mut merged = read(settings, "settings")?;
    let sandbox = read(sandbox, "sandbox")?;
    if let Some(settings) = merged.as_object_mut() {
        lay_over(settings.entry("sandbox").or_insert_with(|| serde_json::json!({})), sandbox);
    }
    Ok(merged.to_string())
}

fn lay_over(under: &mut serde_json::Value, over: serde_json::Value) {
    match (under, over) {
        (serde_json::Value::Object(under), serde_json::Value::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key).or_insert(serde_json::Value::Null), value);
            }
        }
        (under, over) => *under = over,
    }
}

fn plugins(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    let option = "plugins";
    if launch.plugins.is_empty() {
        return Ok(());
    }
    if launch.plugin_delivery == Delivery::Initialize {
        return await_initialize(argv, option);
    }
    for plugin in &launch.plugins {
        let flag =
            if plugin.skip_mcp_discovery { flags::PLUGIN_DIR_NO_MCP } else { flags::PLUGIN_DIR };
        argv.value(flag, option, &plugin.path)?;
    }
    Ok(())
}

fn conversation(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    let option = "conversation";
    let resume = |argv: &mut Argv<'_>, id: &str, cut: &Option<Cut>| {
        argv.value(flags::RESUME, option, id)?;
        if let Some(cut) = cut {
            argv.value(flags::RESUME_SESSION_AT, option, cut.after.as_str())?;
            if let Some(prompt) = &cut.drops_turn {
                argv.value(flags::RESUME_DROPS_TURN, option, prompt.as_str())?;
            }
        }
        Ok(())
    };
    let copy = match &launch.conversation {
        Conversation::New => return Ok(()),
        Conversation::NewWithId(id) => return argv.value(flags::SESSION_ID, option, id.as_str()),
        Conversation::Resume { id, cut } => return resume(argv, id.as_str(), cut),
        Conversation::ResumeOrNew(id) => return resume(argv, id.as_str(), &None),
        Conversation::Continue => return argv.switch(flags::CONTINUE, option),
        Conversation::Fork { of, cut, id } => {
            resume(argv, of.as_str(), cut)?;
            id
        }
        Conversation::ForkContinue { id } => {
            argv.switch(flags::CONTINUE, option)?;
            id
        }
    };
    argv.switch(flags::FORK_SESSION, option)?;
    let Some(id) = copy else { return Ok(()) };
    newer_than(V1, argv.version(), "a fork with an id of your choice")?;
    argv.value(flags::SESSION_ID, option, id.as_str())
}

fn switches(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    let switches: [(bool, Flag, &str); 6] = [
        (launch.no_session_persistence, flags::NO_SESSION_PERSISTENCE, "no_session_persistence"),
        (launch.session_mirror, flags::SESSION_MIRROR, "session_mirror"),
        (launch.partial_messages, flags::PARTIAL_MESSAGES, "partial_messages"),
        (launch.hook_events, flags::HOOK_EVENTS, "hook_events"),
        (launch.replay_user_messages, flags::REPLAY_USER_MESSAGES, "replay_user_messages"),
        // `--debug-file` implies it.
        (launch.debug && launch.debug_file.is_none(), flags::DEBUG, "debug"),
    ];
    for (on, flag, option) in switches {
        if on {
            argv.switch(flag, option)?;
        }
    }
    if let Some(path) = &launch.debug_file {
        argv.value(flags::DEBUG_FILE, "debug_file", path)?;
    }
    if launch.await_initialize {
        await_initialize(argv, "await_initialize")?;
    }
    Ok(())
}

fn extras(launch: &Launch, argv: &mut Argv<'_>) -> Done {
    let option = "extra_args";
    for (name, value) in &launch.extra_args {
        let name = name.strip_prefix("--").unwrap_or(name);
        let shaped = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !shaped {
            let why = "a flag is made of letters, digits and dashes; give its value by itself";
            return Err(LaunchError::invalid(option, name, why));
        }
        let flag = format!("--{name}");
        if flags::RESERVED.iter().any(|reserved| reserved.name == flag) {
            let why = "an option of its own decides that; see Launch";
            return Err(LaunchError::invalid(option, &flag, why));
        }
        if argv.has(&flag) {
            return Err(LaunchError::invalid(option, &flag, "another option sets it already"));
        }
        argv.raw(&flag, option, value.as_deref())?;
    }
    Ok(())
}

fn await_initialize(argv: &mut Argv<'_>, option: &'static str) -> Done {
    if argv.has(flags::AWAIT_INITIALIZE.name) {
        return Ok(());
    }
    argv.switch(flags::AWAIT_INITIALIZE, option)
}

/// A path that the CLI does not read as JSON.
fn not_json(path: &OsStr) -> OsString {
    let mut marked = OsString::new();
    if matches!(path.as_encoded_bytes().first(), Some(b'{' | b'[' | b' ')) {
        marked.push("./");
    }
    marked.push(path);
    marked
}
