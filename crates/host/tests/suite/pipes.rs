//! Pipes that are closed, held, full, or never read.

use std::time::Duration;

use duologue::handlers::Decision;
use duologue::{Error, Overflow, Session};
use duologue_testkit::fake::{Kind, Script, Step};
use duologue_testkit::leak::{eventually, is_alive};
use serde_json::json;

use super::play::{Play, SHORT, gone, pieces, texts};

#[tokio::test]
async fn a_burst_on_stderr_is_drained_and_its_end_reported() {
    let play = Play::turn([
        Step::Init,
        Step::StderrBytes(300_000),
        Step::Stderr("and then it broke".into()),
        Step::Exit(5),
    ]);
    let session = play.start().await;
    let mut turn = session.prompt("go on").await.unwrap();
    let gone = gone(turn.outcome().await.unwrap_err());
    assert_eq!(gone.code, Some(5));
    assert!(gone.stderr.ends_with("and then it broke\n") || gone.stderr.ends_with("broke"));
    // An error message holds an end of it and not all of it.
    assert!(gone.stderr.len() < 10_000, "{}", gone.stderr.len());
    drop((turn, session));
    play.over().await;
}

#[tokio::test]
async fn an_agent_that_closed_stdin_does_not_block_close() {
    let play = Play::turn([
        Step::Init,
        Step::Stderr("I am deaf".into()),
        Step::Done("one".into()),
        Step::CloseStdin,
        Step::Mark("deaf".into()),
        Step::Silent,
    ]);
    let session = play.start().await;
    let mut turn = session.prompt("one").await.unwrap();
    assert!(turn.outcome().await.unwrap().is_success());
    play.stage.reached("deaf").await;
    // It lives, and will never hear this.
    let error = match session.prompt("two").await {
        Ok(mut turn) => turn.outcome().await.unwrap_err(),
        Err(error) => error,
    };
    assert!(gone(error).stderr.contains("I am deaf"));
    let error = session.control().without_limit().get_usage().await.unwrap_err();
    assert!(gone(error).stderr.contains("I am deaf"));
    drop((turn, session));
    play.over().await;
}

#[tokio::test]
async fn a_turn_continues_after_stdin_is_closed() {
    let play = Play::turn([
        Step::Init,
        Step::CloseStdin,
        Step::Mark("deaf".into()),
        Step::Gate("go".into()),
        Step::Text("all of it".into()),
        Step::Done("all of it".into()),
        Step::Exit(0),
    ]);
    let session = play.start().await;
    let mut turn = session.prompt("one").await.unwrap();
    play.stage.reached("deaf").await;
    let control = session.control().without_limit();
    let (usage, outcome, ()) = tokio::join!(control.get_usage(), turn.outcome(), async {
        play.stage.open("go").unwrap();
    });
    assert_eq!(outcome.unwrap().text(), "all of it");
    assert!(matches!(usage, Err(Error::Gone(_))));
    drop((turn, control, session));
    play.over().await;
}

#[tokio::test]
async fn a_request_to_an_agent_that_stopped_reading_times_out() {
    let steps = [Step::Init, Step::StopReading, Step::Mark("deaf".into()), Step::Silent];
    let play = Play::of(Script::new().turn(steps));
    let session = play.start().await;
    let _turn = session.prompt("one").await.unwrap();
    play.stage.reached("deaf").await;
    // Much more than pipes and queues hold.
    let (long, mut turns) = ("x".repeat(100_000), Vec::new());
    let limit = Duration::from_millis(100);
    while let Ok(turn) = tokio::time::timeout(limit, session.prompt(long.as_str())).await {
        turns.push(turn.unwrap());
        assert!(turns.len() < 10_000);
    }
    let control = session.control().within(limit);
    let answer = tokio::time::timeout(Duration::from_secs(20), control.get_usage()).await.unwrap();
    assert!(matches!(answer, Err(Error::TimedOut { .. })), "{answer:?}");
    drop((_turn, turns, control, session));
    play.over().await;
}

#[tokio::test]
async fn an_agent_that_has_closed_stdout_is_ended() {
    for deaf in [false, true] {
        let mut script = Script::new().turn([
            Step::Init,
            Step::Stderr("I am mute".into()),
            Step::CloseStdout,
            Step::WaitFor(Kind::End),
        ]);
        if deaf {
            script = script.ignores_end().ignores_term();
        }
        let play = Play::of(script);
        let session = play.start().await;
        let mut turn = session.prompt("one").await.unwrap();
        assert!(gone(turn.outcome().await.unwrap_err()).stderr.contains("I am mute"));
        drop((turn, session));
        play.over().await;
    }
}

