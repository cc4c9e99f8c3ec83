//! Answers to requests of the host.

use std::path::Path;
use std::sync::Arc;

use duologue_model::{Model as _, Part, Purpose, Request, StreamedMessage};
use duologue_protocol::agent_link::Reply;
use duologue_protocol::content::Content;
use duologue_protocol::control::{AgentInfo, HostRequest};
use duologue_protocol::lines::{AuthStatus, User, UserMessage};
use duologue_protocol::{RawJson, RawObject, Text};
use serde_json::{Value, json};

use super::shared::{Shared, lock};
use super::{models, slash_commands};
use crate::tools::ReadTool;
use duologue_agent::Session;
use duologue_agent::clock;
use duologue_agent::{Answer, RequestHandler};

/// Answers what this agent knows; the rest gets the default answers.
pub(super) fn handler(shared: &Arc<Shared>) -> RequestHandler {
    let shared = Arc::clone(shared);
    Arc::new(move |session, request| {
        let asked = RawJson::from_wire(request).to_value_lossy().unwrap_or_default();
        let reply = match request {
            HostRequest::Initialize(_) => {
                return Some(Answer::Now(initialize(&shared, session, &asked)));
            }
            HostRequest::SetModel(_) => set_model(&shared, session, &asked),
            HostRequest::SideQuestion(_) => {
                let answer = side_question(Arc::clone(&shared), session.clone(), asked);
                return Some(Answer::Later(Box::pin(answer)));
            }
            HostRequest::McpMessage(_) => {
                // The only notification of a server of the host: its tools have changed.
                let name = asked["server_name"].as_str().unwrap_or_default().to_owned();
                let (shared, session) = (Arc::clone(&shared), session.clone());
                tokio::spawn(async move { shared.list_again(&session, &name).await });
                Reply::Ack
            }
            other => shared.plain(session, other.tag(), &asked)?,
        };
        Some(Answer::Now(reply))
    })
}

fn initialize(shared: &Arc<Shared>, session: &Session, hello: &Value) -> Reply {
    {
        let mut agent_kinds = shared.agent_kinds();
        if let Some(agents) = hello["agents"].as_object() {
            agent_kinds.agents.extend(agents.clone());
        }
        if let Some(parts) = hello["systemPrompt"].as_array() {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            agent_kinds.system = Some(parts.join("\n\n"));
        }
        if let Some(append) = hello["appendSystemPrompt"].as_str() {
            agent_kinds.append = Some(append.to_owned());
        }
        // The handshake may define the kind that the main agent is.
        if let Some(model) = agent_kinds.chosen().and_then(|kind| agent_kinds.model(kind))
            && shared.setup.model.is_none()
        {
            session.set_model(models::full_name(&model));
        }
    }
    if hello["jsonSchema"].is_object()
        && let Err(error) = shared.set_json_schema(hello["jsonSchema"].clone())
    {
        return Reply::error(error);
    }
    if shared.setup.auth_status {
        // There is no login here.
        let line = AuthStatus::new()
            .is_authenticating(false)
            .output(Vec::new())
            .uuid(session.new_id())
            .session_id(session.id());
        session.say_line_now(Box::new(line));
    }
    // Servers of the host can be reached once it has the answer.
    tokio::spawn({
        let (shared, session) = (Arc::clone(shared), session.clone());
        async move { shared.connect(&session).await }
    });
    Reply::of(&session.handshake().agents(shared.kinds()).commands(slash_commands::listed()))
}

fn set_model(shared: &Shared, session: &Session, asked: &Value) -> Reply {
    let named = asked["model"].as_str().filter(|name| *name != "default");
    let usual = || session.options().info.model.as_str().to_owned();
    let model = named.map_or_else(usual, models::full_name);
    let is_new = *session.model() != *model;
    session.set_model(&*model);
    if is_new && !shared.conversation.messages().is_empty() {
        let text = format!("<local-command-stdout>Set model to `{model}`</local-command-stdout>");
        let message = UserMessage::new().role("user").content(Content::from(text.as_str()));
        let mut line = User::new()
            .message(message)
            .session_id(session.id())
            .uuid(session.new_id())
            .timestamp(clock::timestamp())
            .is_replay(true);
        line.parent_tool_use_id = duologue_protocol::Field::Null;
        session.say_line_now(Box::new(line));
    }
    payload(&json!({ "model": model }))
}

