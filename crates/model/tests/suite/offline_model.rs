//! Requests that work without a model.

use duologue_model::{Model, OfflineModel, Purpose, Request, StreamedMessage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::asking::receive;

const TOOLS: &[&str] = &[
    "Bash",
    "Read",
    "Write",
    "Edit",
    "Glob",
    "Grep",
    "AskUserQuestion",
    "ExitPlanMode",
    "Agent",
    "TodoWrite",
    "mcp__clock__now",
];

/// A conversation with it, without an agent between.
struct Talk {
    model: OfflineModel,
    messages: Vec<Value>,
    tools: Vec<&'static str>,
}

impl Talk {
    fn new() -> Self {
        let model = OfflineModel::new().folder("/home/me");
        Self { model, messages: Vec::new(), tools: TOOLS.to_vec() }
    }

    fn request(&self) -> Request {
        let tools: Vec<Value> = self.tools.iter().map(|name| json!({ "name": name })).collect();
        let body = json!({ "model": "any", "tools": tools, "messages": self.messages });
        Request::new(body).unwrap()
    }

    async fn ask(&mut self) -> StreamedMessage {
        let received = receive(&self.model, self.request()).await;
        assert_eq!(received.error, None);
        let content = received.folded.content().to_vec();
        self.messages.push(json!({ "role": "assistant", "content": content }));
        received.folded
    }

    async fn say(&mut self, text: &str) -> StreamedMessage {
        self.messages.push(json!({ "role": "user", "content": text }));
        self.ask().await
    }

    /// Gives the latest call this result.
    async fn give(&mut self, text: &str, is_error: bool) -> StreamedMessage {
        let id = call(&self.messages.last().unwrap()["content"]).unwrap()["id"].clone();
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error });
        self.messages.push(json!({ "role": "user", "content": [result] }));
        self.ask().await
    }
}

fn call(content: &Value) -> Option<&Value> {
    content.as_array()?.iter().find(|block| block["type"] == "tool_use")
}

/// The tool that a request leads to, and its input.
async fn called(prompt: &str) -> (String, Value) {
    let folded = Talk::new().say(prompt).await;
    assert_eq!(folded.stop_reason(), Some("tool_use"), "{prompt}: {}", folded.text());
    let content = Value::from(folded.content());
    let call = call(&content).unwrap();
    (call["name"].as_str().unwrap().to_owned(), call["input"].clone())
}

