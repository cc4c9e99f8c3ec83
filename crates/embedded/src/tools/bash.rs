//! `Bash`: runs a command.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use duologue_protocol::{RawObject, tool};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::persist::{MAX_SHOWN, first, preview};
use super::process::{Capture, Group, quoted, shell};
use super::{
    Access, Category, Role, ShellTask, ShellTasks, Tool, ToolContext, ToolFuture, ToolOutput,
    text_or_empty,
};
use crate::permission;

/// How long a command may run, in milliseconds, by default.
const DEFAULT_TIMEOUT: u64 = 120_000;

/// How long a command may run at all.
const MAX_TIMEOUT: u64 = 600_000;

/// How long a command may run on that was meant to be waited for.
const FOREGROUND_LEFT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How long a command may run that was started in the background.
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Runs a command in `bash`.
///
/// The command and what it starts are one process group. It ends with the command: what should continue
/// is to be started with `run_in_background`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BashTool;

impl BashTool {
    /// Its name.
    pub const NAME: &'static str = "Bash";
}

impl Tool for BashTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Executes a bash command and returns its output. The working directory persists between \
         commands; shell state does not. A command is stopped after `timeout` milliseconds (120000 \
         unless given, 600000 at the most). With `run_in_background` it goes on, and its output is \
         written to a file."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "The command to execute" },
                "timeout": { "type": "number", "description": "Optional timeout in milliseconds (max 600000)" },
                "description": { "type": "string", "description": "What this command does, in a few words" },
                "run_in_background": { "type": "boolean", "description": "Set to true to run this command in the background" },
                "dangerouslyDisableSandbox": { "type": "boolean", "description": "There is no sandbox here: changes nothing" },
            },
            "required": ["command"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        Access::Command(text_or_empty(input, "command"))
    }

    fn category(&self) -> Category {
        Category::Command
    }

    fn role(&self) -> Role {
        Role::Command
    }

    fn is_read_only(&self, input: &RawObject) -> bool {
        let command = input.get("command").and_then(|command| command.as_str());
        command.is_some_and(|command| permission::is_read_only_command(&command))
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Ok(input) = input.read::<tool::Bash>() else {
                return ToolOutput::unparsable(Self::NAME, input.as_json());
            };
            let command = input.command.as_str().unwrap_or_default();
            let started = if input.run_in_background.is_true() {
                in_background(command, &input, context).await
            } else {
                in_foreground(command, &input, context).await
            };
            started.unwrap_or_else(|error| ToolOutput::failed(error.to_string()))
        })
    }
}

async fn in_background(
    command: &str,
    input: &tool::Bash,
    context: &ToolContext,
) -> io::Result<ToolOutput> {
    context.tasks().room().map_err(io::Error::other)?;
    let task = plan(command, input, context)?;
    let capture = Capture::in_file(task.output_file.clone()).await?;
    let mut group = start(&script(command, None), context)?;
    let told = format!(
        "Command running in background with ID: {}. Output is being written to: {}. You will be notified when it completes. To check interim output, use Read on that file path.",
        task.id,
        task.output_file.display(),
    );
    let mut result = result("", false);
    result["backgroundTaskId"] = json!(task.id);
    let pipe = group.stdout();
    context.tasks().watch(task, group, pipe, capture, BACKGROUND_TIMEOUT);
    Ok(ToolOutput::text(told, result).succeeded())
}

async fn in_foreground(
    command: &str,
    input: &tool::Bash,
    context: &ToolContext,
) -> io::Result<ToolOutput> {
    let limit = input.timeout.as_f64().map_or(DEFAULT_TIMEOUT, |limit| limit.max(1.0) as u64);
    let limit = Duration::from_millis(limit.min(MAX_TIMEOUT));
    let ended_in = tempfile::NamedTempFile::new()?;
    let task = plan(command, input, context)?;
    let mut group = start(&script(command, Some(ended_in.path())), context)?;
    let mut pipe = group.stdout();
    let mut capture = Capture::new(Some(task.output_file.clone()));
    let foreground = context.tasks().wait_for(&task);
    let outcome = tokio::select! {
        biased;
        () = context.cancel().cancelled() => None,
        ended = timeout(limit, capture.until_exit(&mut group, &mut pipe)) => Some(ended),
        () = foreground.let_go() => {
            drop(foreground);
            capture.keep().await;
            let told = let_go(&task);
            context.tasks().watch(task, group, pipe, capture, FOREGROUND_LEFT_TIMEOUT);
            return Ok(told);
        }
    };
    let status = match outcome {
        None => {
            group.stop().await;
            return Ok(ToolOutput::stopped());
        }
        Some(Err(_)) => {
            group.stop().await;
            capture.drain(&mut pipe).await;
            None
        }
        Some(Ok(status)) => Some(status?),
    };
    let mut moved = None;
    if let Ok(cwd) = tokio::fs::read_to_string(ended_in.path()).await
        && let Some(cwd) = cwd.strip_suffix('\n').filter(|cwd| !cwd.is_empty())
        && Path::new(cwd) != context.cwd()
        && !context.enter(PathBuf::from(cwd))
    {
        moved = Some(format!("Shell cwd was reset to {}", context.root().display()));
    }
    Ok(match status {
        Some(status) if status.success() => succeeded(command, &mut capture, moved).await,
        status => failed(status, limit, &capture, moved),
    })
}

