//! The agent of `docs/write-an-agent.md`, driven by our host.

use duologue::handlers::{Decision, PermissionRequest};
use duologue::{Event, Session};
use duologue_agent::{Options, serve};
use duologue_testkit::root;

#[path = "../../examples/parrot.rs"]
#[expect(dead_code, reason = "its main is for the process")]
mod parrot;

#[test]
fn the_page_shows_it_as_it_is() {
    let page = std::fs::read_to_string(root().join("docs/write-an-agent.md")).unwrap();
    let source = include_str!("../../examples/parrot.rs");
    assert!(page.contains(&format!("```rust,no_run\n{source}```")), "copy it into the page");
    assert!(source.lines().count() < 60, "a whole agent is short");
}

#[tokio::test]
async fn it_repeats_asks_and_delegates() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(serve(parrot::Parrot::default(), reader, writer, Options::new().partial(true)));
    let (reader, writer) = tokio::io::split(ours);
    let builder = Session::builder()
        .on_permission(|_: PermissionRequest| async { Decision::deny("no paper") });
    let session = builder.connect(reader, writer).await.unwrap();
    let mut turn = session.prompt("hello, delegate and write").await.unwrap();
    let (mut pieces, mut texts, mut calls) = (String::new(), Vec::new(), Vec::new());
    while let Some(event) = turn.next().await.unwrap() {
        match event {
            Event::TextDelta(delta) if delta.agent.is_none() => {
                pieces.push_str(delta.text.as_str());
            }
            Event::Text(text) => texts.push(text.text.to_string()),
            Event::ToolCall(call) => calls.push(call.name.to_string()),
            _ => {}
        }
    }
    assert!(pieces.starts_with("hello, delegate and write"), "{pieces}");
    assert_eq!(calls, ["Write", "Agent"]);
    assert!(texts.contains(&"no paper".to_owned()), "{texts:?}");
    assert_eq!(texts.last().unwrap(), "That was number 1.");
    assert_eq!(turn.outcome().await.unwrap().denials(), 1);
    let outcome = session.prompt("again").await.unwrap().outcome().await.unwrap();
    assert!(outcome.text().ends_with("That was number 2."), "{}", outcome.text());
    session.close().await.unwrap();
}
