//! The path of `fake-agent`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use crate::root;

/// Built once for all tests of a program.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(build);

/// The `fake-agent` program, for the tests of other packages: cargo names binaries only to tests of
/// their own package. It is built if it is not up to date.
///
/// # Panics
/// If it cannot be built.
pub fn program() -> PathBuf {
    PROGRAM.clone()
}

#[expect(clippy::panic, reason = "a test without its agent has failed")]
fn build() -> PathBuf {
    // `cargo test --workspace` has built it. Building it alone would build its dependencies again, with other features.
    if let Some(built) = up_to_date() {
        return built;
    }
    // Cargo prints the path, for any profile and target directory.
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--message-format=json-render-diagnostics"])
        .args(["--package=duologue-testkit", "--bin=fake-agent"])
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("cargo cannot be run: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    let mut messages = said.lines().filter_map(|line| serde_json::from_str(line).ok());
    let executable = messages.find_map(|message: serde_json::Value| {
        let is_it = message["target"]["name"] == "fake-agent";
        message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
    });
    executable.unwrap_or_else(|| panic!("cargo does not say where fake-agent is: {said}"))
}

/// The agent in the parent directory of this program, unless it is older than its sources.
fn up_to_date() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.parent()?.with_file_name("fake-agent");
    let built = program.metadata().ok()?.modified().ok()?;
    let made_of = std::fs::read_to_string(program.with_extension("d")).ok()?;
    let mut sources = made_of.split_once(": ")?.1.split_whitespace();
    let is_older = |source: &str| {
        let changed = std::fs::metadata(source).and_then(|source| source.modified());
        changed.is_ok_and(|changed| changed <= built)
    };
    sources.all(is_older).then_some(program)
}
