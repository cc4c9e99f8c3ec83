//! The table of flags: one entry for each. Parsing, `--help`, shell completions and the manual page come from it.

use duologue_protocol::permission::PermissionMode;
use serde_json::Value;

use super::{CommandLine, Format};
use crate::legacy::Dialect;

/// A flag.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Flag {
    /// Its name: `--model`.
    pub name: &'static str,
    /// Its other names: `-p`, `--allowed-tools`.
    pub aliases: &'static [&'static str],
    /// What follows it.
    pub value: FlagValue,
    /// What it does.
    pub effect: Effect,
    /// What it does, for people: one sentence without a full stop.
    pub doc: &'static str,
    pub(super) update: Update,
}

type Update = fn(&mut CommandLine, Option<&str>) -> Result<(), String>;

/// What follows a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlagValue {
    /// Nothing.
    None,
    /// A value of this name.
    One(&'static str),
    /// A value of this name, unless another flag follows.
    Optional(&'static str),
    /// All values of this name up to the next flag.
    Many(&'static str),
}

impl FlagValue {
    /// The name of the value, if there may be one.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::One(name) | Self::Optional(name) | Self::Many(name) => Some(name),
        }
    }
}

/// What a flag does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Every agent obeys it.
    Agent,
    /// Every agent obeys it. Claude Code does not have it.
    Own,
    /// The embedded agent obeys it. Others accept and ignore it.
    Embedded,
    /// The embedded agent obeys it. Others do not have it, and neither does Claude Code.
    EmbeddedOwn,
    /// Agents accept it, and it has no effect.
    Ignored,
    /// The `duologue` command handles it. Agents refuse it.
    Command,
}

/// A flag that is accepted and has no effect.
const fn ignored(name: &'static str, value: FlagValue, doc: &'static str) -> Flag {
    Flag { name, aliases: &[], value, effect: Effect::Ignored, doc, update: |_, _| Ok(()) }
}

const fn flag(
    effect: Effect,
    name: &'static str,
    aliases: &'static [&'static str],
    value: FlagValue,
    doc: &'static str,
    update: Update,
) -> Flag {
    Flag { name, aliases, value, effect, doc, update }
}

use Effect::{Agent, Command, Embedded, EmbeddedOwn, Own};
use FlagValue::{Many, None as Nothing, One, Optional};

/// Sets a switch.
macro_rules! on {
    ($field:ident) => {
        |line, _| {
            line.$field = true;
            Ok(())
        }
    };
}

/// Sets a text. The last one counts.
macro_rules! text {
    ($field:ident) => {
        |line, value| {
            line.$field = value.map(str::to_owned);
            Ok(())
        }
    };
}

/// Adds to a list.
macro_rules! list {
    ($field:ident) => {
        |line, value| {
            line.$field.extend(value.map(str::to_owned));
            Ok(())
        }
    };
}

