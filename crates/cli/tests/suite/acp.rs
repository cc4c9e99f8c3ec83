//! `duologue acp`: an editor that drives the embedded agent. The editor here speaks plain JSON-RPC, so that it shares no code
//! with the bridge.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use duologue_testkit::leak::{TIMEOUT, assert_gone_blocking, descendants, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How the editor answers a request of the bridge; `None` leaves it open.
type Answer = Box<dyn FnMut(&Value) -> Option<Value>>;

/// An editor, its bridge, and everything that the bridge has sent.
struct Editor {
    bridge: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// All messages of the bridge, in order.
    seen: Vec<Value>,
    answer: Answer,
    next: u64,
    home: TempDir,
}

/// Chooses the first option of a kind.
fn choose(request: &Value, kind: &str) -> Value {
    let options = request["params"]["options"].as_array().unwrap();
    let option = options.iter().find(|option| option["kind"] == kind);
    let option = option.unwrap_or_else(|| panic!("no option {kind} in {request}"));
    json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } })
}

impl Editor {
    fn new(scenario: &str) -> Self {
        Self::start(tempfile::tempdir().unwrap(), scenario, &json!({}))
    }

    /// Starts a bridge in this home, and initializes it.
    fn start(home: TempDir, scenario: &str, capabilities: &Value) -> Self {
        fs::create_dir_all(home.path().join("work")).unwrap();
        let file = home.path().join("scenario.toml");
        fs::write(&file, scenario).unwrap();
        let mut bridge = Command::new(env!("CARGO_BIN_EXE_duologue"))
            .args(["acp", "--embedded", "--", "--scenario"])
            .arg(&file)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(bridge.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let stdin = bridge.stdin.take();
        let answer: Answer = Box::new(|request| Some(choose(request, "allow_once")));
        let mut editor = Self { bridge, stdin, lines, seen: Vec::new(), answer, next: 0, home };
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        assert_eq!(editor.ask("initialize", params)["protocolVersion"], 1);
        editor
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn write(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request. Returns its id.
    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.write(&request.to_string());
        self.next
    }

    /// Reads one message, and answers it if it is a request.
    fn read(&mut self) -> Value {
        let message = self.lines.recv_timeout(TIMEOUT);
        let message =
            message.unwrap_or_else(|_| panic!("nothing more after {:#?}", self.seen.last()));
        self.seen.push(message.clone());
        if message.get("method").is_some()
            && let Some(id) = message.get("id")
            && let Some(result) = (self.answer)(&message)
        {
            self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
        }
        message
    }

    /// Reads until a message of the bridge fits.
    fn read_until(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.seen.iter().find(|message| fits(message)) {
            return found.clone();
        }
        loop {
            let message = self.read();
            assert!(!message.is_null(), "{what}");
            if fits(&message) {
                return message;
            }
        }
    }

    /// The whole response to a request.
    fn response(&mut self, id: u64) -> Value {
        self.read_until("a response", |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// The result of a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let response = self.response(id);
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].clone()
    }

    /// The error code of a request.
    fn error(&mut self, method: &str, params: Value) -> i64 {
        let id = self.send(method, params);
        let response = self.response(id);
        response["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {response}"))
    }

    fn new_session(&mut self) -> String {
        let params = json!({ "cwd": self.work(), "mcpServers": [] });
        self.ask("session/new", params)["sessionId"].as_str().unwrap().to_owned()
    }

    fn send_prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.send("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Sends a prompt, and returns its stop reason.
    fn prompt(&mut self, session: &str, text: &str) -> String {
        let id = self.send_prompt(session, text);
        let response = self.response(id);
        response["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
    }

    fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", &json!({ "sessionId": session }));
    }

    /// The updates of one kind.
    fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.seen.iter().filter(|message| message["method"] == "session/update");
        let updates = updates.map(|message| message["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// The texts of the chunks of one kind, joined.
    fn text(&self, kind: &str) -> String {
        let chunks = self.updates(kind);
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// The last status of each tool call.
    fn statuses(&self) -> HashMap<String, String> {
        let mut all = HashMap::new();
        for message in self.seen.iter().filter(|message| message["method"] == "session/update") {
            let update = &message["params"]["update"];
            if let (Some(id), Some(status)) =
                (update["toolCallId"].as_str(), update["status"].as_str())
            {
                all.insert(id.to_owned(), status.to_owned());
            }
        }
        all
    }

    fn requests(&self, method: &str) -> Vec<Value> {
        let requests = self
            .seen
            .iter()
            .filter(|message| message["method"] == method && message.get("id").is_some());
        requests.cloned().collect()
    }

    fn read_until_update(&mut self, kind: &str) -> Value {
        let update = |message: &Value| message["params"]["update"]["sessionUpdate"] == kind;
        self.read_until(kind, update)["params"]["update"].clone()
    }

    /// Closes the connection and waits for the end of the bridge. Returns its home.
    fn quit(mut self) -> TempDir {
        drop(self.stdin.take());
        let status = self.bridge.wait().unwrap();
        assert_eq!(status.code(), Some(0));
        std::mem::replace(&mut self.home, tempfile::tempdir().unwrap())
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.bridge.kill();
        let _ = self.bridge.wait();
    }
}

const TALK: &str = r#"
[[replies]]
say = [{ thinking = "They greet." }, "Hello there."]
[[replies]]
say = "Second."
[[replies]]
say = "Third."
"#;

const LIST_FILES: &str = r#"
[[replies]]
say = ["I look.", { tool = "Bash", input = { command = "touch seen.txt" }, id = "toolu_1" }]
[[replies]]
say = "Done."
[[replies]]
say = [{ tool = "Bash", input = { command = "touch seen.txt" }, id = "toolu_2" }]
[[replies]]
say = "Done again."
"#;

const STALL: &str = r#"
[[replies]]
stall_after = 3
say = "This never ends."
[[replies]]
times = "always"
say = "After."
"#;

#[test]
fn capabilities_are_those_that_exist() {
    let mut editor = Editor::new(TALK);
    let result = editor.seen[0]["result"].clone();
    let capabilities = &result["agentCapabilities"];
    assert_eq!(capabilities["loadSession"], true);
    assert_eq!(capabilities["promptCapabilities"]["image"], true);
    assert_eq!(capabilities["promptCapabilities"]["audio"], false);
    for name in ["list", "delete", "resume", "close", "fork"] {
        assert!(capabilities["sessionCapabilities"][name].is_object(), "{name}: {capabilities}");
    }
    // The embedded agent has no login.
    assert_eq!(result["authMethods"], json!([]));
    assert_eq!(editor.error("authenticate", json!({ "methodId": "claude-login" })), -32602);
}

#[test]
fn a_prompt_is_answered_with_text_and_thoughts_before_its_stop_reason() {
    let mut editor = Editor::new(TALK);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "Hello there.");
    assert_eq!(editor.text("agent_thought_chunk"), "They greet.");
    assert!(editor.updates("agent_message_chunk")[0]["messageId"].is_string());
    // Commands are announced after the answer to session/new.
    let commands = editor.read_until_update("available_commands_update");
    assert!(commands["availableCommands"].as_array().is_some_and(|all| !all.is_empty()));
    let usage = editor.read_until_update("usage_update");
    assert!(usage["used"].as_u64() > Some(0) && usage["size"].as_u64() > Some(0), "{usage}");
    let title = editor.read_until_update("session_info_update");
    assert_eq!(title["title"], "hi");
    assert_eq!(editor.prompt(&session, "again"), "end_turn");
}

#[test]
fn a_tool_call_has_a_kind_a_title_and_an_end() {
    let mut editor = Editor::new(LIST_FILES);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "look"), "end_turn");
    let call = &editor.updates("tool_call")[0];
    assert_eq!((&call["toolCallId"], &call["kind"]), (&json!("toolu_1"), &json!("execute")));
    let updates = editor.updates("tool_call_update");
    assert!(updates.iter().any(|update| update["title"] == "touch seen.txt"), "{updates:#?}");
    assert_eq!(editor.statuses()["toolu_1"], "completed");
    assert!(editor.work().join("seen.txt").exists());
    // The request comes after the call, and names it.
    let request = &editor.requests("session/request_permission")[0];
    assert_eq!(request["params"]["toolCall"]["toolCallId"], "toolu_1");
    let place = |fits: &dyn Fn(&Value) -> bool| editor.seen.iter().position(fits).unwrap();
    let called = place(&|message| message["params"]["update"]["toolCallId"] == "toolu_1");
    assert!(called < place(&|message| message["method"] == "session/request_permission"));
}

#[test]
fn edits_are_diffs() {
    let mut editor = Editor::new("");
    let file = editor.work().join("a.txt");
    fs::write(&file, "one\ntwo\nthree\n").unwrap();
    let path = file.to_str().unwrap();
    let scenario = format!(
        r#"
[[replies]]
say = {{ tool = "Read", input = {{ file_path = "{path}" }}, id = "toolu_r" }}
[[replies]]
say = {{ tool = "Edit", input = {{ file_path = "{path}", old_string = "two", new_string = "2" }}, id = "toolu_e" }}
[[replies]]
say = "Done."
"#
    );
    fs::write(editor.home.path().join("scenario.toml"), scenario).unwrap();
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "edit"), "end_turn");
    let last = |id: &str| {
        let updates = editor.updates("tool_call_update");
        updates.into_iter().rfind(|update| update["toolCallId"] == id).unwrap()
    };
    let edit = last("toolu_e");
    assert_eq!(edit["status"], "completed");
    assert_eq!(edit["content"][0]["type"], "diff");
    assert_eq!(edit["content"][0]["newText"], "one\n2\nthree\n");
    assert_eq!(edit["locations"][0]["path"], path);
    let request = &editor.requests("session/request_permission")[0]["params"]["toolCall"];
    assert_eq!(
        (&request["kind"], &request["content"][0]["oldText"]),
        (&json!("edit"), &json!("two"))
    );
}

