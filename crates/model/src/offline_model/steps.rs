//! Parses a request into steps.

use serde_json::{Value, json};

use super::phrase::{behind, find, list, name, one_name, path, split, unquoted, without};

/// One step of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Say this text.
    Say { asked: String, text: String, pause_ms: u64 },
    /// Think this text.
    Think { asked: String, text: String },
    /// Call a tool.
    Call(Call),
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    /// The words of the request.
    pub(super) asked: String,
    /// The text before the call.
    pub(super) intent: String,
    pub(super) tool: String,
    pub(super) input: Value,
}

impl Step {
    pub(super) fn asked(&self) -> &str {
        match self {
            Self::Say { asked, .. } | Self::Think { asked, .. } => asked,
            Self::Call(call) => &call.asked,
        }
    }
}

/// Separators of steps. A `then` of the shell follows a semicolon.
const BETWEEN: &[&str] =
    &[", and then ", " and then ", "; and then ", ", then ", ". Then ", " then "];

const POLITE: &[&str] = &[
    "please",
    "can you",
    "could you",
    "would you",
    "now",
    "then",
    "and",
    "also",
    "first",
    "finally",
    "next,",
    "ok,",
    "okay,",
    "i want you to",
    "go ahead and",
    "let's",
];

/// Milliseconds between two numbers that are counted slowly.
const SLOWLY: u64 = 100;
/// The highest number that is counted to.
const HIGHEST: u64 = 10_000;

/// The longest line that is searched for steps: a longer one was pasted, not typed.
const LONGEST: usize = 16 << 10;
/// The most steps of a text; the rest belongs to the last.
const MOST: usize = 100;

/// The steps of a text.
pub(super) fn of(text: &str, folder: Option<&str>, offered: &[&str]) -> Vec<Step> {
    let reader = Reader { folder, offered };
    parts(text).iter().map(|part| reader.step(part)).collect()
}

/// A text, cut between its steps.
fn parts(text: &str) -> Vec<&str> {
    let text = text.trim();
    if !text.contains('\n') {
        return sentences(text);
    }
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // The content of a file on separate lines is all that follows.
    let is_one = find(text, ":\n").is_some();
    if !is_one && lines.len() <= MOST && lines.iter().all(|line| meant(line).is_some()) {
        return lines.into_iter().flat_map(sentences).collect();
    }
    vec![text]
}

/// A line, cut at each "then" with something behind it that is understood, or that no text before it can hold.
fn sentences(text: &str) -> Vec<&str> {
    let (mut all, mut start, mut from) = (Vec::new(), 0, 0);
    while all.len() < MOST && text.len() <= LONGEST {
        let rest = &text[from..];
        let found = BETWEEN.iter().filter_map(|word| Some((find(rest, word)?, word.len())));
        let found = found.filter(|(at, _)| !rest[..*at].ends_with(';'));
        let Some((at, length)) = found.min_by_key(|(at, length)| (*at, usize::MAX - length)) else {
            break;
        };
        let (here, next) = (&text[start..from + at], from + at + length);
        let ends = BETWEEN.iter().filter_map(|word| find(&text[next..], word)).min();
        let behind = &text[next..ends.map_or(text.len(), |end| next + end)];
        if meant(behind).is_some() || !takes_text(here) {
            all.push(here.trim());
            start = next;
        }
        from = next;
    }
    all.push(text[start..].trim());
    all.retain(|part| !part.is_empty());
    all
}

/// Whether a step may continue with any words. A command may not: only what was meant should run.
fn takes_text(step: &str) -> bool {
    match meant(step) {
        None | Some(Meant::Say(..) | Meant::Think(_)) => true,
        Some(Meant::Named(..)) => false,
        Some(Meant::Call { tools, .. }) => {
            ["Write", "AskUserQuestion", "ExitPlanMode", "TodoWrite"].contains(&tools[0])
        }
    }
}

fn meant(step: &str) -> Option<Meant> {
    Reader { folder: None, offered: &[] }.understand(without(step.trim(), POLITE))
}

struct Reader<'a> {
    folder: Option<&'a str>,
    offered: &'a [&'a str],
}

/// The meaning of a step.
enum Meant {
    Say(String, u64),
    Think(String),
    Call {
        tools: &'static [&'static str],
        input: Value,
        intent: String,
    },
    /// A tool by the name that was given.
    Named(String, Value),
}

