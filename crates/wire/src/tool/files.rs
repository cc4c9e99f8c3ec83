//! The output of `Read`, and the changes that `Edit` and `Write` report.

use crate::json::{Number, RawJson, RawObject};
use crate::text::Text;
use crate::wire::{record, union};

union! {
    /// The output of `Read`, by the type of the file.
    ReadOutput by "type" {
        /// A text file.
        "text" => Text(ReadText) {
            /// The file.
            file: ReadTextFile,
            /// The artifact that was read.
            artifact_read "artifactRead": RawObject,
        },
        /// An image.
        "image" => Image(ReadImage) {
            /// The file.
            file: ReadImageFile,
        },
        /// A notebook.
        "notebook" => Notebook(ReadNotebook) {
            /// The file.
            file: ReadNotebookFile,
        },
        /// A PDF.
        "pdf" => Pdf(ReadPdf) {
            /// The file.
            file: ReadPdfFile,
        },
        /// Pages of a PDF, as images.
        "parts" => Parts(ReadParts) {
            /// The file.
            file: ReadPartsFile,
            /// The first page.
            first_page "firstPage": Number,
            /// The images of the pages.
            pages: Vec<RawJson>,
        },
        /// The file did not change since the model read it.
        "file_unchanged" => Unchanged(ReadUnchanged) {
            /// The file.
            file: RawObject,
        },
    }
}

record! {
    /// A text file that was read.
    ReadTextFile {
        /// The path.
        file_path "filePath": Text,
        /// The content that was read.
        content: Text,
        /// The number of lines in `content`.
        num_lines "numLines": Number,
        /// The first line.
        start_line "startLine": Number,
        /// The number of lines in the file.
        total_lines "totalLines": Number,
        /// The content ends at the limit of tokens.
        truncated_by_token_cap "truncatedByTokenCap": bool,
    }
}

record! {
    /// An image that was read.
    ReadImageFile {
        /// The image in base64.
        base64: Text,
        /// The MIME type.
        media_type "type": Text,
        /// The size of the file in bytes.
        original_size "originalSize": Number,
        /// The width and height before and after resizing.
        dimensions: ImageDimensions,
    }
}

record! {
    /// The width and height of an image before and after resizing.
    ImageDimensions {
        /// The width of the file in pixels.
        original_width "originalWidth": Number,
        /// The height of the file in pixels.
        original_height "originalHeight": Number,
        /// The width in pixels that the model sees.
        display_width "displayWidth": Number,
        /// The height in pixels that the model sees.
        display_height "displayHeight": Number,
    }
}

record! {
    /// A notebook that was read.
    ReadNotebookFile {
        /// The path.
        file_path "filePath": Text,
        /// The cells.
        cells: Vec<RawJson>,
    }
}

record! {
    /// A PDF that was read.
    ReadPdfFile {
        /// The path.
        file_path "filePath": Text,
        /// The PDF in base64.
        base64: Text,
        /// The size of the file in bytes.
        original_size "originalSize": Number,
    }
}

record! {
    /// A PDF whose pages were read.
    ReadPartsFile {
        /// The path.
        file_path "filePath": Text,
        /// The size of the file in bytes.
        original_size "originalSize": Number,
        /// The number of pages.
        count: Number,
        /// The directory with the images of the pages.
        output_dir "outputDir": Text,
    }
}

record! {
    /// One place of a file that changed, as in a unified diff.
    PatchHunk {
        /// The first line before.
        old_start "oldStart": Number,
        /// The number of lines before.
        old_lines "oldLines": Number,
        /// The first line after.
        new_start "newStart": Number,
        /// The number of lines after.
        new_lines "newLines": Number,
        /// The lines, each with `+`, `-` or a space in front.
        lines: Vec<Text>,
    }
}

record! {
    /// The changes of a file, as git shows them.
    GitDiff {
        /// The file.
        filename: Text,
        /// `modified` or `added`.
        status: Text,
        /// Lines added.
        additions: Number,
        /// Lines removed.
        deletions: Number,
        /// Lines changed.
        changes: Number,
        /// The patch.
        patch: Text,
        /// The repository on GitHub: `owner/name`.
        repository: Text,
    }
}
