//! Passes requests of the agent to the conversation.

use duologue::SessionBuilder;
use duologue::handlers::{
    Decision, ElicitationAnswer, PermissionRequest, PlanDecision, PlanRequest, QuestionAnswer,
    QuestionRequest,
};
use duologue_protocol::RequestId;
use duologue_protocol::control::Elicitation;
use duologue_terminal::Foreign;
use tokio::sync::{mpsc, oneshot};

use crate::dialog::{Reply, Topic};
use crate::form::Form;

/// The most queued requests. The agent rarely makes two at once.
const MAX_QUEUED: usize = 64;

/// The reason of a denial if the user gives none. The model reads it.
const NO_REASON: &str = "The user did not allow this.";

/// A request of the agent.
#[derive(Debug)]
pub(super) struct Request {
    /// `None` for a form of an MCP server.
    pub(super) id: Option<RequestId>,
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

/// Sends permission requests, questions, plans and forms to the returned receiver.
pub(super) fn listen(builder: SessionBuilder) -> (SessionBuilder, mpsc::Receiver<Request>) {
    let (requests, received) = mpsc::channel(MAX_QUEUED);
    let (questions, plans, forms) = (requests.clone(), requests.clone(), requests.clone());
    let builder = builder
        .on_permission(move |request: PermissionRequest| {
            let requests = requests.clone();
            async move {
                let topic = Topic::Permission(Box::new(request.raw().clone()));
                match ask(requests, Some(request.id().clone()), topic).await {
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
                match ask(requests, Some(request.id().clone()), topic).await {
                    Some(Reply::Answers(answers)) => answers.into(),
                    _ => QuestionAnswer::skip(),
                }
            }
        })
        .on_plan(move |request: PlanRequest| {
            let requests = plans.clone();
            async move {
                let topic = Topic::Plan(Foreign::from(request.plan()).into_owned());
                match ask(requests, Some(request.id().clone()), topic).await {
                    Some(Reply::Accept(mode)) => PlanDecision::approve_in(mode),
                    Some(Reply::Revise(text)) => PlanDecision::revise(text),
                    _ => PlanDecision::reject(),
                }
            }
        })
        .on_elicitation(move |request: Elicitation| {
            let requests = forms.clone();
            async move {
                match ask(requests, None, Topic::Form(Box::new(Form::new(&request)))).await {
                    Some(Reply::Submit(content)) => ElicitationAnswer::accept(content),
                    Some(Reply::Decline) => ElicitationAnswer::decline(),
                    _ => ElicitationAnswer::cancel(),
                }
            }
        });
    (builder, received)
}

async fn ask(
    requests: mpsc::Sender<Request>,
    id: Option<RequestId>,
    topic: Topic,
) -> Option<Reply> {
    let (reply, answered) = oneshot::channel();
    requests.send(Request { id, topic, reply }).await.ok()?;
    answered.await.ok()
}
