//! The command line of an agent: the flags of Claude Code, and those of this project.
//!
//! [`CommandLine`] is what a command line says, as data. [`flags`] lists every flag.

mod flags;

use std::collections::VecDeque;
use std::fmt::Write as _;

use duologue_protocol::Text;
use duologue_protocol::permission::PermissionMode;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::legacy::Dialect;
use crate::options::Options;
use flags::FLAGS;

pub use flags::{Effect, Flag, FlagValue};

/// The format of stdin or stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Plain text.
    #[default]
    Text,
    /// One JSON value.
    Json,
    /// JSON lines.
    StreamJson,
}

/// What a command line says.
///
/// ```
/// use duologue_agent::command_line::CommandLine;
///
/// let line = CommandLine::parse(["-p", "hello", "--max-turns=3"].map(String::from))?;
/// assert_eq!((line.prompt.as_str(), line.max_turns), ("hello", Some(3)));
/// assert!(CommandLine::parse(["--fault=nothing"].map(String::from)).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "each field is the flag of its name; the table of flags describes it"
)]
pub struct CommandLine {
    /// The prompt: all arguments that are not flags.
    pub prompt: String,
    /// What a person should know, though it is not an error.
    pub warnings: Vec<String>,
    pub print: bool,
    pub verbose: bool,
    pub version: bool,
    pub help: bool,
    pub input: Format,
    pub output: Format,
    pub partial_messages: bool,
    pub replay_user_messages: bool,
    pub forward_subagent_text: bool,
    pub await_initialize: bool,
    pub include_hook_events: bool,
    pub enable_auth_status: bool,
    pub model: Option<String>,
    pub fallback_models: Vec<String>,
    pub betas: Vec<String>,
    pub effort: Option<String>,
    pub thinking: Option<String>,
    pub thinking_display: Option<String>,
    pub max_thinking_tokens: Option<u64>,
    pub task_budget: Option<u64>,
    pub max_turns: Option<u64>,
    pub max_budget_usd: Option<f64>,
    pub json_schema: Option<Value>,
    pub system_prompt: Option<String>,
    pub system_prompt_file: Option<String>,
    pub append_system_prompt: Option<String>,
    pub append_system_prompt_file: Option<String>,
    pub agents: Map<String, Value>,
    pub agent: Option<String>,
    pub mcp_configs: Vec<String>,
    pub settings: Option<String>,
    pub setting_sources: Option<String>,
    pub permission_mode: Option<PermissionMode>,
    pub permission_prompt_tool: Option<String>,
    pub permission_prompts: Option<String>,
    pub skip_permissions: bool,
    pub allow_skip_permissions: bool,
    pub allowed_tools: Vec<String>,
    pub disallowed_tools: Vec<String>,
    /// The values of `--tools`; `None` without the flag.
    pub tools: Option<Vec<String>>,
    pub directories: Vec<String>,
    pub session_id: Option<String>,
    /// The value of `--resume`, if the flag is there and has one.
    pub resume: Option<Option<String>>,
    /// `--continue`.
    pub resume_newest: bool,
    pub fork_session: bool,
    pub resume_session_at: Option<String>,
    pub resume_drops_turn: Option<String>,
    pub no_session_persistence: bool,
    pub session_mirror: bool,
    pub strict_mcp_config: bool,
    pub disable_slash_commands: bool,
    /// The values of `--plugin-dir`, and of `--plugin-dir-no-mcp` with `false`.
    pub plugins: Vec<(String, bool)>,
    pub managed_settings: Option<String>,
    pub project_config_root: Option<String>,
    pub name: Option<String>,
    pub plan_mode_instructions: Option<String>,
    /// `--exclude-dynamic-system-prompt-sections`.
    pub exclude_dynamic: bool,
    pub bare: bool,
    pub debug: bool,
    pub debug_to_stderr: bool,
    pub debug_file: Option<String>,
    pub prompt_suggestions: bool,
    pub scenario: Option<String>,
    pub fault: Option<Fault>,
    pub lenient: bool,
    pub dialect: Dialect,
}

