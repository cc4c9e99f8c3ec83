//! Sessions that a hub runs, with a scripted agent.

use std::sync::atomic::Ordering;

use duologue_hub::hub::{HubLimits, Refusal};
use duologue_hub::id::{PromptId, SessionId};
use duologue_hub::log::{AppendError, Body, Log as _};
use duologue_hub::state::{Answer, AskState, PromptState, State};
use duologue_testkit::fake::{Kind, Script, Step};
use duologue_testkit::leak::assert_gone;
use serde_json::json;

use super::stage::{World, ask_of, body, kinds, of_kind, prompt, raw, state};

const ALLOW: Answer = Answer::Allow { input: None, always: false };

fn deny() -> Answer {
    Answer::Deny { message: "no".to_owned(), interrupt: false }
}

fn may_i(request: &str, call: &str) -> Step {
    let input = json!({ "command": "ls" });
    Step::ask_and_go_on(
        request,
        json!({ "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": call, "input": input }),
    )
}

fn answered(request: &str) -> Step {
    Step::WaitFor(Kind::Answer(request.to_owned()))
}

fn result(call: &str) -> Step {
    Step::ToolResult { id: call.to_owned(), content: "done".to_owned(), is_error: false }
}

#[tokio::test]
async fn a_prompt_runs_and_everything_is_in_the_log() {
    let world = World::new(&[Script::new()]);
    let (hub, session) = world.begin().await;
    let id = prompt(&session, "Hello.").await;
    let entries = world.until_kind(session.id(), "turns.completed", 1).await;
    let at = |kind: &str| entries.iter().position(|entry| entry.kind.as_str() == kind).unwrap();
    let order = [
        "sessions.owner",
        "sessions.created",
        "prompts.accepted",
        "agents.started",
        "lines.host",
        "lines.agent",
        "prompts.delivering",
        "turns.started",
        "prompts.running",
        "prompts.finished",
        "turns.completed",
    ];
    let places: Vec<usize> = order.iter().map(|kind| at(kind)).collect();
    assert!(places.is_sorted(), "{:#?}", kinds(&entries));
    // The lines are those of the wire, and the first that names the prompt comes after it was accepted.
    let named = |entry: &&duologue_hub::log::Entry| {
        entry.kind.as_str() == "lines.host" && entry.body.as_str().contains(&id.to_string())
    };
    let line = entries.iter().find(named).unwrap();
    assert_eq!(body(line)["json"]["message"]["content"], "Hello.");
    assert!(line.seq > entries[at("prompts.delivering")].seq);
    let received = world.stage.wait_for(|line| line["type"] == "user").await;
    assert_eq!(received, body(line)["json"]);
    assert_eq!(state(&session), State::Idle);
    hub.shutdown().await;
    assert_gone(&world.stage.pids()).await;
    assert_eq!(of_kind(&world.entries(session.id()).await, "agents.exited").len(), 1);
}

