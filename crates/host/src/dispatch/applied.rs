//! [`Applied`]: what was changed since the agent was started, to be applied to the next one.

use std::collections::VecDeque;

use duologue_protocol::control::{
    ApplyFlagSettings, ControlResponse, HostRequest, Response, SetPermissionMode,
};
use duologue_protocol::launch::Launch;
use duologue_protocol::permission::{
    PermissionBehavior, PermissionDestination, PermissionMode, PermissionResult, PermissionRule,
    PermissionUpdate,
};
use duologue_protocol::system::System;
use duologue_protocol::{Decoded, RawObject, RequestId, ToAgent, ToHost, Wire as _};
use serde_json::Value;

/// How many requests that change something may wait for their answers.
const MOST_ASKED: usize = 1024;

/// How many changes are kept.
const MOST_CHANGES: usize = 4096;

/// What was changed in the agent by control requests and answers, in the order in which it took
/// effect. It watches the lines of both directions.
///
/// | what | is applied again |
/// |---|---|
/// | `set_permission_mode`, also by the model or with an answer | the last, set by host or agent |
/// | `set_model`, `set_max_thinking_tokens`, `mcp_set_servers`, `set_cwd`, `set_color`, `set_has_subscribers`, `set_prompt_suggestions_paused`, `set_chrome_browser_hints`, `select_chrome_browser`, `set_proactivity_level`, `remote_control` | the last of each |
/// | `mcp_toggle`, `set_mcp_permission_mode_override`, `channel_enable` | the last for each server |
/// | `seed_read_state`, `register_repo_root` | the last for each path |
/// | `apply_flag_settings` | each, unless a later one sets all of the same |
/// | `add_directory`, `register_device_hooks`, `upload_device_hook_template`, `remote_tools_announce` | each |
/// | rules that allow or deny, and directories, of an answer, for the session | as flags |
/// | rules that ask, of an answer, for the session | with `apply_flag_settings`: there is no flag |
///
/// All other requests return something, do something once, or change what outlives the process: files,
/// the conversation, a login.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    asked: VecDeque<(RequestId, Change)>,
    changes: Vec<Change>,
    /// Some changes were dropped: there were too many.
    overflowed: bool,
    allowed: Vec<String>,
    denied: Vec<String>,
    /// Rules for calls about which the agent asks the host.
    ask: Vec<String>,
    directories: Vec<String>,
}

/// A change that has taken effect.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) subtype: String,
    /// What it changes: a later change of the same replaces it. `None` if its settings decide.
    about: Option<String>,
    pub(crate) request: RawObject,
}

impl Change {
    /// The change that this request makes; `None` if a new process does not lack it.
    fn of(request: &HostRequest) -> Option<Self> {
        let about = match request {
            HostRequest::SetPermissionMode(_)
            | HostRequest::SetModel(_)
            | HostRequest::SetMaxThinkingTokens(_)
            | HostRequest::McpSetServers(_)
            | HostRequest::SetCwd(_)
            | HostRequest::SetColor(_)
            | HostRequest::SetHasSubscribers(_)
            | HostRequest::SetPromptSuggestionsPaused(_)
            | HostRequest::SetChromeBrowserHints(_)
            | HostRequest::SelectChromeBrowser(_)
            | HostRequest::SetProactivityLevel(_)
            | HostRequest::RemoteControl(_) => Some(String::new()),
            HostRequest::McpToggle(toggle) => toggle.server_name.as_str().map(str::to_owned),
            HostRequest::SetMcpPermissionModeOverride(mode) => {
                mode.server_name.as_str().map(str::to_owned)
            }
            HostRequest::ChannelEnable(channel) => channel.server_name.as_str().map(str::to_owned),
            HostRequest::SeedReadState(file) => file.path.as_str().map(str::to_owned),
            HostRequest::RegisterRepoRoot(root) => root.directory.as_str().map(str::to_owned),
            HostRequest::AddDirectory(_)
            | HostRequest::RegisterDeviceHooks(_)
            | HostRequest::UploadDeviceHookTemplate(_)
            | HostRequest::RemoteToolsAnnounce(_) => Some(request.to_json()),
            HostRequest::ApplyFlagSettings(_) => None,
            _ => return None,
        };
        let raw = RawObject::from_wire(request)?;
        Some(Self { subtype: request.tag().to_owned(), about, request: raw })
    }

