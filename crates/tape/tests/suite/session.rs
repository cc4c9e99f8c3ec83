//! The recordings, replayed to our own host.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use duologue::handlers::{Hook, HookCall};
use duologue::protocol::hook::HookOutput;
use duologue::protocol::{Decoded, Line, RawObject, ToAgent, ToHost};
use duologue::{Handshake, Session, mcp};
use duologue_tape::replay::{HostPlayer, HostStep, Match, Player, Step};
use duologue_tape::{Event, Reader, Stream};
use duologue_testkit::{Recording, recordings};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::Notify;

/// A tape that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Scenarios that our host does not replay, and why. All versions, unless one is named.
const NOT_SENT: &[(&str, &[&str])] = &[
    ("a turn that ends when stdin does", &["01d-no-verbose"]),
    ("a prompt with fields that no host sets", &["02b-user-message-odd-fields"]),
    ("answers that are none", &["04d-permission-bad-responses"]),
    ("a hook that fails in its own words", &["11e-hooks-error-and-continue-false"]),
    ("an MCP server that is announced and not there", &["12d-sdk-mcp-no-handler"]),
    (
        "requests and answers that are broken, or that no host makes",
        &[
            "15-control-main",
            "15b-control-all-subtypes",
            "15c1-control-no-request",
            "15c2-control-empty-request",
            "15c3-control-no-request-id",
            "15c4-control-bad-field-type",
            "15c5-control-response-empty",
            "15c6-control-response-unknown-id",
            "15c7-control-request-null",
            "15c8-control-request-id-number",
            "15c9-control-cancel-no-id",
        ],
    ),
    ("lines by themselves that keep alive or set variables", &["15e-keep-alive-and-env-update"]),
    ("the same prompt twice", &["18-replay-user-messages"]),
    ("a broken picture", &["19b-image-invalid"]),
    (
        "lines that are no messages",
        &[
            "24a-invalid-json",
            "24b-truncated-json",
            "24c-unknown-type",
            "24d-no-type",
            "24j-empty-line",
            "24k-whitespace-line",
            "24l-json-array",
            "24m-json-null",
            "24n-json-string",
            "24z-invalid-utf8",
            "24za-lone-surrogate-escape",
            "24zb-two-objects-one-line",
        ],
    ),
    (
        "prompts without content, or of another role",
        &[
            "24e-user-missing-message",
            "24f-user-missing-role",
            "24g-user-role-assistant",
            "24h-user-content-null",
            "24i-user-content-number",
            "24x-user-empty-content",
            "24y-user-empty-array",
        ],
    ),
    ("lines of an agent", &["24r-type-system", "24s-type-assistant", "24t-type-result"]),
    (
        "lines of the oldest descriptions",
        &[
            "24o-legacy-approve",
            "24p-legacy-deny",
            "24q-legacy-tool_result",
            "24zf-legacy-approve-while-pending",
            "24zg-legacy-deny-while-pending",
            "24zh-legacy-tool_result-while-pending",
            "24zi-legacy-approve-no-prompt-tool",
            "24zj-user-tool_result-while-pending",
        ],
    ),
    ("the host stops reading, and continues", &["26b-stdout-closed"]),
    ("prompts before the handshake", &["newest/29e-burst-before-start"]),
    ("two prompts without names that end as one turn", &["29f-queue-during-permission"]),
    (
        "a request of the agent that is withdrawn, and withdrawals by hand",
        &[
            "33-cancel-can_use_tool-by-interrupt",
            "33b-client-sends-cancel-request",
            "33c-cancel-hook-callback-by-interrupt",
        ],
    ),
];

fn is_listed(recording: &Recording, name: &str) -> bool {
    match name.split_once('/') {
        Some(("newest", name)) => recording.is_newest() && recording.name == name,
        Some((version, name)) => recording.version == version && recording.name == name,
        None => recording.name == name,
    }
}

/// Why our host does not replay a recording; `None` if it does.
fn not_sent(recording: &Recording) -> Option<&'static str> {
    let mut listed = NOT_SENT.iter();
    let listed = listed.find(|(_, names)| names.iter().any(|name| is_listed(recording, name)));
    if let Some((reason, _)) = listed {
        return Some(reason);
    }
    let host: Vec<Line> = recording
        .entries
        .iter()
        .filter(|entry| !entry.to_host)
        .map(|entry| Line::from(entry.line.as_str()))
        .collect();
    if host.is_empty() {
        return Some("the host says nothing");
    }
    let has_reply = recording.entries.iter().any(|entry| {
        entry.to_host
            && entry.line.contains("\"control_response\"")
            && entry.line.contains("\"req_1\"")
    });
    if !has_reply && host[0].raw().windows(12).any(|part| part == b"\"initialize\"") {
        return Some("the agent does not shake hands");
    }
    let mut reader = Reader::new(File::open(&recording.path).unwrap());
    while let Some(entry) = reader.next_entry().unwrap() {
        if matches!(&entry.event, Event::Note(note) if note.starts_with("signal ")) {
            return Some("a signal needs a process");
        }
    }
    None
}

