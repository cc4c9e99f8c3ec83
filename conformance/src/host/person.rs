//! Questions to the user, and plans.

use duologue::handlers::{PlanDecision, PlanRequest, QuestionAnswer, QuestionRequest};
use duologue::protocol::permission::PermissionMode;
use duologue::protocol::tool::Answers;
use duologue_model::{Reply, Scenario};
use serde_json::json;

use super::{ask, call, close, count, says, tool_results};
use crate::case::{Verdict, holds, same};
use crate::stage::Stage;

const NO_QUESTIONS: &str = "this version has no AskUserQuestion";

fn asks_a_question() -> Scenario {
    let option = |label: &str| json!({ "label": label, "description": label });
    let question = json!({
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [option("Red"), option("Blue")],
    });
    says([call("AskUserQuestion", json!({ "questions": [question] })), Reply::text("Fine.")])
}

pub(super) async fn question(stage: &Stage) -> Verdict {
    stage.needs("2.0.77", NO_QUESTIONS)?;
    let (_server, builder) = stage.play(asks_a_question()).await?;
    let session = builder
        .on_question(|ask: QuestionRequest| async move {
            let mut answers = Answers::new();
            for question in ask.questions() {
                answers = answers.choose(question.question.as_str().unwrap_or_default(), "Blue");
            }
            answers.into()
        })
        .start()
        .await?;
    let (events, outcome) = ask(&session, "Ask me").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    let results = tool_results(&events);
    holds!(results.iter().any(|(text, _)| text.contains("Blue")), "no answer in {results:?}");
    same!(count(&events, "question_answered"), 1, "answered");
    close(session).await
}

pub(super) async fn question_skipped(stage: &Stage) -> Verdict {
    stage.needs("2.0.77", NO_QUESTIONS)?;
    let (_server, builder) = stage.play(asks_a_question()).await?;
    let session = builder.on_question(async |_| QuestionAnswer::skip()).start().await?;
    let (events, outcome) = ask(&session, "Ask me").await?;
    same!(outcome.text(), "Fine.", "the text");
    same!(count(&events, "question_skipped"), 1, "skipped");
    close(session).await
}

fn proposes_a_plan(stage: &Stage) -> Scenario {
    let plan = call("ExitPlanMode", json!({ "plan": "1. Tidy up." }));
    if stage.since("2.1.197") {
        // The model must search for the tool first.
        let search = call("ToolSearch", json!({ "query": "select:ExitPlanMode" }));
        return says([search, plan, Reply::text("Fine.")]);
    }
    says([plan, Reply::text("Fine.")])
}

pub(super) async fn plan(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(proposes_a_plan(stage)).await?;
    let session = builder
        .permission_mode(PermissionMode::Plan)
        .on_plan(|_: PlanRequest| async { PlanDecision::approve() })
        .start()
        .await?;
    let (events, outcome) = ask(&session, "Plan").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    same!(count(&events, "plan_approved"), 1, "approved");
    close(session).await
}

pub(super) async fn plan_rejected(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(proposes_a_plan(stage)).await?;
    let session = builder
        .permission_mode(PermissionMode::Plan)
        .on_plan(async |_| PlanDecision::revise("test it, too"))
        .start()
        .await?;
    let (events, outcome) = ask(&session, "Plan").await?;
    same!(outcome.text(), "Fine.", "the text");
    same!(count(&events, "plan_sent_back"), 1, "sent back");
    let results = tool_results(&events);
    holds!(results.iter().any(|(text, _)| text.contains("test it, too")), "{results:?}");
    close(session).await
}