    /// Whether nothing is left of that change after this one.
    fn replaces(&self, before: &Self) -> bool {
        if self.subtype != before.subtype {
            return false;
        }
        match (&self.about, &before.about) {
            (Some(about), Some(before)) => about == before,
            _ => {
                let mut now = Vec::new();
                leaves(&self.settings(), String::new(), &mut now);
                let mut then = Vec::new();
                leaves(&before.settings(), String::new(), &mut then);
                then.iter().all(|path| now.contains(path))
            }
        }
    }

    fn settings(&self) -> Value {
        let settings = self.request.get("settings");
        settings.and_then(|json| serde_json::from_str(json.as_json()).ok()).unwrap_or_default()
    }
}

/// The paths of all values that are not objects.
fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                leaves(value, format!("{path}/{}", Value::from(name.as_str())), found);
            }
        }
        _ => found.push(path),
    }
}

impl Applied {
    /// A line to the agent was sent.
    pub(crate) fn sent(&mut self, message: &Decoded<ToAgent>) {
        match message {
            Decoded::Known(ToAgent::ControlRequest(line)) => {
                if let (Some(id), Some(request)) = (line.request_id.value(), line.request.value())
                    && let Some(change) = Change::of(request)
                {
                    if self.asked.len() == MOST_ASKED {
                        self.asked.pop_front();
                    }
                    self.asked.push_back((id.detach(), change));
                }
            }
            Decoded::Known(ToAgent::ControlResponse(response)) => self.answered(response),
            _ => {}
        }
    }

    /// A line of the agent came.
    pub(crate) fn came(&mut self, message: &Decoded<ToHost>) {
        match message {
            Decoded::Known(ToHost::ControlResponse(response)) => {
                let Some(id) = response.request_id() else { return };
                let Some(at) = self.asked.iter().position(|(asked, _)| asked == id) else { return };
                let change = self.asked.remove(at);
                if let (Some(Response::Success(_)), Some((_, change))) =
                    (response.response.value(), change)
                {
                    self.add(change);
                }
            }
            Decoded::Known(ToHost::System(System::Status(status))) => {
                if let Some(mode) = status.permission_mode.value() {
                    self.set_mode(mode);
                }
            }
            _ => {}
        }
    }

    /// The agent has ended: what it has not answered has not taken effect.
    pub(crate) fn ended(&mut self) {
        self.asked.clear();
    }

    fn set_mode(&mut self, mode: &PermissionMode) {
        let request = HostRequest::from(SetPermissionMode::new().mode(mode.clone()));
        if let Some(change) = Change::of(&request) {
            self.add(change);
        }
    }

    fn add(&mut self, change: Change) {
        self.changes.retain(|before| !change.replaces(before));
        if self.changes.len() < MOST_CHANGES {
            self.changes.push(change);
        } else {
            self.overflowed = true;
        }
    }

    /// The host has answered: perhaps with permissions for the session.
    fn answered(&mut self, response: &ControlResponse) {
        let Some(Response::Success(success)) = response.response.value() else { return };
        let payload = success.response.value();
        let Some(Ok(PermissionResult::Allow(allow))) = payload.map(|payload| payload.read()) else {
            return;
        };
        for update in allow.updated_permissions.items() {
            self.update(update);
        }
    }

