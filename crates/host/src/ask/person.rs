//! What a person is asked: questions and plans.

use duologue_protocol::control::CanUseTool;
use duologue_protocol::permission::{PermissionMode, PermissionResult};
use duologue_protocol::tool::{Answers, AskUserQuestion, ExitPlanMode, Question};
use duologue_protocol::{RequestId, Text};

/// The model asks the person something (`AskUserQuestion`).
#[derive(Clone, Debug)]
pub struct QuestionRequest {
    id: RequestId,
    question: AskUserQuestion,
}

impl QuestionRequest {
    pub(crate) fn new(id: RequestId, ask: &CanUseTool) -> Self {
        let input = ask.input.value().cloned().unwrap_or_default();
        Self { id, question: input.read().unwrap_or_default() }
    }

    /// Names the request.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The questions.
    pub fn questions(&self) -> &[Question] {
        self.question.questions.items()
    }
}

/// The answer to a [`QuestionRequest`].
///
/// ```
/// use duologue::ask::{QuestionAnswer, QuestionRequest};
/// use duologue::protocol::tool::Answers;
///
/// async fn always_the_first(ask: QuestionRequest) -> QuestionAnswer {
///     let mut answers = Answers::new();
///     for question in ask.questions() {
///         let Some(option) = question.options.items().first() else { return QuestionAnswer::skip() };
///         let text = question.question.as_str().unwrap_or_default();
///         answers = answers.choose(text, option.label.as_str().unwrap_or_default());
///     }
///     answers.into()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct QuestionAnswer(Option<Answers>);

impl QuestionAnswer {
    /// These answers.
    pub const fn answers(answers: Answers) -> Self {
        Self(Some(answers))
    }

    /// The person does not answer. The model is told, and goes on.
    pub const fn skip() -> Self {
        Self(None)
    }

    pub(crate) fn result(&self, ask: &CanUseTool) -> PermissionResult {
        match &self.0 {
            Some(answers) => ask.answer_question(answers),
            None => ask.skip_question(),
        }
    }
}

impl From<Answers> for QuestionAnswer {
    fn from(answers: Answers) -> Self {
        Self::answers(answers)
    }
}

/// The model proposes a plan (`ExitPlanMode`).
#[derive(Clone, Debug)]
pub struct PlanRequest {
    id: RequestId,
    plan: ExitPlanMode,
}

impl PlanRequest {
    pub(crate) fn new(id: RequestId, ask: &CanUseTool) -> Self {
        let input = ask.input.value().cloned().unwrap_or_default();
        Self { id, plan: input.read().unwrap_or_default() }
    }

    /// Names the request.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The plan, in Markdown. Empty if the CLI found no plan file: then it stands in the tool call
    /// that came before.
    pub fn plan(&self) -> &str {
        self.plan.plan.as_str().unwrap_or_default()
    }

    /// Everything that was proposed.
    pub fn raw(&self) -> &ExitPlanMode {
        &self.plan
    }
}

/// The answer to a [`PlanRequest`].
#[derive(Clone, Debug)]
pub struct PlanDecision(Plan);

#[derive(Clone, Debug)]
enum Plan {
    Approve(Option<PermissionMode>),
    Revise(Text),
    Reject,
}

impl PlanDecision {
    /// Do it.
    pub const fn approve() -> Self {
        Self(Plan::Approve(None))
    }

    /// Do it, in this mode.
    pub const fn approve_in(mode: PermissionMode) -> Self {
        Self(Plan::Approve(Some(mode)))
    }

    /// Not yet: the model reads what is missing and plans again.
    pub fn revise(feedback: impl Into<Text>) -> Self {
        Self(Plan::Revise(feedback.into()))
    }

    /// No.
    pub const fn reject() -> Self {
        Self(Plan::Reject)
    }

    pub(crate) fn result(self, ask: &CanUseTool) -> PermissionResult {
        match self.0 {
            Plan::Approve(mode) => ask.approve_plan(mode),
            Plan::Revise(feedback) => ask.revise_plan(feedback),
            Plan::Reject => ask.reject_plan(),
        }
    }
}
