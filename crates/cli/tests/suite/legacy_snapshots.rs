//! Legacy description 002, "Protocol Overview": one object per line, the lifecycle of a turn, cumulative snapshots, several
//! agents.

use std::collections::BTreeSet;

use duologue::handlers::{Decision, PermissionRequest};
use duologue::{Event, Handshake, Session};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::legacy::{
    OLD, Place, Tape, bash, events, shorts, the_agent_takes_every_example,
    the_host_understands_every_example,
};

async fn yes(_: PermissionRequest) -> Decision {
    Decision::allow()
}

/// The events in short: `text Hello`, `sub: call Bash`.
fn summary(events: &[Event]) -> Vec<String> {
    let mut lines = Vec::new();
    for event in events {
        let text = match event {
            Event::Thinking(thinking) => format!("thinking {}", thinking.text.as_str()),
            Event::Text(text) => format!("text {}", text.text.as_str()),
            Event::ToolCall(call) => format!("call {}", call.name.as_str()),
            Event::ToolResult(_) => "result".to_owned(),
            _ => continue,
        };
        lines.push(if event.agent().is_some() { format!("sub: {text}") } else { text });
    }
    lines
}

/// No framing, no length prefixes: each line is parsed alone.
#[test]
fn every_line_is_one_object_with_a_type() {
    let place = Place::new(json!([
        { "say": [{ "thinking": "Two\nlines" }, "Line\nbreak", bash("printf 'a\\nb'")] },
        { "say": "Done." },
    ]));
    let mut agent = place.streaming(&[OLD, &["--allowedTools=Bash"]].concat());
    agent.prompt("Go\nnow");
    // Reading one fails if it is not JSON.
    let lines = agent.until(|line| line["type"] == "result");
    assert!(lines.iter().all(|line| line.is_object() && line["type"].is_string()));
}

/// `assistant` and `user` repeat for every cycle of a tool.
#[tokio::test]
async fn event_lifecycle_with_two_tool_cycles() {
    let place = Place::new(json!([
        { "say": [bash("touch one")] },
        { "say": [bash("touch two")] },
        { "say": "Both are there." },
    ]));
    let tape = Tape::default();
    let builder = place.host(OLD).legacy().on_permission(yes);
    let session = tape.of(builder).start().await.unwrap();
    let mut turn = session.prompt("Make two files").await.unwrap();
    let outcome = turn.outcome().await.unwrap();
    assert!(outcome.is_success());
    let lines: Vec<Value> =
        tape.to_host().into_iter().filter(|line| line["type"] != "control_response").collect();
    assert_eq!(
        shorts(&lines),
        [
            "system/init",
            "user text",
            "assistant tool_use",
            "user tool_result",
            "assistant tool_use",
            "user tool_result",
            "assistant text",
            "result",
        ]
    );
    assert!(lines[0]["model"].is_string() && lines[0]["tools"].is_array());
    assert_eq!(lines[0]["session_id"], lines[7]["session_id"]);
    assert!(lines[7]["total_cost_usd"].is_number() && lines[7]["usage"].is_object());
    session.close().await.unwrap();
}

#[tokio::test]
async fn cumulative_snapshots_are_reported_once() {
    let place = Place::new(json!([
        { "say": [{ "thinking": "Hm." }, "Let me search...", bash("touch seen")] },
        { "say": [{ "thinking": "Hm." }, "Let me search..."] },
    ]));
    let tape = Tape::default();
    let builder = place.host(OLD).legacy().on_permission(yes);
    let session = tape.of(builder).start().await.unwrap();
    let mut turn = session.prompt("Search").await.unwrap();
    let events = events(&mut turn).await;
    let snapshots: Vec<usize> = tape
        .to_host()
        .iter()
        .filter(|line| line["type"] == "assistant")
        .map(|line| line["message"]["content"].as_array().unwrap().len())
        .collect();
    assert_eq!(snapshots, [1, 2, 3, 1, 2], "the wire repeats itself");
    // The second message says the same as the first, and counts all the same.
    assert_eq!(
        summary(&events),
        [
            "thinking Hm.",
            "text Let me search...",
            "call Bash",
            "result",
            "thinking Hm.",
            "text Let me search...",
        ]
    );
    session.close().await.unwrap();
}

