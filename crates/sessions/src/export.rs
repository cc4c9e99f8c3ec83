//! Moving a session to another place: its transcript, its sub-agents and its side files, byte for byte.
//!
//! An export is a line of JSON that says what it is, then each file: a line of JSON with its path and size, and its bytes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::{Error, Result, valid_id, valid_name, valid_subpath};
use crate::head_tail::open_regular;
use crate::session::{StoredSession, create_private, create_private_dir};
use crate::sessions::Sessions;

/// The longest line of an export that is not the bytes of a file.
const MAX_LINE: u64 = 64 * 1024;

impl StoredSession {
    /// Writes the whole session: the transcript, sub-agents and side files. [`Sessions::import`] reads it.
    ///
    /// ```
    /// use duologue_sessions::Sessions;
    ///
    /// # let (old, new) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// # let id = "11111111-2222-4333-8444-555555555555";
    /// # std::fs::create_dir_all(old.path().join("projects/-my"))?;
    /// # let text = r#"{"type":"user","uuid":"a","message":{"role":"user","content":"Hello?"}}"#;
    /// # std::fs::write(old.path().join(format!("projects/-my/{id}.jsonl")), format!("{text}\n"))?;
    /// let mut file = Vec::new();
    /// Sessions::in_config_dir(old.path()).get(id)?.export(&mut file)?;
    /// let copy = Sessions::in_config_dir(new.path()).import(&mut file.as_slice())?;
    /// assert_eq!(copy.info()?.expect("it has a prompt").summary, "Hello?");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a file cannot be read, or the export cannot be written.
    pub fn export(&self, out: &mut dyn Write) -> Result<()> {
        let failed = |source| Error::Io { path: PathBuf::from("export"), source };
        let head = json!({ "type": "duologue-session", "version": 1, "sessionId": self.id(), "projectKey": self.project_key() });
        writeln!(out, "{head}").map_err(failed)?;
        let mut files = Vec::new();
        collect(&self.folder(), &mut Vec::new(), &mut files)?;
        let files = files.into_iter().map(|(name, path)| (Some(name), path));
        for (name, path) in std::iter::once((None, self.path().to_path_buf())).chain(files) {
            let file = open_regular(&path).map_err(Error::io(&path))?;
            let size = file.metadata().map_err(Error::io(&path))?.len();
            writeln!(out, "{}", json!({ "path": name, "size": size })).map_err(failed)?;
            // A file that grows meanwhile is exported as it was.
            let copied = std::io::copy(&mut file.take(size), out).map_err(failed)?;
            if copied != size {
                return Err(Error::Io { path, source: std::io::ErrorKind::UnexpectedEof.into() });
            }
            writeln!(out).map_err(failed)?;
        }
        Ok(())
    }
}

impl Sessions {
    /// Reads a session that [`StoredSession::export`] has written. It keeps its id.
    ///
    /// It goes to the [project](Self::in_project) of this value, else to the project that it came from.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a session with this id, [`Error::BadExport`] if the export is damaged, or if a file
    /// cannot be written. Nothing is left behind then.
    pub fn import(&self, input: &mut dyn Read) -> Result<StoredSession> {
        let mut input = BufReader::new(input);
        let head = header(&mut input)?.ok_or_else(|| bad("it is empty"))?;
        if head["type"] != "duologue-session" || head["version"] != 1 {
            return Err(bad("it is not an export of a session"));
        }
        let id = valid_id(head["sessionId"].as_str().unwrap_or_default())?.to_owned();
        let folder = match self.project() {
            Some(directory) => self.project_dir(directory),
            None => {
                let key = head["projectKey"].as_str().unwrap_or_default();
                self.projects_dir().join(valid_name(key)?)
            }
        };
        let target = folder.join(format!("{id}.jsonl"));
        if target.exists() || target.with_extension("").exists() {
            return Err(Error::Exists(id));
        }
        create_private_dir(&folder)?;
        let draft = folder.join(format!("{}.import", uuid::Uuid::new_v4()));
        create_private_dir(&draft)?;
        let result = read_files(&mut input, &draft).and_then(|()| {
            let main = draft.join("main");
            if !main.exists() {
                return Err(bad("it has no transcript"));
            }
            let side = draft.join("side");
            if side.exists() {
                let to = target.with_extension("");
                fs::rename(&side, &to).map_err(Error::io(&to))?;
            }
            // A link fails if somebody was faster; a rename would replace their file.
            fs::hard_link(&main, &target).map_err(Error::io(&target))
        });
        let _ = fs::remove_dir_all(&draft);
        result.map(|()| {
            StoredSession::new(
                self.config_dir().to_path_buf(),
                &id,
                target,
                self.project().map(Path::to_path_buf),
            )
        })
    }
}

fn bad(reason: impl Into<String>) -> Error {
    Error::BadExport(reason.into())
}

/// The next line of JSON. `None` at the end.
fn header(input: &mut impl BufRead) -> Result<Option<Value>> {
    let mut line = Vec::new();
    input.take(MAX_LINE).read_until(b'\n', &mut line).map_err(|error| bad(error.to_string()))?;
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(|_| bad("a header is not JSON"))
}

fn read_files(input: &mut impl BufRead, draft: &Path) -> Result<()> {
    while let Some(head) = header(input)? {
        let size = head["size"].as_u64().ok_or_else(|| bad("a file has no size"))?;
        let path = match head.get("path") {
            Some(Value::Null) => draft.join("main"),
            Some(Value::String(path)) => draft.join("side").join(valid_subpath(path)?),
            _ => return Err(bad("a file has no path")),
        };
        if let Some(parent) = path.parent() {
            create_private_dir(parent)?;
        }
        let mut file: File = create_private(&path)?;
        let copied =
            std::io::copy(&mut input.by_ref().take(size), &mut file).map_err(Error::io(&path))?;
        let mut newline = [0];
        if copied != size || input.read_exact(&mut newline).is_err() || newline != *b"\n" {
            return Err(bad("it ends too early"));
        }
    }
    Ok(())
}

/// All files in a folder, with their paths below it. Links are left out: they may lead anywhere.
fn collect(
    folder: &Path,
    above: &mut Vec<String>,
    found: &mut Vec<(String, PathBuf)>,
) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::Io { path: folder.to_path_buf(), source }),
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        above.push(name);
        if kind.is_file() {
            found.push((above.join("/"), entry.path()));
        } else if kind.is_dir() && above.len() < 16 {
            collect(&entry.path(), above, found)?;
        }
        above.pop();
    }
    Ok(())
}