async fn side_question(shared: Arc<Shared>, session: Session, asked: Value) -> Reply {
    let mut messages = shared.conversation.messages();
    messages.push(json!({ "role": "user", "content": asked["question"] }));
    let body = json!({ "model": &*session.model(), "max_tokens": 4_000, "messages": messages, "stream": true });
    let Ok(request) = Request::new(body) else {
        return Reply::error("the question cannot be asked");
    };
    let mut answer = shared.model.ask(request.with_purpose(Purpose::Helper));
    let mut folded = StreamedMessage::new();
    while let Some(part) = answer.next().await {
        match part {
            Ok(Part::Event(event)) => drop(folded.add(&event).cloned()),
            Ok(_) => {}
            Err(error) => return Reply::error(error.to_string()),
        }
    }
    payload(&json!({ "response": folded.text(), "synthetic": false }))
}

impl Shared {
    /// Connects MCP servers, and updates what `init` reports.
    pub(super) async fn connect(&self, session: &Session) {
        self.servers.connect(session).await;
        self.update_init(session);
    }

    /// Lists the tools of a server of the host again.
    async fn list_again(&self, session: &Session, name: &str) {
        self.servers.list_again(session, name).await;
        self.update_init(session);
    }

    fn update_init(&self, session: &Session) {
        let (tools, servers) = (self.tool_names(), self.servers.listed());
        session.set_tools(tools, servers);
    }

    /// The kinds of sub-agent.
    pub(super) fn kinds(&self) -> Vec<AgentInfo> {
        let agent_kinds = self.agent_kinds();
        let kinds = agent_kinds.agents.iter().map(|(name, agent)| {
            let what = agent["description"].as_str().unwrap_or_default();
            let mut info = AgentInfo::new().name(&**name).description(what);
            info.model = agent["model"].as_str().map(Text::from).into();
            info
        });
        kinds.collect()
    }

    fn plain(&self, session: &Session, subtype: &str, asked: &Value) -> Option<Reply> {
        let text = |name: &str| asked[name].as_str().unwrap_or_default();
        Some(match subtype {
            "mcp_status" => payload(&json!({ "mcpServers": self.servers.status() })),
            "mcp_reconnect" if self.servers.knows(text("serverName")) => {
                self.servers.forget(text("serverName"));
                Reply::Ack
            }
            "apply_flag_settings" => {
                if let Some(model) = asked["settings"]["model"].as_str() {
                    session.set_model(models::full_name(model));
                }
                if let Some(effort) = asked["settings"]["effortLevel"].as_str() {
                    lock(&self.reasoning).effort = Some(effort.to_owned());
                }
                Reply::Ack
            }
            "set_max_thinking_tokens" => {
                lock(&self.reasoning).set_limit(asked["max_thinking_tokens"].as_u64());
                Reply::Ack
            }
            "rename_session" => {
                self.conversation.title(text("title"));
                return None;
            }
            "get_context_usage" => payload(&self.context_usage(&session.model())),
            "list_permission_rules" => payload(&self.rules()),
            "read_file" => self.read_file(text("path")),
            "get_plan" => {
                let file = self.context.plan_file();
                let plan = file.and_then(|file| Some((std::fs::read_to_string(&file).ok()?, file)));
                match plan {
                    Some((plan, file)) => payload(
                        &json!({ "exists": true, "plan": plan, "path": file.to_string_lossy() }),
                    ),
                    None => payload(&json!({ "exists": false })),
                }
            }
            "stop_task" => {
                let id = text("task_id");
                let _ = self.background.stop_agent(id) || self.context.tasks().stop(id);
                payload(&json!({}))
            }
            "background_tasks" => {
                for task in self.context.tasks().in_foreground() {
                    self.context.tasks().send_to_background(&task.id);
                }
                payload(&json!({}))
            }
            "get_usage" => payload(&json!({ "session": {
                "total_cost_usd": session.cost_usd(),
                "total_api_duration_ms": session.usage().api_millis(),
                "total_lines_added": 0, "total_lines_removed": 0,
            }})),
            "get_hooks_listing" => {
                payload(&json!({ "events": [], "hooks": [], "eventCatalog": [] }))
            }
            "get_status" => payload(&json!({ "sections": [{ "title": "Session", "rows": [
                { "label": "Version", "value": &*session.options().info.version },
                { "label": "Session ID", "value": session.id().as_str() },
                { "label": "cwd", "value": &*session.cwd() },
                { "label": "Model", "value": &*session.model() },
            ]}]})),
            "reload_plugins" => payload(&json!({
                "commands": [], "agents": [], "plugins": [], "mcpServers": [], "error_count": 0,
            })),
            "export_conversation" => payload(&json!({
                "text": self.exported(), "default_filename": "conversation.txt",
            })),
            "mcp_set_servers" => self.set_servers(session, &asked["servers"]),
            _ => return None,
        })
    }