/// Plays the agent of a tape at one end of a pipe. Returns the mismatch of the host, if there is one.
///
/// A subscriber gets lines from the moment it subscribes, so the agent waits for `subscribed` after the handshake.
async fn agent(
    recording: &Recording,
    pipe: DuplexStream,
    subscribed: &Notify,
) -> Result<(), String> {
    let mut in_handshake = has_handshake(recording);
    if !in_handshake {
        subscribed.notified().await;
    }
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    let path = recording.path.clone();
    let mut player = Player::new(|| File::open(&path), Match::Exact).unwrap();
    loop {
        match player.next_step().unwrap() {
            Step::Say(_, Stream::ToHost, line) => {
                // The host is gone and reads no more.
                let _ = writer.write_all(line.raw()).await;
                let _ = writer.write_all(b"\n").await;
                if in_handshake && is_control_response(&line) {
                    in_handshake = false;
                    subscribed.notified().await;
                }
            }
            Step::Say(..) => {}
            Step::Wait(_) => {
                let result = match lines.next_line().await {
                    Ok(Some(line)) => player.handle_line(&Line::from(line)),
                    Ok(None) | Err(_) => player.handle_end(),
                };
                result.map_err(|mismatch| mismatch.to_string())?;
            }
            Step::End(_) => return Ok(()),
            _ => {}
        }
    }
}

fn has_handshake(recording: &Recording) -> bool {
    let first = recording.entries.iter().find(|entry| !entry.to_host).unwrap();
    first.line.contains("\"initialize\"")
}

fn is_control_response(line: &Line) -> bool {
    matches!(line.to_host(), Decoded::Known(ToHost::ControlResponse(_)))
}

