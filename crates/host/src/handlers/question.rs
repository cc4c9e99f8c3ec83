//! Questions of the model to the user, and plans.

use duologue_protocol::control::CanUseTool;
use duologue_protocol::host_link::Answer;
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::tool::{Answers, AskUserQuestion, ExitPlanMode, Question};
use duologue_protocol::{RequestId, Text};

/// Questions of the model to the user (`AskUserQuestion`).
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

    /// The id of the request.
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
/// use duologue::handlers::{QuestionAnswer, QuestionRequest};
/// use duologue::tool::Answers;
///
/// async fn choose_first(ask: QuestionRequest) -> QuestionAnswer {
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
    /// Answers the questions.
    pub const fn answers(answers: Answers) -> Self {
        Self(Some(answers))
    }

    /// Does not answer. The model reads that, and continues.
    pub const fn skip() -> Self {
        Self(None)
    }

    pub(super) fn answer(&self, ask: &CanUseTool) -> Answer {
        Answer::of(&match &self.0 {
            Some(answers) => ask.answer_question(answers),
            None => ask.skip_question(),
        })
    }
}

impl From<Answers> for QuestionAnswer {
    fn from(answers: Answers) -> Self {
        Self::answers(answers)
    }
}

/// A plan that the model proposes (`ExitPlanMode`).
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

    /// The id of the request.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The plan, in Markdown. It is empty if the CLI found no plan file; the plan is then in the tool call
    /// before this request.
    pub fn plan(&self) -> &str {
        self.plan.plan.as_str().unwrap_or_default()
    }

    /// The whole proposal.
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
    /// Approves the plan.
    pub const fn approve() -> Self {
        Self(Plan::Approve(None))
    }

    /// Approves the plan and sets the permission mode.
    pub const fn approve_in(mode: PermissionMode) -> Self {
        Self(Plan::Approve(Some(mode)))
    }

    /// Asks for changes. The model reads the feedback and plans again.
    pub fn revise(feedback: impl Into<Text>) -> Self {
        Self(Plan::Revise(feedback.into()))
    }

    /// Rejects the plan.
    pub const fn reject() -> Self {
        Self(Plan::Reject)
    }

    pub(super) fn answer(self, ask: &CanUseTool) -> Answer {
        Answer::of(&match self.0 {
            Plan::Approve(mode) => ask.approve_plan(mode),
            Plan::Revise(feedback) => ask.revise_plan(feedback),
            Plan::Reject => ask.reject_plan(),
        })
    }
}
