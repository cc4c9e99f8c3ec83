//! Whether a command may run.

use std::path::{Path, PathBuf};

use duologue_protocol::permission::{
    PermissionBehavior, PermissionDestination, PermissionMode, PermissionUpdate,
};

use super::programs::only_changes_files;
use super::reach::Reach;
use super::read_only::reads;
use super::runs::Runs;
use super::shell::{self, Joint, Part, Unclear, Word};
use super::suggestions::{accept_edits, allow_folder, allow_rule};
use super::{Ask, Permissions, Reason, Verdict};
use crate::tools::{BashTool, ReadTool};

/// How many rules are suggested at once.
const MAX_RULES: usize = 5;

/// Why one part of a command line is not allowed.
enum Obstacle {
    /// A file would be changed; by a redirection, or by a command that does nothing else.
    Change { path: PathBuf, by_redirect: bool },
    /// A file outside would be read.
    Outside(PathBuf),
    /// A path must not be read.
    Denied(PathBuf),
    /// No rule allows it.
    NotAllowed,
}

impl Permissions {
    pub(super) fn judge_command(&self, command: &str, cwd: &Path) -> Verdict {
        let script = shell::read(command);
        let runs = Runs::of(command, &script);
        let about = |behavior: PermissionBehavior| {
            self.rules_of(behavior, BashTool::NAME)
                .any(|rule| runs.lines.iter().any(|line| rule.matches_command(line, false)))
        };
        let maybe_about = |behavior: PermissionBehavior| {
            self.rules_of(behavior, BashTool::NAME).find(|rule| {
                runs.hidden
                    || runs.lines.iter().any(|line| rule.may_match(line))
                    || runs.texts.iter().any(|text| rule.mentioned(text))
            })
        };
        if about(PermissionBehavior::Deny) {
            let message = format!("Permission to use Bash with command {command} has been denied.");
            return Verdict::deny(message, Reason::Rule);
        }
        let parsed = script.parse(command);
        let obstacles = parsed.map(|parts| self.obstacles(parts, cwd));
        let denied = |path: &Path| {
            Verdict::deny(
                format!("Permission to use {} has been denied.", path.display()),
                Reason::Rule,
            )
        };
        if let Ok(obstacles) = &obstacles
            && let Some((_, Obstacle::Denied(path))) = obstacles.first()
        {
            return denied(path);
        }
        match self.reach(&runs, cwd) {
            Reach::Denied(path) => return denied(&path),
            Reach::Unsure(what) => return ask_unsure(&format!("it may use {what}")),
            Reach::Free => {}
        }
        // Neither a mode nor an allow rule overrides a deny rule that cannot be checked.
        if let Some(rule) = maybe_about(PermissionBehavior::Deny) {
            return ask_unsure(&format!("it may run what {} denies", rule.spelled()));
        }
        let must_ask =
            about(PermissionBehavior::Ask) || maybe_about(PermissionBehavior::Ask).is_some();
        if self.mode() != PermissionMode::BypassPermissions
            && let Ok(parts) = parsed
            && let Some(folder) = self.removed_directory(parts, cwd)
        {
            return ask_dangerous(&folder);
        }
        if !must_ask && self.mode() == PermissionMode::BypassPermissions {
            return Verdict::Allow(Reason::Mode);
        }
        let allowed_whole = self
            .rules_of(PermissionBehavior::Allow, BashTool::NAME)
            .any(|rule| rule.content.is_none() || rule.matches_command(command, true));
        if !must_ask && allowed_whole {
            return Verdict::Allow(Reason::Rule);
        }
        let (parts, obstacles) = match (parsed, obstacles) {
            (Ok(parts), Ok(obstacles)) => (parts, obstacles),
            (Err(unclear), _) | (_, Err(unclear)) => return ask_unclear(command, unclear),
        };
        if obstacles.is_empty() && !must_ask {
            return Verdict::Allow(Reason::SubcommandResults);
        }
        self.ask_about(command, parts, &obstacles)
    }

