//! Sub-agents and work in the background.

use std::time::Duration;

use duologue::handlers::{Decision, PermissionRequest};
use duologue::{Event, Events};
use duologue_model::{Block, Reply, Scenario, When, Who};
use duologue_testkit::peers::imitated_version;
use serde_json::{Value, json};

use super::{ask, close, count, says, texts, touch};
use crate::case::{Trouble, Verdict, holds, same};
use crate::stage::Stage;

/// A command that runs until the case ends it: see [`Gate`].
const UNTIL_GO: &str = "head -n 1 go";

/// A named pipe in the working directory. A command that reads a line of it waits until the gate is opened.
struct Gate(std::fs::File);

impl Gate {
    fn closed(stage: &Stage) -> Result<Self, Trouble> {
        let path = stage.work().join("go");
        let made = std::process::Command::new("mkfifo").arg(&path).status()?;
        if !made.success() {
            return Err(Trouble::fails(format!("mkfifo failed: {made}")));
        }
        // Opened for reading and writing, it does not wait for a reader and keeps the line until one comes.
        Ok(Self(std::fs::OpenOptions::new().read(true).write(true).open(path)?))
    }

    fn open(&mut self) -> Verdict {
        Ok(std::io::Write::write_all(&mut self.0, b"go\n")?)
    }
}

/// The tool that starts a sub-agent has two names.
fn starter(stage: &Stage) -> &'static str {
    if stage.since("2.1.100") { "Agent" } else { "Task" }
}

fn delegate(stage: &Stage, prompt: &str, more: Value) -> Block {
    let mut input = json!({
        "description": "Do it", "prompt": prompt, "subagent_type": "general-purpose",
        "run_in_background": false,
    });
    if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
        input.extend(more.clone());
    }
    Block::tool(starter(stage), input)
}

fn with_helper(scenario: Scenario, name: &str) -> Scenario {
    scenario.agent(name, Who::prompt(format!("you are the {name}")))
}

pub(super) async fn foreground(stage: &Stage) -> Verdict {
    let replies = [
        Reply::new().say(delegate(stage, "you are the aide", json!({}))),
        touch("seen").agent("aide"),
        Reply::text("It is done.").agent("aide"),
        Reply::text("The helper is done."),
    ];
    let (_server, builder) = stage.play(with_helper(says(replies), "aide")).await?;
    let session = builder.on_permission(async |_| Decision::allow()).start().await?;
    let (events, outcome) = ask(&session, "Delegate").await?;
    same!(outcome.text(), "The helper is done.", "the text");
    holds!(stage.wrote("seen"), "the helper did nothing");
    same!(texts(&events), ["The helper is done."], "the main agent's texts");
    same!(count(&events, "agent_started"), 1, "agents started");
    same!(count(&events, "agent_finished"), 1, "agents finished");
    let theirs = events.iter().filter(|event| event.agent().is_some()).count();
    holds!(theirs > 0, "nothing is attributed to the helper");
    close(session).await
}

pub(super) async fn two_at_once(stage: &Stage) -> Verdict {
    let both = Reply::new().say(delegate(stage, "you are the ann", json!({}))).say(delegate(
        stage,
        "you are the bob",
        json!({}),
    ));
    let replies = [
        both,
        touch("ann").agent("ann"),
        Reply::text("Ann is done.").agent("ann"),
        touch("bob").agent("bob"),
        Reply::text("Bob is done.").agent("bob"),
        Reply::text("Both are done."),
    ];
    let scenario = with_helper(with_helper(says(replies), "ann"), "bob");
    let (_server, builder) = stage.play(scenario).await?;
    let session = builder.on_permission(async |_| Decision::allow()).start().await?;
    let (events, outcome) = ask(&session, "Delegate").await?;
    same!(outcome.text(), "Both are done.", "the text");
    holds!(stage.wrote("ann") && stage.wrote("bob"), "a helper did nothing");
    same!(count(&events, "agent_finished"), 2, "agents finished");
    close(session).await
}

pub(super) async fn their_permissions(stage: &Stage) -> Verdict {
    let replies = [
        Reply::new().say(delegate(stage, "you are the aide", json!({}))),
        touch("seen").agent("aide"),
        Reply::text("I was not allowed.").agent("aide"),
        Reply::text("The helper was not allowed."),
    ];
    let (_server, builder) = stage.play(with_helper(says(replies), "aide")).await?;
    let session = builder
        .on_permission(async |ask: PermissionRequest| {
            Decision::deny(format!("no {} for helpers", ask.tool_name()))
        })
        .start()
        .await?;
    let (_, outcome) = ask(&session, "Delegate").await?;
    same!(outcome.text(), "The helper was not allowed.", "the text");
    holds!(!stage.wrote("seen"), "the command ran");
    close(session).await
}

