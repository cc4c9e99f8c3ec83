//! [`Shared`]: what all agents of a conversation share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duologue_model::{Model, Prices};
use duologue_protocol::lines::TranscriptMirror;
use duologue_protocol::permission::{PermissionBehavior, PermissionMode, PermissionUpdate};
use duologue_protocol::system::InitPlugin;
use duologue_protocol::{RawObject, Text};
use serde_json::Value;

use super::agent_kinds::AgentKinds;
use super::agent_loop::reminder;
use super::background::Background;
use super::checkpoints::Checkpoints;
use super::command_hooks::CommandHooks;
use super::conversation::Conversation;
use super::custom::{Custom, Places};
use super::debug_log::DebugLog;
use super::mcp::Servers;
use super::reasoning::Reasoning;
use super::setup::Setup;
use super::slash_commands;
use crate::permission::{Permissions, Rule, RuleSource, Verdict};
use crate::session_store::Sessions;
use crate::settings::Settings;
use crate::tools::{AgentTool, Role, StructuredOutputTool, ToolContext, ToolSearchTool, Toolbox};
use duologue_agent::{Listing, Session};

/// What all agents of a conversation share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) setup: Setup,
    pub(super) model: Arc<dyn Model>,
    pub(super) prices: Prices,
    pub(super) context: ToolContext,
    pub(super) servers: Servers,
    pub(super) conversation: Conversation,
    pub(super) agent_kinds: Mutex<AgentKinds>,
    pub(super) reasoning: Mutex<Reasoning>,
    permissions: Mutex<Permissions>,
    toolbox: Mutex<Toolbox>,
    pub(super) background: Background,
    /// Models of unknown price that were reported.
    unpriced: Mutex<Vec<String>>,
    /// What users, projects and plugins add.
    custom: Mutex<Custom>,
    places: Mutex<Places>,
    /// The settings of all sources.
    pub(super) settings: Mutex<Settings>,
    /// The model of this turn, if a command chose it.
    pub(super) turn_model: Mutex<Option<String>>,
    /// The rules that are in force for this turn only.
    pub(super) turn_rules: Mutex<Vec<Rule>>,
    /// The skills that the host allows; all without a list.
    pub(super) skills: Mutex<Option<Vec<String>>>,
    /// Instructions for plan mode.
    pub(super) plan_instructions: Mutex<Option<String>>,
    /// Other names for tools: `toolAliases`.
    pub(super) tool_aliases: Mutex<Vec<(String, String)>>,
    pub(super) debug: DebugLog,
    /// The hooks that are commands.
    pub(super) hooks: Arc<CommandHooks>,
    /// Files as they were before each prompt.
    pub(super) checkpoints: Checkpoints,
    /// MCP servers whose tools are asked about, whatever the mode.
    pub(super) strict_servers: Mutex<Vec<String>>,
}