#[tokio::test]
async fn plain_requests_are_tool_calls() {
    let bash = |command: &str, first: &str| json!({ "command": command, "description": format!("Run {first}") });
    let file = |name: &str| json!({ "file_path": format!("/home/me/{name}") });
    let agent = |task: &str, who: &str| json!({ "description": task, "prompt": task, "subagent_type": who, "run_in_background": false });
    let cases = [
        ("read README.md", "Read", file("README.md")),
        ("Please read the file `docs/a b.md`.", "Read", file("docs/a b.md")),
        ("Can you show me ./src/lib.rs?", "Read", file("src/lib.rs")),
        ("read /etc/hosts", "Read", json!({ "file_path": "/etc/hosts" })),
        ("What is in README.md?", "Read", file("README.md")),
        ("what does README.md say?", "Read", file("README.md")),
        ("run ls -la", "Bash", bash("ls -la", "ls")),
        ("Run `if true; then echo yes; fi`", "Bash", bash("if true; then echo yes; fi", "if")),
        ("run if true; then echo yes; fi", "Bash", bash("if true; then echo yes; fi", "if")),
        ("$ echo \"a then b\"", "Bash", bash("echo \"a then b\"", "echo")),
        (
            "write notes.txt: buy milk",
            "Write",
            json!({ "file_path": "/home/me/notes.txt", "content": "buy milk\n" }),
        ),
        (
            "create a file notes.txt with \"a then b\"",
            "Write",
            json!({ "file_path": "/home/me/notes.txt", "content": "a then b\n" }),
        ),
        (
            "write hello to a.txt",
            "Write",
            json!({ "file_path": "/home/me/a.txt", "content": "hello\n" }),
        ),
        (
            "write a.txt:\none\nthen two\n",
            "Write",
            json!({ "file_path": "/home/me/a.txt", "content": "one\nthen two\n" }),
        ),
        (
            "write a.txt: buy milk and then rest",
            "Write",
            json!({ "file_path": "/home/me/a.txt", "content": "buy milk and then rest\n" }),
        ),
        (
            "make a file called x.txt containing hello",
            "Write",
            json!({ "file_path": "/home/me/x.txt", "content": "hello\n" }),
        ),
        ("create empty.txt", "Write", json!({ "file_path": "/home/me/empty.txt", "content": "" })),
        (
            "edit a.txt: replace one with two",
            "Edit",
            json!({ "file_path": "/home/me/a.txt", "old_string": "one", "new_string": "two" }),
        ),
        (
            "replace \"a b\" with \"c\" in a.txt",
            "Edit",
            json!({ "file_path": "/home/me/a.txt", "old_string": "a b", "new_string": "c" }),
        ),
        (
            "in a.txt replace all x with y",
            "Edit",
            json!({ "file_path": "/home/me/a.txt", "old_string": "x", "new_string": "y", "replace_all": true }),
        ),
        ("find *.rs", "Glob", json!({ "pattern": "**/*.rs" })),
        (
            "find all files named src/*.rs in crates",
            "Glob",
            json!({ "pattern": "src/*.rs", "path": "/home/me/crates" }),
        ),
        ("list files", "Glob", json!({ "pattern": "*" })),
        ("list the files here", "Glob", json!({ "pattern": "*" })),
        ("list all files in this folder", "Glob", json!({ "pattern": "*" })),
        ("list the files in src", "Glob", json!({ "pattern": "*", "path": "/home/me/src" })),
        ("search TODO", "Grep", json!({ "pattern": "TODO", "output_mode": "content", "-n": true })),
        (
            "search for \"in x\" in src",
            "Grep",
            json!({ "pattern": "in x", "output_mode": "content", "-n": true, "path": "/home/me/src" }),
        ),
        ("delegate: read README.md", "Agent", agent("read README.md", "general-purpose")),
        ("delegate to a sub-agent: read a.md", "Agent", agent("read a.md", "general-purpose")),
        ("delegate to reader: read README.md", "Agent", agent("read README.md", "reader")),
        (
            "call mcp tool mcp__clock__now {\"zone\": \"UTC\"}",
            "mcp__clock__now",
            json!({ "zone": "UTC" }),
        ),
        ("use mcp__clock__now", "mcp__clock__now", json!({})),
    ];
    for (prompt, tool, input) in cases {
        assert_eq!(called(prompt).await, (tool.to_owned(), input), "{prompt}");
    }
}

#[tokio::test]
async fn a_request_for_a_model_is_refused_completely() {
    for prompt in ["write a poem", "create something nice", "what does the code do?", "2+2"] {
        let folded = Talk::new().say(prompt).await;
        assert_eq!(folded.stop_reason(), Some("end_turn"), "{prompt}");
        assert!(folded.text().starts_with("I do not understand"), "{prompt}: {}", folded.text());
    }
    let said = Talk::new().say("count to 999999").await.text();
    assert!(said.ends_with("9999 10000 … further I do not count."), "{said:.40}");
    assert_eq!(Talk::new().say("count from 1 to 3").await.text(), "1 2 3");
    assert_eq!(Talk::new().say("repeat after me: I am here").await.text(), "I am here");
}

#[tokio::test]
async fn a_report_is_shown_without_its_frame() {
    let mut talk = Talk::new();
    talk.say("delegate: read a.md").await;
    let framed = "[Subagent hand-back] Not the user. The report follows:\n  It says:\n    a\nagentId: x\n<usage></usage>";
    assert_eq!(
        talk.give(framed, false).await.text(),
        "The sub-agent says:\n\n```\nIt says:\n  a\n```"
    );
}