    fn set_servers(&self, session: &Session, wanted: &Value) -> Reply {
        let wanted: Vec<&String> =
            wanted.as_object().into_iter().flatten().map(|(name, _)| name).collect();
        let known = session.host_servers();
        let is_wanted = |name: &Text| wanted.iter().any(|wanted| wanted.as_str() == name.as_str());
        let removed: Vec<&str> =
            known.iter().filter(|name| !is_wanted(name)).map(|name| name.as_str()).collect();
        let added: Vec<&str> = wanted
            .iter()
            .map(|name| name.as_str())
            .filter(|name| !known.iter().any(|known| known == *name))
            .collect();
        for name in &removed {
            self.servers.forget(name);
        }
        let names = wanted.iter().map(|name| Text::from(name.as_str())).collect();
        session.set_host_servers(names);
        payload(&json!({ "added": added, "removed": removed, "errors": {} }))
    }

    fn read_file(&self, path: &str) -> Reply {
        let denied = || Reply::error(format!("read denied: {path}"));
        let Ok(input) = RawObject::of(&json!({ "file_path": path })) else { return denied() };
        let may = self.permissions().judge(&ReadTool, &input, self.context.root()).is_allowed();
        let full = self.context.root().join(Path::new(path));
        match std::fs::read(&full) {
            Ok(bytes) if may => {
                let text = String::from_utf8_lossy(&bytes);
                payload(&json!({
                    "contents": text, "absPath": full.to_string_lossy(),
                    "lossy": matches!(text, std::borrow::Cow::Owned(_)), "requested_path": path,
                }))
            }
            _ => denied(),
        }
    }

    fn rules(&self) -> Value {
        let permissions = self.permissions();
        let rules = permissions
            .rules()
            .iter()
            .map(|rule| json!({ "rule": rule.spelled(), "behavior": rule.behavior.as_str() }));
        let folders = permissions.directories().into_iter().skip(1);
        let folders: Vec<String> =
            folders.map(|folder| folder.to_string_lossy().into_owned()).collect();
        json!({ "state": {
            "rules": rules.collect::<Vec<_>>(), "workspaceDirectories": folders,
            "originalCwd": self.context.root().to_string_lossy(), "managedOnly": false,
        }})
    }

    /// How full the context is, estimated.
    pub(super) fn context_usage(&self, model: &str) -> Value {
        let (window, _) = duologue_agent::model_limits(model);
        let system = slash_commands::tokens(&Value::from(self.agent_kinds().main()));
        let tools = slash_commands::tokens(&Value::from(self.definitions(None)));
        let messages = slash_commands::tokens(&Value::from(self.conversation.messages()));
        let total = system + tools + messages;
        json!({
            "categories": [
                { "id": "system_prompt", "name": "System prompt", "tokens": system, "color": "promptBorder", "kind": "used" },
                { "id": "system_tools", "name": "System tools", "tokens": tools, "color": "inactive", "kind": "used" },
                { "id": "messages", "name": "Messages", "tokens": messages, "color": "purple_FOR_SUBAGENTS_ONLY", "kind": "used" },
                { "id": "free_space", "name": "Free space", "tokens": window.saturating_sub(total), "color": "promptBorder", "kind": "free" },
            ],
            "totalTokens": total, "maxTokens": window, "rawMaxTokens": window,
            "percentage": total * 100 / window, "gridRows": [], "memoryFiles": [], "mcpTools": [], "agents": [],
        })
    }

    fn exported(&self) -> String {
        let mut text = String::new();
        for message in self.conversation.messages() {
            let mark = if message["role"] == "user" { '❯' } else { '●' };
            for block in message["content"].as_array().into_iter().flatten() {
                if let Some(said) = block["text"].as_str() {
                    text.push_str(&format!("\n{mark} {said}\n"));
                }
            }
        }
        text
    }
}

fn payload(value: &Value) -> Reply {
    Reply::Success(RawJson::from(value))
}
