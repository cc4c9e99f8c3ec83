//! Resolving paths and symbolic links.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// How many symbolic links a path may go through: as many as Linux follows.
const MAX_LINKS: usize = 40;

/// The path made absolute, as it was written: `~` and relative paths are expanded, `..` is folded.
pub(crate) fn absolute(path: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    fold(&expanded(path, cwd, home))
}

/// The same path with `~` and a relative beginning expanded, and nothing folded: `..` after a
/// symbolic link leads elsewhere than its text suggests.
pub(crate) fn expanded(path: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_path_buf(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => cwd.join(path),
    }
}

/// Drops `.` and folds `..`, by the text alone.
pub(crate) fn fold(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop();
            }
            other => folded.push(other),
        }
    }
    folded
}

/// Where an absolute path really leads, symbolic links followed, also if the last parts do not exist
/// yet: who writes through a dangling link creates its target. `None` if it goes round in circles.
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    let mut links = 0;
    let mut done = PathBuf::new();
    // What is still to be walked, last part first.
    let mut ahead = parts(path);
    while let Some(part) = ahead.pop() {
        match part {
            Part::Root(root) => done = root,
            Part::Up => {
                done.pop();
            }
            Part::Name(name) => {
                let next = done.join(&name);
                match fs::read_link(&next) {
                    Ok(target) => {
                        links += 1;
                        if links > MAX_LINKS {
                            return None;
                        }
                        ahead.extend(parts(&target));
                    }
                    // Not a link, or not there.
                    Err(_) => done = next,
                }
            }
        }
    }
    Some(done)
}

enum Part {
    Root(PathBuf),
    Up,
    Name(OsString),
}

/// The parts of a path, last first.
fn parts(path: &Path) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => {
                let root = PathBuf::from(component.as_os_str());
                match parts.last_mut() {
                    Some(Part::Root(prefix)) => prefix.push(root),
                    _ => parts.push(Part::Root(root)),
                }
            }
            Component::CurDir => {}
            Component::ParentDir => parts.push(Part::Up),
            Component::Normal(name) => parts.push(Part::Name(name.to_owned())),
        }
    }
    parts.reverse();
    parts
}

/// The person's home, from the environment.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}
