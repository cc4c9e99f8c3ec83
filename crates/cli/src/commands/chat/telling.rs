//! What is asked and suggested, in words that a person can decide by.

use duologue_protocol::control::CanUseTool;
use duologue_protocol::permission::{PermissionDestination, PermissionRule, PermissionUpdate};
use duologue_protocol::tool::ToolInput;
use duologue_protocol::{Field, Text};
use owo_colors::OwoColorize as _;

use crate::visible::visible;
use crate::words;

/// How many lines of a text that is to be written are shown.
const FEW_LINES: usize = 24;

/// A tool's name as people say it: `mcp__server__tool` becomes `server: tool`.
pub(super) fn tool_name(name: &str) -> String {
    let mcp = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    match mcp {
        Some((server, tool)) => format!("{server}: {tool}"),
        None => name.to_owned(),
    }
}

/// What may be allowed for good, in words; `None` if nothing may.
pub(super) fn always(ask: &CanUseTool) -> Option<Vec<String>> {
    let suggestions = ask.permission_suggestions.items();
    if suggestions.is_empty() || ask.suppress_always_allow_rule.is_true() {
        return None;
    }
    Some(suggestions.iter().map(update).collect())
}

/// A change of the permissions, in words.
fn update(update: &PermissionUpdate) -> String {
    let rules = |rules: &[PermissionRule]| {
        rules.iter().map(PermissionRule::spelled).collect::<Vec<_>>().join(", ")
    };
    let (what, place) = match update {
        PermissionUpdate::AddRules(add) => {
            let behavior = add.behavior.as_str().unwrap_or("allow");
            (format!("{behavior} {}", rules(add.rules.items())), &add.destination)
        }
        PermissionUpdate::ReplaceRules(new) => {
            let behavior = new.behavior.as_str().unwrap_or("allow");
            (format!("{behavior} only {}", rules(new.rules.items())), &new.destination)
        }
        PermissionUpdate::RemoveRules(old) => {
            (format!("forget the rule {}", rules(old.rules.items())), &old.destination)
        }
        PermissionUpdate::SetMode(set) => {
            let mode = set.mode.as_str().unwrap_or_default();
            (format!("mode {mode}"), &set.destination)
        }
        PermissionUpdate::AddDirectories(add) => {
            (format!("work in {}", texts(&add.directories)), &add.destination)
        }
        PermissionUpdate::RemoveDirectories(old) => {
            (format!("no longer work in {}", texts(&old.directories)), &old.destination)
        }
        _ => return "something new to this version".to_owned(),
    };
    format!("{what} ({})", destination(place))
}

fn texts(field: &Field<Vec<Text>>) -> String {
    field.items().iter().map(Text::as_str).collect::<Vec<_>>().join(", ")
}

fn destination(place: &Field<PermissionDestination>) -> &'static str {
    match place.value() {
        Some(PermissionDestination::UserSettings) => "in your settings",
        Some(PermissionDestination::ProjectSettings) => "in the project's settings",
        Some(PermissionDestination::LocalSettings) => "in the project's local settings",
        _ => "for this session",
    }
}

/// What a request for permission is about, line by line.
pub(super) fn asked(ask: &CanUseTool) -> Vec<String> {
    let name = ask.tool_name.as_str().unwrap_or("a tool");
    let title = match ask.title.as_str() {
        Some(title) => visible(title).into_owned(),
        None => {
            let name = ask.display_name.as_str().map_or_else(|| tool_name(name), str::to_owned);
            format!("May the agent use {}?", visible(&name))
        }
    };
    let mut lines = vec![format!("{} {}", "?".yellow().bold(), title.bold())];
    let input = input(ask, name);
    let new = |about: &&str| {
        !about.is_empty() && !input.first().is_some_and(|line| line.ends_with(*about))
    };
    let about = ask.description.as_str().filter(new);
    lines.extend(input.iter().map(|line| format!("    {line}")));
    if let Some(about) = about {
        lines.push(format!("  {}", visible(about).dimmed()));
    }
    if let Some(reason) = ask.decision_reason.as_str() {
        lines.push(format!("  {}", visible(reason).dimmed()));
    }
    if let Some(path) = ask.blocked_path.as_str() {
        lines.push(format!("  {}", format!("because of {}", visible(path)).dimmed()));
    }
    lines
}

/// What exactly would be done.
fn input(ask: &CanUseTool, name: &str) -> Vec<String> {
    let Some(input) = ask.input.value() else { return Vec::new() };
    let text = |field: &Field<Text>| visible(field.as_str().unwrap_or_default()).into_owned();
    match ToolInput::read(name, input) {
        Ok(ToolInput::Edit(edit)) => {
            let mut lines = vec![text(&edit.file_path)];
            let removed = text(&edit.old_string);
            let added = text(&edit.new_string);
            lines.extend(few(&removed).map(|line| format!("- {line}").red().to_string()));
            lines.extend(few(&added).map(|line| format!("+ {line}").green().to_string()));
            lines
        }
        Ok(ToolInput::Write(write)) => {
            let mut lines = vec![text(&write.file_path)];
            let content = text(&write.content);
            lines.extend(few(&content).map(|line| format!("+ {line}").green().to_string()));
            lines
        }
        // A command is shown whole: what is cut off could be the point of it.
        _ => visible(&words::input(name, Some(input))).lines().map(str::to_owned).collect(),
    }
}

/// The first lines of a text, and how many there are more.
fn few(text: &str) -> impl Iterator<Item = String> + '_ {
    let more = text.lines().count().saturating_sub(FEW_LINES);
    let rest = (more > 0).then(|| format!("… {more} more lines"));
    text.lines().take(FEW_LINES).map(str::to_owned).chain(rest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;

    use super::*;

    fn ask(json: &str) -> CanUseTool {
        CanUseTool::from_json(json).unwrap()
    }

    fn plain(ask: &CanUseTool) -> Vec<String> {
        asked(ask).iter().map(|line| console::strip_ansi_codes(line).into_owned()).collect()
    }

    #[test]
    fn a_command_is_shown_whole() {
        let ask = ask(
            r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"cd x &&\n\u001b[8mrm y"},
                "description":"Clean up","decision_reason":"no rule allows it"}"#,
        );
        assert_eq!(
            plain(&ask),
            [
                "? May the agent use Bash?",
                "    cd x &&",
                "    ␛[8mrm y",
                "  Clean up",
                "  no rule allows it"
            ]
        );
        assert_eq!(always(&ask), None);
    }

    #[test]
    fn an_edit_is_shown_as_a_difference() {
        let ask = ask(r#"{"subtype":"can_use_tool","tool_name":"Edit",
                "input":{"file_path":"a.rs","old_string":"one\ntwo","new_string":"three"}}"#);
        assert_eq!(
            plain(&ask),
            ["? May the agent use Edit?", "    a.rs", "    - one", "    - two", "    + three"]
        );
    }

    #[test]
    fn suggestions_are_told_in_words() {
        let ask = ask(
            r#"{"subtype":"can_use_tool","tool_name":"mcp__db__query","permission_suggestions":[
                {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git *"}],
                 "behavior":"allow","destination":"localSettings"},
                {"type":"setMode","mode":"acceptEdits","destination":"session"},
                {"type":"addDirectories","directories":["/srv"],"destination":"userSettings"}]}"#,
        );
        assert_eq!(
            always(&ask).unwrap().join("; "),
            "allow Bash(git *) (in the project's local settings); mode acceptEdits (for this \
             session); work in /srv (in your settings)"
        );
        assert_eq!(plain(&ask), ["? May the agent use db: query?"]);
    }
}
