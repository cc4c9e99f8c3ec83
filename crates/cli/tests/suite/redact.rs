//! `duologue redact`.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::command::{duologue, recording, text};

#[test]
fn only_secrets_are_removed_from_a_tape() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let line = r#"{\"account\":{\"email\":\"ann@corp.com\",\"organization\":\"Corp\"},\"cwd\":\"/home/ann/p\",\"n\":1.50}"#;
    let key = "sk-ant-api03-abcdefghijklmnop";
    fs::write(
        &tape,
        format!(
            "{{\"tape\":1,\"program\":\"claude\",\"argv\":[\"--x={key}\"]}}\n\
             {{\"t\":1,\"dir\":\"out\",\"line\":\"{line}\"}}\n\
             {{\"t\":2,\"dir\":\"err\",\"line\":\"ann said {key} and Bearer abcdefgh12345\"}}\n\
             {{\"t\":3,\"new\":\"kind\"}}\n"
        ),
    )
    .unwrap();
    let output = duologue().arg("redact").arg(&tape).output().unwrap();
    assert!(output.status.success());
    let expected = concat!(
        r#"{"tape":1,"program":"claude","argv":["--x=sk-ant-redacted-1"],"redacted":true}"#,
        "\n",
        r#"{"t":1,"dir":"out","line":"{\"account\":{\"email\":\"user2@example.com\",\"organization\":\"account-3\"},\"cwd\":\"/home/user4/p\",\"n\":1.50}"}"#,
        "\n",
        r#"{"t":2,"dir":"err","line":"user4 said sk-ant-redacted-1 and Bearer secret-5"}"#,
        "\n",
        r#"{"t":3,"new":"kind"}"#,
        "\n",
    );
    assert_eq!(text(&output.stdout), expected);
    let said = text(&output.stderr);
    assert!(said.contains("3 keys and tokens") && said.contains("1 account fields"), "{said}");
    // Redacting again changes nothing.
    let again = folder.path().join("again.tape");
    fs::write(&again, &output.stdout).unwrap();
    let output = duologue().arg("redact").arg(&again).output().unwrap();
    assert_eq!(text(&output.stdout), expected);
    assert!(text(&output.stderr).contains("replaced nothing"), "{}", text(&output.stderr));
}

#[test]
fn a_user_name_is_replaced_from_the_first_line() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let lines = "{\"tape\":1,\"program\":\"claude\",\"argv\":[\"ann asks\"]}\n\
                 {\"dir\":\"out\",\"line\":\"{\\\"cwd\\\":\\\"/home/ann\\\"}\"}\n";
    fs::write(&tape, lines).unwrap();
    let output = duologue().arg("redact").arg(&tape).output().unwrap();
    assert_eq!(text(&output.stdout), {
        let lines = lines.replace("ann", "user1");
        lines.replace("asks\"]}", "asks\"],\"redacted\":true}")
    });
    assert!(text(&output.stderr).contains("replaced 2 home folders"), "{}", text(&output.stderr));
}

#[test]
fn a_streamed_key_is_replaced() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    let piece = |text: &str| {
        let delta = json!({ "type": "text_delta", "text": text });
        let event = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
        let line = json!({ "type": "stream_event", "event": event, "session_id": "s" }).to_string();
        json!({ "dir": "out", "line": line }).to_string() + "\n"
    };
    let lines = |pieces: [&str; 3]| pieces.map(piece).concat();
    let written = lines(["Take sk-ant-api03", "-abcdefghijkl", "mnop, please."]);
    fs::write(&tape, "{\"tape\":1,\"program\":\"claude\",\"argv\":[]}\n".to_owned() + &written)
        .unwrap();
    let output = duologue().arg("redact").arg(&tape).output().unwrap();
    let entries = text(&output.stdout).split_once('\n').unwrap().1.to_owned();
    assert_eq!(entries, lines(["Take sk-ant-redacted-1", "", ", please."]));
    assert!(text(&output.stderr).contains("replaced 1 keys"), "{}", text(&output.stderr));
}

#[test]
fn chosen_paths_are_replaced() {
    let tape = recording("01-plain-text.tape");
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.tape.zst");
    let output = duologue()
        .args(["redact", "--path", "message.content[].text", "--path", "result", "-o"])
        .arg(&out)
        .arg(&tape)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("chosen fields"));
    let events = duologue().args(["inspect", "--json"]).arg(&out).output().unwrap();
    assert!(text(&events.stdout).contains("redacted-"), "{}", text(&events.stdout));
    assert!(duologue().arg("check").arg(&out).output().unwrap().status.success());
}