impl CommandLine {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    /// If a flag is unknown, has no valid value, or contradicts another, in the words of the CLI.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let line = Arguments::split(args, false)?.command_line()?;
        line.check().map(|()| line)
    }

    /// The same for an agent that is not the embedded one: it refuses the flags that only the embedded agent has.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_general(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let arguments = Arguments::split(args, false)?;
        let own = |(flag, _): &&(&Flag, _)| flag.effect == Effect::EmbeddedOwn;
        if let Some((flag, _)) = arguments.flags.iter().find(own) {
            return Err(format!("error: unknown option '{}'", flag.name));
        }
        let line = arguments.command_line()?;
        line.check().map(|()| line)
    }

    /// Whether the host answers permission requests.
    pub fn host_answers_permissions(&self) -> bool {
        self.permission_prompt_tool.as_deref() == Some("stdio")
            && self.permission_prompts.as_deref() != Some("none")
    }

    /// The options that every agent obeys.
    pub fn options(&self) -> Options {
        let mut options = Options::new()
            .prompts(self.host_answers_permissions())
            .partial(self.partial_messages)
            .replay(self.replay_user_messages)
            .await_initialize(self.await_initialize)
            .forward_subagent_text(self.forward_subagent_text)
            .may_bypass(self.skip_permissions || self.allow_skip_permissions)
            .lenient(self.lenient)
            .dialect(self.dialect);
        options.fault = self.fault;
        options.info.session_id = self.session_id.as_deref().map(Into::into);
        if let Some(model) = &self.model {
            options.info.model = Text::from(model.as_str());
        }
        if let Some(mode) = &self.permission_mode {
            options.info.permission_mode = mode.clone();
        }
        options.host_servers =
            self.mcp_configs.iter().flat_map(|json| host_servers(json)).collect();
        options
    }

    /// What the flags say together.
    fn check(&self) -> Result<(), String> {
        if self.output == Format::StreamJson && !self.verbose {
            return Err(
                "Error: When using --print, --output-format=stream-json requires --verbose".into(),
            );
        }
        if self.input == Format::StreamJson && self.output != Format::StreamJson {
            return Err(
                "Error: --input-format=stream-json requires output-format=stream-json.".into()
            );
        }
        Ok(())
    }
}

/// The servers of a configuration that the host itself serves. A configuration may also be the name of a file, which this
/// does not read.
fn host_servers(config: &str) -> Vec<Text> {
    let config: Value = serde_json::from_str(config).unwrap_or_default();
    let servers = config["mcpServers"].as_object().into_iter().flatten();
    let hosted = servers.filter(|(_, server)| server["type"] == "sdk");
    hosted.map(|(name, _)| Text::from(name)).collect()
}

/// A command line as flags and values.
#[derive(Debug, Default)]
struct Arguments {
    flags: Vec<(&'static Flag, Option<String>)>,
    rest: Vec<String>,
}

impl Arguments {
    /// Splits a command line, in either spelling: `--flag value`, `--flag=value`. If `any`, unknown flags are skipped.
    fn split(args: impl IntoIterator<Item = String>, any: bool) -> Result<Self, String> {
        let mut args: VecDeque<String> = args.into_iter().collect();
        let mut arguments = Self::default();
        while let Some(arg) = args.pop_front() {
            if arg == "--" {
                arguments.rest.extend(args.drain(..));
                break;
            }
            if is_value(&arg) {
                arguments.rest.push(arg);
                continue;
            }
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (arg.as_str(), None),
            };
            let is_it = |flag: &&Flag| flag.name == name || flag.aliases.contains(&name);
            let Some(flag) = flags().find(is_it).filter(|flag| flag.effect != Effect::Command)
            else {
                if !any {
                    return Err(format!("error: unknown option '{arg}'"));
                }
                // What follows an unknown flag is its value, unless that is a flag or the last word.
                let has_value = value.is_none() && args.front().is_some_and(|arg| is_value(arg));
                if has_value && args.len() > 1 {
                    args.pop_front();
                }
                continue;
            };
            arguments.take(flag, value, &mut args)?;
        }
        Ok(arguments)
    }

    fn take(
        &mut self,
        flag: &'static Flag,
        value: Option<String>,
        args: &mut VecDeque<String>,
    ) -> Result<(), String> {
        let value = match (flag.value, value) {
            (FlagValue::None, _) => None,
            (_, Some(value)) => Some(value),
            (FlagValue::One(_), None) => match args.pop_front() {
                Some(value) => Some(value),
                None => {
                    let value = flag.value.name().unwrap_or("value").to_lowercase();
                    return Err(format!(
                        "error: option '{} <{value}>' argument missing",
                        flag.name
                    ));
                }
            },
            (FlagValue::Optional(_), None) => {
                args.front().is_some_and(|arg| is_value(arg)).then(|| args.pop_front()).flatten()
            }
            (FlagValue::Many(_), None) => {
                // The first value belongs to the flag whatever it looks like.
                self.flags.push((flag, args.pop_front()));
                while args.front().is_some_and(|arg| is_value(arg)) {
                    self.flags.push((flag, args.pop_front()));
                }
                return Ok(());
            }
        };
        self.flags.push((flag, value));
        Ok(())
    }