#[test]
fn always_allow_is_not_asked_again() {
    let mut editor = Editor::new(LIST_FILES);
    editor.answer = Box::new(|request| {
        let kinds: Vec<&str> = request["params"]["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_always"]);
        Some(choose(request, "allow_always"))
    });
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "look"), "end_turn");
    assert_eq!(editor.prompt(&session, "look again"), "end_turn");
    assert_eq!(editor.requests("session/request_permission").len(), 1);
    assert_eq!(editor.statuses()["toolu_2"], "completed");
}

#[test]
fn reject_always_is_not_asked_again() {
    let mut editor = Editor::new(LIST_FILES);
    editor.answer = Box::new(|request| Some(choose(request, "reject_always")));
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "look"), "end_turn");
    assert_eq!(editor.prompt(&session, "look again"), "end_turn");
    assert_eq!(editor.requests("session/request_permission").len(), 1);
    assert_eq!(editor.statuses()["toolu_2"], "failed");
    assert!(!editor.work().join("seen.txt").exists());
}

#[test]
fn a_cancelled_choice_cancels_the_turn() {
    let mut editor = Editor::new(LIST_FILES);
    editor.answer = Box::new(|_| Some(json!({ "outcome": { "outcome": "cancelled" } })));
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "look"), "cancelled");
    assert!(!editor.work().join("seen.txt").exists());
}