    /// The obstacles, part by part. Denials come first.
    fn obstacles<'p>(&self, parts: &'p [Part], cwd: &Path) -> Vec<(&'p Part, Obstacle)> {
        let mut cwd = cwd.to_path_buf();
        let mut obstacles = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            for redirect in &part.redirects {
                let found = self.redirect_obstacle(&redirect.target, redirect.writes, &cwd);
                obstacles.extend(found.map(|found| (part, found)));
            }
            if let Some(folder) = self.entered(parts, index, &cwd) {
                cwd = folder;
            } else if let Some(found) = self.obstacle(part, &cwd) {
                obstacles.push((part, found));
            }
        }
        obstacles.sort_by_key(|(_, obstacle)| !matches!(obstacle, Obstacle::Denied(_)));
        obstacles
    }

    /// A working directory, or a parent of one, that a command would remove. No rule
    /// allows that.
    fn removed_directory(&self, parts: &[Part], cwd: &Path) -> Option<PathBuf> {
        let removes = |part: &&Part| matches!(part.name(), "rm" | "rmdir");
        let operands = parts.iter().filter(removes).flat_map(|part| part.words.iter().skip(1));
        let paths = operands.filter(|word| !word.value.starts_with('-'));
        paths.map(|word| self.resolve(&word.value, cwd)).find_map(|judged| {
            let holds = |folder: &Path| folder.starts_with(&judged.shown);
            let is_held = self.directories().iter().any(|folder| holds(folder))
                || self.home().is_some_and(holds);
            is_held.then_some(judged.shown)
        })
    }

    /// The folder that a part goes to, if it is an allowed one and all that follows happens there.
    fn entered(&self, parts: &[Part], index: usize, cwd: &Path) -> Option<PathBuf> {
        let part = &parts[index];
        let [name, folder] = part.words.as_slice() else { return None };
        let plain = !folder.globs && !folder.value.starts_with('-') && !part.assigns();
        // A prepared repository can make git run anything.
        let git = parts.iter().any(|part| part.name() == "git");
        let joined = part.then.is_none_or(|joint| joint == Joint::And);
        if name.value != "cd" || !plain || git || !joined || index > 0 {
            return None;
        }
        self.inside(&folder.value, cwd)
    }

    fn redirect_obstacle(&self, target: &Word, writes: bool, cwd: &Path) -> Option<Obstacle> {
        if target.globs {
            return Some(Obstacle::NotAllowed);
        }
        if target.value == "/dev/null" {
            return None;
        }
        if writes {
            self.change_obstacle(&target.value, cwd, true)
        } else {
            self.read_obstacle(&target.value, cwd)
        }
    }

    fn obstacle(&self, part: &Part, cwd: &Path) -> Option<Obstacle> {
        let text = part.text();
        let allowed = || {
            self.rules_of(PermissionBehavior::Allow, BashTool::NAME)
                .any(|rule| rule.matches_command(&text, false))
        };
        if part.assigns() {
            // The variable may change what the command does.
            return (!allowed()).then_some(Obstacle::NotAllowed);
        }
        if let Some(paths) = reads(&part.words) {
            let found = worst(paths.iter().filter_map(|path| self.read_obstacle(path, cwd)));
            return found.filter(|found| matches!(found, Obstacle::Denied(_)) || !allowed());
        }
        let Some(mut paths) = file_operands(part) else {
            return (!allowed()).then_some(Obstacle::NotAllowed);
        };
        // What is copied stays as it is; where it goes counts first.
        let from = if part.name() == "cp" && paths.len() > 1 {
            paths.drain(..paths.len() - 1).collect()
        } else {
            Vec::new()
        };
        let changes = paths.iter().filter_map(|path| self.change_obstacle(path, cwd, false));
        let found =
            worst(changes.chain(from.iter().filter_map(|path| self.read_obstacle(path, cwd))));
        found.filter(|found| matches!(found, Obstacle::Denied(_)) || !allowed())
    }

    fn read_obstacle(&self, path: &str, cwd: &Path) -> Option<Obstacle> {
        let judged = self.resolve(path, cwd);
        if self.forbids_reading(&judged) {
            return Some(Obstacle::Denied(judged.shown));
        }
        (!self.may_read(&judged)).then_some(Obstacle::Outside(judged.shown))
    }

    fn change_obstacle(&self, path: &str, cwd: &Path, by_redirect: bool) -> Option<Obstacle> {
        let judged = self.resolve(path, cwd);
        if self.forbids_changing(&judged) {
            return Some(Obstacle::Denied(judged.shown));
        }
        let accepted = self.mode() == PermissionMode::AcceptEdits
            && self.is_inside(&judged)
            && !self.is_root(&judged)
            && !self.is_delicate(&judged);
        (!accepted).then_some(Obstacle::Change { path: judged.shown, by_redirect })
    }

    fn ask_about(&self, command: &str, parts: &[Part], obstacles: &[(&Part, Obstacle)]) -> Verdict {
        if self.mode() == PermissionMode::Plan {
            return Verdict::Ask(Box::new(Ask {
                decision_reason_type: Some(Reason::Mode),
                message: "Plan mode changes nothing: the command was not run.".to_owned(),
                ..Ask::default()
            }));
        }
        let mut suggestions = Vec::new();
        let mut ask =
            Ask { message: "This command requires approval".to_owned(), ..Ask::default() };
        let change = obstacles.iter().find_map(|(part, obstacle)| match obstacle {
            Obstacle::Change { path, by_redirect } => Some((*part, path, *by_redirect)),
            _ => None,
        });
        let outside = obstacles.iter().find_map(|(part, obstacle)| match obstacle {
            Obstacle::Outside(path) => Some((*part, path)),
            _ => None,
        });
        if let Some((part, path, by_redirect)) = change {
            // The beginning of the whole command, whichever part of it is asked about.
            let content = parts.first().and_then(prefix).filter(|_| !by_redirect);
            suggestions.push(rule(content.unwrap_or_else(|| command.to_owned())));
            suggestions.push(allow_folder(path.parent().unwrap_or(path)));
            if !by_redirect && self.mode() == PermissionMode::Default {
                suggestions.push(accept_edits());
            }
            let what = match by_redirect {
                true => format!("Output redirection to '{}'", path.display()),
                false => format!("{} in '{}'", part.name(), path.display()),
            };
            ask.message = self.change_message(&what, path);
            ask.blocked_path = Some(path.clone());
        } else if let Some((part, path)) = outside {
            suggestions.push(rule(command.to_owned()));
            suggestions.push(allow_rule(
                ReadTool::NAME,
                Some(&format!("/{}/**", path.parent().unwrap_or(path).display())),
                PermissionDestination::Session,
            ));
            ask.blocked_path = Some(path.clone());
            ask.message = format!(
                "{} in '{}' was blocked. For security, Claude Code may only {} the allowed working directories for this session: {}.",
                part.name(),
                path.display(),
                reading(part.name()),
                self.folders()
            );
        } else {
            let not_allowed = obstacles.iter().map(|(part, _)| *part);
            for part in not_allowed.take(MAX_RULES) {
                suggestions.push(rule(prefix(part).unwrap_or_else(|| part.text())));
            }
            if parts.len() > 1 {
                ask.decision_reason_type = Some(Reason::SubcommandResults);
            } else {
                ask.decision_reason = Some(ask.message.clone());
                ask.decision_reason_type = Some(Reason::Other);
            }
        }
        ask.suggestions = Some(suggestions);
        Verdict::Ask(Box::new(ask))
    }

    /// Why a change is asked about. The words are the CLI's own.
    fn change_message(&self, what: &str, path: &Path) -> String {
        let folders = self.folders();
        if self.directories().iter().any(|folder| path.starts_with(folder)) {
            format!(
                "{what} needs approval. The path is inside the working directories for this session ({folders}), and Claude Code asks before a shell command creates, changes or removes files there."
            )
        } else {
            format!(
                "{what} needs approval. The path is outside the working directories for this session ({folders}). Allowing runs the command as written."
            )
        }
    }

    /// The working directories, for people.
    fn folders(&self) -> String {
        let folders = self.directories();
        let folders: Vec<String> =
            folders.iter().map(|folder| format!("'{}'", folder.display())).collect();
        folders.join(", ")
    }
}

