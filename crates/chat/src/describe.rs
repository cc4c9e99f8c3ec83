//! Describes permission requests and suggested rules.

use duologue_protocol::control::CanUseTool;
use duologue_protocol::permission::{PermissionDestination, PermissionRule, PermissionUpdate};
use duologue_protocol::tool::ToolInput;
use duologue_protocol::{Field, Text};
use duologue_terminal::{Shown, line, ours, shown, summary};

use crate::subject::{Kind, Subject};

/// The name of a tool: `mcp__server__tool` becomes `server: tool`.
pub(super) fn tool_name(name: &str) -> Shown {
    let mcp = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    match mcp {
        Some((server, tool)) => shown!("{}: {}", line(server), line(tool)),
        None => line(name),
    }
}

/// The suggested permission updates; `None` if there are none.
pub(super) fn always(ask: &CanUseTool) -> Option<Vec<Shown>> {
    let suggestions = ask.permission_suggestions.items();
    if suggestions.is_empty() || ask.suppress_always_allow_rule.is_true() {
        return None;
    }
    Some(suggestions.iter().map(update).collect())
}

/// A permission update.
fn update(update: &PermissionUpdate) -> Shown {
    let rules =
        |rules: &[PermissionRule]| Shown::join(rules.iter().map(|rule| line(rule.spelled())), ", ");
    let (what, place) = match update {
        PermissionUpdate::AddRules(add) => {
            let behavior = add.behavior.as_str().unwrap_or("allow");
            (shown!("{} {}", line(behavior), rules(add.rules.items())), &add.destination)
        }
        PermissionUpdate::ReplaceRules(new) => {
            let behavior = new.behavior.as_str().unwrap_or("allow");
            (shown!("{} only {}", line(behavior), rules(new.rules.items())), &new.destination)
        }
        PermissionUpdate::RemoveRules(old) => {
            (shown!("forget the rule {}", rules(old.rules.items())), &old.destination)
        }
        PermissionUpdate::SetMode(set) => {
            let mode = set.mode.as_str().unwrap_or_default();
            (shown!("mode {}", line(mode)), &set.destination)
        }
        PermissionUpdate::AddDirectories(add) => {
            (shown!("work in {}", texts(&add.directories)), &add.destination)
        }
        PermissionUpdate::RemoveDirectories(old) => {
            (shown!("no longer work in {}", texts(&old.directories)), &old.destination)
        }
        _ => return ours("an unknown change"),
    };
    shown!("{} ({})", what, destination(place))
}

fn texts(field: &Field<Vec<Text>>) -> Shown {
    Shown::join(field.items().iter().map(line), ", ")
}

fn destination(place: &Field<PermissionDestination>) -> &'static str {
    match place.value() {
        Some(PermissionDestination::UserSettings) => "in your settings",
        Some(PermissionDestination::ProjectSettings) => "in the project's settings",
        Some(PermissionDestination::LocalSettings) => "in the project's local settings",
        _ => "for this session",
    }
}

/// The subject of a permission request.
pub(super) fn permission(ask: &CanUseTool) -> Subject {
    let name = ask.tool_name.as_str().unwrap_or("a tool");
    let title = match ask.title.as_str() {
        Some(title) => line(title),
        None => {
            let name = ask.display_name.as_str().map_or_else(|| tool_name(name), line);
            shown!("May the agent use {}?", name)
        }
    };
    let mut subject = input(Subject::new(title), ask, name);
    let input = summary::tool_input(name, ask.input.value());
    let is_new = |about: &&str| !about.is_empty() && !input.raw().ends_with(*about);
    if let Some(about) = ask.description.as_str().filter(is_new) {
        subject = subject.note(shown!("  purpose: {}", line(about)).dimmed());
    }
    if let Some(reason) = ask.decision_reason.as_str() {
        subject = subject.note(shown!("  reason: {}", line(reason)).dimmed());
    }
    if let Some(path) = ask.blocked_path.as_str() {
        subject = subject.note(shown!("  because of {}", line(path)).dimmed());
    }
    subject
}

/// Adds the input of the tool.
fn input(subject: Subject, ask: &CanUseTool, name: &str) -> Subject {
    let Some(input) = ask.input.value() else { return subject };
    let text = |field: &Field<Text>| field.as_str().unwrap_or_default().to_owned();
    match ToolInput::read(name, input) {
        Ok(ToolInput::Edit(edit)) => subject
            .text(Kind::Plain, &text(&edit.file_path))
            .text(Kind::Removed, &text(&edit.old_string))
            .text(Kind::Added, &text(&edit.new_string)),
        Ok(ToolInput::Write(write)) => subject
            .text(Kind::Plain, &text(&write.file_path))
            .text(Kind::Added, &text(&write.content)),
        _ => subject.text(Kind::Plain, summary::tool_input(name, Some(input)).raw()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;

    use super::*;
    use crate::menu::Menu;

    fn ask(json: &str) -> CanUseTool {
        CanUseTool::from_json(json).unwrap()
    }

    fn plain(ask: &CanUseTool) -> Vec<String> {
        let lines = permission(ask).lines(&Menu::new(Vec::new()), 24, 80);
        let mut lines: Vec<_> = lines.iter().map(|line| line.plain().to_string()).collect();
        lines.pop(); // which keys do what
        lines
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
                "  │ cd x &&",
                "  │ ␛[8mrm y",
                "  purpose: Clean up",
                "  reason: no rule allows it"
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
            ["? May the agent use Edit?", "  │ a.rs", "  │ - one", "  │ - two", "  │ + three"]
        );
    }

    #[test]
    fn suggestions_are_described() {
        let ask = ask(
            r#"{"subtype":"can_use_tool","tool_name":"mcp__db__query","permission_suggestions":[
                {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git *"}],
                 "behavior":"allow","destination":"localSettings"},
                {"type":"setMode","mode":"acceptEdits","destination":"session"},
                {"type":"addDirectories","directories":["/srv"],"destination":"userSettings"}]}"#,
        );
        assert_eq!(
            Shown::join(always(&ask).unwrap(), "; ").as_str(),
            "allow Bash(git *) (in the project's local settings); mode acceptEdits (for this \
             session); work in /srv (in your settings)"
        );
        assert_eq!(plain(&ask), ["? May the agent use db: query?"]);
    }
}
