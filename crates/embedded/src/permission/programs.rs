//! What is known about programs: one table, and the questions that it answers.

use super::shell::Part;

/// It runs the command that follows, or a text among its arguments.
const WRAPPER: u32 = 1;
/// A shell: it runs a text, a script or its input.
const SHELL: u32 = 1 << 1;
/// It runs its arguments as a text.
const EVAL: u32 = 1 << 2;
/// It runs a file.
const SOURCE: u32 = 1 << 3;
/// It runs its argument later.
const TRAP: u32 = 1 << 4;
/// It runs what follows `-exec`.
const FIND: u32 = 1 << 5;
/// Its arguments set variables.
const DECLARES: u32 = 1 << 6;
/// It runs nothing, whatever it is given. An option may still name a program.
const RUNS_NOTHING: u32 = 1 << 7;
/// Its first argument is a subcommand: `git rm` is not `rm`.
const SUBCOMMANDS: u32 = 1 << 8;
/// It reads the files that it is given.
const READS: u32 = 1 << 9;
/// It changes the files that it is given.
const CHANGES: u32 = 1 << 10;
/// It changes files and does nothing else, with the options that are known.
const ONLY_FILES: u32 = 1 << 11;
/// It reads files and writes nothing but output, with any option.
const HARMLESS: u32 = 1 << 12;
/// It reads no file and writes nothing but output, with any argument.
const SPEAKS: u32 = 1 << 13;
/// Its arguments are words to print, not files.
const PRINTS: u32 = 1 << 14;
/// It prints nothing when it succeeds.
const SILENT: u32 = 1 << 15;

