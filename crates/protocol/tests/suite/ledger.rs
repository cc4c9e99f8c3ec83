//! The host's two machines agree about what is open, whatever the agent writes.

use core::time::Duration;
use std::collections::HashMap;

use duologue_protocol::control::HostRequest;
use duologue_protocol::host_link::{Answer, Failure, HostLink, LinkEvent};
use duologue_protocol::lines::Prompt;
use duologue_protocol::transcript::{Event, Transcript};
use duologue_protocol::{Direction, Frame, Line, LineDecoder, RequestId, ToAgent, Wire as _};
use duologue_testkit::mutate::{LONG, Random, mutate};
use duologue_testkit::{Recording, recordings};
use serde_json::json;

/// Both machines with one ledger, and a link with a ledger of its own. All get the same lines.
struct Both {
    link: HostLink,
    alone: HostLink,
    transcript: Transcript,
    decoder: LineDecoder,
    finished: u64,
    /// What the recorded requests of the host are called here.
    ids: HashMap<String, String>,
}

impl Both {
    fn new() -> Self {
        Self {
            link: HostLink::new().follow_transcript(),
            alone: HostLink::new(),
            transcript: Transcript::new(),
            decoder: LineDecoder::new().max_line(LONG / 2),
            finished: 0,
            ids: HashMap::new(),
        }
    }

    fn prompted(uuid: &str) -> Self {
        let mut both = Self::new();
        both.say_to_agent(&Prompt::text("hi").uuid(uuid).to_line());
        both
    }

    fn say_to_agent(&mut self, line: &str) {
        let line = Line::from(line.trim_end());
        match line.to_agent().into_message() {
            Some(ToAgent::Prompt(prompt)) => {
                self.link.prompt(&prompt);
                self.alone.prompt(&prompt);
                self.transcript.handle_prompt(&prompt);
            }
            Some(ToAgent::ControlRequest(asks)) => {
                if let (Some(id), Some(request)) = (asks.request_id.as_str(), asks.request.value())
                    && matches!(
                        request,
                        HostRequest::Interrupt(_) | HostRequest::CancelAsyncMessage(_)
                    )
                {
                    let new = self.link.request(Duration::ZERO, request.clone(), None);
                    assert_eq!(self.alone.request(Duration::ZERO, request.clone(), None), new);
                    self.ids.insert(id.to_owned(), new.as_str().to_owned());
                }
            }
            _ => {}
        }
        self.transcript.handle_line(Direction::ToAgent, &line);
        while self.link.poll_transmit().is_some() {}
        while self.alone.poll_transmit().is_some() {}
        self.drain();
    }

    fn say_to_host(&mut self, line: &[u8]) {
        let mut bytes = line.to_vec();
        bytes.push(b'\n');
        let mut chunk = &bytes[..];
        while let Some(frame) = self.decoder.next(&mut chunk) {
            match frame {
                Frame::Line(line) => {
                    let renamed = self.with_new_ids(&line);
                    self.link.handle_line(&renamed);
                    self.alone.handle_line(&renamed);
                    self.transcript.handle_line(Direction::ToHost, &line);
                }
                Frame::TooLong(too_long) => {
                    self.link.handle_too_long(&too_long);
                    self.alone.handle_too_long(&too_long);
                    self.transcript.handle_too_long(&too_long);
                }
            }
        }
        self.drain();
    }

    fn with_new_ids(&self, line: &Line) -> Line {
        let Some(text) = line.as_str() else { return line.clone() };
        let mut text = text.to_owned();
        if text.starts_with(r#"{"type":"control_response""#) {
            for (old, new) in &self.ids {
                text = text.replace(&format!("\"{old}\""), &format!("\"{new}\""));
            }
        }
        Line::from(text)
    }

    fn drain(&mut self) {
        while let Some(event) = self.transcript.poll_event() {
            self.finished += u64::from(matches!(event, Event::TurnFinished(_)));
        }
        while self.link.poll_event().is_some() {}
        while self.alone.poll_event().is_some() {}
        self.link.set_turns(self.transcript.turn_state());
    }

