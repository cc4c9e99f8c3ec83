//! Which files a command line reaches, to check against rules that deny files.

use std::fs;
use std::path::{Path, PathBuf};

use duologue_protocol::permission::PermissionBehavior;

use super::Permissions;
use super::programs::{base_name, changes_files, only_prints, reads_files};
use super::runs::Runs;
use super::shell::{GLOB, UNKNOWN, is_wild};
use crate::tools::{EditTool, ReadTool, WriteTool};

/// How many working directories are tried.
const MAX_PLACES: usize = 16;

/// How many files are looked at to find those that a pattern names.
const MAX_FILES: usize = 10_000;

/// How many words of a text are taken for paths.
const MAX_WORDS: usize = 500;

/// What a command line would do with files that rules deny.
#[derive(Debug, PartialEq)]
pub(super) enum Reach {
    /// Nothing.
    Free,
    /// It may use one of them, but that is not certain.
    Unsure(String),
    /// It uses this one.
    Denied(PathBuf),
}

impl Permissions {
    /// What a command line would do with files that rules deny.
    pub(super) fn reach(&self, runs: &Runs, cwd: &Path) -> Reach {
        let denies = [ReadTool::NAME, EditTool::NAME, WriteTool::NAME].iter().any(|tool| {
            self.rules_of(PermissionBehavior::Deny, tool).any(|rule| rule.content.is_some())
        });
        if !denies {
            return Reach::Free;
        }
        let (places, lost) = self.places_of(runs, cwd);
        let mut reach = Reach::Free;
        if lost {
            reach.add(Reach::Unsure("the directory that it works in".to_owned()));
        }
        for (target, writes) in &runs.redirects {
            reach.add(self.used(target, &places, !*writes, *writes));
        }
        for words in &runs.commands {
            let Some((name, rest)) = words.split_first() else { continue };
            if only_prints(name) {
                continue;
            }
            let (reads, changes) = (reads_files(name), changes_files(words));
            for path in rest.iter().flat_map(|word| paths_in(word)) {
                let used = self.used(path, &places, true, changes);
                reach.add(match used {
                    // Whether it reads the file is not known.
                    Reach::Denied(path) if !reads && !changes => {
                        Reach::Unsure(path.display().to_string())
                    }
                    Reach::Unsure(_) if !reads && !changes => Reach::Free,
                    used => used,
                });
            }
        }
        let words = runs
            .texts
            .iter()
            .flat_map(|text| text.split(|c: char| " \t\n\"'`(),;|&<>=".contains(c)));
        for word in words.filter(|word| !word.is_empty() && !word.contains(is_wild)).take(MAX_WORDS)
        {
            if let Reach::Denied(path) = self.used(word, &places, true, false) {
                reach.add(Reach::Unsure(path.display().to_string()));
            }
        }
        reach
    }

    /// The directories that commands may run in, and whether there may be others.
    fn places_of(&self, runs: &Runs, cwd: &Path) -> (Vec<PathBuf>, bool) {
        let mut places = vec![cwd.to_path_buf()];
        let mut lost = false;
        for words in &runs.commands {
            if !matches!(words.first().map(|name| base_name(name)), Some("cd" | "pushd")) {
                continue;
            }
            let Some(folder) = words.iter().skip(1).find(|word| !word.starts_with('-')) else {
                places.extend(self.home().map(Path::to_path_buf));
                continue;
            };
            lost |= folder.contains(is_wild) || places.len() > MAX_PLACES;
            let entered: Vec<PathBuf> = places
                .iter()
                .take(MAX_PLACES)
                .filter_map(|place| self.resolve(folder, place).real)
                .collect();
            places.extend(entered);
            places.dedup();
        }
        (places, lost)
    }

    /// Whether a path that is read or changed is denied.
    fn used(&self, path: &str, places: &[PathBuf], reads: bool, changes: bool) -> Reach {
        if path.is_empty() {
            return Reach::Free;
        }
        if path.contains(UNKNOWN) {
            return Reach::Unsure(path.replace(is_wild, "…"));
        }
        let mut reach = Reach::Free;
        for place in places {
            if path.contains(GLOB) {
                reach.add(self.named(path, place, reads, changes));
                continue;
            }
            let judged = self.resolve(path, place);
            if (reads && self.forbids_reading(&judged))
                || (changes && self.forbids_changing(&judged))
            {
                reach.add(Reach::Denied(judged.shown));
            }
        }
        reach
    }

    /// Whether a pattern names a file that is denied.
    fn named(&self, pattern: &str, place: &Path, reads: bool, changes: bool) -> Reach {
        let first = pattern.find(GLOB).unwrap_or_default();
        let (folder, rest) = match pattern[..first].rfind('/') {
            Some(slash) => pattern.split_at(slash + 1),
            None => ("", pattern),
        };
        let Some(root) = self.resolve(folder, place).real else { return Reach::Free };
        let parts: Vec<&str> = rest.split('/').collect();
        let mut left = MAX_FILES;
        let mut open = vec![(root, 0)];
        while let Some((folder, part)) = open.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Some(fewer) = left.checked_sub(1) else {
                    return Reach::Unsure(pattern.replace(GLOB, "*"));
                };
                left = fewer;
                let name = entry.file_name();
                if !fits(parts[part], &name.to_string_lossy()) {
                    continue;
                }
                let path = folder.join(name);
                let reach =
                    self.used(&path.to_string_lossy(), &[PathBuf::from("/")], reads, changes);
                if matches!(reach, Reach::Denied(_)) {
                    return reach;
                }
                if part + 1 < parts.len() {
                    open.push((path, part + 1));
                }
            }
        }
        Reach::Free
    }
}

impl Reach {
    /// Keeps the worse of two.
    fn add(&mut self, other: Self) {
        let replaces =
            matches!((&*self, &other), (Self::Free, _) | (Self::Unsure(_), Self::Denied(_)));
        if replaces {
            *self = other;
        }
    }
}

/// The paths that a word may name: itself, or what follows `-f`, `--file=`, `if=`, `@` or `HEAD:`.
fn paths_in(word: &str) -> impl Iterator<Item = &str> {
    let itself = (!word.starts_with('-')).then_some(word);
    let attached =
        (word.starts_with('-') && !word.starts_with("--")).then(|| word.get(2..)).flatten();
    let after = |mark| word.split_once(mark).map(|(_, path)| path);
    [itself, attached, after('='), after('@'), after(':')].into_iter().flatten()
}

/// Whether a name fits a part of a pattern.
fn fits(pattern: &str, name: &str) -> bool {
    let mut stretches = pattern.split(GLOB);
    let first = stretches.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for stretch in stretches {
        if let Some(between) = last.replace(stretch) {
            let Some(at) = rest.find(between) else { return false };
            rest = &rest[at + between.len()..];
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}
