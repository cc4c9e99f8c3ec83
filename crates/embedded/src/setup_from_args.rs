//! From a command line to a [`Setup`].

use std::path::{Path, PathBuf};

use duologue_agent::command_line::CommandLine;
use duologue_agent::stdio::StartError;
use duologue_protocol::permission::PermissionMode;
use serde_json::{Map, Value};

use crate::models::full_name;
use crate::path;
use crate::reasoning::{Reasoning, Thinking};
use crate::settings::SettingSource;
use crate::setup::{Debug, Setup, Start};

/// What the command line and the environment ask of an agent in this process.
pub(crate) fn setup_of_process(
    line: &CommandLine,
    var: impl Fn(&str) -> Option<String>,
) -> Result<Setup, StartError> {
    let cwd = std::env::current_dir().map_err(|error| format!("Error: {error}"))?;
    let mut setup = setup(line, &cwd, &var)?;
    setup.options = setup.options.with_environment()?;
    setup.config = config(&cwd, &var);
    setup.persists = !line.no_session_persistence;
    let checkpoints = var("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING");
    setup.checkpoints = checkpoints.is_some_and(|value| matches!(value.as_str(), "1" | "true"));
    setup.debug = match (&line.debug_file, line.debug_to_stderr) {
        (Some(file), _) => Debug::File(cwd.join(file)),
        (None, true) => Debug::Stderr,
        (None, false) if line.debug => {
            let name = format!("{}.txt", uuid::Uuid::new_v4());
            Debug::File(setup.config.join("debug").join(name))
        }
        (None, false) => Debug::Off,
    };
    if setup.reasoning.thinking.is_none() {
        let tokens = var("MAX_THINKING_TOKENS").and_then(|tokens| tokens.parse().ok());
        setup.reasoning.set_limit(tokens);
    }
    setup.reasoning.set_defaults();
    Ok(setup)
}

/// What the command line asks of an agent that works in this directory.
pub(crate) fn setup(
    line: &CommandLine,
    cwd: &Path,
    var: &impl Fn(&str) -> Option<String>,
) -> Result<Setup, StartError> {
    let mut setup = Setup::new(cwd);
    setup.options = line.options();
    setup.model = line.model.clone();
    setup.fallback_models = line.fallback_models.iter().map(|name| full_name(name)).collect();
    setup.reasoning = reasoning(line);
    setup.mode = mode(line);
    if setup.mode == Some(PermissionMode::BypassPermissions) {
        setup.options.may_bypass = true;
        if rustix::process::geteuid().is_root() && var("IS_SANDBOX").as_deref() != Some("1") {
            return Err("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons".into());
        }
    }
    setup.allowed = line.allowed_tools.clone();
    setup.disallowed = line.disallowed_tools.clone();
    setup.permission_tool = line
        .permission_prompt_tool
        .clone()
        .filter(|tool| tool != "stdio" && line.permission_prompts.as_deref() != Some("none"));
    setup.tools = tools(line);
    setup.directories = line.directories.iter().map(PathBuf::from).collect();
    setup.max_turns = line.max_turns;
    setup.max_budget_usd = line.max_budget_usd;
    setup.json_schema = line.json_schema.clone();
    setup.system_prompt = text(&line.system_prompt, &line.system_prompt_file)?;
    setup.append_system_prompt = text(&line.append_system_prompt, &line.append_system_prompt_file)?;
    setup.agents = line.agents.clone();
    setup.agent = line.agent.clone();
    setup.servers = servers(line)?;
    let hosted = setup.servers.iter().filter(|(_, server)| server["type"] == "sdk");
    setup.options.host_servers = hosted.map(|(name, _)| name.as_str().into()).collect();
    setup.settings = line.settings.clone();
    setup.sources = match line.setting_sources.as_deref() {
        None => SettingSource::ALL.to_vec(),
        Some(list) => SettingSource::parse_list(list).map_err(|name| {
            format!("Error processing --setting-sources: Invalid setting source: {name}. Valid options are: user, project, local")
        })?,
    };
    let fork = line.fork_session;
    setup.start = match &line.resume {
        Some(Some(id)) => Start::Old { id: id.clone(), fork },
        Some(None) => Start::Newest { fork },
        None if line.resume_newest => Start::Newest { fork },
        None => Start::New,
    };
    if line.session_id.is_some() && setup.start != Start::New && !fork {
        return Err("Error: --session-id can only be used with --continue or --resume if --fork-session is also specified.".into());
    }
    setup.mirrors = line.session_mirror;
    setup.resume_at = line.resume_session_at.clone();
    setup.drops_turn = line.resume_drops_turn.clone();
    if setup.drops_turn.is_some() && setup.resume_at.is_none() {
        return Err("Error: --resume-drops-turn requires --resume-session-at".into());
    }
    setup.hook_events = line.include_hook_events;
    setup.auth_status = line.enable_auth_status;
    let plugins = line.plugins.iter();
    setup.plugins = plugins.map(|(folder, servers)| (cwd.join(folder), *servers)).collect();
    setup.no_slash_commands = line.disable_slash_commands;
    setup.managed_settings = line.managed_settings.clone();
    setup.project_config_root = line.project_config_root.as_ref().map(|folder| cwd.join(folder));
    setup.strict_mcp_config = line.strict_mcp_config;
    setup.name = line.name.clone();
    setup.plan_mode_instructions = line.plan_mode_instructions.clone();
    setup.exclude_dynamic = line.exclude_dynamic;
    setup.bare = line.bare;
    setup.prompt_suggestions = line.prompt_suggestions;
    if setup.bare && setup.tools.is_none() {
        setup.tools = Some(["Bash", "Edit", "Read"].map(str::to_owned).to_vec());
    }
    Ok(setup)
}

