//! Tool calls as editors show them: kind, title, locations, diffs, output.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, ImageContent, TextContent, ToolCallContent, ToolCallLocation, ToolKind,
};
use serde_json::Value;

/// The most bytes of raw JSON that are repeated beside the readable form.
const MAX_RAW: usize = 16 * 1024;
/// The most bytes of output in one update. More is cut in the middle.
const MAX_OUTPUT: usize = 256 * 1024;

/// What a call does.
#[derive(Debug, Default)]
pub(crate) struct Description {
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    pub(crate) locations: Vec<ToolCallLocation>,
    pub(crate) content: Vec<ToolCallContent>,
}

fn text<'v>(input: &'v Value, name: &str) -> Option<&'v str> {
    input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A path as it is shown: relative to the working directory if it is inside.
pub(crate) fn shown_path(path: &str, cwd: &Path) -> String {
    match Path::new(path).strip_prefix(cwd) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside.to_string_lossy().into_owned(),
        _ => path.to_owned(),
    }
}

fn absolute(path: &str, cwd: &Path) -> PathBuf {
    cwd.join(path)
}

/// Describes a call by its name and input.
pub(crate) fn describe(name: &str, input: &Value, cwd: &Path) -> Description {
    let path = text(input, "file_path")
        .or_else(|| text(input, "notebook_path"))
        .or_else(|| text(input, "path"));
    let shown = path.map(|path| shown_path(path, cwd));
    let location = |line: Option<u32>| -> Vec<ToolCallLocation> {
        path.map(|path| ToolCallLocation::new(absolute(path, cwd)).line(line)).into_iter().collect()
    };
    let on_path = |verb: &str| {
        shown.as_ref().map_or_else(|| verb.to_owned(), |path| format!("{verb} {path}"))
    };
    let described =
        |title: String, kind: ToolKind| Description { title, kind, ..Description::default() };
    match name {
        "Bash" | "PowerShell" => Description {
            content: text(input, "description").map(ToolCallContent::from).into_iter().collect(),
            ..described(
                text(input, "command").unwrap_or("Run a command").to_owned(),
                ToolKind::Execute,
            )
        },
        "BashOutput" | "TaskOutput" => {
            described("Read the output of a task".to_owned(), ToolKind::Execute)
        }
        "KillShell" | "KillBash" | "TaskStop" => {
            described("Stop a task".to_owned(), ToolKind::Execute)
        }
        "Read" => {
            let number = |name| input.get(name).and_then(Value::as_u64);
            let first = number("offset").map(|line| line.max(1));
            let range = match (first, number("limit")) {
                (first, Some(limit)) if limit > 0 => {
                    let first = first.unwrap_or(1);
                    format!(" ({first} - {})", first.saturating_add(limit - 1))
                }
                (Some(first), _) => format!(" (from line {first})"),
                _ => String::new(),
            };
            Description {
                locations: location(first.and_then(|line| u32::try_from(line).ok())),
                ..described(format!("{}{range}", on_path("Read")), ToolKind::Read)
            }
        }
        "Write" => Description {
            locations: location(None),
            content: match (path, input.get("content").and_then(Value::as_str)) {
                (Some(path), Some(content)) => vec![Diff::new(absolute(path, cwd), content).into()],
                _ => Vec::new(),
            },
            ..described(on_path("Write"), ToolKind::Edit)
        },
        "Edit" => Description {
            locations: location(None),
            content: edits(path, [input], cwd),
            ..described(on_path("Edit"), ToolKind::Edit)
        },
        "MultiEdit" => Description {
            locations: location(None),
            content: edits(
                path,
                input.get("edits").and_then(Value::as_array).into_iter().flatten(),
                cwd,
            ),
            ..described(on_path("Edit"), ToolKind::Edit)
        },
        "NotebookEdit" => Description {
            locations: location(None),
            content: text(input, "new_source")
                .map(|source| fenced(source, "").into())
                .into_iter()
                .collect(),
            ..described(on_path("Edit"), ToolKind::Edit)
        },
        "Glob" => {
            let pattern = text(input, "pattern").unwrap_or("files");
            let place = shown.as_ref().map_or_else(String::new, |path| format!(" in {path}"));
            Description {
                locations: location(None),
                ..described(format!("Find {pattern}{place}"), ToolKind::Search)
            }
        }
        "Grep" => {
            let pattern = text(input, "pattern").unwrap_or_default();
            let place = shown.as_ref().map_or_else(String::new, |path| format!(" in {path}"));
            let files = text(input, "glob").map_or_else(String::new, |glob| format!(" ({glob})"));
            described(format!("Search for \"{pattern}\"{place}{files}"), ToolKind::Search)
        }
        "LS" => Description {
            locations: location(None),
            ..described(on_path("List"), ToolKind::Search)
        },
        "WebFetch" => Description {
            content: text(input, "prompt").map(ToolCallContent::from).into_iter().collect(),
            ..described(
                text(input, "url")
                    .map_or_else(|| "Fetch a page".to_owned(), |url| format!("Fetch {url}")),
                ToolKind::Fetch,
            )
        },
        "WebSearch" => described(
            text(input, "query")
                .map_or_else(|| "Search the web".to_owned(), |query| format!("Search \"{query}\"")),
            ToolKind::Fetch,
        ),
        "Agent" | "Task" => Description {
            content: text(input, "prompt").map(ToolCallContent::from).into_iter().collect(),
            ..described(
                text(input, "description").unwrap_or("Sub-agent").to_owned(),
                ToolKind::Think,
            )
        },
        "ExitPlanMode" => Description {
            content: text(input, "plan").map(ToolCallContent::from).into_iter().collect(),
            ..described("Ready to code?".to_owned(), ToolKind::SwitchMode)
        },
        "EnterPlanMode" => described("Plan first".to_owned(), ToolKind::SwitchMode),
        "AskUserQuestion" => {
            let first = input
                .get("questions")
                .and_then(|all| all.get(0))
                .and_then(|it| text(it, "question"));
            described(first.unwrap_or("A question").to_owned(), ToolKind::Other)
        }
        "Skill" => described(
            text(input, "skill")
                .or_else(|| text(input, "command"))
                .map_or_else(|| "Skill".to_owned(), |it| format!("Skill {it}")),
            ToolKind::Other,
        ),
        other => described(shown_name(other), ToolKind::Other),
    }
}