#[tokio::test]
async fn a_process_that_holds_the_pipes_of_a_dead_agent_does_not_block_its_end() {
    for own_group in [false, true] {
        let holds = Step::Grandchild { ignores_term: true, own_group, holds_pipes: true };
        let steps = [Step::Init, holds, Step::Text("before".into()), Step::Exit(6)];
        let play = Play::turn(steps);
        let session = play.start().await;
        let mut turn = session.prompt("one").await.unwrap();
        let mut seen = Vec::new();
        let error = loop {
            match turn.next().await {
                Ok(Some(event)) => seen.push(event),
                Ok(None) => panic!("it has no result"),
                Err(error) => break error,
            }
        };
        assert_eq!(gone(error).code, Some(6));
        assert_eq!(texts(&seen), ["before"]);
        drop((turn, session));
        if own_group {
            // It has left its group and its parent is dead: nobody can tell whose it was.
            let stray = play.stage.grandchildren()[0];
            assert!(is_alive(stray));
            let kill = format!("kill -9 {stray}");
            std::process::Command::new("/bin/sh").args(["-c", &kill]).status().unwrap();
        }
        play.over().await;
    }
}

#[tokio::test]
async fn a_handler_that_never_returns_blocks_nothing_else() {
    let ask = |id: &str, tool: &str| Step::can_use_tool(id, tool, json!({}));
    let Step::Ask { id, request, .. } = ask("hangs", "Write") else { panic!() };
    let play = Play::turn([
        Step::Init,
        Step::ask_and_go_on(id, request),
        ask("quick", "Read"),
        Step::Text("on it goes".into()),
        Step::Done("on it goes".into()),
    ]);
    let builder = play.builder().on_permission(|ask| async move {
        if ask.tool_name() == "Write" {
            std::future::pending::<()>().await;
        }
        Decision::allow()
    });
    let session = builder.start().await.unwrap();
    let mut turn = session.prompt("go on").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "on it goes");
    assert_eq!(play.answer("quick").await["response"]["behavior"], "allow");
    let mut turn = session.prompt("next").await.unwrap();
    assert_eq!(turn.outcome().await.unwrap().text(), "next");
    drop((turn, session));
    play.over().await;
}

fn flood(count: usize) -> [Step; 5] {
    let done = || "the end".to_owned();
    [
        Step::Init,
        Step::flood(count, 240),
        Step::Text(done()),
        Step::Done(done()),
        Step::Mark(done()),
    ]
}

#[tokio::test]
async fn a_flood_spills_to_a_file_for_a_slow_consumer() {
    const COUNT: usize = 300_000;
    let play = Play::turn(flood(COUNT));
    let session = play.start().await;
    let mut messages = session.messages();
    let mut turn = session.prompt("go on").await.unwrap();
    // Nobody reads, and the agent is not held up.
    play.stage.reached("the end").await;
    assert!(session.control().get_context_usage().await.is_ok());
    assert_eq!(pieces(&mut messages).await, COUNT);
    assert_eq!(turn.outcome().await.unwrap().text(), "the end");
    drop((turn, messages));
    play.close(session).await;
}

#[tokio::test]
async fn with_overflow_pause_a_flood_waits_in_the_pipe() {
    const COUNT: usize = 20_000;
    let play = Play::turn(flood(COUNT).into_iter().chain([Step::Exit(0)]));
    let builder = play.builder().memory_budget(100_000).overflow(Overflow::Pause);
    let session = builder.start().await.unwrap();
    let pid = session.pid().unwrap();
    let mut messages = session.messages();
    let mut turn = session.prompt("go on").await.unwrap();
    // An answer is read all the same, however much comes before it.
    assert!(session.control().get_context_usage().await.is_ok());
    let (mut pieces, mut paused) = (0, false);
    loop {
        let message = messages.next().await.unwrap().unwrap();
        match message.line.kind().unwrap().as_ref() {
            "result" => break,
            "stream_event" => pieces += 1,
            _ => {}
        }
        if pieces == 1 {
            paused = is_alive(pid);
        }
    }
    assert!(paused);
    assert_eq!(pieces, COUNT);
    assert_eq!(turn.outcome().await.unwrap().text(), "the end");
    drop((turn, messages, session));
    play.over().await;
}

#[tokio::test]
async fn the_pipe_of_a_dead_agent_is_drained_for_a_slow_consumer() {
    // More than the budget, and not more than a pipe: it need not wait for us to die.
    const COUNT: usize = 200;
    let play = Play::turn(flood(COUNT).into_iter().chain([Step::Exit(0)]));
    let builder = play.builder().memory_budget(5_000).overflow(Overflow::Pause);
    let session = builder.start().await.unwrap();
    let mut messages = session.messages();
    let mut turn = session.prompt("go on").await.unwrap();
    assert!(eventually(|| session.pid().is_none()).await);
    assert_eq!(pieces(&mut messages).await, COUNT);
    assert_eq!(turn.outcome().await.unwrap().text(), "the end");
    drop((turn, messages, session));
    play.over().await;
}

