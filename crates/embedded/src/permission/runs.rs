//! Everything that a command line might run, to check against rules that deny.
//!
//! A deny rule must hold in a loop, in a substitution, behind `sudo` and in `bash -c`. So this
//! looks for commands wherever there may be one. Three things come out: lines that are run for
//! certain, in which [`UNKNOWN`] stands for text that is only known at run time; texts that are
//! handed to programs which may run them; and whether something may be run that cannot be seen at
//! all.

use std::collections::HashMap;

use super::programs::{self, Kind};
use super::shell::{self, GLOB, Joint, Part, Script, UNKNOWN, Word};

/// How deep to look for commands in commands.
const MAX_DEPTH: usize = 12;

/// How many lines are looked at.
const MAX_LINES: usize = 4000;

/// How many values of a variable are tried.
const MAX_VALUES: usize = 8;

/// What a command line might run.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Commands in the forms that a rule may be about.
    pub(super) lines: Vec<String>,
    /// Commands and their arguments, for rules about files.
    pub(super) commands: Vec<Vec<String>>,
    /// Files that are redirected from (false) or to (true).
    pub(super) redirects: Vec<(String, bool)>,
    /// Texts that programs may run or evaluate.
    pub(super) texts: Vec<String>,
    /// Whether something runs that cannot be seen here.
    pub(super) hidden: bool,
    variables: HashMap<String, Vec<String>>,
}

/// An argument, with [`UNKNOWN`] in it.
#[derive(Clone, Debug)]
struct Argument {
    text: String,
    /// Whether it may be no argument at all, or several.
    splits: bool,
}

impl Argument {
    fn fixed(text: &str) -> Self {
        Self { text: text.to_owned(), splits: false }
    }

    fn unknown() -> Self {
        Self { text: UNKNOWN.to_string(), splits: true }
    }
}

impl Runs {
    /// Looks at a command line.
    pub(super) fn of(command: &str, script: &Script) -> Self {
        let mut runs = Self::default();
        runs.script(script, 0);
        runs.lines.push(command.trim().to_owned());
        runs
    }

    fn text(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH || self.lines.len() > MAX_LINES {
            self.hidden = true;
            return;
        }
        // What is expanded here can bring operators and quotes with it.
        self.hidden |= text.contains(UNKNOWN);
        self.script(&shell::read(text), depth);
    }

    fn script(&mut self, script: &Script, depth: usize) {
        self.hidden |= script.is_opaque();
        let set = script.commands.iter().flat_map(|part| {
            let declared = part.words.iter().filter(|_| programs::declares(part.name()));
            let declared =
                declared.filter_map(|word| Some((shell::assigned(&word.raw)?.to_owned(), word)));
            part.assignments.iter().map(|(name, word)| (name.clone(), word)).chain(declared)
        });
        for (name, word) in set {
            let value = word.value.split_once('=').map_or(word.value.as_str(), |(_, value)| value);
            // A loop assigns its words as they are.
            let value = if shell::assigned(&word.raw).is_some() { value } else { &word.value };
            let values = self.variables.entry(name).or_default();
            if values.len() < MAX_VALUES && !value.contains(UNKNOWN) {
                values.push(value.to_owned());
            }
            self.texts.push(word.value.clone());
            self.texts.push(word.raw.clone());
        }
        // What is piped to the next command, and what is written to files.
        let mut flow: Vec<String> = Vec::new();
        let mut written: Vec<String> = Vec::new();
        for part in &script.commands {
            self.part(part, depth);
            let mut said: Vec<String> =
                part.words.iter().skip(1).map(|word| word.value.clone()).collect();
            said.extend(part.inputs.iter().cloned());
            if !programs::runs_nothing(part) {
                self.texts.extend(programs::evaluated(part));
                self.texts.extend(part.inputs.iter().cloned());
                self.texts.append(&mut flow.clone());
                self.texts.append(&mut written.clone());
            }
            flow.extend(said.iter().cloned());
            if part.redirects.iter().any(|to| to.writes && to.target.value != "/dev/null") {
                written.append(&mut flow.clone());
            }
            if part.then != Some(Joint::Pipe) {
                flow.clear();
            }
        }
    }

    fn part(&mut self, part: &Part, depth: usize) {
        for redirect in &part.redirects {
            self.redirects.push((pattern(&redirect.target), redirect.writes));
        }
        if part.words.is_empty() {
            return;
        }
        let arguments: Vec<Argument> = part.words.iter().map(argument).collect();
        self.command(&arguments, depth);
        let names = || part.words.iter().flat_map(|word| &word.variables);
        if names().any(|name| self.variables.contains_key(name)) {
            for choice in 0..MAX_VALUES {
                let words: Vec<Argument> =
                    part.words.iter().flat_map(|word| self.substituted(word, choice)).collect();
                self.command(&words, depth);
            }
        }
    }

    /// A word with the values that were assigned to its variables.
    fn substituted(&self, word: &Word, choice: usize) -> Vec<Argument> {
        if word.globs || word.braces {
            return vec![argument(word)];
        }
        let mut text = String::new();
        let mut names = word.variables.iter();
        for character in word.value.chars() {
            if character != UNKNOWN {
                text.push(character);
                continue;
            }
            let values = names.next().and_then(|name| self.variables.get(name));
            match values.and_then(|values| values.get(choice).or_else(|| values.last())) {
                Some(value) => text.push_str(value),
                None => text.push(UNKNOWN),
            }
        }
        if word.splits {
            text.split_whitespace().map(Argument::fixed).collect()
        } else {
            vec![Argument::fixed(&text)]
        }
    }

