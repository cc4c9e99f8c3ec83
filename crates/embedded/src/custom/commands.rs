//! [`Command`]: slash commands in files, and skills.

use std::path::{Path, PathBuf};

use super::front_matter;

/// A slash command in a file, or a skill.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    /// Without the mark of where it comes from.
    pub(crate) description: String,
    pub(crate) argument_hint: String,
    /// The prompt, with its placeholders.
    pub(crate) body: String,
    pub(crate) kind: CommandKind,
    pub(crate) scope: Scope,
    /// What its turn needs no permission for, as rules.
    pub(crate) allowed_tools: Vec<String>,
    /// The model of its turn.
    pub(crate) model: Option<String>,
    /// Whether a person can type it.
    pub(crate) is_for_users: bool,
    /// Whether the model can use it.
    pub(crate) is_for_model: bool,
    /// The names of its arguments.
    pub(crate) arguments: Vec<String>,
    pub(super) plugin_root: Option<PathBuf>,
}

/// What a command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// A file.
    Command,
    /// The folder of a skill.
    Skill(PathBuf),
}

/// Where a command comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Project,
    User,
    Plugin(String),
}

/// Adds the commands and skills of a project and of a user. The project's replace the user's of the same name.
pub(super) fn load(found: &mut Vec<Command>, project: Option<&Path>, user: Option<&Path>) {
    let folders = [(project, Scope::Project), (user, Scope::User)];
    let folders = folders.iter().filter_map(|(folder, scope)| Some(((*folder)?, scope)));
    let folders: Vec<(&Path, &Scope)> = folders.collect();
    let mut skills: Vec<Command> = folders
        .iter()
        .flat_map(|(folder, scope)| self::skills(&folder.join("skills"), scope))
        .collect();
    let mut files: Vec<Command> = folders
        .iter()
        .flat_map(|(folder, scope)| self::files(&folder.join("commands"), scope))
        .collect();
    // The sort is stable: the project's come first.
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    files.sort_by(|a, b| a.name.cmp(&b.name));
    for command in skills.into_iter().chain(files) {
        if !found.iter().any(|known| known.name == command.name) {
            found.push(command);
        }
    }
}

/// The commands in a folder.
pub(super) fn files(folder: &Path, scope: &Scope) -> Vec<Command> {
    let files = super::markdown(folder).into_iter();
    files
        .filter_map(|(name, path)| Command::read(&name, &path, CommandKind::Command, scope))
        .collect()
}

/// The skills in a folder: one folder each.
pub(super) fn skills(folder: &Path, scope: &Scope) -> Vec<Command> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    let skills = folders.into_iter().filter_map(|folder| {
        let name = folder.file_name()?.to_str()?.to_owned();
        Command::read(&name, &folder.join("SKILL.md"), CommandKind::Skill(folder.clone()), scope)
    });
    skills.collect()
}

impl Command {
    fn read(name: &str, path: &Path, kind: CommandKind, scope: &Scope) -> Option<Self> {
        let text = super::read(path)?;
        let (fields, body) = front_matter::split(&text);
        let first =
            || body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let is_skill = kind != CommandKind::Command;
        let named = front_matter::text(&fields, "name").filter(|_| is_skill).unwrap_or(name);
        let (name, aliases) = match scope {
            // A skill of a plugin can be typed without the plugin's name.
            Scope::Plugin(plugin) => (
                format!("{plugin}:{named}"),
                is_skill.then(|| named.to_owned()).into_iter().collect(),
            ),
            _ => (named.to_owned(), Vec::new()),
        };
        let description = front_matter::text(&fields, "description").unwrap_or_else(first);
        let allowed = front_matter::list(&fields, "allowed-tools");
        let model = front_matter::text(&fields, "model").filter(|model| *model != "inherit");
        Some(Self {
            name,
            aliases,
            description: description.to_owned(),
            argument_hint: front_matter::text(&fields, "argument-hint")
                .unwrap_or_default()
                .to_owned(),
            body: body.to_owned(),
            kind,
            scope: scope.clone(),
            allowed_tools: allowed.unwrap_or_default(),
            model: model.map(str::to_owned),
            is_for_users: front_matter::switch(&fields, "user-invocable") != Some(false),
            is_for_model: front_matter::switch(&fields, "disable-model-invocation") != Some(true),
            arguments: front_matter::list(&fields, "arguments").unwrap_or_default(),
            plugin_root: None,
        })
    }

