//! Everything that might be run by a command line, to hold against rules that forbid.
//!
//! A rule that forbids is to hold in a loop, in a substitution, behind `sudo`. So this looks for
//! commands wherever there may be one, and errs to that side.

use super::shell::is_assignment;

/// How deep to look for commands in commands.
const MAX_DEPTH: usize = 8;

/// How many pieces are looked at.
const MAX_PIECES: usize = 1000;

/// Commands that run the command that follows them.
const WRAPPERS: [&str; 18] = [
    "sudo",
    "doas",
    "env",
    "nohup",
    "nice",
    "ionice",
    "timeout",
    "time",
    "command",
    "builtin",
    "exec",
    "xargs",
    "stdbuf",
    "setsid",
    "watch",
    "caffeinate",
    "chroot",
    "unbuffer",
];

/// Commands that run a text.
const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "su"];

/// Words that stand before a command.
const BEFORE: [&str; 9] = ["if", "then", "else", "elif", "while", "until", "do", "!", "{"];

/// The commands that might be run, in the forms that a rule may be about.
pub(super) fn pieces(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(command, 0, &mut found);
    found.push(command.trim().to_owned());
    found
}

fn collect(command: &str, depth: usize, found: &mut Vec<String>) {
    if depth > MAX_DEPTH || found.len() > MAX_PIECES {
        return;
    }
    let (commands, nested) = split(command);
    for nested in nested {
        collect(&nested, depth + 1, found);
    }
    for command in commands {
        if found.len() > MAX_PIECES {
            return;
        }
        piece(&command, depth, found);
    }
}

/// One command, as words that say what they say.
fn piece(words: &[String], depth: usize, found: &mut Vec<String>) {
    let mut words = words;
    while let Some((first, rest)) = words.split_first() {
        if BEFORE.contains(&first.as_str()) || is_assignment(first) {
            words = rest;
        } else {
            break;
        }
    }
    let Some((first, rest)) = words.split_first() else { return };
    let name = first.rsplit('/').next().unwrap_or_default().to_owned();
    found.push(words.join(" "));
    if name != *first {
        found.push(std::iter::once(&name).chain(rest).cloned().collect::<Vec<_>>().join(" "));
    }
    if WRAPPERS.contains(&name.as_str()) {
        // Options of a wrapper may have values: the command may begin at any word.
        for start in 0..rest.len().min(8) {
            if found.len() > MAX_PIECES || depth > MAX_DEPTH {
                return;
            }
            piece(&rest[start..], depth + 1, found);
        }
    }
    if SHELLS.contains(&name.as_str()) {
        for text in rest.iter().filter(|text| !text.starts_with('-')) {
            collect(text, depth + 1, found);
        }
        if name == "eval" {
            collect(&rest.join(" "), depth + 1, found);
        }
    }
    for (index, word) in rest.iter().enumerate() {
        if matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            piece(&rest[index + 1..], depth + 1, found);
        }
    }
}

/// The simple commands of a text as words, and the texts that it would run to find out more.
fn split(command: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let mut commands = vec![Vec::new()];
    let mut nested = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = command;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), other) => word.get_or_insert_default().push(other),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, '\\') => {
                if let Some(next) = rest.chars().next() {
                    rest = &rest[next.len_utf8()..];
                    if next != '\n' {
                        word.get_or_insert_default().push(next);
                    }
                }
            }
            (_, '`') => {
                let end = rest.find('`').unwrap_or(rest.len());
                nested.push(rest[..end].to_owned());
            }
            // What is in parentheses is looked at twice: as a text of its own, and in its place.
            (_, '$') if rest.starts_with('(') => nested.push(rest[1..].to_owned()),
            (Some(_), other) => word.get_or_insert_default().push(other),
            (None, ';' | '&' | '|' | '\n' | '(' | ')') => {
                end(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            (None, ' ' | '\t') => end(&mut word, &mut commands),
            (None, '<' | '>') => {
                end(&mut word, &mut commands);
                // The target is no part of the command; `>x rm y` runs `rm y`.
                rest = rest.trim_start_matches(['<', '>', '&', '|', ' ', '\t']);
                let stop = rest.find([' ', '\t', '\n', ';', '|', '&']).unwrap_or(rest.len());
                rest = &rest[stop..];
            }
            (None, other) => word.get_or_insert_default().push(other),
        }
    }
    end(&mut word, &mut commands);
    commands.retain(|command| !command.is_empty());
    (commands, nested)
}

fn end(word: &mut Option<String>, commands: &mut [Vec<String>]) {
    if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
        command.push(word);
    }
}