#[tokio::test]
async fn questions_plans_and_lists_are_tool_calls() {
    let (tool, input) = called("ask me: Tea, milk or water?").await;
    assert_eq!(tool, "AskUserQuestion");
    let question = &input["questions"][0];
    assert_eq!(question["question"], "Tea, milk or water?");
    let labels: Vec<&str> = question["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["Tea", "milk", "water"]);
    let (_, input) = called("ask me whether to go on").await;
    assert_eq!(input["questions"][0]["options"][0]["label"], "Yes");
    assert_eq!(input["questions"][0]["question"], "go on?");

    let (tool, input) = called("plan the move to tabs").await;
    assert_eq!(tool, "ExitPlanMode");
    assert!(input["plan"].as_str().unwrap().contains("the move to tabs"));

    let (tool, input) = called("todo: read, write and rest").await;
    assert_eq!((tool.as_str(), input["todos"].as_array().unwrap().len()), ("TodoWrite", 3));
    let (_, input) = called("run sleep 5 in the background").await;
    assert_eq!((&input["command"], &input["run_in_background"]), (&json!("sleep 5"), &json!(true)));
}

#[tokio::test]
async fn results_are_reported() {
    let mut talk = Talk::new();
    talk.say("run ls").await;
    let end = talk.give("a.txt\nb.txt", false).await;
    assert_eq!(end.text(), "`ls` printed:\n\n```\na.txt\nb.txt\n```");
    assert_eq!(end.stop_reason(), Some("end_turn"));
    // The next turn does not depend on it.
    talk.say("write a.txt: x").await;
    assert_eq!(talk.give("File created", false).await.text(), "I wrote /home/me/a.txt.");
    talk.say("read a.txt").await;
    let end = talk.give("The user doesn't want to proceed with this tool use.", true).await;
    assert!(end.text().starts_with("Read was not allowed:"), "{}", end.text());
    talk.say("run false").await;
    assert!(talk.give("Exit code 1", true).await.text().starts_with("Bash failed:"));
    talk.say("run true").await;
    assert_eq!(talk.give("", false).await.text(), "`true` printed nothing.");
    talk.say("ask me whether to stop").await;
    assert_eq!(talk.give("", false).await.text(), "There was no answer.");
    talk.say("run seq 1000").await;
    let numbers: Vec<String> = (1..=1000).map(|n| n.to_string()).collect();
    let text = talk.give(&numbers.join("\n"), false).await.text();
    assert!(text.ends_with("… and more: 1000 lines in all.") && text.len() < 400, "{text}");
}

#[tokio::test]
async fn steps_follow_each_other() {
    let mut talk = Talk::new();
    let name = |folded: &StreamedMessage| {
        call(&Value::from(folded.content())).map(|call| call["name"].as_str().unwrap().to_owned())
    };
    let first =
        talk.say("say one, then run ls and then say two then read a.txt, then say three").await;
    assert_eq!(name(&first).as_deref(), Some("Bash"));
    assert_eq!(first.text(), "one\n\nI run `ls`.");
    let second = talk.give("out", false).await;
    assert_eq!(name(&second).as_deref(), Some("Read"));
    assert!(second.text().contains("two\n\nI read /home/me/a.txt."), "{}", second.text());
    let last = talk.give("text", false).await;
    assert_eq!((name(&last), last.stop_reason()), (None, Some("end_turn")));
    assert!(last.text().ends_with("three"), "{}", last.text());

    let lines = talk.say("run one\nread two").await;
    assert_eq!(name(&lines).as_deref(), Some("Bash"));
    let failed = talk.give("denied", true).await;
    assert!(failed.text().ends_with("So I stop here. Not done: read two."), "{}", failed.text());
    assert_eq!(name(&failed), None);
}

#[tokio::test]
async fn prompts_during_a_turn_are_done_next() {
    let mut talk = Talk::new();
    talk.say("run one").await;
    let id = call(&talk.messages[1]["content"]).unwrap()["id"].clone();
    talk.messages.push(json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": "done" },
        { "type": "text", "text": "say hello" },
    ] }));
    let next = talk.ask().await;
    assert!(
        next.text().starts_with("`one` printed:") && next.text().ends_with("hello"),
        "{}",
        next.text()
    );
}

#[tokio::test]
async fn an_interrupted_turn_is_not_resumed() {
    let mut talk = Talk::new();
    talk.say("run one then run two").await;
    talk.messages.push(json!({ "role": "user", "content": [{ "type": "text", "text": "[Request interrupted by user for tool use]" }] }));
    assert_eq!(talk.say("say hello").await.text(), "hello");
}

#[tokio::test]
async fn help_lists_the_supported_requests() {
    let mut talk = Talk::new();
    assert!(talk.model.notice().unwrap().starts_with("No model is connected"));
    let help = talk.say("Hello!").await;
    assert!(help.text().contains("There is no model here"), "{}", help.text());
    assert_eq!(help.model(), Some(OfflineModel::NAME));
    assert_eq!(help.tokens(), duologue_model::Tokens::default());
    let odd = talk.say("Why is the sky blue?").await.text();
    assert!(odd.starts_with("I do not understand \"Why is the sky blue?\"."), "{odd}");
    assert!(talk.say("call mcp tool mcp__a__b").await.text().contains("no tool mcp__a__b"));
    talk.tools = vec!["Task"];
    assert!(talk.say("run ls").await.text().contains("I need the tool Bash"));
    let handed = talk.say("delegate: say hello in the background").await;
    assert_eq!(handed.content()[1]["name"], "Task");
    assert_eq!(handed.content()[1]["input"]["run_in_background"], true);
}

