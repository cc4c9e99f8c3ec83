//! Hooks: which callbacks of the host an event has, and their answers together.

use std::fmt::Debug;
use std::pin::Pin;
use std::time::Duration;

use duologue_protocol::agent_link::Outcome;
use duologue_protocol::control::{HookCallback, HookFailurePolicy, HookMatcher};
use duologue_protocol::hook::{HookDecision, HookInput, HookOutput};
use duologue_protocol::system::{Informational, NoticeLevel, System};
use duologue_protocol::{CallbackId, Map, RawJson, Text, ToolUseId, Wire};
use regex::Regex;
use tokio::time::{Instant, timeout_at};

use crate::emitter::canonical_tool_name;
use crate::session::Session;

/// How long a callback may take by default.
const LONG: Duration = Duration::from_secs(600);
/// The same, for events that a person waits for.
const SHORT: Duration = Duration::from_secs(30);

/// The callbacks that the host registered, by event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hooks(Map<Vec<HookMatcher>>);

struct Callback {
    id: CallbackId,
    timeout: Duration,
    blocks: bool,
}

impl Hooks {
    pub(crate) const fn new(hooks: Map<Vec<HookMatcher>>) -> Self {
        Self(hooks)
    }

    fn matching(&self, event: &str, subject: Option<&str>) -> Vec<Callback> {
        if event == "SessionStart" {
            // The CLI runs commands for it, never callbacks.
            return Vec::new();
        }
        let usual = if matches!(event, "UserPromptSubmit" | "PreModelSwitch" | "PostModelSwitch") {
            SHORT
        } else {
            LONG
        };
        let mut found = Vec::new();
        for matcher in self.0.get(event).map_or(&[][..], Vec::as_slice) {
            if !hook_matches(matcher.matcher.as_str(), subject) {
                continue;
            }
            let seconds = matcher.timeout.as_f64().filter(|seconds| *seconds > 0.0);
            let timeout = seconds
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .unwrap_or(usual);
            let blocks =
                matcher.on_failure.value().is_some_and(|word| *word != HookFailurePolicy::Continue);
            for id in matcher.hook_callback_ids.items() {
                found.push(Callback { id: id.clone(), timeout, blocks });
            }
        }
        found
    }
}

/// Whether the matcher of a hook selects this subject: a tool, a source, a trigger. A matcher is a name, several names
/// separated by `|` or `,`, or a regular expression. One that is empty or `*` selects all; an invalid one selects none.
///
/// ```
/// use duologue_agent::hook_matches;
///
/// assert!(hook_matches(Some("Edit|Write"), Some("Write")));
/// assert!(hook_matches(Some("mcp__.*"), Some("mcp__calc__add")));
/// assert!(!hook_matches(Some("Edit"), Some("MultiEdit")));
/// ```
pub fn hook_matches(matcher: Option<&str>, subject: Option<&str>) -> bool {
    let (Some(matcher), Some(subject)) = (matcher, subject) else { return true };
    if matches!(matcher, "" | "*") {
        return true;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|' | ',' | ' ' | '-');
    if matcher.chars().all(plain) {
        let subject = canonical_tool_name(subject);
        return matcher.split(['|', ',']).any(|name| canonical_tool_name(name.trim()) == subject);
    }
    Regex::new(matcher).is_ok_and(|pattern| pattern.is_match(subject))
}

/// What the matcher of an event is compared with: the value of this field of its input.
fn subject_field(event: &str) -> Option<&'static str> {
    Some(match event {
        "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionRequest"
        | "PermissionDenied" => "tool_name",
        "UserPromptExpansion" => "command_name",
        "SessionStart" | "ConfigChange" | "DirectoryAdded" => "source",
        "Setup" | "PreCompact" | "PostCompact" => "trigger",
        "PreModelSwitch" | "PostModelSwitch" => "to_model",
        "Notification" => "notification_type",
        "SessionEnd" => "reason",
        "StopFailure" => "error",
        "SubagentStart" | "SubagentStop" => "agent_type",
        "Elicitation" | "ElicitationResult" => "mcp_server_name",
        "InstructionsLoaded" => "load_reason",
        "FileChanged" => "file_path",
        _ => return None,
    })
}

/// The answers of all callbacks of an event.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HookAnswers {
    /// The answers, in the order of the callbacks. A failed one has none.
    pub outputs: Vec<HookOutput>,
    /// A callback did not answer in time.
    pub timed_out: bool,
    /// A callback failed for which the host blocks the action.
    pub failed_and_blocks: bool,
    /// The answer of a callback was for another event.
    pub is_for_other: bool,
}

impl HookAnswers {
    /// Why the action is blocked, if it is.
    pub fn block(&self) -> Option<Text> {
        let blocks = |output: &&HookOutput| output.decision.value() == Some(&HookDecision::Block);
        let output = self.outputs.iter().find(blocks)?;
        Some(output.reason.value().cloned().unwrap_or_default())
    }

    /// Whether a callback stops the turn.
    pub fn stops(&self) -> bool {
        self.outputs.iter().any(|output| output.go_on.value() == Some(&false))
    }

    /// Text of the callbacks for the model.
    pub fn context(&self) -> Vec<Text> {
        let specific = self.outputs.iter().filter_map(|output| output.specific.value());
        let context = specific.filter_map(|specific| {
            RawJson::from_wire(specific).get("additionalContext").and_then(|text| text.as_str())
        });
        context.collect()
    }
}

