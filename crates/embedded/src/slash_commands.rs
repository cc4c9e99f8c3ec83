//! Slash commands.

use duologue_model::{Model as _, Part, Purpose, Request, StreamedMessage};
use duologue_protocol::content::Content;
use duologue_protocol::control::SlashCommand;
use duologue_protocol::lines::{ConversationReset, ResetTrigger};
use duologue_protocol::message::Usage;
use duologue_protocol::system::{
    CompactBoundary, CompactMetadata, CompactResult, CompactTrigger, Status, StatusKind, System,
};
use duologue_protocol::{Field, Text, Wire as _};
use serde_json::{Value, json};

use super::{Embedded, api_failures, models};
use crate::custom::Command;
use crate::session_store::Sessions;
use duologue_agent::Turn;
use duologue_agent::UsageTotals;
use duologue_agent::clock;
use duologue_agent::{TurnError, TurnResult};

/// The commands that there are.
const COMMANDS: &[(&str, &str, &str, &[&str])] = &[
    ("clear", "Start a new session with empty context", "[name]", &["reset", "new"]),
    (
        "compact",
        "Free up context by summarizing the conversation so far",
        "<optional custom summarization instructions>",
        &[],
    ),
    ("context", "Show current context usage", "", &[]),
    ("model", "Use another model", "<model>", &[]),
    ("output-style", "List output styles or switch to one", "[style]", &[]),
    ("rename", "Rename the current conversation", "[name]", &["name"]),
    ("usage", "Show what was used and what it cost", "", &["cost", "stats"]),
];

/// What the model is asked for a summary.
const SUMMARY: &str = "Your task is to create a detailed summary of the conversation so far, so that \
    the work can go on from it alone: what was asked, what was done, what was found, what is left. \
    Put it inside <summary> and </summary>.";

/// How the model continues from a summary.
const GO_ON: &str = "Continue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening, do not preface with \"I'll continue\" or similar. Pick up the last task as if the break never happened.";

/// A summary and how many milliseconds it took, or why there is none.
pub(super) type Summarised = Result<(String, u64), TurnError>;

/// The name of a slash command, and its arguments.
pub(super) fn typed(text: &str) -> Option<(&str, &str)> {
    let typed = text.trim().strip_prefix('/')?;
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    Some((name, rest.trim()))
}

/// The commands, for the handshake: those of files first.
pub(super) fn listed(custom: &[Command], is_off: bool) -> Vec<SlashCommand> {
    if is_off {
        return Vec::new();
    }
    let aliases = |names: &[&str]| -> Field<Vec<Text>> {
        let names: Vec<Text> = names.iter().map(|name| Text::from(*name)).collect();
        Some(names).filter(|names| !names.is_empty()).into()
    };
    let own = COMMANDS.iter().map(|(name, what, hint, others)| {
        let mut command =
            SlashCommand::new().name(*name).description(*what).argument_hint(*hint).builtin(true);
        command.aliases = aliases(others);
        command
    });
    let custom = custom.iter().filter(|command| command.is_for_users).map(|command| {
        let mut listed = SlashCommand::new()
            .name(&*command.name)
            .description(command.described())
            .argument_hint(&*command.argument_hint);
        let others: Vec<&str> = command.aliases.iter().map(String::as_str).collect();
        listed.aliases = aliases(&others);
        listed
    });
    custom.chain(own).collect()
}

impl Embedded {
    /// Runs a slash command. `None` if the prompt is for the model.
    pub(super) async fn command(&mut self, turn: &Turn<'_>) -> Option<TurnResult> {
        let text = turn.text();
        let (name, rest) = typed(&text)?;
        if self.shared.custom().command(name).is_some() {
            return None;
        }
        if self.shared.setup.no_slash_commands {
            let is_ours = |(known, _, _, others): &(&str, &str, &str, &[&str])| {
                *known == name || others.contains(&name)
            };
            let is_ours = COMMANDS.iter().any(is_ours);
            return match is_ours {
                true => Some(
                    turn.say_locally(&format!("/{name} isn't available in this environment."))
                        .await,
                ),
                false => None,
            };
        }
        Some(match name {
            // Done before the turn was introduced.
            "clear" | "reset" | "new" => Ok(()),
            "compact" => self.compact(turn).await,
            "context" => turn.say_locally(&self.context_told(turn)).await,
            "cost" | "usage" | "stats" => turn.say_locally(&cost_told(turn)).await,
            "model" => self.model(turn, rest).await,
            "rename" | "name" => self.rename(turn, rest).await,
            "output-style" => self.output_style(turn, rest).await,
            "help" | "status" | "config" | "login" | "logout" => {
                turn.say_locally(&format!("/{name} isn't available in this environment.")).await
            }
            _ => return None,
        })
    }

    async fn model(&self, turn: &Turn<'_>, name: &str) -> TurnResult {
        if name.is_empty() {
            let model = turn.session().model();
            return turn.say_locally(&format!("The model is `{model}`")).await;
        }
        turn.session().set_model(models::full_name(name));
        turn.say_locally(&format!("Set model to `{name}` for this session only")).await
    }

