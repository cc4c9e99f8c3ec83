//! [`Server`]: answers the requests of the agent, each in a task or a thread of its own.
//!
//! An answer has four forms on its way: what the handler returns (such as [`Decision`](super::Decision)), the
//! wire type (such as `PermissionResult`), the [`Answer`] with its JSON, and the line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duologue_protocol::control::{AgentRequest, CanUseTool, HookCallback, McpMessage};
use duologue_protocol::hook::{HookEvent, HookOutput};
use duologue_protocol::host_link::Answer;
use duologue_protocol::{RawObject, RequestId};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::Instant;

use crate::dispatch::{Ask, Asks, Link, Received};
use crate::mcp::{self, McpConnection};
use crate::timeouts::HOOK_MARGIN;

use super::hook::{Hook, HookCall};
use super::permission::PermissionRequest;
use super::question::{PlanRequest, QuestionRequest};
use super::{BoxFuture, ElicitationAnswer, Handler, Handlers, boxed};

const NO_HANDLER: &str = "denied: this host has no handler for permissions";
const PANICKED: &str = "denied: the handler of this host failed";
const TOO_LATE: &str = "denied: this host did not answer in time";

/// The permission requests that the program answers itself, by id.
#[derive(Debug, Default)]
pub(crate) struct LeftOpen {
    open: Mutex<HashMap<RequestId, Box<CanUseTool>>>,
    /// Notified when a request is added or ends.
    changed: Notify,
}

impl LeftOpen {
    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Box<CanUseTool>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a request, to answer it. The program may read of a request before it is added here, so this waits
    /// until it is added or no longer open.
    pub(crate) async fn wait_for(&self, link: &Link, id: &RequestId) -> Option<Box<CanUseTool>> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            // A withdrawn request may still be in the map for a moment.
            if !link.is_open(id.clone()).await {
                return None;
            }
            if let Some(ask) = self.take(id) {
                return Some(ask);
            }
            changed.await;
        }
    }

    /// Removes a request, to answer it.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Box<CanUseTool>> {
        self.lock().remove(id)
    }

    /// Adds a request. The link bounds how many can be open.
    fn add(&self, id: RequestId, ask: Box<CanUseTool>) {
        self.lock().insert(id, ask);
        self.changed.notify_waiters();
    }
}

/// How the work for a request ends.
enum Done {
    Answer(Answer),
    /// The program answers the request itself.
    LeftOpen(Box<CanUseTool>),
    Stopped,
}

/// Makes the answer to a request whose handler fails or takes too long. The argument is the reason.
type Denial = fn(&str) -> Answer;

/// The work for a request.
struct Job {
    work: BoxFuture<Done>,
    /// The time limit, from when the request was read.
    within: Option<Duration>,
    denial: Denial,
}

/// What to do with a request.
enum Plan {
    /// Answer it at once.
    Answer(Answer),
    /// Run a handler.
    Work(Job),
    /// Leave it open for the program, with this time limit.
    LeaveOpen(Option<Duration>, Denial),
    /// Never answer it.
    Ignore,
}

/// Answers the requests of the agent.
pub(crate) struct Server {
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) left_open: Arc<LeftOpen>,
    pub(crate) link: Link,
    /// The MCP servers of this run of the agent.
    pub(crate) mcp: HashMap<String, Arc<dyn McpConnection>>,
    /// Handlers may block, so each call runs on a thread of its own.
    pub(crate) threads: bool,
}

/// The requests whose handlers are running.
#[derive(Default)]
struct Working {
    tasks: JoinSet<Done>,
    by_request: HashMap<RequestId, (Received, Stop)>,
    by_task: HashMap<Id, (RequestId, Received, Denial)>,
}