#[test]
fn one_stop_reason_after_cancel_with_an_open_permission_request() {
    let mut editor = Editor::new(LIST_FILES);
    editor.answer = Box::new(|_| None);
    let session = editor.new_session();
    let prompt = editor.send_prompt(&session, "look");
    editor.read_until("a request", |message| message["method"] == "session/request_permission");
    editor.cancel(&session);
    assert_eq!(editor.response(prompt)["result"]["stopReason"], "cancelled");
    // The open request was withdrawn, and the next prompt works.
    editor.read_until("the withdrawal", |message| message["method"] == "$/cancel_request");
    editor.answer = Box::new(|request| Some(choose(request, "allow_once")));
    assert_eq!(editor.prompt(&session, "go on"), "end_turn");
    let answers = editor
        .seen
        .iter()
        .filter(|message| message["id"] == prompt && message.get("method").is_none());
    assert_eq!(answers.count(), 1);
}

#[test]
fn one_stop_reason_after_two_cancels_while_the_model_writes() {
    let mut editor = Editor::new(STALL);
    let session = editor.new_session();
    let prompt = editor.send_prompt(&session, "go");
    editor.read_until_update("agent_message_chunk");
    editor.cancel(&session);
    editor.cancel(&session);
    assert_eq!(editor.response(prompt)["result"]["stopReason"], "cancelled");
    // Between turns, a cancel has no effect.
    editor.cancel(&session);
    assert_eq!(editor.prompt(&session, "next"), "end_turn");
    assert_eq!(
        editor.seen.iter().filter(|message| message["result"]["stopReason"] == "cancelled").count(),
        1
    );
}

