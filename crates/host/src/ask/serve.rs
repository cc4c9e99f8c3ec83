//! [`Server`]: answers what the agent asks, each request in a task or a thread of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duologue_link::{Ask, Asks, Link, Received};
use duologue_protocol::control::{AgentRequest, CanUseTool, HookCallback, McpMessage};
use duologue_protocol::hook::HookOutput;
use duologue_protocol::host_link::Answer;
use duologue_protocol::{RawObject, RequestId};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::Instant;

use crate::mcp::{self, McpConnection};

use super::handlers::{BoxFuture, Handler, Handlers, boxed};
use super::hook::{Hook, HookCall};
use super::permission::PermissionRequest;
use super::person::{PlanRequest, QuestionRequest};

/// How much sooner than its matcher says a hook must answer, at most.
const SOONER: Duration = Duration::from_secs(1);

const NO_HANDLER: &str = "no handler decides about permissions here, so the answer is no";
const PANICKED: &str = "the handler that decides failed, so the answer is no";
const TOO_LATE: &str = "there was no decision in time, so the answer is no";

/// The requests for permission that wait for the program, by id.
#[derive(Debug, Default)]
pub(crate) struct LeftOpen {
    open: Mutex<HashMap<RequestId, Box<CanUseTool>>>,
    /// Something became of a request.
    changed: Notify,
}

impl LeftOpen {
    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Box<CanUseTool>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request out, to answer it. A request may be seen before it is left open: then this
    /// waits for that, as long as the agent does.
    pub(crate) async fn wait_for(&self, link: &Link, id: &RequestId) -> Option<Box<CanUseTool>> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            // What was withdrawn may still stand here for a moment.
            if !link.is_open(id.clone()).await {
                return None;
            }
            if let Some(ask) = self.take(id) {
                return Some(ask);
            }
            changed.await;
        }
    }

    /// Takes a request out, to answer it.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Box<CanUseTool>> {
        self.lock().remove(id)
    }

    /// Leaves a request open. The link bounds how many there can be.
    fn leave(&self, id: RequestId, ask: Box<CanUseTool>) {
        self.lock().insert(id, ask);
        self.changed.notify_waiters();
    }
}

/// What becomes of a request.
enum Reply {
    Answer(Answer),
    /// The program answers.
    Later(Box<CanUseTool>),
    /// The work was stopped.
    Stopped,
}

/// What is answered if the work fails, or takes too long.
type Failed = fn(&str) -> Answer;

/// The work for a request.
struct Job {
    work: BoxFuture<Reply>,
    /// How long it may take, from when the request was read.
    within: Option<Duration>,
    failed: Failed,
}

/// What is done about a request.
enum Plan {
    /// It is answered at once.
    Answer(Answer),
    /// A handler works on it.
    Work(Job),
    /// It stays open for the program, which may take this long.
    Leave(Option<Duration>, Failed),
    /// It must not be answered.
    Ignore,
}

/// Answers what the agent asks.
pub(crate) struct Server {
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) left_open: Arc<LeftOpen>,
    pub(crate) link: Link,
    /// The MCP servers, as this run of the agent knows them.
    pub(crate) mcp: HashMap<String, Arc<dyn McpConnection>>,
    /// Each handler has a thread of its own, as it may block.
    pub(crate) threads: bool,
}

/// The requests that are being worked on.
#[derive(Default)]
struct Working {
    tasks: JoinSet<Reply>,
    by_request: HashMap<RequestId, (Received, Stop)>,
    by_task: HashMap<Id, (RequestId, Received, Failed)>,
}

