//! Everything a host or an agent may send can be made, is one line, and is read back the same.

use duologue_wire::content::ContentBlock;
use duologue_wire::control::*;
use duologue_wire::hook::{HookOutput, PreToolUse};
use duologue_wire::legacy;
use duologue_wire::lines::{Assistant, Prompt, ResultSubtype, TurnResult};
use duologue_wire::message::Message;
use duologue_wire::permission::{PermissionMode, PermissionRule, PermissionUpdate};
use duologue_wire::tool::{Annotation, Answers};
use duologue_wire::{Decoded, Line, RawObject, ToAgent, ToHost, Wire};
use serde_json::{Value, json};

/// The line is one line of JSON, and known.
fn sent_to_agent<T: Wire>(message: &T) -> Value {
    let line = message.to_line();
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    assert!(line.ends_with('\n'));
    assert!(matches!(Line::from(line.trim_end()).to_agent(), Decoded::Known(_)), "{line}");
    serde_json::from_str(&line).unwrap()
}

fn sent_to_host<T: Wire>(message: &T) -> Value {
    let line = message.to_line();
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    assert!(matches!(Line::from(line.trim_end()).to_host(), Decoded::Known(_)), "{line}");
    serde_json::from_str(&line).unwrap()
}

fn object(value: &Value) -> RawObject {
    RawObject::of(value).unwrap()
}

fn ask(tool: &str, input: &Value) -> CanUseTool {
    let suggestion = PermissionUpdate::allow_in_session([PermissionRule::new()
        .tool_name("Bash")
        .rule_content("git *")]);
    CanUseTool::new()
        .tool_name(tool)
        .input(object(input))
        .permission_suggestions([suggestion])
        .tool_use_id("toolu_1")
}

/// The payload of the answer to a permission request.
fn answer(result: &duologue_wire::permission::PermissionResult) -> Value {
    sent_to_agent(&ControlResponse::permission("r1", result))["response"]["response"].clone()
}

#[test]
fn prompts() {
    let text = sent_to_agent(&Prompt::text("line one\nline \u{2028} two \"quoted\"").uuid("u1"));
    assert_eq!(text["message"]["content"], "line one\nline \u{2028} two \"quoted\"");
    let blocks = sent_to_agent(&Prompt::blocks([
        ContentBlock::text("look"),
        ContentBlock::image("image/png", "AAAA"),
        ContentBlock::tool_result("toolu_1", "out"),
    ]));
    assert_eq!(blocks["message"]["content"][1]["source"]["media_type"], "image/png");
    assert_eq!(blocks["message"]["content"][2]["content"], "out");
}

#[test]
fn permissions() {
    let ask = ask("Bash", &json!({ "command": "git log" }));
    assert_eq!(
        answer(&ask.allow()),
        json!({ "behavior": "allow", "updatedInput": { "command": "git log" }, "toolUseID": "toolu_1" })
    );
    let changed = answer(&ask.allow_with(object(&json!({ "command": "git log -1" }))));
    assert_eq!(changed["updatedInput"]["command"], "git log -1");
    let always = answer(&ask.allow_always());
    assert_eq!(always["updatedPermissions"][0]["rules"][0]["ruleContent"], "git *");
    assert_eq!(always["updatedPermissions"][0]["destination"], "session");
    assert_eq!(answer(&ask.deny("no"))["message"], "no");
    assert_eq!(answer(&ask.deny_and_interrupt("stop"))["interrupt"], true);
}

#[test]
fn questions_and_plans() {
    let input = json!({ "questions": [{ "question": "Q?", "header": "H", "multiSelect": true,
        "options": [{ "label": "A", "preview": "a" }, { "label": "B" }] }] });
    let ask_question = ask("AskUserQuestion", &input);
    let answers = Answers::new()
        .choose_several("Q?", ["A", "B"])
        .annotate("Q?", Annotation::new().notes("both, please"));
    let answered = answer(&ask_question.answer_question(&answers));
    assert_eq!(answered["updatedInput"]["answers"], json!({ "Q?": "A, B" }));
    assert_eq!(answered["updatedInput"]["questions"], input["questions"]);
    assert_eq!(answered["updatedInput"]["annotations"]["Q?"]["notes"], "both, please");
    let list = answer(&ask_question.answer_question(&Answers::new().choose_list("Q?", ["A"])));
    assert_eq!(list["updatedInput"]["answers"], json!({ "Q?": ["A"] }));
    assert_eq!(answer(&ask_question.skip_question())["behavior"], "deny");

    let plan = ask("ExitPlanMode", &json!({ "plan": "1. do it" }));
    let approved = answer(&plan.approve_plan(Some(PermissionMode::AcceptEdits)));
    assert_eq!(approved["updatedPermissions"][0]["type"], "setMode");
    assert_eq!(approved["updatedPermissions"][0]["mode"], "acceptEdits");
    assert_eq!(answer(&plan.approve_plan(None))["behavior"], "allow");
    assert_eq!(answer(&plan.revise_plan("add tests"))["message"], "add tests");
    assert_eq!(answer(&plan.reject_plan())["message"], "User rejected the plan");
}

