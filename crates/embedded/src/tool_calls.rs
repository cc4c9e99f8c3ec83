//! A call of a tool: whether it may run, running it, and telling what came of it.

use duologue_protocol::control::{CanUseTool, DecisionReasonType};
use duologue_protocol::hook::McpServerRef;
use duologue_protocol::lines::{PermissionDecision, ToolResultMeta};
use duologue_protocol::permission::{PermissionMode, PermissionResult, PermissionUpdate};
use duologue_protocol::{RawObject, Text, Wire as _};
use serde_json::{Value, json};

use super::agent_loop::AgentLoop;
use super::shared::lock;
use crate::permission::{Ask, Reason, Verdict};
use crate::tools::{Cancel, ToolOutput, ToolSearchTool};
use duologue_agent::{HookVerdict, ToolCall, ToolResult, ToolUse, ask_because_of_hook};
use duologue_agent::{TurnError, TurnResult};

/// Who let a call run.
struct Grant {
    used: ToolUse,
    decision: PermissionDecision,
}

impl AgentLoop {
    /// Sees a call to its end.
    pub(super) async fn call(&self, call: ToolCall) -> TurnResult {
        lock(&self.stats).call(&call.name);
        self.note_usage();
        if let Some(wrong) = self.wrong(&call) {
            return self.tell(&call, wrong, None).await;
        }
        let Grant { used, decision } = self.grant(&call).await?;
        self.heed(&used.updates).await;
        if let Some(why) = used.refusal() {
            self.keep(call.id.as_str(), json!(why), Some(true), None);
            return Ok(());
        }
        if let Some(given) = &used.replaced {
            let content = super::content(&given.content);
            self.keep(call.id.as_str(), content, given.is_error, None);
            return Ok(());
        }
        if let Some(task) = &self.task {
            let what = call.input.get("description").and_then(|what| what.as_str());
            let what = what.unwrap_or_else(|| call.name.clone());
            task.progress(format!("Running {what}"), Some(&call.name)).await;
        }
        // Sub-agents and commands notice by themselves, and tell how they ended.
        let output = if matches!(&*call.name, "Agent" | "Task" | "Bash") {
            self.run(&call, &used).await?
        } else {
            tokio::select! {
                biased;
                // What is dropped stops.
                () = self.emitter.interrupted() => return Err(TurnError::Interrupted),
                output = self.run(&call, &used) => output?,
            }
        };
        self.tell(&call, output, Some(decision)).await
    }

    /// What a sub-agent has used is told with its task.
    pub(super) fn note_usage(&self) {
        if let Some(task) = &self.task {
            let stats = lock(&self.stats);
            task.note_usage(stats.tokens, stats.uses);
        }
    }

    /// What is wrong with a call, so that nobody need be asked.
    fn wrong(&self, call: &ToolCall) -> Option<ToolOutput> {
        if self.shared.servers.find(&call.name).is_some() {
            return None;
        }
        if let Some(raw) = call.input.get("__unparsedToolInput") {
            let raw = raw.get("raw").and_then(|raw| raw.as_str()).unwrap_or_default();
            return Some(ToolOutput::unparsable(&call.name, &raw));
        }
        self.shared.toolbox().check(&call.name, &call.input)
    }

