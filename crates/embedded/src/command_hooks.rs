//! [`CommandHooks`]: runs the hooks of settings files, which are commands, and reports them to the host.

use std::path::Path;
use std::pin::Pin;
use std::sync::Mutex;

use duologue_agent::{LocalHooks, Session};
use duologue_protocol::RawJson;
use duologue_protocol::hook::HookOutput;
use duologue_protocol::system::{HookOutcome, HookResponse, HookStarted, System};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::permission::RuleSource;
use crate::settings::{CommandHook, CommandHookRun};
use crate::shared::lock;
use crate::tools::Cancel;

/// The events that a hook can have, what each is, and whether a matcher selects its hooks. The words are the CLI's own.
const EVENTS: &[(&str, &str, bool)] = &[
    ("PreToolUse", "Before tool execution", true),
    ("PostToolUse", "After tool execution", true),
    ("PostToolUseFailure", "After tool execution fails", true),
    ("PostToolBatch", "After a batch of tool calls resolves", false),
    ("PermissionDenied", "After auto mode denies a tool call", true),
    ("Notification", "When notifications are sent", true),
    ("UserPromptSubmit", "When the user submits a prompt", false),
    ("UserPromptExpansion", "When a user-typed slash command expands into a prompt", true),
    ("SessionStart", "When a new session is started", true),
    ("Stop", "Right before Claude concludes its response", false),
    ("StopFailure", "When the turn ends due to an API error", true),
    ("SubagentStart", "When a subagent (Agent tool call) is started", true),
    ("SubagentStop", "Right before a subagent (Agent tool call) concludes its response", true),
    ("PreCompact", "Before conversation compaction", true),
    ("PostCompact", "After conversation compaction", true),
    ("SessionEnd", "When a session is ending", true),
    ("PermissionRequest", "When a permission dialog is displayed", true),
];

/// The command hooks of an agent.
#[derive(Debug)]
pub(crate) struct CommandHooks {
    /// Those of settings files.
    settings: Vec<CommandHook>,
    /// Those of plugins.
    plugins: Mutex<Vec<CommandHook>>,
    /// Whether every run is reported to the host: `--include-hook-events`.
    report_all: bool,
}

impl CommandHooks {
    pub(crate) const fn new(settings: Vec<CommandHook>, report_all: bool) -> Self {
        Self { settings, plugins: Mutex::new(Vec::new()), report_all }
    }

    /// Sets the hooks of plugins.
    pub(crate) fn replace_plugin_hooks(&self, hooks: Vec<CommandHook>) {
        *lock(&self.plugins) = hooks;
    }

    fn all(&self) -> Vec<CommandHook> {
        self.settings.iter().chain(lock(&self.plugins).iter()).cloned().collect()
    }

    /// All hooks, for `get_hooks_listing`.
    pub(crate) fn listed(&self) -> Value {
        let all = self.all();
        let event = |(name, summary, has_matcher): &(&str, &str, bool)| json!({ "name": name, "summary": summary, "supportsMatcher": has_matcher });
        let used = EVENTS.iter().filter_map(|known| {
            let count = all.iter().filter(|hook| hook.event == known.0).count();
            let mut listed = event(known);
            listed["hookCount"] = json!(count);
            (count > 0).then_some(listed)
        });
        let hooks = all.iter().map(|hook| {
            let (source, label) = match hook.source {
                RuleSource::UserSettings => {
                    ("userSettings", "User settings (~/.claude/settings.json)")
                }
                RuleSource::ProjectSettings => {
                    ("projectSettings", "Project settings (.claude/settings.json)")
                }
                RuleSource::LocalSettings => {
                    ("localSettings", "Local settings (.claude/settings.local.json)")
                }
                RuleSource::FlagSettings => ("flagSettings", "Command line arguments"),
                _ => ("plugin", "Plugin"),
            };
            json!({
                "event": hook.event, "matcher": hook.matcher.clone().unwrap_or_default(),
                "source": source, "sourceLabel": label, "type": "command",
                "displayText": hook.command, "commandText": hook.command, "contentLabel": "Command",
            })
        });
        json!({
            "events": used.collect::<Vec<_>>(), "hooks": hooks.collect::<Vec<_>>(),
            "eventCatalog": EVENTS.iter().map(event).collect::<Vec<_>>(),
        })
    }
}

impl LocalHooks for CommandHooks {
    fn start(
        &self,
        session: &Session,
        event: &str,
        subject: Option<&str>,
        input: &RawJson,
    ) -> Pin<Box<dyn Future<Output = Vec<HookOutput>> + Send>> {
        let mut running = JoinSet::new();
        let matching = self.all().into_iter();
        let matching = matching.filter(|hook| hook.event == event && hook.matches(subject));
        for (index, hook) in matching.enumerate() {
            let name = match subject {
                Some(subject) => format!("{event}:{subject}"),
                None => event.to_owned(),
            };
            // Hooks at the start are always reported.
            let is_reported = self.report_all || event == "SessionStart";
            let input = input.read().unwrap_or_default();
            let session = session.clone();
            running.spawn(async move {
                let id = session.new_id();
                if is_reported {
                    report_start(&session, &hook, &name, &id).await;
                }
                let cwd = session.cwd();
                let run = hook.run(&input, Path::new(cwd.as_str()), &Cancel::new()).await.ok();
                if let Some(run) = run.as_ref().filter(|_| is_reported) {
                    report_end(&session, &hook, &name, &id, run).await;
                }
                (index, run.map(|run| hook.output(&run)))
            });
        }
        Box::pin(async move {
            let mut ended = Vec::new();
            while let Some(done) = running.join_next().await {
                if let Ok((index, Some(output))) = done {
                    ended.push((index, output));
                }
            }
            ended.sort_by_key(|(index, _)| *index);
            ended.into_iter().map(|(_, output)| output).collect()
        })
    }
}

async fn report_start(session: &Session, hook: &CommandHook, name: &str, id: &str) {
    let line = HookStarted::new()
        .hook_id(id)
        .hook_name(name)
        .hook_event(&*hook.event)
        .uuid(session.new_id())
        .session_id(session.id());
    session.say_line(System::from(Box::new(line))).await;
}

async fn report_end(
    session: &Session,
    hook: &CommandHook,
    name: &str,
    id: &str,
    run: &CommandHookRun,
) {
    let mut line = HookResponse::new()
        .hook_id(id)
        .hook_name(name)
        .hook_event(&*hook.event)
        .output(format!("{}{}", run.stdout, run.stderr))
        .stdout(&*run.stdout)
        .stderr(&*run.stderr)
        .outcome(HookOutcome::from(run.outcome.as_str()))
        .uuid(session.new_id())
        .session_id(session.id());
    line.exit_code = run.exit_code.map(Into::into).into();
    session.say_line(System::from(Box::new(line))).await;
}
