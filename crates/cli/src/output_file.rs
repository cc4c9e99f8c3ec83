//! [`OutputFile`]: a file that a command writes. It never replaces an existing file, except with `--force`.
//!
//! The path is checked before any work is done. The content is written to a temporary file in the same folder, which is
//! renamed when it is complete: an interrupted command leaves no partial file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use duologue_tape::is_stream;
use duologue_terminal::print;
use tempfile::NamedTempFile;

/// Who may read the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its owner: it may contain secrets.
    Owner,
    /// Everyone, as far as the umask allows.
    Everyone,
    /// Everyone, and everyone may run it.
    Program,
}

/// The output of a command.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// `-`.
    Stdout,
    /// A device, a pipe or `/dev/stdout`.
    Stream,
    /// A file that does not exist yet.
    New,
    /// A file that may exist, and may be replaced.
    Replaced,
}

impl OutputFile {
    /// Checks that this path can be written; `-` is stdout. Nothing is created yet.
    ///
    /// # Errors
    /// If a file would be replaced without `force`, or the folder cannot be written.
    pub(crate) fn check(path: &Path, force: bool) -> anyhow::Result<Self> {
        let place = match fs::symlink_metadata(path) {
            _ if path == Path::new("-") => Place::Stdout,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Place::New,
            Err(error) => return Err(error).with_context(|| cannot_write(path)),
            Ok(_) if is_stream(path) => Place::Stream,
            Ok(there) => {
                let is_folder = fs::metadata(path).is_ok_and(|there| there.is_dir());
                anyhow::ensure!(!is_folder, "{} is a directory; name a file in it", path.display());
                anyhow::ensure!(
                    there.is_file() || there.is_symlink(),
                    "{} is not a file, and is not replaced",
                    path.display()
                );
                anyhow::ensure!(force, exists(path));
                Place::Replaced
            }
        };
        if matches!(place, Place::New | Place::Replaced) {
            can_create_in(folder_of(path)).with_context(|| cannot_write(path))?;
        }
        Ok(Self { path: path.to_owned(), place })
    }

    /// Starts to write.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub(crate) fn create(self, access: Access) -> anyhow::Result<Writing> {
        let context = || cannot_write(&self.path);
        let to = match self.place {
            Place::Stdout => To::Stdout(print::data()),
            // Append, since stdout may be a file with content.
            Place::Stream => {
                To::Stream(OpenOptions::new().append(true).open(&self.path).with_context(context)?)
            }
            Place::New | Place::Replaced => {
                let mut builder = tempfile::Builder::new();
                builder.prefix(".duologue-");
                builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(match access {
                    Access::Owner => 0o600,
                    Access::Everyone => 0o644,
                    Access::Program => 0o755,
                }));
                let file = builder.tempfile_in(folder_of(&self.path)).with_context(context)?;
                To::File(file)
            }
        };
        let replaces = matches!(self.place, Place::Replaced);
        Ok(Writing { path: self.path, replaces, to: BufWriter::new(to) })
    }
}

/// A file that is being written. Without [`finish`](Self::finish) it is removed.
pub(crate) struct Writing {
    path: PathBuf,
    replaces: bool,
    to: BufWriter<To>,
}

enum To {
    Stdout(print::Data),
    Stream(File),
    File(NamedTempFile),
}

impl Writing {
    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// If the rest cannot be written, or a file of that name was created in the meantime.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let Self { path, replaces, to } = self;
        let context = || cannot_write(&path);
        let to = to.into_inner().map_err(io::IntoInnerError::into_error).with_context(context)?;
        let file = match to {
            To::Stdout(mut out) => return out.flush().with_context(context),
            To::Stream(mut out) => return out.flush().with_context(context),
            To::File(file) => file,
        };
        file.as_file().sync_all().with_context(context)?;
        let named = if replaces { file.persist(&path) } else { file.persist_noclobber(&path) };
        match named.map_err(|error| error.error) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(anyhow::Error::msg(exists(&path)))
            }
            Err(error) => Err(error).with_context(context),
        }
    }
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Stream(out) => out.write(bytes),
            Self::File(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Stream(out) => out.flush(),
            Self::File(out) => out.flush(),
        }
    }
}

/// Whether two paths are the same file, following links.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    let (Ok(first), Ok(second)) = (fs::metadata(a), fs::metadata(b)) else { return false };
    (first.dev(), first.ino()) == (second.dev(), second.ino())
}

/// The error for a file that is not replaced.
pub(crate) fn exists(path: &Path) -> String {
    format!("{} exists already; name another file, or use --force", path.display())
}

fn cannot_write(path: &Path) -> String {
    format!("could not write {}", path.display())
}

/// The folder of this path.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Checks that a file can be created in this folder.
fn can_create_in(folder: &Path) -> io::Result<()> {
    if !fs::metadata(folder)?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    use rustix::fs::Access;
    rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn write(path: &Path, force: bool) -> anyhow::Result<()> {
        let mut file = OutputFile::check(path, force)?.create(Access::Owner)?;
        file.write_all(b"new")?;
        file.finish()
    }

    #[test]
    fn only_a_name_that_is_free_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, dangling, other] =
            ["file", "link", "dangling", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        fs::hard_link(&file, &other).unwrap();
        symlink(&file, &link).unwrap();
        symlink("nowhere", &dangling).unwrap();
        for path in [&file, &link, &dangling, &other] {
            let error = write(path, false).unwrap_err();
            assert!(error.to_string().contains("exists already"), "{error}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        // A link is replaced itself; what it led to stays, and so do other names of a file.
        for path in [&link, &dangling, &other] {
            write(path, true).unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), "new");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert!(!folder.path().join("nowhere").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "something was left behind");
    }

    #[test]
    fn what_is_not_finished_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        let mut file = OutputFile::check(&path, false).unwrap().create(Access::Owner).unwrap();
        file.write_all(b"half").unwrap();
        file.flush().unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_appears_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        let file = OutputFile::check(&path, false).unwrap().create(Access::Owner).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(file.finish().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }

    #[test]
    fn folders_are_refused_even_by_force_and_devices_are_written_to() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(folder.path(), true).is_err());
        assert!(write(&folder.path().join("no/such/page"), true).is_err());
        write(Path::new("/dev/null"), false).unwrap();
        assert!(fs::symlink_metadata("/dev/null").unwrap().permissions().mode() & 0o600 == 0o600);
    }

    #[test]
    fn only_the_owner_reads_what_may_hold_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        write(&path, false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_same_file_is_known_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, hard, other] =
            ["file", "link", "hard", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "x").unwrap();
        fs::write(&other, "x").unwrap();
        symlink(&file, &link).unwrap();
        fs::hard_link(&file, &hard).unwrap();
        assert!(is_same_file(&file, &link) && is_same_file(&hard, &link));
        assert!(!is_same_file(&file, &other) && !is_same_file(&file, Path::new("-")));
    }
}