/// The name of a tool as it is shown: `server: tool` for one of an MCP server.
pub(crate) fn shown_name(name: &str) -> String {
    match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server}: {tool}"),
        None => name.to_owned(),
    }
}

fn edits<'v>(
    path: Option<&str>,
    edits: impl IntoIterator<Item = &'v Value>,
    cwd: &Path,
) -> Vec<ToolCallContent> {
    let Some(path) = path else { return Vec::new() };
    let diff = |edit: &Value| {
        let new = edit.get("new_string").and_then(Value::as_str)?;
        let old = text(edit, "old_string").map(str::to_owned);
        Some(Diff::new(absolute(path, cwd), new).old_text(old).into())
    };
    edits.into_iter().filter_map(diff).collect()
}

/// The input beside the readable form; `None` if it is large.
pub(crate) fn raw(value: &Value) -> Option<Value> {
    (value.to_string().len() <= MAX_RAW).then(|| value.clone())
}

/// What a call returned.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// `None`: what was shown before stays.
    pub(crate) content: Option<Vec<ToolCallContent>>,
    pub(crate) locations: Vec<ToolCallLocation>,
    /// The text of a command's output, for a client that shows a terminal.
    pub(crate) terminal: Option<String>,
    pub(crate) exit_code: Option<u32>,
}

/// The output of a call: `content` as the model reads it, `structured` in the format of the tool.
pub(crate) fn output(
    name: &str,
    is_error: bool,
    content: Option<&Value>,
    structured: Option<&Value>,
) -> Output {
    let plain = content.map(text_of_content).unwrap_or_default();
    if matches!(name, "Bash" | "PowerShell") {
        return command_output(is_error, &plain, content, structured);
    }
    if is_error {
        let message = plain
            .trim()
            .trim_start_matches("<tool_use_error>")
            .trim_end_matches("</tool_use_error>");
        return Output { content: Some(vec![fenced(message, "").into()]), ..Output::default() };
    }
    match name {
        "Edit" | "MultiEdit" | "Write" => structured.map(changes).unwrap_or_default(),
        "NotebookEdit" | "ExitPlanMode" | "EnterPlanMode" | "TodoWrite" => Output::default(),
        "Read" => {
            let file =
                structured.and_then(|it| it.get("file")).and_then(|file| text(file, "content"));
            let path =
                structured.and_then(|it| it.get("file")).and_then(|file| text(file, "filePath"));
            let language =
                path.and_then(|path| Path::new(path).extension()).and_then(|it| it.to_str());
            let content = match file {
                Some(file) => vec![fenced(file, language.unwrap_or_default()).into()],
                None => blocks(content, &|text| fenced(text, "")),
            };
            Output { content: Some(content), ..Output::default() }
        }
        "Glob" | "Grep" | "LS" => {
            Output { content: Some(blocks(content, &|text| fenced(text, ""))), ..Output::default() }
        }
        _ => Output { content: Some(blocks(content, &|text| cut(text))), ..Output::default() },
    }
}

