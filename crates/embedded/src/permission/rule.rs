//! Rules: a tool, and which calls of it.

use std::path::{Path, PathBuf};

use duologue_agent::canonical_tool_name;
use duologue_protocol::permission::{PermissionBehavior, PermissionRule};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::shell::is_wild;

/// How much work it may be to compare a rule with a command that is only known in part.
const MAX_COMPARED: usize = 4_000_000;

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleSource {
    /// The user's settings file.
    UserSettings,
    /// The project's settings file.
    ProjectSettings,
    /// The project's settings file that is not checked in.
    LocalSettings,
    /// `--settings`.
    FlagSettings,
    /// `--allowedTools`, `--disallowedTools`.
    CliArg,
    /// The session.
    Session,
}

impl RuleSource {
    /// Its name on the wire: `localSettings`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserSettings => "userSettings",
            Self::ProjectSettings => "projectSettings",
            Self::LocalSettings => "localSettings",
            Self::FlagSettings => "flagSettings",
            Self::CliArg => "cliArg",
            Self::Session => "session",
        }
    }
}

/// A rule in force.
///
/// ```
/// use duologue_embedded::permission::{Rule, RuleSource};
/// use duologue_protocol::permission::PermissionBehavior;
///
/// let rule = Rule::parse("Bash(git *)", PermissionBehavior::Allow, RuleSource::Session);
/// assert_eq!((rule.tool.as_str(), rule.content.as_deref()), ("Bash", Some("git *")));
/// assert_eq!(rule.spelled(), "Bash(git *)");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// The tool.
    pub tool: String,
    /// Which calls of it; all if it is absent.
    pub content: Option<String>,
    /// Allow, deny or ask.
    pub behavior: PermissionBehavior,
    /// Where it comes from.
    pub source: RuleSource,
}

impl Rule {
    /// Reads a rule as settings files and flags spell it. Malformed text is the name of a tool that
    /// does not exist.
    pub fn parse(text: &str, behavior: PermissionBehavior, source: RuleSource) -> Self {
        let text = text.trim();
        let (tool, content) = match text.split_once('(') {
            Some((tool, rest)) if !tool.is_empty() && rest.ends_with(')') => {
                (tool, Some(unescaped(&rest[..rest.len() - 1])))
            }
            _ => (text, None),
        };
        Self::new(tool, content, behavior, source)
    }

    /// A rule of the wire.
    pub fn from_wire(
        rule: &PermissionRule,
        behavior: PermissionBehavior,
        source: RuleSource,
    ) -> Self {
        let content = rule.rule_content.as_str().map(str::to_owned);
        Self::new(rule.tool_name.as_str().unwrap_or_default(), content, behavior, source)
    }

    fn new(
        tool: &str,
        content: Option<String>,
        behavior: PermissionBehavior,
        source: RuleSource,
    ) -> Self {
        let content = content.filter(|content| !content.is_empty() && content != "*");
        let tool = canonical_tool_name(tool).to_owned();
        Self { tool, content, behavior, source }
    }

    /// The rule as settings files spell it.
    pub fn spelled(&self) -> String {
        match &self.content {
            Some(content) => {
                let escaped = content.replace('\\', r"\\").replace('(', r"\(").replace(')', r"\)");
                format!("{}({escaped})", self.tool)
            }
            None => self.tool.clone(),
        }
    }

    /// Whether it is about the whole of this tool.
    pub(super) fn covers_tool(&self, tool: &str) -> bool {
        if self.content.is_some() {
            return false;
        }
        if self.tool == tool {
            return true;
        }
        // `mcp__server`, `mcp__server__*` and `mcp__*` are about all tools of servers.
        let Some(prefix) = self.tool.strip_prefix("mcp__").map(|_| self.tool.trim_end_matches('*'))
        else {
            return false;
        };
        let prefix = prefix.trim_end_matches("__");
        tool.strip_prefix(prefix).is_some_and(|rest| rest.starts_with("__"))
            && (self.tool.ends_with('*') || self.tool.matches("__").count() == 1)
    }

    /// Whether it is about this command, which is one command, or a whole command line if `exact`.
    pub(super) fn matches_command(&self, command: &str, exact: bool) -> bool {
        let Some(content) = &self.content else { return true };
        let command = command.trim();
        if content.trim() == command {
            return true;
        }
        if exact {
            return false;
        }
        if let Some(prefix) = content.strip_suffix(":*") {
            let rest = command.strip_prefix(prefix);
            return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n']));
        }
        // `git *` is about `git` alone, too.
        content.contains('*')
            && (wildcard(content, command)
                || content.strip_suffix(" *").is_some_and(|bare| wildcard(bare, command)))
    }

    /// Whether it could be about this command, in which some text is only known at run time.
    pub(super) fn may_match(&self, command: &str) -> bool {
        let Some(content) = &self.content else { return true };
        if !command.contains(is_wild) {
            return false;
        }
        let command: Vec<Option<char>> =
            command.trim().chars().map(|c| (!is_wild(c)).then_some(c)).collect();
        self.patterns(content).iter().any(|pattern| may_meet(pattern, &command))
    }

    /// The forms of its content; `None` stands for any text.
    fn patterns(&self, content: &str) -> Vec<Vec<Option<char>>> {
        let mut pattern: Vec<Option<char>> = Vec::new();
        let (content, open) = match content.strip_suffix(":*") {
            Some(prefix) => (prefix, true),
            None => (content.trim(), false),
        };
        let mut characters = content.chars().peekable();
        while let Some(character) = characters.next() {
            match (character, characters.peek()) {
                ('\\', Some('*')) => {
                    characters.next();
                    pattern.push(Some('*'));
                }
                ('*', _) if !open => pattern.push(None),
                _ => pattern.push(Some(character)),
            }
        }
        let mut patterns = vec![pattern.clone()];
        if open {
            pattern.extend([Some(' '), None]);
            patterns.push(pattern);
        } else if let Some(bare) = pattern.strip_suffix(&[Some(' '), None]) {
            patterns.push(bare.to_vec());
        }
        patterns
    }

