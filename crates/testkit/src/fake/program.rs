//! Where `fake-agent` lies.

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
    // Cargo tells where it puts things, whatever the profile and the target folder.
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
