//! How a turn begins: hooks, `init`, the replay of its prompts.

use duologue_protocol::hook::{Stop, UserPromptSubmit};
use duologue_protocol::lines::{ResultSubtype, TurnResult as ResultLine};
use duologue_protocol::system::{
    Informational, Init, InitMcpServer, McpStatus, NoticeLevel, Notification, NotificationPriority,
    PromptSubmitOutcome, System,
};
use duologue_protocol::{Field, RawJson, Text};

use super::Turn;
use crate::clock;
use crate::emitter::Emitter;
use crate::session::Session;

impl Turn<'_> {
    /// Begins. False if a hook blocks it: then it has ended already.
    pub(crate) async fn begin(&mut self, blocked: Option<Text>) -> bool {
        self.introduce().await;
        if let Some(reason) = blocked {
            self.end_blocked(&reason).await;
            return false;
        }
        let wants_answer =
            |prompt: &duologue_protocol::lines::Prompt| prompt.should_query.value() != Some(&false);
        if !self.start.prompts.is_empty() && !self.start.prompts.iter().any(wants_answer) {
            self.end_quietly(Text::default(), None).await;
            return false;
        }
        true
    }

    /// Runs the hooks that may block a prompt, before anything is sent. Returns why they block it, if they do.
    pub(crate) async fn submit(&self) -> Option<Text> {
        if self.start.origin.is_some() {
            return None;
        }
        let run = self.session().hook(Box::new(UserPromptSubmit::new().prompt(self.text()))).await;
        self.emitter.record().context.extend(run.context());
        run.block()
    }

    async fn introduce(&self) {
        let connection = &self.emitter.session.connection;
        if connection.options.dialect.has_init_in_turns() {
            connection.say(System::from(Box::new(self.emitter.session.init_line()))).await;
        }
        if connection.options.partial {
            connection.say(self.emitter.requesting()).await;
        }
        connection.with(|state| state.link.replay_prompts(Some(clock::timestamp())));
    }

    async fn end_blocked(&self, reason: &Text) {
        let prompt = self.text();
        let content = format!(
            "UserPromptSubmit operation blocked by hook:\n{reason}\n\nOriginal prompt: {prompt}"
        );
        let outcome =
            PromptSubmitOutcome::new().kind("blocked_by_hook").prompt_kept(false).reason(reason);
        let line = Informational::new()
            .content(&content)
            .level(NoticeLevel::Warning)
            .prevent_continuation(true)
            .prompt_submit_outcome(outcome);
        self.session().inform(line).await;
        self.end_quietly(content.into(), None).await;
    }

    /// The name of the slash command in the prompt, without its arguments.
    pub(crate) fn command_name(&self) -> Option<String> {
        let text = self.text();
        let name = text.trim().strip_prefix('/')?.split_whitespace().next()?;
        Some(name.to_owned())
    }

    /// Ends a turn in which the model was not asked, maybe because a command was typed.
    pub(crate) async fn end_quietly(&self, text: Text, command: Option<String>) {
        let mut result =
            self.account(ResultLine::new().subtype(ResultSubtype::Success).is_error(false));
        result = result.result(text).num_turns(0_u64);
        result.local_command = command.map(|name| RawJson::from(serde_json::json!(name))).into();
        result.stop_reason = Field::Null;
        self.conclude(result).await;
    }

    /// Asks the hooks whether the agent may stop. If not, the prompt is their reason.
    pub(crate) async fn may_stop(&mut self) -> bool {
        let said = self.emitter.record().last_text.clone();
        let input = Stop::new().stop_hook_active(self.is_continued).last_assistant_message(said);
        let run = self.session().hook(Box::new(input)).await;
        let Some(reason) = run.block() else { return true };
        if self.emitter.is_interrupted() {
            return true;
        }
        let feedback = format!("Stop hook feedback:\n{reason}");
        if self.emitter.synthetic_user(&feedback).await.is_err() {
            return true;
        }
        let notice = Notification::new()
            .key("stop-hook-error")
            .text("Stop hook error occurred · ctrl+o to see")
            .priority(NotificationPriority::Immediate)
            .session_id(self.session().id())
            .uuid(self.session().new_id());
        self.session().say_line(System::from(Box::new(notice))).await;
        self.is_continued = true;
        self.prompt = feedback.into();
        false
    }
}

impl Session {
    pub(crate) fn init_line(&self) -> Init {
        let info = &self.connection.options.info;
        let listing = self.listing();
        let commands = listing.commands.iter();
        let commands: Vec<Text> =
            commands.filter_map(|command| command.name.value().cloned()).collect();
        let agents: Vec<Text> =
            listing.agents.iter().filter_map(|agent| agent.name.value().cloned()).collect();
        let connected = |name| InitMcpServer::new().name(name).status(McpStatus::Connected);
        let (tools, servers) =
            self.connection.with(|state| (state.tools.clone(), state.servers.clone()));
        let servers = servers
            .unwrap_or_else(|| self.host_servers().into_iter().map(connected).collect::<Vec<_>>());
        let prompts = self.connection.with(|state| state.link.turn_prompts());
        let mut init = Init::new()
            .cwd(&info.cwd)
            .session_id(self.id())
            .tools(tools.unwrap_or_else(|| info.tools.clone()))
            .mcp_servers(servers)
            .model(self.model())
            .permission_mode(self.permission_mode())
            .slash_commands(commands)
            .api_key_source(&*info.api_key_source)
            .claude_code_version(&info.version)
            .output_style(&listing.output_style)
            .agents(agents)
            .skills(listing.skills)
            .plugins(listing.plugins)
            .capabilities(
                ["interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1"]
                    .map(Text::from),
            )
            .uuid(self.new_id());
        init = init.original_cwd(&info.cwd).fast_mode_state("off");
        init.user_message_uuids = Some(prompts).filter(|prompts| !prompts.is_empty()).into();
        init
    }
}

impl Emitter {
    /// The latest text of the main agent.
    pub fn last_text(&self) -> Text {
        self.record().last_text.clone()
    }
}
