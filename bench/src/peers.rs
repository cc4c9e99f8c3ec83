//! The official SDKs: installed once into a cache outside of the tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The versions that are measured: a figure belongs to a version.
pub const TYPESCRIPT: &str = "0.3.325";
/// That of the Python SDK.
pub const PYTHON: &str = "0.2.182";

/// Where things are kept between runs.
pub fn cache() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME") {
        Some(dir) => PathBuf::from(dir),
        None => PathBuf::from(std::env::var_os("HOME").context("no HOME")?).join(".cache"),
    };
    let dir = base.join("duologue-bench");
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}

/// How to start a consumer of the TypeScript SDK.
pub fn typescript(cache: &Path) -> Result<Vec<String>> {
    typescript_script(cache, "consume.mjs", include_str!("../peers/consume.mjs"))
}

/// How to start this program, which uses the TypeScript SDK.
pub fn typescript_script(cache: &Path, name: &str, text: &str) -> Result<Vec<String>> {
    let dir = cache.join(format!("typescript-{TYPESCRIPT}"));
    if !dir.join("node_modules/@anthropic-ai/claude-agent-sdk").is_dir() {
        std::fs::create_dir_all(&dir)?;
        std::fs::write(dir.join("package.json"), "{\"private\":true}")?;
        // Its optional packages are the CLI itself, which is not needed.
        let package = format!("@anthropic-ai/claude-agent-sdk@{TYPESCRIPT}");
        let flags = ["install", "--no-audit", "--no-fund", "--omit=optional"];
        run(Command::new("npm").args(flags).arg(package).current_dir(&dir))?;
    }
    // Modules are looked for from where the script is.
    let script = dir.join(name);
    std::fs::write(&script, text)?;
    Ok(vec!["node".to_owned(), script.display().to_string()])
}

/// How to start a consumer of the Python SDK.
pub fn python(cache: &Path) -> Result<Vec<String>> {
    python_script(cache, "consume.py", include_str!("../peers/consume.py"))
}

/// How to start this program, which uses the Python SDK.
pub fn python_script(cache: &Path, name: &str, text: &str) -> Result<Vec<String>> {
    let dir = cache.join(format!("python-{PYTHON}"));
    let python = dir.join("bin/python");
    if !dir.join("installed").is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        let package = format!("claude-agent-sdk=={PYTHON}");
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", &package]))?;
        std::fs::write(dir.join("installed"), "")?;
    }
    let script = dir.join(name);
    std::fs::write(&script, text)?;
    Ok(vec![python.display().to_string(), script.display().to_string()])
}

fn run(command: &mut Command) -> Result<()> {
    eprintln!("{command:?}");
    let status = command.stdout(std::io::stderr()).status()?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}
