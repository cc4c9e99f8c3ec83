//! Commands and skills of files: a person types them, or the model calls `Skill`.

use duologue_agent::{Turn, TurnError};
use duologue_protocol::RawObject;
use duologue_protocol::hook::UserPromptExpansion;
use duologue_protocol::permission::PermissionBehavior;
use serde_json::json;

use crate::Embedded;
use crate::agent_loop::AgentLoop;
use crate::custom::Command;
use crate::permission::{Rule, RuleSource, Verdict};
use crate::settings::CommandHook;
use crate::shared::{Shared, lock};
use crate::tools::{BashTool, ToolOutput, text};

impl Embedded {
    /// Replaces a command of a file by its prompt. `None` if the prompt is not one; an error if it cannot be used.
    pub(super) async fn expand(&self, turn: &mut Turn<'_>) -> Option<Result<(), String>> {
        let typed = turn.text();
        let (name, arguments) = super::slash_commands::typed(&typed)?;
        let command = self.shared.custom().command(name).cloned()?;
        if !command.is_for_users {
            let name = &command.name;
            return Some(Err(format!(
                "This skill can only be invoked by Claude, not directly by users. Ask Claude to use the \"{name}\" skill for you."
            )));
        }
        self.shared.begin_command(&command);
        let prompt = match self.shared.with_commands(&command.prompt(arguments)).await {
            Ok(prompt) => prompt,
            Err(why) => return Some(Err(why)),
        };
        let event = UserPromptExpansion::new()
            .expansion_type("slash_command")
            .command_name(&*command.name)
            .command_args(arguments)
            .prompt(&*prompt);
        let answers = turn.session().hook(Box::new(event)).await;
        if let Some(why) = answers.block() {
            return Some(Err(why.as_str().to_owned()));
        }
        *lock(&self.shared.turn_model) = command.model.clone();
        let uuid = turn.prompt_uuid();
        let conversation = &self.shared.conversation;
        conversation.command(&command.typed(arguments), &typed, uuid.as_deref());
        conversation.note(&prompt);
        for context in answers.context() {
            conversation.note(&super::agent_loop::reminder(&context));
        }
        Some(Ok(()))
    }
}

impl AgentLoop {
    /// Reads a skill for the model. Its text follows the result.
    pub(super) async fn read_skill(&self, input: &RawObject) -> Result<ToolOutput, TurnError> {
        let name = text(input, "skill").unwrap_or_default();
        let skill = match self.shared.skill(name.trim_start_matches('/')) {
            Ok(skill) => skill,
            Err(wrong) => return Ok(wrong),
        };
        self.shared.begin_command(&skill);
        let arguments = text(input, "args").unwrap_or_default();
        match self.shared.with_commands(&skill.prompt(&arguments)).await {
            Ok(prompt) => lock(&self.after_call).push(prompt),
            Err(why) => return Ok(ToolOutput::failed(why)),
        }
        let name = &skill.name;
        let mut result = json!({ "success": true, "commandName": name });
        if !skill.allowed_tools.is_empty() {
            result["allowedTools"] = json!(skill.allowed_tools);
        }
        Ok(ToolOutput::text(format!("Launching skill: {name}"), result))
    }
}

impl Shared {
    /// A skill that the model may read.
    pub(super) fn skill(&self, name: &str) -> Result<Command, ToolOutput> {
        let found = self.custom().command(name).cloned();
        let is_allowed = |skill: &Command| {
            let allowed = lock(&self.skills);
            allowed.as_ref().is_none_or(|allowed| allowed.contains(&skill.name))
        };
        match found {
            None => Err(ToolOutput::refused(format!("Unknown skill: {name}"))),
            Some(skill) if !skill.is_for_model => Err(ToolOutput::refused(format!(
                "Skill {name} cannot be used with Skill tool due to disable-model-invocation"
            ))),
            Some(skill) if !is_allowed(&skill) => {
                Err(ToolOutput::refused(format!("Skill {name} is not enabled in this session")))
            }
            Some(skill) => Ok(skill),
        }
    }

    /// Puts the rules of a command in force, up to the end of the turn.
    fn begin_command(&self, command: &Command) {
        let rules = command.allowed_tools.iter();
        let rules =
            rules.map(|rule| Rule::parse(rule, PermissionBehavior::Allow, RuleSource::Session));
        let mut permissions = self.permissions();
        let new: Vec<Rule> = rules.filter(|rule| !permissions.rules().contains(rule)).collect();
        for rule in &new {
            permissions.add_rule(rule.clone());
        }
        lock(&self.turn_rules).extend(new);
    }

    /// Ends what a command set for its turn.
    pub(super) fn end_command(&self) {
        *lock(&self.turn_model) = None;
        let rules = std::mem::take(&mut *lock(&self.turn_rules));
        self.permissions().remove_rules(&rules);
    }

    /// A prompt with the output of its shell commands, which are between `` !` `` and `` ` ``, in their place. A command that
    /// needs a permission is an error.
    async fn with_commands(&self, prompt: &str) -> Result<String, String> {
        let (mut whole, mut rest) = (String::new(), prompt);
        while let Some((before, after)) = rest.split_once("!`") {
            let Some((command, after)) = after.split_once('`') else { break };
            whole.push_str(before);
            let input = RawObject::of(&json!({ "command": command })).unwrap_or_default();
            let verdict = self.permissions().judge(&BashTool, &input, &self.context.cwd());
            if !matches!(verdict, Verdict::Allow(_)) {
                return Err(format!(
                    "Shell command permission check failed for pattern \"!`{command}`\": This command requires approval"
                ));
            }
            let output = self.toolbox().run(BashTool::NAME, input, &self.context).await;
            if output.is_failure() {
                return Err(format!(
                    "Shell command failed for pattern \"!`{command}`\": {}",
                    output.content.text()
                ));
            }
            whole.push_str(&output.content.text());
            rest = after;
        }
        whole.push_str(rest);
        Ok(whole)
    }

    /// The hooks of plugins.
    pub(super) fn plugin_hooks(&self) -> Vec<CommandHook> {
        let custom = self.custom();
        let hooks = custom.plugins.iter();
        hooks.flat_map(|plugin| crate::settings::plugin_hooks(&plugin.hooks())).collect()
    }
}