impl Shared {
    /// Builds it from the setup.
    pub(super) fn new(
        setup: Setup,
        model: Arc<dyn Model>,
        settings: &Settings,
        conversation: Conversation,
    ) -> Result<Self, String> {
        let prices = Prices::from_env().map_err(|error| error.to_string())?;
        let context = ToolContext::new(&setup.cwd);
        let mut permissions = permissions(&setup, settings, &context);
        if let Some(id) = setup.options.info.session_id.as_ref().filter(|_| setup.persists) {
            let plan = setup.config.join("plans").join(format!("{id}.md"));
            context.set_plan_file(Some(plan.clone()));
            permissions.set_plan_file(Some(plan));
        }
        context.set_directories(permissions.directories());
        context.set_environment(settings.environment.iter().cloned());
        let places = Places::new(&setup);
        let custom = places.load();
        let mut servers = setup.servers.clone();
        if !setup.strict_mcp_config && !setup.bare {
            for (name, server) in configured_servers(&setup, &custom) {
                servers.entry(name).or_insert(server);
            }
        }
        let mut agent_kinds = AgentKinds::new(&setup);
        agent_kinds.set_files(&custom.agents);
        agent_kinds.style = settings.output_style.as_deref().and_then(|style| custom.style(style));
        let debug = DebugLog::new(&setup.debug);
        debug.write(|| {
            format!(
                "Started with {} commands and skills, {} kinds of sub-agent, {} MCP servers",
                custom.commands.len(),
                agent_kinds.agents.len(),
                servers.len()
            )
        });
        let mut toolbox = Toolbox::standard().with(ToolSearchTool);
        if let Some(tools) = &setup.tools {
            toolbox = toolbox.only(tools.iter().map(String::as_str));
        }
        let asks = setup.options.prompts || setup.permission_tool.is_some();
        if !asks && !setup.options.lenient {
            toolbox = toolbox.only_those(|tool| !tool.needs_person());
        }
        let shared = Self {
            model,
            prices,
            context,
            servers: Servers::new(&servers, &setup.cwd),
            conversation,
            agent_kinds: Mutex::new(agent_kinds),
            reasoning: Mutex::new(setup.reasoning.clone()),
            permissions: Mutex::new(permissions),
            toolbox: Mutex::new(toolbox),
            background: Background::default(),
            unpriced: Mutex::default(),
            custom: Mutex::new(custom),
            places: Mutex::new(places),
            settings: Mutex::new(settings.clone()),
            turn_model: Mutex::default(),
            turn_rules: Mutex::default(),
            skills: Mutex::default(),
            plan_instructions: Mutex::new(setup.plan_mode_instructions.clone()),
            tool_aliases: Mutex::default(),
            debug,
            hooks: Arc::new(CommandHooks::new(settings.hooks.clone(), setup.hook_events)),
            strict_servers: Mutex::default(),
            checkpoints: Checkpoints::new(checkpoint_folder(&setup)),
            setup,
        };
        if !shared.setup.bare {
            shared.hooks.replace_plugin_hooks(shared.plugin_hooks());
        }
        if let Some(schema) = shared.setup.json_schema.clone() {
            shared.set_json_schema(schema)?;
        }
        Ok(shared)
    }

    /// Sets the schema of answers.
    pub(super) fn set_json_schema(&self, schema: Value) -> Result<(), String> {
        let tool = StructuredOutputTool::new(schema).map_err(|error| error.to_string())?;
        let mut toolbox = lock(&self.toolbox);
        *toolbox = std::mem::take(&mut *toolbox).with(tool);
        Ok(())
    }

    /// Whether answers have a schema.
    pub(super) fn has_json_schema(&self) -> bool {
        lock(&self.toolbox).has_role(Role::StructuredOutput)
    }

    /// The tools of this crate.
    pub(super) fn toolbox(&self) -> Toolbox {
        lock(&self.toolbox).clone()
    }

