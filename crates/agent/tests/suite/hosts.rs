//! Our own host against our own agent, over a pipe in this process.

use duologue::handlers::{
    Decision, Hook, HookCall, HookEvent, PermissionRequest, PlanDecision, PlanRequest,
};
use duologue::handlers::{QuestionAnswer, QuestionRequest};
use duologue::protocol::hook::HookOutput;
use duologue::protocol::message::{Origin, OriginKind};
use duologue::protocol::permission::PermissionMode;
use duologue::protocol::system::TaskStatus;
use duologue::protocol::tool::{Answers, Question};
use duologue::protocol::{RawObject, Text};
use duologue::{Event, Session, SessionBuilder, mcp};
use duologue_agent::{
    Agent, Dialect, Exit, Fault, Options, PlanVerdict, SubagentTask, ToolResult, serve,
};
use serde_json::json;
use tokio::task::JoinHandle;

use super::acts::acts;

async fn pair(
    builder: SessionBuilder,
    agent: impl Agent + 'static,
    options: Options,
) -> (Session, JoinHandle<Exit>) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let agent = tokio::spawn(serve(agent, reader, writer, options));
    let (reader, writer) = tokio::io::split(ours);
    (builder.connect(reader, writer).await.unwrap(), agent)
}

/// What an agent answers to one prompt.
async fn one(builder: SessionBuilder, agent: impl Agent + 'static) -> duologue::TurnOutcome {
    let (session, agent) = pair(builder, agent, Options::new()).await;
    let outcome = session.prompt("go").await.unwrap().outcome().await.unwrap();
    session.close().await.unwrap();
    let exit = agent.await.unwrap();
    assert_eq!(exit.code, u8::from(!outcome.is_success()));
    outcome
}

/// An agent that wants to run one command, and says what became of it.
fn runs_a_command() -> impl Agent + 'static {
    acts(|turn| {
        Box::pin(async move {
            let done = turn.use_tool("Bash", json!({ "command": "rm -rf build" })).await?;
            let said = match done.denial() {
                Some(why) => format!("refused: {why}"),
                None => {
                    turn.tool_result(&done.call, ToolResult::new("ok")).await?;
                    format!("ran {}", done.input.get("command").unwrap())
                }
            };
            turn.say(said).await
        })
    })
}

#[tokio::test]
async fn text_and_partial_text() {
    let agent = acts(|turn| {
        Box::pin(async move {
            for piece in ["Hel", "lo", "!"] {
                turn.delta(piece).await?;
            }
            Ok(())
        })
    });
    let (session, _agent) = pair(Session::builder(), agent, Options::new().partial(true)).await;
    let mut turn = session.prompt("Hi").await.unwrap();
    let (mut deltas, mut texts) = (Vec::new(), Vec::new());
    while let Some(event) = turn.next().await.unwrap() {
        match event {
            Event::TextDelta(delta) => deltas.push(delta.text.to_string()),
            Event::Text(text) => texts.push(text.text.to_string()),
            _ => {}
        }
    }
    assert_eq!(deltas.concat(), "Hello!");
    assert_eq!(texts, ["Hello!"]);
    assert_eq!(turn.outcome().await.unwrap().text(), "Hello!");
    assert_eq!(
        session.handshake().unwrap().claude_code_version.as_str(),
        Some(duologue_agent::VERSION)
    );
}

#[tokio::test]
async fn permission_of_every_kind() {
    let asks = |decide: fn() -> Decision| {
        Session::builder().on_permission(move |_: PermissionRequest| async move { decide() })
    };
    let outcome = one(asks(Decision::allow), runs_a_command()).await;
    assert_eq!(outcome.text(), "ran \"rm -rf build\"");
    let changed = || {
        let input = RawObject::of(&json!({ "command": "ls" })).unwrap();
        Decision::allow_with(input)
    };
    assert_eq!(one(asks(changed), runs_a_command()).await.text(), "ran \"ls\"");
    let denied = one(asks(|| Decision::deny("not today")), runs_a_command()).await;
    assert_eq!(denied.text(), "refused: not today");
    assert_eq!(denied.denials(), 1);
    let stopped = one(asks(|| Decision::deny_and_interrupt("enough")), runs_a_command()).await;
    assert!(stopped.is_interrupted() || !stopped.is_success());
    assert_eq!(stopped.denials(), 1);
}