#[test]
fn a_cancelled_request_is_a_cancelled_prompt() {
    let mut editor = Editor::new(STALL);
    let session = editor.new_session();
    let prompt = editor.send_prompt(&session, "go");
    editor.read_until_update("agent_message_chunk");
    editor.notify("$/cancel_request", &json!({ "requestId": prompt }));
    assert_eq!(editor.response(prompt)["result"]["stopReason"], "cancelled");
}

#[test]
fn a_cancel_ends_the_prompts_that_wait_too() {
    let mut editor = Editor::new(STALL);
    let session = editor.new_session();
    let first = editor.send_prompt(&session, "go");
    editor.read_until_update("agent_message_chunk");
    let second = editor.send_prompt(&session, "and then");
    let third = editor.send_prompt(&session, "and then");
    editor.cancel(&session);
    for prompt in [first, second, third] {
        assert_eq!(editor.response(prompt)["result"]["stopReason"], "cancelled");
    }
}

#[test]
fn prompts_wait_for_each_other() {
    let mut editor = Editor::new(TALK);
    let session = editor.new_session();
    let prompts: Vec<u64> =
        ["a", "b", "c"].iter().map(|text| editor.send_prompt(&session, text)).collect();
    for prompt in prompts {
        assert_eq!(editor.response(prompt)["result"]["stopReason"], "end_turn");
    }
}

#[test]
fn parallel_permission_requests_are_all_answered() {
    let scenario = r#"
[[replies]]
say = [
  { tool = "Bash", input = { command = "touch a" }, id = "toolu_a" },
  { tool = "Bash", input = { command = "touch b" }, id = "toolu_b" },
  { tool = "Bash", input = { command = "touch c" }, id = "toolu_c" },
]
[[replies]]
say = "Done."
"#;
    let mut editor = Editor::new(scenario);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "go"), "end_turn");
    let statuses = editor.statuses();
    assert!(
        ["toolu_a", "toolu_b", "toolu_c"].iter().all(|id| statuses[*id] == "completed"),
        "{statuses:?}"
    );
    assert_eq!(editor.requests("session/request_permission").len(), 3);
}

#[test]
fn a_to_do_list_is_a_plan() {
    let scenario = r#"
[[replies]]
say = { tool = "TodoWrite", input = { todos = [
  { content = "Read", status = "completed", activeForm = "Reading" },
  { content = "Write", status = "in_progress", activeForm = "Writing" },
] } }
[[replies]]
say = "Done."
"#;
    let mut editor = Editor::new(scenario);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "plan"), "end_turn");
    let plan = &editor.updates("plan")[0]["entries"];
    assert_eq!((&plan[0]["status"], &plan[1]["content"]), (&json!("completed"), &json!("Writing")));
    assert!(editor.updates("tool_call").is_empty());
}

const QUESTION: &str = r#"
[[replies]]
say = { tool = "AskUserQuestion", input = { questions = [
  { question = "Which colour?", header = "Colour", multiSelect = false, options = [
    { label = "Red", description = "warm" }, { label = "Blue", description = "cold" } ] } ] } }
[[replies]]
when = { tool_result = "Blue" }
say = "Blue it is."
[[replies]]
say = "No answer."
"#;

#[test]
fn a_question_is_a_choice_for_a_client_without_forms() {
    let mut editor = Editor::new(QUESTION);
    editor.answer = Box::new(|request| {
        let options = request["params"]["options"].as_array().unwrap();
        let blue = options.iter().find(|option| option["name"] == "Blue").unwrap();
        Some(json!({ "outcome": { "outcome": "selected", "optionId": blue["optionId"] } }))
    });
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "ask"), "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "Blue it is.");
}

#[test]
fn a_question_is_a_form_for_a_client_with_forms() {
    let capabilities = json!({ "elicitation": { "form": {} } });
    let mut editor = Editor::start(tempfile::tempdir().unwrap(), QUESTION, &capabilities);
    editor.answer = Box::new(|request| {
        assert_eq!(request["method"], "elicitation/create");
        assert_eq!(request["params"]["message"], "Which colour?");
        Some(json!({ "action": "accept", "content": { "question_0": "Blue" } }))
    });
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "ask"), "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "Blue it is.");
}