#[tokio::test]
async fn prompts_run_one_after_the_other() {
    let script =
        Script::new().turn([Step::Init, Step::Gate("go".to_owned()), Step::Done("ok".to_owned())]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    for text in ["one", "two", "three"] {
        prompt(&session, text).await;
    }
    world.until_kind(session.id(), "turns.started", 1).await;
    // The agent has one prompt; the others wait here.
    let prompts = |world: &World| {
        let lines = world.stage.host_values();
        lines.iter().filter(|line| line["type"] == "user").count()
    };
    assert_eq!(prompts(&world), 1);
    let waiting = session.read(|state| state.prompts().open_count());
    assert_eq!(waiting, 3);
    world.stage.open("go").unwrap();
    let entries = world.until_kind(session.id(), "turns.completed", 3).await;
    assert_eq!(prompts(&world), 3);
    let order: Vec<&str> = kinds(&entries)
        .into_iter()
        .filter(|kind| matches!(*kind, "prompts.delivering" | "turns.completed"))
        .collect();
    assert_eq!(order, ["prompts.delivering", "turns.completed"].repeat(3));
}

#[tokio::test]
async fn a_repeated_prompt_gets_the_same_receipt_and_runs_once() {
    let world = World::new(&[Script::new(), Script::new()]);
    let (hub, session) = world.begin().await;
    let id = PromptId::random();
    let first = session.prompt(id, raw("\"Hello.\""), None).await.unwrap();
    world.until_kind(session.id(), "turns.completed", 1).await;
    let again = session.prompt(id, raw("\"Hello.\""), None).await.unwrap();
    assert!(again.repeated && again.seq == first.seq, "{again:?}");
    assert_eq!(again.state, Some(PromptState::Finished));
    let other = session.prompt(id, raw("\"Bye.\""), None).await;
    assert!(
        matches!(other, Err(Refusal::OtherRequest { seq, .. }) if seq == first.seq),
        "{other:?}"
    );
    // Also after a restart.
    hub.shutdown().await;
    let hub = world.hub().await;
    let session = hub.session(session.id()).unwrap();
    let again = session.prompt(id, raw("\"Hello.\""), None).await.unwrap();
    assert!(again.repeated && again.seq == first.seq, "{again:?}");
    prompt(&session, "Next.").await;
    world.until_kind(session.id(), "turns.completed", 2).await;
    let sent = world.stage.host_values();
    assert_eq!(sent.iter().filter(|line| line["uuid"] == id.to_string()).count(), 1);
}

#[tokio::test]
async fn the_first_answer_wins_and_the_others_learn_it() {
    let script = Script::new().turn([
        Step::Init,
        may_i("r1", "toolu_1"),
        may_i("r2", "toolu_2"),
        answered("r1"),
        answered("r2"),
        result("toolu_1"),
        result("toolu_2"),
        Step::Done("ok".to_owned()),
    ]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    prompt(&session, "Hello.").await;
    // Both are open at once.
    let entries = world.until_kind(session.id(), "asks.opened", 2).await;
    assert_eq!(state(&session), State::Waiting);
    let asks: Vec<_> = of_kind(&entries, "asks.opened").into_iter().map(ask_of).collect();
    let by = |name: &str| Some(name.into());
    let (phone, desk) = tokio::join!(
        session.answer(asks[1], ALLOW, by("phone")),
        session.answer(asks[1], deny(), by("desk")),
    );
    assert!(phone.is_ok() != desk.is_ok(), "{phone:?} {desk:?}");
    let (winner, lost) = if phone.is_ok() { ("phone", desk) } else { ("desk", phone) };
    let Err(Refusal::NotOpen { state: outcome, by: who, answer, .. }) = lost else {
        panic!("{lost:?}")
    };
    assert_eq!((outcome, who.as_deref()), (AskState::Answered, Some(winner)));
    let allowed = answer.unwrap()["behavior"] == "allow";
    assert_eq!(allowed, winner == "phone");
    session.answer(asks[0], deny(), None).await.unwrap();
    let entries = world.until_kind(session.id(), "turns.completed", 1).await;
    // Entries say who answered, in the order ask, answer, result.
    let answer = of_kind(&entries, "asks.answered")[0];
    assert_eq!(answer.by.as_deref(), Some(winner));
    assert_eq!(of_kind(&entries, "asks.delivered").len(), 2);
    for (request, behavior) in [("r1", "deny"), ("r2", if allowed { "allow" } else { "deny" })] {
        let answers: Vec<_> = world
            .stage
            .host_values()
            .into_iter()
            .filter(|line| line["response"]["request_id"] == request)
            .collect();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0]["response"]["response"]["behavior"], behavior);
    }
    // An answer after everything is over learns the outcome too.
    let late = session.answer(asks[0], ALLOW, None).await;
    assert!(matches!(late, Err(Refusal::NotOpen { .. })), "{late:?}");
}