    fn may_close(&self) -> bool {
        assert_eq!(self.link.may_close(), self.alone.may_close());
        self.link.may_close()
    }

    fn is_between_turns(&self) -> bool {
        assert_eq!(self.link.is_between_turns(), self.alone.is_between_turns());
        self.link.is_between_turns()
    }

    fn is_unclear(&self) -> bool {
        assert_eq!(self.link.is_unclear(), self.alone.is_unclear());
        self.link.is_unclear()
    }

    fn results(&self) -> u64 {
        assert_eq!(self.link.results(), self.alone.results());
        self.link.results()
    }

    fn agree(&self) -> bool {
        self.link.is_between_turns() == self.transcript.is_between_turns()
    }
}

/// A recording's lines to the host that belong to turns, as they stand or mutated.
fn played(recording: &Recording, seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    // Which lines of the host come before which of the agent's.
    let mut prompts: Vec<(usize, &str)> = Vec::new();
    for entry in &recording.entries {
        if entry.to_host {
            lines.push(entry.line.clone().into_bytes());
        } else {
            prompts.push((lines.len(), &entry.line));
        }
    }
    let mut done = Vec::new();
    for _ in 0..=random.below(2) {
        done.extend(mutate(&mut lines, 0, &mut random).map(|mutation| mutation.to_string()));
    }
    let mut both = Both::new();
    let mut prompts = prompts.into_iter().peekable();
    for (at, line) in lines.iter().enumerate() {
        while let Some((_, prompt)) = prompts.next_if(|(before, _)| *before <= at) {
            both.say_to_agent(prompt);
        }
        both.say_to_host(line);
        if !both.agree() {
            return Err(format!(
                "{} {}, seed {seed} ({done:?}), after line {at}: link {}, transcript {}\n{}\n{:#?}\n{:#?}",
                recording.version,
                recording.name,
                both.link.is_between_turns(),
                both.transcript.is_between_turns(),
                String::from_utf8_lossy(line).chars().take(400).collect::<String>(),
                both.link,
                both.transcript,
            ));
        }
    }
    Ok(both.finished > 0)
}

