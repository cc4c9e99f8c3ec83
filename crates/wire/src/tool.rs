//! Built-in tools: typed views of their inputs and outputs. One table.
//!
//! A tool call carries its input as raw JSON, because a model can write anything, and its result carries the output as
//! raw JSON in `tool_use_result`. [`ToolInput`] and [`ToolOutput`] read them by the name of the tool. The fields are those
//! of the official TypeScript SDK 0.3.325 (`sdk-tools.d.ts`), and those that were recorded.

mod agent;
mod files;
mod question;

pub use agent::*;
pub use files::*;
pub use question::*;

use crate::json::{Fault, Number, RawJson, RawObject};
use crate::text::Text;
use crate::wire::{Finding, Map, Survey, Wire, record, words};

/// Makes [`ToolInput`], [`ToolOutput`] and their records. A name without braces refers to a type that is declared
/// elsewhere. The input of the tools after `output only` is not typed.
macro_rules! tools {
    (@record $docs:tt $name:ident []) => {};
    (@record [$($doc:tt)*] $name:ident [$fields:tt]) => {
        record! { $($doc)* $name $fields }
    };

    (
        $(
            $(#[doc = $doc:expr])*
            $($name:literal)|+ => $tool:ident $({ $($field:tt)* })?
            -> $output:ident $({ $($output_field:tt)* })?,
        )*
        output only
        $(
            $(#[doc = $rest_doc:expr])*
            $rest_name:literal => $rest_tool:ident
            -> $rest_output:ident { $($rest_field:tt)* },
        )*
    ) => {
        $(
            tools!(@record [$(#[doc = $doc])*] $tool [$({ $($field)* })?]);
            tools!(
                @record [#[doc = concat!("The output of `", stringify!($tool), "`.")]]
                $output [$({ $($output_field)* })?]
            );
        )*
        $(
            record! {
                #[doc = concat!("The output of `", $rest_name, "`.")]
                $rest_output { $($rest_field)* }
            }
        )*

        /// The input of a tool call, typed if the tool is built in.
        ///
        /// ```
        /// use duologue_wire::{RawObject, tool::ToolInput};
        /// use serde_json::json;
        ///
        /// let input = RawObject::of(&json!({ "command": "ls -la", "timeout": 5000 }))?;
        /// let ToolInput::Bash(bash) = ToolInput::read("Bash", &input)? else { panic!() };
        /// assert_eq!(bash.command.as_str(), Some("ls -la"));
        /// # Ok::<(), duologue_wire::Fault>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum ToolInput {
            $($(#[doc = $doc])* $tool($tool),)*
            /// Another tool: an MCP tool, or one that this version does not type.
            Other {
                /// Its name.
                name: Text,
                /// Its input.
                input: RawObject,
            },
        }

        impl ToolInput {
            /// Reads the input of the tool with this name.
            ///
            /// # Errors
            /// If a field of a built-in tool has the wrong JSON type.
            pub fn read(name: &str, input: &RawObject) -> Result<Self, Fault> {
                Ok(match name {
                    $($($name)|+ => Self::$tool(input.read()?),)*
                    other => Self::Other { name: Text::from(other), input: input.clone() },
                })
            }
        }

        /// The output of a tool call: the `tool_use_result` of a [`User`](crate::lines::User) line, typed if the tool is
        /// built in.
        ///
        /// ```
        /// use duologue_wire::{RawJson, tool::ToolOutput};
        ///
        /// let result = RawJson::parse(r#"{"stdout":"a.txt","stderr":"","interrupted":false}"#)?;
        /// let ToolOutput::Bash(bash) = ToolOutput::read("Bash", &result) else { panic!() };
        /// assert_eq!(bash.stdout.as_str(), Some("a.txt"));
        ///
        /// let result = RawJson::parse(r#""Error: Exit code 1""#)?;
        /// assert!(matches!(ToolOutput::read("Bash", &result), ToolOutput::Error(_)));
        /// # Ok::<(), duologue_wire::Fault>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum ToolOutput {
            $(
                #[doc = concat!("The output of `", stringify!($tool), "`.")]
                $tool(Box<$output>),
            )*
            $(
                #[doc = concat!("The output of `", $rest_name, "`.")]
                $rest_tool(Box<$rest_output>),
            )*
            /// A built-in tool failed or did not run. The text is the reason.
            Error(Text),
            /// The output of another tool, or an output that does not have the expected form.
            Other {
                /// The name of the tool.
                name: Text,
                /// The output.
                output: RawJson,
            },
        }

        impl ToolOutput {
            /// Reads the output of the tool with this name. Reading never fails: what does not have the expected form
            /// is [`Other`](Self::Other).
            pub fn read(name: &str, output: &RawJson) -> Self {
                let typed = match name {
                    $($($name)|+ => Self::typed(output, Self::$tool),)*
                    $($rest_name => Self::typed(output, Self::$rest_tool),)*
                    _ => None,
                };
                typed.unwrap_or_else(|| Self::Other { name: name.into(), output: output.clone() })
            }

            fn typed<T: Wire>(output: &RawJson, variant: fn(Box<T>) -> Self) -> Option<Self> {
                match output.read::<Text>() {
                    Ok(text) => Some(Self::Error(text)),
                    Err(_) => output.read().ok().map(|output| variant(Box::new(output))),
                }
            }

            /// Walks the output and reports what is unknown in it.
            pub fn survey(&self, report: impl FnMut(&str, Finding<'_>)) {
                match self {
                    $(Self::$tool(output) => Survey::of(output, report),)*
                    $(Self::$rest_tool(output) => Survey::of(output, report),)*
                    Self::Error(_) | Self::Other { .. } => {}
                }
            }

            /// The output as JSON text.
            pub fn to_json(&self) -> String {
                match self {
                    $(Self::$tool(output) => output.to_json(),)*
                    $(Self::$rest_tool(output) => output.to_json(),)*
                    Self::Error(text) => text.to_json(),
                    Self::Other { output, .. } => output.to_json(),
                }
            }
        }
    };
}

tools! {
    /// Run a command.
    "Bash" => Bash {
        /// The command.
        command: Text,
        /// A description for people.
        description: Text,
        /// Timeout in milliseconds.
        timeout: Number,
        /// Run it in the background.
        run_in_background: bool,
        /// Run it outside the sandbox.
        dangerously_disable_sandbox "dangerouslyDisableSandbox": bool,
    } -> BashOutput {
        /// Standard output.
        stdout: Text,
        /// Standard error.
        stderr: Text,
        /// The file with the raw output, if the output is large.
        raw_output_path "rawOutputPath": Text,
        /// The command was interrupted.
        interrupted: bool,
        /// `stdout` is image data.
        is_image "isImage": bool,
        /// The task, if the command runs in the background.
        background_task_id "backgroundTaskId": Text,
        /// The user moved the command to the background.
        backgrounded_by_user "backgroundedByUser": bool,
        /// The timeout in milliseconds after which the command moved to the background.
        timed_out_after_ms "timedOutAfterMs": Number,
        /// A note for the model: the working directory did not change.
        background_cwd_hint "backgroundCwdHint": Text,
        /// The background command ends with the final response.
        background_ends_with_final_response "backgroundEndsWithFinalResponse": bool,
        /// The end of the background command wakes the sub-agent that owns it.
        background_wakes_owner "backgroundWakesOwner": bool,
        /// The command ran outside the sandbox.
        dangerously_disable_sandbox "dangerouslyDisableSandbox": bool,
        /// The meaning of an exit code that is not an error.
        return_code_interpretation "returnCodeInterpretation": Text,
        /// The command prints nothing on success.
        no_output_expected "noOutputExpected": bool,
        /// Content blocks.
        structured_content "structuredContent": Vec<RawJson>,
        /// The file with the full output, if the output is too large.
        persisted_output_path "persistedOutputPath": Text,
        /// The size of the full output in bytes.
        persisted_output_size "persistedOutputSize": Number,
        /// A note for the model: files it has read changed during the command.
        stale_read_file_state_hint "staleReadFileStateHint": Text,
        /// A note for the model: GitHub limited the rate.
        gh_rate_limit_hint "ghRateLimitHint": Text,
        /// The git and GitHub operations in the command.
        git_operation "gitOperation": RawObject,
    },
    /// Read a file.
    "Read" => Read {
        /// The file.
        file_path: Text,
        /// The first line, from 1.
        offset: Number,
        /// The number of lines.
        limit: Number,
        /// The pages of a PDF: `1-5`.
        pages: Text,
    } -> ReadOutput,
    /// Write a file.
    "Write" => Write {
        /// The file.
        file_path: Text,
        /// The content.
        content: Text,
    } -> WriteOutput {
        /// `create` or `update`.
        kind "type": Text,
        /// The file.
        file_path "filePath": Text,
        /// The content.
        content: Text,
        /// The changes.
        structured_patch "structuredPatch": Vec<PatchHunk>,
        /// The content before; null for a new file.
        original_file "originalFile": Text,
        /// The changes as git shows them.
        git_diff "gitDiff": GitDiff,
        /// The user changed the content before accepting it.
        user_modified "userModified": bool,
        /// The write awaits a review; the file is unchanged.
        staged: bool,
    },
    /// Change a file.
    "Edit" => Edit {
        /// The file.
        file_path: Text,
        /// The text to replace.
        old_string: Text,
        /// The replacement.
        new_string: Text,
        /// Replace every occurrence, not only one.
        replace_all: bool,
    } -> EditOutput {
        /// The file.
        file_path "filePath": Text,
        /// The text that was replaced.
        old_string "oldString": Text,
        /// The replacement.
        new_string "newString": Text,
        /// The content before.
        original_file "originalFile": Text,
        /// The changes.
        structured_patch "structuredPatch": Vec<PatchHunk>,
        /// The user changed the edit before accepting it.
        user_modified "userModified": bool,
        /// Every occurrence was replaced.
        replace_all "replaceAll": bool,
        /// The changes as git shows them.
        git_diff "gitDiff": GitDiff,
        /// The edit awaits a review; the file is unchanged.
        staged: bool,
        /// The model has not seen the content.
        content_not_in_model_context "contentNotInModelContext": bool,
    },
    /// Find files by name.
    "Glob" => Glob {
        /// The pattern: `**/*.rs`.
        pattern: Text,
        /// The directory to search.
        path: Text,
    } -> GlobOutput {
        /// Duration in milliseconds.
        duration_ms "durationMs": Number,
        /// The number of files in `filenames`.
        num_files "numFiles": Number,
        /// The files.
        filenames: Vec<Text>,
        /// More files match.
        truncated: bool,
        /// The number of files that match.
        total_matches "totalMatches": Number,
        /// `total_matches` is exact; otherwise it is a lower bound.
        count_is_complete "countIsComplete": bool,
        /// The search ended at the time limit.
        timed_out "timedOut": bool,
    },
    /// Find text in files.
    "Grep" => Grep {
        /// A regular expression.
        pattern: Text,
        /// The file or directory to search.
        path: Text,
        /// Only files with this name: `*.rs`.
        glob: Text,
        /// Only files of this type: `rust`.
        file_type "type": Text,
        /// The form of the output.
        output_mode: GrepOutputMode,
        /// Lines before a match.
        before "-B": Number,
        /// Lines after a match.
        after "-A": Number,
        /// Lines around a match.
        around "-C": Number,
        /// Lines around a match.
        context: Number,
        /// Show line numbers.
        line_numbers "-n": bool,
        /// Ignore case.
        ignore_case "-i": bool,
        /// Show only the matching part of a line.
        only_matching "-o": bool,
        /// The maximum number of lines.
        head_limit: Number,
        /// The number of lines to skip first.
        offset: Number,
        /// A match can span lines.
        multiline: bool,
    } -> GrepOutput {
        /// The form of the output.
        mode: GrepOutputMode,
        /// The number of files.
        num_files "numFiles": Number,
        /// The files.
        filenames: Vec<Text>,
        /// The matching lines.
        content: Text,
        /// The number of lines.
        num_lines "numLines": Number,
        /// The number of matches.
        num_matches "numMatches": Number,
        /// The number of files before the limit.
        total_files "totalFiles": Number,
        /// The number of lines before the limit.
        total_lines "totalLines": Number,
        /// The limit.
        applied_limit "appliedLimit": Number,
        /// The offset.
        applied_offset "appliedOffset": Number,
        /// The search ended at the time limit.
        timed_out "timedOut": bool,
    },
    /// Change a notebook.
    "NotebookEdit" => NotebookEdit {
        /// The notebook.
        notebook_path: Text,
        /// The cell.
        cell_id: Text,
        /// The new source.
        new_source: Text,
        /// `code` or `markdown`.
        cell_type: Text,
        /// `replace`, `insert` or `delete`.
        edit_mode: Text,
    } -> NotebookEditOutput {
        /// The new source of the cell.
        new_source: Text,
        /// The source before, for `replace` and `delete`.
        old_source: Text,
        /// The cell.
        cell_id: Text,
        /// `code` or `markdown`.
        cell_type: Text,
        /// The language of the notebook.
        language: Text,
        /// `replace`, `insert` or `delete`.
        edit_mode: Text,
        /// The error, if the edit failed.
        error: Text,
        /// The notebook.
        notebook_path: Text,
        /// The content before.
        original_file: Text,
        /// The content after.
        updated_file: Text,
    },
    /// Start a sub-agent: `Agent`, or `Task` by its older name.
    "Agent" | "Task" => Agent {
        /// A description of a few words.
        description: Text,
        /// The prompt.
        prompt: Text,
        /// The kind of sub-agent.
        subagent_type: Text,
        /// Its model.
        model: Text,
        /// Run it in the background.
        run_in_background: bool,
        /// Its name in a team.
        name: Text,
        /// Its team.
        team_name: Text,
        /// Its permission mode.
        mode: Text,
        /// Where it works: `worktree`.
        isolation: Text,
        /// The maximum number of steps.
        max_turns: Number,
        /// The sub-agent to continue.
        resume: Text,
    } -> AgentOutput,
    /// Write a list of tasks.
    "TodoWrite" => TodoWrite {
        /// The list.
        todos: Vec<Todo>,
    } -> TodoWriteOutput {
        /// The list before.
        old_todos "oldTodos": Vec<Todo>,
        /// The list after.
        new_todos "newTodos": Vec<Todo>,
        /// A reminder to verify the work is due.
        verification_nudge_needed "verificationNudgeNeeded": bool,
    },
    /// Fetch a page.
    "WebFetch" => WebFetch {
        /// Its address.
        url: Text,
        /// What to extract from it.
        prompt: Text,
    } -> WebFetchOutput {
        /// The size of the page in bytes.
        bytes: Number,
        /// The HTTP status.
        code: Number,
        /// The HTTP status as text.
        code_text "codeText": Text,
        /// The answer to the prompt.
        result: Text,
        /// Duration in milliseconds.
        duration_ms "durationMs": Number,
        /// The address.
        url: Text,
        /// The artifact that was read.
        artifact_read "artifactRead": RawObject,
    },
    /// Search the web.
    "WebSearch" => WebSearch {
        /// The query.
        query: Text,
        /// Only these domains.
        allowed_domains: Vec<Text>,
        /// Not these domains.
        blocked_domains: Vec<Text>,
    } -> WebSearchOutput {
        /// The query.
        query: Text,
        /// Search results, and texts of the model.
        results: Vec<RawJson>,
        /// Duration in seconds.
        duration_seconds "durationSeconds": Number,
        /// The number of searches.
        search_count "searchCount": Number,
    },
    /// Ask the user questions.
    "AskUserQuestion" => AskUserQuestion -> AskUserQuestion,
    /// Propose a plan.
    ///
    /// The CLI adds the plan from its plan file. Without such a file the input is empty, even if the model wrote a plan.
    "ExitPlanMode" => ExitPlanMode {
        /// The plan, in Markdown.
        plan: Text,
        /// The plan file.
        plan_file_path "planFilePath": Text,
        /// The permissions that the plan needs.
        allowed_prompts "allowedPrompts": Vec<AllowedPrompt>,
    } -> ExitPlanModeOutput {
        /// The plan; null if there is none.
        plan: Text,
        /// A sub-agent proposed it.
        is_agent "isAgent": bool,
        /// The plan file.
        file_path "filePath": Text,
        /// The `Agent` tool is available.
        has_task_tool "hasTaskTool": bool,
        /// The user changed the plan.
        plan_was_edited "planWasEdited": bool,
        /// The plan awaits the approval of the team's leader.
        awaiting_leader_approval "awaitingLeaderApproval": bool,
        /// The id of that request for approval.
        request_id "requestId": Text,
    },

    output only

    /// Enter plan mode.
    "EnterPlanMode" => EnterPlanMode -> EnterPlanModeOutput {
        /// A confirmation.
        message: Text,
    },
    /// Find tools that are not loaded.
    "ToolSearch" => ToolSearch -> ToolSearchOutput {
        /// The tools.
        matches: Vec<Text>,
        /// The query.
        query: Text,
        /// The number of tools that are not loaded.
        total_deferred_tools: Number,
        /// MCP servers that are still connecting.
        pending_mcp_servers: RawJson,
    },
    /// Stop a task.
    "TaskStop" => TaskStop -> TaskStopOutput {
        /// A confirmation.
        message: Text,
        /// The task.
        task_id: Text,
        /// The type of the task.
        task_type: Text,
        /// The command or description of the task.
        command: Text,
    },
    /// Create a task.
    "TaskCreate" => TaskCreate -> TaskCreateOutput {
        /// The task.
        task: ListedTask,
    },
    /// Show a task.
    "TaskGet" => TaskGet -> TaskGetOutput {
        /// The task; null if there is none.
        task: ListedTask,
    },
    /// Change a task.
    "TaskUpdate" => TaskUpdate -> TaskUpdateOutput {
        /// Whether the task changed.
        success: bool,
        /// The task.
        task_id "taskId": Text,
        /// The fields that changed.
        updated_fields "updatedFields": Vec<Text>,
        /// The error, if the change failed.
        error: Text,
        /// The old and the new status.
        status_change "statusChange": Map<Text>,
    },
    /// List the tasks.
    "TaskList" => TaskList -> TaskListOutput {
        /// The tasks.
        tasks: Vec<ListedTask>,
    },
    /// Enter a git worktree.
    "EnterWorktree" => EnterWorktree -> EnterWorktreeOutput {
        /// Its directory.
        worktree_path "worktreePath": Text,
        /// Its branch.
        worktree_branch "worktreeBranch": Text,
        /// A confirmation.
        message: Text,
    },
    /// Leave a git worktree.
    "ExitWorktree" => ExitWorktree -> ExitWorktreeOutput {
        /// `keep` or `remove`.
        action: Text,
        /// The directory to which the session returns.
        original_cwd "originalCwd": Text,
        /// The directory of the worktree.
        worktree_path "worktreePath": Text,
        /// The branch of the worktree.
        worktree_branch "worktreeBranch": Text,
        /// The tmux session.
        tmux_session_name "tmuxSessionName": Text,
        /// The number of changed files that were discarded.
        discarded_files "discardedFiles": Number,
        /// The number of commits that were discarded.
        discarded_commits "discardedCommits": Number,
        /// A confirmation.
        message: Text,
    },
    /// Watch something in the background.
    "Monitor" => Monitor -> MonitorOutput {
        /// The task.
        task_id "taskId": Text,
        /// The timeout in milliseconds; 0 without one.
        timeout_ms "timeoutMs": Number,
        /// It runs until it is stopped or the session ends.
        persistent: bool,
    },
    /// Schedule the next turn.
    "ScheduleWakeup" => ScheduleWakeup -> ScheduleWakeupOutput {
        /// When it starts, in milliseconds since 1970.
        scheduled_for "scheduledFor": Number,
        /// The delay in seconds, within the limits.
        clamped_delay_seconds "clampedDelaySeconds": Number,
        /// The requested delay was outside the limits.
        was_clamped "wasClamped": bool,
        /// The model ended the loop.
        stopped: bool,
        /// The number of scheduled turns that were cancelled.
        cancelled_wakeups "cancelledWakeups": Number,
    },
    /// Schedule a job.
    "CronCreate" => CronCreate -> CronCreateOutput {
        /// The job.
        id: Text,
        /// The schedule for people.
        human_schedule "humanSchedule": Text,
        /// It runs more than once.
        recurring: bool,
        /// It survives the session.
        durable: bool,
        /// The next run, in milliseconds since 1970.
        next_fire_at "nextFireAt": Number,
    },
    /// Delete a job.
    "CronDelete" => CronDelete -> CronDeleteOutput {
        /// The job.
        id: Text,
        /// The scheduled turn of a loop was cancelled with it.
        ended_loop_wakeup "endedLoopWakeup": bool,
    },
    /// List the jobs.
    "CronList" => CronList -> CronListOutput {
        /// The jobs.
        jobs: Vec<CronJob>,
    },
    /// Start a workflow.
    "Workflow" => Workflow -> WorkflowOutput {
        /// `async_launched` or `remote_launched`.
        status: Text,
        /// The task.
        task_id "taskId": Text,
        /// The type of the task: `local_workflow` or `remote_agent`.
        task_type "taskType": Text,
        /// The name of the workflow.
        workflow_name "workflowName": Text,
        /// The run, to resume it.
        run_id "runId": Text,
        /// A summary.
        summary: Text,
        /// The directory with the transcripts of the sub-agents.
        transcript_dir "transcriptDir": Text,
        /// The file with the script.
        script_path "scriptPath": Text,
        /// The address of the cloud session.
        session_url "sessionUrl": Text,
        /// A warning.
        warning: Text,
        /// The error, if the script is not valid.
        error: Text,
    },
    /// Send a notification to the user's devices.
    "PushNotification" => PushNotification -> PushNotificationOutput {
        /// A confirmation.
        message: Text,
        /// It was sent to devices.
        push_sent "pushSent": bool,
        /// It was shown on this machine.
        local_sent "localSent": bool,
        /// The reason, if it was not sent.
        disabled_reason "disabledReason": Text,
        /// When it was sent.
        sent_at "sentAt": Text,
    },
    /// Read a resource of an MCP server.
    "ReadMcpResource" => ReadMcpResource -> ReadMcpResourceOutput {
        /// The contents.
        contents: Vec<ReadMcpContent>,
        /// The error, if the server could not read it.
        error: Text,
    },
}

words! {
    /// The form of the output of `Grep`.
    GrepOutputMode {
        /// The matching lines.
        Content = "content",
        /// The files.
        FilesWithMatches = "files_with_matches",
        /// The number of matches.
        Count = "count",
    }
}

record! {
    /// A task in the list of `TodoWrite`.
    Todo {
        /// What to do.
        content: Text,
        /// The status.
        status: TodoStatus,
        /// The text to show while it is in progress.
        active_form "activeForm": Text,
    }
}

words! {
    /// The status of a task.
    TodoStatus {
        /// Not started.
        Pending = "pending",
        /// In progress.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
    }
}

record! {
    /// A task of `TaskCreate`, `TaskGet` and `TaskList`.
    ListedTask {
        /// Its id.
        id: Text,
        /// Its subject.
        subject: Text,
        /// Its description.
        description: Text,
        /// Its status.
        status: TodoStatus,
        /// Its owner.
        owner: Text,
        /// The tasks that wait for it.
        blocks: Vec<Text>,
        /// The tasks that it waits for.
        blocked_by "blockedBy": Vec<Text>,
    }
}

record! {
    /// A scheduled job.
    CronJob {
        /// Its id.
        id: Text,
        /// The schedule.
        cron: Text,
        /// The schedule for people.
        human_schedule "humanSchedule": Text,
        /// The prompt that it sends.
        prompt: Text,
        /// It runs more than once.
        recurring: bool,
        /// It survives the session.
        durable: bool,
        /// The next run, in milliseconds since 1970.
        next_fire_at "nextFireAt": Number,
    }
}

record! {
    /// A permission that a plan needs.
    AllowedPrompt {
        /// The tool.
        tool: Text,
        /// What the tool will do.
        prompt: Text,
    }
}

record! {
    /// The content of an MCP resource.
    ReadMcpContent {
        /// Its address.
        uri: Text,
        /// Its MIME type.
        mime_type "mimeType": Text,
        /// The text.
        text: Text,
        /// The file in which binary content was saved.
        blob_saved_to "blobSavedTo": Text,
    }
}