/// Stops the work for a request when it is dropped.
enum Stop {
    Task(AbortHandle),
    /// The work runs on a thread. It stops at its next await.
    Thread(#[expect(dead_code, reason = "dropping it sends the signal")] oneshot::Sender<()>),
}

impl Drop for Stop {
    fn drop(&mut self) {
        if let Self::Task(task) = self {
            task.abort();
        }
    }
}

impl Server {
    /// Runs until the conversation ends. Unfinished work is then dropped.
    pub(crate) async fn run(self, mut asks: Asks) {
        let mut working = Working::default();
        loop {
            tokio::select! {
                ask = asks.next() => match ask {
                    Some(Ask::Asked { id, request, received }) => {
                        self.asked(id, received, *request, &mut working).await;
                    }
                    Some(Ask::Withdrawn { id }) => {
                        self.left_open.take(&id);
                        self.left_open.changed.notify_waiters();
                        working.by_request.remove(&id);
                    }
                    None => break,
                },
                Some(done) = working.tasks.join_next_with_id() => {
                    let (task, done) = match done {
                        Ok((task, done)) => (task, Some(done)),
                        Err(error) => (error.id(), None),
                    };
                    let Some((id, received, denial)) = working.by_task.remove(&task) else { continue };
                    // The agent has withdrawn the request, and may have reused its id.
                    if !working.finished(&id, received) {
                        continue;
                    }
                    match done {
                        Some(Done::Answer(answer)) => self.answer(id, received, answer).await,
                        Some(Done::LeftOpen(ask)) => self.left_open.add(id, ask),
                        Some(Done::Stopped) => {}
                        None => self.answer(id, received, denial(PANICKED)).await,
                    }
                }
            }
        }
        // No request can be answered any more.
        self.left_open.lock().clear();
        self.left_open.changed.notify_waiters();
    }

    async fn answer(&self, id: RequestId, received: Received, answer: Answer) {
        // An error means that the conversation has ended.
        let _ = self.link.answer_received(id, received, answer).await;
        self.left_open.changed.notify_waiters();
    }

    /// Sets when the request is denied. Returns false if that time has passed.
    async fn set_deadline(
        &self,
        id: &RequestId,
        received: Received,
        within: Option<Duration>,
        denial: Denial,
    ) -> bool {
        let Some(deadline) = within.and_then(|within| received.at().checked_add(within)) else {
            return true;
        };
        let late = Instant::now() >= deadline;
        // The link keeps the time: handlers cannot delay it, and every answer passes through it.
        let _ = self.link.answer_by(id.clone(), received, deadline, denial(TOO_LATE)).await;
        !late
    }

    async fn asked(
        &self,
        id: RequestId,
        received: Received,
        request: AgentRequest,
        working: &mut Working,
    ) {
        match self.plan(&id, request) {
            Plan::Answer(answer) => self.answer(id, received, answer).await,
            Plan::Ignore => {
                let _ = self.link.leave_unanswered(id).await;
            }
            Plan::LeaveOpen(within, denial) => {
                self.set_deadline(&id, received, within, denial).await;
            }
            Plan::Work(job) => {
                if self.set_deadline(&id, received, job.within, job.denial).await {
                    working.start(id, received, job, self.threads);
                }
            }
        }
    }

    fn plan(&self, id: &RequestId, request: AgentRequest) -> Plan {
        let handlers = &self.handlers;
        let within = handlers.answer_within;
        let denial: Denial = |reason| Answer::Error(reason.into());
        match request {
            AgentRequest::CanUseTool(ask) => self.permission(id, ask),
            AgentRequest::HookCallback(hook) => self.hook(hook),
            AgentRequest::McpMessage(message) => self.mcp(*message),
            AgentRequest::Elicitation(ask) => match &handlers.elicitation {
                Some(handler) => {
                    let work = run_handler(handler, *ask, |answer| answer.answer());
                    Plan::Work(Job { work, within, denial })
                }
                None if handlers.by_hand => Plan::LeaveOpen(within, denial),
                None => Plan::Answer(ElicitationAnswer::decline().answer()),
            },
            AgentRequest::RequestUserDialog(ask) => {
                let kind = ask.dialog_kind.as_str().unwrap_or_default();
                let declared = handlers.dialog_kinds.iter().any(|known| known == kind);
                match &handlers.dialog {
                    Some(handler) if declared => {
                        let work = run_handler(handler, *ask, |answer| answer.answer());
                        Plan::Work(Job { work, within, denial })
                    }
                    _ if declared && handlers.by_hand => Plan::LeaveOpen(within, denial),
                    // Another host may show the dialog. An answer would dismiss it there.
                    _ => Plan::Ignore,
                }
            }
            AgentRequest::RemoteToolCall(_)
            | AgentRequest::RemotePlumbingCall(_)
            | AgentRequest::RemoteToolsProbe(_)
            | AgentRequest::RemoteToolsReannounce(_) => Plan::Ignore,
            AgentRequest::SdkControlInterrupt(_) => Plan::Answer(Answer::Ack),
            other => match self.other(&other) {
                None if handlers.by_hand && other.is_known() => Plan::LeaveOpen(within, denial),
                None => Plan::Answer(Answer::Unsupported(other.tag().into())),
                Some(job) => Plan::Work(job),
            },
        }
    }

