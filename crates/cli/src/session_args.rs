//! The options of `run` and `chat` for starting an agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args};
use duologue::launch::{Conversation, Settings, SystemPrompt, Tools};
use duologue::{SessionBuilder, find};
use duologue_protocol::control::McpServerConfig;
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::{Map, RawObject, SessionId, Wire as _};
use duologue_terminal::print;

use crate::agent::Agent;
use crate::{exit, resume};

/// The values of `--permission-mode`.
const MODES: [&str; 7] =
    ["default", "acceptEdits", "plan", "dontAsk", "auto", "manual", "bypassPermissions"];

/// The environment that gives the embedded agent a model.
const MODEL_VARS: [&str; 4] =
    ["DUOLOGUE_SCENARIO", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"];

/// The agent, and how it is started.
#[derive(Args, Debug, Default)]
#[command(group = ArgGroup::new("earlier").args(["resume", "newest"]))]
pub(crate) struct SessionArgs {
    /// The agent's program and its first arguments: "node cli.js", or one flag per word. The default is
    /// Claude Code, on the PATH or in its usual places, or else the embedded agent
    #[arg(long, value_name = "CMD", help_heading = "Agent", allow_hyphen_values = true)]
    pub(crate) agent: Vec<String>,

    /// Use the embedded agent, even if Claude Code is installed
    #[arg(long, help_heading = "Agent", conflicts_with = "agent")]
    pub(crate) embedded: bool,

    /// The model: a name or an alias such as sonnet
    #[arg(long, value_name = "MODEL", help_heading = "Agent")]
    pub(crate) model: Option<String>,

    /// Models to use when that one is overloaded
    #[arg(long, value_name = "MODEL", value_delimiter = ',', help_heading = "Agent")]
    pub(crate) fallback_model: Vec<String>,

    /// Replace the agent's system prompt
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Agent",
        conflicts_with = "append_system_prompt"
    )]
    pub(crate) system_prompt: Option<String>,

    /// Append to the agent's system prompt
    #[arg(long, value_name = "TEXT", help_heading = "Agent")]
    pub(crate) append_system_prompt: Option<String>,

    /// Settings for this session
    #[arg(long, value_name = "FILE|JSON", help_heading = "Agent")]
    pub(crate) settings: Option<String>,

    /// MCP servers: {"mcpServers": {…}}
    #[arg(long, value_name = "FILE|JSON", help_heading = "Agent")]
    pub(crate) mcp_config: Vec<String>,

    /// The most steps of a turn
    #[arg(long, value_name = "COUNT", help_heading = "Agent")]
    pub(crate) max_turns: Option<u32>,

    /// The most dollars to spend in the session
    #[arg(long, value_name = "USD", help_heading = "Agent", allow_negative_numbers = true)]
    pub(crate) max_budget_usd: Option<f64>,

    /// The agent's working directory
    #[arg(long, value_name = "DIR", help_heading = "Agent")]
    pub(crate) cwd: Option<PathBuf>,

    /// An additional directory that the agent may use
    #[arg(long, value_name = "DIR", help_heading = "Agent")]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Answer tool calls with the legacy lines approve, deny and tool_result. Claude Code does not
    /// understand them; for agents that were written after an early description of the wire
    #[arg(long, help_heading = "Agent")]
    pub(crate) legacy: bool,

    /// The permission mode
    #[arg(
        long,
        value_name = "MODE",
        value_parser = PossibleValuesParser::new(MODES),
        help_heading = "Permissions"
    )]
    pub(crate) permission_mode: Option<String>,

    /// Allow these tools without asking, as rules: Read, "Bash(git log *)"
    #[arg(
        long,
        value_name = "RULES",
        alias = "allowedTools",
        alias = "allow",
        help_heading = "Permissions"
    )]
    pub(crate) allowed_tools: Vec<String>,

    /// Deny these tools, as rules
    #[arg(
        long,
        value_name = "RULES",
        alias = "disallowedTools",
        alias = "deny",
        help_heading = "Permissions"
    )]
    pub(crate) disallowed_tools: Vec<String>,

    /// The built-in tools: a list, "default", or "" for none
    #[arg(long, value_name = "TOOLS", help_heading = "Permissions")]
    pub(crate) tools: Option<String>,

    /// Resume a conversation: an id or its first characters. Without one, a list of the conversations of
    /// this directory is shown
    #[arg(
        long,
        short,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "",
        help_heading = "Conversation"
    )]
    pub(crate) resume: Option<String>,

    /// Resume the newest conversation of this directory
    #[arg(long = "continue", short = 'c', help_heading = "Conversation")]
    pub(crate) newest: bool,

    /// Resume a copy, and leave the old conversation unchanged
    #[arg(long, alias = "fork-session", requires = "earlier", help_heading = "Conversation")]
    pub(crate) fork: bool,

    /// The id of the new conversation, a UUID
    #[arg(long, value_name = "UUID", help_heading = "Conversation")]
    pub(crate) session_id: Option<String>,

    /// More flags for the agent, passed unchanged
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) extra: Vec<OsString>,
}

