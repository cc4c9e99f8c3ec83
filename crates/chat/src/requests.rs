//! Passes requests of the agent to the conversation.

use duologue::SessionBuilder;
use duologue::handlers::{
    Decision, PermissionRequest, PlanDecision, PlanRequest, QuestionAnswer, QuestionRequest,
};
use duologue_protocol::RequestId;
use duologue_terminal::Foreign;
use tokio::sync::{mpsc, oneshot};

use crate::dialog::{Reply, Topic};

/// The most queued requests. The agent rarely makes two at once.
const MAX_QUEUED: usize = 64;

/// The reason of a denial if the user gives none. The model reads it.
const NO_REASON: &str = "The user did not allow this.";

/// A request of the agent.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) topic: Topic,
    pub(super) reply: oneshot::Sender<Reply>,
}

impl Request {
    /// Answers the request. Does nothing if it was withdrawn.
    pub(super) fn answer(self, reply: Reply) {
        let _ = self.reply.send(reply);
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Sends permission requests, questions and plans to the returned receiver.
pub(super) fn listen(builder: SessionBuilder) -> (SessionBuilder, mpsc::Receiver<Request>) {
    let (requests, received) = mpsc::channel(MAX_QUEUED);
    let (questions, plans) = (requests.clone(), requests.clone());
    let builder = builder
        .on_permission(move |request: PermissionRequest| {
            let requests = requests.clone();
            async move {
                let topic = Topic::Permission(Box::new(request.raw().clone()));
                match ask(requests, request.id().clone(), topic).await {
                    Some(Reply::AllowOnce) => Decision::allow(),
                    Some(Reply::AllowAlways) => Decision::allow_always(),
                    Some(Reply::Deny(why)) if !why.is_empty() => Decision::deny(why),
                    _ => Decision::deny(NO_REASON),
                }
            }
        })
        .on_question(move |request: QuestionRequest| {
            let requests = questions.clone();
            async move {
                let topic = Topic::Questions(request.questions().to_vec());
                match ask(requests, request.id().clone(), topic).await {
                    Some(Reply::Answers(answers)) => answers.into(),
                    _ => QuestionAnswer::skip(),
                }
            }
        })
        .on_plan(move |request: PlanRequest| {
            let requests = plans.clone();
            async move {
                let topic = Topic::Plan(Foreign::from(request.plan()).into_owned());
                match ask(requests, request.id().clone(), topic).await {
                    Some(Reply::Accept(mode)) => PlanDecision::approve_in(mode),
                    Some(Reply::Revise(text)) => PlanDecision::revise(text),
                    _ => PlanDecision::reject(),
                }
            }
        });
    (builder, received)
}

async fn ask(requests: mpsc::Sender<Request>, id: RequestId, topic: Topic) -> Option<Reply> {
    let (reply, answered) = oneshot::channel();
    requests.send(Request { id, topic, reply }).await.ok()?;
    answered.await.ok()
}