/// Every flag that hosts of Claude Code are known to pass, and those of this project.
pub(super) const FLAGS: &[Flag] = &[
    flag(
        Agent,
        "--print",
        &["-p"],
        Nothing,
        "Answer one prompt and exit; there is no other mode",
        on!(print),
    ),
    flag(
        Agent,
        "--output-format",
        &[],
        One("FORMAT"),
        "text (the default), json, or stream-json (with --verbose)",
        |line, value| {
            line.output = format("--output-format", value)?;
            Ok(())
        },
    ),
    flag(
        Agent,
        "--input-format",
        &[],
        One("FORMAT"),
        "text (the default) or stream-json",
        |line, value| {
            line.input = format("--input-format", value)?;
            Ok(())
        },
    ),
    flag(
        Agent,
        "--verbose",
        &[],
        Nothing,
        "Print every message; required with stream-json",
        on!(verbose),
    ),
    flag(Agent, "--version", &["-v"], Nothing, "Print the version", on!(version)),
    flag(Agent, "--help", &["-h"], Nothing, "Print this help", on!(help)),
    flag(
        Agent,
        "--include-partial-messages",
        &[],
        Nothing,
        "Stream answers while they are written",
        on!(partial_messages),
    ),
    flag(
        Agent,
        "--replay-user-messages",
        &[],
        Nothing,
        "Repeat prompts on stdout",
        on!(replay_user_messages),
    ),
    flag(
        Agent,
        "--forward-subagent-text",
        &[],
        Nothing,
        "Send the text of sub-agents",
        on!(forward_subagent_text),
    ),
    flag(
        Agent,
        "--await-initialize",
        &[],
        Nothing,
        "Wait for the handshake before anything else",
        on!(await_initialize),
    ),
    flag(Agent, "--model", &[], One("MODEL"), "The model", text!(model)),
    flag(Agent, "--session-id", &[], One("UUID"), "The id of the conversation", text!(session_id)),
    flag(Agent, "--resume", &["-r"], Optional("ID"), "Resume a conversation", |line, value| {
        line.resume = Some(value.map(str::to_owned));
        Ok(())
    }),
    flag(
        Agent,
        "--continue",
        &["-c"],
        Nothing,
        "Resume the newest conversation of this directory",
        on!(resume_newest),
    ),
    flag(
        Agent,
        "--mcp-config",
        &[],
        Many("CONFIG"),
        "MCP servers, as JSON or as a file",
        list!(mcp_configs),
    ),
    flag(
        Agent,
        "--permission-mode",
        &[],
        One("MODE"),
        "acceptEdits, auto, bypassPermissions, manual, dontAsk or plan",
        |line, value| {
            line.permission_mode = Some(permission_mode(value.unwrap_or_default())?);
            Ok(())
        },
    ),
    flag(
        Agent,
        "--permission-prompt-tool",
        &[],
        One("TOOL"),
        "Who answers permission requests: stdio for the host, or an MCP tool",
        text!(permission_prompt_tool),
    ),
    flag(
        Agent,
        "--permission-prompts",
        &[],
        One("WHO"),
        "none: deny instead of asking",
        text!(permission_prompts),
    ),
    flag(
        Agent,
        "--dangerously-skip-permissions",
        &[],
        Nothing,
        "Ask for no permission",
        on!(skip_permissions),
    ),
    flag(
        Agent,
        "--allow-dangerously-skip-permissions",
        &[],
        Nothing,
        "Let the host turn permissions off",
        on!(allow_skip_permissions),
    ),
    flag(
        Embedded,
        "--allowedTools",
        &["--allowed-tools"],
        Many("RULES"),
        "What needs no permission",
        list!(allowed_tools),
    ),
    flag(
        Embedded,
        "--disallowedTools",
        &["--disallowed-tools"],
        Many("RULES"),
        "What is never allowed",
        list!(disallowed_tools),
    ),
    flag(
        Embedded,
        "--tools",
        &[],
        Many("NAMES"),
        "The built-in tools that there are; default for all",
        |line, value| {
            line.tools.get_or_insert_default().extend(value.map(str::to_owned));
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--add-dir",
        &[],
        Many("DIR"),
        "Further directories that tools may use",
        list!(directories),
    ),
    flag(
        Embedded,
        "--fallback-model",
        &[],
        One("MODELS"),
        "Models to use when the model is overloaded",
        |line, value| {
            let models = value.unwrap_or_default().split(',').map(str::to_owned);
            line.fallback_models.extend(models);
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--effort",
        &[],
        One("LEVEL"),
        "low, medium, high, xhigh or max",
        |line, value| {
            let effort = value.unwrap_or_default();
            if EFFORTS.contains(&effort) {
                line.effort = Some(effort.to_owned());
            } else {
                // The CLI warns, too, and goes on.
                let known = EFFORTS.join(", ");
                line.warnings.push(format!(
                "Warning: Unknown --effort value '{effort}' — ignoring it and using the default effort. Valid values: {known}."
            ));
            }
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--thinking",
        &[],
        One("MODE"),
        "enabled, adaptive or disabled",
        |line, value| {
            let mode = value.unwrap_or_default();
            if !["enabled", "adaptive", "disabled"].contains(&mode) {
                let choices = "Allowed choices are enabled, adaptive, disabled.";
                return Err(invalid("--thinking", mode, choices));
            }
            line.thinking = Some(mode.to_owned());
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--thinking-display",
        &[],
        One("MODE"),
        "How much of the thinking is shown",
        text!(thinking_display),
    ),
    flag(
        Embedded,
        "--max-thinking-tokens",
        &[],
        One("TOKENS"),
        "A limit for the thinking; 0 turns it off",
        |line, value| {
            line.max_thinking_tokens =
                Some(number("--max-thinking-tokens", value, "must be a number")?);
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--task-budget",
        &[],
        One("TOKENS"),
        "How many tokens a task may use",
        |line, value| {
            let what = "--task-budget must be a positive integer";
            let budget = number("--task-budget", value, what)?;
            if budget == 0 {
                return Err(invalid("--task-budget", "0", what));
            }
            line.task_budget = Some(budget);
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--max-turns",
        &[],
        One("COUNT"),
        "How often the model may be asked in a turn",
        |line, value| {
            // As in the CLI, 0 is no limit.
            line.max_turns =
                Some(number("--max-turns", value, "must be a number")?).filter(|turns| *turns > 0);
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--max-budget-usd",
        &[],
        One("USD"),
        "How much money may be spent",
        |line, value| {
            let what = "--max-budget-usd must be a positive number greater than 0";
            let budget: f64 = number("--max-budget-usd", value, what)?;
            if budget <= 0.0 {
                return Err(invalid("--max-budget-usd", &budget.to_string(), what));
            }
            line.max_budget_usd = Some(budget);
            Ok(())
        },
    ),
    flag(Embedded, "--betas", &[], Many("NAMES"), "Betas of the Messages API", list!(betas)),
    flag(Embedded, "--json-schema", &[], One("JSON"), "The schema of the answer", |line, value| {
        line.json_schema = Some(json("--json-schema", value.unwrap_or_default())?);
        Ok(())
    }),
    flag(Embedded, "--system-prompt", &[], One("TEXT"), "The system prompt", text!(system_prompt)),
    flag(
        Embedded,
        "--system-prompt-file",
        &[],
        One("FILE"),
        "The same, from a file",
        text!(system_prompt_file),
    ),
    flag(
        Embedded,
        "--append-system-prompt",
        &[],
        One("TEXT"),
        "Text after the system prompt",
        text!(append_system_prompt),
    ),
    flag(
        Embedded,
        "--append-system-prompt-file",
        &[],
        One("FILE"),
        "The same, from a file",
        text!(append_system_prompt_file),
    ),
    flag(Embedded, "--agents", &[], One("JSON"), "Kinds of sub-agent", |line, value| {
        if let Value::Object(agents) = json("--agents", value.unwrap_or_default())? {
            line.agents = agents;
        }
        Ok(())
    }),
    flag(
        Embedded,
        "--agent",
        &[],
        One("KIND"),
        "The kind of sub-agent that the main agent is",
        text!(agent),
    ),
    flag(
        Embedded,
        "--settings",
        &[],
        One("SETTINGS"),
        "Further settings, as JSON or as a file",
        text!(settings),
    ),
    flag(
        Embedded,
        "--setting-sources",
        &[],
        One("SOURCES"),
        "The settings files to read: user, project, local",
        text!(setting_sources),
    ),
    flag(
        Embedded,
        "--fork-session",
        &[],
        Nothing,
        "Resume a copy of the conversation",
        on!(fork_session),
    ),
    flag(
        Embedded,
        "--resume-session-at",
        &[],
        One("UUID"),
        "Resume at this message",
        text!(resume_session_at),
    ),
    flag(
        Embedded,
        "--resume-drops-turn",
        &[],
        One("UUID"),
        "The only prompt that may be lost by that",
        text!(resume_drops_turn),
    ),
    flag(
        Embedded,
        "--no-session-persistence",
        &[],
        Nothing,
        "Keep no transcript",
        on!(no_session_persistence),
    ),
    flag(
        Embedded,
        "--session-mirror",
        &[],
        Nothing,
        "Send the transcript to the host, too",
        on!(session_mirror),
    ),
    flag(
        Embedded,
        "--include-hook-events",
        &[],
        Nothing,
        "Report command hooks",
        on!(include_hook_events),
    ),
    flag(
        Embedded,
        "--enable-auth-status",
        &[],
        Nothing,
        "Report the login status in the handshake",
        on!(enable_auth_status),
    ),
    flag(
        EmbeddedOwn,
        "--scenario",
        &[],
        One("FILE"),
        "What the model says, from a file (or DUOLOGUE_SCENARIO)",
        text!(scenario),
    ),
    flag(
        Own,
        "--fault",
        &[],
        One("FAULT"),
        "Inject a fault: die@3, hang@3, garbage@3, split, delay=10, flood=1000, stderr=100000, answer-twice, never-answer, grandchild (or DUOLOGUE_FAULT, or `fault` in the scenario)",
        |line, value| {
            // An unknown fault must not be ignored: a test would pass that tests nothing.
            let fault = value.unwrap_or_default().parse();
            line.fault = Some(fault.map_err(|error| format!("error: {error}"))?);
            Ok(())
        },
    ),
    flag(Own, "--lenient", &[], Nothing, "Accept legacy input (or DUOLOGUE_LENIENT)", on!(lenient)),
    flag(
        Own,
        "--dialect",
        &[],
        One("DIALECT"),
        "legacy: write legacy output; legacy-system-result: end turns with a system line, too",
        |line, value| {
            line.dialect = value.unwrap_or_default().parse::<Dialect>()?;
            Ok(())
        },
    ),
    flag(
        Command,
        "--install",
        &[],
        One("DIR"),
        "Write an executable named claude there that runs this agent with the flags that follow",
        |_, _| Ok(()),
    ),
    flag(
        Embedded,
        "--strict-mcp-config",
        &[],
        Nothing,
        "Use only the MCP servers of --mcp-config",
        on!(strict_mcp_config),
    ),
    flag(
        Embedded,
        "--disable-slash-commands",
        &[],
        Nothing,
        "Have no slash commands and no skills",
        on!(disable_slash_commands),
    ),
    flag(
        Embedded,
        "--plugin-dir",
        &[],
        One("DIR"),
        "A plugin: commands, agents, skills, hooks, MCP servers",
        |line, value| {
            line.plugins.extend(value.map(|folder| (folder.to_owned(), true)));
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--plugin-dir-no-mcp",
        &[],
        One("DIR"),
        "The same, without its MCP servers",
        |line, value| {
            line.plugins.extend(value.map(|folder| (folder.to_owned(), false)));
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--managed-settings",
        &[],
        One("SETTINGS"),
        "Settings that only restrict: denied and asked rules, as JSON or as a file",
        text!(managed_settings),
    ),
    flag(
        Embedded,
        "--managed-settings-in-initialize",
        &[],
        Nothing,
        "Take managed settings from the handshake, which must come first",
        |line, _| {
            line.await_initialize = true;
            Ok(())
        },
    ),
    flag(
        Embedded,
        "--project-config-root",
        &[],
        One("DIR"),
        "The folder whose .claude has the project's settings, commands and agents",
        text!(project_config_root),
    ),
    flag(Embedded, "--name", &["-n"], One("NAME"), "The title of the session", text!(name)),
    flag(
        Embedded,
        "--plan-mode-instructions",
        &[],
        One("TEXT"),
        "Instructions for plan mode",
        text!(plan_mode_instructions),
    ),
    flag(
        Embedded,
        "--exclude-dynamic-system-prompt-sections",
        &[],
        Nothing,
        "Keep the working directory out of the system prompt",
        on!(exclude_dynamic),
    ),
    flag(
        Embedded,
        "--system-prompt-snapshot",
        &[],
        One("on|off"),
        "on or off: whether a resumed conversation keeps its system prompt",
        |_, value| match value.unwrap_or_default() {
            "on" | "off" => Ok(()),
            other => Err(format!(
                "error: option '--system-prompt-snapshot <on|off>' argument '{other}' is invalid. Allowed choices are on, off."
            )),
        },
    ),
    flag(
        Embedded,
        "--bare",
        &[],
        Nothing,
        "No instructions, commands, agents, hooks and MCP servers of files; Bash, Edit and Read only",
        on!(bare),
    ),
    flag(
        Embedded,
        "--debug",
        &["-d"],
        Optional("FILTER"),
        "Write debug messages to a file in the config directory",
        on!(debug),
    ),
    flag(
        Embedded,
        "--debug-to-stderr",
        &[],
        Nothing,
        "Write debug messages to stderr",
        on!(debug_to_stderr),
    ),
    flag(
        Embedded,
        "--debug-file",
        &[],
        One("FILE"),
        "Write debug messages to this file",
        text!(debug_file),
    ),
    flag(
        Agent,
        "--await-claim",
        &[],
        Nothing,
        "Start for a host that comes later: nothing is done before its first line",
        |_, _| Ok(()),
    ),
    flag(
        Embedded,
        "--prompt-suggestions",
        &[],
        Optional("ON"),
        "Suggest the next prompt after a turn",
        on!(prompt_suggestions),
    ),
    ignored("--init", Nothing, "Run the setup hooks"),
    ignored("--init-only", Nothing, "Run the setup hooks and exit"),
    ignored("--maintenance", Nothing, "Run the maintenance hooks"),
    ignored("--mcp-debug", Nothing, "Debug MCP servers"),
    ignored("--ide", Nothing, "Connect to an IDE"),
    ignored("--chrome", Nothing, "Connect to Chrome"),
    ignored("--no-chrome", Nothing, "Do not connect to Chrome"),
    ignored("--workload", One("NAME"), "What the process is for"),
    ignored("--channels", Many("NAMES"), "Channels"),
    ignored("--file", Many("FILES"), "Files to download"),
];

/// The levels of `--effort`.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

fn format(flag: &str, value: Option<&str>) -> Result<Format, String> {
    match value.unwrap_or_default() {
        "text" => Ok(Format::Text),
        "stream-json" => Ok(Format::StreamJson),
        "json" if flag == "--output-format" => Ok(Format::Json),
        other => Err(format!(
            "error: option '{flag} <format>' argument '{other}' is invalid. Allowed choices are text, json, stream-json."
        )),
    }
}

fn permission_mode(name: &str) -> Result<PermissionMode, String> {
    let mode = PermissionMode::from(name);
    if mode.is_known() {
        return Ok(mode);
    }
    Err(format!(
        "error: option '--permission-mode <mode>' argument '{name}' is invalid. Allowed choices are acceptEdits, auto, bypassPermissions, manual, dontAsk, plan."
    ))
}

fn number<T: std::str::FromStr>(flag: &str, value: Option<&str>, what: &str) -> Result<T, String> {
    let text = value.unwrap_or_default();
    text.parse().map_err(|_| invalid(flag, text, what))
}

fn invalid(flag: &str, text: &str, what: &str) -> String {
    format!("error: option '{flag} <value>' argument '{text}' is invalid. {what}")
}

fn json(flag: &str, text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("Error: {flag} is not valid JSON: {error}"))
}
