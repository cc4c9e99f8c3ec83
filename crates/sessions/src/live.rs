//! Whether a running process uses a session.
//!
//! A session that is in use is never written. There are four signs, and each is enough:
//!
//! 1. The transcript is locked (`flock`). Writers of this crate hold the lock for as long as they write.
//! 2. `<config>/sessions/<pid>.json` names the session, and that process runs. Claude Code has written these files since
//!    2.1; the start time in them tells a process from a later one with the same number.
//! 3. A process has the transcript open: one of `/proc/<pid>/fd` is the same file. Claude Code itself opens it only for
//!    the moment of each write, so this catches other programs.
//! 4. A process called `claude` works in the directory of the session, is in no such list, and started before the
//!    transcript was last written. Versions before 2.1 leave no other trace. Which session it uses is not known, so this
//!    means *maybe*.
//!
//! Without `/proc` (on systems other than Linux) only the first two are known.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Whether a process uses a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Liveness {
    /// No process uses it.
    Idle,
    /// This process uses it.
    Live {
        /// The number of the process. It is 0 if only the lock shows it.
        process: u32,
    },
    /// It could not be determined.
    Unknown {
        /// Why not.
        reason: String,
    },
}

/// Looks for a process that uses this transcript.
pub(crate) fn check(config_dir: &Path, id: &str, transcript: &Path) -> Liveness {
    match File::open(transcript) {
        Ok(file) => match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Liveness::Live { process: 0 },
            // A file system without locks: the other signs decide.
            Err(TryLockError::Error(_)) => {}
        },
        Err(error) => return Liveness::Unknown { reason: error.to_string() },
    }
    let registered = match registered(config_dir, id) {
        Registered::Here(found) => return found,
        Registered::Others(others) => others,
    };
    opened(config_dir, transcript, &registered).unwrap_or(Liveness::Idle)
}

enum Registered {
    Here(Liveness),
    /// Running processes that use other sessions.
    Others(Vec<u32>),
}

/// Reads the list that Claude Code keeps of its own processes.
fn registered(config_dir: &Path, id: &str) -> Registered {
    let folder = config_dir.join("sessions");
    let mut others = Vec::new();
    let files: Vec<PathBuf> =
        fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let Some(entry) =
            fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        else {
            continue;
        };
        let Some(process) = entry["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()) else {
            continue;
        };
        let is_this =
            entry["sessionId"].as_str().is_some_and(|found| found.eq_ignore_ascii_case(id));
        if is_this && let Some(domain) = other_domain(&files, process) {
            let reason = format!("process {process} in {domain} has it registered");
            return Registered::Here(Liveness::Unknown { reason });
        }
        match runs_since(process, &entry["procStart"]) {
            Some(true) if is_this => return Registered::Here(Liveness::Live { process }),
            Some(true) => others.push(process),
            Some(false) => {}
            None if is_this => {
                let reason = format!("process {process} has it registered and cannot be looked up");
                return Registered::Here(Liveness::Unknown { reason });
            }
            None => {}
        }
    }
    Registered::Others(others)
}

/// Whether that process runs and is the one that was meant. `None` if that cannot be known.
fn runs_since(process: u32, start: &Value) -> Option<bool> {
    if !Path::new("/proc/self/stat").exists() {
        return None;
    }
    let Some(started) = start_of(process) else { return Some(false) };
    let expected =
        start.as_str().map(str::to_owned).or_else(|| start.as_u64().map(|n| n.to_string()));
    Some(expected.is_none_or(|expected| expected == started.to_string()))
}

/// When a process started, in ticks since the system started.
fn start_of(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program may hold spaces and brackets: fields count from its end.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The place where a registered process runs, if it is not this one: another machine or another container.
fn other_domain(files: &[PathBuf], process: u32) -> Option<String> {
    let prefix = format!("{process}.");
    let ours = fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned();
    files.iter().find_map(|path| {
        let name = path.file_name()?.to_str()?;
        if !name.starts_with(&prefix) || !name.ends_with(".key") {
            return None;
        }
        let key: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let domain = key["pidDomain"].as_str()?;
        (!domain.ends_with(&ours)).then(|| domain.to_owned())
    })
}

/// Looks through all processes.
fn opened(config_dir: &Path, transcript: &Path, registered: &[u32]) -> Option<Liveness> {
    let processes = fs::read_dir("/proc").ok()?;
    let own = std::process::id();
    let project = transcript.parent()?.file_name()?.to_str()?.to_owned();
    let mut maybe = None;
    for entry in processes.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        if process == own {
            continue;
        }
        if has_open(&entry.path(), transcript) {
            return Some(Liveness::Live { process });
        }
        if maybe.is_none()
            && !registered.contains(&process)
            && is_claude(&entry.path())
            && may_use(&entry.path(), config_dir, &project)
            && started_before(&entry.path(), transcript)
        {
            let reason = format!("process {process} runs Claude Code in the same directory");
            maybe = Some(Liveness::Unknown { reason });
        }
    }
    maybe
}

/// Whether a process has this file open.
#[cfg(unix)]
fn has_open(process: &Path, transcript: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(wanted) = fs::metadata(transcript) else { return false };
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    files
        .filter_map(|file| fs::metadata(file.path()).ok())
        .any(|found| found.is_file() && found.dev() == wanted.dev() && found.ino() == wanted.ino())
}

#[cfg(not(unix))]
fn has_open(_: &Path, _: &Path) -> bool {
    false
}

/// Whether a process is Claude Code, by its name or its program.
fn is_claude(process: &Path) -> bool {
    let Ok(command) = fs::read(process.join("cmdline")) else { return false };
    let mut words = command.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word));
    words.by_ref().take(2).any(|word| {
        let word = word.trim();
        let name = word.rsplit('/').next().unwrap_or(word);
        name == "claude" || (name.ends_with(".js") && word.contains("claude-code"))
    })
}

/// Whether a process works in the directory of this project and with this config directory.
fn may_use(process: &Path, config_dir: &Path, project: &str) -> bool {
    let Ok(cwd) = fs::read_link(process.join("cwd")) else { return true };
    if crate::project::project_key(&cwd) != project {
        return false;
    }
    let Ok(environment) = fs::read(process.join("environ")) else { return true };
    let mut variables = environment.split(|byte| *byte == 0);
    let used = variables.find_map(|variable| variable.strip_prefix(b"CLAUDE_CONFIG_DIR="));
    used.is_none_or(|used| {
        let used = PathBuf::from(String::from_utf8_lossy(used).into_owned());
        used == config_dir
            || crate::project::real_path(&used) == crate::project::real_path(config_dir)
    })
}

/// Whether a process started before the transcript was last written.
fn started_before(process: &Path, transcript: &Path) -> bool {
    let number =
        process.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    let started = number.and_then(start_of).zip(boot_time());
    // The kernel reports hundredths of a second to programs, whatever it uses itself.
    let started = started.map(|(ticks, boot)| boot + i64::try_from(ticks / 100).unwrap_or(0));
    let written = fs::metadata(transcript).and_then(|metadata| metadata.modified());
    match (started, written.map(crate::js::milliseconds)) {
        (Some(started), Ok(written)) => started <= written / 1000,
        _ => true,
    }
}

/// When the system started, in seconds since 1970.
fn boot_time() -> Option<i64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