#[test]
fn a_plan_is_approved_and_the_mode_changes() {
    let scenario = r##"
[[replies]]
say = { tool = "ExitPlanMode", input = { plan = "# Do it" }, id = "toolu_p" }
[[replies]]
say = "I begin."
"##;
    let mut editor = Editor::new(scenario);
    let session = editor.new_session();
    editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": "plan" }));
    assert_eq!(editor.read_until_update("current_mode_update")["currentModeId"], "plan");
    editor.answer = Box::new(|request| {
        assert_eq!(request["params"]["toolCall"]["kind"], "switch_mode");
        Some(choose(request, "allow_always"))
    });
    assert_eq!(editor.prompt(&session, "plan it"), "end_turn");
    let modes = editor.updates("current_mode_update");
    assert_eq!(modes.last().unwrap()["currentModeId"], "acceptEdits", "{modes:?}");
}

#[test]
fn modes_models_and_effort_are_options() {
    let mut editor = Editor::new(TALK);
    let params = json!({ "cwd": editor.work(), "mcpServers": [] });
    let created = editor.ask("session/new", params);
    let session = created["sessionId"].as_str().unwrap();
    assert_eq!(created["modes"]["currentModeId"], "default");
    let options = created["configOptions"].as_array().unwrap();
    let values = |id: &str| -> Vec<String> {
        let option = options.iter().find(|option| option["id"] == id);
        let all = option.and_then(|option| option["options"].as_array()).into_iter().flatten();
        all.map(|choice| choice["value"].as_str().unwrap().to_owned()).collect()
    };
    assert!(
        values("mode").contains(&"acceptEdits".to_owned())
            && !values("mode").contains(&"bypassPermissions".to_owned())
    );
    for id in ["mode", "model", "effort"] {
        let Some(value) = values(id).pop() else { continue };
        let params = json!({ "sessionId": session, "configId": id, "value": value });
        let changed = editor.ask("session/set_config_option", params);
        let changed = changed["configOptions"].as_array().unwrap();
        let option = changed.iter().find(|option| option["id"] == id);
        assert!(option.is_none_or(|option| option["currentValue"] == value), "{id}: {option:?}");
    }
    let wrong = json!({ "sessionId": session, "configId": "mode", "value": "bypassPermissions" });
    assert_eq!(editor.error("session/set_config_option", wrong), -32602);
    let wrong = json!({ "sessionId": session, "configId": "colour", "value": "red" });
    assert_eq!(editor.error("session/set_config_option", wrong), -32602);
}

#[test]
fn a_sub_agent_is_nested_under_its_call() {
    let scenario = r#"
[[replies]]
say = { tool = "Agent", input = { description = "Look", prompt = "Look around", subagent_type = "general-purpose", run_in_background = false }, id = "toolu_a" }
[[replies]]
agent = "sub"
say = { tool = "Bash", input = { command = "touch inner" }, id = "toolu_b" }
[[replies]]
agent = "sub"
say = "Found it."
[[replies]]
say = "Done."
"#;
    let mut editor = Editor::new(scenario);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "go"), "end_turn");
    let calls: Vec<Value> =
        editor.updates("tool_call").into_iter().chain(editor.updates("tool_call_update")).collect();
    let inner = calls.iter().find(|call| call["toolCallId"] == "toolu_b").unwrap();
    assert_eq!(inner["_meta"]["claudeCode"]["parentToolUseId"], "toolu_a");
    assert_eq!(editor.statuses()["toolu_a"], "completed");
    // The text of the sub-agent is not the text of the session.
    assert_eq!(editor.text("agent_message_chunk"), "Done.");
}

const BACKGROUND: &str = r#"
[[replies]]
say = { tool = "Bash", input = { command = "until [ -e go ]; do sleep 0.1; done", run_in_background = true }, id = "toolu_1" }
[[replies]]
say = "It runs."
[[replies]]
when = { prompt = "follow" }
say = "Meanwhile."
[[replies]]
times = "always"
say = "It has ended."
"#;

