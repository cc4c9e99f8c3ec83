//! Files: what was read of them, and writing them whole.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::NamedTempFile;

/// How many files are remembered as read.
const REMEMBERED: usize = 1000;

/// The largest file that is read whole.
pub(super) const MAX_READ: u64 = 256 * 1024;

/// The largest file that is edited: a diff of more is of no use.
pub(super) const MAX_EDIT: u64 = 64 * 1024 * 1024;

/// The files that an agent has seen, and as of when.
#[derive(Debug, Default)]
pub(super) struct FileStates {
    seen: HashMap<PathBuf, Stamp>,
    order: VecDeque<PathBuf>,
}

/// A version of a file, as far as it is known without reading it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { modified: metadata.modified().ok(), length: metadata.len() })
    }
}

impl FileStates {
    /// The file was read, or written, as it is now.
    pub(super) fn saw(&mut self, path: &Path) {
        let Some(stamp) = Stamp::of(path) else { return };
        if self.seen.insert(path.to_path_buf(), stamp).is_none() {
            self.order.push_back(path.to_path_buf());
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
    }

    /// The version that was seen, if any.
    pub(super) fn seen(&self, path: &Path) -> Option<Stamp> {
        self.seen.get(path).copied()
    }
}

/// Opens a regular file. Pipes and devices could block, or never end.
pub(super) fn open(path: &Path, shown: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe without a writer would block the very opening.
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(flags.cast_signed());
    }
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        let message = format!("EISDIR: illegal operation on a directory, read '{shown}'");
        return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
    }
    if !metadata.is_file() {
        return Err(io::Error::other(format!(
            "Cannot read '{shown}': this device file would block or produce infinite output."
        )));
    }
    Ok(file)
}

/// Reads a file that is to be changed.
pub(super) fn read_text(path: &Path, shown: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path, shown)?.take(MAX_EDIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_EDIT {
        return Err(io::Error::other(format!("'{shown}' is too large to be edited.")));
    }
    // To replace what cannot be read would destroy it.
    String::from_utf8(bytes)
        .map_err(|_| io::Error::other(format!("'{shown}' is not UTF-8 text: it was left alone.")))
}

/// Writes a file whole or not at all. Its permissions stay; a link to it stays a link, since `path`
/// is where it leads.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("a file needs a folder"))?;
    fs::create_dir_all(folder)?;
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other(format!("{} is not a file", path.display())));
    }
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    match existing {
        Some(metadata) => fs::set_permissions(file.path(), metadata.permissions())?,
        None => fs::set_permissions(file.path(), permissions_of_new_files(folder)?)?,
    }
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The permissions that a plain new file would get. Temporary files are for their owner alone, and
/// the mask can only be read by changing it.
fn permissions_of_new_files(folder: &Path) -> io::Result<fs::Permissions> {
    let probe = tempfile::Builder::new()
        .make_in(folder, |path| OpenOptions::new().write(true).create_new(true).open(path))?;
    Ok(probe.as_file().metadata()?.permissions())
}

/// A size as the CLI writes it: `4.8MB`.
pub(super) fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
    let bytes = bytes as f64;
    let with_unit = |value: f64, unit: &str| {
        let text = format!("{value:.1}");
        format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    match bytes / 1024.0 {
        kilobytes if kilobytes < 1.0 => format!("{bytes} bytes"),
        kilobytes if kilobytes < 1024.0 => with_unit(kilobytes, "KB"),
        kilobytes if kilobytes < 1024.0 * 1024.0 => with_unit(kilobytes / 1024.0, "MB"),
        kilobytes => with_unit(kilobytes / (1024.0 * 1024.0), "GB"),
    }
}