#[tokio::test]
async fn with_overflow_fail_a_flood_ends_a_subscription_and_the_session_continues() {
    let play = Play::turn(flood(20_000));
    let builder = play.builder().memory_budget(100_000).overflow(Overflow::Fail).ladder(SHORT);
    let session = builder.start().await.unwrap();
    let mut unread = session.messages();
    let mut turn = session.prompt("go on").await.unwrap();
    play.stage.reached("the end").await;
    // The turn has few events, and loses none of them.
    assert_eq!(turn.outcome().await.unwrap().text(), "the end");
    let error = loop {
        match unread.next().await {
            Ok(line) => assert!(line.is_some(), "it ended without an error"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::TooSlow { .. }), "{error}");
    // Control lines are served, and new subscriptions work.
    assert!(session.control().get_context_usage().await.is_ok());
    let mut events = session.events();
    session.prompt("next").await.unwrap();
    assert!(events.next().await.unwrap().is_some());
    drop((turn, unread, events));
    play.close(session).await;
}

#[tokio::test]
async fn a_read_can_be_cancelled_at_any_point() {
    const COUNT: usize = 2_000;
    let mut steps = vec![Step::Init];
    steps.extend((0..COUNT).map(|number| Step::Text(number.to_string())));
    steps.push(Step::Done("done".into()));
    let play = Play::turn(steps);
    let session = play.start().await;
    let (mut all, mut messages) = (session.events(), session.messages());
    let mut turn = session.prompt("go on").await.unwrap();
    let expected: Vec<String> = (0..COUNT).map(|number| number.to_string()).collect();
    let (mut of_turn, mut of_all, mut lines) = (Vec::new(), Vec::new(), 0);
    let mut random = 7_u64;
    let mut ended = false;
    while !ended || of_all.len() < COUNT || lines < COUNT {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let patience = async {
            for _ in 0..(random >> 60) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            event = turn.next(), if !ended => match event.unwrap() {
                Some(event) => of_turn.push(event),
                None => ended = true,
            },
            event = all.next(), if of_all.len() < COUNT => {
                of_all.extend(texts(&[event.unwrap().unwrap()]));
            }
            message = messages.next(), if lines < COUNT => {
                let line = message.unwrap().unwrap().line;
                if line.kind().unwrap() == "assistant" {
                    let text = format!("\"text\":\"{lines}\"");
                    assert!(std::str::from_utf8(line.raw()).unwrap().contains(&text));
                    lines += 1;
                }
            }
            () = patience => {}
        }
    }
    assert_eq!(texts(&of_turn), expected);
    assert_eq!(of_all, expected);
    drop((turn, all, messages));
    play.close(session).await;
}

#[tokio::test]
async fn bytes_that_are_not_a_line_do_not_end_the_stream() {
    let play = Play::turn([
        Step::Init,
        Step::Line("no json".into()),
        Step::Emit(json!({ "type": "unheard_of" })),
        Step::Raw(b"{\"type\":\"assis".to_vec()),
        Step::Exit(0),
    ]);
    let session = play.start().await;
    let mut all = session.events();
    let mut turn = session.prompt("go on").await.unwrap();
    assert_eq!(gone(turn.outcome().await.unwrap_err()).code, Some(0));
    let mut odd = Vec::new();
    while let Ok(Some(event)) = all.next().await {
        if matches!(event, duologue::Event::MalformedLine(_) | duologue::Event::UnknownLine(_)) {
            odd.push(event.tag().to_owned());
        }
    }
    assert_eq!(odd, ["malformed_line", "unknown_line", "malformed_line"]);
    drop((turn, all, session));
    play.over().await;
}

/// A pipe that holds one byte: every read and write is one byte long.
#[tokio::test]
async fn a_conversation_of_single_bytes_works() {
    let (mut agent, host) = super::agent::ends(1);
    let (reader, writer) = tokio::io::split(host);
    let builder = Session::builder().on_permission(|_| async { Decision::allow() });
    let session = tokio::join!(builder.connect(reader, writer), agent.handshake()).0.unwrap();
    let served = tokio::spawn(async move {
        for number in 0..3 {
            let (_, uuid) = agent.prompt().await;
            agent.init().await;
            let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": {} });
            agent.ask("same", request).await;
            assert_eq!(agent.read().await["response"]["response"]["behavior"], "allow");
            agent.raw(b"not JSON \xff\n\n").await;
            agent.text(&format!("m{number}"), "répondu").await;
            agent.result(&[&uuid], "répondu").await;
        }
        assert!(agent.at_end().await);
    });
    for _ in 0..3 {
        let outcome = session.prompt("go").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.text(), "répondu");
    }
    session.close().await.unwrap();
    served.await.unwrap();
}