#[tokio::test]
async fn a_question_is_answered() {
    let agent = || {
        acts(|turn| {
            Box::pin(async move {
                let question = Question::new().question("Which colour?").header("Colour");
                let answers = turn.question([question]).await?;
                let said =
                    answers.and_then(|answers| answers.get("Which colour?").map(|a| a.text()));
                turn.say(said.unwrap_or_else(|| "no answer".to_owned())).await
            })
        })
    };
    let builder = Session::builder().on_question(|_: QuestionRequest| async {
        QuestionAnswer::answers(Answers::new().choose("Which colour?", "Blue"))
    });
    assert_eq!(one(builder, agent()).await.text(), "Blue");
    let builder =
        Session::builder().on_question(|_: QuestionRequest| async { QuestionAnswer::skip() });
    assert_eq!(one(builder, agent()).await.text(), "no answer");
}

#[tokio::test]
async fn a_plan_is_approved_or_sent_back() {
    let agent = || {
        acts(|turn| {
            Box::pin(async move {
                let verdict = turn.plan("1. Think\n2. Act").await?;
                let said = match verdict {
                    PlanVerdict::Approved { mode, .. } => format!("go, in mode {mode}"),
                    PlanVerdict::SentBack(why) => format!("again: {why}"),
                    _ => String::new(),
                };
                turn.say(said).await
            })
        })
    };
    let builder = Session::builder().on_plan(|plan: PlanRequest| async move {
        assert_eq!(plan.plan(), "1. Think\n2. Act");
        PlanDecision::approve_in(PermissionMode::AcceptEdits)
    });
    assert_eq!(one(builder, agent()).await.text(), "go, in mode acceptEdits");
    let builder =
        Session::builder().on_plan(|_: PlanRequest| async { PlanDecision::revise("errors?") });
    assert_eq!(one(builder, agent()).await.text(), "again: errors?");
}

#[tokio::test]
async fn hooks_decide_and_send_the_agent_back() {
    let deny = Hook::new(HookEvent::PreToolUse, |call: HookCall| async move {
        assert_eq!(call.tool_name(), Some("Bash"));
        HookOutput::deny_tool("not in this house")
    });
    let outcome = one(Session::builder().hook(deny.matcher("Bash")), runs_a_command()).await;
    assert_eq!(outcome.text(), "refused: PreToolUse:Bash hook error: not in this house");
    let allow = Hook::new(HookEvent::PreToolUse, |_: HookCall| async { HookOutput::allow_tool() });
    let outcome = one(Session::builder().hook(allow), runs_a_command()).await;
    assert_eq!(outcome.text(), "ran \"rm -rf build\"", "nobody else was asked");
    let stop = Hook::new(HookEvent::Stop, |call: HookCall| async move {
        let input = call.input().map(duologue::protocol::RawJson::from_wire);
        let active = input.and_then(|input| input.get("stop_hook_active"));
        match active.is_some_and(|active| active.as_json() == "true") {
            true => HookOutput::new(),
            false => HookOutput::block("say goodbye"),
        }
    });
    let agent = acts(|turn| {
        let said = if turn.is_continued() { "goodbye" } else { "done" };
        Box::pin(turn.say(said))
    });
    assert_eq!(one(Session::builder().hook(stop), agent).await.text(), "goodbye");
    let block =
        Hook::new(HookEvent::UserPromptSubmit, |_: HookCall| async { HookOutput::block("no") });
    let agent = acts(|_| Box::pin(async { panic!("it must not be asked") }));
    let outcome = one(Session::builder().hook(block), agent).await;
    assert!(outcome.is_success());
}

#[tokio::test]
async fn a_tool_of_the_host_is_called() {
    let agent = acts(|turn| {
        Box::pin(async move {
            let tools = turn.session().mcp_tools("tools").await?;
            assert_eq!(tools[0]["name"], "shout");
            let input = RawObject::of(&json!({ "input": "hey" })).unwrap();
            let call = turn.call_tool("mcp__tools__shout", input.clone()).await?;
            let result =
                turn.session().mcp_call("tools", "shout", &input, call.id.as_str()).await?;
            let text = result["content"][0]["text"].as_str().unwrap().to_owned();
            turn.tool_result(&call, ToolResult::new(text.as_str())).await?;
            turn.say(text).await
        })
    });
    let tool = mcp::tool("shout", "Shouts", |text: String| async move { text.to_uppercase() });
    assert_eq!(one(Session::builder().tool(tool), agent).await.text(), "HEY");
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_not_the_session() {
    let agent = acts(|turn| {
        Box::pin(async move {
            if turn.text() == "wait" {
                turn.say("waiting").await?;
                turn.interrupted().await;
            }
            turn.say("next").await
        })
    });
    let (session, _agent) = pair(Session::builder(), agent, Options::new()).await;
    let mut turn = session.prompt("wait").await.unwrap();
    while let Some(event) = turn.next().await.unwrap() {
        if matches!(event, Event::Text(_)) {
            turn.interrupt().await.unwrap();
        }
    }
    assert!(turn.outcome().await.unwrap().is_interrupted());
    let outcome = session.prompt("go").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "next");
}