    pub(super) fn permissions(&self) -> MutexGuard<'_, Permissions> {
        lock(&self.permissions)
    }

    pub(super) fn agent_kinds(&self) -> MutexGuard<'_, AgentKinds> {
        lock(&self.agent_kinds)
    }

    /// What users, projects and plugins add.
    pub(super) fn custom(&self) -> MutexGuard<'_, Custom> {
        lock(&self.custom)
    }

    /// Reads commands, skills, agents and plugins again. Plugins may have been added.
    pub(super) fn reload(&self, plugins: Vec<(PathBuf, bool)>) {
        let custom = {
            let mut places = lock(&self.places);
            for (folder, has_servers) in plugins {
                places.add_plugin(folder, has_servers);
            }
            places.load()
        };
        self.agent_kinds().set_files(&custom.agents);
        *self.custom() = custom;
    }

    /// The output style in force.
    pub(super) fn output_style(&self) -> String {
        lock(&self.settings).output_style.clone().unwrap_or_else(|| "default".to_owned())
    }

    /// What `init` and the handshake list.
    pub(super) fn listing(&self) -> Listing {
        let text = |text: &String| Text::from(text.as_str());
        let mut listing = Listing::default();
        listing.commands =
            slash_commands::listed(&self.custom().commands, self.setup.no_slash_commands);
        listing.agents = self.kinds();
        let custom = self.custom();
        let skills =
            custom.commands.iter().filter(|command| command.is_skill() && command.is_for_users);
        listing.skills = skills.map(|skill| text(&skill.name)).collect();
        let plugins = custom.plugins.iter().map(|plugin| {
            let mut listed = InitPlugin::new()
                .name(&*plugin.name)
                .path(plugin.folder.to_string_lossy().into_owned())
                .source(format!("{}@inline", plugin.name));
            listed.version = plugin.version.as_deref().map(Text::from).into();
            listed
        });
        listing.plugins = plugins.collect();
        listing.output_style = text(&self.output_style());
        listing.output_styles = custom.style_names().iter().map(text).collect();
        listing
    }

    /// Text for the beginning of the conversation, which is not a part of it: instructions and skills.
    pub(super) fn preface(&self, kind: Option<&str>) -> Vec<String> {
        let custom = self.custom();
        let mut preface = Vec::new();
        if kind.is_none_or(|kind| self.agent_kinds().has_instructions(kind)) {
            preface.extend(custom.instructions.reminder());
        }
        let allowed = lock(&self.skills).clone();
        let is_allowed =
            |name: &String| allowed.as_ref().is_none_or(|allowed| allowed.contains(name));
        let skills =
            custom.commands.iter().filter(|skill| skill.is_for_model && is_allowed(&skill.name));
        let skills: Vec<String> =
            skills.map(|skill| format!("- {}: {}", skill.name, skill.description)).collect();
        if !skills.is_empty() {
            let list = skills.join("\n");
            preface.push(reminder(&format!(
                "The following skills are available for use with the Skill tool:\n\n{list}"
            )));
        }
        if !self.agent_kinds().has_place && kind.is_none() {
            preface.push(reminder(&self.agent_kinds().place_text()));
        }
        preface
    }

    /// The tool that a name stands for, if the host has given it another.
    pub(super) fn alias(&self, name: &str) -> Option<String> {
        let aliases = lock(&self.tool_aliases);
        aliases.iter().find(|(from, _)| from == name).map(|(_, to)| to.clone())
    }

    /// Whether a call may run.
    pub(super) fn judge(
        &self,
        session: &Session,
        tool: &str,
        input: &RawObject,
        context: &ToolContext,
    ) -> Verdict {
        let mut permissions = self.permissions();
        // The session's mode counts: the host changes it there. One that cannot be entered is left.
        let _ = permissions.set_mode(session.permission_mode());
        let server = self.servers.find(tool).map(|found| found.server);
        if server.is_some_and(|server| lock(&self.strict_servers).contains(&server)) {
            let _ = permissions.set_mode(PermissionMode::Default);
        }
        let verdict = match self.toolbox().get(tool) {
            Some(tool) => permissions.judge(tool.as_ref(), input, &context.cwd()),
            None => permissions.judge_external(tool, input, &context.cwd()),
        };
        match verdict {
            Verdict::Allow(_) if session.approves_tools() && !permissions.grants(tool) => {
                Verdict::Ask(Box::default())
            }
            verdict => verdict,
        }
    }

    /// Applies changes of the host to the permissions. Returns what could not be kept.
    pub(super) fn update(&self, updates: &[PermissionUpdate]) -> Vec<String> {
        let mut permissions = self.permissions();
        let faults = updates.iter().filter_map(|update| permissions.apply(update).err());
        let faults = faults.map(|error| error.to_string()).collect();
        self.context.set_directories(permissions.directories());
        faults
    }

    /// The tools for the model, as the Messages API takes them.
    pub(super) fn definitions(&self, only: Option<&dyn Fn(&str) -> bool>) -> Vec<Value> {
        let mut own = self.toolbox().definitions();
        if let Some(agent) = own.iter_mut().find(|tool| tool["name"] == AgentTool::NAME) {
            let what = agent["description"].as_str().unwrap_or_default();
            let kinds = self.agent_kinds().described();
            agent["description"] = Value::from(format!("{what}\n\nThe kinds of agent:\n{kinds}"));
        }
        let all = own.into_iter().chain(self.servers.definitions());
        let permissions = self.permissions();
        all.filter(|tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            // The model must not call the tool that gives permission.
            !permissions.denies_tool(name)
                && self.setup.permission_tool.as_deref() != Some(name)
                && only.is_none_or(|only| only(name))
        })
        .collect()
    }

    /// Shows the host what was written to disk, if it wants that.
    pub(super) async fn show_mirrored(&self, session: &Session) {
        let entries = self.conversation.take_mirrored();
        let sessions = Sessions::new(&self.setup.config, &self.setup.cwd);
        let path = sessions.path(session.id().as_str()).unwrap_or_default();
        self.show_entries(session, &path, &entries).await;
    }

    /// Shows the host entries of a file.
    pub(super) async fn show_entries(&self, session: &Session, path: &Path, entries: &[Value]) {
        if entries.is_empty() || !self.setup.mirrors {
            return;
        }
        let entries: Vec<RawObject> =
            entries.iter().filter_map(|entry| RawObject::of(entry).ok()).collect();
        let line =
            TranscriptMirror::new().file_path(path.to_string_lossy().into_owned()).entries(entries);
        session.say_line(Box::new(line)).await;
    }

    /// The tools that can be looked for: what they are called, and what they do.
    pub(super) fn findable(&self) -> Vec<(String, String)> {
        let text = |tool: &Value, name: &str| tool[name].as_str().unwrap_or_default().to_owned();
        let toolbox = self.toolbox();
        let is_offered = |name: &str| toolbox.get(name).is_none_or(|tool| tool.is_offered());
        let all = self.definitions(Some(&is_offered));
        all.iter().map(|tool| (text(tool, "name"), text(tool, "description"))).collect()
    }

    /// The names of the tools, for `init`.
    pub(super) fn tool_names(&self) -> Vec<Text> {
        let agent_kinds = self.agent_kinds().clone();
        let only = agent_kinds.chosen().and_then(|kind| agent_kinds.tools(kind));
        let toolbox = self.toolbox();
        let definitions = self.definitions(None);
        let names = definitions.iter().filter_map(|tool| {
            let name = tool["name"].as_str()?;
            let is_named = only.as_ref().is_some_and(|only| only.iter().any(|tool| tool == name));
            if !is_named && !self.lists(name) {
                return None;
            }
            if only.as_ref().is_some_and(|only| !only.iter().any(|tool| tool == name)) {
                return None;
            }
            Some(Text::from(toolbox.get(name).map_or(name, |tool| tool.name_for_hosts())))
        });
        names.collect()
    }

    /// Whether `init` lists a tool. As in the CLI, `Glob` and `Grep` are there only where a flag names them, since commands
    /// do the same.
    fn lists(&self, name: &str) -> bool {
        let named = |lists: &[String]| {
            let names = lists.iter().flat_map(|list| list.split([',', ' ', '(']));
            names.map(str::trim).any(|known| known == name)
        };
        !["Glob", "Grep", "TodoWrite"].contains(&name)
            || self.setup.tools.as_ref().is_some_and(|tools| named(tools))
            || named(&self.setup.allowed)
    }

    /// What a message cost. True if the price is unknown and this was not reported yet.
    pub(super) fn cost(&self, model: &str, tokens: &duologue_model::Tokens) -> (f64, bool) {
        if let Some(cost) = self.prices.cost(model, tokens) {
            return (cost, false);
        }
        let is_free = *tokens == duologue_model::Tokens::default();
        let mut unpriced = lock(&self.unpriced);
        let is_new = !is_free && !unpriced.iter().any(|known| known == model);
        if is_new {
            unpriced.push(model.to_owned());
        }
        (0.0, is_new)
    }
}