fn plan(command: &str, input: &tool::Bash, context: &ToolContext) -> io::Result<ShellTask> {
    let folder = context.outputs()?;
    Ok(ShellTasks::plan(&folder, command, input.description.as_str(), context.tool_use_id()))
}

fn let_go(task: &ShellTask) -> ToolOutput {
    let told = format!(
        "Command was manually backgrounded by user with ID: {}. Output is being written to: {}. If it is still running after 30m in the background, it will be stopped and you will be notified.",
        task.id,
        task.output_file.display(),
    );
    let mut result = result("", false);
    result["backgroundTaskId"] = json!(task.id);
    result["backgroundedByUser"] = json!(true);
    ToolOutput::text(told, result).succeeded()
}

async fn succeeded(command: &str, capture: &mut Capture, moved: Option<String>) -> ToolOutput {
    let head = capture.head();
    let text = head.trim_end();
    let long = text.chars().take(MAX_SHOWN + 1).count() > MAX_SHOWN;
    let mut result = result(first(text, MAX_SHOWN), permission::is_silent_command(command));
    let mut content = if long && let Some(path) = capture.keep().await {
        result["persistedOutputPath"] = json!(path);
        result["persistedOutputSize"] = json!(capture.total());
        preview(text, capture.total(), &path)
    } else {
        first(without_blank_beginning(text), MAX_SHOWN).to_owned()
    };
    if let Some(moved) = moved {
        result["stderr"] = json!(moved);
        if !content.is_empty() {
            content.push('\n');
        }
        content.push_str(&moved);
    }
    if content.is_empty() {
        content.push_str("(Bash completed with no output)");
    }
    ToolOutput::text(content, result).succeeded()
}

fn failed(
    status: Option<ExitStatus>,
    limit: Duration,
    capture: &Capture,
    moved: Option<String>,
) -> ToolOutput {
    let mut told = vec![format!("Exit code {}", status.map_or(143, exit_code))];
    if status.is_none() {
        told.push(format!("Command timed out after {}", duration(limit)));
    }
    let head = capture.head();
    let text = first(without_blank_beginning(head.trim_end()), MAX_SHOWN);
    if !text.is_empty() {
        told.push(text.to_owned());
    }
    told.extend(moved);
    ToolOutput::failed(told.join("\n"))
}

fn start(script: &str, context: &ToolContext) -> io::Result<Group> {
    let cwd = context.cwd();
    // The directory may have been removed.
    let cwd = if cwd.is_dir() { cwd } else { context.root().to_path_buf() };
    let mut command = shell(script);
    command.current_dir(cwd).envs(context.environment());
    Group::spawn(&mut command)
}

/// The command, with a suffix that reports its last working directory.
fn script(command: &str, ended_in: Option<&Path>) -> String {
    let mut script = String::from("exec 2>&1\n");
    if let Some(file) = ended_in {
        let tell = format!("pwd -P >| {}", quoted(&file.to_string_lossy()));
        script.push_str(&format!("trap {} EXIT\n", quoted(&tell)));
    }
    script.push_str(&format!("eval {}", quoted(command)));
    script
}

fn result(stdout: &str, no_output_expected: bool) -> Value {
    json!({
        "stdout": stdout,
        "stderr": "",
        "interrupted": false,
        "isImage": false,
        "noOutputExpected": no_output_expected,
    })
}

fn without_blank_beginning(text: &str) -> &str {
    let start = text.len() - text.trim_start().len();
    text[..start].rfind('\n').map_or(text, |end| &text[end + 1..])
}

fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// A duration as the CLI writes it: `2m 0s`.
fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{:.1}s", duration.as_secs_f64()),
        seconds if seconds < 60 => format!("{seconds}s"),
        seconds => format!("{}m {}s", seconds / 60, seconds % 60),
    }
}
