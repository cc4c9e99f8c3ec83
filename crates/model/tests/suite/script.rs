//! Which reply a request gets.

use duologue_model::{Block, Reply, Request, Scenario, Script, When, Who};
use serde_json::{Value, json};

use super::client::asks;

fn script(scenario: Scenario) -> Script {
    Script::new(scenario).unwrap()
}

fn ask(script: &mut Script, body: &Value) -> Result<String, String> {
    let request = Request::new(body.clone()).unwrap();
    let answer = script.answer(&request).map_err(|mismatch| mismatch.to_string())?;
    match &answer.reply.say[0] {
        Block::Text { text, .. } => Ok(text.clone()),
        block => panic!("{block:?}"),
    }
}

fn says(script: &mut Script, prompt: &str) -> String {
    ask(script, &asks(prompt)).unwrap()
}

/// A request that has the result of a tool.
fn has_result(content: Value) -> Value {
    json!({
        "model": "claude-test",
        "messages": [
            { "role": "user", "content": "make a file" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "Bash", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": content }] },
        ],
    })
}

#[test]
fn replies_come_in_order_each_as_often_as_it_says() {
    let mut script = script(
        Scenario::new()
            .reply(Reply::text("one"))
            .reply(Reply::text("two").times(2))
            .reply(Reply::text("rest").always()),
    );
    let said: Vec<String> = (0..6).map(|_| says(&mut script, "x")).collect();
    assert_eq!(said, ["one", "two", "two", "rest", "rest", "rest"]);
    assert_eq!(script.turns(), 6);
    script.finished().unwrap();
}

#[test]
fn a_reply_whose_condition_holds_comes_before_those_without() {
    let mut script = script(
        Scenario::new()
            .reply(Reply::text("first"))
            .reply(Reply::text("second"))
            .reply(Reply::text("rain").when(When::prompt("weather")))
            .reply(Reply::text("sun").when(When::prompt("weather"))),
    );
    let prompts = ["hi", "the weather?", "hi", "the weather!"];
    let said = prompts.map(|prompt| says(&mut script, prompt));
    assert_eq!(said, ["first", "rain", "second", "sun"]);
}

#[test]
fn tool_results_are_new_text() {
    let scenario = || {
        Scenario::new()
            .reply(Reply::text("allowed").when(When::tool_result("done")))
            .reply(Reply::text("asked").when(When::prompt("make a file")))
            .reply(Reply::text("other"))
    };
    let done = has_result(json!("all done"));
    assert_eq!(ask(&mut script(scenario()), &done).unwrap(), "allowed");
    let blocks = has_result(json!([{ "type": "text", "text": "is done" }]));
    assert_eq!(ask(&mut script(scenario()), &blocks).unwrap(), "allowed");
    // The prompt is in this request, too. But it is not new.
    let denied = has_result(json!("denied"));
    assert_eq!(ask(&mut script(scenario()), &denied).unwrap(), "other");
    let history = [("make a file", "old"), ("denied", "old"), ("never said", "other")];
    for (part, expected) in history {
        let old = Reply::text("old").when(When::history(part));
        assert_eq!(ask(&mut script(scenario().reply(old)), &denied).unwrap(), expected);
    }
}

#[test]
fn text_that_the_cli_adds_is_ignored() {
    let body = json!({
        "model": "claude-test",
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "<system-reminder>\nabout the weather\n</system-reminder>" },
                { "type": "text", "text": "hello <system-reminder>x</system-reminder>friend" },
            ] },
            { "role": "system", "content": "# Environment: weather" },
        ],
    });
    assert_eq!(Request::new(body.clone()).unwrap().prompt(), "hello friend");
    let mut script = script(
        Scenario::new()
            .reply(Reply::text("rain").when(When::prompt("weather")))
            .reply(Reply::text("hello")),
    );
    assert_eq!(ask(&mut script, &body).unwrap(), "hello");
    assert_eq!(
        Request::new(asks("a <system-reminder> b")).unwrap().prompt(),
        "a <system-reminder> b"
    );
}