impl SessionArgs {
    /// A session with these options, without handlers.
    ///
    /// # Errors
    /// If there is no agent, or an option cannot be used.
    pub(crate) fn builder(&self) -> anyhow::Result<SessionBuilder> {
        self.builder_for(self.conversation()?)
    }

    /// The same, for a conversation that was chosen already.
    pub(crate) fn builder_for(&self, conversation: Conversation) -> anyhow::Result<SessionBuilder> {
        let agent = if self.embedded {
            Agent::embedded()?
        } else {
            Agent::resolve_or_embedded(&self.agent)?
        };
        let mut builder = agent
            .session()
            .conversation(conversation)
            .fallback_models(self.fallback_model.iter().map(String::as_str))
            .allowed_tools(self.allowed_tools.iter().flat_map(|text| rules(text)))
            .disallowed_tools(self.disallowed_tools.iter().flat_map(|text| rules(text)))
            .add_dirs(absolute(&self.add_dir)?);
        if self.legacy {
            builder = builder.legacy();
        }
        if let Some(model) = &self.model {
            builder = builder.model(model.as_str());
        }
        if let Some(text) = &self.system_prompt {
            builder = builder.system_prompt(text.as_str());
        }
        if let Some(text) = &self.append_system_prompt {
            builder = builder.system_prompt(SystemPrompt::Append(text.clone()));
        }
        if let Some(turns) = self.max_turns {
            builder = builder.max_turns(turns);
        }
        if let Some(usd) = self.max_budget_usd {
            builder = builder.max_budget_usd(usd);
        }
        if let Some(cwd) = &self.cwd {
            anyhow::ensure!(cwd.is_dir(), "--cwd {} is not a directory", cwd.display());
            builder = builder.cwd(cwd.as_path());
        }
        if let Some(mode) = &self.permission_mode {
            let mode = PermissionMode::from(mode.as_str());
            // A tool that is named is meant.
            let bypass = mode == PermissionMode::BypassPermissions;
            builder = builder.permission_mode(mode).allow_dangerously_skip_permissions(bypass);
        }
        if let Some(tools) = &self.tools {
            builder = builder.tools(match tools.as_str() {
                "" => Tools::None,
                "default" => Tools::Default,
                list => Tools::List(rules(list)),
            });
        }
        if let Some(settings) = &self.settings {
            builder = builder.settings(match object("--settings", settings)? {
                Given::Here(settings) => Settings::Object(settings),
                Given::File(path) => Settings::File(path),
            });
        }
        for config in &self.mcp_config {
            builder = match object("--mcp-config", config)? {
                Given::Here(config) => mcp_servers(builder, &config)?,
                Given::File(path) => builder.mcp_config_files([path]),
            };
        }
        extra(builder, &self.extra)
    }

    /// Whether the embedded agent is used, because of --embedded or because there is no other.
    pub(crate) fn is_embedded(&self) -> bool {
        self.embedded || (self.agent.is_empty() && find::cli(None).is_err())
    }

    /// The exit code of a successful conversation. [`exit::NO_AGENT`] if the embedded agent answered without a model, without
    /// --embedded and without a terminal: a script must not take its answer for that of a model.
    pub(crate) fn code_of_success(&self) -> u8 {
        let has_model = MODEL_VARS.iter().any(|name| {
            std::env::var_os(name).is_some_and(|value| !value.to_string_lossy().trim().is_empty())
        });
        if self.embedded || has_model || print::has_terminal() || !self.is_embedded() {
            return exit::OK;
        }
        print::titled(
            "error:",
            "Claude Code is not installed, and the embedded agent, which has no model, answered \
             instead. Install Claude Code, name an agent with --agent, or add --embedded if this is \
             what you want."
                .into(),
        );
        exit::NO_AGENT
    }

    /// The conversation to resume or begin. Without an id to resume, the user is asked.
    pub(crate) fn conversation(&self) -> anyhow::Result<Conversation> {
        let id = self.session_id.as_deref().map(SessionId::from);
        anyhow::ensure!(
            id.is_none() || self.fork || (self.resume.is_none() && !self.newest),
            "--session-id is for a new conversation: remove it, or add --fork to copy the old one"
        );
        let resume = match self.resume.as_deref() {
            Some("") => Some(resume::choose(self.cwd.as_deref())?),
            Some(id) => Some(resume::whole_id(id, self.cwd.as_deref())),
            None => None,
        };
        Ok(match (&resume, self.newest, self.fork) {
            (Some(of), _, true) => Conversation::Fork { of: of.as_str().into(), cut: None, id },
            (Some(of), _, false) => Conversation::resume(of.as_str()),
            (None, true, true) => Conversation::ForkContinue { id },
            (None, true, false) => Conversation::Continue,
            (None, false, _) => id.map_or(Conversation::New, Conversation::NewWithId),
        })
    }
}

