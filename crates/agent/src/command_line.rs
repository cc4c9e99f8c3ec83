//! The command line, as that of the CLI.

use std::collections::VecDeque;

/// What a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// A value, unless another flag follows.
    Perhaps,
    /// All that follows up to the next flag.
    Many,
}

/// Every flag of the CLI that hosts are known to pass, and ours at the end. Those that mean nothing here are taken all
/// the same: a host that passes them is not wrong.
const FLAGS: &[(&str, Takes)] = &[
    ("--print", Takes::Nothing),
    ("--verbose", Takes::Nothing),
    ("--continue", Takes::Nothing),
    ("--fork-session", Takes::Nothing),
    ("--include-partial-messages", Takes::Nothing),
    ("--include-hook-events", Takes::Nothing),
    ("--replay-user-messages", Takes::Nothing),
    ("--forward-subagent-text", Takes::Nothing),
    ("--dangerously-skip-permissions", Takes::Nothing),
    ("--allow-dangerously-skip-permissions", Takes::Nothing),
    ("--strict-mcp-config", Takes::Nothing),
    ("--no-session-persistence", Takes::Nothing),
    ("--session-mirror", Takes::Nothing),
    ("--disable-slash-commands", Takes::Nothing),
    ("--exclude-dynamic-system-prompt-sections", Takes::Nothing),
    ("--enable-auth-status", Takes::Nothing),
    ("--managed-settings-in-initialize", Takes::Nothing),
    ("--await-initialize", Takes::Nothing),
    ("--await-claim", Takes::Nothing),
    ("--prompt-suggestions", Takes::Nothing),
    ("--init", Takes::Nothing),
    ("--init-only", Takes::Nothing),
    ("--maintenance", Takes::Nothing),
    ("--mcp-debug", Takes::Nothing),
    ("--debug-to-stderr", Takes::Nothing),
    ("--ide", Takes::Nothing),
    ("--bare", Takes::Nothing),
    ("--chrome", Takes::Nothing),
    ("--no-chrome", Takes::Nothing),
    ("--version", Takes::Nothing),
    ("--help", Takes::Nothing),
    ("--output-format", Takes::Value),
    ("--input-format", Takes::Value),
    ("--model", Takes::Value),
    ("--fallback-model", Takes::Value),
    ("--agent", Takes::Value),
    ("--agents", Takes::Value),
    ("--system-prompt", Takes::Value),
    ("--system-prompt-file", Takes::Value),
    ("--append-system-prompt", Takes::Value),
    ("--append-system-prompt-file", Takes::Value),
    ("--system-prompt-snapshot", Takes::Value),
    ("--plan-mode-instructions", Takes::Value),
    ("--permission-mode", Takes::Value),
    ("--permission-prompt-tool", Takes::Value),
    ("--permission-prompts", Takes::Value),
    ("--thinking", Takes::Value),
    ("--thinking-display", Takes::Value),
    ("--max-thinking-tokens", Takes::Value),
    ("--effort", Takes::Value),
    ("--max-turns", Takes::Value),
    ("--max-budget-usd", Takes::Value),
    ("--task-budget", Takes::Value),
    ("--json-schema", Takes::Value),
    ("--settings", Takes::Value),
    ("--managed-settings", Takes::Value),
    ("--setting-sources", Takes::Value),
    ("--project-config-root", Takes::Value),
    ("--resume-session-at", Takes::Value),
    ("--resume-drops-turn", Takes::Value),
    ("--session-id", Takes::Value),
    ("--name", Takes::Value),
    ("--debug-file", Takes::Value),
    ("--workload", Takes::Value),
    ("--plugin-dir", Takes::Value),
    ("--plugin-dir-no-mcp", Takes::Value),
    ("--resume", Takes::Perhaps),
    ("--debug", Takes::Perhaps),
    ("--allowedTools", Takes::Many),
    ("--disallowedTools", Takes::Many),
    ("--tools", Takes::Many),
    ("--add-dir", Takes::Many),
    ("--mcp-config", Takes::Many),
    ("--betas", Takes::Many),
    ("--channels", Takes::Many),
    ("--file", Takes::Many),
    // Ours.
    ("--lenient", Takes::Nothing),
    ("--dialect", Takes::Value),
    ("--fault", Takes::Value),
    ("--scenario", Takes::Value),
];

const ALIASES: &[(&str, &str)] = &[
    ("-p", "--print"),
    ("-c", "--continue"),
    ("-r", "--resume"),
    ("-v", "--version"),
    ("-h", "--help"),
    ("-d", "--debug"),
    ("-n", "--name"),
    ("--allowed-tools", "--allowedTools"),
    ("--disallowed-tools", "--disallowedTools"),
];

/// The flags that an agent understands, each with whether it takes a value: for the completions of a shell.
///
/// ```
/// let flags: Vec<_> = duologue_agent::command_line::flags().collect();
/// assert!(flags.contains(&("--model", true)) && flags.contains(&("-p", false)));
/// ```
pub fn flags() -> impl Iterator<Item = (&'static str, bool)> {
    let takes =
        |name: &str| FLAGS.iter().any(|(flag, takes)| *flag == name && *takes != Takes::Nothing);
    let aliases = ALIASES.iter().map(move |(alias, name)| (*alias, takes(name)));
    FLAGS.iter().map(|(flag, takes)| (*flag, *takes != Takes::Nothing)).chain(aliases)
}

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    given: Vec<(&'static str, Option<String>)>,
    /// What is no flag: the prompt.
    pub rest: Vec<String>,
}

