//! What is known about programs: which run others, and which run nothing.

use super::shell::Part;

/// How a program runs others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It runs the command that follows.
    Wrapper,
    /// It runs a text, a script or its input.
    Shell,
    /// It runs its arguments as a text.
    Eval,
    /// It runs a file.
    Source,
    /// It runs its argument later.
    Trap,
    /// It runs what follows `-exec`.
    Find,
    /// It is not known to run others.
    Other,
}

/// Programs that run the command that follows them, or a text among their arguments.
const WRAPPERS: [&str; 55] = [
    "sudo",
    "doas",
    "env",
    "nohup",
    "nice",
    "ionice",
    "timeout",
    "gtimeout",
    "time",
    "command",
    "builtin",
    "exec",
    "xargs",
    "parallel",
    "stdbuf",
    "setsid",
    "watch",
    "caffeinate",
    "chroot",
    "unbuffer",
    "busybox",
    "toybox",
    "strace",
    "ltrace",
    "gdb",
    "valgrind",
    "flock",
    "unshare",
    "nsenter",
    "script",
    "su",
    "runuser",
    "ssh",
    "taskset",
    "chrt",
    "numactl",
    "prlimit",
    "setarch",
    "linux32",
    "linux64",
    "fakeroot",
    "proot",
    "bwrap",
    "firejail",
    "systemd-run",
    "dbus-run-session",
    "rlwrap",
    "entr",
    "pkexec",
    "setpriv",
    "capsh",
    "perf",
    "hyperfine",
    "coproc",
    "chronic",
];

/// Shells.
const SHELLS: [&str; 12] =
    ["sh", "bash", "rbash", "zsh", "dash", "ash", "ksh", "mksh", "fish", "csh", "tcsh", "pwsh"];

/// Programs that run nothing, whatever they are given. An option of theirs may still name a
/// program.
const RUN_NOTHING: [&str; 60] = [
    "echo",
    "printf",
    "pwd",
    "whoami",
    "id",
    "true",
    "false",
    ":",
    "sleep",
    "seq",
    "basename",
    "dirname",
    "uname",
    "nproc",
    "arch",
    "groups",
    "uptime",
    "which",
    "whereis",
    "type",
    "tr",
    "cat",
    "head",
    "tail",
    "wc",
    "ls",
    "stat",
    "du",
    "df",
    "nl",
    "cut",
    "paste",
    "rev",
    "tac",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "realpath",
    "readlink",
    "diff",
    "cmp",
    "comm",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "sort",
    "uniq",
    "tee",
    "touch",
    "mkdir",
    "rm",
    "rmdir",
    "cd",
    "exit",
    "return",
    "file",
    "date",
];

/// Programs whose first argument says what they do: `git rm` has nothing to do with `rm`.
const WITH_SUBCOMMANDS: [&str; 16] = [
    "git", "gh", "npm", "pnpm", "cargo", "docker", "podman", "kubectl", "go", "pip", "pip3",
    "brew", "apt", "apt-get", "hg", "svn",
];

/// Programs that read the files that they are given.
const READERS: [&str; 50] = [
    "cat",
    "head",
    "tail",
    "wc",
    "ls",
    "stat",
    "du",
    "nl",
    "cut",
    "paste",
    "rev",
    "tac",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "readlink",
    "realpath",
    "diff",
    "cmp",
    "comm",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "sort",
    "uniq",
    "file",
    "find",
    "cd",
    "pushd",
    "sed",
    "awk",
    "gawk",
    "jq",
    "od",
    "xxd",
    "hexdump",
    "strings",
    "base64",
    "base32",
    "less",
    "more",
    "bat",
    "cp",
    "mv",
    "dd",
    "tar",
    "zcat",
];

/// Programs that change the files that they are given.
const CHANGERS: [&str; 14] = [
    "touch", "mkdir", "rm", "rmdir", "mv", "cp", "tee", "ln", "install", "truncate", "dd", "shred",
    "chmod", "chown",
];

/// The name of a program without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// How a program runs others.
pub(super) fn kind(name: &str) -> Kind {
    match name {
        "eval" => Kind::Eval,
        "." | "source" => Kind::Source,
        "trap" => Kind::Trap,
        "find" | "fd" | "fdfind" => Kind::Find,
        name if SHELLS.contains(&name) => Kind::Shell,
        name if WRAPPERS.contains(&name) => Kind::Wrapper,
        _ => Kind::Other,
    }
}

/// Whether its arguments set variables.
pub(super) fn declares(name: &str) -> bool {
    matches!(name, "export" | "declare" | "local" | "readonly" | "typeset")
}

/// Whether a word may be a command. An option is none, and neither is a variable that is set.
pub(super) fn may_begin(word: &str) -> bool {
    !word.starts_with('-') && super::shell::assigned(word).is_none()
}

/// Whether it reads the files that it is given.
pub(super) fn reads_files(name: &str) -> bool {
    READERS.contains(&base_name(name))
}

/// Whether it changes the files that it is given.
pub(super) fn changes_files(words: &[String]) -> bool {
    let name = words.first().map_or("", |name| base_name(name));
    let in_place = || words.iter().any(|word| word.starts_with("-i") || word.starts_with("--in-p"));
    CHANGERS.contains(&name) || (matches!(name, "sed" | "perl") && in_place())
}

/// Whether its arguments are words to print, not files.
pub(super) fn only_prints(name: &str) -> bool {
    matches!(base_name(name), "echo" | "printf" | "true" | "false" | ":" | "which" | "type" | "tr")
}

/// Whether a command runs no other, and evaluates nothing.
pub(super) fn runs_nothing(part: &Part) -> bool {
    let Some((first, rest)) = part.words.split_first() else { return true };
    let plain = |value: &str| !value.starts_with('-') || value.len() < 4;
    match first.value.as_str() {
        "command" => rest.first().is_some_and(|word| word.value == "-v" || word.value == "-V"),
        "printf" if rest.iter().any(|word| word.value.starts_with("-v")) => false,
        name => RUN_NOTHING.contains(&name) && rest.iter().all(|word| plain(&word.value)),
    }
}

/// The arguments that a program may run or evaluate. What only names a subcommand or is a message
/// is left out.
pub(super) fn evaluated(part: &Part) -> Vec<String> {
    let Some((first, rest)) = part.words.split_first() else { return Vec::new() };
    let name = base_name(&first.value);
    let skip = usize::from(WITH_SUBCOMMANDS.contains(&name));
    let messages = matches!(name, "git" | "gh");
    let is_message = |word: &str| {
        messages && ["-m", "-am", "--message", "--title", "--body", "-t", "-b"].contains(&word)
    };
    let mut texts = Vec::new();
    let mut previous = "";
    for (index, word) in rest.iter().enumerate() {
        let subcommand = index < skip && !word.value.starts_with('-');
        if !subcommand && !is_message(previous) {
            texts.push(word.value.clone());
        }
        previous = &word.value;
    }
    texts
}
