//! Answers to requests of the host.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duologue_model::{Model as _, Part, Purpose, Request, StreamedMessage};
use duologue_protocol::agent_link::Reply;
use duologue_protocol::content::Content;
use duologue_protocol::control::{AgentInfo, HostRequest};
use duologue_protocol::lines::{AuthStatus, User, UserMessage};
use duologue_protocol::permission::PermissionBehavior;
use duologue_protocol::system::{SessionTitleChanged, System};
use duologue_protocol::{Field, RawJson, RawObject, Text};
use serde_json::{Value, json};

use super::shared::{Shared, lock};
use super::{models, slash_commands};
use crate::permission::{Rule, RuleSource};
use crate::settings::{SettingSource, SettingsPlaces};
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
            HostRequest::McpSetServers(_) => {
                let answer = set_servers(Arc::clone(&shared), session.clone(), asked);
                return Some(Answer::Later(Box::pin(answer)));
            }
            HostRequest::McpToggle(_) | HostRequest::McpReconnect(_)
                if shared.servers.knows(asked["serverName"].as_str().unwrap_or_default()) =>
            {
                let answer = reconnect(Arc::clone(&shared), session.clone(), asked);
                return Some(Answer::Later(Box::pin(answer)));
            }
            HostRequest::McpCall(_) => {
                let answer = mcp_call(Arc::clone(&shared), session.clone(), asked);
                return Some(Answer::Later(Box::pin(answer)));
            }
            HostRequest::GenerateSessionTitle(_) => {
                let answer = generate_title(Arc::clone(&shared), session.clone(), asked);
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
            agent_kinds.add(agents);
        }
        if let Some(append) = hello["appendSubagentSystemPrompt"].as_str() {
            agent_kinds.append_sub = Some(append.to_owned());
        }
        if hello["excludeDynamicSections"] == true {
            agent_kinds.has_place = false;
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
    let mut reply = session.handshake();
    if let Some(text) = hello["planModeInstructions"].as_str() {
        *lock(&shared.plan_instructions) = Some(text.to_owned());
    }
    if let Some(aliases) = hello["toolAliases"].as_object() {
        let aliases =
            aliases.iter().filter_map(|(from, to)| Some((from.clone(), to.as_str()?.to_owned())));
        *lock(&shared.tool_aliases) = aliases.collect();
    }
    if let Some(skills) = hello["skills"].as_array() {
        let skills: Vec<String> =
            skills.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        *lock(&shared.skills) = (!skills.iter().any(|skill| skill == "all")).then_some(skills);
    }
    if let Some(title) = hello["title"].as_str() {
        shared.conversation.set_title(title);
    }
    if hello["workspaceTrust"]["accepted"] == true
        && let Some(folder) = hello["workspaceTrust"]["directory"].as_str()
        && shared.setup.cwd.starts_with(folder)
    {
        let mut permissions = shared.permissions();
        shared.setup.distrusted.iter().for_each(|rule| permissions.add_rule(rule.clone()));
        reply.workspace_trust_recorded = Field::Value(true);
    }
    if hello["managedSettings"].is_object() {
        let mut settings = lock(&shared.settings);
        settings.take_restrictions(&hello["managedSettings"]);
        settings.apply_to(&mut shared.permissions());
        reply.managed_settings_applied = Field::Value(true);
    }
    if let Some(plugins) = hello["plugins"].as_array() {
        reply.plugins_applied = Field::Value(shared.add_plugins(session, plugins));
    }
    if let Some(manifests) = hello["sdkMcpServerManifests"].as_object() {
        let hosted = session.host_servers();
        let named =
            manifests.iter().filter(|(name, _)| hosted.iter().any(|known| *known == name.as_str()));
        let parked = named.map(|(name, manifest)| {
            (Text::from(name.as_str()), Text::from(shared.servers.park(name, manifest)))
        });
        reply.sdk_mcp_manifests_parked = Field::Value(parked.collect());
    }
    session.set_listing(shared.listing());
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
    let listing = session.listing();
    Reply::of(
        &reply
            .agents(listing.agents)
            .commands(listing.commands)
            .output_style(listing.output_style)
            .available_output_styles(listing.output_styles)
            .current_model(session.model()),
    )
}

