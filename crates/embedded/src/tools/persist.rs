//! Outputs that are too large for the model: kept in a file, shown in part.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::ToolContext;
use super::context::private_file;
use super::files::size;

/// The most characters of an output that a model is shown.
pub(super) const MAX_SHOWN: usize = 30_000;

/// The characters of a preview.
const PREVIEW: usize = 2_000;

/// The text for the model, in place of the output itself.
pub(super) fn preview(text: &str, bytes: u64, path: &Path) -> String {
    let mut shown = first(text, PREVIEW);
    // A whole number of lines, unless that would leave next to nothing.
    if let Some(end) = shown.rfind('\n').filter(|end| *end > PREVIEW / 2) {
        shown = &shown[..end];
    }
    format!(
        "<persisted-output>\nOutput too large ({}). Full output saved to: {}\n\nPreview (first 2KB):\n{shown}\n...\n</persisted-output>",
        size(bytes),
        path.display(),
    )
}

/// The text itself, or a preview if it is too long: then all of it is in a file.
pub(super) fn bounded(text: String, context: &ToolContext) -> String {
    if text.chars().take(MAX_SHOWN + 1).count() <= MAX_SHOWN {
        return text;
    }
    match keep(&text, context) {
        Ok(path) => preview(&text, text.len() as u64, &path),
        // Without a file the model gets what fits.
        Err(_) => first(&text, MAX_SHOWN).to_owned(),
    }
}

fn keep(text: &str, context: &ToolContext) -> std::io::Result<PathBuf> {
    let path = context.outputs()?.join(format!("{}.txt", name('b')));
    private_file().open(&path)?.write_all(text.as_bytes())?;
    Ok(path)
}

/// The first characters of a text.
pub(super) fn first(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// A short unique name: `b59saqnsm`.
pub(super) fn name(kind: char) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let random = uuid::Uuid::new_v4();
    let digits = random.as_bytes().iter().take(8).map(|byte| DIGITS[usize::from(*byte) % 36]);
    std::iter::once(kind).chain(digits.map(char::from)).collect()
}