/// What a command does with files that it reads. The words are the CLI's own.
fn reading(command: &str) -> &'static str {
    match command {
        "cat" => "concatenate files from",
        "ls" => "list files in",
        "find" => "search files in",
        "grep" => "search for patterns in files from",
        _ => "read files from",
    }
}

fn ask_dangerous(folder: &Path) -> Verdict {
    let folder = folder.display();
    Verdict::Ask(Box::new(Ask {
        message: format!(
            "Dangerous rm operation detected: '{folder}'\n\nThis command would remove a workspace directory (the working directory, an additional working directory, or one of their parent directories). This requires explicit approval and cannot be auto-allowed by permission rules."
        ),
        decision_reason: Some(format!(
            "Dangerous rm operation on working directory or its ancestor: {folder}"
        )),
        decision_reason_type: Some(Reason::SafetyCheck),
        suggestions: Some(Vec::new()),
        ..Ask::default()
    }))
}

/// The obstacle that counts: the first, unless another is a denial.
fn worst(obstacles: impl Iterator<Item = Obstacle>) -> Option<Obstacle> {
    obstacles.reduce(|first, next| match (&first, &next) {
        (Obstacle::Denied(_), _) => first,
        (_, Obstacle::Denied(_)) => next,
        _ => first,
    })
}