fn command_output(
    is_error: bool,
    plain: &str,
    content: Option<&Value>,
    structured: Option<&Value>,
) -> Output {
    let has_image = content
        .and_then(Value::as_array)
        .is_some_and(|blocks| blocks.iter().any(|block| text(block, "type") == Some("image")));
    if has_image {
        return Output {
            content: Some(blocks(content, &|text| fenced(text, "console"))),
            ..Output::default()
        };
    }
    let of =
        |name| structured.and_then(|it| it.get(name)).and_then(Value::as_str).unwrap_or_default();
    let in_background =
        structured.is_some_and(|it| it.get("backgroundTaskId").is_some_and(|id| !id.is_null()));
    let (stdout, stderr) = (of("stdout"), of("stderr"));
    let output = match (stdout.trim_end(), stderr.trim_end()) {
        _ if in_background || is_error => plain.to_owned(),
        ("", "") => plain.to_owned(),
        (out, "") => out.to_owned(),
        ("", err) => err.to_owned(),
        (out, err) => format!("{out}\n{err}"),
    };
    let named =
        output.strip_prefix("Exit code ").and_then(|rest| rest.lines().next()?.trim().parse().ok());
    let exit_code = match (is_error, in_background) {
        (true, _) => named,
        (false, true) => None,
        (false, false) => Some(0),
    };
    let shown = (!output.trim().is_empty()).then(|| fenced(&output, "console").into());
    Output {
        content: Some(shown.into_iter().collect()),
        terminal: Some(cut(&output)),
        exit_code,
        ..Output::default()
    }
}

/// The changes that an edit made, one diff for each hunk.
fn changes(structured: &Value) -> Output {
    let Some(path) = text(structured, "filePath") else { return Output::default() };
    if text(structured, "type") == Some("create")
        && let Some(content) = structured.get("content").and_then(Value::as_str)
    {
        let diff = Diff::new(path, content);
        return Output {
            content: Some(vec![diff.into()]),
            locations: vec![ToolCallLocation::new(path)],
            ..Output::default()
        };
    }
    let mut output = Output::default();
    let mut diffs = Vec::new();
    for hunk in structured.get("structuredPatch").and_then(Value::as_array).into_iter().flatten() {
        let (mut old, mut new) = (String::new(), String::new());
        for line in hunk
            .get("lines")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            let (mark, rest) = line.split_at_checked(1).unwrap_or((line, ""));
            match mark {
                "-" => push_line(&mut old, rest),
                "+" => push_line(&mut new, rest),
                // `\ No newline at end of file`
                "\\" => {}
                _ => {
                    push_line(&mut old, rest);
                    push_line(&mut new, rest);
                }
            }
        }
        let line =
            hunk.get("newStart").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
        diffs.push(Diff::new(path, new).old_text(Some(old)).into());
        output.locations.push(ToolCallLocation::new(path).line(line));
    }
    if !diffs.is_empty() {
        output.content = Some(diffs);
    }
    output
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The text of a tool result: a string, or its text blocks.
pub(crate) fn text_of_content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> =
                blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The blocks of a tool result.