/// The host on the tape, as far as our host can do the same.
async fn host(
    recording: &Recording,
    pipe: DuplexStream,
    subscribed: &Notify,
) -> Result<(), String> {
    let mut player = HostPlayer::new(File::open(&recording.path).unwrap());
    let shakes_hands = has_handshake(recording);
    let (reader, writer) = tokio::io::split(pipe);
    let handshake = if shakes_hands { Handshake::Require } else { Handshake::Skip };
    let mut builder = Session::builder().handshake(handshake).answer_by_hand().request_within(None);
    for server in servers(recording) {
        builder = builder.mcp(server);
    }
    for hook in hooks(recording) {
        builder = builder.hook(hook);
    }
    let session = builder.connect(reader, writer).await.map_err(|error| error.to_string())?;
    let session = Arc::new(session);
    let mut messages = session.messages();
    subscribed.notify_one();
    if shakes_hands {
        // The handshake was before the subscription.
        let Ok(HostStep::Say(_)) = player.next_step() else {
            return Err("no handshake".to_owned());
        };
        for entry in recording.entries.iter().filter(|entry| entry.to_host) {
            let line = Line::from(entry.line.as_str());
            player.handle_line(&line);
            if is_control_response(&line) {
                break;
            }
        }
    }
    loop {
        match player.next_step().unwrap() {
            HostStep::Say(line) => say(&session, &line).await?,
            HostStep::Wait(what) => match messages.next().await {
                Ok(Some(message)) => player.handle_line(&message.line),
                Ok(None) => return Err(format!("the agent ended; expected {what}")),
                Err(error) => return Err(format!("{error}; expected {what}")),
            },
            _ => break,
        }
    }
    drop(messages);
    if let Ok(session) = Arc::try_unwrap(session) {
        session.close().await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The value with its keys in order: whether `serde_json` keeps their order depends on the crates that are built.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

fn lines(recording: &Recording) -> Vec<(bool, Value)> {
    let value = |line: &str| serde_json::from_str(line).ok().map(sorted);
    let entries = recording.entries.iter();
    entries.filter_map(|entry| Some((entry.to_host, value(&entry.line)?))).collect()
}

/// The recorded answers to requests of this kind, by subject.
fn answers(lines: &[(bool, Value)], subtype: &str, about: &str) -> HashMap<String, Value> {
    let asks =
        lines.iter().filter(|(to_host, ask)| *to_host && ask["request"]["subtype"] == subtype);
    let answered = asks.filter_map(|(_, ask)| {
        let answer = lines.iter().find(|(to_host, line)| {
            !to_host && line["response"]["request_id"] == ask["request_id"]
        });
        Some((ask["request"][about].to_string(), answer?.1["response"]["response"].clone()))
    });
    answered.collect()
}

/// The hooks of the host on the tape, one for each callback id.
fn hooks(recording: &Recording) -> Vec<Hook> {
    let lines = lines(recording);
    let answers = Arc::new(answers(&lines, "hook_callback", "input"));
    let first = lines.iter().find(|(to_host, _)| !to_host).unwrap();
    let mut hooks = Vec::new();
    for (event, matchers) in first.1["request"]["hooks"].as_object().into_iter().flatten() {
        let ids = matchers.as_array().into_iter().flatten();
        for _ in ids.flat_map(|matcher| matcher["hookCallbackIds"].as_array().unwrap()) {
            let answers = Arc::clone(&answers);
            hooks.push(Hook::new(event.as_str().into(), move |call: HookCall| {
                let input = sorted(serde_json::to_value(call.input().unwrap()).unwrap());
                let answer = answers.get(&input.to_string()).cloned();
                async move {
                    match answer {
                        Some(answer) => serde_json::from_value::<HookOutput>(answer).unwrap(),
                        // On the tape there is no answer.
                        None => panic!("no answer to {input}"),
                    }
                }
            }));
        }
    }
    hooks
}

/// The MCP servers of the host on the tape. They may get requests before the handshake is done.
fn servers(recording: &Recording) -> Vec<mcp::Raw> {
    let lines = lines(recording);
    let answers = answers(&lines, "mcp_message", "message");
    let names: BTreeSet<&str> = lines
        .iter()
        .filter(|(to_host, _)| *to_host)
        .filter_map(|(_, line)| line["request"]["server_name"].as_str())
        .collect();
    let answers = Arc::new(answers);
    let server = |name: &str| {
        let answers = Arc::clone(&answers);
        mcp::raw(name, move |message: RawObject| {
            let message = sorted(serde_json::from_str(message.as_json()).unwrap());
            let answer =
                answers.get(&message.to_string()).map(|answer| answer["mcp_response"].clone());
            async move { RawObject::of(&answer?).ok() }
        })
    };
    names.into_iter().map(server).collect()
}

async fn say(session: &Arc<Session>, line: &Line) -> Result<(), String> {
    let Decoded::Known(message) = line.to_agent() else {
        return Err(format!("our host cannot say {line:?}"));
    };
    match message {
        ToAgent::Prompt(prompt) => {
            drop(session.query(*prompt).await.map_err(|error| error.to_string())?)
        }
        ToAgent::ControlRequest(_) => {
            let value: Value = serde_json::from_slice(line.raw()).unwrap();
            let mut fields = value["request"].clone();
            let subtype = fields["subtype"].as_str().unwrap_or_default().to_owned();
            fields.as_object_mut().unwrap().remove("subtype");
            let session = Arc::clone(session);
            // Its answer is awaited where the tape has it. Some have none.
            let _asked =
                tokio::spawn(async move { session.control_request(&subtype, &fields).await });
        }
        // The servers have answered.
        ToAgent::ControlResponse(_) if line.as_str().unwrap().contains("\"mcp_response\"") => {}
        ToAgent::ControlResponse(response) => {
            // Answers to withdrawn requests are not sent: the agent would ignore them.
            let _ = session.control_response(&response).await;
        }
        other => return Err(format!("our host never says {}", other.tag())),
    }
    Ok(())
}

#[tokio::test]
async fn recordings_replay_to_our_host() {
    let mut held = 0;
    let mut left_out = Vec::new();
    let mut failed = Vec::new();
    for recording in recordings() {
        if let Some(reason) = not_sent(&recording) {
            left_out.push(reason);
            continue;
        }
        let (ours, its) = tokio::io::duplex(64 * 1024);
        let subscribed = Notify::new();
        let both = async {
            tokio::try_join!(
                agent(&recording, its, &subscribed),
                host(&recording, ours, &subscribed)
            )
        };
        let trouble = match tokio::time::timeout(PATIENCE, both).await {
            Ok(Ok(_)) => None,
            Ok(Err(trouble)) => Some(trouble),
            Err(_) => Some("it hangs".to_owned()),
        };
        match trouble {
            None => held += 1,
            Some(trouble) => {
                failed.push(format!("{} {}: {trouble}", recording.version, recording.name));
            }
        }
    }
    assert!(failed.is_empty(), "{held} held, {} failed:\n{}", failed.len(), failed.join("\n"));
    assert!(held > 215, "only {held} were held, {} left out", left_out.len());
    for name in NOT_SENT.iter().flat_map(|(_, names)| *names) {
        let there = recordings().iter().any(|recording| is_listed(recording, name));
        assert!(there, "there is no recording {name}");
    }
}