#[tokio::test]
async fn answers_that_do_not_fit_are_refused_and_the_ask_stays_open() {
    let script = Script::new().turn([
        Step::Init,
        Step::ask_and_go_on(
            "q1",
            json!({ "subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "toolu_q",
                    "input": { "questions": [{ "question": "Which?", "options": [{ "label": "Blue" }] }] } }),
        ),
        answered("q1"),
        Step::Done("ok".to_owned()),
    ]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    prompt(&session, "Hello.").await;
    let entries = world.until_kind(session.id(), "asks.opened", 1).await;
    assert_eq!(body(of_kind(&entries, "asks.opened")[0])["about"], "question");
    let ask = ask_of(of_kind(&entries, "asks.opened")[0]);
    let refused = session.answer(ask, ALLOW, None).await;
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
    let answers = [("Which?".to_owned(), "Blue".to_owned())].into();
    session.answer(ask, Answer::Answers { answers }, None).await.unwrap();
    world.until_kind(session.id(), "turns.completed", 1).await;
    let line = world.stage.wait_for(|line| line["response"]["request_id"] == "q1").await;
    assert_eq!(line["response"]["response"]["updatedInput"]["answers"]["Which?"], "Blue", "{line}");
}

#[tokio::test]
async fn a_withdrawn_ask_is_not_answered() {
    let script = Script::new().turn([
        Step::Init,
        may_i("r1", "toolu_1"),
        Step::Withdraw("r1".to_owned()),
        Step::Done("ok".to_owned()),
    ]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    prompt(&session, "Hello.").await;
    let entries = world.until_kind(session.id(), "asks.withdrawn", 1).await;
    let late = session.answer(ask_of(of_kind(&entries, "asks.withdrawn")[0]), ALLOW, None).await;
    let outcome = matches!(late, Err(Refusal::NotOpen { state: AskState::Withdrawn, .. }));
    assert!(outcome, "{late:?}");
    world.until_kind(session.id(), "turns.completed", 1).await;
    let lines = world.stage.host_values();
    assert!(!lines.iter().any(|line| line["response"]["request_id"] == "r1"));
}

#[tokio::test]
async fn an_agent_that_dies_closes_what_it_had_and_the_next_prompt_starts_another() {
    let script = Script::new().turn([
        Step::Init,
        may_i("r1", "toolu_1"),
        Step::Gate("die".to_owned()),
        Step::Die(9),
    ]);
    let world = World::new(&[script, Script::new()]);
    let (hub, session) = world.begin().await;
    let first = prompt(&session, "one").await;
    let second = prompt(&session, "two").await;
    world.until_kind(session.id(), "asks.opened", 1).await;
    world.stage.open("die").unwrap();
    let entries = world.until_kind(session.id(), "turns.completed", 1).await;
    for kind in ["agents.exited", "asks.lost", "prompts.interrupted", "turns.failed"] {
        assert_eq!(of_kind(&entries, kind).len(), 1, "{kind}: {:#?}", kinds(&entries));
    }
    let states =
        session.read(|state| [first, second].map(|id| state.prompts().get(id).unwrap().state));
    assert_eq!(states, [PromptState::Interrupted, PromptState::Finished]);
    assert_eq!(world.stage.starts().len(), 2);
    hub.shutdown().await;
    assert_gone(&world.stage.pids()).await;
}

#[tokio::test]
async fn an_agent_that_cannot_start_fails_its_prompt() {
    let world = World::new(&[Script::new()]);
    let agents = world.agents().program("/there/is/no/such/program");
    let hub = duologue_hub::hub::Hub::open(world.log.clone(), agents, HubLimits::default())
        .await
        .unwrap();
    let session = hub.create(SessionId::random(), &raw("{}"), None).await.unwrap().0;
    prompt(&session, "one").await;
    prompt(&session, "two").await;
    let entries = world.until_kind(session.id(), "prompts.failed", 2).await;
    let reason = body(of_kind(&entries, "prompts.failed")[0])["reason"].to_string();
    assert!(reason.contains("/there/is/no/such/program"), "{reason}");
    assert_eq!(state(&session), State::Idle);
}

#[tokio::test]
async fn a_hub_that_died_is_continued_by_the_next_one() {
    let script =
        Script::new().turn([Step::Init, may_i("r1", "toolu_1"), answered("r1"), Step::Stall]);
    let world = World::new(&[script, Script::new()]);
    let (hub, session) = world.begin().await;
    let id = session.id();
    let first = prompt(&session, "one").await;
    let second = prompt(&session, "two").await;
    let entries = world.until_kind(id, "asks.opened", 1).await;
    let ask = ask_of(of_kind(&entries, "asks.opened")[0]);
    session.answer(ask, ALLOW, None).await.unwrap();
    world.until_kind(id, "asks.delivering", 1).await;
    // No shutdown: the tasks are dropped where they are.
    drop((hub, session));
    let hub = world.hub().await;
    let session = hub.session(id).unwrap();
    let entries = world.until_kind(id, "turns.completed", 1).await;
    // The tool may have run, so that is not known; the prompt that was queued has run.
    let (asked, one, two) = session.read(|state| {
        let prompt = |id| state.prompts().get(id).unwrap().state;
        (state.asks().get(ask).unwrap().state, prompt(first), prompt(second))
    });
    assert_eq!(asked, AskState::Unknown);
    assert_eq!((one, two), (PromptState::Interrupted, PromptState::Finished));
    let generations: Vec<u64> = entries.iter().map(|entry| entry.generation).collect();
    assert!(generations.is_sorted());
    let owners = of_kind(&entries, "sessions.owner").len() as u64;
    assert_eq!(Some(&owners), generations.last());
    let first = first.to_string();
    let sent = world.stage.host_values();
    assert_eq!(sent.iter().filter(|line| line["uuid"] == first).count(), 1, "sent twice");
    hub.shutdown().await;
    assert_gone(&world.stage.pids()).await;
}

#[tokio::test]
async fn a_hub_whose_session_was_taken_over_stops_its_agent() {
    let script =
        Script::new().turn([Step::Init, Step::Gate("go".to_owned()), Step::Done("ok".to_owned())]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    prompt(&session, "Hello.").await;
    world.until_kind(session.id(), "turns.started", 1).await;
    let _second = world.hub().await;
    world.stage.open("go").unwrap();
    assert_gone(&world.stage.pids()).await;
    let refused = session.prompt(PromptId::random(), raw("\"Hello.\""), None).await;
    assert_eq!(refused, Err(Refusal::Unavailable));
    assert_eq!(state(&session), State::Failed);
}

#[tokio::test]
async fn an_interrupt_names_its_turn() {
    let script = Script::new().turn([Step::Init, Step::Stall]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    let none = session.interrupt(1, None).await;
    assert!(matches!(none, Err(Refusal::NotRunning { turn: None, .. })), "{none:?}");
    let id = prompt(&session, "Hello.").await;
    world.until_kind(session.id(), "turns.started", 1).await;
    let other = session.interrupt(7, None).await;
    assert!(matches!(other, Err(Refusal::NotRunning { turn: Some(1), .. })), "{other:?}");
    session.interrupt(1, Some("phone".into())).await.unwrap();
    let entries = world.until_kind(session.id(), "turns.cancelled", 1).await;
    assert_eq!(of_kind(&entries, "turns.interrupting")[0].by.as_deref(), Some("phone"));
    let became = session.read(|state| state.prompts().get(id).unwrap().state);
    assert_eq!(became, PromptState::Interrupted);
}

#[tokio::test]
async fn queued_prompts_can_be_withdrawn_and_running_ones_not() {
    let script = Script::new().turn([Step::Init, Step::Stall]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    let first = prompt(&session, "one").await;
    world.until_kind(session.id(), "turns.started", 1).await;
    let second = prompt(&session, "two").await;
    session.withdraw(second, None).await.unwrap();
    session.withdraw(second, None).await.unwrap();
    let refused = session.withdraw(first, None).await;
    assert!(matches!(refused, Err(Refusal::PromptStarted(_))), "{refused:?}");
    let missing = session.withdraw(PromptId::random(), None).await;
    assert_eq!(missing, Err(Refusal::Missing("prompt")));
}

#[tokio::test]
async fn a_closed_session_has_no_agent_and_takes_no_prompts() {
    let script = Script::new().turn([Step::Init, may_i("r1", "toolu_1"), Step::Stall]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    prompt(&session, "one").await;
    let queued = prompt(&session, "two").await;
    world.until_kind(session.id(), "asks.opened", 1).await;
    session.close(None).await.unwrap();
    session.close(None).await.unwrap();
    assert_gone(&world.stage.pids()).await;
    let entries = world.entries(session.id()).await;
    assert_eq!(kinds(&entries).last(), Some(&"sessions.closed"));
    assert_eq!(state(&session), State::Closed);
    let (open, asks, state) = session.read(|state| {
        let queued = state.prompts().get(queued).unwrap().state;
        (state.prompts().open_count(), state.asks().unfinished().count(), queued)
    });
    assert_eq!((open, asks, state), (0, 0, PromptState::Withdrawn));
    let refused = session.prompt(PromptId::random(), raw("\"three\""), None).await;
    assert_eq!(refused, Err(Refusal::Closed));
}

#[tokio::test]
async fn a_full_disk_stops_the_agent_for_a_while_and_loses_nothing() {
    let line = json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": "x".repeat(1_000) }] } });
    let script = Script::new().turn([
        Step::Init,
        Step::Gate("go".to_owned()),
        Step::flood_of(2_000, &line),
        Step::Done("ok".to_owned()),
    ]);
    let world = World::new(&[script]);
    let (_hub, session) = world.begin().await;
    prompt(&session, "one").await;
    world.until_kind(session.id(), "turns.started", 1).await;
    world.log.full.store(true, Ordering::SeqCst);
    world.stage.open("go").unwrap();
    let head = world.log.head(session.id()).await.unwrap().unwrap().last;
    let refused = session.prompt(PromptId::random(), raw("\"two\""), None);
    // Either the client gets the error, or the session is waiting for the log already.
    let refused = tokio::time::timeout(std::time::Duration::from_millis(200), refused).await;
    let is_refused = matches!(refused, Ok(Err(Refusal::Log(AppendError::Full))) | Err(_));
    assert!(is_refused, "{refused:?}");
    assert_eq!(world.log.head(session.id()).await.unwrap().unwrap().last, head);
    world.log.full.store(false, Ordering::SeqCst);
    let entries = world.until_kind(session.id(), "turns.completed", 1).await;
    let flood = entries.iter().filter(|entry| entry.body.as_str().contains("xxxxxxxxxx")).count();
    assert_eq!(flood, 2_000);
}

#[tokio::test]
async fn limits_are_refusals_that_name_the_limit() {
    let script = Script::new().turn([Step::Init, Step::Stall]);
    let world = World::new(&[script]);
    let mut limits = HubLimits::default();
    (limits.sessions, limits.prompts) = (1, 2);
    let hub = world.hub_with(limits).await;
    let id = SessionId::random();
    let (session, _) = hub.create(id, &raw("{}"), None).await.unwrap();
    let again = hub.create(id, &raw("{}"), None).await.unwrap().1;
    assert!(again.repeated);
    let other = hub.create(id, &raw("{\"model\":\"x\"}"), None).await;
    assert!(matches!(other, Err(Refusal::OtherRequest { .. })), "{other:?}");
    let many = hub.create(SessionId::random(), &raw("{}"), None).await;
    assert!(matches!(many, Err(Refusal::Limit { what: "sessions", limit: 1, .. })), "{many:?}");
    prompt(&session, "one").await;
    prompt(&session, "two").await;
    let many = session.prompt(PromptId::random(), raw("\"three\""), None).await;
    assert!(matches!(many, Err(Refusal::Limit { limit: 2, .. })), "{many:?}");
    for options in ["{\"extra\":1}", "[]", "{\"permission_mode\":\"bypassPermissions\"}"] {
        let refused = hub.create(SessionId::random(), &raw(options), None).await;
        assert!(matches!(refused, Err(Refusal::Invalid(_))), "{options}: {refused:?}");
    }
    for content in ["\"\"", "[]", "{}", "1", "null"] {
        let refused = session.prompt(PromptId::random(), raw(content), None).await;
        assert!(matches!(refused, Err(Refusal::Invalid(_))), "{content}: {refused:?}");
    }
}

#[tokio::test]
async fn clients_publish_entries_of_their_own() {
    let world = World::new(&[Script::new()]);
    let (_hub, session) = world.begin().await;
    let note = Body::parse("{\"text\":\"seen\"}").unwrap();
    let receipt = session.publish("x.note", note.clone(), Some("phone".into())).await.unwrap();
    let entries = world.entries(session.id()).await;
    let entry = &entries[receipt.first as usize - 1];
    assert_eq!((entry.body.clone(), entry.by.as_deref()), (note.clone(), Some("phone")));
    assert_eq!(entry.origin, duologue_hub::log::Origin::External);
    for kind in ["note", "prompts.accepted", "X.note", ""] {
        let refused = session.publish(kind, note.clone(), None).await;
        assert!(matches!(refused, Err(Refusal::Invalid(_))), "{kind}: {refused:?}");
    }
}

#[tokio::test]
async fn an_agent_that_has_not_stored_the_conversation_begins_it() {
    // The second start does not find it, as the CLI reports that; the third one is a new conversation with the same id.
    let missing = "No conversation found with session ID: 1";
    let line = json!({ "type": "result", "subtype": "error_during_execution", "is_error": true, "errors": [missing] });
    let steps = [Step::Emit(line), Step::Stderr(missing.to_owned()), Step::Exit(1)];
    let forgetful = Script::new().on("initialize", steps);
    let world = World::new(&[Script::new(), forgetful, Script::new()]);
    let (hub, session) = world.begin().await;
    let id = session.id();
    prompt(&session, "one").await;
    world.until_kind(id, "turns.completed", 1).await;
    hub.shutdown().await;
    let hub = world.hub().await;
    prompt(&hub.session(id).unwrap(), "two").await;
    let entries = world.until_kind(id, "turns.completed", 2).await;
    assert_eq!(of_kind(&entries, "turns.failed").len(), 0, "{:#?}", kinds(&entries));
    assert_eq!(of_kind(&entries, "turns.started").len(), 2);
    let flags: Vec<String> =
        world.stage.starts().iter().map(|start| start.argv.join(" ")).collect();
    assert!(flags[0].contains("--session-id") && flags[1].contains("--resume"), "{flags:?}");
    assert!(flags[2].contains("--session-id"), "{flags:?}");
}
