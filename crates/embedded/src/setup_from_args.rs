//! What the flags say.

use std::path::{Path, PathBuf};

use duologue_agent::command_line::Flags;
use duologue_agent::stdio::{StartError, complain};
use duologue_agent::{Dialect, Options};
use duologue_protocol::permission::PermissionMode;
use serde_json::{Map, Value};

use crate::models::full_name;
use crate::path;
use crate::reasoning::{EFFORTS, Reasoning, Thinking};
use crate::settings::{SettingSource, Settings, SettingsPlaces};
use crate::setup::{Setup, Start};

/// What the flags and the environment ask of an agent in this process.
pub(crate) fn setup_of_process(
    flags: &Flags,
    var: impl Fn(&str) -> Option<String>,
) -> Result<Setup, StartError> {
    let cwd = std::env::current_dir().map_err(|error| format!("Error: {error}"))?;
    let mut setup = setup(flags, &cwd, &var)?;
    setup.options = setup.options.with_environment();
    setup.config = config(&cwd, &var);
    setup.persists = !flags.has("--no-session-persistence");
    Ok(setup)
}

/// What the flags ask of an agent that works in this directory.
pub(super) fn setup(
    flags: &Flags,
    cwd: &Path,
    var: &impl Fn(&str) -> Option<String>,
) -> Result<Setup, StartError> {
    let mut setup = Setup::new(cwd);
    setup.options = options(flags, var)?;
    setup.model = flags.value("--model").map(str::to_owned);
    setup.fallback_models =
        flags.values("--fallback-model").flat_map(|list| list.split(',')).map(full_name).collect();
    setup.reasoning = reasoning(flags)?;
    setup.mode = mode(flags)?;
    if setup.mode == Some(PermissionMode::BypassPermissions) {
        setup.options.may_bypass = true;
        if is_root() && var("IS_SANDBOX").as_deref() != Some("1") {
            return Err("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons".into());
        }
    }
    let lists = |name| flags.values(name).map(str::to_owned).collect::<Vec<_>>();
    setup.allowed = lists("--allowedTools");
    setup.disallowed = lists("--disallowedTools");
    setup.permission_tool = flags
        .value("--permission-prompt-tool")
        .filter(|tool| *tool != "stdio" && flags.value("--permission-prompts") != Some("none"))
        .map(str::to_owned);
    setup.tools = tools(flags);
    setup.directories = flags.values("--add-dir").map(PathBuf::from).collect();
    // As the CLI takes it, none at all is no limit.
    setup.max_turns = number(flags, "--max-turns", "must be a number")?.filter(|turns| *turns > 0);
    const POSITIVE: &str = "--max-budget-usd must be a positive number greater than 0";
    setup.max_budget_usd = number(flags, "--max-budget-usd", POSITIVE)?;
    if let Some(budget) = setup.max_budget_usd.filter(|budget| *budget <= 0.0) {
        return Err(invalid("--max-budget-usd", &budget.to_string(), POSITIVE).into());
    }
    setup.json_schema =
        flags.value("--json-schema").map(|text| json("--json-schema", text)).transpose()?;
    setup.system_prompt = text(flags, "--system-prompt", "--system-prompt-file")?;
    setup.append_system_prompt =
        text(flags, "--append-system-prompt", "--append-system-prompt-file")?;
    if let Some(agents) = flags.value("--agents") {
        setup.agents = object(json("--agents", agents)?);
    }
    for config in flags.values("--mcp-config") {
        let mut config = match config.trim_start().starts_with('{') {
            true => json("--mcp-config", config)?,
            false => json("--mcp-config", &read(Path::new(config))?)?,
        };
        setup.servers.extend(object(config["mcpServers"].take()));
    }
    for (name, server) in &setup.servers {
        if server["type"] == "sdk" {
            setup.options.host_servers.push(name.as_str().into());
        }
    }
    setup.settings = flags.value("--settings").map(str::to_owned);
    if let Some(given) = &setup.settings {
        // Rules that somebody believes to be in force must not be passed over.
        let places = SettingsPlaces::new(&setup.cwd, &setup.config);
        if let Some(fault) = Settings::load(&places, &[], Some(given)).faults.first() {
            return Err(match given.trim_start().starts_with('{') || cwd.join(given).exists() {
                true => format!("Error: Invalid settings: {fault}"),
                false => {
                    format!("Error: Settings file not found: {}", cwd.join(given).display())
                }
            }
            .into());
        }
    }
    setup.sources = match flags.value("--setting-sources") {
        None => SettingSource::ALL.to_vec(),
        Some(list) => SettingSource::parse_list(list).map_err(|name| {
            format!("Error processing --setting-sources: Invalid setting source: {name}. Valid options are: user, project, local")
        })?,
    };
    let fork = flags.has("--fork-session");
    setup.start = match flags.value("--resume") {
        Some(id) => Start::Old { id: id.to_owned(), fork },
        None if flags.has("--continue") || flags.has("--resume") => Start::Newest { fork },
        None => Start::New,
    };
    if setup.options.info.session_id.is_some() && setup.start != Start::New && !fork {
        return Err("Error: --session-id can only be used with --continue or --resume if --fork-session is also specified.".into());
    }
    setup.agent = flags.value("--agent").map(str::to_owned);
    setup.mirrors = flags.has("--session-mirror");
    setup.resume_at = flags.value("--resume-session-at").map(str::to_owned);
    setup.drops_turn = flags.value("--resume-drops-turn").map(str::to_owned);
    if setup.drops_turn.is_some() && setup.resume_at.is_none() {
        return Err("Error: --resume-drops-turn requires --resume-session-at".into());
    }
    setup.hook_events = flags.has("--include-hook-events");
    setup.auth_status = flags.has("--enable-auth-status");
    Ok(setup)
}

