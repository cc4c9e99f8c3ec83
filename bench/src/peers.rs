//! The programs and crates that are measured beside Duologue, with their versions: a figure belongs to a version.

use std::path::PathBuf;

use anyhow::{Context, Result};
use duologue_testkit::peers::{cache as peers_cache, peer};

/// A directory for generated files, kept between runs.
pub fn cache() -> Result<PathBuf> {
    let dir = peers_cache()?.join("bench");
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}

/// The pinned version of a Rust crate, from `Cargo.toml`.
pub fn crate_version(name: &str) -> Result<&'static str> {
    let manifest = include_str!("../Cargo.toml");
    let line = manifest.lines().find(|line| line.split(' ').next() == Some(name));
    let version = line.and_then(|line| line.split_once("\"=")?.1.split_once('"'));
    version.map(|(version, _)| version).with_context(|| format!("Cargo.toml pins no {name}"))
}

/// A crate with its version.
pub fn crate_title(name: &str) -> Result<String> {
    Ok(format!("{name} {}", crate_version(name)?))
}

/// The TypeScript SDK with its version.
pub fn typescript_title() -> String {
    format!("TypeScript SDK {}", peer("typescript-sdk").version())
}

/// The Python SDK with its version.
pub fn python_title() -> String {
    format!("Python SDK {}", peer("python-sdk").version())
}

/// A command that runs this script with the TypeScript SDK.
pub fn typescript(name: &str, script: &str) -> Result<Vec<String>> {
    let sdk = peer("typescript-sdk");
    // Node looks for packages from the directory of the script.
    let path = sdk.install(sdk.version())?.join(name);
    std::fs::write(&path, script)?;
    Ok(vec!["node".to_owned(), path.display().to_string()])
}

/// A command that runs this script with the Python SDK.
pub fn python(name: &str, script: &str) -> Result<Vec<String>> {
    let sdk = peer("python-sdk");
    let dir = sdk.install(sdk.version())?;
    let path = dir.join(name);
    std::fs::write(&path, script)?;
    Ok(vec![dir.join("bin/python").display().to_string(), path.display().to_string()])
}
