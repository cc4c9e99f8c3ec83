//! Options that contradict each other, or that no CLI supports.

use crate::control::McpServerConfig;
use crate::id::SessionId;
use crate::permission::PermissionMode;

use super::choice::{Delivery, PermissionPrompts, Settings, Skills, Tools};
use super::conversation::{Conversation, Cut};
use super::error::LaunchError;
use super::options::Launch;

type Checked = Result<(), LaunchError>;

/// Everything that can be checked without the version.
pub(super) fn all(launch: &Launch) -> Checked {
    models(launch)?;
    tools(launch)?;
    permissions(launch)?;
    hooks_and_agents(launch)?;
    servers(launch)?;
    numbers(launch)?;
    settings(launch)?;
    conversation(launch)
}

fn models(launch: &Launch) -> Checked {
    for (option, value) in [
        ("model", &launch.model),
        ("agent", &launch.agent),
        ("permission_prompt_tool", &launch.permission_prompt_tool),
        ("client_app", &launch.client_app),
        ("entrypoint", &launch.entrypoint),
    ] {
        if let Some(value) = value {
            not_blank(option, value)?;
        }
    }
    for model in &launch.fallback_models {
        list_item("fallback_models", model)?;
        if launch.model.as_ref() == Some(model) {
            let why = "a model cannot take its own place; name another";
            return Err(LaunchError::contradiction("model", "fallback_models", why));
        }
    }
    launch.betas.iter().try_for_each(|beta| not_blank("betas", beta))
}

fn tools(launch: &Launch) -> Checked {
    if let Some(Tools::List(names)) = &launch.tools {
        names.iter().try_for_each(|name| rule("tools", name))?;
    }
    launch.allowed_tools.iter().try_for_each(|name| rule("allowed_tools", name))?;
    launch.disallowed_tools.iter().try_for_each(|name| rule("disallowed_tools", name))?;
    match &launch.skills {
        Some(Skills::List(names)) => names.iter().try_for_each(|name| skill(name)),
        Some(Skills::All) | None => Ok(()),
    }
}

/// A rule must stay one rule: the CLI splits its lists at commas and spaces outside parentheses, and
/// the first `)` closes them, also after a backslash.
fn rule(option: &'static str, text: &str) -> Checked {
    not_blank(option, text)?;
    let mut inside = false;
    for character in text.chars() {
        match character {
            '(' => inside = true,
            ')' => inside = false,
            ',' | ' ' if !inside => {
                let why = "the CLI would split it here into several rules; give each by itself, and \
                           commas and spaces only between parentheses";
                return Err(LaunchError::invalid(option, text, why));
            }
            _ if character.is_control() && !inside => {
                return Err(LaunchError::invalid(option, text, "it holds a control character"));
            }
            _ => {}
        }
    }
    if inside {
        return Err(LaunchError::invalid(option, text, "its parenthesis is not closed"));
    }
    Ok(())
}

/// What the official SDKs refuse: a name that could become another rule, or match nothing.
fn skill(name: &str) -> Checked {
    let invalid = |why| Err(LaunchError::invalid("skills", name, why));
    not_blank("skills", name)?;
    if name.trim() != name {
        return invalid("a name has no white space around it");
    }
    if name.contains(['(', ')', ',']) || name.contains(char::is_control) {
        return invalid("parentheses, commas and control characters are not allowed");
    }
    if name.starts_with('/') {
        return invalid("give the name without the slash");
    }
    if name == "*" || name.ends_with(":*") || name.ends_with(" *") {
        return invalid("a name cannot be a pattern; use Skills::All for all");
    }
    if name.ends_with('\\') || name.contains("\\\\") {
        return invalid("such backslashes are escapes in a rule");
    }
    Ok(())
}

fn permissions(launch: &Launch) -> Checked {
    if let Some(tool) = &launch.permission_prompt_tool {
        if let Some(prompts) = launch.permission_prompts {
            let why = match prompts {
                PermissionPrompts::Host => "either the host answers or the tool does",
                PermissionPrompts::Deny => "if everything is denied, the tool is never called",
            };
            let (first, second) = ("permission_prompts", "permission_prompt_tool");
            return Err(LaunchError::contradiction(first, second, why));
        }
        if tool == "stdio" {
            let why = "that means the host: use permission_prompts(PermissionPrompts::Host)";
            return Err(LaunchError::invalid("permission_prompt_tool", tool, why));
        }
    }
    let bypass = launch.permission_mode == Some(PermissionMode::BypassPermissions);
    if bypass && !launch.allow_dangerously_skip_permissions {
        return Err(LaunchError::contradiction(
            "permission_mode(BypassPermissions)",
            "allow_dangerously_skip_permissions(false)",
            "set both to allow everything",
        ));
    }
    launch
        .permission_mode
        .as_ref()
        .map_or(Ok(()), |mode| not_blank("permission_mode", mode.as_str()))
}

fn hooks_and_agents(launch: &Launch) -> Checked {
    for (event, matcher) in &launch.hooks {
        not_blank("hook", event)?;
        if matcher.hook_callback_ids.items().is_empty() {
            return Err(LaunchError::invalid("hook", event, "its matcher names no callback"));
        }
        if matcher.timeout.as_f64().is_some_and(|seconds| seconds <= 0.0) {
            return Err(LaunchError::invalid("hook", event, "its timeout is not positive"));
        }
    }
    for (name, agent) in launch.agents.iter() {
        not_blank("define_agent", name)?;
        if agent.description.value().is_none() || agent.prompt.value().is_none() {
            let why = "an agent needs a description and a prompt";
            return Err(LaunchError::invalid("define_agent", name, why));
        }
    }
    Ok(())
}

