//! A tool call: permission, running it, and its result.

use duologue_agent::{
    Ask, OtherAnswer, PermissionRules, ToolCall, ToolResult, ToolUse, TurnError, TurnResult,
    Verdict, canonical_tool_name,
};
use duologue_protocol::hook::McpServerRef;
use duologue_protocol::lines::{PermissionDecision, ToolResultMeta};
use duologue_protocol::permission::{PermissionMode, PermissionResult, PermissionUpdate};
use duologue_protocol::{RawObject, Text, Wire as _};
use serde_json::{Value, json};

use crate::agent_loop::AgentLoop;
use crate::shared::lock;
use crate::tools::{
    Access, Cancel, Category, Role, SkillTool, TaskStopTool, ToolOutput, ToolSearchTool,
};

/// The rules that the calls of an agent are judged by.
struct Rules<'a>(&'a AgentLoop);

impl PermissionRules for Rules<'_> {
    fn judge(&self, call: &ToolCall) -> Verdict {
        let AgentLoop { shared, emitter, context, .. } = self.0;
        let verdict = shared.judge(emitter.session(), &call.name, &call.input, context);
        match (verdict, shared.servers.find(&call.name)) {
            (Verdict::Ask(ask), Some(found)) => {
                let mut server = McpServerRef::new().name(&*found.server);
                server.source = found.is_hosts().then_some("sdk").map(Text::from).into();
                Verdict::Ask(Box::new(Ask {
                    display_name: Some(found.title()),
                    mcp_server: Some(server),
                    server_policy_ask_only: true,
                    ..*ask
                }))
            }
            (verdict, _) => verdict,
        }
    }

    /// Asks the tool of an MCP server: `--permission-prompt-tool`. It answers as a host would.
    fn ask_other<'a>(&'a self, call: &'a ToolCall) -> Option<OtherAnswer<'a>> {
        let shared = &self.0.shared;
        let tool = shared.setup.permission_tool.as_deref()?;
        Some(Box::pin(async move {
            let Some(found) = shared.servers.find(tool) else {
                return Err(format!(
                    "MCP tool {tool} (passed via --permission-prompt-tool) not found."
                ));
            };
            let input = call.input.to_value_lossy().unwrap_or(Value::Null);
            let request = json!({ "tool_name": &*call.name, "input": input, "tool_use_id": call.id.as_str() });
            let request = RawObject::of(&request).unwrap_or_default();
            let session = self.0.emitter.session();
            let answer = shared.servers.run(session, &found, &request, call.id.as_str()).await;
            let text = answer.content.text();
            if answer.is_failure() {
                Err(text)
            } else {
                Ok(PermissionResult::from_json(&text).ok())
            }
        }))
    }
}

impl AgentLoop {
    /// Runs a call, from the permission to the result.
    pub(super) async fn call(&self, mut call: ToolCall) -> TurnResult {
        if let Some(name) = self.shared.alias(&call.name) {
            call.name = name.into();
        }
        let tool = self.shared.toolbox().get(&call.name).cloned();
        let category = tool.as_ref().map_or(Category::Other, |tool| tool.category());
        lock(&self.stats).call(&call.name, category);
        self.note_usage();
        if let Some(wrong) = self.wrong(&call) {
            return self.finish_call(&call, wrong, None).await;
        }
        let used = self.emitter.permit_with(&call, &Rules(self)).await?;
        self.apply_updates(&used.updates).await;
        if let Some(why) = used.denial() {
            self.keep(call.id.as_str(), json!(why), Some(true), None);
            return Ok(());
        }
        if let Some(given) = &used.replaced {
            let content = crate::content(&given.content);
            self.keep(call.id.as_str(), content, given.is_error, None);
            return Ok(());
        }
        if let Some(task) = &self.task {
            let summary = match &tool {
                Some(tool) => tool.summary(&call.input),
                None => crate::tools::text(&call.input, "description"),
            };
            let summary = summary.unwrap_or_else(|| call.name.as_str().to_owned());
            task.progress(format!("Running {summary}"), Some(&call.name)).await;
        }
        let output = if tool.is_some_and(|tool| tool.role().stops_by_itself()) {
            self.run(&call, &used).await?
        } else {
            tokio::select! {
                biased;
                // Dropping the call stops it.
                () = self.emitter.interrupted() => return Err(TurnError::Interrupted),
                output = self.run(&call, &used) => output?,
            }
        };
        self.finish_call(&call, output, Some(used.decision)).await
    }

    /// Reports what a sub-agent has used, with its task.
    pub(super) fn note_usage(&self) {
        if let Some(task) = &self.task {
            let stats = lock(&self.stats);
            task.note_usage(stats.tokens, stats.uses);
        }
    }