#[tokio::test]
async fn prompts_that_wait_share_a_turn() {
    let (go, gate) = tokio::sync::watch::channel(false);
    let agent = acts(move |turn| {
        let mut gate = gate.clone();
        Box::pin(async move {
            gate.wait_for(|open| *open).await.unwrap();
            turn.say(turn.text()).await
        })
    });
    let (session, _agent) = pair(Session::builder(), agent, Options::new()).await;
    let mut turns = Vec::new();
    for text in ["one", "two", "three"] {
        turns.push(session.prompt(text).await.unwrap());
    }
    // They have been heard when this is answered.
    session.control().mcp_status().await.unwrap();
    go.send_replace(true);
    let mut texts = Vec::new();
    for turn in &mut turns {
        texts.push(turn.outcome().await.unwrap().text().to_owned());
    }
    assert_eq!(texts, ["one", "two\nthree", "two\nthree"]);
}

#[tokio::test]
async fn a_sub_agent_works_in_the_background_and_wakes_its_parent() {
    let agent = acts(|turn| {
        Box::pin(async move {
            if turn.origin().is_some() {
                return turn.say("it is done").await;
            }
            let call = turn.call_tool("Agent", RawObject::default()).await?;
            let worker = turn
                .subagent(&call, SubagentTask::new("Look", "Look around").in_background())
                .await;
            turn.tool_result(&call, ToolResult::new("launched")).await?;
            turn.say("launched").await?;
            tokio::spawn(async move {
                worker.say("looking").await.unwrap();
                let session = worker.session().clone();
                let keep = session.keep_open();
                worker.finish(TaskStatus::Completed, "all fine").await;
                session.own_turn(Origin::new().kind(OriginKind::TaskNotification), None);
                drop(keep);
            });
            Ok(())
        })
    });
    let (session, agent) = pair(Session::builder(), agent, Options::new()).await;
    let mut events = session.events();
    let outcome = session.prompt("go").await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "launched");
    let mut seen: Vec<Text> = Vec::new();
    while let Some(event) = events.next().await.unwrap() {
        match event {
            Event::Text(text) => {
                let whose = if text.agent.is_some() { "sub: " } else { "" };
                seen.push(format!("{whose}{}", text.text.as_str()).into());
            }
            Event::TurnFinished(end) if end.prompts.is_empty() => break,
            _ => {}
        }
    }
    assert_eq!(seen, ["launched", "sub: looking", "it is done"]);
    session.close().await.unwrap();
    assert_eq!(agent.await.unwrap().code, 0);
}

/// A host that was written after the oldest descriptions, and an agent that speaks as they say.
#[tokio::test]
async fn the_oldest_host_and_the_oldest_agent() {
    for dialect in [Dialect::Legacy, Dialect::LegacySystemResult] {
        let options = Options::new().lenient(true).prompts(false).dialect(dialect);
        for (decision, told) in [(true, "ran \"rm -rf build\""), (false, "refused: ")] {
            let builder =
                Session::builder().legacy().on_permission(move |_: PermissionRequest| async move {
                    if decision { Decision::allow() } else { Decision::deny("no") }
                });
            let (session, _agent) = pair(builder, runs_a_command(), options.clone()).await;
            let outcome = session.prompt("go").await.unwrap().outcome().await.unwrap();
            assert!(outcome.text().starts_with(told), "{}", outcome.text());
        }
    }
}

/// Garbage between the lines does not end a session.
#[tokio::test]
async fn a_host_survives_garbage_and_answers_that_come_twice() {
    for fault in [Fault::GarbageAt(2), Fault::AnswerTwice, Fault::Split] {
        let agent = acts(|turn| Box::pin(turn.say("Hello!")));
        let (session, _agent) = pair(Session::builder(), agent, Options::new().fault(fault)).await;
        let outcome = session.prompt("Hi").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "Hello!");
    }
}
