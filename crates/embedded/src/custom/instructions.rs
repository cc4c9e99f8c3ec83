//! [`Instructions`]: `CLAUDE.md` of the user and of the project, and the files that they import.

use std::path::{Path, PathBuf};

use crate::path;
use crate::settings::SettingSource;

/// How deep imports may be nested.
const MAX_DEPTH: usize = 5;

/// Instructions for the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instructions {
    files: Vec<File>,
}

#[derive(Clone, Debug)]
struct File {
    path: PathBuf,
    owner: Owner,
    text: String,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    User,
    Project,
    Local,
}

impl Owner {
    /// The words of the CLI.
    const fn described(self) -> &'static str {
        match self {
            Self::User => "user's private global instructions for all projects",
            Self::Project => "project instructions, checked into the codebase",
            Self::Local => "user's private project instructions, not checked in",
        }
    }

    /// The kind of file, for `get_context_usage`.
    const fn kind(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Project => "Project",
            Self::Local => "Local",
        }
    }
}

impl Instructions {
    /// Reads the files of the sources that count: the user's, then those of each folder from the root to the working
    /// directory.
    pub(super) fn load(user: Option<&Path>, cwd: &Path, sources: &[SettingSource]) -> Self {
        let mut instructions = Self::default();
        if let Some(config) = user {
            instructions.take(&config.join("CLAUDE.md"), Owner::User, None, 0);
            instructions.take_rules(&config.join("rules"), Owner::User);
        }
        let (project, local) =
            (sources.contains(&SettingSource::Project), sources.contains(&SettingSource::Local));
        let mut folders: Vec<&Path> = cwd.ancestors().collect();
        folders.reverse();
        for folder in folders {
            if project {
                instructions.take(&folder.join("CLAUDE.md"), Owner::Project, Some(cwd), 0);
                instructions.take(&folder.join(".claude/CLAUDE.md"), Owner::Project, Some(cwd), 0);
                instructions.take_rules(&folder.join(".claude/rules"), Owner::Project);
            }
            if local {
                instructions.take(&folder.join("CLAUDE.local.md"), Owner::Local, Some(cwd), 0);
            }
        }
        instructions
    }

    fn take_rules(&mut self, folder: &Path, owner: Owner) {
        for (_, path) in super::markdown(folder) {
            self.take(&path, owner, None, 0);
        }
    }

    /// Adds a file and what it imports. A file that is outside `inside` is not imported: a project must not read files of
    /// the user.
    fn take(&mut self, path: &Path, owner: Owner, inside: Option<&Path>, depth: usize) {
        if depth > MAX_DEPTH || self.files.iter().any(|file| file.path == path) {
            return;
        }
        let Some(text) = super::read(path).filter(|text| !text.trim().is_empty()) else { return };
        let imports = imports(&text);
        self.files.push(File { path: path.to_owned(), owner, text });
        let folder = path.parent().unwrap_or(path);
        for import in imports {
            let target = path::absolute(&import, folder, path::home().as_deref());
            let real = path::real(&target).unwrap_or_else(|| target.clone());
            let is_inside =
                |root: &Path| real.starts_with(path::real(root).unwrap_or_else(|| root.to_owned()));
            if inside.is_none_or(is_inside) {
                self.take(&target, owner, inside, depth + 1);
            }
        }
    }

    /// Each file: its path, its kind and its text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, &'static str, &str)> {
        self.files.iter().map(|file| (file.path.as_path(), file.owner.kind(), file.text.as_str()))
    }

    /// All of them, for the model. The words are the CLI's own.
    pub(crate) fn reminder(&self) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let files: Vec<String> = self
            .files
            .iter()
            .map(|file| {
                let (path, what) = (file.path.display(), file.owner.described());
                format!("Contents of {path} ({what}):\n\n{}", file.text.trim())
            })
            .collect();
        Some(format!(
            "<system-reminder>\nCodebase and user instructions are shown below. Be sure to adhere to these instructions. IMPORTANT: These instructions OVERRIDE any default behavior and you MUST follow them exactly as written.\n\n{}\n</system-reminder>",
            files.join("\n\n")
        ))
    }
}

/// The paths that a text imports: `@path` outside code.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            continue;
        }
        // Every second part is between backticks.
        for prose in line.split('`').step_by(2) {
            let words = prose.split_whitespace();
            let paths =
                words.filter_map(|word| word.strip_prefix('@')).filter(|path| !path.is_empty());
            found.extend(paths.map(str::to_owned));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::imports;

    #[test]
    fn imports_are_outside_code() {
        let text = "See @a.md and `@b.md`.\n```\n@c.md\n```\nmail x@y.z\n@~/d.md";
        assert_eq!(imports(text), ["a.md", "~/d.md"]);
    }
}