/// Where conversations and the user's settings are: the places of the CLI.
pub(crate) fn config(cwd: &Path, var: &impl Fn(&str) -> Option<String>) -> PathBuf {
    let set = var("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty());
    set.map(|folder| cwd.join(folder))
        .or_else(|| Some(path::home()?.join(".claude")))
        .unwrap_or_else(|| cwd.join(".claude"))
}

fn mode(line: &CommandLine) -> Option<PermissionMode> {
    if line.skip_permissions {
        return Some(PermissionMode::BypassPermissions);
    }
    Some(match line.permission_mode.clone()? {
        // There is no classifier here.
        PermissionMode::Manual | PermissionMode::Auto => PermissionMode::Default,
        mode => mode,
    })
}

fn tools(line: &CommandLine) -> Option<Vec<String>> {
    let names = line.tools.as_ref()?.iter().flat_map(|list| list.split([',', ' ']));
    let names: Vec<String> =
        names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (names != ["default"]).then_some(names)
}

fn reasoning(line: &CommandLine) -> Reasoning {
    let mut reasoning = Reasoning {
        effort: line.effort.clone(),
        display: line.thinking_display.clone(),
        task_budget: line.task_budget,
        ..Reasoning::default()
    };
    reasoning.set_limit(line.max_thinking_tokens);
    match line.thinking.as_deref() {
        Some("disabled") => reasoning.thinking = Some(Thinking::Disabled),
        // A limit is more specific.
        Some(_) if reasoning.thinking.is_none() => reasoning.thinking = Some(Thinking::Adaptive),
        _ => {}
    }
    reasoning
}

fn servers(line: &CommandLine) -> Result<Map<String, Value>, StartError> {
    let mut servers = Map::new();
    for config in &line.mcp_configs {
        let text = match config.trim_start().starts_with('{') {
            true => config.clone(),
            false => read(Path::new(config))?,
        };
        let config: Value = serde_json::from_str(&text)
            .map_err(|error| format!("Error: --mcp-config is not valid JSON: {error}"))?;
        servers.extend(config["mcpServers"].as_object().cloned().unwrap_or_default());
    }
    Ok(servers)
}

fn text(inline: &Option<String>, file: &Option<String>) -> Result<Option<String>, StartError> {
    match (inline, file) {
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(file)) => read(Path::new(file)).map(Some),
        (None, None) => Ok(None),
    }
}

fn read(path: &Path) -> Result<String, StartError> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("Error: {}: {error}", path.display()).into())
}