/// Adds, replaces and removes the MCP servers that the host configures, and connects them.
async fn set_servers(shared: Arc<Shared>, session: Session, asked: Value) -> Reply {
    let wanted = asked["servers"].as_object().cloned().unwrap_or_default();
    let is_hosts = |server: &Value| server["type"] == "sdk";
    let hosted = session.host_servers();
    let known: Vec<String> = hosted
        .iter()
        .map(|name| name.as_str().to_owned())
        .chain(shared.servers.dynamic())
        .collect();
    let removed: Vec<&String> =
        known.iter().filter(|name| !wanted.contains_key(name.as_str())).collect();
    let added: Vec<&String> = wanted.keys().filter(|name| !known.contains(name)).collect();
    for name in &removed {
        shared.servers.remove(name);
    }
    let names = wanted.iter().filter(|(_, server)| is_hosts(server));
    session.set_host_servers(names.map(|(name, _)| Text::from(name.as_str())).collect());
    for (name, server) in wanted.iter().filter(|(_, server)| !is_hosts(server)) {
        shared.servers.configure(name, server);
    }
    shared.connect(&session).await;
    let errors = wanted
        .keys()
        .filter_map(|name| Some((name.clone(), Value::from(shared.servers.failure(name)?))));
    let errors: serde_json::Map<String, Value> = errors.collect();
    payload(&json!({ "added": added, "removed": removed, "errors": errors }))
}

/// Turns a server off or on, or connects it again.
async fn reconnect(shared: Arc<Shared>, session: Session, asked: Value) -> Reply {
    let name = asked["serverName"].as_str().unwrap_or_default();
    shared.servers.toggle(name, asked["enabled"] != false);
    shared.connect(&session).await;
    match shared.servers.failure(name) {
        Some(error) if asked["enabled"].is_null() => {
            Reply::error(format!("Failed to reconnect to {name}: {error}"))
        }
        _ => Reply::Ack,
    }
}

/// Calls a tool of an MCP server for the host.
async fn mcp_call(shared: Arc<Shared>, session: Session, asked: Value) -> Reply {
    let Some(tool) = asked["tool"].as_str() else {
        return Reply::error("mcp_call: tool must be a string");
    };
    if !tool.starts_with("mcp__") {
        return Reply::error(format!("Not a fully-qualified MCP tool name: {tool}"));
    }
    let Some(found) = shared.servers.find(tool) else {
        return Reply::error(format!("MCP tool not found: {tool}"));
    };
    let input = RawObject::of(&asked["arguments"]).unwrap_or_default();
    match shared.servers.call(&session, &found, &input, &session.new_id()).await {
        Err(error) => Reply::error(error),
        Ok(result) if result["isError"] == true => {
            let texts = result["content"].as_array().into_iter().flatten();
            let texts: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
            Reply::error(texts.join("\n"))
        }
        Ok(result) => {
            let mut reply = json!({ "content": result["content"] });
            for name in ["structuredContent", "_meta"] {
                if let Some(value) = result.get(name).filter(|value| !value.is_null()) {
                    reply[name] = value.clone();
                }
            }
            payload(&reply)
        }
    }
}

/// What the model is asked for a title.
const TITLE: &str = "Generate a concise, sentence-case title (3-7 words) for this coding session. Answer with JSON \
    that has one field, \"title\", and nothing else.";

/// Asks the model for a title.
async fn generate_title(shared: Arc<Shared>, session: Session, asked: Value) -> Reply {
    let description = asked["description"].as_str().unwrap_or_default();
    let model = models::full_name("haiku");
    let body = json!({
        "model": model, "max_tokens": 1_000, "system": [{ "type": "text", "text": TITLE }],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": description }] }],
        "stream": true,
    });
    let none = || payload(&json!({ "title": null }));
    let Ok(request) = Request::new(body) else { return none() };
    let mut answer = shared.model.ask(request.with_purpose(Purpose::Helper));
    let mut folded = StreamedMessage::new();
    while let Some(part) = answer.next().await {
        match part {
            Ok(Part::Event(event)) => drop(folded.add(&event).cloned()),
            Ok(_) => {}
            Err(_) => return none(),
        }
    }
    let text = folded.text();
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let value: Value = json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let Some(title) = value["title"].as_str().map(str::trim).filter(|title| !title.is_empty())
    else {
        return none();
    };
    if asked["persist"] == true {
        shared.conversation.set_title(title);
        session.say_line_now(System::from(Box::new(titled(&session, title))));
    }
    payload(&json!({ "title": title }))
}