fn options(flags: &Flags, var: &impl Fn(&str) -> Option<String>) -> Result<Options, StartError> {
    let prompts = flags.value("--permission-prompt-tool") == Some("stdio")
        && flags.value("--permission-prompts") != Some("none");
    let mut options = Options::new()
        .prompts(prompts)
        .partial(flags.has("--include-partial-messages"))
        .replay(flags.has("--replay-user-messages"))
        .await_initialize(flags.has("--await-initialize"))
        .forward_subagent_text(flags.has("--forward-subagent-text"))
        .may_bypass(
            flags.has("--dangerously-skip-permissions")
                || flags.has("--allow-dangerously-skip-permissions"),
        )
        .lenient(flags.has("--lenient"))
        .dialect(match flags.value("--dialect") {
            None | Some("today") => Dialect::Today,
            Some("seeds") => Dialect::Seeds,
            Some("seeds-system-result") => Dialect::SeedsSystemResult,
            Some(other) => return Err(format!("error: unknown dialect '{other}'").into()),
        });
    // One that nobody knows must not be passed over: a test would pass that tests nothing.
    let variable = var("DUOLOGUE_FAULT").filter(|fault| !fault.is_empty());
    if let Some(fault) = flags.value("--fault").map(str::to_owned).or(variable) {
        options = options.fault(fault.parse().map_err(|error| format!("error: {error}"))?);
    }
    if let Some(id) = flags.value("--session-id") {
        options = options.session_id(id);
    }
    Ok(options)
}

/// Where conversations and the user's settings lie: where the CLI has them only if it is told so.
fn config(cwd: &Path, var: &impl Fn(&str) -> Option<String>) -> PathBuf {
    let set = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = || Some(path::home()?.join(".local/share"));
    set("CLAUDE_CONFIG_DIR")
        .or_else(|| Some(set("XDG_DATA_HOME").or_else(data)?.join("duologue")))
        .unwrap_or_else(|| cwd.join(".duologue"))
}

fn mode(flags: &Flags) -> Result<Option<PermissionMode>, StartError> {
    if flags.has("--dangerously-skip-permissions") {
        return Ok(Some(PermissionMode::BypassPermissions));
    }
    let Some(name) = flags.value("--permission-mode") else { return Ok(None) };
    match PermissionMode::from(name) {
        PermissionMode::Manual => Ok(Some(PermissionMode::Default)),
        // Nobody here could judge.
        PermissionMode::Auto => Ok(Some(PermissionMode::Default)),
        mode if mode.is_known() => Ok(Some(mode)),
        _ => Err(format!("error: option '--permission-mode <mode>' argument '{name}' is invalid. Allowed choices are acceptEdits, auto, bypassPermissions, manual, dontAsk, plan.").into()),
    }
}

fn tools(flags: &Flags) -> Option<Vec<String>> {
    if !flags.has("--tools") {
        return None;
    }
    let names = flags.values("--tools").flat_map(|list| list.split([',', ' ']));
    let names: Vec<String> =
        names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (names != ["default"]).then_some(names)
}

fn number<T: std::str::FromStr>(
    flags: &Flags,
    name: &str,
    what: &str,
) -> Result<Option<T>, StartError> {
    let Some(text) = flags.value(name) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| invalid(name, text, what).into())
}

fn invalid(name: &str, text: &str, what: &str) -> String {
    format!("error: option '{name} <value>' argument '{text}' is invalid. {what}")
}

/// How hard the model is to think.
fn reasoning(flags: &Flags) -> Result<Reasoning, StartError> {
    let mut reasoning = Reasoning::default();
    if let Some(effort) = flags.value("--effort") {
        if EFFORTS.contains(&effort) {
            reasoning.effort = Some(effort.to_owned());
        } else {
            // The CLI warns, too, and goes on.
            let known = EFFORTS.join(", ");
            complain(&format!(
                "Warning: Unknown --effort value '{effort}' — ignoring it and using the default effort. Valid values: {known}."
            ));
        }
    }
    reasoning.limit(number(flags, "--max-thinking-tokens", "must be a number")?);
    match flags.value("--thinking") {
        None => {}
        // A limit says more.
        Some("enabled" | "adaptive") if reasoning.thinking.is_some() => {}
        Some("enabled" | "adaptive") => reasoning.thinking = Some(Thinking::Adaptive),
        Some("disabled") => reasoning.thinking = Some(Thinking::Disabled),
        Some(other) => {
            let choices = "Allowed choices are enabled, adaptive, disabled.";
            return Err(invalid("--thinking", other, choices).into());
        }
    }
    reasoning.display = flags.value("--thinking-display").map(str::to_owned);
    const WHOLE: &str = "--task-budget must be a positive integer";
    reasoning.task_budget = number(flags, "--task-budget", WHOLE)?;
    if reasoning.task_budget == Some(0) {
        return Err(invalid("--task-budget", "0", WHOLE).into());
    }
    Ok(reasoning)
}

fn text(flags: &Flags, inline: &str, file: &str) -> Result<Option<String>, StartError> {
    match (flags.value(inline), flags.value(file)) {
        (Some(text), _) => Ok(Some(text.to_owned())),
        (None, Some(file)) => read(Path::new(file)).map(Some),
        (None, None) => Ok(None),
    }
}

fn read(path: &Path) -> Result<String, StartError> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("Error: {}: {error}", path.display()).into())
}

fn json(flag: &str, text: &str) -> Result<Value, StartError> {
    serde_json::from_str(text)
        .map_err(|error| format!("Error: {flag} is not valid JSON: {error}").into())
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