    fn update(&mut self, update: &PermissionUpdate) {
        match update {
            PermissionUpdate::SetMode(set) if goes(set.destination.value()) => {
                if let Some(mode) = set.mode.value() {
                    self.set_mode(mode);
                }
            }
            PermissionUpdate::AddRules(add) if goes(add.destination.value()) => {
                self.add_rules(add.behavior.value(), add.rules.items());
            }
            PermissionUpdate::ReplaceRules(new) if goes(new.destination.value()) => {
                if let Some(rules) = self.rules(new.behavior.value()) {
                    rules.clear();
                }
                self.add_rules(new.behavior.value(), new.rules.items());
            }
            PermissionUpdate::RemoveRules(remove) if goes(remove.destination.value()) => {
                if let Some(rules) = self.rules(remove.behavior.value()) {
                    let gone: Vec<String> =
                        remove.rules.items().iter().map(PermissionRule::spelled).collect();
                    rules.retain(|rule| !gone.contains(rule));
                }
            }
            PermissionUpdate::AddDirectories(add) if goes(add.destination.value()) => {
                for directory in add.directories.items() {
                    push_new(&mut self.directories, directory.as_str().to_owned());
                }
            }
            PermissionUpdate::RemoveDirectories(remove) if goes(remove.destination.value()) => {
                let gone = remove.directories.items();
                self.directories.retain(|known| !gone.iter().any(|gone| gone == known.as_str()));
            }
            _ => {}
        }
    }

    fn rules(&mut self, behavior: Option<&PermissionBehavior>) -> Option<&mut Vec<String>> {
        match behavior? {
            PermissionBehavior::Allow => Some(&mut self.allowed),
            PermissionBehavior::Deny => Some(&mut self.denied),
            PermissionBehavior::Ask => Some(&mut self.ask),
            _ => None,
        }
    }

    fn add_rules(&mut self, behavior: Option<&PermissionBehavior>, added: &[PermissionRule]) {
        let Some(rules) = self.rules(behavior) else { return };
        for rule in added {
            push_new(rules, rule.spelled());
        }
    }

    /// The changes, in the order in which they took effect.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut changes = self.changes.clone();
        changes.extend(self.ask_rules());
        changes
    }

    /// The rules that ask, as settings. A list replaces the one that was set before, so it has all of them.
    fn ask_rules(&self) -> Option<Change> {
        if self.ask.is_empty() {
            return None;
        }
        let latest = |change: &Change| change.settings().pointer("/permissions/ask").cloned();
        let mut rules = match self.changes.iter().rev().find_map(latest) {
            Some(Value::Array(rules)) => rules,
            _ => Vec::new(),
        };
        for rule in &self.ask {
            if !rules.iter().any(|known| known == rule.as_str()) {
                rules.push(rule.as_str().into());
            }
        }
        let settings = serde_json::json!({ "permissions": { "ask": rules } });
        let settings = RawObject::of(&settings).ok()?;
        Change::of(&ApplyFlagSettings::new().settings(settings).into())
    }

    /// Whether some changes could not be kept.
    pub(crate) const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// The same options, with what was granted for the session.
    pub(crate) fn launch(&self, launch: Launch) -> Launch {
        launch
            .allowed_tools(self.allowed.iter().cloned())
            .disallowed_tools(self.denied.iter().cloned())
            .add_dirs(self.directories.iter())
    }
}

/// Whether an update for this destination is lost when the process ends.
fn goes(destination: Option<&PermissionDestination>) -> bool {
    matches!(destination, Some(PermissionDestination::Session | PermissionDestination::CliArg))
}