/// The line that reports a new title.
pub(super) fn titled(session: &Session, title: &str) -> SessionTitleChanged {
    SessionTitleChanged::new().title(title).session_id(session.id()).uuid(session.new_id())
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

    /// Loads plugins of the host. True if all are there.
    fn add_plugins(&self, session: &Session, plugins: &[Value]) -> bool {
        let folders = plugins.iter().filter_map(|plugin| {
            let folder = self.setup.cwd.join(plugin["path"].as_str()?);
            Some((folder, plugin["skipMcpDiscovery"] != true))
        });
        let folders: Vec<(PathBuf, bool)> = folders.collect();
        let loaded = self.custom().plugins.clone();
        let is_loaded = |folder: &PathBuf| loaded.iter().any(|plugin| plugin.folder == *folder);
        if folders.iter().all(|(folder, _)| is_loaded(folder)) {
            return true;
        }
        // As in the CLI, plugins are loaded only before anything else.
        if !session.options().await_initialize {
            return false;
        }
        self.reload(folders);
        self.hooks.replace_plugin_hooks(self.plugin_hooks());
        let custom = self.custom();
        if !self.setup.strict_mcp_config {
            let servers = custom.plugins.iter().flat_map(|plugin| plugin.servers());
            let servers = servers.map(|(name, mut server)| {
                server["scope"] = json!("plugin");
                (name, server)
            });
            self.servers.add(servers.collect());
        }
        true
    }

    /// Uses another output style.
    pub(super) fn set_output_style(&self, session: &Session, style: &str) {
        lock(&self.settings).output_style = Some(style.to_owned());
        let prompt = self.custom().style(style);
        self.agent_kinds().style = prompt;
        session.set_listing(self.listing());
    }

    /// The kinds of sub-agent.
    pub(super) fn kinds(&self) -> Vec<AgentInfo> {
        let agent_kinds = self.agent_kinds();
        let kinds = agent_kinds.names().into_iter().map(|name| {
            let agent = &agent_kinds.agents[name];
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
            "apply_flag_settings" => {
                if let Some(style) = asked["settings"]["outputStyle"].as_str() {
                    self.set_output_style(session, style);
                }
                self.add_flag_settings(&asked["settings"]);
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
                self.conversation.set_title(text("title"));
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
            "get_hooks_listing" => payload(&self.hooks.listed()),
            "get_settings" => payload(&self.settings_in_force(session)),
            "update_settings" => self.update_settings(session, text("source"), &asked["settings"]),
            "file_suggestions" => payload(&json!({
                "suggestions": self.suggested_files(text("query")), "cwd": &*session.cwd(),
            })),
            "reload_skills" => {
                self.reload(Vec::new());
                session.set_listing(self.listing());
                payload(&json!({ "skills": self.listed_commands(false) }))
            }
            "reload_output_styles" => {
                self.reload(Vec::new());
                session.set_listing(self.listing());
                payload(&json!({ "available_output_styles": self.custom().style_names() }))
            }
            "rewind_files" if self.setup.checkpoints => {
                match self.checkpoints.rewind(text("user_message_id"), asked["dry_run"] == true) {
                    Ok(value) => payload(&value),
                    Err(why) => Reply::error(why),
                }
            }
            "register_repo_root" => self.register_repo_root(session, asked),
            "set_mcp_permission_mode_override" => self.override_mode(asked),
            "get_status" => payload(&json!({ "sections": [{ "title": "Session", "rows": [
                { "label": "Version", "value": &*session.options().info.version },
                { "label": "Session ID", "value": session.id().as_str() },
                { "label": "cwd", "value": &*session.cwd() },
                { "label": "Model", "value": &*session.model() },
            ]}]})),
            "reload_plugins" => {
                self.reload(Vec::new());
                self.hooks.replace_plugin_hooks(self.plugin_hooks());
                session.set_listing(self.listing());
                let agents: Vec<Value> = self
                    .kinds()
                    .iter()
                    .filter_map(|kind| RawJson::from_wire(kind).to_value_lossy().ok())
                    .collect();
                let plugins: Vec<Value> =
                    self.custom().plugins.iter().map(|plugin| plugin.listed()).collect();
                payload(&json!({
                    "commands": self.listed_commands(true), "agents": agents, "plugins": plugins,
                    "mcpServers": self.servers.status(), "error_count": 0,
                }))
            }
            "export_conversation" => payload(&json!({
                "text": self.exported(), "default_filename": "conversation.txt",
            })),
            _ => return None,
        })
    }

    /// Adds settings as if they had been flags. Null takes one away.
    fn add_flag_settings(&self, settings: &Value) {
        let mut all = lock(&self.settings);
        if !all.sources.iter().any(|(source, _)| *source == RuleSource::FlagSettings) {
            all.sources.push((RuleSource::FlagSettings, json!({})));
        }
        let flags = all.sources.iter_mut().find(|(source, _)| *source == RuleSource::FlagSettings);
        let Some((_, flags)) = flags else { return };
        for (name, value) in settings.as_object().into_iter().flatten() {
            match (value, flags.as_object_mut()) {
                (Value::Null, Some(flags)) => drop(flags.remove(name)),
                (value, Some(flags)) => drop(flags.insert(name.clone(), value.clone())),
                (_, None) => {}
            }
        }
        let rules = [PermissionBehavior::Allow, PermissionBehavior::Deny, PermissionBehavior::Ask];
        let mut permissions = self.permissions();
        for behavior in rules {
            let texts = settings["permissions"][behavior.as_str()].as_array();
            for text in texts.into_iter().flatten().filter_map(Value::as_str) {
                permissions.add_rule(Rule::parse(text, behavior.clone(), RuleSource::FlagSettings));
            }
        }
    }

    fn settings_in_force(&self, session: &Session) -> Value {
        let settings = lock(&self.settings);
        let sources = settings.sources.iter();
        let sources: Vec<Value> = sources
            .map(|(source, value)| json!({ "source": source.as_str(), "settings": value }))
            .collect();
        let effort = lock(&self.reasoning).effort.clone();
        json!({
            "effective": settings.effective(), "sources": sources,
            "applied": { "model": &*session.model(), "effort": effort },
        })
    }

    /// Writes settings to a file, as far as the CLI lets a host.
    fn update_settings(&self, session: &Session, source: &str, settings: &Value) -> Reply {
        let (source, allowed) = match source {
            "localSettings" => (SettingSource::Local, "outputStyle"),
            "userSettings" => (SettingSource::User, "effortLevel"),
            other => return Reply::error(format!("update_settings source not allowed: {other}")),
        };
        let given = settings.as_object().cloned().unwrap_or_default();
        let others = given.keys().filter(|name| *name != allowed);
        let others: Vec<&str> = others.map(String::as_str).collect();
        if !others.is_empty() {
            return Reply::error(format!(
                "update_settings keys not allowed: {}",
                others.join(", ")
            ));
        }
        if !self.setup.sources.contains(&source) {
            let name = source.rule_source();
            return Reply::error(format!(
                "update_settings: {} is not a setting source of this session",
                name.as_str()
            ));
        }
        let Some(value) = given.get(allowed).and_then(Value::as_str) else {
            return Reply::error(format!("update_settings: {allowed} must be a string"));
        };
        let places = SettingsPlaces::new(self.setup.project_root(), &self.setup.config);
        let file = places.file(source);
        let written = crate::permission::set_setting(file, allowed, &json!(value));
        if let Err(error) = written {
            return Reply::error(format!("update_settings: {error}"));
        }
        if source == SettingSource::Local {
            self.set_output_style(session, value);
        }
        Reply::Ack
    }

    /// Files whose path contains what was typed, the shortest first. An empty query lists the working directory.
    fn suggested_files(&self, query: &str) -> Vec<Value> {
        const MOST: usize = 15;
        let root = self.context.root();
        let query = query.to_lowercase();
        let mut walk = ignore::WalkBuilder::new(root);
        walk.hidden(query.is_empty()).require_git(false).max_depth(query.is_empty().then_some(1));
        let mut found: Vec<String> = Vec::new();
        for entry in walk.build().flatten().take(50_000) {
            let Ok(path) = entry.path().strip_prefix(root) else { continue };
            let mut path = path.to_string_lossy().into_owned();
            if path.is_empty() || path.starts_with(".git/") {
                continue;
            }
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                path.push('/');
            }
            if query.is_empty() || path.to_lowercase().contains(&query) {
                found.push(path);
            }
        }
        found.sort_by_key(|path| (path.len(), path.clone()));
        if query.is_empty() {
            found.sort();
        }
        found.into_iter().take(MOST).map(|path| json!({ "path": path })).collect()
    }

    /// Commands and skills, as the handshake lists them.
    fn listed_commands(&self, with_own: bool) -> Vec<Value> {
        let listed = self.listing().commands;
        let listed = listed.iter().filter(|command| with_own || !command.builtin.is_true());
        listed.filter_map(|command| RawJson::from_wire(command).to_value_lossy().ok()).collect()
    }

    fn register_repo_root(&self, session: &Session, asked: &Value) -> Reply {
        let folder = asked["directory"].as_str().map(|folder| self.setup.cwd.join(folder));
        let Some(folder) = folder.and_then(|folder| std::fs::canonicalize(folder).ok()) else {
            return Reply::error("register_repo_root: target path could not be resolved");
        };
        let mut permissions = self.permissions();
        permissions.add_directory(&folder, RuleSource::Session);
        self.context.set_directories(permissions.directories());
        drop(permissions);
        self.reload(Vec::new());
        session.set_listing(self.listing());
        payload(&json!({ "directory": folder.to_string_lossy() }))
    }

    /// Uses another mode for the tools of one server. It can only be stricter.
    fn override_mode(&self, asked: &Value) -> Reply {
        let Some(server) = asked["serverName"].as_str() else {
            return Reply::error("set_mcp_permission_mode_override: serverName must be a string");
        };
        let mode = match &asked["mode"] {
            Value::Null => None,
            Value::String(mode) if mode == "default" || mode == "auto" => Some(mode),
            other => {
                let mode = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
                return Reply::error(format!(
                    "Permission mode override over the control channel is tighten-only ('default', 'auto', or null); rejected '{mode}'"
                ));
            }
        };
        let mut strict = lock(&self.strict_servers);
        strict.retain(|other| other != server);
        if mode.is_some() {
            strict.push(server.to_owned());
        }
        payload(&json!({}))
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
        let rules = permissions.rules().iter().map(|rule| {
            let editability = match rule.source {
                RuleSource::Session => "session",
                RuleSource::FlagSettings | RuleSource::CliArg => "readonly",
                _ => "persistent",
            };
            json!({
                "rule": rule.spelled(), "behavior": rule.behavior.as_str(),
                "source": rule.source.as_str(), "editability": editability,
            })
        });
        let folders = permissions.further_directories().into_iter();
        let folders: Vec<Value> = folders
            .map(|(folder, source)| json!({ "path": folder.to_string_lossy(), "source": source.as_str() }))
            .collect();
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
        let custom = self.custom();
        let memory: Vec<Value> = custom
            .instructions
            .files()
            .map(|(path, kind, text)| json!({ "path": path.to_string_lossy(), "type": kind, "tokens": text.len() / 4 }))
            .collect();
        let agents = custom.agents.iter().map(|(name, agent)| {
            json!({ "agentType": name, "source": "projectSettings", "tokens": slash_commands::tokens(&agent["description"]) })
        });
        let agents: Vec<Value> = agents.collect();
        json!({
            "categories": [
                { "id": "system_prompt", "name": "System prompt", "tokens": system, "color": "promptBorder", "kind": "used" },
                { "id": "system_tools", "name": "System tools", "tokens": tools, "color": "inactive", "kind": "used" },
                { "id": "messages", "name": "Messages", "tokens": messages, "color": "purple_FOR_SUBAGENTS_ONLY", "kind": "used" },
                { "id": "free_space", "name": "Free space", "tokens": window.saturating_sub(total), "color": "promptBorder", "kind": "free" },
            ],
            "totalTokens": total, "maxTokens": window, "rawMaxTokens": window,
            "percentage": total * 100 / window, "gridRows": [], "memoryFiles": memory, "mcpTools": [], "agents": agents,
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