    async fn rename(&self, turn: &Turn<'_>, title: &str) -> TurnResult {
        if title.is_empty() {
            return turn.say_locally("Usage: /rename <name>").await;
        }
        self.shared.conversation.set_title(title);
        let line = super::requests::titled(turn.session(), title);
        turn.session().say_line(System::from(Box::new(line))).await;
        turn.say_locally(&format!("Session renamed to: {title}")).await
    }

    async fn output_style(&self, turn: &Turn<'_>, style: &str) -> TurnResult {
        let names = self.shared.custom().style_names();
        if style.is_empty() {
            let current = self.shared.output_style();
            let lines = names.iter().map(|name| {
                let mark = if *name == current { " (current)" } else { "" };
                format!("- {name}{mark}")
            });
            let lines: Vec<String> = lines.collect();
            return turn
                .say_locally(&format!(
                    "Output style: {current}\n\nAvailable styles:\n{}\n\nUsage: /output-style <style>",
                    lines.join("\n")
                ))
                .await;
        }
        let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(style)) else {
            return turn.say_locally(&format!("Unknown output style: {style}")).await;
        };
        self.shared.set_output_style(turn.session(), name);
        turn.say_locally(&format!("Output style set to {name} for this session")).await
    }

    /// Does what a command has to do before `init` is sent.
    pub(super) async fn prepare(&mut self, turn: &Turn<'_>) {
        let text = turn.text();
        match typed(&text) {
            Some((name, _)) if self.shared.custom().command(name).is_some() => {}
            Some(_) if self.shared.setup.no_slash_commands => {}
            Some(("clear" | "reset" | "new", _)) => self.clear(turn).await,
            Some(("compact", wish)) => self.summary = self.summarise(turn, wish).await,
            _ => {}
        }
    }

    async fn clear(&self, turn: &Turn<'_>) {
        let session = turn.session();
        let id = session.new_id();
        let mut line = ConversationReset::new()
            .new_conversation_id(&*id)
            .trigger(ResetTrigger::Clear)
            .session_id(session.id())
            .uuid(id)
            .timestamp(clock::timestamp());
        let prompt = turn.prompts().last().and_then(|prompt| prompt.uuid.value().cloned());
        line.user_message_uuid = prompt.into();
        session.say_line(Box::new(line)).await;
        // What was usage belongs to the old conversation.
        session.set_usage(UsageTotals::default());
        let id = uuid::Uuid::new_v4().to_string();
        let setup = &self.shared.setup;
        let sessions = setup.persists.then(|| Sessions::new(&setup.config, &setup.cwd));
        self.shared.conversation.clear(&id, sessions);
        session.set_id(&*id);
        turn.end_locally("");
    }

    /// Asks for a summary, and reports it to the host. `None` if there is nothing to summarize.
    async fn summarise(&self, turn: &Turn<'_>, wish: &str) -> Option<Summarised> {
        let messages = self.shared.conversation.messages();
        if messages.is_empty() {
            return None;
        }
        let session = turn.session();
        session.status(Status::new().status(StatusKind::Compacting)).await;
        let started = std::time::Instant::now();
        let summary = self.summary(turn, &messages, wish).await;
        let mut done = Status::new();
        done.status = Field::Null;
        let done = match &summary {
            Ok(_) => done.compact_result(CompactResult::Success),
            Err(error) => {
                done.compact_result(CompactResult::Failed).compact_error(error.to_string())
            }
        };
        session.status(done).await;
        let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Some(summary.map(|summary| (summary, millis)))
    }

    /// Continues from the summary.
    async fn compact(&mut self, turn: &Turn<'_>) -> TurnResult {
        let (summary, millis) = match self.summary.take() {
            None => return turn.say_locally("No messages to compact").await,
            Some(Err(TurnError::Interrupted)) => return Err(TurnError::Interrupted),
            Some(Err(error)) => {
                return turn.say_locally(&format!("Error during compaction: {error}")).await;
            }
            Some(Ok(summary)) => summary,
        };
        let session = turn.session();
        let messages = self.shared.conversation.messages();
        let text = self.continued(turn, &messages, &summary);
        let before = tokens(&Value::from(messages));
        let metadata = json!({ "trigger": "manual", "preTokens": before });
        self.shared.conversation.compact(&metadata, &text);
        let metadata = CompactMetadata::new()
            .trigger(CompactTrigger::Manual)
            .pre_tokens(before)
            .post_tokens(tokens(&json!(text)))
            .duration_ms(millis);
        let boundary = CompactBoundary::new()
            .compact_metadata(metadata)
            .session_id(session.id())
            .uuid(session.new_id());
        session.say_line(System::from(Box::new(boundary))).await;
        let told = turn.user_line(Content::from(text.as_str())).is_synthetic(true);
        session.say_line(Box::new(told)).await;
        let done = "<local-command-stdout>Compacted </local-command-stdout>";
        let done = turn.user_line(Content::from(done)).is_replay(true);
        session.say_line(Box::new(done)).await;
        turn.end_locally("");
        Ok(())
    }

    /// What the model continues from. The words are the CLI's own.
    fn continued(&self, turn: &Turn<'_>, messages: &[Value], summary: &str) -> String {
        let mut tools: Vec<&str> = Vec::new();
        let content = messages.iter().filter_map(|message| message["content"].as_array());
        for block in content.flatten().filter(|block| block["type"] == "tool_use") {
            let name = block["name"].as_str().unwrap_or_default();
            if !tools.contains(&name) {
                tools.push(name);
            }
        }
        let tools = tools.join(", ");
        let setup = &self.shared.setup;
        let sessions = setup.persists.then(|| Sessions::new(&setup.config, &setup.cwd));
        let file = sessions.and_then(|sessions| sessions.path(turn.session().id().as_str()));
        let file = file.map_or_else(String::new, |file| {
            let file = file.display();
            format!("If you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: {file}\n")
        });
        format!(
            "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\n<system-reminder>\n<tools-used-before-summary>{tools}</tools-used-before-summary>\n</system-reminder>\nSummary:\n{summary}\n\n{file}{GO_ON}"
        )
    }

    async fn summary(
        &self,
        turn: &Turn<'_>,
        messages: &[Value],
        wish: &str,
    ) -> Result<String, TurnError> {
        let model = turn.session().model();
        let wish = if wish.is_empty() {
            String::new()
        } else {
            format!("\n\nAdditional instructions: {wish}")
        };
        let mut messages = messages.to_vec();
        let question = json!({ "type": "text", "text": format!("{SUMMARY}{wish}") });
        match messages.last_mut() {
            Some(last) if last["role"] == "user" => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.push(question);
                }
            }
            _ => messages.push(json!({ "role": "user", "content": [question] })),
        }
        let body =
            json!({ "model": &*model, "max_tokens": 8_000, "messages": messages, "stream": true });
        let request = Request::new(body).map_err(TurnError::failed)?.with_purpose(Purpose::Summary);
        let mut answer = self.shared.model.ask(request);
        let mut folded = StreamedMessage::new();
        loop {
            let part = tokio::select! {
                () = turn.interrupted() => return Err(TurnError::Interrupted),
                part = answer.next() => part,
            };
            match part {
                None => break,
                Some(Ok(Part::Event(event))) => drop(folded.add(&event).cloned()),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    return Err(TurnError::Failed(api_failures::failure(&error, &model).message));
                }
            }
        }
        let usage = Usage::from_json(&folded.message()["usage"].to_string()).unwrap_or_default();
        let (cost, _) = self.shared.cost(&model, &folded.tokens());
        turn.session().add_usage(&model, &usage, cost);
        let text = folded.text();
        let inner = text.split_once("<summary>").map_or(&*text, |(_, rest)| rest);
        Ok(inner.split_once("</summary>").map_or(inner, |(inner, _)| inner).trim().to_owned())
    }

    fn context_told(&self, turn: &Turn<'_>) -> String {
        let usage = self.shared.context_usage(&turn.session().model());
        let mut text = format!(
            "## Context Usage\n\n**Model:** {}  \n**Tokens:** {} / {} ({}%)\n\n### Estimated usage by category\n\n| Category | Tokens | Percentage |\n|----------|--------|------------|\n",
            turn.session().model(),
            usage["totalTokens"],
            usage["maxTokens"],
            usage["percentage"],
        );
        for category in usage["categories"].as_array().into_iter().flatten() {
            let tokens = category["tokens"].as_f64().unwrap_or_default();
            let share = tokens * 100.0 / usage["maxTokens"].as_f64().unwrap_or(1.0);
            let name = category["name"].as_str().unwrap_or_default();
            text.push_str(&format!("| {name} | {} | {share:.1}% |\n", category["tokens"]));
        }
        text
    }
}

fn cost_told(turn: &Turn<'_>) -> String {
    let session = turn.session();
    let usage = session.usage();
    let (api, models) = (usage.api_millis(), usage.model_usage());
    let mut text = format!(
        "Total cost:            ${:.4}\nTotal duration (API):  {}s\nUsage by model:",
        session.cost_usd(),
        api / 1000
    );
    for (model, usage) in models.iter() {
        let count = |field: &Field<duologue_protocol::Number>| field.as_u64().unwrap_or_default();
        text.push_str(&format!(
            "\n     {model}:  {} input, {} output, {} cache read, {} cache write (${:.4})",
            count(&usage.input_tokens),
            count(&usage.output_tokens),
            count(&usage.cache_read_input_tokens),
            count(&usage.cache_creation_input_tokens),
            usage.cost_usd.as_f64().unwrap_or_default(),
        ));
    }
    text
}

/// How many tokens something has, roughly.
pub(super) fn tokens(value: &Value) -> u64 {
    u64::try_from(value.to_string().len() / 4).unwrap_or(u64::MAX)
}