#[test]
fn background_work_survives_a_follow_up_and_reports_after_the_turn() {
    let mut editor = Editor::new(BACKGROUND);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "start"), "end_turn");
    assert_eq!(editor.statuses()["toolu_1"], "in_progress");
    assert_eq!(editor.prompt(&session, "follow up"), "end_turn");
    assert!(editor.text("agent_message_chunk").contains("Meanwhile."));
    assert_eq!(editor.statuses()["toolu_1"], "in_progress");
    fs::write(editor.work().join("go"), "").unwrap();
    let ended = |message: &Value| {
        let update = &message["params"]["update"];
        update["toolCallId"] == "toolu_1" && update["status"] == "completed"
    };
    editor.read_until("the end of the task", ended);
}

#[test]
fn a_loaded_session_has_the_same_history_and_continues() {
    let mut editor = Editor::new(LIST_FILES);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "look"), "end_turn");
    let (text, calls) = (editor.text("agent_message_chunk"), editor.statuses());
    let ids = |editor: &Editor| {
        let chunks = editor.updates("agent_message_chunk");
        let mut ids: Vec<Value> = chunks.iter().map(|chunk| chunk["messageId"].clone()).collect();
        ids.dedup();
        ids
    };
    let live = ids(&editor);
    let home = editor.quit();

    let mut editor = Editor::start(home, STALL, &json!({}));
    let params = json!({ "sessionId": session, "cwd": editor.work(), "mcpServers": [] });
    let loaded = editor.ask("session/load", params);
    assert!(loaded["modes"].is_object());
    assert_eq!(editor.text("user_message_chunk"), "look");
    assert_eq!((editor.text("agent_message_chunk"), editor.statuses()), (text, calls));
    assert_eq!(ids(&editor), live);
    // A cancel right after the load has no effect; the first prompt works and can be cancelled.
    editor.cancel(&session);
    editor.seen.clear();
    let prompt = editor.send_prompt(&session, "go on");
    editor.read_until_update("agent_message_chunk");
    editor.cancel(&session);
    assert_eq!(editor.response(prompt)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.prompt(&session, "and on"), "end_turn");
}

#[test]
fn a_session_is_loaded_from_another_working_directory() {
    let mut editor = Editor::new(TALK);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
    let home = editor.quit();
    let mut editor = Editor::start(home, TALK, &json!({}));
    let other = editor.home.path().join("other");
    fs::create_dir(&other).unwrap();
    editor.ask("session/load", json!({ "sessionId": session, "cwd": other, "mcpServers": [] }));
    assert_eq!(editor.text("user_message_chunk"), "hi");
    assert_eq!(editor.prompt(&session, "again"), "end_turn");
}

#[test]
fn sessions_are_listed_resumed_forked_renamed_deleted_and_closed() {
    let mut editor = Editor::new(TALK);
    let session = editor.new_session();
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
    let work = editor.work();
    let ids = |editor: &mut Editor| -> Vec<String> {
        let listed = editor.ask("session/list", json!({ "cwd": work }));
        let all = listed["sessions"].as_array().unwrap();
        all.iter().map(|it| it["sessionId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&mut editor), [session.as_str()]);
    editor.ask("session/close", json!({ "sessionId": session }));
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "x" }] });
    assert_eq!(editor.error("session/prompt", prompt), -32002);
    editor.seen.clear();
    let params = json!({ "sessionId": session, "cwd": work, "mcpServers": [] });
    editor.ask("session/resume", params.clone());
    assert!(editor.updates("user_message_chunk").is_empty());
    assert_eq!(editor.prompt(&session, "again"), "end_turn");
    let fork = editor.ask("session/fork", params)["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(fork, session);
    assert_eq!(editor.prompt(&fork, "in the fork"), "end_turn");
    assert_eq!(ids(&mut editor).len(), 2);
    let renamed = editor.ask("session/set_title", json!({ "sessionId": fork, "title": "A fork" }));
    assert_eq!(renamed["title"], "A fork");
    editor.ask("session/delete", json!({ "sessionId": session }));
    assert_eq!(ids(&mut editor), [fork.as_str()]);
    assert_eq!(editor.error("session/delete", json!({ "sessionId": session })), -32002);
    assert_eq!(
        editor
            .error("session/load", json!({ "sessionId": session, "cwd": work, "mcpServers": [] })),
        -32002
    );
}