    /// Whether a text names the command that it is about.
    pub(super) fn mentioned(&self, text: &str) -> bool {
        let Some(content) = &self.content else { return false };
        let content = content.strip_suffix(":*").unwrap_or(content);
        // As `printf` writes them.
        let text = text.replace("\\n", " ").replace("\\t", " ");
        let within = |c: char| c.is_alphanumeric() || "-_./+".contains(c);
        let has = |word: &str| {
            if word.contains('*') {
                let long = |part: &&str| part.len() > 1;
                return word.split('*').filter(long).all(|part| text.contains(part));
            }
            text.split(|c: char| !within(c))
                .any(|token| token == word || token.rsplit('/').next() == Some(word))
        };
        let mut words = content.split_whitespace().filter(|word| *word != "*").peekable();
        words.peek().is_some() && words.all(has)
    }

    /// Whether it is about this path.
    pub(super) fn matches_path(&self, path: &Path, places: &Places) -> bool {
        self.content.is_none()
            || self.paths(places).is_some_and(|paths| paths.contains(path, path.is_dir()))
    }

    /// The paths that it is about, if it names any.
    pub(super) fn paths(&self, places: &Places) -> Option<Paths> {
        let (root, pattern) = places.root(self.content.as_ref()?, self.source)?;
        let matcher = |pattern: &str| {
            let mut builder = GitignoreBuilder::new(&root);
            builder.add_line(None, pattern).ok()?;
            builder.build().ok()
        };
        let all = matcher(&pattern)?;
        // `secret/**` denies the folder itself, too.
        let folder =
            pattern.strip_suffix("/**").filter(|_| self.behavior == PermissionBehavior::Deny);
        let folder = folder.and_then(matcher);
        Some(Paths { root, all, folder })
    }
}

/// The paths that a rule is about.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    root: PathBuf,
    all: Gitignore,
    folder: Option<Gitignore>,
}

impl Paths {
    pub(super) fn contains(&self, path: &Path, is_dir: bool) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else { return false };
        if below.as_os_str().is_empty() {
            return false;
        }
        self.all.matched_path_or_any_parents(below, is_dir).is_ignore()
            || self.folder.as_ref().is_some_and(|folder| folder.matched(below, is_dir).is_ignore())
    }
}

/// Whether two patterns have a text in common. `None` stands for any text.
fn may_meet(one: &[Option<char>], other: &[Option<char>]) -> bool {
    if one.len().saturating_mul(other.len()) > MAX_COMPARED {
        return true;
    }
    // Which beginnings of `other` can be met by the beginning of `one` so far.
    let mut row = vec![true];
    for character in other {
        let before = row.last() == Some(&true);
        row.push(before && character.is_none());
    }
    for mine in one {
        let mut next = vec![row[0] && mine.is_none()];
        for (at, theirs) in other.iter().enumerate() {
            let met = match (mine, theirs) {
                (None, _) | (_, None) => row[at] || row[at + 1] || next[at],
                (mine, theirs) => row[at] && mine == theirs,
            };
            next.push(met);
        }
        row = next;
    }
    row.last() == Some(&true)
}

/// What the patterns of rules begin at.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) project: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) config: Option<PathBuf>,
}

impl Places {
    /// Where a pattern begins, and the rest of it: `//etc/x` at the root of the disk, `~/x` at home,
    /// `/x` beside the settings, `./x` and `x` in the project.
    fn root(&self, pattern: &str, source: RuleSource) -> Option<(PathBuf, String)> {
        if let Some(rest) = pattern.strip_prefix("//") {
            return Some((PathBuf::from("/"), format!("/{rest}")));
        }
        if let Some(rest) = pattern.strip_prefix("~/") {
            return Some((self.home.clone()?, format!("/{rest}")));
        }
        if pattern.starts_with('/') {
            let root = match source {
                RuleSource::UserSettings => self.config.clone()?,
                _ => self.project.clone(),
            };
            return Some((root, pattern.to_owned()));
        }
        if let Some(rest) = pattern.strip_prefix("./") {
            return Some((self.project.clone(), format!("/{rest}")));
        }
        Some((self.project.clone(), pattern.to_owned()))
    }
}

/// Splits a list of rules at commas and spaces outside of parentheses, as the flags do.
pub(super) fn split_list(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let rules = list.split(move |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (character == ',' || character == ' ')
    });
    rules.filter(|rule| !rule.is_empty()).collect()
}

fn unescaped(content: &str) -> String {
    let mut text = String::new();
    let mut characters = content.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('(' | ')' | '\\')) => text.extend(characters.next()),
            _ => text.push(character),
        }
    }
    text
}

/// Whether a text fits a pattern in which `*` stands for anything and `\*` for itself.
fn wildcard(pattern: &str, text: &str) -> bool {
    // The stretches between the stars.
    let mut stretches = vec![String::new()];
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('*', _) => stretches.push(String::new()),
            ('\\', Some('*')) => {
                characters.next();
                if let Some(last) = stretches.last_mut() {
                    last.push('*');
                }
            }
            _ => {
                if let Some(last) = stretches.last_mut() {
                    last.push(character);
                }
            }
        }
    }
    let [first, between @ .., last] = stretches.as_slice() else {
        return stretches.first().is_some_and(|only| only == text);
    };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for stretch in between {
        let Some(at) = rest.find(stretch.as_str()) else { return false };
        rest = &rest[at + stretch.len()..];
    }
    rest.ends_with(last.as_str())
}
