//! The default answers to requests of the host.

use duologue_protocol::agent_link::{Reply, RequestKey};
use duologue_protocol::control::{Account, HostRequest, Initialize, InitializeReply};
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::system::{SessionState, SessionTitleChanged, Status, System};
use duologue_protocol::{Field, Map, RawJson, Text};
use serde_json::{Value, json};

use crate::agent::{Answer, RequestHandler};
use crate::hooks::Hooks;
use crate::session::Session;

impl Session {
    /// Answers a request: the agent's own handler is asked first.
    pub(crate) fn answer(
        &self,
        key: RequestKey,
        request: &HostRequest,
        handler: Option<&RequestHandler>,
    ) {
        // The handshake is recorded, whoever answers it.
        if let HostRequest::Initialize(hello) = request {
            self.record_handshake(hello);
        }
        match handler.and_then(|handler| handler(self, request)) {
            Some(Answer::Now(reply)) => self.reply(key, &reply),
            Some(Answer::Later(reply)) => {
                let session = self.clone();
                tokio::spawn(async move {
                    let reply = reply.await;
                    session.reply(key, &reply);
                });
            }
            None => self.answer_by_default(key, request),
        }
    }

    fn reply(&self, key: RequestKey, reply: &Reply) {
        // It is open: a key is answered here only.
        let _ = self.connection.with(|state| state.link.answer(key, reply));
    }

    fn answer_by_default(&self, key: RequestKey, request: &HostRequest) {
        match request {
            HostRequest::Initialize(_) => self.reply(key, &Reply::of(&self.handshake())),
            HostRequest::SetPermissionMode(set) => {
                let mode = set.mode.value().cloned().unwrap_or(PermissionMode::Default);
                self.change_mode(key, mode);
            }
            HostRequest::SetModel(set) => {
                let named = set.model.value().filter(|model| *model != "default");
                let model = named.unwrap_or(&self.connection.options.info.model).clone();
                self.connection.with(|state| state.model = model.clone());
                self.reply(key, &payload(&json!({ "model": &*model })));
            }
            HostRequest::RenameSession(rename) => {
                let title = rename.title.value().cloned().unwrap_or_default();
                let line = SessionTitleChanged::new()
                    .title(title)
                    .session_id(self.id())
                    .uuid(self.new_id());
                self.connection.with(|state| state.link.say(System::from(Box::new(line))));
                self.reply(key, &Reply::Ack);
            }
            HostRequest::EndSession(_) => {
                self.reply(key, &Reply::Ack);
                self.connection.leave();
            }
            other => self.reply(key, &self.plain_answer(other.tag(), other)),
        }
    }