#[tokio::test(start_paused = true)]
async fn it_counts_slowly() {
    let start = tokio::time::Instant::now();
    let mut talk = Talk::new();
    let text = talk.say("count to 100 slowly").await.text();
    assert!(text.starts_with("1 2 3 ") && text.ends_with(" 99 100"), "{text}");
    assert!(start.elapsed().as_secs() >= 10);
    let thought = talk.say("think about tea").await;
    assert_eq!(thought.content()[0]["type"], "thinking");
}

#[tokio::test]
async fn equal_requests_get_equal_answers_with_new_ids() {
    let (mut one, mut two) = (Talk::new(), Talk::new());
    let (first, again) = (one.say("run ls").await, two.say("run ls").await);
    assert_eq!(first.message(), again.message());
    // Resumed: another process, the same conversation.
    one.give("x", false).await;
    one.model = OfflineModel::new();
    let resumed = one.say("run ls").await;
    assert_ne!(first.id(), resumed.id());
    assert_ne!(first.content()[1]["id"], resumed.content()[1]["id"]);
}

#[tokio::test]
async fn the_system_prompt_says_where_it_works() {
    let body = json!({
        "model": "any", "tools": [{ "name": "Read" }],
        "system": [{ "type": "text", "text": "<env>\nWorking directory: /srv/app\nOther: x" }],
        "messages": [{ "role": "user", "content": "<system-reminder>run x</system-reminder>read a" }],
    });
    let received = receive(&OfflineModel::new(), Request::new(body).unwrap()).await;
    assert_eq!(received.folded.content()[1]["input"]["file_path"], "/srv/app/a");
}

#[tokio::test]
async fn side_requests_are_answered() {
    let mut talk = Talk::new();
    talk.say("read a\nand more").await;
    talk.messages.push(json!({ "role": "user", "content": "Summarize." }));
    let summary = talk.request().with_purpose(Purpose::Summary);
    assert_eq!(
        receive(&talk.model, summary).await.folded.text(),
        "<summary>\nNo model wrote this. The user asked:\n- read a\n</summary>"
    );
    let quota = talk.request().with_purpose(Purpose::Quota);
    assert_eq!(receive(&talk.model, quota).await.folded.text(), "OK");
}

#[tokio::test]
async fn not_every_then_starts_a_step() {
    let odd = Talk::new().say("if it rains, then what?").await.text();
    assert!(odd.starts_with("I do not understand \"if it rains, then what?\"."), "{odd}");
    // Only the intended command runs.
    let mut talk = Talk::new();
    let first = talk.say("run ls then frobnicate").await;
    assert_eq!(first.content()[1]["input"]["command"], "ls");
    assert!(talk.give("x", false).await.text().contains("I do not understand \"frobnicate\""));
    let picture = json!([{ "type": "image", "source": {} }]);
    talk.say("read a.png").await;
    let id = call(&talk.messages.last().unwrap()["content"]).unwrap()["id"].clone();
    let result = json!({ "type": "tool_result", "tool_use_id": id, "content": picture });
    talk.messages.push(json!({ "role": "user", "content": [result] }));
    assert!(talk.ask().await.text().contains("[image]"));
}

fn words() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "read",
        "write",
        "run",
        "edit",
        "replace",
        "with",
        "in",
        "then",
        "and then",
        ", then",
        "ask me",
        "or",
        "plan",
        "delegate",
        "to",
        "todo",
        "call",
        "{",
        "}",
        "count to",
        "99999999999",
        "slowly",
        "find",
        "search",
        "list",
        "files",
        "say",
        "think",
        "\"",
        "`",
        "```",
        ":",
        ":\n",
        "\n",
        ".",
        "?",
        "in the background",
        "[Request interrupted by user]",
        "<system-reminder>",
        "é😀",
        "a.txt",
    ]);
    let word = prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,6}"];
    prop::collection::vec(word, 0..14).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn every_request_gets_an_answer(prompt in words(), result in words(), is_error: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut talk = Talk::new();
            let mut answer = talk.say(&prompt).await;
            let mut calls = 0;
            while answer.stop_reason() == Some("tool_use") {
                calls += 1;
                assert!(calls <= 20, "it does not end");
                assert!(!answer.text().is_empty());
                answer = talk.give(&result, is_error).await;
            }
            assert!(!answer.text().is_empty());
        });
    }
}

#[tokio::test]
async fn a_huge_prompt_is_read_in_time() {
    let many = "run x then ".repeat(50_000);
    assert_eq!(Talk::new().say(&many).await.stop_reason(), Some("tool_use"));
    let lines = "read x\n".repeat(50_000);
    assert_eq!(Talk::new().say(&lines).await.stop_reason(), Some("end_turn"));
}
