//! Commands that change nothing, whatever follows them.

use super::programs::{is_harmless, only_speaks};
use super::shell::Word;

/// The subcommands of git that look, each with any of [`GIT_OPTIONS`].
const GIT: [&str; 11] = [
    "status",
    "diff",
    "log",
    "show",
    "rev-parse",
    "ls-files",
    "blame",
    "describe",
    "shortlog",
    "branch",
    "remote",
];

/// Options of git that only change what is shown. Git takes any unique beginning of a long option,
/// so only these exact words are known to be harmless.
const GIT_OPTIONS: [&str; 44] = [
    "--",
    "--stat",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--cached",
    "--staged",
    "--oneline",
    "--graph",
    "--all",
    "--decorate",
    "--patch",
    "-p",
    "-s",
    "-b",
    "-v",
    "-vv",
    "-a",
    "-r",
    "-w",
    "-z",
    "--short",
    "--branch",
    "--porcelain",
    "--list",
    "--reverse",
    "--no-color",
    "--color",
    "--abbrev-ref",
    "--show-toplevel",
    "--is-inside-work-tree",
    "--show-current",
    "--others",
    "--exclude-standard",
    "--modified",
    "--tags",
    "--always",
    "--merges",
    "--no-merges",
    "--first-parent",
    "--no-patch",
    "--follow",
    "-n",
];

/// Options of git with a value that only change what is shown.
const GIT_VALUES: [&str; 8] = [
    "--since=",
    "--until=",
    "--author=",
    "--grep=",
    "--format=",
    "--pretty=",
    "--max-count=",
    "--date=",
];

/// The options of `find` that only search: not `-exec`, `-delete`, `-fprint`…
const FIND: [&str; 24] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-type",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-mtime",
    "-mmin",
    "-newer",
    "-empty",
    "-print",
    "-print0",
    "-not",
    "!",
    "-o",
    "-or",
    "-a",
    "-and",
    "-prune",
    "-regex",
    "-iregex",
    "-depth",
];

/// The paths that a command reads; `None` unless it is certain that it changes nothing.
pub(super) fn reads(words: &[Word]) -> Option<Vec<&str>> {
    let (name, arguments) = words.split_first()?;
    // A pattern that the shell expands may become any option.
    if words.iter().any(|word| word.globs) {
        return None;
    }
    let values: Vec<&str> = arguments.iter().map(|word| word.value.as_str()).collect();
    match name.value.as_str() {
        name if only_speaks(name) => Some(Vec::new()),
        // A list of files may name any file, and so may a link in a folder.
        "wc" | "du" if values.iter().any(|value| value.starts_with("--f")) => None,
        "diff" if follows(&values, 'r') => None,
        "grep" | "egrep" | "fgrep" if follows(&values, 'R') => None,
        name if is_harmless(name) => operands(&values),
        "grep" | "egrep" | "fgrep" => grep(&values),
        "printf" => (!values.first()?.starts_with('-')).then(Vec::new),
        "hostname" | "tty" => values.is_empty().then(Vec::new),
        "date" => values.iter().all(|word| word.starts_with('+') || *word == "-u").then(Vec::new),
        "command" | "type" => match values.as_slice() {
            ["-v", _] => Some(Vec::new()),
            [word] if name.value == "type" && !word.starts_with('-') => Some(Vec::new()),
            _ => None,
        },
        "file" => known(&values, &["-b", "-i", "--brief", "--mime-type", "--mime"]),
        "uniq" => known(&values, &["-c", "-d", "-u", "-i"]).filter(|paths| paths.len() < 2),
        "sort" => {
            known(&values, &["-n", "-r", "-u", "-f", "-b", "-h", "-V", "-rn", "-nr", "-k1", "-k2"])
        }
        "find" => find(&values),
        "git" => git(&values),
        _ => None,
    }
}

/// The arguments that may be paths. An option that names a path of its own is not looked through.
fn operands<'a>(values: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut paths = Vec::new();
    let mut only_operands = false;
    for value in values {
        if *value == "--" && !only_operands {
            only_operands = true;
        } else if value.starts_with('-') && !only_operands {
            if value.contains(['/', '~']) || value.contains("..") {
                return None;
            }
            // `-ffile` and `--option=file`: a name in the working directory may lead elsewhere.
            if let Some((_, file)) = value.split_once('=') {
                paths.push(file);
            } else if !value.starts_with("--")
                && let Some(file) = value.get(2..).filter(|file| !file.is_empty())
            {
                paths.push(file);
            }
        } else {
            paths.push(*value);
        }
    }
    Some(paths)
}

/// Whether a command goes through folders and follows links there.
fn follows(values: &[&str], option: char) -> bool {
    values.iter().any(|value| match value.strip_prefix("--") {
        Some(long) => long.starts_with('d') || (option == 'r' && long.starts_with('r')),
        None => value.starts_with('-') && value.contains(option),
    })
}

/// The first operand of `grep` is the pattern, unless an option gives it.
fn grep<'a>(values: &[&'a str]) -> Option<Vec<&'a str>> {
    let given = |value: &&str| {
        ["-e", "-f", "--regexp", "--file"].iter().any(|option| value.starts_with(option))
    };
    let pattern = match values.iter().any(given) {
        true => None,
        false => values.iter().position(|value| !value.starts_with('-')),
    };
    let rest = values.iter().enumerate().filter(|(index, _)| Some(*index) != pattern);
    operands(&rest.map(|(_, value)| *value).collect::<Vec<_>>())
}

/// The arguments that are paths, if all options are among these.
fn known<'a>(values: &[&'a str], options: &[&str]) -> Option<Vec<&'a str>> {
    let (given, paths): (Vec<&str>, Vec<&str>) =
        values.iter().partition(|value| value.starts_with('-'));
    given.iter().all(|option| options.contains(option)).then_some(paths)
}

fn find<'a>(values: &[&'a str]) -> Option<Vec<&'a str>> {
    let is_option = |value: &str| value.starts_with('-') || value == "!";
    let options = values.iter().filter(|value| is_option(value));
    // A number after `-mtime` may be negative.
    let is_number = |value: &str| value[1..].chars().all(|c| c.is_ascii_digit()) && value.len() > 1;
    if !options.clone().all(|option| FIND.contains(option) || is_number(option)) {
        return None;
    }
    // What follows an option is not a path, but treating it as one is safe: paths are judged more
    // strictly.
    Some(values.iter().copied().filter(|value| !is_option(value)).collect())
}

fn git<'a>(values: &[&'a str]) -> Option<Vec<&'a str>> {
    let (subcommand, arguments) = values.split_first()?;
    if !GIT.contains(subcommand) {
        return None;
    }
    let is_count = |value: &str| {
        value.len() > 1 && value[1..].chars().all(|character| character.is_ascii_digit())
    };
    for argument in arguments.iter().filter(|argument| argument.starts_with('-')) {
        let harmless = GIT_OPTIONS.contains(argument)
            || GIT_VALUES.iter().any(|option| argument.starts_with(option))
            || is_count(argument);
        if !harmless {
            return None;
        }
    }
    let operands: Vec<&str> =
        arguments.iter().copied().filter(|argument| !argument.starts_with('-')).collect();
    match *subcommand {
        // With a name, these create or change.
        "branch" | "remote" => operands.is_empty().then_some(operands),
        // Two paths outside of a repository are compared like any files.
        _ => Some(operands),
    }
}