impl Reader<'_> {
    fn step(&self, asked: &str) -> Step {
        let words = without(asked.trim(), POLITE);
        let asked = asked.trim().to_owned();
        let say = |asked, text| Step::Say { asked, text, pause_ms: 0 };
        match self.understand(words) {
            None => {
                let shown: String = words.chars().take(80).collect();
                say(asked, format!("I do not understand {shown:?}.\n\n{HELP}"))
            }
            Some(Meant::Say(text, pause_ms)) => Step::Say { asked, text, pause_ms },
            Some(Meant::Think(text)) => Step::Think { asked, text },
            Some(Meant::Named(tool, input)) => {
                if !self.offered.contains(&tool.as_str()) {
                    return say(asked, format!("There is no tool {tool} here."));
                }
                let intent = format!("I call {tool}.");
                Step::Call(Call { asked, intent, tool, input })
            }
            Some(Meant::Call { tools, input, intent }) => {
                let Some(tool) = tools.iter().find(|tool| self.offered.contains(tool)) else {
                    let tool = tools.first().copied().unwrap_or_default();
                    return say(
                        asked,
                        format!("For this I need the tool {tool}, which is not here."),
                    );
                };
                Step::Call(Call { asked, intent, tool: (*tool).to_owned(), input })
            }
        }
    }

    fn understand(&self, text: &str) -> Option<Meant> {
        self.files(text)
            .or_else(|| self.commands(text))
            .or_else(|| self.searches(text))
            .or_else(|| people(text))
            .or_else(|| named(text))
            .or_else(|| talk(text))
    }

    fn files(&self, text: &str) -> Option<Meant> {
        const THE: &[&str] = &[
            "me",
            "the",
            "a",
            "file",
            "new",
            "contents of",
            "content of",
            "to",
            "called",
            "named",
        ];
        const READ: &[&str] =
            &["read", "open", "cat", "view", "show", "what is in", "what's in", "what does"];
        if let Some(rest) = behind(text, READ) {
            let rest = rest.strip_suffix(" say?").unwrap_or(rest);
            let file = path(one_name(without(rest, THE))?, self.folder);
            let intent = format!("I read {file}.");
            return call(&["Read"], json!({ "file_path": file }), intent);
        }
        if let Some(rest) = behind(text, &["write", "create", "make a file", "make the file"]) {
            let rest = without(rest, THE);
            let (file, content) = split(rest, ":\n")
                .or_else(|| split(rest, ": "))
                .or_else(|| split(rest, " with "))
                .or_else(|| split(rest, " containing "))
                .or_else(|| split(rest, " to ").map(|(content, file)| (file, content)))
                .unwrap_or((rest, ""));
            let file = one_name(without(file, THE))?;
            // Who wants "a poem" does not want an empty file of that name.
            if content.is_empty() && !file.contains(['.', '/']) {
                return None;
            }
            let file = path(file, self.folder);
            let content = if content.is_empty() {
                String::new()
            } else {
                format!("{}\n", unquoted(content).trim_end())
            };
            let intent = format!("I write {file}.");
            return call(&["Write"], json!({ "file_path": file, "content": content }), intent);
        }
        let rest = behind(text, &["edit", "change", "in"]);
        let (file, change) = match rest {
            Some(rest) => split(rest, ":").or_else(|| {
                find(rest, " replace ").map(|at| (rest[..at].trim(), rest[at..].trim()))
            })?,
            None if behind(text, &["replace"]).is_some() => {
                let at = text.rfind(" in ")?;
                (text[at + 4..].trim(), text[..at].trim())
            }
            None => return None,
        };
        self.edit(without(file, THE), without(change, &["and"]))
    }

    fn edit(&self, file: &str, change: &str) -> Option<Meant> {
        let change = behind(change, &["replace", "change"])?;
        let all = ["everywhere", "all", "every"];
        let replace_all = all.iter().any(|word| behind(change, &[word]).is_some());
        let change = without(change, &all);
        let (old, new) = split(change, " with ").or_else(|| split(change, " by "))?;
        let is_everywhere = new.ends_with(" everywhere");
        let new = new.strip_suffix(" everywhere").unwrap_or(new);
        let file = path(one_name(file)?, self.folder);
        let intent = format!("I change {file}.");
        let mut input =
            json!({ "file_path": file, "old_string": unquoted(old), "new_string": unquoted(new) });
        if replace_all || is_everywhere {
            input["replace_all"] = true.into();
        }
        call(&["Edit"], input, intent)
    }

    fn commands(&self, text: &str) -> Option<Meant> {
        const WAYS: &[&str] = &["run the command", "run", "execute", "bash", "$ ", "!"];
        let rest = behind(text, WAYS)?;
        let (rest, in_background) = match rest.strip_suffix(" in the background") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let command = unquoted(rest).trim();
        if command.is_empty() {
            return None;
        }
        let first = command.split_whitespace().next().unwrap_or_default();
        let mut input = json!({ "command": command, "description": format!("Run {first}") });
        if in_background {
            input["run_in_background"] = true.into();
        }
        call(&["Bash"], input, format!("I run `{command}`."))
    }

    fn searches(&self, text: &str) -> Option<Meant> {
        let place = |input: &mut Value, rest: Option<&str>| {
            if let Some(folder) = rest.map(|rest| without(rest, &["the", "folder"])) {
                input["path"] = path(name(folder), self.folder).into();
            }
        };
        if let Some(rest) = behind(text, &["list", "ls"]) {
            let rest = without(rest, &["all", "the"]);
            let rest = behind(rest, &["files"]).unwrap_or(rest);
            let folder = behind(rest, &["in", "of"]).unwrap_or(rest);
            const HERE: &[&str] =
                &["here", "this folder", "this directory", "the current directory"];
            let folder = behind(folder, HERE).unwrap_or(folder);
            if name(folder).contains(' ') {
                return None;
            }
            let mut input = json!({ "pattern": "*" });
            place(&mut input, Some(folder).filter(|folder| !name(folder).is_empty()));
            return call(&["Glob"], input, "I list the files.".to_owned());
        }
        if let Some(rest) = behind(text, &["search for", "search", "grep for", "grep"]) {
            let (pattern, folder) = split(rest, " in ").map_or((rest, None), |(a, b)| (a, Some(b)));
            let pattern = name(pattern);
            if pattern.is_empty() {
                return None;
            }
            let mut input = json!({ "pattern": pattern, "output_mode": "content", "-n": true });
            place(&mut input, folder);
            return call(&["Grep"], input, format!("I search for {pattern:?}."));
        }
        let rest = without(behind(text, &["find", "glob"])?, &["all", "files", "named", "the"]);
        let (pattern, folder) = split(rest, " in ").map_or((rest, None), |(a, b)| (a, Some(b)));
        let pattern = one_name(pattern)?;
        // A search for a name includes subfolders.
        let deep = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let mut input = json!({ "pattern": deep });
        place(&mut input, folder);
        call(&["Glob"], input, format!("I look for {pattern}."))
    }
}

