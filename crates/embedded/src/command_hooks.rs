//! [`CommandHooks`]: runs the hooks of settings files, which are commands, and reports them to the host.

use std::path::Path;
use std::pin::Pin;

use duologue_agent::{LocalHooks, Session};
use duologue_protocol::RawJson;
use duologue_protocol::hook::HookOutput;
use duologue_protocol::system::{HookOutcome, HookResponse, HookStarted, System};
use tokio::task::JoinSet;

use crate::settings::{CommandHook, CommandHookRun};
use crate::tools::Cancel;

/// The command hooks of an agent.
#[derive(Debug)]
pub(crate) struct CommandHooks {
    hooks: Vec<CommandHook>,
    /// Whether every run is reported to the host: `--include-hook-events`.
    report_all: bool,
}

impl CommandHooks {
    pub(crate) const fn new(hooks: Vec<CommandHook>, report_all: bool) -> Self {
        Self { hooks, report_all }
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
        let matching = self.hooks.iter();
        let matching = matching.filter(|hook| hook.event == event && hook.matches(subject));
        for (index, hook) in matching.cloned().enumerate() {
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
