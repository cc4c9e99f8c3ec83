//! Scenario files, and the errors of invalid ones.

use duologue_model::{ApiError, Block, Chunk, Reply, Scenario, Times, Usage, When, Who};
use serde_json::json;

#[test]
fn a_file_and_the_builders_give_the_same_scenario() {
    let file = Scenario::from_toml(
        r#"
        title = "All of it"
        model = "claude-scripted"

        [agents.reader]
        prompt = "Read"

        [[replies]]
        say = "Hello."

        [[replies]]
        agent = "reader"
        when = { tool_result = "done" }
        times = 3
        chunk = 5
        delay_ms = 1
        pause_ms = 2
        stop = "max_tokens"
        usage = { input_tokens = 7, output_tokens = 8 }
        say = [
            "One.",
            { text = "x", repeat = 1000 },
            { thinking = "Hm." },
            { tool = "Bash", input = { command = "ls" }, id = "toolu_1" },
            { tool = "Bash", input_text = "{\"command" },
            { block = { type = "redacted_thinking", data = "abc" } },
        ]
        headers = { x-kind = "test" }
        cut_after = 4

        [[replies]]
        error = 529
        times = "always"

        [[replies]]
        say = "Well"
        chunk = "words"
        error = { status = 429, retry_after = 3, message = "slow", kind = "rate_limit_error" }

        [[replies]]
        lines = ['{"type":"system"}', "no json"]
        stall_after = 0
        "#,
    )
    .unwrap();

    let raw = json!({ "type": "redacted_thinking", "data": "abc" });
    let built =
        Scenario::new()
            .title("All of it")
            .model("claude-scripted")
            .agent("reader", Who::prompt("Read"))
            .reply(Reply::text("Hello."))
            .reply(
                Reply::text("One.")
                    .say(Block::repeated("x", 1000))
                    .say(Block::thinking("Hm."))
                    .say(Block::tool("Bash", json!({ "command": "ls" })).id("toolu_1"))
                    .say(Block::tool_with_text("Bash", "{\"command"))
                    .say(Block::Raw(raw.as_object().unwrap().clone()))
                    .agent("reader")
                    .when(When::tool_result("done"))
                    .times(3)
                    .chunk(Chunk::Chars(5))
                    .delay_ms(1)
                    .pause_ms(2)
                    .stop("max_tokens")
                    .usage(Usage::new(7, 8))
                    .header("x-kind", "test")
                    .cut_after(4),
            )
            .reply(Reply::error(529).always())
            .reply(Reply::text("Well").chunk(Chunk::Words).then_error(
                ApiError::new(429).retry_after(3).message("slow").kind("rate_limit_error"),
            ))
            .reply(Reply::new().line(r#"{"type":"system"}"#).line("no json").stall_after(0));
    assert_eq!(file, built);
}

#[test]
fn json_and_toml_give_the_same_scenario() {
    let json = r#"{ "replies": [
        { "say": ["Hi.", { "tool": "Read", "input": { "file_path": "/a" } }], "times": "always", "chunk": "whole" }
    ] }"#;
    let toml = r#"
        [[replies]]
        say = ["Hi.", { tool = "Read", input = { file_path = "/a" } }]
        times = "always"
        chunk = "whole"
    "#;
    let scenario = Scenario::parse(json).unwrap();
    assert_eq!(scenario, Scenario::parse(toml).unwrap());
    assert_eq!(scenario.replies[0].times, Times::Always);
    assert_eq!(scenario.replies[0].chunk, Chunk::Whole);
}

#[test]
fn an_invalid_file_is_an_error_with_its_position() {
    // The file, and all that the message must contain.
    let bad: &[(&str, &[&str])] = &[
        ("[[replies]]\nsay = \"a\"\ntxt = 1", &["line 3", "unknown field `txt`", "`say`"]),
        ("[[replies]]\nsay = { txt = \"a\" }", &["line 2", "unknown field `txt`", "`text`"]),
        ("[[replies]]\nsay = [\"a\", { id = \"x\" }]", &["line 2", "add `text`, `thinking`"]),
        ("[[replies]]\nsay = { text = \"a\", tool = \"b\" }", &["text and tool at once"]),
        ("[[replies]]\nsay = { text = \"a\", input = {} }", &["`input` belongs to a `tool`"]),
        ("[[replies]]\nsay = { tool = \"a\", input = {}, input_text = \"\" }", &["either"]),
        ("[[replies]]\nsay = 5", &["line 2", "a text, a block, or a list of them"]),
        ("[[replies]]\nsay = [[\"a\"]]", &["line 2", "expected a text or a block"]),
        ("[[replies]]\nsay = \"a\"\ntimes = \"often\"", &["line 3", "\"always\""]),
        ("[[replies]]\nsay = \"a\"\nchunk = \"bits\"", &["line 3", "\"words\""]),
        ("[[replies]]\nerror = \"bad\"", &["line 2", "a status such as 529"]),
        ("[[replies]]\nerror = 200", &["reply 1", "between 400 and 599"]),
        ("[[replies]]\nerror = { message = \"a\" }", &["missing field `status`"]),
        (
            "[[replies]]\nsay = \"a\"\n[[replies]]\ntimes = 2",
            &["reply 2", "`say`, `error` or `lines`"],
        ),
        (
            "[[replies]]\nsay = \"a\"\nagent = \"bob\"",
            &["no agent `bob`", "[agents.bob]", "main, sub"],
        ),
        ("[agents.main]\ntool = \"a\"", &["agents.main", "another name"]),
        ("[agents.bob]", &["agents.bob", "add `system`, `prompt`"]),
        ("[[replies]]\nsay = \"a\"\nwhen = {}", &["reply 1", "`when` is empty"]),
        ("[[replies]]\nsay = \"a\"\ntimes = 0", &["`times` is 0"]),
        ("[[replies]]\nsay = \"a\"\nchunk = 0", &["`chunk` is 0"]),
        ("[[replies]]\nsay = \"a\"\ncut_after = 1\nstall_after = 1", &["not both"]),
        ("[[replies]]\nerror = 500\ncut_after = 1", &["no events"]),
        ("[[replies]]\nsay = \"a\"\nheaders = { \"a b\" = \"c\" }", &["not an HTTP header"]),
        ("[[replies]]\nlines = [\"a\\nb\"]", &["line break"]),
        ("[[replies]", &["line 1"]),
        ("{ \"replies\": [{ \"sy\": 1 }] }", &["unknown field `sy`", "line 1 column"]),
        ("{ \"replies\": [{ \"say\": {} }] }", &["this block is empty", "line 1 column"]),
    ];
    for (text, parts) in bad {
        let message = Scenario::parse(text).unwrap_err().to_string();
        for part in *parts {
            assert!(message.contains(part), "{text}\nsays\n{message}\nwithout {part:?}");
        }
    }
}

#[test]
fn the_error_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tour.toml");
    let missing = Scenario::read(&path).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read the scenario") && missing.contains("tour.toml"));

    std::fs::write(&path, "[[replies]]\nsay = \"a\"\ntimes = 0").unwrap();
    let senseless = Scenario::read(&path).unwrap_err().to_string();
    assert!(senseless.contains("tour.toml: reply 1: `times` is 0"), "{senseless}");

    std::fs::write(&path, "[[replies]]\nsay = \"a\"").unwrap();
    assert_eq!(Scenario::read(&path).unwrap().replies.len(), 1);
}
