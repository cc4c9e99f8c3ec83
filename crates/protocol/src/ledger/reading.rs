//! [`Reading`]: what a line means for the ledger, whether it could be decoded or not.

use crate::id::Uuid;
use crate::line::{Decoded, Line};
use crate::lines::{CommandLifecycle, CommandState, ResultSubtype, TurnResult};
use crate::message::{Origin, OriginKind};
use crate::system::{SessionState, System, TaskStatus, TaskType};
use crate::text::Text;
use crate::to_host::ToHost;

use super::salvage::Salvage;

/// What a line means for the ledger.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    /// Nothing.
    Nothing,
    /// A turn begins. It answers these prompts.
    Began { prompts: Vec<Uuid> },
    /// An introduction that could not be read. It begins a turn if none runs: agents introduce themselves
    /// twice, too.
    MayHaveBegun { prompts: Vec<Uuid> },
    /// The main agent says something, in answer to these prompts.
    Spoke { prompts: Vec<Uuid> },
    /// A turn ends. If the result could not be read, this one stands in for it.
    Ended { result: Box<TurnResult>, readable: bool },
    /// What became of a prompt.
    Command { uuid: Uuid, state: CommandState },
    /// Nothing more happens without input.
    Idle,
    /// A task that keeps the conversation open works in the background.
    TaskStarted(String),
    /// A task has ended.
    TaskEnded(String),
    /// All tasks in the background that keep the conversation open.
    Tasks(Vec<String>),
    /// It may have said that something has ended, but cannot be read.
    Unclear,
}

/// What a line means that could not be decoded.
#[derive(Clone, Debug)]
pub(crate) struct Salvaged {
    /// The name of the line.
    pub(crate) uuid: Option<String>,
    pub(crate) reading: Reading,
}

impl Reading {
    /// What a line means. A line that could not be decoded is searched for what can be read of it.
    pub(crate) fn of(decoded: &Decoded<ToHost>, line: &Line) -> Salvaged {
        let fault = match decoded {
            Decoded::Known(message) => return Self::known(message),
            Decoded::Unknown(message @ ToHost::Result(_)) => return Self::known(message),
            Decoded::Unknown(_) => String::new(),
            Decoded::Malformed(fault) => fault.to_string(),
        };
        Self::salvage(line.raw(), &fault)
    }

    fn known(message: &ToHost) -> Salvaged {
        let uuid = message.uuid().map(|uuid| uuid.as_str().to_owned());
        Salvaged { uuid, reading: Self::of_message(message) }
    }

    /// What a message means.
    pub(crate) fn of_message(message: &ToHost) -> Self {
        match message {
            ToHost::Result(result) => Self::Ended { result: result.clone(), readable: true },
            ToHost::CommandLifecycle(line) => Self::of_command(line),
            ToHost::Assistant(line) if line.parent_tool_use_id.value().is_none() => {
                let named = line.user_message_uuid.value().into_iter();
                let prompts = named.chain(line.user_message_uuids.items()).cloned().collect();
                Self::Spoke { prompts }
            }
            ToHost::StreamEvent(line) if line.parent_tool_use_id.value().is_none() => {
                Self::Spoke { prompts: Vec::new() }
            }
            ToHost::System(system) => Self::of_system(system),
            _ => Self::Nothing,
        }
    }

    fn of_command(line: &CommandLifecycle) -> Self {
        match (line.command_uuid.value(), line.state.value()) {
            (Some(uuid), Some(state)) => {
                Self::Command { uuid: uuid.detach(), state: state.clone() }
            }
            _ => Self::Unclear,
        }
    }

    pub(crate) fn of_system(system: &System) -> Self {
        match system {
            System::Init(init) => Self::Began { prompts: init.user_message_uuids.items().to_vec() },
            System::Result(line) => {
                Self::Ended { result: Box::new(line.as_result()), readable: true }
            }
            System::SessionStateChanged(line) => match line.state.value() {
                Some(SessionState::Idle) => Self::Idle,
                _ => Self::Nothing,
            },
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

    /// What these bytes mean: a line that could not be decoded, or the beginning of one.
    pub(crate) fn salvage(bytes: &[u8], fault: &str) -> Salvaged {
        let salvage = Salvage::of(bytes);
        let reading = Self::of_salvage(&salvage, fault);
        Salvaged { uuid: salvage.string("uuid").map(str::to_owned), reading }
    }

    fn of_salvage(line: &Salvage<'_>, fault: &str) -> Self {
        let kind = line.kind();
        match kind.as_deref() {
            Some("result") => Self::stand_in(line, fault),
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
                None => Self::Spoke { prompts: Vec::new() },
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
            None if line.looks_like_a_result() => Self::stand_in(line, fault),
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
            Some("result") => Self::stand_in(line, fault),
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
            // A new kind of line. If it is about a task, it may tell its end.
            Some(_) if task.is_some() => of_status(task, line.string("status"), true),
            Some(_) => Self::Nothing,
            None => Self::Unclear,
        }
    }

    /// A result in place of one that could not be read.
    fn stand_in(line: &Salvage<'_>, fault: &str) -> Self {
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
        Self::Ended { result: Box::new(result), readable: false }
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