    fn permission(&self, id: &RequestId, ask: Box<CanUseTool>) -> Plan {
        let handlers = &self.handlers;
        let within = handlers.answer_within;
        let denial: Denial = |reason| Answer::of(&CanUseTool::new().deny(reason));
        let name = ask.tool_name.as_str().unwrap_or_default();
        if name == "AskUserQuestion"
            && let Some(handler) = &handlers.question
        {
            let request = QuestionRequest::new(id.clone(), &ask);
            let work = run_handler(handler, request, move |answer| answer.answer(&ask));
            return Plan::Work(Job { work, within, denial });
        }
        if name == "ExitPlanMode"
            && let Some(handler) = &handlers.plan
        {
            let request = PlanRequest::new(id.clone(), &ask);
            let work = run_handler(handler, request, move |decision| decision.answer(&ask));
            return Plan::Work(Job { work, within, denial });
        }
        let Some(handler) = &handlers.permission else {
            if !handlers.by_hand {
                return Plan::Answer(Answer::of(&ask.deny(NO_HANDLER)));
            }
            self.left_open.add(id.clone(), ask);
            return Plan::LeaveOpen(within, denial);
        };
        let (handler, id) = (Arc::clone(handler), id.clone());
        let work = boxed(async move {
            match handler(PermissionRequest::new(id, ask.clone())).await.answer(&ask) {
                Some(answer) => Done::Answer(answer),
                None => Done::LeftOpen(ask),
            }
        });
        Plan::Work(Job { work, within, denial })
    }

    fn hook(&self, mut callback: Box<HookCallback>) -> Plan {
        // Legacy: `hook_data` instead of `input`.
        if callback.input.value().is_none()
            && let Some(data) = callback.hook_data.value()
        {
            callback.input = data.read().ok().into();
        }
        let call = HookCall::new(callback);
        let denial: Denial = if call.event() == HookEvent::PreToolUse {
            |reason| Answer::of(&HookOutput::deny_tool(reason))
        } else {
            |reason| Answer::Error(reason.into())
        };
        let callback = call.raw();
        let number = match callback.callback_id.as_str() {
            Some(id) => callback_number(id),
            None => self.hook_by_name(&call),
        };
        let Some(hook) = number.and_then(|number| self.handlers.hooks.get(number)) else {
            // Legacy: an event by name needs no hook, and gets an empty answer.
            return Plan::Answer(if callback.hook_name.value().is_some() {
                Answer::of(&RawObject::default())
            } else {
                denial("this host has no such hook")
            });
        };
        let within = hook.timeout.map(|limit| limit - (limit / 10).min(HOOK_MARGIN));
        let work = run_handler(&hook.handler, call, |output| Answer::of(&output));
        Plan::Work(Job { work, within, denial })
    }

    /// Legacy: the first hook that matches an event by name.
    fn hook_by_name(&self, call: &HookCall) -> Option<usize> {
        let event = HookEvent::from(call.raw().hook_name.as_str()?);
        let matches = |hook: &Hook| hook.event == event && hook.may_match(call.tool_name());
        self.handlers.hooks.iter().position(matches)
    }

    fn mcp(&self, message: McpMessage) -> Plan {
        let name = message.server_name.as_str().unwrap_or_default();
        let Some(server) = self.mcp.get(name) else {
            return Plan::Answer(Answer::Error(format!("SDK MCP server not found: {name}").into()));
        };
        let Some(message) = message.message.value().cloned() else {
            return Plan::Answer(Answer::Error("the message for the MCP server is missing".into()));
        };
        // Called here, so that messages keep their order. The task awaits the response.
        let response = server.handle(message);
        let work = boxed(async move { Done::Answer(Answer::of(&mcp::reply(response.await))) });
        let within = self.handlers.mcp_within.or(self.handlers.answer_within);
        Plan::Work(Job { work, within, denial: |reason| Answer::Error(reason.into()) })
    }

