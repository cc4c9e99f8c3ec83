//! Which rules a conversation breaks.

use duologue_protocol::Line;
use duologue_protocol::rules::{Checker, Rule};

/// Lines that begin with `>` go to the agent, those with `<` to the host.
fn broken(conversation: &[&str]) -> Vec<(Rule, u64)> {
    let mut checker = Checker::new();
    for (number, line) in (1..).zip(conversation) {
        let (direction, json) = line.split_at(1);
        let line = Line::from(json);
        match direction {
            ">" => match line.to_agent().message() {
                Some(message) => checker.to_agent(message, number),
                None => checker.malformed(duologue_protocol::Direction::ToAgent, &line, number),
            },
            _ => checker.to_host(line.to_host().message().unwrap(), number),
        }
    }
    checker.finish().into_iter().map(|violation| (violation.rule, violation.line)).collect()
}

const PROMPT: &str = r#">{"type":"user","message":{"role":"user","content":"hi"}}"#;
const INIT: &str = r#"<{"type":"system","subtype":"init"}"#;
const RESULT: &str = r#"<{"type":"result","subtype":"success"}"#;
const ASK: &str =
    r#"<{"type":"control_request","request_id":"a","request":{"subtype":"can_use_tool"}}"#;
const ANSWER: &str =
    r#">{"type":"control_response","response":{"subtype":"success","request_id":"a"}}"#;
const ECHO: &str =
    r#"<{"type":"control_response","response":{"subtype":"success","request_id":"a"}}"#;
const CANCEL: &str = r#"<{"type":"control_cancel_request","request_id":"a"}"#;

#[test]
fn a_good_conversation_breaks_none() {
    assert_eq!(broken(&[PROMPT, INIT, ASK, ANSWER, RESULT]), []);
}

#[test]
fn echoed_and_second_answers_are_allowed() {
    assert_eq!(broken(&[PROMPT, INIT, ASK, ANSWER, ECHO, ANSWER, RESULT]), []);
}

#[test]
fn requests_are_answered_or_withdrawn() {
    assert_eq!(broken(&[PROMPT, INIT, ASK, RESULT]), [(Rule::RequestNeverAnswered, 3)]);
    assert_eq!(broken(&[PROMPT, INIT, ASK, CANCEL, RESULT]), []);
    let late = [PROMPT, INIT, ASK, CANCEL, ANSWER, RESULT];
    assert_eq!(broken(&late), [(Rule::AnswerAfterCancellation, 5)]);
}

#[test]
fn answers_need_a_request() {
    assert_eq!(broken(&[PROMPT, INIT, ANSWER, RESULT]), [(Rule::AnswerToNothing, 3)]);
}

#[test]
fn a_malformed_request_may_be_answered_or_not() {
    let bad = r#">{"type":"control_request","request_id":"a","request":{"subtype":"set_model","model":5}}"#;
    assert_eq!(broken(&[bad, ECHO]), []);
    assert_eq!(broken(&[bad, INIT, RESULT]), []);
}

#[test]
fn tool_results_need_a_call() {
    let call = r#"<{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1"}]}}"#;
    let result =
        r#"<{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}"#;
    assert_eq!(broken(&[PROMPT, INIT, call, result, RESULT]), []);
    assert_eq!(broken(&[PROMPT, INIT, result, RESULT]), [(Rule::ToolResultWithoutCall, 3)]);
}

#[test]
fn turns_end_with_a_result_even_if_it_is_held_back() {
    assert_eq!(broken(&[PROMPT, INIT]), [(Rule::TurnWithoutResult, 2)]);
    assert_eq!(broken(&[PROMPT, INIT, PROMPT, INIT, RESULT, RESULT]), []);
}

#[test]
fn with_one_direction_nothing_is_checked() {
    assert_eq!(broken(&[INIT, ASK]), []);
}
