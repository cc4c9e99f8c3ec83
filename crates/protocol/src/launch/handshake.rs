//! Which option goes into `initialize`.

use crate::control::{HookMatcher, Initialize, PluginRef};
use crate::text::Text;
use crate::wire::{Field, Map};

use super::choice::{Delivery, Skills, SystemPrompt};
use super::error::LaunchError;
use super::flags::{V1, V2_0, V2_1_52, V2_1_197};
use super::options::Launch;
use super::to_flags::by_flags;
use super::version::CliVersion;

/// The request, for this version.
pub(super) fn initialize(
    launch: &Launch,
    version: Option<&CliVersion>,
    managed_settings: bool,
) -> Result<Initialize, LaunchError> {
    let mut out = launch.initialize.clone().unwrap_or_default();
    prompts(launch, version, &mut out);
    servers(launch, version, &mut out);
    if !launch.hooks.is_empty() {
        out.hooks = Field::Value(hooks(launch));
    }
    if !launch.agents.is_empty() && version.is_none_or(|version| *version > V1) {
        out.agents = Field::Value(launch.agents.clone());
    }
    if !launch.tool_aliases.is_empty() {
        out.tool_aliases = Field::Value(launch.tool_aliases.clone());
    }
    if let Some(Skills::List(names)) = &launch.skills {
        out.skills = Field::Value(names.iter().map(Text::from).collect());
    }
    put(&mut out.json_schema, launch.json_schema.as_ref());
    put(&mut out.title, launch.title.as_ref());
    put(&mut out.prompt_suggestions, launch.prompt_suggestions.as_ref());
    put(&mut out.agent_progress_summaries, launch.agent_progress_summaries.as_ref());
    put(&mut out.forward_subagent_text, launch.forward_subagent_text.as_ref());
    put(&mut out.supported_dialog_kinds, launch.supported_dialog_kinds.as_ref());
    put(&mut out.per_task_stop_affordance, launch.per_task_stop_affordance.as_ref());
    if managed_settings {
        put(&mut out.managed_settings, launch.managed_settings.as_ref());
    }
    if launch.plugin_delivery == Delivery::Initialize && !launch.plugins.is_empty() {
        out.plugins = Field::Value(plugins(launch)?);
    }
    Ok(out)
}

fn put<T: Clone>(field: &mut Field<T>, value: Option<&T>) {
    if let Some(value) = value {
        *field = Field::Value(value.clone());
    }
}

fn prompts(launch: &Launch, version: Option<&CliVersion>, out: &mut Initialize) {
    put(&mut out.exclude_dynamic_sections, launch.exclude_dynamic_sections.as_ref());
    put(&mut out.system_prompt_snapshot, launch.system_prompt_snapshot.as_ref());
    put(&mut out.plan_mode_instructions, launch.plan_mode_instructions.as_ref());
    if by_flags(version) {
        return;
    }
    match &launch.system_prompt {
        Some(SystemPrompt::Append(text)) => out.append_system_prompt = Field::Value(text.into()),
        Some(SystemPrompt::Custom(texts)) if !texts.is_empty() => {
            out.system_prompt = Field::Value(texts.iter().map(Text::from).collect());
        }
        // Without a text, the CLI would use its own prompt.
        Some(SystemPrompt::Custom(_) | SystemPrompt::Empty) => {
            out.system_prompt = Field::Value(vec![Text::default()]);
        }
        Some(SystemPrompt::Default | SystemPrompt::File(_) | SystemPrompt::AppendFile(_))
        | None => {}
    }
}

