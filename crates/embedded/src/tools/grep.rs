//! `Grep`: finds text in files, with ripgrep's own crates.

use std::io;
use std::path::{Path, PathBuf};

use duologue_protocol::tool::{self, GrepOutputMode};
use duologue_protocol::{Field, Number, RawObject};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use ignore::{Walk, WalkBuilder};
use serde_json::{Value, json};

use super::context::Resolved;
use super::glob::modified;
use super::grep_sink::{Content, Count};
use super::persist::bounded;
use super::{Access, Cancel, Category, Tool, ToolContext, ToolFuture, ToolOutput, text_or_empty};
use crate::permission::HiddenFiles;

/// How many lines or files are shown by default.
const DEFAULT_LIMIT: usize = 250;

/// What is kept of an output, also without a limit.
const MAX_LINES: usize = 100_000;

/// Folders of version control, which are not searched.
const VCS: [&str; 6] = [".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

/// Finds text in files.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GrepTool;

impl GrepTool {
    /// Its name.
    pub const NAME: &'static str = "Grep";
}

impl Tool for GrepTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Finds text in files by a regular expression, as ripgrep does: ignored files are left out. \
         Shows the files, the lines (`output_mode` \"content\") or counts (\"count\")."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "The regular expression to search for" },
                "path": { "type": "string", "description": "File or directory to search in; the working directory unless given" },
                "glob": { "type": "string", "description": "Only files that match: \"*.js\", \"*.{ts,tsx}\"" },
                "output_mode": { "type": "string", "enum": ["content", "files_with_matches", "count"] },
                "-B": { "type": "number", "description": "Lines to show before each match" },
                "-A": { "type": "number", "description": "Lines to show after each match" },
                "-C": { "type": "number", "description": "Lines to show around each match" },
                "context": { "type": "number", "description": "Lines to show around each match" },
                "-n": { "type": "boolean", "description": "Show line numbers; true unless given" },
                "-i": { "type": "boolean", "description": "Ignore case" },
                "-o": { "type": "boolean", "description": "Show only what matched" },
                "type": { "type": "string", "description": "Only files of this type: js, py, rust" },
                "head_limit": { "type": "number", "description": "How many lines or files to show; 250 unless given, 0 for all" },
                "offset": { "type": "number", "description": "How many lines or files to leave out first" },
                "multiline": { "type": "boolean", "description": "Let a match span lines" },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        Access::Read(text_or_empty(input, "path"))
    }

    fn category(&self) -> Category {
        Category::Search
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn run<'a>(&'a self, input: RawObject, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Ok(input) = input.read::<tool::Grep>() else {
                return ToolOutput::unparsable(Self::NAME, input.as_json());
            };
            let path = input.path.as_str().unwrap_or_default().to_owned();
            let root = match context.resolve(&path) {
                Ok(root) if root.real.exists() => root,
                Ok(_) => {
                    let cwd = context.cwd();
                    return ToolOutput::refused(format!(
                        "Path does not exist: {path}. Note: your current working directory is {}.",
                        cwd.display()
                    ));
                }
                Err(error) => return ToolOutput::failed(error.to_string()),
            };
            let cwd = context.cwd();
            let cancel = context.cancel().clone();
            let hidden = context.hidden_files();
            let search = Search { input, root, cwd, cancel, hidden };
            let searched = tokio::task::spawn_blocking(move || search.run());
            match searched.await.map_err(io::Error::other).flatten() {
                Ok(_) if context.cancel().is_cancelled() => ToolOutput::stopped(),
                Ok((content, result)) => ToolOutput::text(bounded(content, context), result),
                Err(error) => ToolOutput::failed(error.to_string()),
            }
        })
    }
}

struct Search {
    input: tool::Grep,
    root: Resolved,
    cwd: PathBuf,
    cancel: Cancel,
    hidden: HiddenFiles,
}

impl Search {
    fn run(self) -> io::Result<(String, Value)> {
        match self.input.output_mode.value() {
            Some(GrepOutputMode::Content) => self.content(),
            Some(GrepOutputMode::Count) => self.count(),
            _ => self.files(),
        }
    }