/// Every program that is known, sorted by name.
const PROGRAMS: &[(&str, u32)] = &[
    (".", SOURCE),
    (":", RUNS_NOTHING | PRINTS),
    ("apt", SUBCOMMANDS),
    ("apt-get", SUBCOMMANDS),
    ("arch", RUNS_NOTHING | SPEAKS),
    ("ash", SHELL),
    ("awk", READS),
    ("base32", READS),
    ("base64", READS),
    ("basename", RUNS_NOTHING | SPEAKS),
    ("bash", SHELL),
    ("bat", READS),
    ("brew", SUBCOMMANDS),
    ("builtin", WRAPPER),
    ("busybox", WRAPPER),
    ("bwrap", WRAPPER),
    ("caffeinate", WRAPPER),
    ("capsh", WRAPPER),
    ("cargo", SUBCOMMANDS),
    ("cat", RUNS_NOTHING | READS | HARMLESS),
    ("cd", RUNS_NOTHING | READS | SILENT),
    ("chgrp", SILENT),
    ("chmod", CHANGES | SILENT),
    ("chown", CHANGES | SILENT),
    ("chronic", WRAPPER),
    ("chroot", WRAPPER),
    ("chrt", WRAPPER),
    ("cksum", RUNS_NOTHING | READS | HARMLESS),
    ("cmp", RUNS_NOTHING | READS | HARMLESS),
    ("comm", RUNS_NOTHING | READS | HARMLESS),
    ("command", WRAPPER),
    ("coproc", WRAPPER),
    ("cp", READS | CHANGES | ONLY_FILES | SILENT),
    ("csh", SHELL),
    ("cut", RUNS_NOTHING | READS | HARMLESS),
    ("dash", SHELL),
    ("date", RUNS_NOTHING),
    ("dbus-run-session", WRAPPER),
    ("dd", READS | CHANGES),
    ("declare", DECLARES),
    ("df", RUNS_NOTHING | HARMLESS),
    ("diff", RUNS_NOTHING | READS | HARMLESS),
    ("dirname", RUNS_NOTHING | SPEAKS),
    ("doas", WRAPPER),
    ("docker", SUBCOMMANDS),
    ("du", RUNS_NOTHING | READS | HARMLESS),
    ("echo", RUNS_NOTHING | SPEAKS | PRINTS),
    ("egrep", RUNS_NOTHING | READS),
    ("entr", WRAPPER),
    ("env", WRAPPER),
    ("eval", EVAL),
    ("exec", WRAPPER),
    ("exit", RUNS_NOTHING),
    ("export", DECLARES | SILENT),
    ("fakeroot", WRAPPER),
    ("false", RUNS_NOTHING | SPEAKS | PRINTS),
    ("fd", FIND),
    ("fdfind", FIND),
    ("fgrep", RUNS_NOTHING | READS),
    ("file", RUNS_NOTHING | READS),
    ("find", FIND | READS),
    ("firejail", WRAPPER),
    ("fish", SHELL),
    ("flock", WRAPPER),
    ("gawk", READS),
    ("gdb", WRAPPER),
    ("gh", SUBCOMMANDS),
    ("git", SUBCOMMANDS),
    ("go", SUBCOMMANDS),
    ("grep", RUNS_NOTHING | READS),
    ("groups", RUNS_NOTHING | SPEAKS),
    ("gtimeout", WRAPPER),
    ("head", RUNS_NOTHING | READS | HARMLESS),
    ("hexdump", READS),
    ("hg", SUBCOMMANDS),
    ("hyperfine", WRAPPER),
    ("id", RUNS_NOTHING | SPEAKS),
    ("install", CHANGES),
    ("ionice", WRAPPER),
    ("jq", READS),
    ("ksh", SHELL),
    ("kubectl", SUBCOMMANDS),
    ("less", READS),
    ("linux32", WRAPPER),
    ("linux64", WRAPPER),
    ("ln", CHANGES | SILENT),
    ("local", DECLARES),
    ("ls", RUNS_NOTHING | READS | HARMLESS),
    ("ltrace", WRAPPER),
    ("md5sum", RUNS_NOTHING | READS | HARMLESS),
    ("mkdir", RUNS_NOTHING | CHANGES | ONLY_FILES | SILENT),
    ("mksh", SHELL),
    ("more", READS),
    ("mv", READS | CHANGES | ONLY_FILES | SILENT),
    ("nice", WRAPPER),
    ("nl", RUNS_NOTHING | READS | HARMLESS),
    ("nohup", WRAPPER),
    ("npm", SUBCOMMANDS),
    ("nproc", RUNS_NOTHING | SPEAKS),
    ("nsenter", WRAPPER),
    ("numactl", WRAPPER),
    ("od", READS),
    ("parallel", WRAPPER),
    ("paste", RUNS_NOTHING | READS | HARMLESS),
    ("perf", WRAPPER),
    ("pip", SUBCOMMANDS),
    ("pip3", SUBCOMMANDS),
    ("pkexec", WRAPPER),
    ("pnpm", SUBCOMMANDS),
    ("podman", SUBCOMMANDS),
    ("printf", RUNS_NOTHING | PRINTS),
    ("prlimit", WRAPPER),
    ("proot", WRAPPER),
    ("pushd", READS),
    ("pwd", RUNS_NOTHING | SPEAKS),
    ("pwsh", SHELL),
    ("rbash", SHELL),
    ("readlink", RUNS_NOTHING | READS | HARMLESS),
    ("readonly", DECLARES),
    ("realpath", RUNS_NOTHING | READS | HARMLESS),
    ("return", RUNS_NOTHING),
    ("rev", RUNS_NOTHING | READS | HARMLESS),
    ("rg", RUNS_NOTHING | READS),
    ("rlwrap", WRAPPER),
    ("rm", RUNS_NOTHING | CHANGES | ONLY_FILES | SILENT),
    ("rmdir", RUNS_NOTHING | CHANGES | ONLY_FILES | SILENT),
    ("runuser", WRAPPER),
    ("script", WRAPPER),
    ("sed", READS),
    ("seq", RUNS_NOTHING | SPEAKS),
    ("setarch", WRAPPER),
    ("setpriv", WRAPPER),
    ("setsid", WRAPPER),
    ("sh", SHELL),
    ("sha1sum", RUNS_NOTHING | READS | HARMLESS),
    ("sha256sum", RUNS_NOTHING | READS | HARMLESS),
    ("sha512sum", RUNS_NOTHING | READS | HARMLESS),
    ("shred", CHANGES),
    ("sleep", RUNS_NOTHING | SPEAKS),
    ("sort", RUNS_NOTHING | READS),
    ("source", SOURCE),
    ("ssh", WRAPPER),
    ("stat", RUNS_NOTHING | READS | HARMLESS),
    ("stdbuf", WRAPPER),
    ("strace", WRAPPER),
    ("strings", READS),
    ("su", WRAPPER),
    ("sudo", WRAPPER),
    ("svn", SUBCOMMANDS),
    ("systemd-run", WRAPPER),
    ("tac", RUNS_NOTHING | READS | HARMLESS),
    ("tail", RUNS_NOTHING | READS | HARMLESS),
    ("tar", READS),
    ("taskset", WRAPPER),
    ("tcsh", SHELL),
    ("tee", RUNS_NOTHING | CHANGES),
    ("time", WRAPPER),
    ("timeout", WRAPPER),
    ("touch", RUNS_NOTHING | CHANGES | ONLY_FILES | SILENT),
    ("toybox", WRAPPER),
    ("tr", RUNS_NOTHING | SPEAKS | PRINTS),
    ("trap", TRAP),
    ("true", RUNS_NOTHING | SPEAKS | PRINTS),
    ("truncate", CHANGES),
    ("type", RUNS_NOTHING | PRINTS),
    ("typeset", DECLARES),
    ("uname", RUNS_NOTHING | SPEAKS),
    ("unbuffer", WRAPPER),
    ("uniq", RUNS_NOTHING | READS),
    ("unset", SILENT),
    ("unshare", WRAPPER),
    ("uptime", RUNS_NOTHING | SPEAKS),
    ("valgrind", WRAPPER),
    ("wait", SILENT),
    ("watch", WRAPPER),
    ("wc", RUNS_NOTHING | READS | HARMLESS),
    ("whereis", RUNS_NOTHING),
    ("which", RUNS_NOTHING | SPEAKS | PRINTS),
    ("whoami", RUNS_NOTHING | SPEAKS),
    ("xargs", WRAPPER),
    ("xxd", READS),
    ("zcat", READS),
    ("zsh", SHELL),
];

