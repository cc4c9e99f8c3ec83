//! [`Server`]: answers what the agent asks, each request in a task of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duologue_link::{Ask, Asks, Link};
use duologue_protocol::control::{AgentRequest, CanUseTool, HookCallback, McpMessage};
use duologue_protocol::hook::HookOutput;
use duologue_protocol::host_link::Answer;
use duologue_protocol::{RawObject, RequestId};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, Id, JoinSet};

use crate::mcp::{self, McpConnection};

use super::handlers::{BoxFuture, Handler, Handlers, boxed};
use super::hook::{Hook, HookCall};
use super::permission::PermissionRequest;
use super::person::{PlanRequest, QuestionRequest};

/// How many requests may stay open for the program to answer. Beyond it, nobody seems to.
const MOST_LEFT_OPEN: usize = 1024;

/// How much sooner than its matcher says a hook must answer, at most.
const SOONER: Duration = Duration::from_secs(1);

const NO_HANDLER: &str = "no handler decides about permissions here, so the answer is no";
const PANICKED: &str = "the handler that decides failed, so the answer is no";
const TOO_LATE: &str = "nobody decided in time, so the answer is no";

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

    /// Leaves a request open. False if too many are.
    fn leave(&self, id: &RequestId, ask: &CanUseTool) -> bool {
        let mut open = self.lock();
        if open.len() >= MOST_LEFT_OPEN {
            return false;
        }
        open.insert(id.clone(), Box::new(ask.clone()));
        drop(open);
        self.changed.notify_waiters();
        true
    }
}

/// What becomes of a request.
enum Reply {
    Answer(Answer),
    /// The program answers.
    Later,
}

/// What is answered if the work fails, or takes too long.
type Failed = fn(&str) -> Answer;

/// A request that somebody works on.
struct Job {
    work: BoxFuture<Reply>,
    deadline: Option<Duration>,
    failed: Failed,
}

/// Answers what the agent asks.
pub(crate) struct Server {
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) left_open: Arc<LeftOpen>,
    pub(crate) link: Link,
    /// The MCP servers, as this run of the agent knows them.
    pub(crate) mcp: HashMap<String, Arc<dyn McpConnection>>,
}

/// The requests that are being worked on.
#[derive(Default)]
struct Working {
    tasks: JoinSet<Reply>,
    by_request: HashMap<RequestId, AbortHandle>,
    by_task: HashMap<Id, (RequestId, Failed)>,
}

impl Server {
    /// Serves until the conversation has ended. Work that is not done then is dropped.
    pub(crate) async fn run(self, mut asks: Asks) {
        let mut working = Working::default();
        loop {
            tokio::select! {
                ask = asks.next() => match ask {
                    Some(Ask::Asked { id, request }) => self.asked(id, *request, &mut working).await,
                    Some(Ask::Withdrawn { id }) => {
                        self.left_open.take(&id);
                        self.left_open.changed.notify_waiters();
                        if let Some(task) = working.by_request.remove(&id) {
                            task.abort();
                        }
                    }
                    Some(_) => {}
                    None => break,
                },
                Some(done) = working.tasks.join_next_with_id() => {
                    let (task, reply) = match done {
                        Ok((task, reply)) => (task, Some(reply)),
                        Err(error) => (error.id(), None),
                    };
                    let Some((id, failed)) = working.by_task.remove(&task) else { continue };
                    // Withdrawn meanwhile: nothing is said.
                    if working.by_request.remove(&id).is_none() {
                        continue;
                    }
                    match reply {
                        Some(Reply::Answer(answer)) => self.answer(id, answer).await,
                        Some(Reply::Later) => {}
                        None => self.answer(id, failed(PANICKED)).await,
                    }
                }
            }
        }
        // Nobody can be answered any more.
        self.left_open.lock().clear();
        self.left_open.changed.notify_waiters();
    }

    async fn answer(&self, id: RequestId, answer: Answer) {
        // If the conversation has ended, there is nobody to tell.
        let _ = self.link.answer(id, answer).await;
        self.left_open.changed.notify_waiters();
    }

    async fn asked(&self, id: RequestId, request: AgentRequest, working: &mut Working) {
        let job = match request {
            AgentRequest::CanUseTool(ask) => self.permission(&id, ask),
            AgentRequest::HookCallback(hook) => self.hook(hook),
            AgentRequest::McpMessage(message) => self.mcp(*message),
            AgentRequest::Elicitation(ask) => match &self.handlers.elicitation {
                Some(handler) => Ok(Job {
                    work: answered(handler, *ask, |answer| Answer::of(answer.reply())),
                    deadline: self.handlers.deadline,
                    failed: |why| Answer::Error(why.into()),
                }),
                None if self.handlers.by_hand => return,
                None => Err(Answer::of(super::ElicitationAnswer::decline().reply())),
            },
            AgentRequest::RequestUserDialog(ask) => {
                let kind = ask.dialog_kind.as_str().unwrap_or_default();
                let declared = self.handlers.dialog_kinds.iter().any(|known| known == kind);
                match &self.handlers.dialog {
                    Some(handler) if declared => Ok(Job {
                        work: answered(handler, *ask, |answer| Answer::of(answer.reply())),
                        deadline: self.handlers.deadline,
                        failed: |why| Answer::Error(why.into()),
                    }),
                    _ if declared && self.handlers.by_hand => return,
                    // Another host may know it: to answer would be to dismiss it.
                    _ => {
                        let _ = self.link.leave_unanswered(id).await;
                        return;
                    }
                }
            }
            AgentRequest::RemoteToolCall(_)
            | AgentRequest::RemotePlumbingCall(_)
            | AgentRequest::RemoteToolsProbe(_)
            | AgentRequest::RemoteToolsReannounce(_) => {
                let _ = self.link.leave_unanswered(id).await;
                return;
            }
            AgentRequest::SdkControlInterrupt(_) => Err(Answer::Ack),
            other => match self.other(&other) {
                None if self.handlers.by_hand && other.is_known() => return,
                None => Err(Answer::Unsupported(other.tag().into())),
                Some(job) => Ok(job),
            },
        };
        match job {
            Err(answer) => self.answer(id, answer).await,
            Ok(job) => working.start(id, job),
        }
    }

