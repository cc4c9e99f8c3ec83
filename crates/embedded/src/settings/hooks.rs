//! Hooks that are commands.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use duologue_agent::hook_matches;
use duologue_protocol::hook::{
    HookOutput, HookSpecificOutput, SessionStartOutput, UserPromptSubmitOutput,
};
use duologue_protocol::{RawObject, Wire};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::permission::RuleSource;
use crate::tools::{Cancel, Capture, Group};

/// A command to run when something happens.
///
/// It reads the event as JSON on its stdin. With exit code 2 it blocks, and its stderr is the reason; with
/// 0 its stdout may be a JSON answer; any other code is a failure that blocks nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CommandHook {
    /// The event: `PreToolUse`.
    pub event: String,
    /// What it matches: names of tools, or a regular expression. Without it, everything.
    pub matcher: Option<String>,
    /// The command.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Where it comes from.
    pub source: RuleSource,
}

/// What came of a hook.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CommandHookRun {
    /// What it wrote.
    pub stdout: String,
    /// What it wrote for people.
    pub stderr: String,
    /// How it ended, if it did.
    pub exit_code: Option<i32>,
    /// In a word.
    pub outcome: CommandHookOutcome,
}

/// What came of a hook, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandHookOutcome {
    /// It ended well.
    Success,
    /// It did not.
    Error,
    /// It was stopped, or took too long.
    Cancelled,
}

impl CommandHookOutcome {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

impl CommandHook {
    /// Whether it matches this subject. An invalid pattern matches nothing.
    pub fn matches(&self, subject: Option<&str>) -> bool {
        hook_matches(self.matcher.as_deref(), subject)
    }

    /// Runs it. Processes that it starts end with it. Cancel safe.
    ///
    /// # Errors
    /// If no shell can be started.
    pub async fn run(
        &self,
        input: &RawObject,
        project: &Path,
        cancel: &Cancel,
    ) -> io::Result<CommandHookRun> {
        let mut command = Command::new("bash");
        command.arg("-c").arg(&self.command).current_dir(project);
        command.env("CLAUDE_PROJECT_DIR", project);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::spawn(&mut command)?;
        let mut stdin = group.stdin();
        let (mut stdout, mut stderr) = (group.stdout(), group.stderr());
        let (mut out, mut err) = (Capture::new(None), Capture::new(None));
        let feed = async {
            if let Some(mut stdin) = stdin.take() {
                // A hook need not read its input.
                let _ = stdin.write_all(format!("{input:?}\n").as_bytes()).await;
            }
        };
        let talk = async {
            tokio::join!(feed, out.pump(&mut stdout), err.pump(&mut stderr));
            std::future::pending().await
        };
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            ended = timeout(self.timeout, async {
                tokio::select! {
                    status = group.exited() => status,
                    never = talk => never,
                }
            }) => ended.ok(),
        };
        let status = match ended {
            Some(status) => Some(status?),
            None => {
                group.stop().await;
                None
            }
        };
        out.drain(&mut stdout).await;
        err.drain(&mut stderr).await;
        Ok(CommandHookRun {
            stdout: out.head(),
            stderr: err.head(),
            exit_code: status.and_then(|status| status.code()),
            outcome: match status {
                None => CommandHookOutcome::Cancelled,
                Some(status) if status.success() => CommandHookOutcome::Success,
                Some(_) => CommandHookOutcome::Error,
            },
        })
    }

    /// The answer of a run, as a callback would give it.
    pub fn output(&self, run: &CommandHookRun) -> HookOutput {
        match run.exit_code {
            Some(0) => {
                let text = run.stdout.trim();
                if text.starts_with('{')
                    && let Ok(output) = HookOutput::from_json(text)
                {
                    return output;
                }
                self.with_context(text)
            }
            Some(2) => {
                let why = run.stderr.trim();
                let why = format!(
                    "[{}]: {}",
                    self.command,
                    if why.is_empty() { "No stderr output" } else { why }
                );
                match self.event.as_str() {
                    "PreToolUse" => HookOutput::deny_tool(why),
                    _ => HookOutput::block(why),
                }
            }
            _ => HookOutput::new(),
        }
    }

    /// Plain output becomes context for the model, where the event has it.
    fn with_context(&self, text: &str) -> HookOutput {
        let output = HookOutput::new();
        match self.event.as_str() {
            _ if text.is_empty() => output,
            "UserPromptSubmit" => output.specific(HookSpecificOutput::UserPromptSubmit(
                UserPromptSubmitOutput::new().additional_context(text),
            )),
            "SessionStart" => output.specific(HookSpecificOutput::SessionStart(
                SessionStartOutput::new().additional_context(text),
            )),
            _ => output,
        }
    }
}

/// The command hooks of a settings file.
pub(super) fn read(value: &Value, source: RuleSource) -> Vec<CommandHook> {
    let mut hooks = Vec::new();
    for (event, matchers) in value.as_object().into_iter().flatten() {
        for matcher in matchers.as_array().into_iter().flatten() {
            for hook in matcher["hooks"].as_array().into_iter().flatten() {
                let Some(command) = hook["command"].as_str() else { continue };
                if hook["type"] != "command" {
                    continue;
                }
                let default = if event == "UserPromptSubmit" { 30.0 } else { 600.0 };
                let seconds = hook["timeout"].as_f64().filter(|seconds| *seconds > 0.0);
                hooks.push(CommandHook {
                    event: event.clone(),
                    matcher: matcher["matcher"].as_str().map(str::to_owned),
                    command: command.to_owned(),
                    timeout: Duration::from_secs_f64(seconds.unwrap_or(default).min(86_400.0)),
                    source,
                });
            }
        }
    }
    hooks
}