#[test]
fn hooks_and_mcp() {
    let hook = |output: &HookOutput| {
        sent_to_agent(&ControlResponse::hook("r1", output))["response"]["response"].clone()
    };
    assert_eq!(hook(&HookOutput::new()), json!({}));
    assert_eq!(hook(&HookOutput::not_waited_for()), json!({ "async": true }));
    assert_eq!(hook(&HookOutput::stop("enough"))["continue"], false);
    assert_eq!(hook(&HookOutput::block("no"))["decision"], "block");
    let decided =
        |output: &HookOutput| hook(output)["hookSpecificOutput"]["permissionDecision"].clone();
    assert_eq!(decided(&HookOutput::allow_tool()), "allow");
    assert_eq!(decided(&HookOutput::deny_tool("no")), "deny");
    assert_eq!(decided(&HookOutput::ask_about_tool("hm")), "ask");
    assert_eq!(decided(&HookOutput::defer_tool("later")), "defer");
    let changed = HookOutput::allow_tool_with(object(&json!({ "command": "ls" })));
    assert_eq!(hook(&changed)["hookSpecificOutput"]["updatedInput"]["command"], "ls");

    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    let mcp = sent_to_agent(&ControlResponse::mcp("r1", object(&response)));
    assert_eq!(mcp["response"]["response"]["mcp_response"], response);
}

#[test]
fn control_requests_both_ways() {
    let requests: Vec<HostRequest> = vec![
        Initialize::new().sdk_mcp_servers(vec!["calc".into()]).into(),
        Interrupt::new().into(),
        SetPermissionMode::new().mode("plan").into(),
        SetModel::new().model("opus").into(),
        McpStatusRequest::new().into(),
        CancelAsyncMessage::new().message_uuid("u1").into(),
        StopTask::new().task_id("t1").into(),
    ];
    for request in requests {
        let subtype = request.tag().to_owned();
        let sent = sent_to_agent(&ControlRequestToAgent::of("r1", request));
        assert_eq!(sent["request"]["subtype"], subtype.as_str());
    }
    let asked = ControlRequestToHost::of("r1", ask("Bash", &json!({ "command": "ls" })));
    assert_eq!(sent_to_host(&asked)["request"]["tool_name"], "Bash");
    let input = PreToolUse::new().tool_name("Bash");
    let callback = HookCallback::new()
        .callback_id("hook_0")
        .input(duologue_wire::hook::HookInput::PreToolUse(Box::new(input)));
    let sent = sent_to_host(&ControlRequestToHost::of("r2", callback));
    assert_eq!(sent["request"]["input"]["hook_event_name"], "PreToolUse");
}

#[test]
fn answers_of_an_agent() {
    let reply = InitializeReply::new().claude_code_version("2.1.0");
    let sent = sent_to_host(&ControlResponse::success("r1", &reply));
    assert_eq!(sent["response"]["response"]["claude_code_version"], "2.1.0");
    assert_eq!(sent_to_host(&ControlResponse::ack("r1"))["response"]["subtype"], "success");
    let refused = sent_to_host(&ControlResponse::unsupported("r1", "juggle"));
    assert_eq!(refused["response"]["error"], "Unsupported control request subtype: juggle");
    assert_eq!(refused["response"]["error_code"], "unsupported_request");
    let message = Message::new().id("msg_1").content(vec![ContentBlock::text("Hi")]);
    let sent = sent_to_host(&Assistant::new().message(message).session_id("s"));
    assert_eq!(sent["message"]["content"][0]["text"], "Hi");
    let result = TurnResult::new().subtype(ResultSubtype::Success).total_cost_usd(0.25);
    assert_eq!(sent_to_host(&result)["total_cost_usd"], 0.25);
}

#[test]
fn legacy_lines() {
    assert_eq!(
        legacy::Approve::of("toolu_abc123").to_line(),
        "{\"type\":\"approve\",\"tool_use_id\":\"toolu_abc123\"}\n"
    );
    sent_to_agent(&legacy::DenyLine::of("toolu_abc123"));
    let result = sent_to_agent(&legacy::ToolResultLine::of("toolu_abc123", "option B"));
    assert_eq!(result["content"], "option B");
    sent_to_agent(&legacy::Abort::new());
    sent_to_host(&legacy::ErrorLine::of("invalid_request", "bad line"));
    sent_to_host(&legacy::SystemResult::new().result(legacy::encode_result("Hi")));
}

#[test]
fn json_from_outside_is_put_on_one_line() {
    let pretty = "{\n  \"command\": \"echo \\\"a b\\\"\",\n  \"n\": [1,\n 2]\n}";
    let input: RawObject = RawObject::from_json(pretty).unwrap();
    let allow = duologue_wire::permission::PermissionResult::allow(input);
    assert_eq!(answer(&allow)["updatedInput"], json!({ "command": "echo \"a b\"", "n": [1, 2] }));
}

#[test]
fn wire_types_work_with_serde() {
    let update = PermissionUpdate::set_mode(PermissionMode::Plan);
    let value = serde_json::to_value(&update).unwrap();
    assert_eq!(value, json!({ "type": "setMode", "mode": "plan", "destination": "session" }));
    assert_eq!(serde_json::from_value::<PermissionUpdate>(value).unwrap(), update);
    let wrong = serde_json::from_value::<PermissionUpdate>(json!({ "type": "setMode", "mode": 1 }));
    assert!(wrong.unwrap_err().to_string().contains("field `mode`: expected a string"));
}

#[test]
fn messages_of_both_directions_have_names() {
    let decoded = Line::from(r#"{"type":"user","message":{}}"#);
    assert!(matches!(decoded.to_agent(), Decoded::Known(ToAgent::Prompt(_))));
    assert!(matches!(decoded.to_host(), Decoded::Known(ToHost::User(_))));
}
