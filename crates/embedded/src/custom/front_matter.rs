//! The front matter of a Markdown file: the fields between two lines of `---`.

use serde_json::{Map, Value, json};

/// The fields of a file, and the text after them.
pub(super) fn split(text: &str) -> (Map<String, Value>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---") else { return (Map::new(), text) };
    let Some(rest) = rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n') else {
        return (Map::new(), text);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let body = rest.get(at + line.len()..).unwrap_or_default();
            return (fields(rest.get(..at).unwrap_or_default()), body);
        }
        at += line.len();
    }
    (Map::new(), text)
}

/// Reads `name: value` lines, lists and block texts. Deeper structures are skipped: none of the fields that count here
/// has one.
fn fields(text: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with([' ', '\t', '#']) {
            continue;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, value) = (name.trim().to_owned(), value.trim());
        let mut block = Vec::new();
        while let Some(next) = lines.next_if(|next| {
            next.trim().is_empty() || next.starts_with([' ', '\t']) || next.starts_with("- ")
        }) {
            block.push(next);
        }
        let value = match value {
            "" => listed(&block),
            "|" | "|-" | "|+" => Value::from(unindented(&block, "\n")),
            ">" | ">-" | ">+" => Value::from(unindented(&block, " ")),
            value => scalar(value),
        };
        fields.insert(name, value);
    }
    fields
}

fn listed(block: &[&str]) -> Value {
    let items = block.iter().filter_map(|line| line.trim().strip_prefix("- "));
    let items: Vec<Value> = items.map(|item| json!(unquoted(item.trim()))).collect();
    if items.is_empty() { Value::Null } else { Value::from(items) }
}

fn unindented(block: &[&str], between: &str) -> String {
    let lines: Vec<&str> = block.iter().map(|line| line.trim()).collect();
    lines.join(between).trim().to_owned()
}

fn scalar(text: &str) -> Value {
    if let Some(list) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
        return items.map(|item| json!(unquoted(item))).collect();
    }
    match text {
        "true" => json!(true),
        "false" => json!(false),
        "null" | "~" => Value::Null,
        text => json!(unquoted(text)),
    }
}

fn unquoted(text: &str) -> String {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    match (inner('"'), inner('\'')) {
        (Some(text), _) => text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\"),
        (_, Some(text)) => text.replace("''", "'"),
        _ => text.split(" #").next().unwrap_or_default().trim_end().to_owned(),
    }
}

/// A field that is a text.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// A field that is a list, or a text with commas between its items. A comma within brackets does not separate.
pub(super) fn list(fields: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    match fields.get(name)? {
        Value::Array(items) => {
            Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Value::String(text) => Some(items(text)),
        _ => None,
    }
}

fn items(text: &str) -> Vec<String> {
    let (mut items, mut depth) = (vec![String::new()], 0_usize);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match items.last_mut() {
            Some(last) if c != ',' || depth > 0 => last.push(c),
            _ => items.push(String::new()),
        }
    }
    let items = items.iter().map(|item| item.trim().to_owned());
    items.filter(|item| !item.is_empty()).collect()
}

/// A field that is a switch.
pub(super) fn switch(fields: &Map<String, Value>, name: &str) -> Option<bool> {
    fields.get(name)?.as_bool()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{list, split};

    #[test]
    fn fields_are_texts_lists_and_switches() {
        let (fields, body) = split(
            "---\nname: a\ndescription: \"It: works\"\ntools: Read, Bash(git add:*, x)\nlist:\n  - one\n  - two\nflow: [a, b]\non: true\nlong: >\n  several\n  lines\n---\n\nBody.\n",
        );
        assert_eq!(fields["name"], "a");
        assert_eq!(fields["description"], "It: works");
        assert_eq!(
            list(&fields, "tools"),
            Some(vec!["Read".to_owned(), "Bash(git add:*, x)".to_owned()])
        );
        assert_eq!(fields["list"], json!(["one", "two"]));
        assert_eq!(fields["flow"], json!(["a", "b"]));
        assert_eq!(fields["on"], true);
        assert_eq!(fields["long"], "several lines");
        assert_eq!(body, "\nBody.\n");
    }

    #[test]
    fn a_file_without_front_matter_is_all_body() {
        for text in ["Hello\n---\n", "---\nname: open\n", "", "---x\n---\n"] {
            let (fields, body) = split(text);
            assert!(fields.is_empty() && body == text, "{text:?}");
        }
    }
}