/// Every recording a few times, each time with one or two lines mutated: after every line both machines
/// say the same about whether a turn is open.
#[test]
fn both_machines_agree_on_whether_a_turn_is_open_whatever_is_mutated() {
    let times: u64 = std::env::var("DUOLOGUE_FUZZ_TIMES").ok().map_or(4, |n| n.parse().unwrap());
    let mut finished = 0;
    for (number, recording) in recordings().iter().enumerate() {
        for time in 0..times {
            match played(recording, number as u64 * 100_000 + time) {
                Ok(ended) => finished += u64::from(ended),
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(finished > 300, "{finished}");
}

/// The end of a turn, in every way in which it may be hard to read.
fn ends(uuid: &str) -> Vec<(&'static str, Vec<u8>)> {
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": "ok",
        "num_turns": 1, "total_cost_usd": 0.1, "uuid": "r", "user_message_uuids": [uuid] });
    let with = |key: &str, value: serde_json::Value| {
        let mut line = result.clone();
        line[key] = value;
        line.to_string().replacen('{', "{\"type\":\"result\",", 1).into_bytes()
    };
    let text = result.to_string().replacen('{', "{\"type\":\"result\",", 1);
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let mut not_utf8 = text.clone().into_bytes();
    not_utf8.insert(text.find("ok").unwrap(), 0xff);
    vec![
        ("as it should be", text.clone().into_bytes()),
        ("a new subtype", with("subtype", json!("error_of_tomorrow"))),
        ("no subtype", text.replace("\"subtype\":\"success\",", "").into_bytes()),
        ("a subtype of another type", with("subtype", json!(7))),
        ("a field of another type", with("api_error_status", json!("x"))),
        ("names of another type", with("user_message_uuids", json!(7))),
        ("names of somebody else", with("user_message_uuids", json!(["somebody"]))),
        ("nested deeply", text.replace("\"ok\"", &deep).into_bytes()),
        ("not UTF-8", not_utf8),
        ("longer than the cap", with("result", json!("x".repeat(LONG)))),
        ("cut off", text.as_bytes()[..text.len() / 2].to_vec()),
        ("cut off in its type", br#"{"type":"resu"#.to_vec()),
        ("without a type", text.replace("\"type\":\"result\",", "").into_bytes()),
    ]
}

#[test]
fn a_result_that_cannot_be_read_ends_its_turn_in_both_machines() {
    for introduced in [true, false] {
        for (what, line) in ends("u1") {
            let mut both = Both::prompted("u1");
            if introduced {
                both.say_to_host(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
            }
            assert!(!both.is_between_turns() && both.agree(), "{what}");
            both.say_to_host(&line);
            assert!(both.transcript.is_between_turns(), "{what}: {:?}", both.transcript);
            assert!(both.may_close(), "{what}: {:?}", both.link);
            assert_eq!((both.finished, both.results()), (1, 1), "{what}");
        }
    }
}

/// The agent lists prompts as waiting, takes two into one turn, and its result cannot be read.
#[test]
fn all_prompts_of_a_turn_end_with_a_result_that_cannot_be_read() {
    for (what, line) in ends("u1").into_iter().skip(1) {
        let mut both = Both::prompted("u1");
        both.say_to_agent(&Prompt::text("and this").uuid("u2").to_line());
        for (uuid, state) in
            [("u1", "queued"), ("u2", "queued"), ("u1", "started"), ("u2", "started")]
        {
            let line = json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state });
            both.say_to_host(line.to_string().as_bytes());
        }
        both.say_to_host(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
        both.say_to_host(&line);
        assert!(both.may_close() && both.transcript.is_between_turns(), "{what}");
    }
}

fn background(both: &mut Both) {
    both.say_to_host(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
    let started = json!({ "type": "system", "subtype": "task_started", "task_id": "t",
        "task_type": "local_agent", "is_backgrounded": true });
    both.say_to_host(started.to_string().as_bytes());
    both.say_to_host(br#"{"type":"result","subtype":"success","user_message_uuids":["u1"]}"#);
    assert!(both.is_between_turns() && !both.may_close());
}

/// A task ends in several ways; none of them needs to be wholly readable.
#[test]
fn the_end_of_a_task_is_read_out_of_a_broken_line() {
    for line in [
        r#"{"type":"system","subtype":"task_notification","task_id":"t","status":7}"#,
        r#"{"type":"system","subtype":"task_notification","task_id":"t","summary":"cut o"#,
        r#"{"type":"system","subtype":"task_updated","task_id":"t","patch":{"status":"completed","end_time":"x"}}"#,
        r#"{"type":"system","subtype":"task_over","task_id":"t","status":"failed"}"#,
    ] {
        let mut both = Both::prompted("u1");
        background(&mut both);
        both.say_to_host(line.as_bytes());
        assert!(both.may_close(), "{line}");
    }
}

/// Which task has ended cannot be read: then what seems to be open is not certain.
#[test]
fn the_end_of_something_that_cannot_be_read_leaves_doubt() {
    for line in [
        &br#"{"type":"system","subtype":"task_notification","status":"completed"}"#[..],
        br#"{"type":"system","subtype":"background_tasks_changed","tasks":7}"#,
        br#"{"type":"system","subtype":"background_tasks_changed"}"#,
        br#"{"type":"system","subtype":"task_updated","patch":{"status":"completed"}}"#,
        br#"{"type":"system","subtype":7}"#,
        br#"{"type":"command_lifecycle","state":"completed"}"#,
        br#"{"type":"sys"#,
        b"{\"type\":\"system\xff",
    ] {
        let mut both = Both::prompted("u1");
        background(&mut both);
        assert!(!both.is_unclear());
        both.say_to_host(line);
        let line = String::from_utf8_lossy(line);
        assert!(both.may_close() || both.is_unclear(), "{line}");
        // The next turn makes things clear again.
        both.say_to_host(br#"{"type":"system","subtype":"init","uuid":"i2"}"#);
        assert!(!both.is_unclear(), "{line}");
    }
}

/// Something that a tool or a runtime has printed is not a message.
#[test]
fn printed_text_leaves_no_doubt() {
    let mut both = Both::prompted("u1");
    background(&mut both);
    for text in ["(node:12) Warning: x", "debug: turn 3", "null", "[1]", "\u{1b}[2m"] {
        both.say_to_host(text.as_bytes());
        assert!(!both.is_unclear(), "{text}");
    }
}

/// A line of the main agent that comes late does not begin a turn that never ends.
#[test]
fn a_late_line_begins_no_turn() {
    let mut both = Both::prompted("u1");
    both.say_to_host(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
    both.say_to_host(br#"{"type":"result","subtype":"success","uuid":"r"}"#);
    both.say_to_host(
        br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"late"}]}}"#,
    );
    assert!(both.may_close() && both.transcript.is_between_turns());
}

/// An introduction that cannot be read, in the middle of a turn, does not begin another one.
#[test]
fn a_broken_introduction_does_not_split_a_turn() {
    let mut both = Both::prompted("u1");
    both.say_to_host(br#"{"type":"system","subtype":"init","uuid":"i"}"#);
    both.say_to_host(
        br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hi"}]}}"#,
    );
    both.say_to_host(br#"{"type":"system","subtype":"init","uuid":"i2","tools":"none"}"#);
    both.say_to_host(br#"{"type":"result","subtype":"success","uuid":"r"}"#);
    assert!(both.may_close() && both.transcript.is_between_turns());
    assert_eq!(both.finished, 1);
}

/// A line that comes twice counts once.
#[test]
fn a_result_that_comes_twice_answers_one_prompt() {
    let mut both = Both::prompted("u1");
    both.say_to_agent(&Prompt::text("and this").uuid("u2").to_line());
    let result = br#"{"type":"result","subtype":"success","uuid":"r"}"#;
    both.say_to_host(result);
    both.say_to_host(result);
    assert!(!both.is_between_turns() && both.agree());
    both.say_to_host(br#"{"type":"result","subtype":"success","uuid":"r2"}"#);
    assert!(both.may_close() && both.agree());
}

/// An answer or a withdrawal that cannot be read still ends what it is about.
#[test]
fn control_lines_that_cannot_be_read_end_what_they_are_about() {
    let mut link = HostLink::new();
    for answer in [
        r#"{"type":"control_response","response":{"subtype":"of_tomorrow","request_id":"ID"}}"#,
        r#"{"type":"control_response","response":{"subtype":7,"request_id":"ID"}}"#,
        r#"{"type":"control_response","response":{"request_id":"ID","response":{"cut o"#,
    ] {
        let request = duologue_protocol::control::McpStatusRequest::new();
        let id = link.request(Duration::ZERO, request, None);
        while link.poll_transmit().is_some() {}
        link.handle_line(&Line::from(answer.replace("ID", id.as_str())));
        let replied = link.poll_event();
        assert!(
            matches!(
                &replied,
                Some(LinkEvent::Replied { id: replied, outcome: Err(Failure::Refused(_)) })
                    if *replied == id
            ),
            "{answer}: {replied:?}"
        );
        assert!(link.may_close(), "{answer}");
    }
    let ask = r#"{"type":"control_request","request_id":"a","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}"#;
    link.handle_line(&Line::from(ask));
    assert!(!link.may_close());
    link.handle_line(&Line::from(
        r#"{"type":"control_cancel_request","request_id":"a","x":"cut o"#,
    ));
    assert!(link.may_close());
    assert!(link.answer(&RequestId::from("a"), &Answer::Ack).is_err());
}

/// An interrupt may take back prompts that wait. Older versions only say so in its answer.
#[test]
fn prompts_that_an_interrupt_takes_back_are_not_waited_for() {
    let mut link = HostLink::new();
    link.prompt(&Prompt::text("hi").uuid("u1"));
    let interrupt = duologue_protocol::control::Interrupt::new();
    let id = link.request(Duration::ZERO, interrupt, None);
    while link.poll_transmit().is_some() {}
    link.handle_line(&Line::from(
        json!({ "type": "control_response", "response": { "subtype": "success",
            "request_id": id.as_str(), "response": { "still_queued": [], "cancelled": ["u1"] } } })
        .to_string(),
    ));
    assert!(link.may_close());
}