fn blocks(content: Option<&Value>, show: &dyn Fn(&str) -> String) -> Vec<ToolCallContent> {
    let shown = |text: &str| (!text.trim().is_empty()).then(|| show(text).into());
    match content {
        Some(Value::String(text)) => shown(text).into_iter().collect(),
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| match text(block, "type") {
                Some("image") => image(block).map(|image| ContentBlock::Image(image).into()),
                _ => shown(block.get("text")?.as_str()?),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// An image block of the Messages API.
pub(crate) fn image(block: &Value) -> Option<ImageContent> {
    let source = block.get("source")?;
    Some(ImageContent::new(text(source, "data")?, text(source, "media_type")?))
}

/// A text in a Markdown fence that it does not contain.
pub(crate) fn fenced(text: &str, language: &str) -> String {
    let text = cut(text);
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

/// The beginning and the end of a long text.
fn cut(text: &str) -> String {
    if text.len() <= MAX_OUTPUT {
        return text.to_owned();
    }
    let start = text.floor_char_boundary(MAX_OUTPUT / 2);
    let end = text.ceil_char_boundary(text.len() - MAX_OUTPUT / 2);
    let omitted = end - start;
    format!("{}\n[{omitted} bytes omitted]\n{}", &text[..start], &text[end..])
}

/// A text as content.
pub(crate) fn text_content(text: impl Into<String>) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use serde_json::json;

    use super::*;

    fn described(name: &str, input: &Value) -> Description {
        describe(name, input, Path::new("/project"))
    }

    #[test]
    fn titles_kinds_and_locations() {
        let read = described(
            "Read",
            &json!({ "file_path": "/project/src/a.rs", "offset": 5, "limit": 10 }),
        );
        assert_eq!((read.title.as_str(), read.kind), ("Read src/a.rs (5 - 14)", ToolKind::Read));
        assert_eq!(read.locations[0].line, Some(5));
        let run = described("Bash", &json!({ "command": "ls -la" }));
        assert_eq!((run.title.as_str(), run.kind), ("ls -la", ToolKind::Execute));
        let mcp = described("mcp__files__stat", &json!({}));
        assert_eq!((mcp.title.as_str(), mcp.kind), ("files: stat", ToolKind::Other));
    }

    #[test]
    fn an_input_of_any_shape_is_described() {
        let shapes = [
            json!(null),
            json!([]),
            json!({ "file_path": 5, "edits": 7, "offset": -1, "questions": {} }),
        ];
        for name in [
            "Bash",
            "Read",
            "Write",
            "Edit",
            "MultiEdit",
            "Glob",
            "Grep",
            "AskUserQuestion",
            "x",
            "mcp__",
        ] {
            for shape in &shapes {
                assert!(!described(name, shape).title.is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn an_edit_is_a_diff_before_and_after_it_ran() {
        let input = json!({ "file_path": "/project/a", "old_string": "x", "new_string": "y" });
        let before = described("Edit", &input);
        let ToolCallContent::Diff(diff) = &before.content[0] else { panic!() };
        assert_eq!((diff.old_text.as_deref(), diff.new_text.as_str()), (Some("x"), "y"));
        let patch = json!({ "filePath": "/project/a", "structuredPatch": [
            { "newStart": 3, "lines": [" a", "-x", "+y", "\\ No newline at end of file"] } ] });
        let after = output("Edit", false, Some(&json!("done")), Some(&patch));
        let ToolCallContent::Diff(diff) = &after.content.unwrap()[0] else { panic!() };
        assert_eq!((diff.old_text.as_deref(), diff.new_text.as_str()), (Some("a\nx\n"), "a\ny\n"));
        assert_eq!(after.locations[0].line, Some(3));
    }

    #[test]
    fn a_failed_command_has_its_exit_code() {
        let failed = output(
            "Bash",
            true,
            Some(&json!("Exit code 3\nno")),
            Some(&json!("Error: Exit code 3")),
        );
        assert_eq!(failed.exit_code, Some(3));
        let fine = output(
            "Bash",
            false,
            Some(&json!("a\n")),
            Some(&json!({ "stdout": "a\n", "stderr": "b" })),
        );
        assert_eq!((fine.exit_code, fine.terminal.as_deref()), (Some(0), Some("a\nb")));
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("a ``` b", ""), "````\na ``` b\n````");
        assert_eq!(fenced("a\n", "rs"), "```rs\na\n```");
    }

    #[test]
    fn long_output_is_cut_between_characters() {
        let long = "é".repeat(MAX_OUTPUT);
        let cut = cut(&long);
        assert!(cut.len() < MAX_OUTPUT + 100 && cut.contains("bytes omitted"));
    }
}