/// Stops the work for a request when it is dropped.
enum Stop {
    Task(AbortHandle),
    /// The work has a thread: it is told to stop, and stops where it next waits.
    Thread(#[expect(dead_code, reason = "dropping it is the message")] oneshot::Sender<()>),
}

impl Drop for Stop {
    fn drop(&mut self) {
        if let Self::Task(task) = self {
            task.abort();
        }
    }
}

impl Server {
    /// Serves until the conversation has ended. Work that is not done then is dropped.
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
                    let (task, reply) = match done {
                        Ok((task, reply)) => (task, Some(reply)),
                        Err(error) => (error.id(), None),
                    };
                    let Some((id, received, failed)) = working.by_task.remove(&task) else { continue };
                    // Withdrawn meanwhile, and perhaps asked again: nothing is said.
                    if !working.finished(&id, received) {
                        continue;
                    }
                    match reply {
                        Some(Reply::Answer(answer)) => self.answer(id, received, answer).await,
                        Some(Reply::Later(ask)) => self.left_open.leave(id, ask),
                        Some(Reply::Stopped) => {}
                        None => self.answer(id, received, failed(PANICKED)).await,
                    }
                }
            }
        }
        // Nobody can be answered any more.
        self.left_open.lock().clear();
        self.left_open.changed.notify_waiters();
    }

    async fn answer(&self, id: RequestId, received: Received, answer: Answer) {
        // If the conversation has ended, there is nobody to tell.
        let _ = self.link.answer_received(id, received, answer).await;
        self.left_open.changed.notify_waiters();
    }

    /// Sets when the answer is no. False if that is so already.
    async fn set_deadline(
        &self,
        id: &RequestId,
        received: Received,
        within: Option<Duration>,
        failed: Failed,
    ) -> bool {
        let Some(deadline) = within.and_then(|within| received.at().checked_add(within)) else {
            return true;
        };
        let late = Instant::now() >= deadline;
        // The link keeps the time: it is never held up by a handler, and sees every way to answer.
        let _ = self.link.answer_by(id.clone(), received, deadline, failed(TOO_LATE)).await;
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
            Plan::Leave(within, failed) => {
                self.set_deadline(&id, received, within, failed).await;
            }
            Plan::Work(job) => {
                if self.set_deadline(&id, received, job.within, job.failed).await {
                    working.start(id, received, job, self.threads);
                }
            }
        }
    }

    fn plan(&self, id: &RequestId, request: AgentRequest) -> Plan {
        let handlers = &self.handlers;
        let within = handlers.deadline;
        let failed: Failed = |why| Answer::Error(why.into());
        match request {
            AgentRequest::CanUseTool(ask) => self.permission(id, ask),
            AgentRequest::HookCallback(hook) => self.hook(hook),
            AgentRequest::McpMessage(message) => self.mcp(*message),
            AgentRequest::Elicitation(ask) => match &handlers.elicitation {
                Some(handler) => {
                    let work = answered(handler, *ask, |answer| Answer::of(answer.reply()));
                    Plan::Work(Job { work, within, failed })
                }
                None if handlers.by_hand => Plan::Leave(within, failed),
                None => Plan::Answer(Answer::of(super::ElicitationAnswer::decline().reply())),
            },
            AgentRequest::RequestUserDialog(ask) => {
                let kind = ask.dialog_kind.as_str().unwrap_or_default();
                let declared = handlers.dialog_kinds.iter().any(|known| known == kind);
                match &handlers.dialog {
                    Some(handler) if declared => {
                        let work = answered(handler, *ask, |answer| Answer::of(answer.reply()));
                        Plan::Work(Job { work, within, failed })
                    }
                    _ if declared && handlers.by_hand => Plan::Leave(within, failed),
                    // Another host may know it: to answer would be to dismiss it.
                    _ => Plan::Ignore,
                }
            }
            AgentRequest::RemoteToolCall(_)
            | AgentRequest::RemotePlumbingCall(_)
            | AgentRequest::RemoteToolsProbe(_)
            | AgentRequest::RemoteToolsReannounce(_) => Plan::Ignore,
            AgentRequest::SdkControlInterrupt(_) => Plan::Answer(Answer::Ack),
            other => match self.other(&other) {
                None if handlers.by_hand && other.is_known() => Plan::Leave(None, failed),
                None => Plan::Answer(Answer::Unsupported(other.tag().into())),
                Some(job) => Plan::Work(job),
            },
        }
    }

    fn permission(&self, id: &RequestId, ask: Box<CanUseTool>) -> Plan {
        let handlers = &self.handlers;
        let within = handlers.deadline;
        let failed: Failed = |why| Answer::of(&CanUseTool::new().deny(why));
        let name = ask.tool_name.as_str().unwrap_or_default();
        if name == "AskUserQuestion"
            && let Some(handler) = &handlers.question
        {
            let request = QuestionRequest::new(id.clone(), &ask);
            let work = answered(handler, request, move |answer| Answer::of(&answer.result(&ask)));
            return Plan::Work(Job { work, within, failed });
        }
        if name == "ExitPlanMode"
            && let Some(handler) = &handlers.plan
        {
            let request = PlanRequest::new(id.clone(), &ask);
            let work =
                answered(handler, request, move |decision| Answer::of(&decision.result(&ask)));
            return Plan::Work(Job { work, within, failed });
        }
        let Some(handler) = &handlers.permission else {
            if !handlers.by_hand {
                return Plan::Answer(Answer::of(&ask.deny(NO_HANDLER)));
            }
            self.left_open.leave(id.clone(), ask);
            return Plan::Leave(within, failed);
        };
        let (handler, id) = (Arc::clone(handler), id.clone());
        let work = boxed(async move {
            match handler(PermissionRequest::new(id, ask.clone())).await.result(&ask) {
                Some(result) => Reply::Answer(Answer::of(&result)),
                None => Reply::Later(ask),
            }
        });
        Plan::Work(Job { work, within, failed })
    }

    fn hook(&self, mut callback: Box<HookCallback>) -> Plan {
        // The oldest descriptions call what happened by another name.
        if callback.input.value().is_none()
            && let Some(data) = callback.hook_data.value()
        {
            callback.input = data.read().ok().into();
        }
        let is_pre_tool_use = HookCall::new(callback.clone()).event() == "PreToolUse";
        let failed: Failed = if is_pre_tool_use {
            |why| Answer::of(&HookOutput::deny_tool(why))
        } else {
            |why| Answer::Error(why.into())
        };
        let number = match callback.callback_id.as_str() {
            Some(id) => callback_number(id),
            None => self.hook_by_name(&callback),
        };
        let Some(hook) = number.and_then(|number| self.handlers.hooks.get(number)) else {
            // Nobody has asked for it: it only wants to be heard.
            return Plan::Answer(if callback.hook_name.value().is_some() {
                Answer::of(&RawObject::default())
            } else {
                failed("this host knows no such hook")
            });
        };
        // A little sooner than the CLI's own clock: some versions take silence for consent.
        let within = hook.timeout.map(|limit| limit - (limit / 10).min(SOONER));
        let work = answered(&hook.handler, HookCall::new(callback), |output| Answer::of(&output));
        Plan::Work(Job { work, within, failed })
    }

    /// The first hook that an event of this name can be meant for.
    fn hook_by_name(&self, callback: &HookCallback) -> Option<usize> {
        let event = callback.hook_name.as_str()?;
        let call = HookCall::new(Box::new(callback.clone()));
        let is_meant = |hook: &Hook| hook.event == event && hook.may_mean(call.tool_name());
        self.handlers.hooks.iter().position(is_meant)
    }

    fn mcp(&self, message: McpMessage) -> Plan {
        let name = message.server_name.as_str().unwrap_or_default();
        let Some(server) = self.mcp.get(name) else {
            return Plan::Answer(Answer::Error(format!("SDK MCP server not found: {name}").into()));
        };
        let Some(message) = message.message.value().cloned() else {
            return Plan::Answer(Answer::Error("the message for the MCP server is missing".into()));
        };
        // Called here, so that messages keep their order; what it comes to is waited for elsewhere.
        let response = server.handle(message);
        let work = boxed(async move { Reply::Answer(Answer::of(&mcp::reply(response.await))) });
        Plan::Work(Job { work, within: None, failed: |why| Answer::Error(why.into()) })
    }

    fn other(&self, request: &AgentRequest) -> Option<Job> {
        let handler = self.handlers.other.get(request.tag())?;
        let request = RawObject::from_wire(request)?;
        let work = answered(handler, request, |result| match result {
            Ok(payload) => Answer::Success(payload),
            Err(error) => Answer::Error(error.into()),
        });
        Some(Job { work, within: None, failed: |why| Answer::Error(why.into()) })
    }
}

