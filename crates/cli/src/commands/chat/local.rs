//! What the chat itself understands: a few slash commands. The others are the agent's.

use duologue_protocol::control::InitializeReply;
use duologue_protocol::permission::PermissionMode;
use owo_colors::OwoColorize as _;

use crate::visible::visible;

/// The permission modes that can be switched to.
pub(super) const MODES: [&str; 6] =
    ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

/// Our commands, and what they do.
pub(super) const COMMANDS: [(&str, &str); 5] = [
    ("/model", "which models there are, or another one: /model NAME"),
    ("/mode", "which permission modes there are, or another one: /mode NAME"),
    ("/cost", "what the conversation has cost"),
    ("/help", "what can be typed"),
    ("/exit", "leave (so does Ctrl-D)"),
];

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Nothing,
    /// For the agent.
    Prompt(String),
    Model(Option<String>),
    Mode(Option<String>),
    Cost,
    Help,
    Exit,
}

impl Typed {
    pub(super) fn read(line: &str) -> Self {
        let text = line.replace("\\\n", "\n");
        let mut words = text.split_whitespace();
        let (command, argument) = (words.next(), words.next().map(str::to_owned));
        match command {
            None => Self::Nothing,
            Some("/exit" | "/quit") => Self::Exit,
            Some("/help") => Self::Help,
            Some("/cost") => Self::Cost,
            Some("/model") => Self::Model(argument),
            Some("/mode") => Self::Mode(argument),
            Some(_) => Self::Prompt(text),
        }
    }
}

/// The value to ask for, if the agent knows a model by this name.
pub(super) fn model(handshake: Option<&InitializeReply>, name: &str) -> String {
    let models = handshake.map_or(&[][..], |reply| reply.models.items());
    let is_it = |field: Option<&str>| field.is_some_and(|text| text.eq_ignore_ascii_case(name));
    let found = models.iter().find(|model| {
        is_it(model.value.as_str())
            || is_it(model.display_name.as_str())
            || is_it(model.resolved_model.as_str())
    });
    found.and_then(|model| model.value.as_str()).unwrap_or(name).to_owned()
}

/// The models there are.
pub(super) fn models(handshake: Option<&InitializeReply>, now: Option<&str>) -> Vec<String> {
    let mut lines = vec![format!("model: {}", visible(now.unwrap_or("unknown")).bold())];
    for model in handshake.map_or(&[][..], |reply| reply.models.items()) {
        let value = visible(model.value.as_str().unwrap_or_default()).into_owned();
        let about = visible(model.description.as_str().unwrap_or_default()).into_owned();
        lines.push(format!("  {value:<16} {}", about.dimmed()));
    }
    lines
}

/// The modes there are.
pub(super) fn modes(now: Option<&PermissionMode>) -> Vec<String> {
    let now = now.map_or("unknown", PermissionMode::as_str);
    vec![format!("mode: {}", now.bold()), format!("  {}", MODES.join(", ").dimmed())]
}

/// What can be typed.
pub(super) fn help(handshake: Option<&InitializeReply>) -> Vec<String> {
    let mut lines: Vec<String> = COMMANDS
        .iter()
        .map(|(name, about)| format!("{} {}", format!("{name:<8}").bold(), about.dimmed()))
        .collect();
    let theirs = handshake.map_or(0, |reply| reply.commands.items().len());
    if theirs > 0 {
        lines.push(format!("{theirs} more are the agent's: type / and Tab").dimmed().to_string());
    }
    lines.push(
        "A \\ at the end goes on in the next line. Ctrl-C interrupts a turn.".dimmed().to_string(),
    );
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;

    use super::*;

    #[test]
    fn ours_and_theirs() {
        assert_eq!(Typed::read("  \n"), Typed::Nothing);
        assert_eq!(Typed::read("/exit"), Typed::Exit);
        assert_eq!(Typed::read("/model opus "), Typed::Model(Some("opus".into())));
        assert_eq!(Typed::read("/mode"), Typed::Mode(None));
        assert_eq!(Typed::read("/compact now"), Typed::Prompt("/compact now".into()));
        assert_eq!(Typed::read("/models"), Typed::Prompt("/models".into()));
        assert_eq!(Typed::read("one\\\ntwo"), Typed::Prompt("one\ntwo".into()));
    }

    #[test]
    fn models_have_several_names() {
        let json =
            r#"{"models":[{"value":"opus","displayName":"Opus","resolvedModel":"claude-opus-9"}]}"#;
        let reply = InitializeReply::from_json(json).unwrap();
        assert_eq!(model(Some(&reply), "OPUS"), "opus");
        assert_eq!(model(Some(&reply), "claude-opus-9"), "opus");
        assert_eq!(model(Some(&reply), "other"), "other");
        assert_eq!(model(None, "other"), "other");
    }
}