#[tokio::test]
async fn sub_agents_interleave_on_the_same_stdout() {
    let delegate = json!({ "tool": "Agent", "input": {
        "description": "Look", "prompt": "look around", "subagent_type": "general-purpose",
        "run_in_background": false } });
    let place = Place::new(json!([
        { "say": ["I delegate.", delegate.clone(), delegate] },
        { "agent": "sub", "times": 2, "say": [{ "thinking": "A look." }, bash("touch found")] },
        { "agent": "sub", "times": 2, "say": "All fine." },
        { "say": "They say fine." },
    ]));
    let tape = Tape::default();
    let builder = place.host(OLD).legacy().on_permission(yes).forward_subagent_text(true);
    let session = tape.of(builder).start().await.unwrap();
    let mut turn = session.prompt("Delegate").await.unwrap();
    let events = events(&mut turn).await;
    assert_eq!(turn.outcome().await.unwrap().text(), "They say fine.");
    let count = |what: &str| summary(&events).iter().filter(|line| *line == what).count();
    assert_eq!(count("text I delegate."), 1);
    assert_eq!(count("call Agent"), 2);
    assert_eq!(count("sub: call Bash"), 2);
    assert_eq!(count("sub: text All fine."), 2);
    assert_eq!(count("text They say fine."), 1);
    let agents: BTreeSet<&str> =
        events.iter().filter_map(Event::agent).map(|agent| agent.as_str()).collect();
    assert_eq!(agents.len(), 2);
    session.close().await.unwrap();
}

/// The description's rule for lines that name neither message nor agent: a message is recognised by its first block.
#[tokio::test]
async fn context_switches_are_seen_by_their_first_block() {
    let thinking = json!({ "type": "thinking", "thinking": "Hm." });
    let text = json!({ "type": "text", "text": "Let me search..." });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "Grep", "input": {} });
    let result = |id: &str| {
        let block = json!({ "type": "tool_result", "tool_use_id": id, "content": "x" });
        json!({ "type": "user", "message": { "role": "user", "content": [block] } })
    };
    let assistant = |content: Value| json!({ "type": "assistant", "message": { "role": "assistant", "content": content } });
    let lines = [
        json!({ "type": "system", "subtype": "init", "session_id": "sess-1", "model": "m" }),
        assistant(json!([thinking])),
        assistant(json!([thinking, text])),
        // Another agent speaks,
        assistant(json!([call("toolu_sub")])),
        result("toolu_sub"),
        // and the first continues.
        assistant(json!([thinking, text, call("toolu_abc")])),
        result("toolu_abc"),
        json!({ "type": "result", "subtype": "success", "total_cost_usd": 0.018 }),
    ];
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(ours);
    let builder = Session::builder().handshake(Handshake::Skip);
    let session = builder.connect(reader, writer).await.unwrap();
    let mut turn = session.prompt("Search").await.unwrap();
    let (_agent_reads, mut agent_writes) = tokio::io::split(theirs);
    for line in lines {
        agent_writes.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    let events = events(&mut turn).await;
    assert_eq!(
        summary(&events),
        ["thinking Hm.", "text Let me search...", "call Grep", "result", "call Grep", "result",]
    );
    assert!((turn.outcome().await.unwrap().cost_usd() - 0.018).abs() < 1e-9);
    session.kill().await;
}

#[test]
fn input_format_is_that_of_description_000() {
    the_agent_takes_every_example("000", &["--lenient"]);
}

#[tokio::test]
async fn the_host_reads_every_example() {
    the_host_understands_every_example("002").await;
}