    fn permission(&self, id: &RequestId, ask: Box<CanUseTool>) -> Result<Job, Answer> {
        let handlers = &self.handlers;
        let deadline = handlers.deadline;
        let failed = |why: &str| Answer::of(&CanUseTool::new().deny(why));
        let name = ask.tool_name.as_str().unwrap_or_default();
        if name == "AskUserQuestion"
            && let Some(handler) = &handlers.question
        {
            let request = QuestionRequest::new(id.clone(), &ask);
            let work = answered(handler, request, move |answer| Answer::of(&answer.result(&ask)));
            return Ok(Job { work, deadline, failed });
        }
        if name == "ExitPlanMode"
            && let Some(handler) = &handlers.plan
        {
            let request = PlanRequest::new(id.clone(), &ask);
            let work =
                answered(handler, request, move |decision| Answer::of(&decision.result(&ask)));
            return Ok(Job { work, deadline, failed });
        }
        let Some(handler) = &handlers.permission else {
            return if handlers.by_hand && self.left_open.leave(id, &ask) {
                Ok(Job { work: boxed(async { Reply::Later }), deadline: None, failed })
            } else {
                Err(Answer::of(&ask.deny(NO_HANDLER)))
            };
        };
        let (handler, left_open) = (Arc::clone(handler), Arc::clone(&self.left_open));
        let id = id.clone();
        let work = boxed(async move {
            let request = PermissionRequest::new(id.clone(), ask.clone());
            match handler(request).await.result(&ask) {
                Some(result) => Reply::Answer(Answer::of(&result)),
                None if left_open.leave(&id, &ask) => Reply::Later,
                None => Reply::Answer(Answer::of(&ask.deny(NO_HANDLER))),
            }
        });
        Ok(Job { work, deadline, failed })
    }

    fn hook(&self, mut callback: Box<HookCallback>) -> Result<Job, Answer> {
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
            return Err(if callback.hook_name.value().is_some() {
                Answer::of(&RawObject::default())
            } else {
                failed("this host knows no such hook")
            });
        };
        // A little sooner than the CLI's own clock: some versions take silence for consent.
        let deadline = hook.timeout.map(|limit| limit - (limit / 10).min(SOONER));
        let work = answered(&hook.handler, HookCall::new(callback), |output| Answer::of(&output));
        Ok(Job { work, deadline, failed })
    }

    /// The first hook that an event of this name can be meant for.
    fn hook_by_name(&self, callback: &HookCallback) -> Option<usize> {
        let event = callback.hook_name.as_str()?;
        let call = HookCall::new(Box::new(callback.clone()));
        let is_meant = |hook: &Hook| hook.event == event && hook.may_mean(call.tool_name());
        self.handlers.hooks.iter().position(is_meant)
    }

    fn mcp(&self, message: McpMessage) -> Result<Job, Answer> {
        let name = message.server_name.as_str().unwrap_or_default();
        let Some(server) = self.mcp.get(name) else {
            return Err(Answer::Error(format!("SDK MCP server not found: {name}").into()));
        };
        let Some(message) = message.message.value().cloned() else {
            return Err(Answer::Error("the message for the MCP server is missing".into()));
        };
        // Called here, so that messages keep their order; what it comes to is waited for elsewhere.
        let response = server.handle(message);
        let work = boxed(async move { Reply::Answer(Answer::of(&mcp::reply(response.await))) });
        Ok(Job { work, deadline: None, failed: |why| Answer::Error(why.into()) })
    }

    fn other(&self, request: &AgentRequest) -> Option<Job> {
        let handler = self.handlers.other.get(request.tag())?;
        let request = RawObject::from_wire(request)?;
        let work = answered(handler, request, |result| match result {
            Ok(payload) => Answer::Success(payload),
            Err(error) => Answer::Error(error.into()),
        });
        Some(Job { work, deadline: None, failed: |why| Answer::Error(why.into()) })
    }
}

impl Working {
    fn start(&mut self, id: RequestId, job: Job) {
        let Job { work, deadline, failed } = job;
        let task = self.tasks.spawn(async move {
            match deadline {
                None => work.await,
                Some(deadline) => match tokio::time::timeout(deadline, work).await {
                    Ok(reply) => reply,
                    Err(_) => Reply::Answer(failed(TOO_LATE)),
                },
            }
        });
        self.by_task.insert(task.id(), (id.clone(), failed));
        self.by_request.insert(id, task);
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