impl Flags {
    /// Takes a command line apart, in either spelling: `--flag value`, `--flag=value`.
    ///
    /// # Errors
    /// What the CLI says of one that it does not understand.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        Self::read(args, false)
    }

    /// The same; if `any`, a flag that is not known is passed over.
    fn read(args: impl IntoIterator<Item = String>, any: bool) -> Result<Self, String> {
        let mut args: VecDeque<String> = args.into_iter().collect();
        let mut flags = Self::default();
        while let Some(arg) = args.pop_front() {
            if arg == "--" {
                flags.rest.extend(args.drain(..));
                break;
            }
            if !arg.starts_with('-') || arg == "-" {
                flags.rest.push(arg);
                continue;
            }
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (arg.as_str(), None),
            };
            let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name);
            let known = FLAGS.iter().find(|(known, _)| *known == alias.unwrap_or(name));
            let Some((name, takes)) = known else {
                if any {
                    // What follows it is its value, unless that is a flag or the last word.
                    let is_value = value.is_none() && args.front().is_some_and(|arg| is_value(arg));
                    if is_value && args.len() > 1 {
                        args.pop_front();
                    }
                    continue;
                }
                return Err(format!("error: unknown option '{arg}'"));
            };
            flags.take(name, *takes, value, &mut args)?;
        }
        Ok(flags)
    }

    fn take(
        &mut self,
        name: &'static str,
        takes: Takes,
        value: Option<String>,
        args: &mut VecDeque<String>,
    ) -> Result<(), String> {
        let value = match (takes, value) {
            (Takes::Nothing, _) => None,
            (_, Some(value)) => Some(value),
            (Takes::Value, None) => match args.pop_front() {
                Some(value) => Some(value),
                None => return Err(format!("error: option '{name} <value>' argument missing")),
            },
            (Takes::Perhaps, None) => {
                args.front().is_some_and(|arg| is_value(arg)).then(|| args.pop_front()).flatten()
            }
            (Takes::Many, None) => {
                // The first belongs to the flag whatever it looks like.
                let first = args.pop_front();
                self.given.push((name, first));
                while args.front().is_some_and(|arg| is_value(arg)) {
                    self.given.push((name, args.pop_front()));
                }
                return Ok(());
            }
        };
        self.given.push((name, value));
        Ok(())
    }

    /// Whether a flag is there.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// The value of a flag; the last counts.
    pub fn value(&self, name: &str) -> Option<&str> {
        let given = self.given.iter().rev().find(|(given, _)| *given == name)?;
        given.1.as_deref()
    }

    /// All values of a flag.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.given
            .iter()
            .filter(move |(given, _)| *given == name)
            .filter_map(|(_, value)| value.as_deref())
    }
}

/// How something is said on stdin or stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Plain text.
    Text,
    /// One JSON value.
    Json,
    /// JSON lines.
    StreamJson,
}

/// The formats of stdin and stdout.
///
/// # Errors
/// If the flags contradict each other.
pub fn formats(flags: &Flags) -> Result<(Format, Format), String> {
    let input = format("--input-format", flags.value("--input-format"))?;
    let output = format("--output-format", flags.value("--output-format"))?;
    if output == Format::StreamJson && !flags.has("--verbose") {
        return Err(
            "Error: When using --print, --output-format=stream-json requires --verbose".into()
        );
    }
    if input == Format::StreamJson && output != Format::StreamJson {
        return Err("Error: --input-format=stream-json requires output-format=stream-json.".into());
    }
    Ok((input, output))
}

fn format(flag: &str, value: Option<&str>) -> Result<Format, String> {
    match value {
        None | Some("text") => Ok(Format::Text),
        Some("stream-json") => Ok(Format::StreamJson),
        Some("json") if flag == "--output-format" => Ok(Format::Json),
        Some(other) => Err(format!("error: option '{flag} <format>' argument '{other}' is invalid. Allowed choices are text, json, stream-json.").into()),
    }
}

fn is_value(arg: &str) -> bool {
    !arg.starts_with('-') || arg == "-"
}

/// The prompt on a command line of `claude -p`, without the program's name: empty if it comes from stdin. `None` if
/// prompts come as lines of the wire, or nothing is printed. Flags that are not known are passed over.
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
    let flags = Flags::read(args, true).ok()?;
    let is_text = flags.has("--print") && flags.value("--input-format") != Some("stream-json");
    is_text.then(|| flags.rest.join(" "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::Flags;

    fn parse(args: &[&str]) -> Result<Flags, String> {
        Flags::parse(args.iter().map(ToString::to_string))
    }

    #[test]
    fn both_spellings_are_read() {
        let flags =
            parse(&["-p", "--model=a=b", "--max-turns", "3", "hello", "--tools", ""]).unwrap();
        assert!(flags.has("--print"));
        assert_eq!(flags.value("--model"), Some("a=b"));
        assert_eq!(flags.value("--max-turns"), Some("3"));
        assert_eq!(flags.values("--tools").collect::<Vec<_>>(), [""]);
        assert_eq!(flags.rest, ["hello"]);
    }

    #[test]
    fn a_list_goes_on_to_the_next_flag() {
        let flags = parse(&["--allowed-tools", "Read", "Bash(git *)", "--verbose", "hi"]).unwrap();
        assert_eq!(flags.values("--allowedTools").collect::<Vec<_>>(), ["Read", "Bash(git *)"]);
        assert_eq!(flags.rest, ["hi"]);
    }

    #[test]
    fn a_value_may_be_missing_where_it_may() {
        let flags = parse(&["--resume", "--verbose"]).unwrap();
        assert!(flags.has("--resume") && flags.value("--resume").is_none());
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
    fn unknown_flags_are_refused_in_the_words_of_the_cli() {
        assert_eq!(
            parse(&["--frobnicate"]),
            Err("error: unknown option '--frobnicate'".to_owned())
        );
    }
}