    fn command_line(self) -> Result<CommandLine, String> {
        let mut line = CommandLine { prompt: self.rest.join(" "), ..CommandLine::default() };
        let has = |name: &str| self.flags.iter().any(|(flag, _)| flag.name == name);
        (line.version, line.help) = (has("--version"), has("--help"));
        // Neither needs the rest of the command line to be valid.
        if line.version || line.help {
            return Ok(line);
        }
        for (flag, value) in &self.flags {
            (flag.update)(&mut line, value.as_deref())?;
        }
        Ok(line)
    }
}

fn is_value(arg: &str) -> bool {
    !arg.starts_with('-') || arg == "-"
}

/// Every flag, for the completions of a shell and the manual page.
///
/// ```
/// use duologue_agent::command_line::{FlagValue, flags};
///
/// let model = flags().find(|flag| flag.name == "--model").ok_or("no such flag")?;
/// assert_eq!(model.value, FlagValue::One("MODEL"));
/// # Ok::<(), &str>(())
/// ```
pub fn flags() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter()
}

/// The part of `--help` that lists the flags with these effects, one or more lines for each.
pub fn flags_help(effects: &[Effect]) -> String {
    const NAMES: usize = 34;
    const TEXT: usize = 84;
    let mut help = String::new();
    for flag in flags().filter(|flag| effects.contains(&flag.effect)) {
        let mut names: Vec<&str> =
            flag.aliases.iter().copied().filter(|name| name.len() == 2).collect();
        names.push(flag.name);
        let mut column = names.join(", ");
        match flag.value {
            FlagValue::None => {}
            FlagValue::One(name) => column.extend([" ", name]),
            FlagValue::Optional(name) => column.extend([" [", name, "]"]),
            FlagValue::Many(name) => column.extend([" ", name, "..."]),
        }
        if column.len() > NAMES {
            let _ = writeln!(help, "  {column}");
            column.clear();
        }
        for line in wrapped(flag.doc, TEXT) {
            let _ = writeln!(help, "  {column:NAMES$}  {line}");
            column.clear();
        }
    }
    help
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut();
        match last.filter(|line| line.is_empty() || line.len() + 1 + word.len() <= width) {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The prompt on a command line of `claude -p`, without the program's name: empty if it comes from stdin. `None` if
/// prompts come as lines of the wire, or nothing is printed. Unknown flags are skipped.
///
/// ```
/// use duologue_agent::command_line::text_prompt;
///
/// let prompt = |line: &str| text_prompt(line.split(' ').map(str::to_owned));
/// assert_eq!(prompt("-p hello --model opus"), Some("hello".to_owned()));
/// assert_eq!(prompt("-p --verbose"), Some(String::new()));
/// assert_eq!(prompt("-p --input-format stream-json"), None);
/// ```
pub fn text_prompt(args: impl IntoIterator<Item = String>) -> Option<String> {
    let arguments = Arguments::split(args, true).ok()?;
    let is_given = |name: &str| arguments.flags.iter().any(|(flag, _)| flag.name == name);
    let is_input = |(flag, _): &&(&Flag, Option<String>)| flag.name == "--input-format";
    let input = arguments.flags.iter().rfind(is_input).and_then(|(_, value)| value.as_deref());
    let is_text = is_given("--print") && input != Some("stream-json");
    is_text.then(|| arguments.rest.join(" "))
}

impl Options {
    /// The options of a command line and of the environment. Flags that no agent knows are skipped: a program may have
    /// flags of its own.
    ///
    /// ```
    /// use duologue_agent::Options;
    ///
    /// let args = ["--verbose", "--include-partial-messages", "--model=sonnet"];
    /// let options = Options::from_args(args.map(String::from))?;
    /// assert!(options.partial);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// If a flag or a variable has no valid value.
    pub fn from_args(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        Arguments::split(args, true)?.command_line()?.options().with_environment()
    }

    /// The same, with what the environment says.
    ///
    /// # Errors
    /// If a variable has no valid value.
    pub fn with_environment(mut self) -> Result<Self, String> {
        let on = |name: &str| std::env::var(name).is_ok_and(|value| !matches!(&*value, "" | "0"));
        self.lenient |= on("DUOLOGUE_LENIENT");
        self.state_events |= on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS");
        self.hidden_state_events |= on("CLAUDE_CODE_SDK_READS_SESSION_STATE");
        let fault = std::env::var("DUOLOGUE_FAULT").ok().filter(|fault| !fault.is_empty());
        if let (None, Some(fault)) = (self.fault, fault) {
            self.fault = Some(fault.parse().map_err(|error| format!("error: {error}"))?);
        }
        if let Ok(cwd) = std::env::current_dir() {
            self.info.cwd = Text::from(cwd.to_string_lossy().into_owned());
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::permission::PermissionMode;

    use super::{CommandLine, Effect, Options, flags, flags_help};

    fn parse(args: &[&str]) -> Result<CommandLine, String> {
        CommandLine::parse(args.iter().map(ToString::to_string))
    }

    #[test]
    fn both_spellings_are_read() {
        let line =
            parse(&["-p", "--model=a=b", "--max-turns", "3", "hello", "--tools", ""]).unwrap();
        assert!(line.print);
        assert_eq!(line.model.as_deref(), Some("a=b"));
        assert_eq!(line.max_turns, Some(3));
        assert_eq!(line.tools, Some(vec![String::new()]));
        assert_eq!(line.prompt, "hello");
    }

    #[test]
    fn a_list_ends_at_the_next_flag() {
        let line = parse(&["--allowed-tools", "Read", "Bash(git *)", "--verbose", "hi"]).unwrap();
        assert_eq!(line.allowed_tools, ["Read", "Bash(git *)"]);
        assert_eq!(line.prompt, "hi");
    }

    #[test]
    fn an_optional_value_may_be_missing() {
        let line = parse(&["--resume", "--verbose"]).unwrap();
        assert_eq!(line.resume, Some(None));
        assert!(parse(&["--model"]).is_err());
    }

    #[test]
    fn a_prompt_is_found_among_flags_of_any_version() {
        let prompt = |args: &[&str]| super::text_prompt(args.iter().map(ToString::to_string));
        let found = Some("say hi".to_owned());
        assert_eq!(prompt(&["-p", "say hi"]), found);
        assert_eq!(prompt(&["say hi", "--print", "--output-format", "stream-json"]), found);
        assert_eq!(prompt(&["--new", "value", "-p", "say hi"]), found);
        assert_eq!(prompt(&["-p", "--new=value", "--also-new", "say hi"]), found);
        assert_eq!(prompt(&["--allowedTools", "Read", "--", "say hi"]), None);
        assert_eq!(prompt(&["-p", "--system-prompt", "--new", "say hi"]), found);
    }

    #[test]
    fn what_is_not_valid_is_refused_in_the_words_of_the_cli() {
        let error = |args: &[&str]| parse(args).unwrap_err();
        assert_eq!(error(&["--frobnicate"]), "error: unknown option '--frobnicate'");
        assert_eq!(error(&["--install", "x"]), "error: unknown option '--install'");
        assert!(error(&["--fault", "nothing"]).contains("nothing"));
        assert!(error(&["--dialect", "nothing"]).contains("nothing"));
        assert!(error(&["--max-turns", "many"]).contains("must be a number"));
        assert!(error(&["--permission-mode", "x"]).contains("Allowed choices"));
        let general = CommandLine::parse_general(["--scenario", "x"].map(String::from));
        assert_eq!(general.unwrap_err(), "error: unknown option '--scenario'");
        assert!(parse(&["--version", "--max-turns", "many"]).unwrap().version);
    }

    #[test]
    fn an_unknown_effort_is_a_warning() {
        let line = parse(&["--effort", "huge"]).unwrap();
        assert!(line.effort.is_none() && line.warnings[0].contains("'huge'"));
    }

    #[test]
    fn options_come_from_the_command_line() {
        let args = [
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-prompt-tool",
            "stdio",
            "--model=sonnet",
            "--permission-mode",
            "plan",
            "--await-initialize",
            "--frobnicate",
            "--fault=die@2",
            "--mcp-config",
            r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"},"x":{"command":"y"}}}"#,
        ];
        let options = Options::from_args(args.map(String::from)).unwrap();
        assert!(options.prompts && !options.partial && options.await_initialize);
        assert_eq!(options.info.model, "sonnet");
        assert_eq!(options.info.permission_mode, PermissionMode::Plan);
        assert_eq!(options.fault, Some(crate::Fault::DieAt(2)));
        assert_eq!(options.host_servers, ["calc"]);
        assert!(Options::from_args(["--fault=nothing"].map(String::from)).is_err());
    }

    #[test]
    fn every_flag_is_named_once_and_described() {
        let names: Vec<&str> = flags()
            .flat_map(|flag| std::iter::once(flag.name).chain(flag.aliases.iter().copied()))
            .collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[at + 1..].contains(name), "{name}");
        }
        assert!(flags().all(|flag| !flag.doc.is_empty() && !flag.doc.ends_with('.')));
        let help = flags_help(&[Effect::Own]);
        assert!(
            help.contains("--fault FAULT") && help.lines().all(|line| line.len() <= 122),
            "{help}"
        );
    }
}