    async fn grant(&self, call: &ToolCall) -> Result<Grant, TurnError> {
        let config = |reason: Reason| {
            let mut decision = PermissionDecision::new().decision("accept").source("config");
            decision.reason_type = reason.as_str().map(Text::from).into();
            decision
        };
        let by_hook =
            || PermissionDecision::new().decision("accept").source("hook").reason_type("hook");
        let by_host = || PermissionDecision::new().decision("accept").source("user_temporary");
        let judge = |call: &ToolCall| {
            self.shared.judge(self.emitter.session(), &call.name, &call.input, &self.context)
        };
        let (call, reason, hook_allows) = match self.emitter.hooked(call).await? {
            HookVerdict::Settled(used) => return Ok(Grant { used, decision: by_hook() }),
            HookVerdict::Allowed(call) => (call, None, true),
            HookVerdict::Open(call, reason) => (call, reason, false),
        };
        match judge(&call) {
            Verdict::Deny(denial) => {
                let reason = denial.reason.as_str();
                let used = self.emitter.deny_unasked(&call, denial.message.into(), reason).await;
                Ok(Grant { used, decision: config(denial.reason) })
            }
            // A hook cannot answer for a person.
            Verdict::Ask(ask) if hook_allows && !ask.requires_user_interaction => {
                Ok(Grant { used: self.emitter.allowed(call, None), decision: by_hook() })
            }
            Verdict::Allow(by) if reason.is_none() => {
                let decision = if hook_allows { by_hook() } else { config(by) };
                Ok(Grant { used: self.emitter.allowed(call, None), decision })
            }
            Verdict::Allow(_) => {
                let ask = ask_because_of_hook(CanUseTool::new(), reason);
                let used = match &self.shared.setup.permission_tool {
                    Some(tool) => self.ask_tool(tool, &call).await?,
                    None => self.emitter.ask_host(&call, ask).await?,
                };
                Ok(Grant { used, decision: by_host() })
            }
            Verdict::Ask(ask) => {
                let options = self.emitter.session().options();
                if !options.prompts && !options.lenient {
                    let question = self.question(&ask, &call);
                    if let Some(used) = self.emitter.ask_hooks(&call, &question).await? {
                        return Ok(Grant { used, decision: by_hook() });
                    }
                    if let Some(tool) = &self.shared.setup.permission_tool {
                        let used = self.ask_tool(tool, &call).await?;
                        return Ok(Grant { used, decision: by_host() });
                    }
                    let why = Text::from(ask.message);
                    let used = self.emitter.deny_unasked(&call, why, None).await;
                    return Ok(Grant { used, decision: by_host() });
                }
                let question = ask_because_of_hook(self.question(&ask, &call), reason);
                let used = self.emitter.ask_host(&call, question).await?;
                let decision = if used.is_by_hook { by_hook() } else { by_host() };
                Ok(Grant { used, decision })
            }
        }
    }

    /// Asks a tool of an MCP server for permission: `--permission-prompt-tool`. What it answers is what a host would.
    async fn ask_tool(&self, tool: &str, call: &ToolCall) -> Result<ToolUse, TurnError> {
        let failed = |why: &str| format!("Tool permission request failed: Error: {why}");
        let Some(found) = self.shared.servers.find(tool) else {
            let why = failed(&format!(
                "MCP tool {tool} (passed via --permission-prompt-tool) not found."
            ));
            return Ok(self.emitter.refuse(call, why, "config", Some("other")).await);
        };
        let input = call.input.to_value_lossy().unwrap_or(Value::Null);
        let asked =
            json!({ "tool_name": &*call.name, "input": input, "tool_use_id": call.id.as_str() });
        let asked = RawObject::of(&asked).unwrap_or_default();
        let session = self.emitter.session();
        let answer = tokio::select! {
            biased;
            () = self.emitter.interrupted() => return Err(TurnError::Interrupted),
            answer = self.shared.servers.run(session, &found, &asked, call.id.as_str()) => answer,
        };
        let text = answer.content.text();
        if answer.is_failure() {
            return Ok(self.emitter.refuse(call, failed(&text), "config", Some("other")).await);
        }
        self.emitter.decided(call, PermissionResult::from_json(&text).ok()).await
    }

