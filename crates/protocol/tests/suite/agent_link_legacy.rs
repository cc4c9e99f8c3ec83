//! An agent that serves a legacy host.

use duologue_protocol::agent_link::{AgentEvent, AgentLink, Outcome, Reply};
use duologue_protocol::permission::PermissionResult;
use serde_json::{Value, json};

use super::agent_link::{ask, events, prompt, receive};

#[test]
fn legacy_answers_work_if_enabled() {
    let answer = |line: Value, tool: &str, input: Value, early: bool| {
        let mut link = AgentLink::new().lenient();
        receive(&mut link, &prompt("go", "u1"));
        let _ = events(&mut link);
        if early {
            receive(&mut link, &line);
        }
        link.ask_by_call(ask("toolu_1", tool, input));
        if !early {
            receive(&mut link, &line);
        }
        match events(&mut link).pop() {
            Some(AgentEvent::Answered { outcome, .. }) => outcome,
            other => panic!("{other:?}"),
        }
    };
    let verdict = |outcome: Outcome| match outcome {
        Outcome::Success(success) => success.read::<PermissionResult>().unwrap(),
        other => panic!("{other:?}"),
    };
    for early in [false, true] {
        let approve = json!({ "type": "approve", "tool_use_id": "toolu_1" });
        let yes = verdict(answer(approve, "Bash", json!({ "command": "ls" }), early));
        assert!(matches!(yes, PermissionResult::Allow(_)));
        let deny = json!({ "type": "deny", "tool_use_id": "toolu_1" });
        let no = verdict(answer(deny, "Bash", json!({}), early));
        assert!(matches!(no, PermissionResult::Deny(_)));
    }
    let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": "Blue" });
    let questions = json!({ "questions": [{ "question": "Which colour?", "options": [] }] });
    let PermissionResult::Allow(allow) =
        verdict(answer(result.clone(), "AskUserQuestion", questions, false))
    else {
        panic!()
    };
    let input = allow.updated_input.value().unwrap().to_value().unwrap();
    assert_eq!(input["answers"]["Which colour?"], "Blue");
    let replaced = answer(result, "Bash", json!({}), false);
    assert!(matches!(replaced, Outcome::ToolResult(_)));
}

#[test]
fn a_legacy_suggestion_becomes_a_permission_update() {
    let mut link = AgentLink::new().lenient();
    receive(&mut link, &prompt("go", "u1"));
    let id = link.ask(ask("toolu_1", "Bash", json!({})));
    let rule = json!({ "type": "addRules", "rules": [{ "toolName": "Bash" }], "behavior": "allow",
        "destination": "session" });
    let yes = json!({ "behavior": "allow", "updatedInput": {}, "applyPermissionSuggestion": rule });
    let body = json!({ "subtype": "success", "request_id": id.as_str(), "response": yes });
    receive(&mut link, &json!({ "type": "control_response", "response": body }));
    let Some(AgentEvent::Answered { outcome: Outcome::Success(success), .. }) =
        events(&mut link).pop()
    else {
        panic!()
    };
    let PermissionResult::Allow(allow) = success.read().unwrap() else { panic!() };
    assert_eq!(allow.updated_permissions.items().len(), 1);
}

#[test]
fn abort_interrupts_if_enabled() {
    let mut link = AgentLink::new().lenient();
    receive(&mut link, &prompt("go", "u1"));
    receive(&mut link, &json!({ "type": "abort" }));
    let stopped = |event: &AgentEvent| matches!(event, AgentEvent::Interrupted(how) if how.in_turn);
    assert!(events(&mut link).iter().any(stopped));
}

/// One of the oldest descriptions has a bare acknowledgement; another sends hooks or servers, and expects a payload.
#[test]
fn a_legacy_host_that_sends_hooks_or_servers_gets_the_whole_answer() {
    let answer = |initialize: Value| {
        let mut link = AgentLink::new().legacy();
        receive(
            &mut link,
            &json!({ "type": "control_request", "request_id": "r", "request": initialize }),
        );
        let Some(AgentEvent::Asked { key, .. }) = link.poll_event() else { panic!() };
        let payload = json!({ "commands": [], "models": [] });
        let payload = duologue_protocol::RawObject::of(&payload).unwrap();
        link.answer(key, &Reply::of(&payload)).unwrap();
        let line: Value = serde_json::from_str(&link.poll_transmit().unwrap()).unwrap();
        line["response"]["response"].clone()
    };
    for bare in [
        json!({ "subtype": "initialize" }),
        json!({ "subtype": "initialize", "hooks": null }),
        json!({ "subtype": "initialize", "hooks": {}, "sdkMcpServers": [] }),
    ] {
        assert_eq!(answer(bare.clone()), Value::Null, "{bare}");
    }
    for whole in [
        json!({ "subtype": "initialize", "hooks": { "PreToolUse": [{ "hookCallbackIds": ["a"] }] } }),
        json!({ "subtype": "initialize", "sdkMcpServers": ["calc"] }),
    ] {
        assert_eq!(answer(whole.clone())["models"], json!([]), "{whole}");
    }
}
