//! Tools that read, write and find files.

use crate::json::Number;
use crate::text::Text;
use crate::wire::{record, words};

record! {
    /// Read a file.
    Read {
        /// The file.
        file_path: Text,
        /// The first line, from 1.
        offset: Number,
        /// How many lines.
        limit: Number,
        /// Which pages of a PDF: `1-5`.
        pages: Text,
    }
}

record! {
    /// Write a file.
    Write {
        /// The file.
        file_path: Text,
        /// What to write.
        content: Text,
    }
}

record! {
    /// Change a file.
    Edit {
        /// The file.
        file_path: Text,
        /// The text to replace.
        old_string: Text,
        /// The text to put there.
        new_string: Text,
        /// Everywhere, not just once.
        replace_all: bool,
    }
}

record! {
    /// Find files by name.
    Glob {
        /// The pattern: `**/*.rs`.
        pattern: Text,
        /// Where.
        path: Text,
    }
}

record! {
    /// Find text in files.
    Grep {
        /// A regular expression.
        pattern: Text,
        /// Where.
        path: Text,
        /// Only in files of this name: `*.rs`.
        glob: Text,
        /// Only in files of this type: `rust`.
        file_type "type": Text,
        /// What to show.
        output_mode: GrepOutputMode,
        /// Lines before.
        before "-B": Number,
        /// Lines after.
        after "-A": Number,
        /// Lines around.
        around "-C": Number,
        /// Lines around.
        context: Number,
        /// Show line numbers.
        line_numbers "-n": bool,
        /// Capital letters do not matter.
        ignore_case "-i": bool,
        /// Only what matched.
        only_matching "-o": bool,
        /// How many lines at the most.
        head_limit: Number,
        /// How many lines to leave out first.
        offset: Number,
        /// A match may span lines.
        multiline: bool,
    }
}

words! {
    /// What `Grep` shows.
    GrepOutputMode {
        /// The lines.
        Content = "content",
        /// The files.
        FilesWithMatches = "files_with_matches",
        /// How many.
        Count = "count",
    }
}

record! {
    /// Change a notebook.
    NotebookEdit {
        /// The notebook.
        notebook_path: Text,
        /// The cell.
        cell_id: Text,
        /// What to put there.
        new_source: Text,
        /// `code` or `markdown`.
        cell_type: Text,
        /// `replace`, `insert` or `delete`.
        edit_mode: Text,
    }
}