    /// The question to the host.
    fn question(&self, ask: &Ask, call: &ToolCall) -> CanUseTool {
        let mut question = CanUseTool::new();
        question.permission_suggestions = ask.suggestions.clone().into();
        let path = ask.blocked_path.as_ref().map(|path| path.to_string_lossy().into_owned());
        question.blocked_path = path.map(Text::from).into();
        question.decision_reason = ask.decision_reason.clone().map(Text::from).into();
        question.description = ask.description.clone().map(Text::from).into();
        let kind = ask.decision_reason_type.and_then(Reason::as_str);
        question.decision_reason_type = kind.map(DecisionReasonType::from).into();
        if ask.requires_user_interaction {
            question = question.requires_user_interaction(true);
        }
        let found = self.shared.servers.find(&call.name);
        if ask.server_policy_ask_only || found.is_some() {
            question = question.server_policy_ask_only(true);
        }
        if let Some(found) = found {
            question = question.display_name(found.title());
            let mut server = McpServerRef::new().name(&*found.server);
            server.source = found.is_hosts().then_some("sdk").map(Text::from).into();
            question = question.mcp_server(server);
        }
        question
    }

    /// Does what the host wants of the permissions.
    async fn heed(&self, updates: &[PermissionUpdate]) {
        for fault in self.shared.update(updates) {
            self.warn(&format!("A change of the permissions was not kept: {fault}")).await;
        }
    }

    async fn run(&self, call: &ToolCall, used: &ToolUse) -> Result<ToolOutput, TurnError> {
        let input = used.input.clone();
        if let Some(found) = self.shared.servers.find(&call.name) {
            let session = self.emitter.session();
            return Ok(self.shared.servers.run(session, &found, &input, call.id.as_str()).await);
        }
        // The host may have changed the input.
        if let Some(wrong) = self.shared.toolbox().check(&call.name, &input) {
            return Ok(wrong);
        }
        match &*call.name {
            "Agent" | "Task" => self.delegate(call, &input).await,
            ToolSearchTool::NAME => Ok(ToolSearchTool::search(&input, &self.shared.findable())),
            name => {
                let session = self.emitter.session();
                match name {
                    "EnterPlanMode" => session.set_permission_mode(PermissionMode::Plan).await,
                    "ExitPlanMode" => self.leave_plan_mode(&used.updates).await,
                    _ => {}
                }
                let context =
                    self.context.with_cancel(Cancel::new()).with_tool_use_id(call.id.as_str());
                context.set_hidden_files(self.shared.permissions().hidden_files());
                let running = self.shared.toolbox();
                let running = running.run(name, input.clone(), &context);
                if name == "Bash" {
                    return self.watch_command(call, running).await;
                }
                let output = running.await;
                if name == "StructuredOutput" && !output.is_failure() {
                    lock(&self.shaped).get_or_insert(input.to_value_lossy().unwrap_or(Value::Null));
                }
                Ok(output)
            }
        }
    }

    /// A host that approves a plan may choose the mode to go on in.
    async fn leave_plan_mode(&self, updates: &[PermissionUpdate]) {
        let chosen = updates.iter().any(|update| matches!(update, PermissionUpdate::SetMode(_)));
        if !chosen {
            self.emitter.session().set_permission_mode(PermissionMode::Default).await;
        }
    }

    /// Tells the host and the model what came of a call.
    async fn tell(
        &self,
        call: &ToolCall,
        output: ToolOutput,
        decision: Option<PermissionDecision>,
    ) -> TurnResult {
        let content = output.content.to_json();
        let for_host = output.tool_use_result.to_value_lossy().ok();
        let for_model = if &*call.name == ToolSearchTool::NAME && !output.is_failure() {
            Value::from(ToolSearchTool::for_model(&output.tool_use_result))
        } else {
            content.to_value_lossy().unwrap_or(Value::Null)
        };
        if let Some(told) = &for_host {
            lock(&self.stats).result(told);
        }
        self.keep(call.id.as_str(), for_model, output.is_error, for_host.as_ref());
        let mut said = ToolResult::new(
            content
                .read::<duologue_protocol::content::Content>()
                .unwrap_or_else(|_| Text::default().into()),
        );
        said.is_error = output.is_error;
        said = said.structured(output.tool_use_result);
        let mut meta = ToolResultMeta::new().id(call.id.clone());
        meta.permission_decision = decision.into();
        self.emitter.tool_result_with(call, said, meta).await
    }
}