    fn other(&self, request: &AgentRequest) -> Option<Job> {
        let handler = self.handlers.other.get(request.tag())?;
        let request = RawObject::from_wire(request)?;
        let work = run_handler(handler, request, |result| match result {
            Ok(payload) => Answer::Success(payload),
            Err(error) => Answer::Error(error.into()),
        });
        let within = self.handlers.answer_within;
        Some(Job { work, within, denial: |reason| Answer::Error(reason.into()) })
    }
}

impl Working {
    fn start(&mut self, id: RequestId, received: Received, job: Job, threads: bool) {
        let Job { work, denial, .. } = job;
        let (task, stop) = if threads {
            let (stop, stopped) = oneshot::channel();
            let runtime = Handle::current();
            let task = self.tasks.spawn_blocking(move || {
                runtime.block_on(async {
                    tokio::select! {
                        biased;
                        _ = stopped => Done::Stopped,
                        done = work => done,
                    }
                })
            });
            (task.id(), Stop::Thread(stop))
        } else {
            let task = self.tasks.spawn(work);
            (task.id(), Stop::Task(task))
        };
        self.by_task.insert(task, (id.clone(), received, denial));
        self.by_request.insert(id, (received, stop));
    }

    /// Marks the work for a request as finished. Returns false if the request is no longer open.
    fn finished(&mut self, id: &RequestId, received: Received) -> bool {
        let is_open = self.by_request.get(id).is_some_and(|(open, _)| *open == received);
        if is_open {
            self.by_request.remove(id);
        }
        is_open
    }
}

/// Calls a handler in the task that polls the future: the call itself may panic.
fn run_handler<Q: Send + 'static, A: 'static>(
    handler: &Handler<Q, A>,
    request: Q,
    answer: impl FnOnce(A) -> Answer + Send + 'static,
) -> BoxFuture<Done> {
    let handler = Arc::clone(handler);
    boxed(async move { Done::Answer(answer(handler(request).await)) })
}

/// The callback id of a hook, by its position.
pub(crate) fn callback_name(number: usize) -> String {
    format!("hook_{number}")
}

fn callback_number(name: &str) -> Option<usize> {
    name.strip_prefix("hook_")?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;

    use super::*;
    use crate::dispatch::{Options, QueueOptions, Router, connect};

    /// What a host without handlers does with each request of the agent. A new request fails the test until someone
    /// decides.
    const WITHOUT_HANDLERS: &[(&str, &str)] = &[
        ("can_use_tool", "answer"),
        ("hook_callback", "error"),
        ("mcp_message", "error"),
        ("elicitation", "answer"),
        ("request_user_dialog", "no answer"),
        ("oauth_token_refresh", "unsupported"),
        ("host_auth_token_refresh", "unsupported"),
        ("remote_control_work_secret", "unsupported"),
        ("ui_copy", "unsupported"),
        ("ui_prompt_read", "unsupported"),
        ("ui_prompt_fill", "unsupported"),
        ("ui_prompt_paint", "unsupported"),
        ("ui_prompt_suggest", "unsupported"),
        ("ui_read_selection", "unsupported"),
        ("remote_tool_call", "no answer"),
        ("remote_plumbing_call", "no answer"),
        ("remote_tools_probe", "no answer"),
        ("remote_tools_reannounce", "no answer"),
        ("sdk_control_interrupt", "answer"),
    ];

    #[tokio::test]
    async fn every_request_of_the_agent_is_served_or_listed() {
        let queues = QueueOptions::new(1_000);
        let drained = Arc::clone(&queues.drained);
        let router = Arc::new(Mutex::new(Router::new(queues)));
        let (reader, writer) = (tokio::io::empty(), tokio::io::sink());
        let (link, _asks, _dispatcher) =
            connect(reader, writer, router, drained, Options::default());
        let server = Server {
            handlers: Arc::default(),
            left_open: Arc::default(),
            link,
            mcp: HashMap::new(),
            threads: false,
        };
        let plans: Vec<(&str, &str)> = AgentRequest::KNOWN
            .iter()
            .map(|tag| {
                let request = format!("{{\"subtype\":\"{tag}\"}}");
                let request = AgentRequest::from_json(&request).unwrap();
                let plan = match server.plan(&RequestId::from("1"), request) {
                    Plan::Answer(Answer::Success(_) | Answer::Ack) => "answer",
                    Plan::Answer(Answer::Error(_)) => "error",
                    Plan::Answer(Answer::Unsupported(_)) => "unsupported",
                    Plan::Answer(_) => "other",
                    Plan::Work(_) => "work",
                    Plan::LeaveOpen(..) => "left open",
                    Plan::Ignore => "no answer",
                };
                (*tag, plan)
            })
            .collect();
        assert_eq!(plans, WITHOUT_HANDLERS);
    }
}
