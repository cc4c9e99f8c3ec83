//! Hooks that are commands, beside those of the host.

use std::path::Path;

use duologue_protocol::RawJson;
use duologue_protocol::hook::HookOutput;
use duologue_protocol::system::{HookOutcome as Outcome, HookResponse, HookStarted, System};
use tokio::task::JoinSet;

use crate::session::Session;
use crate::settings::{CommandHook, HookRun};
use crate::tools::Cancel;

/// Commands that run. Dropped, they stop.
pub(super) type Running = JoinSet<(usize, CommandHook, String, Option<HookRun>)>;

impl Session {
    /// Starts the commands that want to know of an event.
    pub(super) fn start_commands(
        &self,
        event: &str,
        subject: Option<&str>,
        input: &RawJson,
    ) -> Running {
        let mut running = JoinSet::new();
        let options = &self.core.options;
        let wanted = options.commands.iter();
        let wanted = wanted.filter(|hook| hook.event == event && hook.matches(subject));
        for (index, hook) in wanted.cloned().enumerate() {
            let (session, name) = (self.clone(), name(&hook, subject));
            let input = input.read().unwrap_or_default();
            running.spawn(async move {
                let id = session.tell_started(&hook, &name).await;
                let cwd = session.cwd();
                let run = hook.run(&input, Path::new(cwd.as_str()), &Cancel::new()).await.ok();
                if let Some(run) = &run {
                    session.tell_ended(&hook, &name, &id, run).await;
                }
                (index, hook, id, run)
            });
        }
        running
    }

    /// Waits for them. What they say stands in their order.
    pub(super) async fn end_commands(&self, mut running: Running) -> Vec<HookOutput> {
        let mut ended = Vec::new();
        while let Some(done) = running.join_next().await {
            if let Ok((index, hook, _, Some(run))) = done {
                ended.push((index, hook.output(&run)));
            }
        }
        ended.sort_by_key(|(index, _)| *index);
        ended.into_iter().map(|(_, output)| output).collect()
    }

    /// Whether the host hears of a hook: of those at the start it always does.
    fn hears_of(&self, hook: &CommandHook) -> bool {
        self.core.options.hook_events || hook.event == "SessionStart"
    }

    async fn tell_started(&self, hook: &CommandHook, name: &str) -> String {
        let id = self.new_id();
        if self.hears_of(hook) {
            let line = HookStarted::new()
                .hook_id(&*id)
                .hook_name(name)
                .hook_event(&*hook.event)
                .uuid(self.new_id())
                .session_id(self.id());
            self.say_line(System::from(Box::new(line))).await;
        }
        id
    }

    async fn tell_ended(&self, hook: &CommandHook, name: &str, id: &str, run: &HookRun) {
        if !self.hears_of(hook) {
            return;
        }
        let mut line = HookResponse::new()
            .hook_id(id)
            .hook_name(name)
            .hook_event(&*hook.event)
            .output(format!("{}{}", run.stdout, run.stderr))
            .stdout(&*run.stdout)
            .stderr(&*run.stderr)
            .outcome(Outcome::from(run.outcome.as_str()))
            .uuid(self.new_id())
            .session_id(self.id());
        line.exit_code = run.exit_code.map(Into::into).into();
        self.say_line(System::from(Box::new(line))).await;
    }
}

fn name(hook: &CommandHook, subject: Option<&str>) -> String {
    subject.map_or_else(|| hook.event.clone(), |subject| format!("{}:{subject}", hook.event))
}
