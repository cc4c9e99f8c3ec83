//! Writes the seeds of all targets from the recordings, and the dictionary of the wire's words.
//!
//! Run in this folder: `cargo run --example seed`.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use duologue_fuzz::typed::number;
use duologue_protocol::{Direction, Line, schema};
use serde_json::Value;

/// Longer lines are slow to mutate and say nothing new.
const LONGEST: usize = 6 * 1024;

fn main() -> std::io::Result<()> {
    let mut seeds = Seeds::default();
    let mut words = BTreeSet::new();
    for direction in [Direction::ToHost, Direction::ToAgent] {
        words_of_schema(&schema::of(direction), &mut words);
    }
    for recording in duologue_testkit::recordings() {
        let mut asked = HashMap::new();
        let mut stream = Vec::new();
        for entry in &recording.entries {
            if let Ok(value) = serde_json::from_str(&entry.line) {
                keys_of(&value, &mut words);
                seeds.bodies(&value, &Line::from(entry.line.as_str()), entry.to_host, &mut asked);
            }
            seeds.add("line", &entry.line, &[], &entry.line);
            let kind = if entry.to_host { "ToHost" } else { "ToAgent" };
            seeds.typed(kind, &entry.line);
            if stream.len() + entry.line.len() < LONGEST {
                stream.extend_from_slice(entry.line.as_bytes());
                stream.push(b'\n');
            }
        }
        // The cap, three chunk sizes, the stream.
        let cap = u8::try_from(recording.entries.len()).unwrap_or(u8::MAX);
        for cap in [cap, u8::MAX] {
            let head = [cap, 3, 1, 7, 200];
            seeds.write("frame", &[&head, &*stream].concat())?;
        }
    }
    for (target, bytes) in std::mem::take(&mut seeds.found) {
        seeds.write(target, &bytes)?;
    }
    let entries: Vec<String> = words.iter().map(|word| format!("\"\\\"{word}\\\"\"\n")).collect();
    fs::write(here().join("wire.dict"), DICTIONARY.to_owned() + &entries.concat())
}

/// What any JSON may hold, beside the words of the wire.
const DICTIONARY: &str = r#"# Made by `cargo run --example seed`: the keys and tags of the wire.
"{}"
"[]"
"null"
"true"
"false"
"-0"
"1e400"
"1.5e-3"
"18446744073709551616"
"\":"
"\",\""
"\\u0000"
"\\ud83d"
"\\ude00"
"\\ud83d\\ude00"
"\xef\xbb\xbf"
"\xe2\x80\xa8"
"\x0d"
"\x0a"
"#;

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// One seed for each shape of JSON: the same keys and kinds say nothing new.
#[derive(Default)]
struct Seeds {
    shapes: BTreeSet<(&'static str, u64)>,
    found: Vec<(&'static str, Vec<u8>)>,
}

impl Seeds {
    fn add(&mut self, target: &'static str, kind: &str, head: &[u8], json: &str) {
        if json.len() > LONGEST {
            return;
        }
        let mut shape = BTreeSet::new();
        match serde_json::from_str(json) {
            Ok(value) => shape_of(&value, "", &mut shape),
            Err(_) => drop(shape.insert(json.to_owned())),
        }
        let kind = if head.is_empty() { "" } else { kind };
        if self.shapes.insert((target, hash(&(kind, shape)))) {
            self.found.push((target, [head, json.as_bytes()].concat()));
        }
    }

    fn typed(&mut self, kind: &str, json: &str) {
        if let Some(number) = number(kind) {
            self.add("typed", kind, &[number], json);
        }
    }

    /// The bodies inside a line that have a type of their own.
    fn bodies(
        &mut self,
        value: &Value,
        line: &Line,
        to_host: bool,
        asked: &mut HashMap<(bool, String), String>,
    ) {
        let Ok(head) = line.head() else { return };
        let (request, response) = (&value["request"], &value["response"]);
        if let (Some(id), Some(subtype)) = (&head.request_id, &head.subtype) {
            if head.kind == "control_request" {
                self.typed(
                    if to_host { "AgentRequest" } else { "HostRequest" },
                    &request.to_string(),
                );
                asked.insert((to_host, id.to_string()), subtype.to_string());
            }
            if head.kind == "control_response" {
                self.typed("Response", &response.to_string());
                if let Some(subtype) = asked.get(&(!to_host, id.to_string())) {
                    self.typed(subtype, &response["response"].to_string());
                }
                self.typed("PermissionResult", &response["response"].to_string());
                self.typed("HookOutput", &response["response"].to_string());
            }
        }
        self.typed("HookInput", &request["input"].to_string());
        self.typed("StreamEvent", &value["event"].to_string());
        self.typed("Delta", &value["event"]["delta"].to_string());
        self.typed("Message", &value["message"].to_string());
        self.typed("Usage", &value["usage"].to_string());
        for update in request["permission_suggestions"].as_array().into_iter().flatten() {
            self.typed("PermissionUpdate", &update.to_string());
        }
        for block in value["message"]["content"].as_array().into_iter().flatten() {
            self.typed("ContentBlock", &block.to_string());
            self.typed("LazyContent", &block["content"].to_string());
            if let Some(tool) = block["name"].as_str() {
                self.typed(tool, &block["input"].to_string());
            }
        }
    }

    fn write(&self, target: &str, bytes: &[u8]) -> std::io::Result<()> {
        let folder = here().join("corpus").join(target);
        fs::create_dir_all(&folder)?;
        fs::write(Path::new(&folder).join(format!("seed-{:016x}", hash(bytes))), bytes)
    }
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// All paths to values, with the JSON type there, or the tag.
fn shape_of(value: &Value, path: &str, shape: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                shape_of(value, &format!("{path}.{key}"), shape);
            }
            "object"
        }
        Value::Array(elements) => {
            for element in elements {
                shape_of(element, &format!("{path}[]"), shape);
            }
            "array"
        }
        Value::String(tag) if path.ends_with("type") => tag,
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null => "null",
    };
    shape.insert(format!("{path} {kind}"));
}

fn keys_of(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                add_word(key, words);
                keys_of(value, words);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| keys_of(element, words)),
        _ => {}
    }
}

/// The names of properties, and the words of `const` and `enum`.
fn words_of_schema(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        properties.keys().for_each(|name| add_word(name, words));
                    }
                    ("const", Value::String(word)) => add_word(word, words),
                    ("enum", Value::Array(all)) => {
                        all.iter().filter_map(Value::as_str).for_each(|word| add_word(word, words));
                    }
                    _ => {}
                }
                words_of_schema(value, words);
            }
        }
        Value::Array(elements) => {
            elements.iter().for_each(|element| words_of_schema(element, words));
        }
        _ => {}
    }
}

/// Only words: keys that are data (paths, questions) are none of the wire's.
fn add_word(word: &str, words: &mut BTreeSet<String>) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if (2..=44).contains(&word.len()) && word.bytes().all(plain) && !word.contains("claude-") {
        words.insert(word.to_owned());
    }
}