fn servers(launch: &Launch) -> Checked {
    for (name, server) in launch.mcp_servers.iter() {
        not_blank("mcp_server", name)?;
        if let Some(why) = fault_of_server(server) {
            return Err(LaunchError::invalid("mcp_server", name, why));
        }
        if launch.sdk_mcp_servers.get(name).is_some() {
            let why = "two servers have the same name; rename one";
            return Err(LaunchError::contradiction("mcp_server", "sdk_mcp_server", why));
        }
    }
    for (name, _) in launch.sdk_mcp_servers.iter() {
        not_blank("sdk_mcp_server", name)?;
    }
    for (name, _) in launch.sdk_mcp_server_manifests.iter() {
        if launch.sdk_mcp_servers.get(name).is_none() {
            let why = "no sdk_mcp_server has that name";
            return Err(LaunchError::invalid("sdk_mcp_server_manifest", name, why));
        }
    }
    Ok(())
}

fn fault_of_server(server: &McpServerConfig) -> Option<&'static str> {
    let blank = |field: Option<&str>| field.is_none_or(|text| text.trim().is_empty());
    match server.kind.as_str().unwrap_or("stdio") {
        "stdio" if blank(server.command.as_str()) => Some("a stdio server needs a command"),
        "sse" | "http" if blank(server.url.as_str()) => Some("such a server needs a url"),
        "sdk" => Some("the host serves it: use sdk_mcp_server"),
        _ => None,
    }
}

fn numbers(launch: &Launch) -> Checked {
    let positive = "it must be greater than 0";
    if launch.max_turns == Some(0) {
        return Err(LaunchError::invalid("max_turns", "0", positive));
    }
    if launch.task_budget == Some(0) {
        return Err(LaunchError::invalid("task_budget", "0", positive));
    }
    match launch.max_budget_usd {
        Some(dollars) if !(dollars.is_finite() && dollars > 0.0) => {
            return Err(LaunchError::invalid("max_budget_usd", &dollars.to_string(), positive));
        }
        _ => {}
    }
    if launch.thinking.is_some() && launch.max_thinking_tokens.is_some() {
        let why = "both limit thinking; use thinking";
        return Err(LaunchError::contradiction("thinking", "max_thinking_tokens", why));
    }
    Ok(())
}

fn settings(launch: &Launch) -> Checked {
    if launch.sandbox.is_some() && matches!(launch.settings, Some(Settings::File(_))) {
        let why = "put the sandbox into that file, or give the settings as an object";
        return Err(LaunchError::contradiction("settings by file", "sandbox", why));
    }
    if launch.managed_settings.is_none() && launch.managed_settings_delivery == Delivery::Initialize
    {
        let why = "no managed settings are set";
        return Err(LaunchError::contradiction(
            "managed_settings_delivery(Initialize)",
            "no managed_settings",
            why,
        ));
    }
    if let Some(root) = launch.project_config_root.as_ref().filter(|root| !root.is_absolute()) {
        let why = "the CLI wants an absolute path";
        return Err(LaunchError::invalid("project_config_root", &root.to_string_lossy(), why));
    }
    for source in launch.setting_sources.iter().flatten() {
        list_item("setting_sources", source.as_str())?;
    }
    Ok(())
}

fn conversation(launch: &Launch) -> Checked {
    if launch.no_session_persistence && launch.session_mirror {
        let why = "what is not written cannot be mirrored";
        return Err(LaunchError::contradiction("no_session_persistence", "session_mirror", why));
    }
    match &launch.conversation {
        Conversation::New | Conversation::Continue => Ok(()),
        Conversation::NewWithId(id) | Conversation::ResumeOrNew(id) => uuid(id),
        Conversation::Resume { id, cut } => old(id, cut.as_ref()),
        Conversation::Fork { of, cut, id } => {
            old(of, cut.as_ref())?;
            id.as_ref().map_or(Ok(()), uuid)
        }
        Conversation::ForkContinue { id } => id.as_ref().map_or(Ok(()), uuid),
    }
}

/// A title may name an old conversation, so every text except an empty one is accepted. The prompt of a dropped turn may be
/// empty: the official SDKs accept that as well.
fn old(id: &SessionId, cut: Option<&Cut>) -> Checked {
    cut.map_or(Ok(()), |cut| not_blank("conversation", cut.after.as_str()))?;
    not_blank("conversation", id.as_str())
}

/// A new conversation is named by a UUID: the CLI refuses everything else.
fn uuid(id: &SessionId) -> Checked {
    let text = id.as_str().as_bytes();
    let dashes = [8, 13, 18, 23];
    let shaped = text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| {
            if dashes.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
        });
    if shaped {
        return Ok(());
    }
    Err(LaunchError::invalid("conversation", id.as_str(), "a new conversation needs a UUID as id"))
}

/// An element of a list that the CLI splits at commas.
fn list_item(option: &'static str, text: &str) -> Checked {
    not_blank(option, text)?;
    if text.contains(',') {
        return Err(LaunchError::invalid(option, text, "give each by itself, without commas"));
    }
    Ok(())
}

fn not_blank(option: &'static str, text: &str) -> Checked {
    if text.trim().is_empty() {
        return Err(LaunchError::invalid(option, text, "it is empty"));
    }
    Ok(())
}
