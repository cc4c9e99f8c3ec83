//! Questions to the person, and plans.

use duologue_protocol::control::CanUseTool;
use duologue_protocol::message::StopReason;
use duologue_protocol::permission::{PermissionMode, PermissionUpdate};
use duologue_protocol::tool::{Answer, AskUserQuestion, Question};
use duologue_protocol::{Map, RawJson, RawObject, Text};
use serde_json::json;

use super::{Emitter, ToolResult};
use crate::agent::TurnError;

/// What became of a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanVerdict {
    /// It was approved, perhaps with changes.
    Approved {
        /// The plan as it is now.
        plan: Text,
        /// The permission mode from now on.
        mode: PermissionMode,
    },
    /// It was sent back, with what is missing.
    SentBack(Text),
}

impl Emitter {
    /// Asks the person; the answers come by the text of the question. `None` if the person would not
    /// say.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn question(
        &self,
        questions: impl Into<Vec<Question>> + Send,
    ) -> Result<Option<Map<Answer>>, TurnError> {
        let asked = AskUserQuestion::new().questions(questions);
        let input = RawObject::from_wire(&asked).unwrap_or_default();
        let call = self.call_tool("AskUserQuestion", input).await?;
        self.end_message(StopReason::ToolUse).await?;
        let ask = CanUseTool::new().requires_user_interaction(true);
        let used = self.permit(&call, ask).await?;
        if !used.is_allowed() {
            return Ok(None);
        }
        let answered: AskUserQuestion = used.input.read().unwrap_or_default();
        let answers = answered.answers.value().cloned().unwrap_or_default();
        let said: Vec<String> = answers
            .iter()
            .map(|(question, answer)| format!("\"{question}\"=\"{}\"", spelled(answer)))
            .collect();
        let told = if said.is_empty() {
            "The user did not answer the questions.".to_owned()
        } else {
            let said = said.join(", ");
            format!(
                "Your questions have been answered: {said}. You can now continue with these answers in mind."
            )
        };
        let shape =
            AskUserQuestion::new().questions(asked.questions.items()).answers(answers.clone());
        let output = ToolResult::new(told).structured(RawJson::from_wire(&shape));
        self.tool_result(&call, output).await?;
        Ok(Some(answers).filter(|answers| !answers.is_empty()))
    }

    /// Proposes a plan. If it is approved, plan mode ends.
    ///
    /// # Errors
    /// If the turn was interrupted.
    pub async fn plan(&self, plan: impl Into<Text> + Send) -> Result<PlanVerdict, TurnError> {
        let plan = plan.into();
        let input = RawObject::of(&json!({ "plan": &*plan })).map_err(TurnError::failed)?;
        let call = self.call_tool("ExitPlanMode", input).await?;
        self.end_message(StopReason::ToolUse).await?;
        let ask = CanUseTool::new().requires_user_interaction(true);
        let used = self.permit(&call, ask).await?;
        if let Some(why) = used.denial() {
            return Ok(PlanVerdict::SentBack(Text::from(why)));
        }
        let chosen =
            used.updates.iter().any(|update| matches!(update, PermissionUpdate::SetMode(_)));
        if !chosen {
            self.session.set_permission_mode(PermissionMode::Default).await;
        }
        let edited = used.input.get("plan").and_then(|plan| plan.as_str());
        let told = "User has approved exiting plan mode. You can now proceed.";
        let shape = json!({ "plan": edited.as_deref(), "isAgent": !self.is_main() });
        let output = ToolResult::new(told).structured(RawJson::from(shape));
        self.tool_result(&call, output).await?;
        let mode = self.session.permission_mode();
        Ok(PlanVerdict::Approved { plan: edited.unwrap_or(plan), mode })
    }
}

fn spelled(answer: &Answer) -> String {
    match answer {
        Answer::Text(text) => text.as_str().to_owned(),
        Answer::List(labels) => {
            labels.iter().map(|label| label.as_str()).collect::<Vec<_>>().join(",")
        }
    }
}