/// Whether a program has this property.
fn is(name: &str, property: u32) -> bool {
    let found = PROGRAMS.binary_search_by_key(&name, |(name, _)| *name).ok();
    let found = found.and_then(|index| PROGRAMS.get(index));
    found.is_some_and(|(_, properties)| properties & property != 0)
}

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

/// The name of a program without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// How a program runs others.
pub(super) fn kind(name: &str) -> Kind {
    let kinds = [
        (EVAL, Kind::Eval),
        (SOURCE, Kind::Source),
        (TRAP, Kind::Trap),
        (FIND, Kind::Find),
        (SHELL, Kind::Shell),
        (WRAPPER, Kind::Wrapper),
    ];
    let kind = kinds.into_iter().find(|(property, _)| is(name, *property));
    kind.map_or(Kind::Other, |(_, kind)| kind)
}

/// Whether its arguments set variables.
pub(super) fn declares(name: &str) -> bool {
    is(name, DECLARES)
}

/// Whether it reads files and writes nothing but output, with any option.
pub(super) fn is_harmless(name: &str) -> bool {
    is(name, HARMLESS)
}

/// Whether it reads no file and writes nothing but output, with any argument.
pub(super) fn only_speaks(name: &str) -> bool {
    is(name, SPEAKS)
}

/// Whether it changes files and does nothing else, with the options that are known.
pub(super) fn only_changes_files(name: &str) -> bool {
    is(name, ONLY_FILES)
}

/// Whether it prints nothing when it succeeds.
pub(super) fn is_silent(name: &str) -> bool {
    is(name, SILENT)
}

/// Whether a word may be a command: not an option, and not an assignment.
pub(super) fn may_begin(word: &str) -> bool {
    !word.starts_with('-') && super::shell::assigned(word).is_none()
}

/// Whether it reads the files that it is given.
pub(super) fn reads_files(name: &str) -> bool {
    is(base_name(name), READS)
}

/// Whether it changes the files that it is given.
pub(super) fn changes_files(words: &[String]) -> bool {
    let name = words.first().map_or("", |name| base_name(name));
    let in_place = || words.iter().any(|word| word.starts_with("-i") || word.starts_with("--in-p"));
    is(name, CHANGES) || (matches!(name, "sed" | "perl") && in_place())
}

/// Whether its arguments are words to print, not files.
pub(super) fn only_prints(name: &str) -> bool {
    is(base_name(name), PRINTS)
}

/// Whether a command runs no other, and evaluates nothing.
pub(super) fn runs_nothing(part: &Part) -> bool {
    let Some((first, rest)) = part.words.split_first() else { return true };
    let plain = |value: &str| !value.starts_with('-') || value.len() < 4;
    match first.value.as_str() {
        "command" => rest.first().is_some_and(|word| word.value == "-v" || word.value == "-V"),
        "printf" if rest.iter().any(|word| word.value.starts_with("-v")) => false,
        name => is(name, RUNS_NOTHING) && rest.iter().all(|word| plain(&word.value)),
    }
}

/// The arguments that a program may run or evaluate. What only names a subcommand or is a message
/// is left out.
pub(super) fn evaluated(part: &Part) -> Vec<String> {
    let Some((first, rest)) = part.words.split_first() else { return Vec::new() };
    let name = base_name(&first.value);
    let skip = usize::from(is(name, SUBCOMMANDS));
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

#[cfg(test)]
mod tests {
    use super::{HARMLESS, PROGRAMS, READS, RUNS_NOTHING, SPEAKS, is};

    #[test]
    fn the_table_is_sorted() {
        assert!(PROGRAMS.is_sorted_by(|(one, _), (other, _)| one < other));
        assert!(
            is("cat", READS) && is("cat", HARMLESS) && !is("rm", HARMLESS) && !is("nosuch", READS)
        );
    }

    #[test]
    fn what_changes_nothing_runs_nothing() {
        for (name, properties) in PROGRAMS.iter().filter(|(_, of)| of & (HARMLESS | SPEAKS) != 0) {
            assert!(properties & RUNS_NOTHING != 0, "{name}");
        }
    }
}