fn call(tools: &'static [&'static str], input: Value, intent: String) -> Option<Meant> {
    Some(Meant::Call { tools, input, intent })
}

/// A request that needs another tool than a file or a command.
fn people(text: &str) -> Option<Meant> {
    if let Some(rest) = behind(text, &["ask me", "ask the user", "ask"]) {
        let rest = rest.trim_start_matches(':').trim();
        return (!rest.is_empty()).then(|| question(rest));
    }
    if let Some(rest) = behind(text, &["make a plan", "plan"]) {
        let aim = without(rest.trim_start_matches(':').trim(), &["to", "for"]);
        let aim = if aim.is_empty() { "nothing in particular" } else { aim };
        let plan =
            format!("# Plan\n\n1. Look at what is there.\n2. Do it: {aim}\n3. Check the result.\n");
        return call(&["ExitPlanMode"], json!({ "plan": plan }), "Here is a plan.".to_owned());
    }
    if let Some(rest) = behind(text, &["delegate", "hand over"]) {
        let (rest, in_background) = match rest.strip_suffix(" in the background") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let to = behind(rest, &["to"]).and_then(|rest| split(rest, ":"));
        let (who, task) = to.unwrap_or(("general-purpose", rest));
        let who = match without(name(who), &["a", "an", "the", "another"]) {
            "subagent" | "sub-agent" | "agent" => "general-purpose",
            other => other,
        };
        let task = task.trim_start_matches(':').trim();
        let description: String = task.split_whitespace().take(5).collect::<Vec<_>>().join(" ");
        // Said either way: what holds where it is not said depends on the agent.
        let input = json!({
            "description": description, "prompt": task, "subagent_type": name(who),
            "run_in_background": in_background,
        });
        let known = !task.is_empty();
        let intent = "I hand this to a sub-agent.".to_owned();
        return known.then_some(Meant::Call { tools: &["Agent", "Task"], input, intent });
    }
    let rest = behind(text, &["todos", "todo", "make a todo list", "make a list"])?;
    let entries = list(without(rest.trim_start_matches(':').trim(), &["list", "of"]));
    if entries.is_empty() {
        return None;
    }
    let todos: Vec<Value> = entries
        .iter()
        .map(|entry| json!({ "content": entry, "status": "pending", "activeForm": entry }))
        .collect();
    call(&["TodoWrite"], json!({ "todos": todos }), "I write the list.".to_owned())
}

