//! The recordings, replayed to our own host.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use duologue::protocol::{Decoded, Line, RawObject, ToAgent};
use duologue::{Handshake, Session, mcp};
use duologue_tape::replay::{HostPlayer, HostStep, Match, Player, Step};
use duologue_tape::{Event, Reader, Stream};
use duologue_testkit::{Recording, recordings};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// Nothing on a tape takes longer, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(1);

/// What our host does not send, by the beginning of the scenario's name.
const NOT_SENT: &[(&str, &str)] = &[
    ("02b", "prompts with odd fields"),
    ("15b", "requests that no host makes"),
    ("15c", "broken requests"),
    ("15d", "a second handshake"),
    ("15e", "lines that set variables"),
    ("18", "the same prompt twice"),
    ("24", "lines that are no messages, or of the oldest descriptions"),
];

/// Why a recording cannot be held by our host; `None` if it can.
fn not_sent(recording: &Recording) -> Option<&'static str> {
    let listed = NOT_SENT.iter().find(|(name, _)| recording.name.starts_with(name));
    if let Some((_, reason)) = listed {
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
    let mut reader = Reader::new(File::open(&recording.path).unwrap());
    while let Some(entry) = reader.next_entry().unwrap() {
        if matches!(&entry.event, Event::Note(note) if note.starts_with("signal ")) {
            return Some("a signal needs a process");
        }
    }
    None
}

/// The agent on the tape, at one end of a pipe. What the host did wrong, if anything.
async fn agent(recording: &Recording, pipe: DuplexStream) -> Result<(), String> {
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    let path = recording.path.clone();
    let mut player = Player::new(|| File::open(&path), Match::Exact).unwrap();
    loop {
        match player.next_step().unwrap() {
            Step::Say(_, Stream::ToHost, line) => {
                // A host that is gone reads no more.
                let _ = writer.write_all(line.raw()).await;
                let _ = writer.write_all(b"\n").await;
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

/// The host on the tape, as far as our own can say the same.
async fn host(recording: &Recording, pipe: DuplexStream) -> Result<(), String> {
    let mut player = HostPlayer::new(File::open(&recording.path).unwrap()).unwrap();
    let first = recording.entries.iter().find(|entry| !entry.to_host).unwrap();
    let shakes_hands = first.line.contains("\"initialize\"");
    let (reader, writer) = tokio::io::split(pipe);
    let handshake = if shakes_hands { Handshake::Require } else { Handshake::Skip };
    let mut builder = Session::builder().handshake(handshake).answer_by_hand().request_within(None);
    for server in servers(recording) {
        builder = builder.mcp(server);
    }
    let session = builder.connect(reader, writer).await.map_err(|error| error.to_string())?;
    let session = Arc::new(session);
    let mut messages = session.messages();
    if shakes_hands {
        // Done already, before anybody could listen.
        let HostStep::Say(_) = player.next_step() else { return Err("no handshake".to_owned()) };
        for entry in recording.entries.iter().filter(|entry| entry.to_host) {
            player.handle_line(&Line::from(entry.line.as_str()));
            if entry.line.contains("\"control_response\"") {
                break;
            }
        }
    }
    loop {
        match player.next_step() {
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

/// The MCP servers of the host on the tape. They may be asked before the hands are shaken.
fn servers(recording: &Recording) -> Vec<mcp::Raw> {
    let lines: Vec<(bool, Value)> = recording
        .entries
        .iter()
        .filter_map(|entry| Some((entry.to_host, serde_json::from_str(&entry.line).ok()?)))
        .collect();
    let mut answers: BTreeMap<String, HashMap<String, Value>> = BTreeMap::new();
    for (_, ask) in lines.iter().filter(|(to_host, _)| *to_host) {
        if ask["request"]["subtype"] != "mcp_message" {
            continue;
        }
        let server = ask["request"]["server_name"].as_str().unwrap().to_owned();
        let of_server = answers.entry(server).or_default();
        let answer = lines.iter().find(|(to_host, line)| {
            !to_host && line["response"]["request_id"] == ask["request_id"]
        });
        if let Some((_, answer)) = answer {
            let response = &answer["response"]["response"]["mcp_response"];
            of_server.insert(ask["request"]["message"].to_string(), response.clone());
        }
    }
    let server = |(name, answers): (String, HashMap<String, Value>)| {
        let answers = Arc::new(answers);
        mcp::raw(name, move |message: RawObject| {
            let message: Value = serde_json::from_str(message.as_json()).unwrap();
            let answer = answers.get(&message.to_string()).cloned();
            async move { RawObject::of(&answer?).ok() }
        })
    };
    answers.into_iter().map(server).collect()
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
            // Its answer is waited for where the tape waits for it. Some had none.
            let _asked =
                tokio::spawn(async move { session.control_request(&subtype, &fields).await });
        }
        // The servers have answered.
        ToAgent::ControlResponse(_) if line.as_str().unwrap().contains("\"mcp_response\"") => {}
        ToAgent::ControlResponse(response) => {
            // Answers to what was withdrawn meanwhile are not sent: the agent would not read them.
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
        let both = async { tokio::try_join!(agent(&recording, its), host(&recording, ours)) };
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
    assert!(held > 200, "only {held} were held, {} left out", left_out.len());
}
