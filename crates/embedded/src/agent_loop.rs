//! [`AgentLoop`]: one agent at work. It asks the model, runs its tool calls, and asks again.

use std::sync::{Arc, Mutex};

use duologue_protocol::RawJson;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::answer::{Answered, Cuts};
use super::conversation::Conversation;
use super::shared::{Shared, lock};
use super::subagent_stats::SubagentStats;
use crate::tools::ToolContext;
use duologue_agent::Subagent;
use duologue_agent::{Emitter, ToolCall};
use duologue_agent::{TurnError, TurnResult};

/// The message after an answer without the structured output.
const SHAPE_MISSING: &str = "[structured-output-enforce] You MUST call the StructuredOutput tool to \
    complete this request. Call this tool now.";

/// One agent at work. Clones are the same agent, doing several things at once.
#[derive(Clone, Debug)]
pub(super) struct AgentLoop {
    pub(super) shared: Arc<Shared>,
    pub(super) emitter: Emitter,
    pub(super) context: ToolContext,
    pub(super) conversation: Conversation,
    /// The model that answers for the rest of the turn, since the one that was asked is overloaded.
    pub(super) fallback: Arc<Mutex<Option<String>>>,
    /// The kind of sub-agent that it is; none for the main agent.
    pub(super) kind: Option<String>,
    /// The model that the call of a sub-agent names.
    pub(super) model: Option<String>,
    /// Text for the model that follows the result of a call: that of a skill.
    pub(super) after_call: Arc<Mutex<Vec<String>>>,
    /// The answer in the shape that was wanted.
    pub(super) shaped: Arc<Mutex<Option<Value>>>,
    /// What it did.
    pub(super) stats: Arc<Mutex<SubagentStats>>,
    /// The task that it works on, if it is a sub-agent.
    pub(super) task: Option<Arc<Subagent>>,
}

impl AgentLoop {
    /// The main agent of a turn.
    pub(super) fn main(shared: &Arc<Shared>, emitter: Emitter) -> Self {
        Self {
            emitter,
            context: shared.context.clone(),
            conversation: shared.conversation.clone(),
            fallback: Arc::default(),
            kind: None,
            model: None,
            after_call: Arc::default(),
            shaped: Arc::default(),
            stats: Arc::default(),
            task: None,
            shared: Arc::clone(shared),
        }
    }

    /// Works until the model has nothing more to do.
    pub(super) async fn work(&self) -> TurnResult {
        let limit = match &self.kind {
            None => self.shared.setup.max_turns,
            Some(kind) => self.shared.agent_kinds().max_turns(kind),
        };
        let has_json_schema = self.kind.is_none() && self.shared.has_json_schema();
        let mut was_urged = false;
        let mut cuts = Cuts::default();
        let mut asked = 0;
        loop {
            self.afford()?;
            if let Some(limit) = limit.filter(|limit| asked >= *limit) {
                return Err(TurnError::MaxTurns(limit));
            }
            asked += 1;
            let Answered { calls, reason, id } = self.answer().await?;
            if let Some(fault) = self.conversation.take_fault() {
                self.warn(&fault).await;
            }
            if calls.is_empty() {
                if cuts.next(&reason) {
                    self.continue_after(&reason, &id).await?;
                    continue;
                }
                if !has_json_schema || was_urged {
                    // An answer beyond the budget is an error, although it was sent.
                    return self.afford();
                }
                was_urged = true;
                self.emitter.synthetic_user(SHAPE_MISSING).await?;
                self.conversation.note(SHAPE_MISSING);
                continue;
            }
            self.call_all(calls).await?;
            if lock(&self.shaped).is_some() {
                return Ok(());
            }
            self.fold();
        }
    }

    /// The answer in the shape that was wanted.
    pub(super) fn shaped(&self) -> Option<RawJson> {
        lock(&self.shaped).as_ref().map(|value| RawJson::from(value.clone()))
    }

    /// Adds prompts and context that arrived in the meantime.
    fn fold(&self) {
        if self.kind.is_some() {
            return;
        }
        let (folded, context) = (self.emitter.take_folded(), self.emitter.take_context());
        for text in context {
            self.conversation.note(&reminder(&text));
        }
        for prompt in folded {
            if let Some(content) =
                prompt.message.value().and_then(|message| message.content.value())
            {
                self.conversation.prompt(&super::content(content), prompt.uuid.as_str());
            }
        }
    }

    fn afford(&self) -> TurnResult {
        match self.shared.setup.max_budget_usd {
            Some(budget) if self.spent_here() >= budget && budget > 0.0 => {
                Err(TurnError::MaxBudget(budget))
            }
            _ => Ok(()),
        }
    }

    fn spent_here(&self) -> f64 {
        self.emitter.session().usage().process_cost_usd()
    }

    /// Sends a warning for the person. The model does not see it.
    pub(super) async fn warn(&self, text: &str) {
        use duologue_protocol::system::{Informational, NoticeLevel};
        let line = Informational::new().content(text).level(NoticeLevel::Warning);
        self.emitter.session().inform(line).await;
    }

    async fn call_all(&self, calls: Vec<ToolCall>) -> TurnResult {
        let mut calls = calls.into_iter().peekable();
        while let Some(call) = calls.next() {
            let is_safe = self.is_safe(&call);
            let mut together = vec![call];
            while is_safe && let Some(next) = calls.next_if(|call| self.is_safe(call)) {
                together.push(next);
            }
            self.call_together(together).await?;
        }
        Ok(())
    }

    async fn call_together(&self, calls: Vec<ToolCall>) -> TurnResult {
        let mut running = tokio::task::JoinSet::new();
        let mut before: Option<oneshot::Receiver<()>> = None;
        for call in calls {
            let this = self.clone();
            let (begun, next) = oneshot::channel();
            let before = before.replace(next);
            running.spawn(async move {
                // They begin in their order, each once the one before it has to wait for something.
                if let Some(before) = before {
                    let _ = before.await;
                }
                let mut begun = Some(begun);
                let mut called = std::pin::pin!(this.call(call));
                std::future::poll_fn(|context| {
                    let polled = called.as_mut().poll(context);
                    drop(begun.take());
                    polled
                })
                .await
            });
        }
        // If one ends the turn, the others are dropped, and stop.
        while let Some(done) = running.join_next().await {
            done.map_err(TurnError::failed)??;
        }
        Ok(())
    }

    /// Whether a call may run beside others.
    fn is_safe(&self, call: &ToolCall) -> bool {
        match self.shared.toolbox().get(&call.name) {
            Some(tool) => tool.is_concurrency_safe(&call.input),
            None => self.shared.servers.find(&call.name).is_some_and(|found| found.is_read_only),
        }
    }

    /// Keeps the result of a call for the model.
    pub(super) fn keep(
        &self,
        id: &str,
        content: Value,
        is_error: Option<bool>,
        host: Option<&Value>,
    ) {
        let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
        if let Some(is_error) = is_error {
            block["is_error"] = json!(is_error);
        }
        self.conversation.result(block, host);
    }
}

/// Text for the model that is not from the person.
pub(super) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}