    /// One command, with all that it would run in turn.
    fn command(&mut self, words: &[Argument], depth: usize) {
        if depth > MAX_DEPTH || self.lines.len() > MAX_LINES {
            self.hidden = true;
            return;
        }
        let Some((first, rest)) = words.split_first() else { return };
        let name = programs::base_name(&first.text);
        self.line(&first.text, rest);
        if name != first.text {
            self.line(name, rest);
        }
        self.commands.push(words.iter().map(|word| word.text.clone()).collect());
        if first.splits {
            self.command(rest, depth + 1);
        }
        match programs::kind(name) {
            Kind::Wrapper => self.wrapper(name, rest, depth),
            Kind::Shell => self.shell(rest, depth),
            Kind::Eval => {
                let text: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
                self.text(&text.join(" "), depth + 1);
            }
            Kind::Source => self.hidden = true,
            Kind::Trap => {
                for word in rest {
                    self.text(&word.text, depth + 1);
                }
            }
            Kind::Find => self.find(rest, depth),
            Kind::Other => {}
        }
    }

    /// Adds a line, also as it is if words that may vanish do.
    fn line(&mut self, name: &str, rest: &[Argument]) {
        let mut line = name.to_owned();
        let mut closed = name.to_owned();
        for word in rest {
            line.push(' ');
            line.push_str(&word.text);
            if word.splits {
                closed.push(UNKNOWN);
            } else {
                closed.push(' ');
                closed.push_str(&word.text);
            }
        }
        let blank = |line: String| {
            let plain = |c: char| if c != '\n' && c.is_whitespace() { ' ' } else { c };
            line.chars().map(plain).collect::<String>()
        };
        if closed != line {
            self.lines.push(blank(closed));
        }
        self.lines.push(blank(line));
    }

    /// A program that runs the command that follows it. Options may have values, so the command
    /// may begin at any word.
    fn wrapper(&mut self, name: &str, rest: &[Argument], depth: usize) {
        if name == "command" && rest.first().is_some_and(|word| ["-v", "-V"].contains(&&*word.text))
        {
            return;
        }
        let mut rest = rest.to_vec();
        if matches!(name, "xargs" | "parallel") {
            let mark = placeholder(&rest);
            for word in &mut rest {
                word.text = word.text.replace(&mark, &UNKNOWN.to_string());
            }
            // More arguments come from the input.
            rest.push(Argument::unknown());
        }
        let input = usize::from(matches!(name, "xargs" | "parallel"));
        for start in 0..rest.len() {
            // The input names the command only if nothing else does.
            let alone = start + input < rest.len() || rest.len() == input;
            if alone && programs::may_begin(&rest[start].text) {
                self.command(&rest[start..], depth + 1);
            }
            let word = rest[start].text.as_str();
            let attached = word.get(2..).filter(|_| word.starts_with('-')).unwrap_or_default();
            let value = word.split_once('=').map_or("", |(_, value)| value);
            for text in [word.to_owned(), attached.to_owned(), value.to_owned()] {
                if text.contains(char::is_whitespace) {
                    self.text(&text, depth + 1);
                }
            }
        }
    }

    fn shell(&mut self, rest: &[Argument], depth: usize) {
        let is_option = |word: &&Argument| word.text.starts_with(['-', '+']);
        let short = |word: &Argument| !word.text.starts_with("--");
        let told = rest.iter().filter(is_option).any(|word| short(word) && word.text.contains('c'));
        if !told {
            // A script, or what comes in.
            self.hidden |= !rest.iter().any(|word| ["--version", "--help"].contains(&&*word.text));
        }
        for word in rest.iter().filter(|word| !is_option(word)) {
            self.text(&word.text, depth + 1);
        }
    }

    fn find(&mut self, rest: &[Argument], depth: usize) {
        for (index, word) in rest.iter().enumerate() {
            if matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                let command = rest[index + 1..].iter().take_while(|word| word.text != ";");
                let filled = command.map(|word| Argument {
                    text: word.text.replace("{}", &UNKNOWN.to_string()),
                    splits: word.splits,
                });
                self.command(&filled.collect::<Vec<_>>(), depth + 1);
            }
        }
    }
}

/// What `xargs` and `parallel` replace by their input.
fn placeholder(rest: &[Argument]) -> String {
    let at = rest.iter().position(|word| word.text.starts_with("-I") || word.text == "-J");
    let given = at.map(|at| match rest[at].text.get(2..).filter(|mark| !mark.is_empty()) {
        Some(mark) => mark.to_owned(),
        None => rest.get(at + 1).map(|word| word.text.clone()).unwrap_or_default(),
    });
    given.filter(|mark| !mark.is_empty()).unwrap_or_else(|| "{}".to_owned())
}

fn argument(word: &Word) -> Argument {
    Argument { text: pattern(word), splits: word.splits }
}

/// The text of a word; what the shell would expand is unknown.
fn pattern(word: &Word) -> String {
    if word.braces {
        return UNKNOWN.to_string();
    }
    if !word.globs {
        return word.value.clone();
    }
    let mut text = String::new();
    let mut characters = word.value.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' | '?' => text.push(GLOB),
            '[' => {
                text.push(GLOB);
                // All of it: where the set ends is not always plain.
                let rest: String = characters.by_ref().collect();
                let tail = rest.rsplit(']').next().unwrap_or_default();
                if rest.contains(']') {
                    text.push_str(tail);
                }
            }
            other => text.push(other),
        }
    }
    text
}