    /// Answers that change nothing.
    fn plain_answer(&self, subtype: &str, request: &HostRequest) -> Reply {
        let info = &self.connection.options.info;
        let field = |name: &str| {
            let value = RawJson::from_wire(request).get(name);
            value.and_then(|value| value.as_str()).unwrap_or_default()
        };
        match subtype {
            "set_max_thinking_tokens"
            | "mcp_message"
            | "seed_read_state"
            | "apply_flag_settings"
            | "set_has_subscribers" => Reply::Ack,
            "mcp_status" => {
                let servers: Vec<Value> = self
                    .host_servers()
                    .iter()
                    .map(|name| json!({ "name": &**name, "status": "connected" }))
                    .collect();
                payload(&json!({ "mcpServers": servers }))
            }
            "mcp_set_servers" => payload(&json!({ "added": [], "removed": [], "errors": {} })),
            "mcp_reconnect" | "mcp_toggle" | "mcp_read_resource" => {
                Reply::error(format!("Server not found: {}", field("serverName")))
            }
            "get_session_cost" => payload(
                &json!({ "text": format!("Total cost:            ${:.4}", self.cost_usd()) }),
            ),
            "list_models" => Reply::of(
                &[("models", RawJson::from_wire(&info.models))]
                    .into_iter()
                    .collect::<Map<RawJson>>(),
            ),
            "get_binary_version" => payload(&json!({ "version": &*info.version })),
            "get_settings" => payload(&json!({
                "effective": {}, "sources": [], "applied": { "model": &*self.model(), "effort": null },
            })),
            "list_permission_rules" => payload(&json!({ "state": {
                "rules": [], "workspaceDirectories": [], "originalCwd": &*info.cwd,
                "managedOnly": false,
            }})),
            "file_suggestions" => payload(&json!({ "suggestions": [], "cwd": &*info.cwd })),
            // A dry run succeeds, and reports that it cannot be done.
            "rewind_files" => {
                let why = "File rewinding is not enabled.";
                let looks = RawJson::from_wire(request).get("dry_run");
                match looks.is_some_and(|looks| looks.as_json() == "true") {
                    true => payload(&json!({ "canRewind": false, "error": why })),
                    false => Reply::error(why),
                }
            }
            "stop_task" | "background_tasks" => payload(&json!({})),
            "get_task_output" => Reply::error(
                "get_task_output: no shell or Monitor task with that task_id in this session",
            ),
            "reload_output_styles" => {
                let styles = self.listing().output_styles;
                let styles: Vec<&str> = styles.iter().map(Text::as_str).collect();
                payload(&json!({ "available_output_styles": styles }))
            }
            "reload_skills" => payload(&json!({ "skills": [] })),
            "get_plan" => payload(&json!({ "exists": false })),
            "get_workspace_diff" => {
                payload(&json!({ "diff": null, "noDiffReason": "no-repository" }))
            }
            "generate_session_title" => payload(&json!({ "title": null })),
            _ => Reply::Unsupported,
        }
    }

    fn change_mode(&self, key: RequestKey, mode: PermissionMode) {
        if !mode.is_known() {
            let why = "Cannot set permission mode: must be one of acceptEdits, auto, \
                bypassPermissions, default, dontAsk, plan";
            return self.reply(key, &Reply::coded(why, "invalid_mode"));
        }
        if mode == PermissionMode::BypassPermissions && !self.connection.options.may_bypass {
            let why = "Cannot set permission mode to bypassPermissions because the session was not \
                launched with --dangerously-skip-permissions";
            return self.reply(key, &Reply::coded(why, "bypass_not_launched"));
        }
        self.reply(key, &payload(&json!({ "mode": mode.as_str() })));
        let mut line =
            Status::new().permission_mode(mode.clone()).uuid(self.new_id()).session_id(self.id());
        line.status = Field::Null;
        self.connection.with(|state| {
            // Only a change is reported.
            if state.mode != mode {
                state.mode = mode;
                state.link.say(System::from(Box::new(line)));
            }
        });
    }

    fn record_handshake(&self, hello: &Initialize) {
        let hooks = hello.hooks.value().cloned().unwrap_or_default();
        let servers: Vec<Text> = hello.sdk_mcp_servers.items().to_vec();
        self.connection.with(|state| {
            state.has_handshake = true;
            state.hooks = Hooks::new(hooks);
            state.forwards |= hello.forward_subagent_text.is_true();
            for server in servers {
                if !state.sdk_servers.contains(&server) {
                    state.sdk_servers.push(server);
                }
            }
        });
    }

    /// The answer to the handshake.
    pub fn handshake(&self) -> InitializeReply {
        let info = &self.connection.options.info;
        let account = Account::new().api_key_source(&info.api_key_source);
        let idle = self.connection.with(|state| state.link.is_idle());
        let state = if idle { SessionState::Idle } else { SessionState::Running };
        let listing = self.listing();
        InitializeReply::new()
            .commands(listing.commands)
            .agents(listing.agents)
            .output_style(listing.output_style)
            .available_output_styles(listing.output_styles)
            .models(info.models.clone())
            .account(account)
            .hooks_applied(true)
            .hook_on_failure_supported(true)
            .claude_code_version(&info.version)
            .fast_mode_state("off")
            .pid(std::process::id())
            .current_model(self.model())
            .current_permission_mode(self.permission_mode())
            .session_state(state)
    }
}

pub(crate) fn payload(value: &Value) -> Reply {
    Reply::Success(RawJson::from(value))
}