    /// What is wrong with a call, so that nobody has to be asked.
    fn wrong(&self, call: &ToolCall) -> Option<ToolOutput> {
        if canonical_tool_name(&call.name) == SkillTool::NAME
            && let Some(name) = crate::tools::text(&call.input, "skill")
            && let Err(wrong) = self.shared.skill(name.trim_start_matches('/'))
        {
            return Some(wrong);
        }
        if self.shared.servers.find(&call.name).is_some() {
            return None;
        }
        if let Some(raw) = call.input.get("__unparsedToolInput") {
            let raw = raw.get("raw").and_then(|raw| raw.as_str()).unwrap_or_default();
            return Some(ToolOutput::unparsable(&call.name, &raw));
        }
        self.shared.toolbox().check(&call.name, &call.input)
    }

    /// Applies the changes of permissions that came with an answer.
    async fn apply_updates(&self, updates: &[PermissionUpdate]) {
        for fault in self.shared.update(updates) {
            self.warn(&format!("A change of the permissions was not kept: {fault}")).await;
        }
    }

    async fn run(&self, call: &ToolCall, used: &ToolUse) -> Result<ToolOutput, TurnError> {
        let input = used.input.clone();
        let session = self.emitter.session();
        if let Some(found) = self.shared.servers.find(&call.name) {
            return Ok(self.shared.servers.run(session, &found, &input, call.id.as_str()).await);
        }
        let toolbox = self.shared.toolbox();
        // The host may have changed the input.
        if let Some(wrong) = toolbox.check(&call.name, &input) {
            return Ok(wrong);
        }
        let role = toolbox.get(&call.name).map_or(Role::Plain, |tool| tool.role());
        match role {
            Role::Subagent => return self.delegate(call, &input).await,
            Role::ToolSearch => {
                return Ok(ToolSearchTool::search(&input, &self.shared.findable()));
            }
            Role::TaskStop => return Ok(self.stop_task(&input)),
            Role::WebFetch => return self.fetch(&input).await,
            Role::WebSearch => return self.search(&input).await,
            Role::Skill => return self.read_skill(&input).await,
            Role::EnterPlanMode => session.set_permission_mode(PermissionMode::Plan).await,
            Role::ExitPlanMode => self.leave_plan_mode(&used.updates).await,
            Role::Plain | Role::Command | Role::StructuredOutput => {}
        }
        let context = self.context.with_cancel(Cancel::new()).with_tool_use_id(call.id.as_str());
        context.set_hidden_files(self.shared.permissions().hidden_files());
        if self.shared.setup.checkpoints
            && let Some(Access::Change(path)) =
                toolbox.get(&call.name).map(|tool| tool.access(&input))
            && let Some(path) = context.real_path(&path)
        {
            self.shared.checkpoints.before_change(&path);
        }
        let running = toolbox.run(&call.name, input.clone(), &context);
        if role == Role::Command {
            return self.watch_command(call, running).await;
        }
        let output = running.await;
        if role == Role::StructuredOutput && !output.is_failure() {
            lock(&self.shaped).get_or_insert(input.to_value_lossy().unwrap_or(Value::Null));
        }
        Ok(output)
    }

    /// Stops a sub-agent or a command in the background.
    fn stop_task(&self, input: &RawObject) -> ToolOutput {
        let id = TaskStopTool::task(input);
        let tasks = self.context.tasks();
        let command = tasks.running().into_iter().find(|task| task.id == id);
        if self.shared.background.stop_agent(&id) {
            TaskStopTool::stopped(&id, "local_agent", &id)
        } else if let Some(task) = command.filter(|_| tasks.stop(&id)) {
            TaskStopTool::stopped(&id, "local_bash", &task.command)
        } else {
            TaskStopTool::unknown(&id)
        }
    }

    /// A host that approves a plan may choose the next mode.
    async fn leave_plan_mode(&self, updates: &[PermissionUpdate]) {
        let chosen = updates.iter().any(|update| matches!(update, PermissionUpdate::SetMode(_)));
        if !chosen {
            self.emitter.session().set_permission_mode(PermissionMode::Default).await;
        }
    }

    /// Sends the result of a call to the host, and keeps it for the model.
    async fn finish_call(
        &self,
        call: &ToolCall,
        output: ToolOutput,
        decision: Option<PermissionDecision>,
    ) -> TurnResult {
        let content = output.content.to_json();
        let for_host = output.tool_use_result.to_value_lossy().ok();
        let for_model = match self.shared.toolbox().get(&call.name) {
            Some(tool) => tool.content_for_model(&output),
            None => content.clone(),
        };
        let for_model = for_model.to_value_lossy().unwrap_or(Value::Null);
        if let Some(result) = &for_host {
            lock(&self.stats).result(result);
        }
        self.keep(call.id.as_str(), for_model, output.is_error, for_host.as_ref());
        let mut result = ToolResult::new(
            content
                .read::<duologue_protocol::content::Content>()
                .unwrap_or_else(|_| Text::default().into()),
        );
        result.is_error = output.is_error;
        result = result.structured(output.tool_use_result);
        let mut meta = ToolResultMeta::new().id(call.id.clone());
        meta.permission_decision = decision.into();
        self.emitter.tool_result_with(call, result, meta).await?;
        let after = std::mem::take(&mut *lock(&self.after_call));
        for text in after {
            self.emitter.synthetic_user(&text).await?;
            self.conversation.note(&text);
        }
        Ok(())
    }
}