/// Asks because a deny rule may be about this command.
fn ask_unsure(why: &str) -> Verdict {
    Verdict::Ask(Box::new(Ask {
        message: "This command requires approval".to_owned(),
        decision_reason: Some(format!("This command cannot be checked in full: {why}")),
        decision_reason_type: Some(Reason::Other),
        suggestions: Some(Vec::new()),
        ..Ask::default()
    }))
}

fn ask_unclear(command: &str, unclear: Unclear) -> Verdict {
    let mut ask = Ask { message: "This command requires approval".to_owned(), ..Ask::default() };
    match unclear {
        Unclear::Substitution => ask.decision_reason_type = Some(Reason::SubcommandResults),
        Unclear::Variable => {
            let reason = "A variable in this command can't be checked before it runs";
            ask.suggestions = Some(Vec::new());
            ask.decision_reason = Some(reason.to_owned());
            ask.decision_reason_type = Some(Reason::Other);
        }
        Unclear::Structure => {
            ask.suggestions = Some(vec![rule(command.to_owned())]);
            ask.decision_reason = Some(ask.message.clone());
            ask.decision_reason_type = Some(Reason::Other);
        }
    }
    Verdict::Ask(Box::new(ask))
}

/// Suggests to allow a command for good.
fn rule(content: String) -> PermissionUpdate {
    allow_rule(BashTool::NAME, Some(&content), PermissionDestination::LocalSettings)
}

/// The beginning of a command that a rule may be about: `npm install *`. Only where the second word
/// looks like a subcommand.
fn prefix(part: &Part) -> Option<String> {
    let [name, second, ..] = part.words.as_slice() else { return None };
    let mut characters = second.raw.chars();
    let subcommand = characters.next().is_some_and(|c| c.is_ascii_lowercase())
        && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    subcommand.then(|| format!("{} {} *", name.raw, second.raw))
}

/// The paths that a command that only changes files would change.
fn file_operands(part: &Part) -> Option<Vec<&str>> {
    let (name, arguments) = part.words.split_first()?;
    if !only_changes_files(&name.value) || part.words.iter().any(|word| word.globs) {
        return None;
    }
    let options = ["-r", "-f", "-rf", "-fr", "-R", "-p", "-v", "-n", "-a", "-i", "--"];
    let values = arguments.iter().map(|word| word.value.as_str());
    let (given, paths): (Vec<&str>, Vec<&str>) = values.partition(|value| value.starts_with('-'));
    let known = given.iter().all(|option| options.contains(option));
    (known && !paths.is_empty()).then_some(paths)
}
