//! The slash commands of the chat. All others are sent to the agent.

use duologue_protocol::control::InitializeReply;
use duologue_protocol::permission::PermissionMode;
use duologue_terminal::{Shown, line, ours, shown};

/// The permission modes of `/mode`.
pub(super) const MODES: [&str; 6] =
    ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

/// Our commands, with their help.
pub(super) const COMMANDS: [(&str, &str); 5] = [
    ("/model", "list the models, or switch: /model NAME"),
    ("/mode", "list the permission modes, or switch: /mode NAME"),
    ("/cost", "show the cost of the conversation"),
    ("/help", "show this help"),
    ("/exit", "exit (or Ctrl-D)"),
];

/// A line of input.
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

/// The error for an unknown command. A path such as `/etc/hosts` is not a command, nor is a line that begins with a space.
pub(super) fn unknown(handshake: Option<&InitializeReply>, typed: &str) -> Option<Shown> {
    let name = typed.strip_prefix('/')?.split_whitespace().next()?;
    let is_like = |name: &str| {
        name.starts_with(char::is_alphabetic)
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':'))
            // MCP servers may have added prompts since the agent listed its commands.
            && !name.starts_with("mcp__")
    };
    let theirs = handshake.map_or(&[][..], |reply| reply.commands.items());
    // An agent that lists no commands may still have some.
    if !is_like(name) || theirs.is_empty() || !typed.starts_with(&format!("/{name}")) {
        return None;
    }
    let aliases = theirs.iter().flat_map(|command| command.aliases.items());
    let known = COMMANDS
        .iter()
        .filter_map(|(name, _)| name.strip_prefix('/'))
        .chain(theirs.iter().filter_map(|command| command.name.as_str()))
        .chain(aliases.map(|alias| alias.as_str()));
    let mut nearest: Option<(usize, &str)> = None;
    for known in known {
        if known == name {
            return None;
        }
        let far = strsim::damerau_levenshtein(known, name);
        let is_near = far <= 2 || (name.len() > 2 && known.starts_with(name));
        if is_near && nearest.is_none_or(|(least, _)| far < least) {
            nearest = Some((far, known));
        }
    }
    Some(match nearest {
        Some((_, near)) => {
            shown!("There is no command /{}. Did you mean /{}?", line(name), line(near))
        }
        None => shown!("There is no command /{}. /help lists the commands.", line(name)),
    })
}

/// The model with this name or alias; the name itself if the agent does not list it.
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

/// The output of `/model`.
pub(super) fn models(handshake: Option<&InitializeReply>, now: Option<&str>) -> Vec<Shown> {
    let mut lines = vec![shown!("model: {}", line(now.unwrap_or("unknown")).bold())];
    for model in handshake.map_or(&[][..], |reply| reply.models.items()) {
        let (value, about) = (line(&model.value), line(&model.description));
        lines.push(shown!("  {:<16} {}", value, about.dimmed()));
    }
    lines
}

/// The output of `/mode`.
pub(super) fn modes(now: Option<&PermissionMode>) -> Vec<Shown> {
    let now = line(now.map_or("unknown", PermissionMode::as_str));
    let modes = Shown::join(MODES.map(ours), ", ");
    vec![shown!("mode: {}", now.bold()), shown!("  {}", modes.dimmed())]
}

/// The output of `/help`.
pub(super) fn help(handshake: Option<&InitializeReply>) -> Vec<Shown> {
    let mut lines: Vec<Shown> = COMMANDS
        .iter()
        .map(|(name, about)| shown!("{} {}", shown!("{:<8}", *name).bold(), ours(about).dimmed()))
        .collect();
    let theirs = handshake.map_or(0, |reply| reply.commands.items().len());
    if theirs > 0 {
        lines.push(shown!("{} more of the agent: type / and Tab", theirs).dimmed());
    }
    lines.push(
        ours("End a line with \\ to continue on the next. Ctrl-C interrupts a turn.").dimmed(),
    );
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;

    use super::*;

    #[test]
    fn commands_of_the_chat_and_of_the_agent() {
        assert_eq!(Typed::read("  \n"), Typed::Nothing);
        assert_eq!(Typed::read("/exit"), Typed::Exit);
        assert_eq!(Typed::read("/model opus "), Typed::Model(Some("opus".into())));
        assert_eq!(Typed::read("/mode"), Typed::Mode(None));
        assert_eq!(Typed::read("/compact now"), Typed::Prompt("/compact now".into()));
        assert_eq!(Typed::read("/models"), Typed::Prompt("/models".into()));
        assert_eq!(Typed::read("one\\\ntwo"), Typed::Prompt("one\ntwo".into()));
    }

    #[test]
    fn an_unknown_command_is_noticed() {
        let json = r#"{"commands":[{"name":"compact","aliases":["squeeze"]},{"name":"mcp:ask"}]}"#;
        let reply = InitializeReply::from_json(json).unwrap();
        let said = |text: &str| unknown(Some(&reply), text).map(|line| line.to_string());
        let near = "There is no command /compcat. Did you mean /compact?";
        assert_eq!(said("/compcat now").unwrap(), near);
        assert_eq!(said("/modle x").unwrap(), "There is no command /modle. Did you mean /model?");
        assert!(said("/frobnicate").unwrap().starts_with("There is no command /frobnicate. "));
        let known = ["/compact", "/squeeze it", "/mcp:ask", "/model", "/etc/hosts is odd", "/ 2"];
        for known in known.into_iter().chain([" /frobnicate", "either/or", "/"]) {
            assert_eq!(said(known), None, "{known}");
        }
        // This agent does not list its commands.
        assert_eq!(unknown(None, "/frobnicate"), None);
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