/// A JSON object on the command line, or a file that contains one.
#[derive(Debug)]
pub(crate) enum Given {
    Here(RawObject),
    File(PathBuf),
}

impl Given {
    /// The object, read from its file if necessary.
    pub(crate) fn read(self, option: &str) -> anyhow::Result<RawObject> {
        let path = match self {
            Self::Here(object) => return Ok(object),
            Self::File(path) => path,
        };
        let context = || format!("{option} {} cannot be used", path.display());
        let text = std::fs::read_to_string(&path).with_context(context)?;
        RawObject::from_json(&text).with_context(context)
    }
}

/// Parses an option that takes a file or JSON.
pub(crate) fn object(option: &str, text: &str) -> anyhow::Result<Given> {
    if text.trim_start().starts_with('{') {
        let object = RawObject::from_json(text);
        return Ok(Given::Here(object.with_context(|| format!("{option} is not a JSON object"))?));
    }
    let path = Path::new(text);
    anyhow::ensure!(path.is_file(), "{option} {text}: no such file");
    // The agent may have another working directory.
    Ok(Given::File(std::path::absolute(path)?))
}

fn mcp_servers(mut builder: SessionBuilder, config: &RawObject) -> anyhow::Result<SessionBuilder> {
    let servers = config.get("mcpServers").context("--mcp-config has no \"mcpServers\"")?;
    let servers: Map<McpServerConfig> = servers.read().context("--mcp-config cannot be parsed")?;
    for (name, server) in servers.iter() {
        builder = builder.mcp_server(name.clone(), server.clone());
    }
    Ok(builder)
}

/// Absolute paths: the agent may have another working directory.
fn absolute(paths: &[PathBuf]) -> std::io::Result<Vec<PathBuf>> {
    paths.iter().map(std::path::absolute).collect()
}

/// Splits rules at commas and spaces outside of parentheses, like Claude Code.
fn rules(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (character == ',' || character.is_whitespace())
    });
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Passes flags on: `--name`, `--name=value`, `--name value`.
pub(crate) fn extra(
    mut builder: SessionBuilder,
    args: &[OsString],
) -> anyhow::Result<SessionBuilder> {
    let mut args = args.iter().peekable();
    while let Some(arg) = args.next() {
        let flag = arg.to_str().filter(|arg| arg.starts_with("--"));
        let flag = flag.with_context(|| {
            format!(
                "{} after -- is not a flag: use --name, --name=value or --name value",
                arg.display()
            )
        })?;
        let follows = |next: &&OsString| !next.as_encoded_bytes().starts_with(b"-");
        builder = if let Some((name, value)) = flag.split_once('=') {
            builder.extra_arg(name, value)
        } else if let Some(value) = args.next_if(follows) {
            builder.extra_arg(flag, value)
        } else {
            builder.extra_flag(flag)
        };
    }
    Ok(builder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    #[test]
    fn rules_keep_what_stands_in_parentheses() {
        assert_eq!(
            rules("Read, Bash(git log *),Bash(a, b) Edit"),
            ["Read", "Bash(git log *)", "Bash(a, b)", "Edit"]
        );
        assert!(rules(" ").is_empty());
    }

    #[test]
    fn an_id_is_for_a_new_conversation() {
        let id = || Some("2b1f9c1e-0000-4000-8000-000000000000".to_owned());
        let old = || Some("old".to_owned());
        let new = SessionArgs { session_id: id(), ..SessionArgs::default() };
        assert!(matches!(new.conversation().unwrap(), Conversation::NewWithId(_)));
        let both = SessionArgs { session_id: id(), resume: old(), ..SessionArgs::default() };
        assert!(both.conversation().is_err());
        let copy = SessionArgs { fork: true, ..both };
        assert!(matches!(copy.conversation().unwrap(), Conversation::Fork { id: Some(_), .. }));
        let newest = SessionArgs { newest: true, ..SessionArgs::default() };
        assert_eq!(newest.conversation().unwrap(), Conversation::Continue);
    }

    #[test]
    fn what_is_handed_on_must_be_flags() {
        let builder = duologue::Session::builder;
        let all = ["--a", "--b=c", "--d", "e", "--f"].map(OsString::from);
        assert!(extra(builder(), &all).is_ok());
        for wrong in [&["-x"][..], &["word"], &["--a", "b", "c"]] {
            let wrong: Vec<OsString> = wrong.iter().map(OsString::from).collect();
            assert!(extra(builder(), &wrong).is_err(), "{wrong:?}");
        }
    }
}