impl Working {
    fn start(&mut self, id: RequestId, received: Received, job: Job, threads: bool) {
        let Job { work, failed, .. } = job;
        let (task, stop) = if threads {
            let (stop, stopped) = oneshot::channel();
            let runtime = Handle::current();
            let task = self.tasks.spawn_blocking(move || {
                runtime.block_on(async {
                    tokio::select! {
                        biased;
                        _ = stopped => Reply::Stopped,
                        reply = work => reply,
                    }
                })
            });
            (task.id(), Stop::Thread(stop))
        } else {
            let task = self.tasks.spawn(work);
            (task.id(), Stop::Task(task))
        };
        self.by_task.insert(task, (id.clone(), received, failed));
        self.by_request.insert(id, (received, stop));
    }

    /// The work for this request has ended. False if nobody waits for what came of it.
    fn finished(&mut self, id: &RequestId, received: Received) -> bool {
        let is_it = self.by_request.get(id).is_some_and(|(open, _)| *open == received);
        if is_it {
            self.by_request.remove(id);
        }
        is_it
    }
}

/// The handler is called in its task, not here: it may panic before it waits.
fn answered<Q: Send + 'static, A: 'static>(
    handler: &Handler<Q, A>,
    request: Q,
    answer: impl FnOnce(A) -> Answer + Send + 'static,
) -> BoxFuture<Reply> {
    let handler = Arc::clone(handler);
    boxed(async move { Reply::Answer(answer(handler(request).await)) })
}

/// How callbacks are named on the wire: by their place among the hooks.
pub(crate) fn callback_name(number: usize) -> String {
    format!("hook_{number}")
}

fn callback_number(name: &str) -> Option<usize> {
    name.strip_prefix("hook_")?.parse().ok()
}