/// Hooks that run in the agent's process, beside the callbacks of the host: commands of settings files, for example.
pub trait LocalHooks: Debug + Send + Sync {
    /// Starts the hooks of an event. `subject` is what their matchers are compared with. The hooks run while the host is
    /// asked; the future returns their answers, and dropping it stops them.
    fn start(
        &self,
        session: &Session,
        event: &str,
        subject: Option<&str>,
        input: &RawJson,
    ) -> Pin<Box<dyn Future<Output = Vec<HookOutput>> + Send>>;
}

impl Session {
    /// Calls the host's hooks for an event: all callbacks that match, at the same time. What every
    /// input has (the session, the directory, the mode) is filled in.
    pub async fn hook(&self, input: impl Into<HookInput> + Send) -> HookAnswers {
        let input = self.completed(&input.into());
        let event = input.tag().to_owned();
        let raw = RawJson::from_wire(&input);
        let field = |name: &str| raw.get(name).and_then(|value| value.as_str());
        let subject = subject_field(&event).and_then(field);
        let callbacks =
            self.connection.with(|state| state.hooks.matching(&event, subject.as_deref()));
        let call = field("tool_use_id");
        let started = Instant::now();
        let mut asked = Vec::new();
        for callback in callbacks {
            let call = call.clone().map_or_else(|| ToolUseId::from(self.new_id()), ToolUseId::from);
            let request = HookCallback::new()
                .callback_id(callback.id.clone())
                .input(input.clone())
                .tool_use_id(call);
            asked.push((callback, self.connection.ask(request.into(), false)));
        }
        let local = self.connection.local_hooks();
        let local = local.map(|hooks| hooks.start(self, &event, subject.as_deref(), &raw));
        let mut run = HookAnswers::default();
        for (callback, answer) in asked {
            match timeout_at(started + callback.timeout, answer).await {
                Err(_) => run.timed_out = true,
                Ok(Outcome::Success(success)) if success.read::<HookOutput>().is_ok() => {
                    let output = success.read::<HookOutput>().unwrap_or_default();
                    let named = output.specific.value().map(|specific| specific.tag().to_owned());
                    match named.filter(|named| *named != event) {
                        None => run.outputs.push(output),
                        Some(_) => {
                            run.failed_and_blocks |= callback.blocks;
                            run.is_for_other = true;
                        }
                    }
                }
                Ok(Outcome::Withdrawn | Outcome::Ended) => {}
                Ok(_) => {
                    run.failed_and_blocks |= callback.blocks;
                    self.complain(&event, &callback.id).await;
                }
            }
        }
        if let Some(local) = local {
            run.outputs.extend(local.await);
        }
        self.pass_on(&event, subject.as_deref(), &run).await;
        run
    }

    fn completed(&self, input: &HookInput) -> HookInput {
        let Ok(mut fields) = Map::<RawJson>::from_json(&input.to_json()) else {
            return input.clone();
        };
        let info = &self.connection.options.info;
        let (session, mode) =
            self.connection.with(|state| (state.session.clone(), state.mode.clone()));
        let text = |text: &str| RawJson::from_wire(&Text::from(text));
        let base = [
            ("session_id", text(session.as_str())),
            ("transcript_path", text(&info.transcript_path)),
            ("cwd", text(&info.cwd)),
            ("permission_mode", text(mode.as_str())),
        ];
        for (name, value) in base {
            if fields.get(name).is_none() {
                fields.insert(name, value);
            }
        }
        HookInput::from_json(&fields.to_json()).unwrap_or_else(|_| input.clone())
    }

    async fn complain(&self, event: &str, callback: &CallbackId) {
        let content = format!(
            "{event}: Hook callback {callback} failed: the SDK host replied with an error or an \
             invalid answer. Its answer was treated as empty."
        );
        let line = Informational::new()
            .content(content)
            .level(NoticeLevel::Warning)
            .tag("hook_callback_failed");
        self.inform(line).await;
    }

    /// Sends the messages of hooks for the person.
    async fn pass_on(&self, event: &str, subject: Option<&str>, run: &HookAnswers) {
        let source = subject.map_or_else(|| event.to_owned(), |name| format!("{event}:{name}"));
        for output in &run.outputs {
            if let Some(message) = output.system_message.as_str() {
                let content = format!("{source} says: {message}");
                self.inform(Informational::new().content(content).level(NoticeLevel::Notice)).await;
            }
        }
    }

    /// Sends a notice for the person. The ids of the line are filled in.
    pub async fn inform(&self, mut line: Informational) {
        line = line.uuid(self.new_id());
        line = line.session_id(self.id());
        self.connection.say(System::from(Box::new(line))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::hook_matches as matches;

    #[test]
    fn matchers_are_names_or_patterns() {
        assert!(matches(None, Some("Bash")) && matches(Some(""), Some("Bash")));
        assert!(matches(Some("*"), Some("Bash")) && matches(Some("Edit|Write"), Some("Write")));
        assert!(matches(Some("Task"), Some("Agent")) && !matches(Some("Edit"), Some("MultiEdit")));
        assert!(matches(Some("mcp__.*"), Some("mcp__calc__add")));
        assert!(!matches(Some("(["), Some("Bash")), "a bad pattern matches nothing");
    }
}