fn question(text: &str) -> Meant {
    let text = without(text, &["whether to", "whether", "if", "about", "for", "which"]);
    let bare = text.trim_end_matches(['?', '.']);
    // "Tea, milk or water?" lists its options; a question before it is asked unchanged.
    let (asked, offer) = bare.rsplit_once([':', '?']).unwrap_or(("", bare));
    let offered: Vec<String> = match offer.rsplit_once(" or ") {
        Some((front, last)) => list(front).into_iter().chain([last.trim().to_owned()]).collect(),
        None => Vec::new(),
    };
    let options: Vec<String> = if (2..=4).contains(&offered.len()) {
        offered
    } else {
        vec!["Yes".to_owned(), "No".to_owned()]
    };
    let asked = if asked.trim().is_empty() { bare } else { asked.trim() };
    let options: Vec<Value> =
        options.iter().map(|label| json!({ "label": label, "description": label })).collect();
    let question = json!({
        "question": format!("{asked}?"),
        "header": "Question",
        "options": options,
        "multiSelect": false,
    });
    Meant::Call {
        tools: &["AskUserQuestion"],
        input: json!({ "questions": [question] }),
        intent: "I have a question.".to_owned(),
    }
}

/// A tool that is called by its name.
fn named(text: &str) -> Option<Meant> {
    let rest = without(behind(text, &["call", "use"])?, &["the", "mcp", "tool"]);
    let (tool, input) = match rest.find('{') {
        Some(at) => (&rest[..at], serde_json::from_str(&rest[at..]).ok()?),
        None => (rest, json!({})),
    };
    let tool = tool.trim();
    let tool = name(tool.strip_suffix(" with").unwrap_or(tool));
    (!tool.is_empty() && !tool.contains(' ')).then(|| Meant::Named(tool.to_owned(), input))
}

fn talk(text: &str) -> Option<Meant> {
    if let Some(rest) = behind(text, &["count from 1 to", "count up to", "count to"]) {
        let slowly = rest.to_lowercase().contains("slow");
        let last: u64 =
            rest.split_whitespace().next()?.trim_end_matches(['.', ',']).parse().ok()?;
        let numbers: Vec<String> = (1..=last.min(HIGHEST)).map(|n| n.to_string()).collect();
        let mut said = numbers.join(" ");
        if last > HIGHEST {
            said.push_str(" … further I do not count.");
        }
        return Some(Meant::Say(said, if slowly { SLOWLY } else { 0 }));
    }
    if let Some(rest) = behind(text, &["say", "echo", "repeat after me", "repeat"]) {
        let rest = unquoted(rest.trim_start_matches(':'));
        return (!rest.is_empty()).then(|| Meant::Say(rest.to_owned(), 0));
    }
    if let Some(rest) = behind(text, &["think about", "think"]) {
        let rest = if rest.is_empty() { "nothing" } else { rest };
        return Some(Meant::Think(format!("I think about {rest}")));
    }
    let greeting = ["help", "hello", "hi", "hey", "what can you do"];
    behind(name(text), &greeting).is_some().then(|| Meant::Say(HELP.to_owned(), 0))
}

/// The supported requests.
const HELP: &str = "There is no model here, only plain requests that I carry out with my tools:\n\n\
- read README.md\n- write notes.txt: buy milk\n- edit notes.txt: replace milk with tea\n- run ls -la\n\
- list files, find *.rs, search TODO in src\n- ask me: tabs or spaces?\n- plan the move to tabs\n\
- delegate: read README.md\n- todo: read, write, rest\n- call mcp tool mcp__clock__now {}\n\
- count to 100 slowly, say hello\n\nSeveral are joined by \"then\".";
