//! [`Reading`]: what a line means for the ledger. Mostly for lines that could not be decoded.

use crate::id::Uuid;
use crate::lines::{CommandState, ResultSubtype, TurnResult};
use crate::message::{Origin, OriginKind};
use crate::system::{System, TaskStatus, TaskType};
use crate::text::Text;

use super::salvage::Salvage;

/// What a line means for the ledger.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    /// Nothing.
    Nothing,
    /// An introduction. It begins a turn if none runs: some agents introduce themselves twice.
    MayHaveBegun { prompts: Vec<Uuid> },
    /// The main agent wrote something.
    Spoke,
    /// A turn ends. This result replaces the one that could not be decoded.
    Ended { result: Box<TurnResult> },
    /// The state of a prompt.
    Command { uuid: Uuid, state: CommandState },
    /// Nothing more happens without input.
    Idle,
    /// A task that keeps the conversation open works in the background.
    TaskStarted(String),
    /// A task has ended.
    TaskEnded(String),
    /// All tasks in the background that keep the conversation open.
    Tasks(Vec<String>),
    /// The line may have ended something.
    Unclear,
}

/// What a line means that could not be decoded.
#[derive(Clone, Debug)]
pub(crate) struct Salvaged {
    /// The uuid of the line.
    pub(crate) uuid: Option<String>,
    pub(crate) reading: Reading,
}

impl Reading {
    /// What a system line means for background tasks.
    pub(crate) fn of_task(system: &System) -> Self {
        match system {
            System::BackgroundTasksChanged(line) if line.tasks.value().is_some() => {
                let tasks = line.tasks.items().iter();
                let tasks = tasks.filter(|task| holds_open(task.task_type.value()));
                let ids = tasks.filter_map(|task| task.task_id.as_str().map(str::to_owned));
                Self::Tasks(ids.collect())
            }
            System::BackgroundTasksChanged(_) => Self::Unclear,
            System::TaskStarted(line) => match line.task_id.as_str() {
                Some(task)
                    if line.is_backgrounded.is_true() && holds_open(line.task_type.value()) =>
                {
                    Self::TaskStarted(task.to_owned())
                }
                _ => Self::Nothing,
            },
            System::TaskUpdated(line) => {
                let patch = line.patch.value();
                let status = patch.and_then(|patch| patch.status.as_str());
                of_status(line.task_id.as_str(), status, patch.is_none())
            }
            System::TaskNotification(line) => match line.task_id.as_str() {
                Some(task) => Self::TaskEnded(task.to_owned()),
                None => Self::Unclear,
            },
            _ => Self::Nothing,
        }
    }

    /// What these bytes mean: a line that could not be decoded, or the beginning of one. `fault` describes why.
    pub(crate) fn salvage(bytes: &[u8], fault: &str) -> Salvaged {
        let salvage = Salvage::of(bytes);
        let reading = Self::of_salvage(&salvage, fault);
        Salvaged { uuid: salvage.string("uuid").map(str::to_owned), reading }
    }

    fn of_salvage(line: &Salvage<'_>, fault: &str) -> Self {
        let kind = line.kind();
        match kind.as_deref() {
            Some("result") => Self::replacement(line, fault),
            Some("system") => Self::of_salvaged_system(line, fault),
            Some("command_lifecycle") => {
                match (line.string("command_uuid"), line.string("state")) {
                    (Some(uuid), Some(state)) => {
                        Self::Command { uuid: Uuid::from(uuid), state: CommandState::from(state) }
                    }
                    _ => Self::Unclear,
                }
            }
            Some("assistant" | "stream_event") => match line.string("parent_tool_use_id") {
                None => Self::Spoke,
                Some(_) => Self::Nothing,
            },
            Some("user") => Self::Nothing,
            Some("control_request" | "control_response" | "control_cancel_request") => {
                match line.string("request_id") {
                    Some(_) => Self::Nothing,
                    None => Self::Unclear,
                }
            }
            // A new kind of line, or one whose type is garbled.
            Some(_) if line.looks_like_a_result() => Self::Unclear,
            Some(_) => Self::Nothing,
            None if line.looks_like_a_result() => Self::replacement(line, fault),
            None if line.looks_like_a_message() => Self::Unclear,
            None => Self::Nothing,
        }
    }

    fn of_salvaged_system(line: &Salvage<'_>, fault: &str) -> Self {
        let task = line.string("task_id");
        match line.string("subtype") {
            Some("init") => {
                let prompts = line.strings("user_message_uuids").into_iter().map(Uuid::from);
                Self::MayHaveBegun { prompts: prompts.collect() }
            }
            Some("result") => Self::replacement(line, fault),
            Some("session_state_changed") => match line.string("state") {
                Some("idle") => Self::Idle,
                _ => Self::Unclear,
            },
            Some("background_tasks_changed") => Self::Unclear,
            Some("task_notification") => match task {
                Some(task) => Self::TaskEnded(task.to_owned()),
                None => Self::Unclear,
            },
            Some("task_started" | "task_progress") => Self::Nothing,
            Some("task_updated") => of_status(task, line.string("status"), true),
            // A new kind of line. If it is about a task, it may report its end.
            Some(_) if task.is_some() => of_status(task, line.string("status"), true),
            Some(_) => Self::Nothing,
            None => Self::Unclear,
        }
    }

    /// A result in place of one that could not be decoded.
    fn replacement(line: &Salvage<'_>, fault: &str) -> Self {
        let error = format!("the result is malformed: {fault}");
        let mut result = TurnResult::new()
            .subtype(ResultSubtype::ErrorDuringExecution)
            .is_error(true)
            .errors([Text::from(error)]);
        if let Some(uuid) = line.string("user_message_uuid") {
            result = result.user_message_uuid(uuid);
        }
        let uuids: Vec<Uuid> =
            line.strings("user_message_uuids").into_iter().map(Uuid::from).collect();
        if !uuids.is_empty() {
            result = result.user_message_uuids(uuids);
        }
        if line.has_object("origin") {
            result = result.origin(Origin::new().kind(OriginKind::Unclassified));
        }
        Self::Ended { result: Box::new(result) }
    }
}

/// What the status of a task means. Without a readable status, `unclear` decides.
fn of_status(task: Option<&str>, status: Option<&str>, unclear: bool) -> Reading {
    match (task, status.map(TaskStatus::from)) {
        (
            Some(task),
            Some(
                TaskStatus::Completed
                | TaskStatus::Failed
                | TaskStatus::Killed
                | TaskStatus::Stopped,
            ),
        ) => Reading::TaskEnded(task.to_owned()),
        (_, Some(TaskStatus::Pending | TaskStatus::Running | TaskStatus::Paused)) => {
            Reading::Nothing
        }
        (Some(_), None) if !unclear => Reading::Nothing,
        _ => Reading::Unclear,
    }
}

fn holds_open(kind: Option<&TaskType>) -> bool {
    !matches!(kind, Some(TaskType::LocalBash))
}