fn push_new(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) && list.len() < MOST_CHANGES {
        list.push(text);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::Line;
    use serde_json::json;

    use super::*;

    struct Wire {
        applied: Applied,
        made: u32,
    }

    impl Wire {
        fn new() -> Self {
            Self { applied: Applied::default(), made: 0 }
        }

        /// A request of the host, and its answer.
        fn ask(&mut self, request: Value, subtype: &str) {
            self.made += 1;
            let id = format!("req_{}", self.made);
            let line = json!({ "type": "control_request", "request_id": id, "request": request });
            self.applied.sent(&Line::from(line.to_string()).to_agent());
            let response = json!({ "subtype": subtype, "request_id": id, "error": "no" });
            let line = json!({ "type": "control_response", "response": response });
            self.applied.came(&Line::from(line.to_string()).to_host());
        }

        fn changes(&self) -> Vec<Value> {
            let changes = self.applied.changes();
            changes
                .iter()
                .map(|change| serde_json::from_str(change.request.as_json()).unwrap())
                .collect()
        }
    }

    #[test]
    fn the_last_of_each_is_kept_in_the_order_in_which_it_took_effect() {
        let mut wire = Wire::new();
        let toggle = |server: &str, on: bool| json!({ "subtype": "mcp_toggle", "serverName": server, "enabled": on });
        wire.ask(json!({ "subtype": "set_model", "model": "one" }), "success");
        wire.ask(json!({ "subtype": "set_permission_mode", "mode": "plan" }), "success");
        wire.ask(toggle("a", false), "success");
        wire.ask(toggle("b", false), "success");
        wire.ask(json!({ "subtype": "set_model", "model": "two" }), "success");
        wire.ask(json!({ "subtype": "set_model", "model": "three" }), "error");
        wire.ask(json!({ "subtype": "get_settings" }), "success");
        wire.ask(toggle("a", true), "success");
        assert_eq!(
            wire.changes(),
            [
                json!({ "subtype": "set_permission_mode", "mode": "plan" }),
                toggle("b", false),
                json!({ "subtype": "set_model", "model": "two" }),
                toggle("a", true),
            ]
        );
    }

    #[test]
    fn the_mode_is_the_one_that_the_agent_had_last() {
        let mut wire = Wire::new();
        wire.ask(json!({ "subtype": "set_permission_mode", "mode": "plan" }), "success");
        let status =
            r#"{"type":"system","subtype":"status","status":null,"permissionMode":"default"}"#;
        wire.applied.came(&Line::from(status).to_host());
        assert_eq!(
            wire.changes(),
            [json!({ "subtype": "set_permission_mode", "mode": "default" })]
        );
    }

    #[test]
    fn rules_that_ask_become_settings() {
        let mut wire = Wire::new();
        let set = |ask: Value| json!({ "subtype": "apply_flag_settings", "settings": { "permissions": { "ask": ask } } });
        wire.ask(set(json!(["WebFetch"])), "success");
        let rules = |kind: &str, name: &str| {
            json!({ "type": kind, "behavior": "ask", "destination": "session",
                "rules": [{ "toolName": name }] })
        };
        let updates =
            [rules("addRules", "Bash"), rules("addRules", "Read"), rules("removeRules", "Read")];
        let line = json!({ "type": "control_response", "response": {
            "subtype": "success", "request_id": "r", "response": {
                "behavior": "allow", "updatedInput": {}, "updatedPermissions": updates },
        }});
        wire.applied.sent(&Line::from(line.to_string()).to_agent());
        assert_eq!(wire.changes().last(), Some(&set(json!(["WebFetch", "Bash"]))));
    }

    #[test]
    fn settings_add_up() {
        let mut wire = Wire::new();
        let set =
            |settings: Value| json!({ "subtype": "apply_flag_settings", "settings": settings });
        wire.ask(set(json!({ "a": 1, "p": { "x": 1 } })), "success");
        wire.ask(set(json!({ "p": { "y": 1 } })), "success");
        assert_eq!(wire.changes().len(), 2);
        wire.ask(set(json!({ "a": null, "p": { "x": 2, "y": 2 } })), "success");
        assert_eq!(wire.changes(), [set(json!({ "a": null, "p": { "x": 2, "y": 2 } }))]);
    }

    #[test]
    fn grants_for_the_session_become_flags() {
        let mut wire = Wire::new();
        let updates = json!([
            { "type": "addDirectories", "directories": ["/a", "/b"], "destination": "session" },
            { "type": "removeDirectories", "directories": ["/b"], "destination": "session" },
            { "type": "addDirectories", "directories": ["/kept"], "destination": "localSettings" },
            { "type": "addRules", "behavior": "allow", "destination": "session",
              "rules": [{ "toolName": "Bash", "ruleContent": "git *" }] },
            { "type": "addRules", "behavior": "deny", "destination": "session",
              "rules": [{ "toolName": "Write" }] },
            { "type": "setMode", "mode": "acceptEdits", "destination": "session" },
        ]);
        let line = json!({ "type": "control_response", "response": {
            "subtype": "success", "request_id": "r", "response": {
                "behavior": "allow", "updatedInput": {}, "updatedPermissions": updates },
        }});
        wire.applied.sent(&Line::from(line.to_string()).to_agent());
        assert_eq!(wire.applied.directories, ["/a"]);
        assert_eq!(wire.applied.allowed, ["Bash(git *)"]);
        assert_eq!(wire.applied.denied, ["Write"]);
        assert_eq!(
            wire.changes(),
            [json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" })]
        );
        let plan = wire.applied.launch(Launch::new()).plan(None).unwrap();
        let argv = plan.args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ");
        for part in ["/a", "Bash(git *)", "Write"] {
            assert!(argv.contains(part), "{argv}");
        }
    }

    /// Requests that are not repeated in the next run. Each returns something, does something once, or changes what
    /// outlives the process. A new request fails the test until someone decides.
    const NOT_REPEATED: &[&str] = &[
        "initialize",
        "interrupt",
        "update_settings",
        "get_settings",
        "mcp_status",
        "mcp_reconnect",
        "mcp_message",
        "mcp_call",
        "mcp_read_resource",
        "rewind_files",
        "cancel_async_message",
        "read_file",
        "file_suggestions",
        "get_context_usage",
        "get_usage",
        "get_session_cost",
        "get_binary_version",
        "list_models",
        "list_permission_rules",
        "get_hooks_listing",
        "reload_plugins",
        "reload_skills",
        "reload_output_styles",
        "rename_session",
        "stop_task",
        "background_tasks",
        "get_task_output",
        "generate_session_title",
        "side_question",
        "claim_session",
        "submit_feedback",
        "submit_survey_feedback",
        "message_rated",
        "mcp_authenticate",
        "mcp_clear_auth",
        "mcp_oauth_callback_url",
        "claude_authenticate",
        "claude_oauth_callback",
        "claude_oauth_wait_for_completion",
        "ultrareview_launch",
        "get_memory_dialog",
        "get_skills_dialog",
        "get_sandbox_dialog",
        "get_chrome_dialog",
        "get_chrome_browsers",
        "get_status",
        "get_plan",
        "export_conversation",
        "list_cloud_sessions",
        "get_cloud_session",
        "get_cloud_session_transcript",
        "end_session",
        "list_directory",
        "get_workspace_diff",
        "start_shell_task",
        "fork_conversation",
        "rewind_conversation",
        "poll_event",
        "stage_file",
        "mcp_tasks_changed",
        "turn_handoff",
        "ui_attach",
        "ui_detach",
        "ui_render",
        "ui_press",
        "ui_client_module",
        "ui_client_press",
        "ui_message",
        "ui_client_fault",
        "ui_input",
        "ui_select",
        "ui_panes",
        "ui_pane_show",
        "ui_pane_focus",
        "ui_close",
        "ui_scroll",
        "ui_focus",
        "ui_prompt_edit",
        "ui_prompt_autocomplete",
    ];

    #[test]
    fn every_request_is_repeated_in_the_next_run_or_listed() {
        let not_repeated: Vec<&str> = HostRequest::KNOWN
            .iter()
            .copied()
            .filter(|tag| {
                let request = json!({ "subtype": tag }).to_string();
                Change::of(&HostRequest::from_json(&request).unwrap()).is_none()
            })
            .collect();
        assert_eq!(not_repeated, NOT_REPEATED);
    }
}