    /// Whether it is a skill.
    pub(crate) fn is_skill(&self) -> bool {
        self.kind != CommandKind::Command
    }

    /// The description that hosts are shown.
    pub(crate) fn described(&self) -> String {
        match &self.scope {
            Scope::Project => format!("{} (project)", self.description),
            Scope::User => format!("{} (user)", self.description),
            Scope::Plugin(plugin) => format!("({plugin}) {}", self.description),
        }
    }

    /// The prompt for these arguments.
    pub(crate) fn prompt(&self, arguments: &str) -> String {
        let body = match &self.kind {
            CommandKind::Command => self.body.clone(),
            CommandKind::Skill(folder) => {
                let folder_text = folder.to_string_lossy();
                let body = self.body.replace("${CLAUDE_SKILL_DIR}", &folder_text);
                format!(
                    "Base directory for this skill: {folder_text}\n\n{}",
                    body.trim_start_matches('\n')
                )
            }
        };
        let words = words(arguments);
        let (filled, has_used) = fill(&body, arguments, &words, &self.arguments);
        if has_used || arguments.is_empty() {
            filled
        } else {
            format!("{filled}\n\nARGUMENTS: {arguments}")
        }
    }

    /// How the conversation records that it was typed.
    pub(crate) fn typed(&self, arguments: &str) -> String {
        let name = &self.name;
        let head = format!(
            "<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
        );
        if arguments.is_empty() {
            head
        } else {
            format!("{head}\n<command-args>{arguments}</command-args>")
        }
    }
}

/// The words of arguments, with quotes as a shell has them.
fn words(text: &str) -> Vec<String> {
    shell_words::split(text)
        .unwrap_or_else(|_| text.split_whitespace().map(str::to_owned).collect())
}

/// Replaces placeholders: `$ARGUMENTS`, `$ARGUMENTS[0]`, `$0`, `$name`. One without a value is left as it is, and `\$` is a
/// dollar sign.
fn fill(body: &str, all: &str, words: &[String], names: &[String]) -> (String, bool) {
    let (mut filled, mut has_used) = (String::new(), false);
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let after = &from[1..];
        if let Some(before) = before.strip_suffix('\\') {
            filled.push_str(before);
            filled.push('$');
            rest = after;
            continue;
        }
        filled.push_str(before);
        let (value, length) = placeholder(after, all, words, names);
        match value {
            Some(value) => {
                has_used = true;
                filled.push_str(&value);
            }
            None => {
                filled.push('$');
                filled.push_str(&after[..length]);
            }
        }
        rest = &after[length..];
    }
    filled.push_str(rest);
    (filled, has_used)
}

/// The value of the placeholder at the beginning of a text, and its length.
fn placeholder(
    text: &str,
    all: &str,
    words: &[String],
    names: &[String],
) -> (Option<String>, usize) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if let Some(rest) = text.strip_prefix("ARGUMENTS") {
        let index = rest.strip_prefix('[').and_then(|rest| {
            let length = digits(rest);
            let index: usize = rest[..length].parse().ok()?;
            rest[length..].starts_with(']').then_some((index, length))
        });
        return match index {
            Some((index, length)) => {
                (Some(words.get(index).cloned().unwrap_or_default()), "ARGUMENTS[]".len() + length)
            }
            None => (Some(all.to_owned()), "ARGUMENTS".len()),
        };
    }
    let length = digits(text);
    if length > 0 {
        let index: Option<usize> = text[..length].parse().ok();
        return (index.and_then(|index| words.get(index).cloned()), length);
    }
    let length = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
    let at = names.iter().position(|name| *name == text[..length]);
    (at.map(|at| words.get(at).cloned().unwrap_or_default()), length)
}

#[cfg(test)]
mod tests {
    use super::{fill, words};

    fn filled(body: &str, arguments: &str) -> String {
        fill(body, arguments, &words(arguments), &["who".to_owned()]).0
    }

    #[test]
    fn placeholders_are_filled_as_in_the_cli() {
        let body = "A0=$0 A1=$1 A2=$2 all=$ARGUMENTS idx=$ARGUMENTS[1] esc=\\$1";
        assert_eq!(filled(body, "x y"), "A0=x A1=y A2=$2 all=x y idx=y esc=$1");
        assert_eq!(filled(body, "\"x y\" z"), "A0=x y A1=z A2=$2 all=\"x y\" z idx=z esc=$1");
        assert_eq!(filled("Hi $who, $whoever; $ and $$", "Ann"), "Hi Ann, $whoever; $ and $$");
    }
}
