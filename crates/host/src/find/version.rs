//! Finds the version of a CLI, if possible without running it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use duologue_protocol::launch::{CliVersion, EnvChange, OUTER_MARKS};
use tokio::io::AsyncReadExt as _;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::process::{Ladder, Spawn, Started};
use crate::timeouts::VERSION_TIMEOUT;

/// The versions that the tests run with, the newest first.
pub const TESTED: &[CliVersion] = &[
    CliVersion::new(2, 1, 325),
    CliVersion::new(2, 1, 197),
    CliVersion::new(2, 1, 52),
    CliVersion::new(2, 0, 77),
    CliVersion::new(1, 0, 128),
];

/// The most bytes of output to read.
const MAX_OUTPUT: u64 = 4096;

/// Identifies the files of a CLI, so that a replaced CLI is run again.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    program: PathBuf,
    leading: Vec<OsString>,
    files: Vec<(PathBuf, Option<SystemTime>, u64)>,
}

/// The known versions. If a host starts many agents of one CLI at once, the first start runs the CLI and the
/// others wait for its result.
static KNOWN: LazyLock<Mutex<HashMap<Key, Arc<Answer>>>> = LazyLock::new(Mutex::default);

/// The version; `None` if the output was not a version.
type Answer = OnceCell<Option<CliVersion>>;

/// There was no output. The next start tries again.
struct NoOutput;

/// A bound on the memory for known versions.
const MAX_KNOWN: usize = 256;

/// Whether the tests run with this version.
pub fn is_tested(version: &CliVersion) -> bool {
    TESTED.contains(version)
}

/// Finds the version of a CLI; `None` if that is not possible.
///
/// `leading` are the arguments that come before any option, such as the script that an interpreter
/// runs. If the installation contains the version, the program is not run. Otherwise it is run with `-v`, with
/// a time limit of ten seconds. The result is cached until the file changes. Running it needs a tokio runtime.
///
/// Cancel safe.
pub async fn version(program: &Path, leading: &[OsString]) -> Option<CliVersion> {
    if let Some(version) = installed(subject(program, leading)) {
        return Some(version);
    }
    let answer = match Key::new(program, leading) {
        Some(key) => known(key),
        None => Arc::default(),
    };
    answer.get_or_try_init(|| ask(program, leading)).await.ok().copied().flatten()
}

fn known(key: Key) -> Arc<Answer> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= MAX_KNOWN && !known.contains_key(&key) {
        known.clear();
    }
    Arc::clone(known.entry(key).or_default())
}

impl Key {
    /// `None` for a name that the system looks up on the PATH.
    fn new(program: &Path, leading: &[OsString]) -> Option<Self> {
        let mut files = vec![file(program)?];
        files.extend(leading.iter().filter_map(|arg| file(Path::new(arg))));
        Some(Self { program: program.to_owned(), leading: leading.to_owned(), files })
    }
}

fn file(path: &Path) -> Option<(PathBuf, Option<SystemTime>, u64)> {
    let found = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
    Some((path.canonicalize().ok()?, found.modified().ok(), found.len()))
}

/// The file that has the version: the script, if an interpreter runs one.
fn subject<'a>(program: &'a Path, leading: &'a [OsString]) -> &'a Path {
    let mut scripts = leading.iter().map(Path::new);
    scripts.find(|path| path.is_file()).unwrap_or(program)
}

/// Finds the version in the installation.
fn installed(program: &Path) -> Option<CliVersion> {
    let program = program.canonicalize().ok()?;
    by_name(&program).or_else(|| program.ancestors().skip(1).find_map(by_package))
}

/// The native installer names the file after its version: `versions/2.1.52`.
fn by_name(program: &Path) -> Option<CliVersion> {
    let in_versions = program.parent()?.file_name()? == "versions";
    let name = program.file_name()?.to_str()?;
    let version = CliVersion::parse(name)?;
    (in_versions && version.to_string() == name).then_some(version)
}

/// npm's package contains the version: the package of the scripts and those of the platforms.
fn by_package(directory: &Path) -> Option<CliVersion> {
    let name = directory.file_name().and_then(OsStr::to_str)?;
    let scope = directory.parent()?.file_name()?;
    if scope != "@anthropic-ai" || !name.starts_with("claude-code") {
        return None;
    }
    let package = std::fs::read(directory.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_slice(&package).ok()?;
    package.get("name")?.as_str()?.strip_prefix("@anthropic-ai/claude-code")?;
    CliVersion::parse(package.get("version")?.as_str()?)
}

/// Runs the program with `-v`, and ends it in any case.
async fn ask(program: &Path, leading: &[OsString]) -> Result<Option<CliVersion>, NoOutput> {
    let mut spawn = Spawn::new(program).leading(leading).leading(["-v"]);
    for mark in OUTER_MARKS {
        spawn = spawn.env(*mark, EnvChange::Remove);
    }
    let Started { process, stdin, stdout } = spawn.start().map_err(|_| NoOutput)?;
    drop(stdin);
    let mut said = Vec::new();
    let mut stdout = stdout.take(MAX_OUTPUT);
    // Only the first line: another process may hold the pipe open.
    let answer = async {
        while !said.contains(&b'\n') && stdout.read_buf(&mut said).await.is_ok_and(|read| read > 0)
        {
        }
    };
    let in_time = timeout(VERSION_TIMEOUT, answer).await;
    process.end(Ladder::at_once()).await;
    // Incomplete output may look like another version.
    in_time.map_err(|_| NoOutput)?;
    Ok(CliVersion::parse(&String::from_utf8_lossy(&said)))
}
