//! Recall and false positives of redaction, on a corpus.
//!
//! `DUOLOGUE_REDACTION_CORPUS=DIR cargo test -p duologue-tape --test all redaction` writes the tables (`secrets.txt`,
//! `others.txt`) and the corpus to a folder, for people and for other tools: see `conformance/redaction`.

mod kinds;
mod negatives;
mod placements;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue_tape::redact::Redactor;
use duologue_tape::{Event, Header, Writer};
use serde_json::Value;

use kinds::{Kind, kinds};
use negatives::NEGATIVES;
use placements::{ELSEWHERE, PLACEMENTS, Placement, hex};

/// Secrets that are left, by kind and placement. Each has a reason.
const LEFT: &[(&str, &str)] = &[];

/// Texts that are changed though there is no secret in them. Each has a reason.
const WRONG: &[&str] = &[];

/// The folder for the corpus and the tables, if requested.
fn folder() -> Option<PathBuf> {
    std::env::var_os("DUOLOGUE_REDACTION_CORPUS").map(PathBuf::from)
}

fn report(name: &str, table: &str) {
    if let Some(folder) = folder() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), table).unwrap();
    }
}

/// Redacts a tape like the command.
fn redacted(tape: &[Event]) -> (Vec<Event>, Redactor) {
    let mut redactor = Redactor::new();
    for _ in 0..2 {
        tape.iter().for_each(|event| redactor.look_ahead(event.clone()));
        redactor = redactor.again();
        if !redactor.wants_another_look() {
            break;
        }
    }
    let new = tape.iter().map(|event| redactor.event(event.clone())).collect();
    (new, redactor)
}

fn line(event: &Event) -> &str {
    match event {
        Event::ToHost(line) | Event::ToAgent(line) | Event::Stderr(line) => line.as_str().unwrap(),
        _ => "",
    }
}

/// All texts of a tape, in every decoding.
fn readings(tape: &[Event]) -> String {
    let mut all = String::new();
    let mut streamed = String::new();
    for event in tape {
        let line = line(event);
        all.push_str(line);
        all.push('\n');
        if let Ok(value) = serde_json::from_str::<Value>(line) {
            for name in ["text", "partial_json"] {
                streamed.push_str(value["event"]["delta"][name].as_str().unwrap_or_default());
            }
            strings(&value, &mut all);
        }
    }
    all.push_str(&streamed);
    if let Ok(value) = serde_json::from_str::<Value>(&streamed) {
        strings(&value, &mut all);
    }
    // Without escapes.
    let plain = all.replace("\\n", "\n").replace('\\', "");
    let entities = all.replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
    let mut percent = Vec::new();
    let mut bytes = all.bytes();
    while let Some(byte) = bytes.next() {
        let rest: Vec<u8> = bytes.clone().take(2).collect();
        let code =
            std::str::from_utf8(&rest).ok().and_then(|code| u8::from_str_radix(code, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) if rest.len() == 2 => {
                percent.push(code);
                bytes.nth(1);
            }
            _ => percent.push(byte),
        }
    }
    format!("{all}\n{plain}\n{entities}\n{}", String::from_utf8_lossy(&percent))
}

/// The names and texts in a value, including JSON inside of texts.
fn strings(value: &Value, all: &mut String) {
    match value {
        Value::String(text) => {
            all.push_str(text);
            all.push('\n');
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                strings(&inner, all);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| strings(value, all)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            all.push_str(name);
            all.push('\n');
            strings(value, all);
        }),
        _ => {}
    }
}

/// Whether a secret is still on the tape, in any encoding.
fn is_left(kind: &Kind, tape: &[Event]) -> bool {
    let said = readings(tape);
    let core = |code: String| code.get(4..code.len() - 4).map(str::to_owned);
    let encoded = [STANDARD.encode(&kind.secret), STANDARD.encode(format!("ann:{}", kind.secret))];
    let codes = encoded.into_iter().filter_map(core).chain([hex(&kind.secret)]);
    said.contains(&kind.secret)
        || codes.into_iter().any(|code| code.len() > 5 && said.contains(&code))
}

fn placements() -> impl Iterator<Item = &'static Placement> {
    PLACEMENTS.iter().chain(ELSEWHERE)
}