#[test]
fn each_agent_has_its_own_replies() {
    let mut script = script(
        Scenario::new()
            .agent("reader", Who::prompt("Read"))
            .agent("judge", Who::system("You judge"))
            .agent("searcher", Who::tool("Grep"))
            .reply(Reply::text("main 1"))
            .reply(Reply::text("reader 1").agent("reader"))
            .reply(Reply::text("reader 2").agent("reader"))
            .reply(Reply::text("judge 1").agent("judge"))
            .reply(Reply::text("searcher 1").agent("searcher"))
            .reply(Reply::text("sub 1").agent("sub")),
    );
    let mut judge = asks("well?");
    judge["system"] = json!([{ "type": "text", "text": "You judge others." }]);
    let mut searcher = asks("find it");
    searcher["tools"] = json!([{ "name": "Read" }, { "name": "Grep" }]);
    let mut sub = asks("go");
    sub["system"] = json!("x: cc_is_subagent=true;");
    let mut later = asks("Read it");
    later["messages"].as_array_mut().unwrap().extend([
        json!({ "role": "assistant", "content": "I read." }),
        json!({ "role": "user", "content": "go on" }),
    ]);

    assert_eq!(says(&mut script, "Read it"), "reader 1");
    assert_eq!(ask(&mut script, &judge).unwrap(), "judge 1");
    assert_eq!(ask(&mut script, &later).unwrap(), "reader 2");
    assert_eq!(ask(&mut script, &searcher).unwrap(), "searcher 1");
    assert_eq!(ask(&mut script, &sub).unwrap(), "sub 1");
    assert_eq!(says(&mut script, "hello"), "main 1");
    script.finished().unwrap();
}

#[test]
fn a_missing_reply_is_an_error_with_the_request_and_the_replies_left() {
    let mut script = script(
        Scenario::new()
            .reply(Reply::text("rain").when(When::prompt("weather")))
            .reply(Reply::text("sub").agent("sub")),
    );
    let message = ask(&mut script, &asks("hello")).unwrap_err();
    assert_eq!(
        message,
        "the script has no reply left for main. New in its request: \"hello\" (messages in all: 1). \
         Left: reply 1 (main, when prompt \"weather\"), reply 2 (sub). \
         Add a reply for `main`, or give one `times = \"always\"`."
    );
    let left = script.finished().unwrap_err().to_string();
    assert_eq!(
        left,
        "the script is not finished; left: reply 1 (main, when prompt \"weather\"), reply 2 (sub)"
    );
    // The script continues.
    assert_eq!(says(&mut script, "weather"), "rain");
}

#[test]
fn an_invalid_request_is_refused() {
    for body in
        [json!([]), json!({}), json!({ "model": "a" }), json!({ "model": "a", "messages": [] })]
    {
        assert!(Request::new(body.clone()).is_err(), "{body}");
    }
}

#[test]
fn every_condition_must_hold() {
    let mut body = asks("hello");
    body["system"] = "You judge.".into();
    body["tools"] = json!([{ "name": "Read" }]);
    // Conditions that hold for that request, and some that do not.
    let conditions = [
        ("prompt", "hell", "bye"),
        ("history", "hello", "bye"),
        ("system", "judge", "hello"),
        ("tool", "Read", "Rea"),
        ("model", "test", "opus"),
    ];
    for (name, holds, fails) in conditions {
        let scenario = |part: &str| {
            let file = format!("[[replies]]\nsay = \"yes\"\nwhen = {{ {name} = \"{part}\" }}");
            Scenario::from_toml(&file).unwrap()
        };
        assert_eq!(ask(&mut script(scenario(holds)), &body).unwrap(), "yes", "{name}");
        assert!(ask(&mut script(scenario(fails)), &body).is_err(), "{name}");
    }
}

#[test]
fn an_empty_scenario_says_how_to_begin() {
    let message = ask(&mut script(Scenario::new()), &asks("hello")).unwrap_err();
    assert!(
        message.contains("The scenario is empty: a reply begins with [[replies]]."),
        "{message}"
    );
}
