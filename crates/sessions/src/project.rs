//! Where the sessions of a project are kept: the name of its folder, and the other worktrees of its repository.

use std::fs;
use std::path::{Path, PathBuf};

/// The longest project key without a hash.
pub(crate) const MAX_KEY: usize = 200;

/// The name of the folder in which Claude Code keeps the sessions of a project.
///
/// Every character that is not an ASCII letter or digit becomes `-`, one for each unit of UTF-16. A key of more than 200
/// characters is cut there and gets a hash of the whole path. The path is taken as it is:
/// [`project_key_of_directory`] resolves links first, as Claude Code does.
///
/// ```
/// use duologue_sessions::project_key;
///
/// assert_eq!(project_key("/home/me/my.project".as_ref()), "-home-me-my-project");
/// let long = project_key(format!("/{}", "deep/".repeat(60)).as_ref());
/// assert_eq!(long.len(), 200 + 1 + "cdsrvn".len());
/// ```
///
/// The Python SDK differs for characters outside the Basic Multilingual Plane: it writes one `-` and does not find what
/// Claude Code has written.
pub fn project_key(path: &Path) -> String {
    let text = path.to_string_lossy();
    let key = plain_key(&text);
    if key.len() <= MAX_KEY {
        return key;
    }
    let hash = text
        .encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    format!("{}-{}", key.get(..MAX_KEY).unwrap_or_default(), base36(hash.unsigned_abs()))
}

/// The [project key](project_key) of a directory: links are resolved if it exists.
///
/// ```
/// use duologue_sessions::{project_key, project_key_of_directory};
///
/// let folder = tempfile::tempdir()?;
/// let real = folder.path().canonicalize()?;
/// assert_eq!(project_key_of_directory(folder.path()), project_key(&real));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn project_key_of_directory(directory: &Path) -> String {
    project_key(&real_path(directory))
}

/// A path with `-` for all but ASCII letters and digits, however long.
pub(crate) fn plain_key(text: &str) -> String {
    let plain = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    };
    text.encode_utf16().map(plain).collect()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// The path without links. On macOS, names are composed as Claude Code composes them.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let real = fs::canonicalize(&absolute).unwrap_or(absolute);
    if cfg!(target_os = "macos") { composed(&real) } else { real }
}

/// The path in Normalization Form C, if it is text.
pub(crate) fn composed(path: &Path) -> PathBuf {
    match path.to_str() {
        Some(text) if !text.is_ascii() => {
            let normalizer = icu_normalizer::ComposingNormalizerBorrowed::new_nfc();
            PathBuf::from(normalizer.normalize(text).into_owned())
        }
        _ => path.to_path_buf(),
    }
}

/// All worktrees of the repository that holds this directory: what `git worktree list` prints. Empty outside a repository.
///
/// This reads the files of the repository and runs no program.
pub(crate) fn worktrees(directory: &Path) -> Vec<PathBuf> {
    let Some(git_dir) = directory.ancestors().find_map(git_dir) else { return Vec::new() };
    let common = match fs::read_to_string(git_dir.join("commondir")) {
        Ok(text) => absolute(&git_dir, text.trim()),
        Err(_) => git_dir,
    };
    let is_dot_git = common.file_name().is_some_and(|name| name == ".git");
    let main = match common.parent() {
        Some(parent) if is_dot_git => parent.to_path_buf(),
        _ => common.clone(),
    };
    let mut found = vec![main];
    for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
        let Ok(text) = fs::read_to_string(entry.path().join("gitdir")) else { continue };
        let pointer = absolute(&entry.path(), text.trim());
        found.extend(pointer.parent().map(Path::to_path_buf));
    }
    found
}

/// The folder of git for a directory that has a `.git`, which is a folder or a file that names one.
fn git_dir(directory: &Path) -> Option<PathBuf> {
    let dot_git = directory.join(".git");
    if dot_git.join("HEAD").is_file() {
        return Some(dot_git);
    }
    let text = fs::read_to_string(&dot_git).ok()?;
    let target = absolute(directory, text.strip_prefix("gitdir:")?.trim());
    target.join("HEAD").is_file().then_some(target)
}

/// A path of git, relative to where it was found, without `..` if it exists.
fn absolute(base: &Path, path: &str) -> PathBuf {
    let joined = base.join(path);
    // A removed worktree is listed too: its folder may be there while its `.git` is not.
    match (joined.parent(), joined.file_name()) {
        (Some(parent), Some(name)) if !joined.exists() => real_path(parent).join(name),
        _ => real_path(&joined),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_claude_code() {
        assert_eq!(project_key(Path::new("/a/b_c.d é")), "-a-b-c-d--");
        // One `-` for each half of a surrogate pair.
        assert_eq!(project_key(Path::new("/🦀")), "---");
        let limit = format!("/{}", "x".repeat(199));
        assert_eq!(project_key(Path::new(&limit)).len(), 200);
        let over = format!("/{}", "x".repeat(200));
        assert!(project_key(Path::new(&over)).starts_with(&format!("-{}-", "x".repeat(199))));
    }
}