/// A sub-agent with a sub-agent: by default it waits for it.
pub(super) async fn nested(stage: &Stage) -> Verdict {
    stage.needs("2.1.197", "a sub-agent cannot start another")?;
    let inner = json!({
        "description": "Do it", "prompt": "you are the ben", "subagent_type": "general-purpose",
    });
    let replies = [
        Reply::new().say(delegate(stage, "you are the aide", json!({}))),
        Reply::new().say(Block::tool(starter(stage), inner)).agent("aide"),
        touch("seen").agent("ben"),
        Reply::text("Ben is done.").agent("ben"),
        Reply::text("Ben said so.").agent("aide").when(When::tool_result("Ben is done.")),
        Reply::text("The helpers are done.").when(When::tool_result("Ben said so.")),
    ];
    let scenario = with_helper(with_helper(says(replies), "aide"), "ben");
    let (_server, builder) = stage.play(scenario).await?;
    let session = builder.on_permission(async |_| Decision::allow()).start().await?;
    let (events, outcome) = ask(&session, "Delegate").await?;
    same!(outcome.text(), "The helpers are done.", "the text");
    holds!(stage.wrote("seen"), "the inner helper did nothing");
    close(session).await?;
    stage.needs(imitated_version(), "the end of a nested sub-agent is not reported")?;
    same!(count(&events, "agent_finished"), 2, "agents finished");
    Ok(())
}

/// Reads until a turn without a prompt has ended.
async fn until_it_comes_back(events: &mut Events) -> Result<Vec<Event>, Trouble> {
    let mut seen = Vec::new();
    while let Some(event) = events.next().await? {
        let unasked = match &event {
            Event::TurnFinished(finished) => finished.prompts.is_empty(),
            _ => false,
        };
        seen.push(event);
        if unasked {
            return Ok(seen);
        }
    }
    Err(Trouble::fails("the session ended first"))
}

pub(super) async fn background_agent(stage: &Stage) -> Verdict {
    stage.needs("2.1.197", "the end of a background agent starts no turn")?;
    comes_back(stage, delegate(stage, "you are the aide", json!({ "run_in_background": true })))
        .await
}

/// By default, the main agent does not wait.
pub(super) async fn by_default(stage: &Stage) -> Verdict {
    stage.needs(
        imitated_version(),
        "a sub-agent does not run in the background by default, so no turn follows",
    )?;
    comes_back(
        stage,
        Block::tool("Agent", json!({ "description": "Do it", "prompt": "you are the aide" })),
    )
    .await
}

/// The sub-agent that this call starts reports its result later.
async fn comes_back(stage: &Stage, call: Block) -> Verdict {
    let replies = [
        Reply::new().say(call),
        Reply::text("It works in the background."),
        // It does not end before the first turn.
        Reply::text("Done in the background.").agent("aide").stall_after(0),
        Reply::text("The helper has come back."),
    ];
    let (server, builder) = stage.play(with_helper(says(replies), "aide")).await?;
    let session = builder.on_permission(async |_| Decision::allow()).start().await?;
    let mut events = session.events();
    let (_, outcome) = ask(&session, "Delegate").await?;
    same!(outcome.text(), "It works in the background.", "the first turn");
    server.resume();
    let seen = until_it_comes_back(&mut events).await?;
    let last = texts(&seen).pop();
    same!(last.as_deref(), Some("The helper has come back."), "the turn without a prompt");
    close(session).await
}

pub(super) async fn background_command(stage: &Stage) -> Verdict {
    stage.needs("2.1.197", "the end of a background command starts no turn")?;
    // It does not end before the first turn.
    let command =
        json!({ "command": format!("{UNTIL_GO}; touch seen"), "run_in_background": true });
    let replies = [
        Reply::new().say(Block::tool("Bash", command)),
        Reply::text("It runs."),
        Reply::text("It has run."),
    ];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.on_permission(async |_| Decision::allow()).start().await?;
    let mut gate = Gate::closed(stage)?;
    let mut events = session.events();
    let (_, outcome) = ask(&session, "Run it").await?;
    same!(outcome.text(), "It runs.", "the first turn");
    gate.open()?;
    let seen = until_it_comes_back(&mut events).await?;
    same!(texts(&seen).pop().as_deref(), Some("It has run."), "the turn without a prompt");
    holds!(stage.wrote("seen"), "the command did not run");
    close(session).await
}

pub(super) async fn stop_task(stage: &Stage) -> Verdict {
    stage.needs("2.1.197", "tasks are reported since 2.1.197")?;
    let command = json!({ "command": "sleep 60", "run_in_background": true });
    let replies = [
        Reply::new().say(Block::tool("Bash", command)),
        Reply::text("It runs."),
        Reply::text("It was stopped.").when(When::prompt("stop")).always(),
    ];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder
        .linger(Duration::from_secs(5))
        .on_permission(async |_| Decision::allow())
        .start()
        .await?;
    let mut events = session.events();
    ask(&session, "Run it").await?;
    let task = loop {
        match events.next().await? {
            Some(Event::TaskStarted(started)) => break Some(started.task_id.clone()),
            Some(_) => {}
            None => return Err(Trouble::fails("no task was reported")),
        }
    };
    let task = task.ok_or_else(|| Trouble::fails("the task has no id"))?;
    session.control().stop_task(task.as_str()).await?;
    close(session).await
}

pub(super) async fn long_command(stage: &Stage) -> Verdict {
    stage.needs("2.1.197", "tasks are reported since 2.1.197")?;
    // The CLI reports a command as a task once it has run for about 3 s. 2.1.197 sends the report when the command has
    // ended, so the case cannot wait for it.
    let command = json!({ "command": "sleep 6", "description": "Wait a little" });
    let replies = [Reply::new().say(Block::tool("Bash", command)), Reply::text("It has run.")];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    let (events, outcome) = ask(&session, "Run it").await?;
    same!(outcome.text(), "It has run.", "the text");
    same!(count(&events, "task_started"), 1, "task_started events");
    same!(count(&events, "task_finished"), 1, "task_finished events");
    close(session).await
}
