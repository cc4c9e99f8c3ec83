//! The first prompt of a session: what people recognise it by.

use duologue_wire::RawJson;
use serde_json::Value;

use crate::js;

/// What was found so far: the first prompt, or the first command.
#[derive(Debug, Default)]
pub(crate) struct FirstPrompt {
    pub(crate) command: Option<String>,
}

impl FirstPrompt {
    /// The prompt of an entry, if it has one that somebody typed. A slash command is remembered and not returned.
    pub(crate) fn of(&mut self, entry: &Value) -> Option<String> {
        if entry["type"] != "user" || entry["isMeta"] == true || entry["isCompactSummary"] == true {
            return None;
        }
        let content = &entry["message"]["content"];
        let mut texts = Vec::new();
        match content {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(blocks) => {
                for block in blocks {
                    if block["type"] == "tool_result" {
                        return None;
                    }
                    if block["type"] == "text" {
                        texts.extend(block["text"].as_str());
                    }
                }
            }
            _ => {}
        }
        for text in texts {
            let unpacked = without_paste_marks(text);
            let line = unpacked.replace('\n', " ");
            let line = js::trim(&line);
            if line.is_empty() {
                continue;
            }
            if let Some(command) = between(line, "<command-name>", "</command-name>") {
                self.command.get_or_insert_with(|| command.to_owned());
                continue;
            }
            if let Some(command) = between(line, "<bash-input>", "</bash-input>") {
                return Some(format!("! {}", js::trim(command)));
            }
            if is_generated(line) {
                continue;
            }
            return Some(match js::cut(line, 200) {
                Some(cut) => format!("{}…", js::trim(cut)),
                None => line.to_owned(),
            });
        }
        None
    }
}

/// The first prompt in the first lines of a transcript.
pub(crate) fn first_prompt(head: &str) -> Option<String> {
    let mut found = FirstPrompt::default();
    for line in user_lines(head).filter(|line| !has_flag(line, "isCompactSummary")) {
        let entry = RawJson::parse(line).ok().and_then(|entry| entry.to_value_lossy().ok());
        if let Some(prompt) = entry.and_then(|entry| found.of(&entry)) {
            return Some(prompt);
        }
    }
    found.command.filter(|command| !command.is_empty())
}

/// A title for a session that begins with a picture or a document.
pub(crate) fn attachment_title(head: &str) -> Option<&'static str> {
    let has = |line: &str, kind: &str| {
        line.contains(&format!("\"type\":\"{kind}\""))
            || line.contains(&format!("\"type\": \"{kind}\""))
    };
    user_lines(head).find_map(|line| {
        if has(line, "image") { Some("Image") } else { has(line, "document").then_some("Document") }
    })
}

/// Lines that may hold a prompt.
fn user_lines(head: &str) -> impl Iterator<Item = &str> {
    head.split('\n').filter(|line| {
        (line.contains("\"type\":\"user\"") || line.contains("\"type\": \"user\""))
            && !line.contains("\"tool_result\"")
            && !has_flag(line, "isMeta")
    })
}

fn has_flag(line: &str, name: &str) -> bool {
    line.contains(&format!("\"{name}\":true")) || line.contains(&format!("\"{name}\": true"))
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let after = text.split_once(open)?.1;
    after.split_once(close).map(|(found, _)| found)
}

/// Whether a text was written by a program: it begins with a tag, or says that a request was interrupted.
fn is_generated(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix("[Request interrupted by user") {
        return rest.contains(']');
    }
    let Some(rest) = js::trim_start(text).strip_prefix('<') else { return false };
    let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    rest.starts_with(|c: char| c.is_ascii_lowercase())
        && name.starts_with(|c: char| c == '>' || js::is_space(c))
}

/// A text without the marks around what was pasted.
fn without_paste_marks(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut from = 0;
    let open = "<pasted_content id=\"";
    while let Some(at) = rest.get(from..).and_then(|part| part.find(open)).map(|at| at + from) {
        let mark = at + open.len();
        let id = rest.get(mark..mark + 4).filter(|id| {
            id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        });
        let body = id.and_then(|_| rest.get(mark + 4..)?.strip_prefix("\">\n"));
        let (Some(id), Some(body)) = (id, body) else {
            from = mark;
            continue;
        };
        let start = rest.len() - body.len();
        let close = format!("\n</pasted_content id=\"{id}\">");
        let Some(end) = rest.get(start - 1..).and_then(|part| part.find(&close)) else { break };
        let end = end + start - 1;
        let before = rest.get(..at).unwrap_or_default();
        let before = before.strip_suffix('\n').unwrap_or(before);
        plain.push_str(before.strip_suffix('\n').unwrap_or(before));
        plain.push_str(rest.get(start..end).unwrap_or_default());
        let after = rest.get(end + close.len()..).unwrap_or_default();
        let after = after.strip_prefix('\n').unwrap_or(after);
        rest = after.strip_prefix('\n').unwrap_or(after);
        from = 0;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn head(contents: &[Value]) -> String {
        let entry = |content| json!({ "type": "user", "message": { "content": content } });
        contents.iter().map(|content| format!("{}\n", entry(content))).collect()
    }

    #[test]
    fn generated_texts_are_not_prompts() {
        let texts = [
            json!("<command-name>/clear</command-name>"),
            json!("<local-command-stdout>x</local-command-stdout>"),
            json!("[Request interrupted by user for tool use]"),
            json!(" \n "),
            json!([{ "type": "text", "text": "two\nlines " }]),
        ];
        assert_eq!(first_prompt(&head(&texts)).as_deref(), Some("two lines"));
        assert_eq!(first_prompt(&head(&texts[..4])).as_deref(), Some("/clear"));
        assert_eq!(first_prompt(&head(&[json!("<b>ut</b> this")])), None);
        assert_eq!(first_prompt(&head(&[json!("a < b")])).as_deref(), Some("a < b"));
        assert_eq!(
            first_prompt(&head(&[json!("<bash-input> ls </bash-input>")])).as_deref(),
            Some("! ls")
        );
    }

    #[test]
    fn long_prompts_are_cut() {
        let found = first_prompt(&head(&[json!("x".repeat(300))])).unwrap_or_default();
        assert_eq!(found, format!("{}…", "x".repeat(200)));
    }

    #[test]
    fn marks_of_pasted_text_are_removed() {
        let text =
            "See:\n\n<pasted_content id=\"00af\">\nbody\n</pasted_content id=\"00af\">\n\nright?";
        assert_eq!(without_paste_marks(text), "See:bodyright?");
        assert_eq!(
            without_paste_marks("<pasted_content id=\"nope\">"),
            "<pasted_content id=\"nope\">"
        );
    }
}