#[test]
fn bad_input_gets_the_error_of_the_specification_and_the_bridge_lives_on() {
    let mut editor = Editor::new(TALK);
    let error = |editor: &mut Editor, line: &str| {
        editor.write(line);
        editor.read()["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(error(&mut editor, "{not JSON"), -32700);
    assert_eq!(error(&mut editor, "[]"), -32600);
    assert_eq!(error(&mut editor, r#"{"jsonrpc":"2.0","id":99}"#), -32600);
    assert_eq!(editor.error("session/dance", json!({})), -32601);
    assert_eq!(editor.error("session/new", json!({ "cwd": 5 })), -32602);
    assert_eq!(editor.error("session/new", json!({ "cwd": "relative", "mcpServers": [] })), -32602);
    assert_eq!(
        editor.error("session/new", json!({ "cwd": "/no/such/place", "mcpServers": [] })),
        -32602
    );
    let unknown = json!({ "sessionId": "nope", "prompt": [{ "type": "text", "text": "x" }] });
    assert_eq!(editor.error("session/prompt", unknown), -32002);
    editor.cancel("nope");
    editor.notify("session/dance", &json!({}));
    let session = editor.new_session();
    assert_eq!(
        editor.error("session/prompt", json!({ "sessionId": session, "prompt": [] })),
        -32602
    );
    assert_eq!(editor.prompt(&session, "hi"), "end_turn");
}

#[test]
fn a_flood_of_prompts_gets_one_answer_each() {
    let mut editor = Editor::new(STALL);
    let session = editor.new_session();
    let prompts: Vec<u64> = (0..500).map(|_| editor.send_prompt(&session, "x")).collect();
    let last = *prompts.last().unwrap();
    // What does not fit is refused at once.
    let refused = editor.response(last);
    assert!(refused["error"]["message"].as_str().unwrap().contains("wait already"), "{refused}");
    editor.cancel(&session);
    for prompt in &prompts {
        editor.response(*prompt);
    }
    let answers = editor
        .seen
        .iter()
        .filter(|message| message.get("method").is_none() && message.get("id").is_some());
    let mut ids: Vec<u64> = answers
        .filter_map(|message| message["id"].as_u64())
        .filter(|id| prompts.contains(id))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, prompts);
    assert_eq!(editor.prompt(&session, "next"), "end_turn");
}

#[test]
fn a_usage_limit_is_shown_and_the_next_prompt_works() {
    let scenario = r#"
[[replies]]
error = { status = 400, message = "Claude AI usage limit reached" }
[[replies]]
say = "Back again."
"#;
    let mut editor = Editor::new(scenario);
    let session = editor.new_session();
    let prompt = editor.send_prompt(&session, "hi");
    let response = editor.response(prompt);
    let message = response["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("usage limit reached"), "{response}");
    assert_eq!(editor.prompt(&session, "again"), "end_turn");
    assert!(editor.text("agent_message_chunk").contains("Back again."));
}

#[test]
fn an_agent_that_dies_is_an_error_and_is_started_again() {
    let scenario = r#"
[[replies]]
when = { prompt = "die" }
say = { tool = "Bash", input = { command = "kill -9 $PPID" }, id = "toolu_1" }
[[replies]]
times = "always"
say = "Alive."
"#;
    let mut editor = Editor::new(scenario);
    let session = editor.new_session();
    let prompt = editor.send_prompt(&session, "die");
    let response = editor.response(prompt);
    assert!(response["error"]["message"].is_string(), "{response}");
    assert_eq!(editor.statuses()["toolu_1"], "failed");
    assert_eq!(editor.prompt(&session, "hello?"), "end_turn");
    assert!(editor.text("agent_message_chunk").contains("Alive."));
}

const SLEEP: &str = r#"
[[replies]]
say = { tool = "Bash", input = { command = "sleep 1000" }, id = "toolu_1" }
[[replies]]
say = "Done."
"#;

/// Brings an editor to one of the steps of a prompt.
fn at_step(step: usize) -> Editor {
    let scenario = [TALK, TALK, LIST_FILES, STALL, SLEEP, BACKGROUND][step];
    let mut editor = Editor::new(scenario);
    if step == 0 {
        return editor;
    }
    let session = editor.new_session();
    match step {
        2 => {
            editor.answer = Box::new(|_| None);
            editor.send_prompt(&session, "go");
            editor.read_until("a request", |message| {
                message["method"] == "session/request_permission"
            });
        }
        3 => {
            editor.send_prompt(&session, "go");
            editor.read_until_update("agent_message_chunk");
        }
        4 => {
            editor.send_prompt(&session, "go");
            let us = editor.bridge.id();
            let sleeps = || descendants(us).iter().any(|pid| is_sleep(*pid));
            assert!(wait_until(sleeps), "the command was not started");
        }
        5 => {
            assert_eq!(editor.prompt(&session, "go"), "end_turn");
        }
        _ => {}
    }
    editor
}

fn is_sleep(pid: u32) -> bool {
    fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"))
        .is_ok_and(|line| line.starts_with(b"sleep\0"))
}

#[test]
fn nothing_is_left_when_the_editor_vanishes_at_any_step() {
    for step in 0..6 {
        let mut editor = at_step(step);
        let left = descendants(editor.bridge.id());
        drop(editor.stdin.take());
        editor.bridge.wait().unwrap();
        assert_gone_blocking(&left);
    }
}

#[test]
fn nothing_is_left_when_the_bridge_is_killed() {
    for step in [0, 1, 2, 3] {
        let mut editor = at_step(step);
        let left = descendants(editor.bridge.id());
        editor.bridge.kill().unwrap();
        editor.bridge.wait().unwrap();
        assert_gone_blocking(&left);
    }
}

#[test]
fn a_bridge_ends_although_its_editor_reads_no_update() {
    let scenario = r#"
[[replies]]
say = [{ text = "many words ", repeat = 20000 }]
"#;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("scenario.toml");
    fs::write(&file, scenario).unwrap();
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_duologue"))
        .args(["acp", "--embedded", "--", "--scenario"])
        .arg(&file)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = bridge.stdin.take().unwrap();
    let mut stdout = BufReader::new(bridge.stdout.take().unwrap());
    let mut say = |method: &str, params: Value| {
        let id = method.len();
        writeln!(
            stdin,
            "{}",
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        )
        .unwrap();
    };
    say("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    say("session/new", json!({ "cwd": home.path(), "mcpServers": [] }));
    line.clear();
    stdout.read_line(&mut line).unwrap();
    let session = serde_json::from_str::<Value>(&line).unwrap()["result"]["sessionId"].clone();
    say(
        "session/prompt",
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] }),
    );
    // The pipe gets no fuller: the bridge waits for the editor, which goes away without reading. How many bytes fit
    // depends on how long the updates are, since each page of the pipe holds whole updates.
    let before = std::cell::Cell::new(0);
    let waiting = || {
        let bytes = rustix::io::ioctl_fionread(stdout.get_ref()).unwrap_or(0);
        bytes > 30_000 && before.replace(bytes) == bytes
    };
    assert!(wait_until(waiting), "no updates");
    let left = descendants(bridge.id());
    drop(stdin);
    bridge.wait().unwrap();
    assert_gone_blocking(&left);
}

#[test]
fn a_tape_has_both_protocols() {
    let home = tempfile::tempdir().unwrap();
    let (scenario, tape) = (home.path().join("scenario.toml"), home.path().join("both.tape"));
    fs::write(&scenario, TALK).unwrap();
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_duologue"));
        command
            .args(["acp", "--embedded", "--record"])
            .arg(&tape)
            .args(["--", "--scenario"])
            .arg(&scenario);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut bridge = run();
    let mut stdin = bridge.stdin.take().unwrap();
    let mut stdout = BufReader::new(bridge.stdout.take().unwrap());
    let mut ask = |id: u64, method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(stdin, "{request}").unwrap();
        let mut line = String::new();
        while stdout.read_line(&mut line).unwrap() > 0 {
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
            line.clear();
        }
        panic!("{method} has no answer");
    };
    ask(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let session =
        ask(2, "session/new", json!({ "cwd": home.path(), "mcpServers": [] }))["sessionId"].clone();
    ask(
        3,
        "session/prompt",
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hi" }] }),
    );
    drop(stdin);
    assert!(bridge.wait().unwrap().success());
    let text = fs::read_to_string(&tape).unwrap();
    assert!(text.contains("acp < ") && text.contains("session/prompt"), "{text}");
    assert!(text.contains(r#""dir":"out""#) && text.contains("agent_message_chunk"), "{text}");
    // An existing tape is not replaced.
    let refused = run().wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&tape).unwrap(), text);
}
