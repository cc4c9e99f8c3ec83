//! Which version a CLI is, if possible without running it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use duologue_protocol::launch::{CliVersion, EnvChange, OUTER_MARKS};
use tokio::io::AsyncReadExt as _;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::process::{Ladder, Spawn, Started};

/// The versions that the tests run with, the newest first.
pub const TESTED: &[CliVersion] = &[
    CliVersion::new(2, 1, 325),
    CliVersion::new(2, 1, 197),
    CliVersion::new(2, 1, 52),
    CliVersion::new(2, 0, 77),
    CliVersion::new(1, 0, 128),
];

/// How long a CLI may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a version is at most long; a program that says more is something else.
const LONGEST: u64 = 4096;

/// Which file it was that said so. One that was replaced is asked again.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    program: PathBuf,
    leading: Vec<OsString>,
    files: Vec<(PathBuf, Option<SystemTime>, u64)>,
}

/// What is known already. A host may start many agents of one CLI, and many at once: the first asks,
/// the others wait for its answer.
static KNOWN: LazyLock<Mutex<HashMap<Key, Arc<Answer>>>> = LazyLock::new(Mutex::default);

/// What a program said; `None` if that was no version.
type Answer = OnceCell<Option<CliVersion>>;

/// It said nothing, perhaps only this time.
struct Silence;

/// No host uses so many; whoever makes one up for each call must not fill the memory.
const MOST_KNOWN: usize = 256;

/// Whether the tests run with this version.
pub fn is_tested(version: &CliVersion) -> bool {
    TESTED.contains(version)
}

/// The version of a CLI; `None` if it cannot be known.
///
/// `leading` are the arguments that come before any option, such as the script that an interpreter
/// runs. Where the installation tells the version, nothing is run. Otherwise the program is run
/// with `-v`, which it may take ten seconds for. The answer is remembered until the file changes.
/// Running it needs a tokio runtime.
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
    if known.len() >= MOST_KNOWN && !known.contains_key(&key) {
        known.clear();
    }
    Arc::clone(known.entry(key).or_default())
}

impl Key {
    /// `None` for a name that the system looks up: there is no file to recognise.
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

/// The file whose version it is: the script, if an interpreter runs one.
fn subject<'a>(program: &'a Path, leading: &'a [OsString]) -> &'a Path {
    let mut scripts = leading.iter().map(Path::new);
    scripts.find(|path| path.is_file()).unwrap_or(program)
}

/// What the installation tells.
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

/// npm's package tells it, that of the scripts as well as that of a platform.
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

/// Runs it with `-v`. Whatever becomes of it, nothing of it is left behind.
async fn ask(program: &Path, leading: &[OsString]) -> Result<Option<CliVersion>, Silence> {
    let mut spawn = Spawn::new(program).leading(leading).leading(["-v"]);
    for mark in OUTER_MARKS {
        spawn = spawn.env(*mark, EnvChange::Remove);
    }
    let Started { process, stdin, stdout } = spawn.start().map_err(|_| Silence)?;
    // There is nothing to read.
    drop(stdin);
    let mut said = Vec::new();
    let mut stdout = stdout.take(LONGEST);
    // Not to the end, which somebody else may hold open: the first line is the answer.
    let answer = async {
        while !said.contains(&b'\n') && stdout.read_buf(&mut said).await.is_ok_and(|read| read > 0)
        {
        }
    };
    let in_time = timeout(PATIENCE, answer).await;
    process.end(Ladder::at_once()).await;
    // Half an answer may be another version.
    in_time.map_err(|_| Silence)?;
    Ok(CliVersion::parse(&String::from_utf8_lossy(&said)))
}