    fn files(&self) -> io::Result<(String, Value)> {
        let matcher = self.matcher()?;
        let mut searcher = self.searcher();
        let mut found = Vec::new();
        for path in self.walk()? {
            let mut count = Count::first_only();
            let _ = searcher.search_path(&matcher, &path, &mut count);
            if count.lines > 0 && found.len() < MAX_LINES {
                found.push((std::cmp::Reverse(modified(&path)), path));
            }
        }
        // The newest first: it is likely to be the one.
        found.sort();
        let found: Vec<String> = found.iter().map(|(_, path)| self.name(path)).collect();
        let page = self.page(found);
        let number = page.shown.len();
        let content = if number == 0 {
            "No files found".to_owned()
        } else {
            let noun = if number == 1 { "file" } else { "files" };
            let limit = page.told().map(|told| format!(" {told}")).unwrap_or_default();
            format!("Found {number} {noun}{limit}\n{}", page.shown.join("\n"))
        };
        let result = json!({
            "mode": "files_with_matches",
            "filenames": page.shown,
            "numFiles": number,
        });
        Ok((content, page.note(result)))
    }

    fn content(&self) -> io::Result<(String, Value)> {
        let matcher = self.matcher()?;
        let mut searcher = self.searcher();
        let with_name = self.root.real.is_dir();
        let mut lines = Vec::new();
        for path in self.walk()? {
            let name = with_name.then(|| self.name(&path));
            let mut sink = Content {
                matcher: &matcher,
                name,
                numbers: self.input.line_numbers.value().copied().unwrap_or(true),
                only_matching: self.input.only_matching.is_true(),
                lines: &mut lines,
                most: MAX_LINES,
                pending_break: false,
                wrote: false,
            };
            let _ = searcher.search_path(&matcher, &path, &mut sink);
        }
        let page = self.page(lines);
        let mut content = page.shown.join("\n");
        if content.is_empty() {
            content.push_str("No matches found");
        }
        if let Some(told) = page.told() {
            content.push_str(&format!("\n\n[Showing results with pagination = {told}]"));
        }
        let result = json!({
            "mode": "content",
            "numFiles": 0,
            "filenames": [],
            "content": page.shown.join("\n"),
            "numLines": page.shown.len(),
        });
        Ok((content, page.note(result)))
    }

    fn count(&self) -> io::Result<(String, Value)> {
        let matcher = self.matcher()?;
        let mut searcher = self.searcher();
        let with_name = self.root.real.is_dir();
        let mut lines = Vec::new();
        for path in self.walk()? {
            let mut count = Count::all();
            let _ = searcher.search_path(&matcher, &path, &mut count);
            if count.lines > 0 && lines.len() < MAX_LINES {
                let name = if with_name { format!("{}:", self.name(&path)) } else { String::new() };
                lines.push(format!("{name}{}", count.lines));
            }
        }
        let page = self.page(lines);
        let number = |line: &String| line.rsplit(':').next().and_then(|n| n.parse::<u64>().ok());
        let total: u64 = page.shown.iter().filter_map(number).sum();
        let files = page.shown.len();
        let counts = page.shown.join("\n");
        let occurrences = if total == 1 { "occurrence" } else { "occurrences" };
        let noun = if files == 1 { "file" } else { "files" };
        let shown = if counts.is_empty() { "No matches found" } else { &counts };
        let mut content =
            format!("{shown}\n\nFound {total} total {occurrences} across {files} {noun}.");
        if let Some(told) = page.told() {
            content.push_str(&format!(" with pagination = {told}"));
        }
        let result = json!({
            "mode": "count",
            "numFiles": files,
            "filenames": [],
            "content": counts,
            "numMatches": total,
        });
        Ok((content, page.note(result)))
    }

    fn matcher(&self) -> io::Result<RegexMatcher> {
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(self.input.ignore_case.is_true()).multi_line(true);
        if self.input.multiline.is_true() {
            builder.dot_matches_new_line(true);
        } else {
            builder.line_terminator(Some(b'\n'));
        }
        let pattern = self.input.pattern.as_str().unwrap_or_default();
        builder.build(pattern).map_err(io::Error::other)
    }