/// The structure of a line, without its texts.
fn shape(event: &Event) -> Option<Value> {
    fn blank(value: &mut Value) {
        match value {
            Value::String(text) => text.clear(),
            Value::Array(values) => values.iter_mut().for_each(blank),
            Value::Object(fields) => fields.values_mut().for_each(blank),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(line(event)).ok()?;
    blank(&mut value);
    if let Some(seen) = value.get_mut("seen") {
        *seen = Value::Null;
    }
    Some(value)
}

#[test]
fn secrets_of_all_kinds_are_replaced_in_all_placements() {
    let kinds = kinds();
    let mut left: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut count, mut unstable) = (0, Vec::new());
    for kind in &kinds {
        for placement in placements() {
            let tape = (placement.tape)(kind);
            assert!(
                is_left(kind, &tape),
                "{} is not in the tape of {}: {}",
                kind.name,
                placement.name,
                readings(&tape)
            );
            let (new, _) = redacted(&tape);
            count += 1;
            if is_left(kind, &new) {
                left.entry(placement.name).or_default().push(kind.name);
            }
            // The structure is the same, and a second run finds nothing.
            let shapes = |tape: &[Event]| tape.iter().map(shape).collect::<Vec<_>>();
            let lines = |tape: &[Event]| {
                tape.iter().map(|event| line(event).to_owned()).collect::<Vec<_>>()
            };
            let (again, redactor) = redacted(&new);
            if shapes(&new) != shapes(&tape)
                || lines(&again) != lines(&new)
                || redactor.counts().total() > 0
            {
                unstable.push(format!(
                    "{} in {}: {}",
                    kind.name,
                    placement.name,
                    lines(&new).join("\n")
                ));
            }
        }
    }
    let missed: Vec<(&str, &str)> = left
        .iter()
        .flat_map(|(placement, kinds)| kinds.iter().map(|kind| (*kind, *placement)))
        .collect();
    let mut table = format!(
        "{} kinds in {} placements: {} left\n",
        kinds.len(),
        placements().count(),
        missed.len()
    );
    for (placement, kinds) in &left {
        table.push_str(&format!("  {placement}: {kinds:?}\n"));
    }
    report("secrets.txt", &table);
    assert_eq!(missed, LEFT, "{table}");
    assert!(unstable.is_empty(), "not the same the second time:\n{}", unstable.join("\n"));
    assert!(kinds.len() >= 100 && count >= 3300, "{} kinds, {count} cases", kinds.len());
}

#[test]
fn texts_without_a_secret_stay() {
    let (mut wrong, mut table) = (Vec::new(), String::new());
    let mut count = 0;
    for (name, text) in NEGATIVES {
        let kind = Kind { name, text: (*text).to_owned(), secret: String::new() };
        for placement in PLACEMENTS {
            let tape = (placement.tape)(&kind);
            let (new, redactor) = redacted(&tape);
            count += 1;
            if redactor.counts().iter().any(|(kind, _)| kind == "keys and tokens") {
                wrong.push(format!("{name}, {}", placement.name));
                let lines: Vec<&str> = new.iter().map(line).collect();
                table.push_str(&format!("{name}, {}: {}\n", placement.name, lines.join("\n")));
            }
        }
    }
    table.push_str(&format!("{count} texts, {} wrong\n", wrong.len()));
    report("others.txt", &table);
    assert_eq!(wrong, WRONG, "{table}");
    assert!(NEGATIVES.len() >= 60);
}

/// Texts put together from the corpus, the same in every run.
fn mixtures(count: usize) -> impl Iterator<Item = String> {
    let mut parts: Vec<String> = kinds().into_iter().map(|kind| kind.text).collect();
    parts.extend(NEGATIVES.iter().map(|(_, text)| (*text).to_owned()));
    let glue = [
        "",
        " ",
        "\n",
        "\\n",
        "\"",
        "'",
        ":",
        "=",
        ",",
        "%0A",
        "\u{1b}[1m",
        "_",
        "secret-1",
        "password=",
        "{\"a\":\"",
        "\\",
    ];
    parts.extend(glue.iter().cycle().take(glue.len() * 8).map(|glue| (*glue).to_owned()));
    let mut state = 7_u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    (0..count).map(move |_| {
        let length = 2 + next() % 6;
        let mut text = String::new();
        for _ in 0..length {
            let part = &parts[next() % parts.len()];
            let letters = part.chars().count();
            // A part may be cut off anywhere.
            let end = if next() % 4 == 0 { next() % (letters + 1) } else { letters };
            text.extend(part.chars().take(end));
        }
        text
    })
}

#[test]
fn any_mixture_stays_a_line_and_redacting_again_changes_nothing() {
    for text in mixtures(2000) {
        let inner = serde_json::json!({ "text": text.as_str() }).to_string();
        let whole = serde_json::json!({ "type": "user", "content": text.as_str(), "inner": inner });
        for tape in [
            vec![Event::ToHost(duologue_protocol::Line::from(whole.to_string()))],
            text.lines()
                .map(|line| Event::Stderr(duologue_protocol::Line::from(line.to_owned())))
                .collect(),
        ] {
            let (new, _) = redacted(&tape);
            let lines = |tape: &[Event]| {
                tape.iter().map(|event| line(event).to_owned()).collect::<Vec<_>>()
            };
            let shapes = |tape: &[Event]| tape.iter().map(shape).collect::<Vec<_>>();
            assert_eq!(shapes(&new), shapes(&tape), "{text:?}");
            // JSON inside of a text stays JSON.
            let inner =
                new.first().and_then(|event| serde_json::from_str::<Value>(line(event)).ok());
            if let Some(inner) = inner.as_ref().and_then(|new| new["inner"].as_str()) {
                assert!(serde_json::from_str::<Value>(inner).is_ok(), "{inner} of {text:?}");
            }
            assert_eq!(lines(&redacted(&new).0), lines(&new), "{text:?}");
        }
    }
}

/// Parts of texts that took long in some version, or could.
const REPEATED: &[&str] = &[
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\nAAAA\n",
    "---- BEGIN SSH2 PRIVATE KEY ----",
    "PuTTY-User-Key-File",
    "-----END PRIVATE KEY-----",
    "BEGIN ",
    "END ",
    "password=",
    "password='",
    "password=\"",
    "password: ",
    "password=\\",
    "token=\"'`",
    "token token: ",
    "secret=a;",
    "key=",
    "PASSWORD=a,",
    "PASSWORD=a&b=",
    "sk-",
    "sk-ant-",
    "task-",
    "sk-a1",
    "eyJ",
    "eyJaaaaaaa.",
    "://",
    "://a:",
    "://a:b@",
    "a@b.cc",
    "a@",
    "@",
    "a.",
    "/home/a",
    "-home-a",
    "curl ",
    "curl -u a:",
    "mysql -p",
    "Cookie: a=b; ",
    "Authorization: Bearer ",
    "Authorization: Digest a=\"",
    "%",
    "%25",
    "%0A",
    "&quot;",
    "&amp;amp;",
    "\\",
    "\\n",
    "\\\\\"",
    "\u{1b}[31m",
    "\u{1b}",
    "\u{1b}]",
    "$",
    "${",
    "$6$",
    "<password>",
    "machine a login b password ",
    "echo a | ",
    "a:5432:b:c:",
    "\"",
    "{",
    "[",
    "{\"a\":",
    "{\"password\":\"",
    "a",
    "A1",
    "0123456789abcdef",
    "-",
    "_",
    " ",
    "\n",
    "MTIzNDU2Nzg5MDEyMzQ1Njc4.",
    "name: TOKEN\n value: ",
    "password is a1b2 ",
    "--password a ",
    "ghp_abcdefghij0123456789 ",
    "hunter2 PASSWORD=hunter2 ",
];

#[test]
fn the_work_is_linear_in_the_length_of_the_tape() {
    let work = |text: &str| {
        let line = serde_json::json!({ "type": "user", "content": text }).to_string();
        let tape = [
            Event::ToHost(duologue_protocol::Line::from(line)),
            Event::Stderr(duologue_protocol::Line::from(text.replace('\n', " "))),
        ];
        redacted(&tape).1.work()
    };
    for part in REPEATED {
        let (once, twice) = (work(&part.repeat(400)), work(&part.repeat(800)));
        assert!(twice <= once * 2 + once / 10 + 4096, "{part:?}: {once}, then {twice}");
    }
}

/// Writes the corpus for other tools: as tapes, and as plain texts.
#[test]
fn the_corpus_is_written_on_request() {
    let Some(folder) = folder() else { return };
    let write = |path: &Path, kind: &Kind, placement: &Placement| {
        let mut writer = Writer::new(Vec::new(), &Header::new("claude", [""; 0])).unwrap();
        for event in (placement.tape)(kind) {
            writer.event(Some(0), &event).unwrap();
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path.with_extension("tape"), writer.finish().unwrap()).unwrap();
        fs::write(path.with_extension("txt"), (placement.plain)(kind)).unwrap();
    };
    let file = |name: &str| name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    for kind in kinds() {
        for placement in placements() {
            let path = folder.join("secrets").join(file(kind.name)).join(file(placement.name));
            write(&path, &kind, placement);
        }
    }
    for (name, text) in NEGATIVES {
        let kind = Kind { name, text: (*text).to_owned(), secret: String::new() };
        for placement in PLACEMENTS {
            let path = folder.join("others").join(file(name)).join(file(placement.name));
            write(&path, &kind, placement);
        }
    }
}
