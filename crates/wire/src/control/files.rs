//! Requests of the host about files.

use crate::id::Uuid;
use crate::json::{Number, RawJson};
use crate::text::Text;
use crate::wire::record;

record! {
    /// Put files back to where they were before a prompt.
    RewindFiles ["subtype" = "rewind_files"] {
        /// The prompt.
        user_message_id: Uuid,
        /// Only say what would happen.
        dry_run: bool,
    }
}

record! {
    /// What putting files back did, or would do.
    RewindFilesReply {
        /// Whether it can be done.
        can_rewind "canRewind": bool,
        /// Why not.
        error: Text,
        /// The files.
        files_changed "filesChanged": Vec<Text>,
        /// Lines added.
        insertions: Number,
        /// Lines removed.
        deletions: Number,
        /// Links that were left alone.
        skipped_links "skippedLinks": RawJson,
    }
}

record! {
    /// Count this file as read, so that it may be edited.
    SeedReadState ["subtype" = "seed_read_state"] {
        /// The file.
        path: Text,
        /// When it was changed last, in milliseconds since 1970.
        mtime: Number,
    }
}

record! {
    /// Read a file.
    ReadFile ["subtype" = "read_file"] {
        /// The file.
        path: Text,
        /// How much of it.
        max_bytes: Number,
        /// `utf-8` or `base64`.
        encoding: Text,
        /// What the path is relative to.
        anchor: RawJson,
        /// From where on.
        offset: Number,
        /// To be uploaded.
        for_upload: RawJson,
        /// Answer even while a turn runs.
        live_reply "liveReply": bool,
    }
}

record! {
    /// A file.
    ReadFileReply {
        /// What stands in it.
        contents: Text,
        /// Where it lies.
        abs_path "absPath": Text,
        /// Whether the end is missing.
        truncated: bool,
        /// `base64`, if it is.
        encoding: Text,
        /// Whether something in it was no text.
        lossy: bool,
        /// What was asked for.
        requested_path: Text,
    }
}

record! {
    /// Which files could be meant?
    FileSuggestions ["subtype" = "file_suggestions"] {
        /// What was typed.
        query: Text,
    }
}

record! {
    /// Files that could be meant.
    FileSuggestionsReply {
        /// The files.
        suggestions: Vec<FileSuggestion>,
        /// What they are relative to.
        cwd: Text,
    }
}

record! {
    /// A file that could be meant.
    FileSuggestion {
        /// The file.
        path: Text,
        /// How well it fits.
        score: Number,
    }
}

record! {
    /// Work in this repository too.
    RegisterRepoRoot ["subtype" = "register_repo_root"] {
        /// The directory.
        directory: Text,
        /// Read its instructions.
        reload_claude_md: bool,
        /// Load its plugins.
        reload_plugins: bool,
        /// Look for its skills.
        reload_skills: bool,
    }
}

record! {
    /// The repository.
    RegisterRepoRootReply {
        /// The directory.
        directory: Text,
    }
}