    fn searcher(&self) -> Searcher {
        let mut builder = SearcherBuilder::new();
        builder.binary_detection(BinaryDetection::quit(0));
        builder.multi_line(self.input.multiline.is_true());
        if self.input.output_mode == Field::Value(GrepOutputMode::Content) {
            let around = number(&self.input.context).or_else(|| number(&self.input.around));
            let before = around.or_else(|| number(&self.input.before));
            let after = around.or_else(|| number(&self.input.after));
            builder.before_context(before.unwrap_or(0)).after_context(after.unwrap_or(0));
        }
        builder.build()
    }

    /// The files to search, in order of their names.
    fn walk(&self) -> io::Result<impl Iterator<Item = PathBuf> + '_> {
        let mut builder = WalkBuilder::new(&self.root.real);
        builder.hidden(false).follow_links(false).sort_by_file_path(Path::cmp);
        // A folder without `.git` may have a `.gitignore` too.
        builder.require_git(false);
        builder.filter_entry(|entry| {
            let vcs = VCS.iter().any(|name| entry.file_name() == *name);
            !(vcs && entry.file_type().is_some_and(|kind| kind.is_dir()))
        });
        if let Some(glob) = self.input.glob.as_str() {
            let mut overrides = OverrideBuilder::new(&self.root.real);
            for glob in globs(glob) {
                overrides.add(&glob).map_err(io::Error::other)?;
            }
            builder.overrides(overrides.build().map_err(io::Error::other)?);
        }
        if let Some(kind) = self.input.file_type.as_str() {
            let mut types = TypesBuilder::new();
            types.add_defaults().select(kind);
            builder.types(types.build().map_err(io::Error::other)?);
        }
        let walk: Walk = builder.build();
        let files = walk.filter_map(|entry| {
            let entry = entry.ok()?;
            // Links are not followed, and devices not read.
            let path =
                entry.file_type().is_some_and(|kind| kind.is_file()).then(|| entry.into_path())?;
            let denied = self.hidden.contains(&path) || self.hidden.contains(&self.shown(&path));
            (!denied).then_some(path)
        });
        Ok(files.take_while(|_| !self.cancel.is_cancelled()))
    }

    /// A path by the name that was asked for, not by where it leads.
    fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root.real) {
            Ok(below) if !below.as_os_str().is_empty() => self.root.shown.join(below),
            _ => self.root.shown.clone(),
        }
    }

    /// A path as it is shown: from the working directory, if it is there.
    fn name(&self, path: &Path) -> String {
        let shown = self.shown(path);
        shown.strip_prefix(&self.cwd).unwrap_or(&shown).to_string_lossy().into_owned()
    }

    /// The part of the lines that is asked for.
    fn page(&self, mut all: Vec<String>) -> Page {
        let offset = number(&self.input.offset).unwrap_or(0);
        let limit = number(&self.input.head_limit).unwrap_or(DEFAULT_LIMIT);
        let limit = if limit == 0 { usize::MAX } else { limit };
        all.drain(..offset.min(all.len()));
        let cut = all.len() > limit;
        all.truncate(limit);
        Page { shown: all, limit: cut.then_some(limit), offset: (offset > 0).then_some(offset) }
    }
}

struct Page {
    shown: Vec<String>,
    limit: Option<usize>,
    offset: Option<usize>,
}

impl Page {
    fn told(&self) -> Option<String> {
        let limit = self.limit.map(|limit| format!("limit: {limit}"));
        let offset = self.offset.map(|offset| format!("offset: {offset}"));
        let told: Vec<String> = limit.into_iter().chain(offset).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    fn note(&self, mut result: Value) -> Value {
        if let Some(limit) = self.limit {
            result["appliedLimit"] = json!(limit);
        }
        if let Some(offset) = self.offset {
            result["appliedOffset"] = json!(offset);
        }
        result
    }
}

/// Several globs may be given, with spaces or, outside of braces, commas.
fn globs(globs: &str) -> Vec<String> {
    let words = globs.split_whitespace();
    let split = |word: &str| match word.contains('{') {
        true => vec![word.to_owned()],
        false => word.split(',').filter(|glob| !glob.is_empty()).map(str::to_owned).collect(),
    };
    words.flat_map(split).collect()
}

fn number(field: &Field<Number>) -> Option<usize> {
    field.as_f64().map(|number| number.clamp(0.0, 1e9) as usize)
}