fn servers(launch: &Launch, version: Option<&CliVersion>, out: &mut Initialize) {
    if launch.sdk_mcp_servers.is_empty() {
        return;
    }
    if !by_flags(version) {
        let names = launch.sdk_mcp_servers.iter().map(|(name, _)| name.clone());
        out.sdk_mcp_servers = Field::Value(names.collect());
    }
    let mut configs = Map::new();
    for (name, config) in launch.sdk_mcp_servers.iter() {
        if let Some(config) = config {
            configs.insert(name.clone(), config.clone());
        }
    }
    if !configs.is_empty() {
        out.sdk_mcp_server_configs = Field::Value(configs);
    }
    if !launch.sdk_mcp_server_manifests.is_empty() {
        out.sdk_mcp_server_manifests = Field::Value(launch.sdk_mcp_server_manifests.clone());
    }
}

/// The matchers, by event, in their order.
fn hooks(launch: &Launch) -> Map<Vec<HookMatcher>> {
    let mut hooks: Map<Vec<HookMatcher>> = Map::new();
    for (event, matcher) in &launch.hooks {
        let mut matchers = hooks.get(event).cloned().unwrap_or_default();
        matchers.push(matcher.clone());
        hooks.insert(event.clone(), matchers);
    }
    hooks
}

fn plugins(launch: &Launch) -> Result<Vec<PluginRef>, LaunchError> {
    let plugin = |plugin: &super::choice::Plugin| {
        let Some(path) = plugin.path.to_str() else {
            let why = "its path is not Unicode: deliver it by flags";
            return Err(LaunchError::invalid("plugins", &plugin.path.to_string_lossy(), why));
        };
        let reference = PluginRef::new().kind("local").path(path);
        let skip = plugin.skip_mcp_discovery;
        Ok(if skip { reference.skip_mcp_discovery(true) } else { reference })
    };
    launch.plugins.iter().map(plugin).collect()
}

/// The options that this version ignores.
pub(super) fn unheeded(launch: &Launch, version: Option<&CliVersion>) -> Vec<&'static str> {
    /// The newest that ignores verbatim prompts.
    const BEFORE_VERBATIM: CliVersion = CliVersion::new(2, 1, 247);
    /// The newest that does not support snapshots of the system prompt.
    const BEFORE_SNAPSHOT: CliVersion = CliVersion::new(2, 1, 256);
    let Some(version) = version else { return Vec::new() };
    let configs = launch.sdk_mcp_servers.iter().any(|(_, config)| config.is_some());
    let table = [
        (launch.file_checkpointing, "file_checkpointing", V1),
        (launch.client_app.is_some(), "client_app", V2_0),
        (launch.prompt_suggestions.is_some(), "prompt_suggestions", V2_0),
        (launch.exclude_dynamic_sections.is_some(), "exclude_dynamic_sections", V2_1_52),
        (launch.plan_mode_instructions.is_some(), "plan_mode_instructions", V2_1_52),
        (!launch.tool_aliases.is_empty(), "tool_alias", V2_1_52),
        (launch.question_preview.is_some(), "question_preview", V2_1_52),
        (matches!(launch.skills, Some(Skills::List(_))), "skills", V2_1_52),
        (launch.title.is_some(), "title", V2_1_52),
        (launch.agent_progress_summaries.is_some(), "agent_progress_summaries", V2_1_52),
        (launch.forward_subagent_text.is_some(), "forward_subagent_text", V2_1_52),
        (launch.session_state_events, "session_state_events", V2_1_52),
        (launch.supported_dialog_kinds.is_some(), "supported_dialog_kinds", V2_1_52),
        (configs, "sdk_mcp_server_with", V2_1_197),
        (!launch.sdk_mcp_server_manifests.is_empty(), "sdk_mcp_server_manifest", V2_1_197),
        (launch.per_task_stop_affordance.is_some(), "per_task_stop_affordance", V2_1_197),
        (launch.verbatim_prompts, "verbatim_prompts", BEFORE_VERBATIM),
        (launch.system_prompt_snapshot.is_some(), "system_prompt_snapshot", BEFORE_SNAPSHOT),
    ];
    let unheeded = table.into_iter().filter(|(set, _, missing_in)| *set && version <= missing_in);
    unheeded.map(|(_, option, _)| option).collect()
}