#[test]
fn an_invalid_or_unused_path_is_reported() {
    let tape = recording("01-plain-text.tape");
    for path in ["][", "a[", "a..b", "", "a[0]"] {
        let output = duologue().args(["redact", "--path", path]).arg(&tape).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{path}");
        assert!(text(&output.stderr).contains("message.content[].text"), "{path}");
    }
    for (path, leads) in [("message.contnt", false), ("message.content[].text", true)] {
        let output = duologue().args(["redact", "--path", path]).arg(&tape).output().unwrap();
        assert!(output.status.success());
        let stderr = text(&output.stderr);
        assert_eq!(stderr.contains("nothing found at"), !leads, "{path}: {stderr}");
    }
}

#[test]
fn a_capture_stays_a_capture() {
    let line = r#"{"type":"x","text":"PASSWORD=hunter2 and 1.50"}"#;
    let last = r#"{"type":"y","text":"hunter2"}"#;
    let expected = format!("{line}\n{last}").replace("hunter2", "secret-1");
    let folder = TempDir::new().unwrap();
    let capture = folder.path().join("capture.jsonl");
    fs::write(&capture, format!("{line}\n{last}")).unwrap();
    let output = duologue().arg("redact").arg(&capture).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), expected);
    let piped = duologue().args(["redact", "-"]).write_stdin(format!("{line}\n{last}")).output();
    assert_eq!(text(&piped.unwrap().stdout), expected);
    let empty = duologue().args(["redact", "-"]).write_stdin("").output().unwrap();
    assert_eq!(empty.status.code(), Some(2));
}

const TAPE: &str = "{\"tape\":1}\n{\"dir\":\"err\",\"line\":\"ann@corp.com\"}\n";

#[test]
fn a_tape_is_not_written_over_itself() {
    let folder = TempDir::new().unwrap();
    let tape = folder.path().join("t.tape");
    fs::write(&tape, TAPE).unwrap();
    let [hard, soft] = ["hard.tape", "soft.tape"].map(|name| folder.path().join(name));
    fs::hard_link(&tape, &hard).unwrap();
    std::os::unix::fs::symlink(&tape, &soft).unwrap();
    for output in [&tape, &hard, &soft].into_iter().filter(|path| path.exists()) {
        for force in [&[][..], &["--force"]] {
            let mut command = duologue();
            let output = command
                .arg("redact")
                .arg(&tape)
                .arg("-o")
                .arg(output)
                .args(force)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(2));
            assert_eq!(fs::read_to_string(&tape).unwrap(), TAPE);
        }
    }
}

#[test]
fn a_file_is_replaced_only_if_asked() {
    let folder = TempDir::new().unwrap();
    let [tape, other] = ["t.tape", "other.txt"].map(|name| folder.path().join(name));
    fs::write(&tape, TAPE).unwrap();
    fs::write(&other, "mine").unwrap();
    let redact = |tape: &std::path::Path, more: &[&str]| {
        duologue().arg("redact").arg(tape).arg("-o").arg(&other).args(more).output().unwrap()
    };
    let output = redact(&tape, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--force"), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    // An unreadable tape replaces nothing.
    let broken = folder.path().join("broken.tape");
    fs::write(&broken, format!("{TAPE}nonsense\n")).unwrap();
    assert_eq!(redact(&broken, &["--force"]).status.code(), Some(2));
    assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    assert!(redact(&tape, &["--force"]).status.success());
    assert!(fs::read_to_string(&other).unwrap().contains("user1@example.com"));
    // Only its owner can read it, and nothing else is left in the folder.
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&other).unwrap().permissions())
            & 0o777,
        0o600
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    // A new file is removed if it cannot be completed.
    let new = folder.path().join("new.tape.zst");
    let make = |tape: &std::path::Path| {
        duologue().arg("redact").arg(tape).arg("-o").arg(&new).output().unwrap()
    };
    assert_eq!(make(&broken).status.code(), Some(2));
    assert!(!new.exists());
    assert!(make(&tape).status.success());
    assert!(new.exists());
}

#[test]
fn a_value_known_from_a_later_line_is_replaced_in_a_streamed_text() {
    let folder = TempDir::new().unwrap();
    let capture = folder.path().join("c.jsonl");
    let piece = |text: &str| {
        let delta = json!({ "type": "text_delta", "text": text });
        let event = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
        json!({ "type": "stream_event", "event": event }).to_string() + "\n"
    };
    let known = json!({ "type": "user", "content": "DB_PASSWORD=swordfish9" }).to_string();
    fs::write(&capture, piece("it is sword") + &piece("fish9, sir") + &known).unwrap();
    let output = duologue().arg("redact").arg(&capture).output().unwrap();
    let lines = text(&output.stdout);
    assert!(lines.contains(r#""it is secret-1""#) && lines.contains(r#"", sir""#), "{lines}");
}
