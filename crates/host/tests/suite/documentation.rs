//! Every public async function states whether it is cancel safe.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The public async functions in this source, and those without the phrase.
fn check(text: &str) -> (usize, Vec<String>) {
    let (mut count, mut missing) = (0, Vec::new());
    let mut doc = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            doc.push_str(comment);
        } else if line.starts_with("#[") || line.starts_with("$(#[") {
        } else {
            if line.starts_with("pub async fn ") {
                count += 1;
                if !doc.contains("Cancel safe.") && !doc.contains("Not cancel safe") {
                    missing.push(line.to_owned());
                }
            }
            doc.clear();
        }
    }
    (count, missing)
}

#[test]
fn every_public_async_function_states_whether_it_is_cancel_safe() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let (mut count, mut missing) = (0, Vec::new());
    for file in files {
        let (found, without) = check(&std::fs::read_to_string(&file).unwrap());
        count += found;
        missing.extend(without.into_iter().map(|line| format!("{}: {line}", file.display())));
    }
    assert!(count > 20, "{count}");
    assert_eq!(missing, [] as [String; 0]);
}

#[test]
fn a_missing_phrase_is_found() {
    assert_eq!(check("/// Sends it.\npub async fn send() {}").1.len(), 1);
    assert_eq!(check("/// Sends it. Cancel safe.\n#[must_use]\npub async fn send() {}").1.len(), 0);
}