/// The folder of the checkpoints of a session.
fn checkpoint_folder(setup: &Setup) -> Option<PathBuf> {
    let id = setup.options.info.session_id.as_ref().filter(|_| setup.checkpoints)?;
    Some(setup.config.join("file-history").join(id.as_str()))
}

/// The MCP servers of settings and plugins, each with its source in `scope`.
fn configured_servers(setup: &Setup, custom: &Custom) -> Vec<(String, Value)> {
    let mut servers = crate::mcp_config::servers(setup);
    for plugin in &custom.plugins {
        let named = plugin.servers().into_iter().map(|(name, mut server)| {
            server["scope"] = Value::from("plugin");
            (name, server)
        });
        servers.extend(named);
    }
    servers
}

fn permissions(setup: &Setup, settings: &Settings, context: &ToolContext) -> Permissions {
    let mut permissions = Permissions::new(&setup.cwd);
    permissions.set_config_dir(&setup.config);
    permissions
        .set_setting_sources(setup.sources.iter().map(|source| source.rule_source()).collect());
    if setup.options.may_bypass {
        permissions.allow_bypass();
    }
    settings.apply_to(&mut permissions);
    for (rules, behavior) in
        [(&setup.allowed, PermissionBehavior::Allow), (&setup.disallowed, PermissionBehavior::Deny)]
    {
        for list in rules {
            permissions.add_rules(list, behavior.clone(), RuleSource::CliArg);
        }
    }
    for folder in &setup.directories {
        permissions.add_directory(folder, RuleSource::CliArg);
    }
    permissions.add_readable(context.outputs_path());
    permissions
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
