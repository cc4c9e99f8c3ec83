//! Renders the public API of each published crate as text and compares it with the files in the tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

const USAGE: &str = "usage: duologue-public-api [--write] [ROOT]

  --write  writes ROOT/api/*.txt instead of comparing them
  ROOT     the workspace; this one by default";

/// How many changed lines are printed for each crate.
const SHOWN: usize = 50;

fn main() -> Result<()> {
    let mut write = false;
    let mut root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for arg in std::env::args().skip(1) {
        match arg.as_str() {
            "--write" => write = true,
            flag if flag.starts_with('-') => bail!("{USAGE}"),
            path => root = PathBuf::from(path),
        }
    }
    let manifest = root.join("Cargo.toml");
    let folder = root.join("api");
    let metadata = cargo(&manifest, "metadata", &["--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_slice(&metadata)?;
    let documentation = Path::new(text(&metadata, "target_directory")?).join("doc");

    let mut known = BTreeSet::new();
    let mut changed = Vec::new();
    for package in metadata["packages"].as_array().context("cargo metadata has no packages")? {
        let is_published = package["publish"] != Value::Array(Vec::new());
        let targets = package["targets"].as_array().map_or(&[][..], Vec::as_slice);
        let library = targets.iter().find(|target| target["kind"][0] == "lib");
        let Some(library) = library.filter(|_| is_published) else { continue };
        let name = text(package, "name")?;
        let api = render(&manifest, name, &documentation.join(text(library, "name")?))?;
        let file = folder.join(format!("{name}.txt"));
        if write {
            fs::create_dir_all(&folder)?;
            fs::write(&file, &api)?;
        } else if let Some(changes) = compare(&fs::read_to_string(&file).unwrap_or_default(), &api) {
            changed.push(format!("{}:\n{changes}", file.display()));
        }
        known.insert(file);
    }
    ensure!(!known.is_empty(), "no crate of this workspace is published");
    for entry in fs::read_dir(&folder).into_iter().flatten() {
        let file = entry?.path();
        if !known.contains(&file) {
            if write {
                fs::remove_file(&file)?;
            } else {
                changed.push(format!("{}: no published crate has this name", file.display()));
            }
        }
    }
    ensure!(
        changed.is_empty(),
        "the public API changed. If that is intended, write it again: \
         cargo run --manifest-path .ci/public-api/Cargo.toml -- --write\n{}",
        changed.join("\n")
    );
    Ok(())
}

/// The public API of a crate with all its features, one item on each line, sorted.
fn render(manifest: &Path, package: &str, json: &Path) -> Result<String> {
    let flags = ["--quiet", "--locked", "--lib", "--all-features", "--package", package];
    let rustdoc = ["--", "-Zunstable-options", "--output-format=json", "--cap-lints=allow"];
    cargo(manifest, "rustdoc", &[flags.as_slice(), rustdoc.as_slice()].concat())?;
    let api = public_api::Builder::from_rustdoc_json(json.with_extension("json"))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("the API of {package} cannot be read"))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

fn cargo(manifest: &Path, command: &str, args: &[&str]) -> Result<Vec<u8>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg(command).arg("--manifest-path").arg(manifest).args(args);
    cargo.env("RUSTDOC", Path::new(env!("CARGO_MANIFEST_DIR")).join("rustdoc"));
    let output = cargo.stderr(std::process::Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{cargo:?} failed: {}", output.status);
    Ok(output.stdout)
}

fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str> {
    value[field].as_str().with_context(|| format!("cargo metadata has no {field}"))
}

/// The lines that were removed and added, if any.
fn compare(old: &str, new: &str) -> Option<String> {
    let (before, after): (BTreeSet<&str>, BTreeSet<&str>) = (old.lines().collect(), new.lines().collect());
    let removed = before.difference(&after).map(|line| format!("  - {line}"));
    let added = after.difference(&before).map(|line| format!("  + {line}"));
    let lines: Vec<String> = removed.chain(added).collect();
    let rest = lines.len().saturating_sub(SHOWN);
    let mut shown = lines.into_iter().take(SHOWN).collect::<Vec<_>>().join("\n");
    if rest > 0 {
        shown.push_str(&format!("\n  and {rest} more"));
    }
    (old != new).then_some(shown)
}
