//! One conversation, shown in every way the wire knows, gives the same events.

use std::collections::BTreeMap;

use duologue_protocol::transcript::{Event, Transcript};
use duologue_protocol::{Direction, Line};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A block of a message.
#[derive(Clone, Debug)]
enum Block {
    Text(String),
    Thinking(String),
    Call(String),
}

/// A message of an agent. After it come the results of its calls.
#[derive(Clone, Debug)]
struct Message {
    id: String,
    blocks: Vec<Block>,
}

/// A turn: what the main agent says, and what each sub-agent that it starts says.
#[derive(Clone, Debug)]
struct Turn {
    main: Vec<Message>,
    /// Which agent started it (an index into this list, or the main agent), and its messages.
    agents: Vec<(Option<usize>, Vec<Message>)>,
}

/// How a message is shown.
#[derive(Clone, Copy, Debug)]
enum Shown {
    PerBlock,
    Snapshots,
    GrowingSnapshots,
    WholeAtOnce,
    Deltas,
    DeltasThenLine,
}

#[derive(Clone, Debug)]
struct Style {
    /// How each message is shown, in turn.
    shown: Vec<Shown>,
    /// Which of the agents writes its next line.
    schedule: Vec<prop::sample::Index>,
    /// Every how-many-eth line is repeated; 0 for none.
    repeat: usize,
}

const ALL: [Shown; 6] = [
    Shown::PerBlock,
    Shown::Snapshots,
    Shown::GrowingSnapshots,
    Shown::WholeAtOnce,
    Shown::Deltas,
    Shown::DeltasThenLine,
];

fn block() -> impl Strategy<Value = Block> {
    // Few words, so that equal texts in different places are common.
    let words = prop_oneof![
        3 => prop::sample::select(vec!["Let me look.", "Let me", "Done.", "ok", "Hmm"])
            .prop_map(str::to_owned),
        1 => "[a-z \u{2028}é\"\\\\]{1,90}",
    ];
    prop_oneof![
        4 => words.clone().prop_map(Block::Text),
        2 => words.prop_map(Block::Thinking),
        3 => Just(Block::Call(String::new())),
    ]
}

fn messages(most: usize) -> impl Strategy<Value = Vec<Message>> {
    let message = vec(block(), 1..5).prop_map(|blocks| Message { id: String::new(), blocks });
    vec(message, 1..=most)
}

fn conversation() -> impl Strategy<Value = Vec<Turn>> {
    let agents = vec((prop::option::of(0_usize..3), messages(3)), 0..4);
    let turn = (messages(3), agents).prop_map(|(main, agents)| Turn { main, agents });
    vec(turn, 1..4).prop_map(|mut turns| {
        let mut next = 0;
        let mut name = |prefix: &str| {
            next += 1;
            format!("{prefix}{next}")
        };
        for turn in &mut turns {
            let all = turn.agents.iter_mut().map(|(_, messages)| messages);
            for message in std::iter::once(&mut turn.main).chain(all).flatten() {
                message.id = name("msg_");
                for block in &mut message.blocks {
                    if let Block::Call(id) = block {
                        *id = name("toolu_");
                    }
                }
            }
            // An agent can only be started by one before it.
            for (index, (parent, _)) in turn.agents.iter_mut().enumerate() {
                *parent = parent.filter(|parent| *parent < index);
            }
        }
        turns
    })
}

fn style() -> impl Strategy<Value = Style> {
    let shown = prop_oneof![
        prop::sample::select(ALL.to_vec()).prop_map(|shown| vec![shown]),
        vec(prop::sample::select(ALL.to_vec()), 1..8),
    ];
    (shown, vec(any::<prop::sample::Index>(), 1..30), 0_usize..4)
        .prop_map(|(shown, schedule, repeat)| Style { shown, schedule, repeat })
}

/// Writes lines.
struct Writer {
    lines: Vec<String>,
    next: u64,
    ids: bool,
}

impl Writer {
    fn line(&mut self, mut line: Value) -> Value {
        self.next += 1;
        if self.ids {
            line["uuid"] = json!(format!("00000000-0000-4000-8000-{:012x}", self.next));
            line["session_id"] = json!("s");
        }
        line
    }
}

fn block_json(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Thinking(text) => json!({ "type": "thinking", "thinking": text, "signature": "x" }),
        Block::Call(id) => {
            json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "ls" } })
        }
    }
}

/// The lines of one message.
fn show(message: &Message, shown: Shown, agent: Option<&str>, writer: &mut Writer) -> Vec<Value> {
    let mut lines = Vec::new();
    let mut assistant = |content: Vec<Value>, writer: &mut Writer| {
        let mut line = json!({
            "type": "assistant",
            "message": { "role": "assistant", "content": content },
            "parent_tool_use_id": agent,
        });
        if writer.ids {
            line["message"]["id"] = json!(message.id);
        }
        lines.push(writer.line(line));
    };
    let blocks: Vec<Value> = message.blocks.iter().map(block_json).collect();
    match shown {
        Shown::PerBlock => {
            for block in blocks {
                assistant(vec![block], writer);
            }
        }
        Shown::WholeAtOnce => assistant(blocks, writer),
        Shown::Snapshots => {
            for length in 1..=blocks.len() {
                assistant(blocks[..length].to_vec(), writer);
            }
        }
        Shown::GrowingSnapshots => {
            for length in 1..=blocks.len() {
                let mut snapshot = blocks[..length].to_vec();
                if length > 1
                    && let Some(part) = beginning(&message.blocks[length - 1])
                {
                    snapshot[length - 1] = block_json(&part);
                    assistant(snapshot.clone(), writer);
                }
                snapshot[length - 1] = blocks[length - 1].clone();
                assistant(snapshot, writer);
            }
        }
        Shown::Deltas | Shown::DeltasThenLine => {
            let early = matches!(shown, Shown::Deltas);
            return deltas(message, early, agent, writer);
        }
    }
    lines
}

/// The first half of a text.
fn beginning(block: &Block) -> Option<Block> {
    let half = |text: &String| {
        let half: String = text.chars().take(text.chars().count() / 2).collect();
        (!half.is_empty()).then_some(half)
    };
    match block {
        Block::Text(text) => half(text).map(Block::Text),
        Block::Thinking(text) => half(text).map(Block::Thinking),
        Block::Call(_) => None,
    }
}

/// As `--include-partial-messages` shows it: the finished block before the end of its stream, or,
/// as other agents may, after it.
fn deltas(message: &Message, early: bool, agent: Option<&str>, writer: &mut Writer) -> Vec<Value> {
    let event = |event: Value, writer: &mut Writer| {
        let line = json!({ "type": "stream_event", "event": event, "parent_tool_use_id": agent });
        writer.line(line)
    };
    let start = json!({ "type": "message_start", "message": { "id": message.id, "content": [] } });
    let mut lines = vec![event(start, writer)];
    for (index, block) in message.blocks.iter().enumerate() {
        let (kind, pieces): (Value, Vec<Value>) = match block {
            Block::Text(text) => (
                json!({ "type": "text", "text": "" }),
                text.chars().map(|c| json!({ "type": "text_delta", "text": c })).collect(),
            ),
            Block::Thinking(text) => (
                json!({ "type": "thinking", "thinking": "" }),
                text.chars().map(|c| json!({ "type": "thinking_delta", "thinking": c })).collect(),
            ),
            Block::Call(id) => (
                json!({ "type": "tool_use", "id": id, "name": "Bash", "input": {} }),
                vec![json!({ "type": "input_json_delta", "partial_json": "{\"command\" :" })],
            ),
        };
        let begin = json!({ "type": "content_block_start", "index": index, "content_block": kind });
        lines.push(event(begin, writer));
        for delta in pieces {
            let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
            lines.push(event(delta, writer));
        }
        let stop = json!({ "type": "content_block_stop", "index": index });
        if !early {
            lines.push(event(stop.clone(), writer));
        }
        let mut line = json!({
            "type": "assistant",
            "message": { "id": message.id, "content": [block_json(block)] },
            "parent_tool_use_id": agent,
        });
        line = writer.line(line);
        lines.push(line);
        if early {
            lines.push(event(stop, writer));
        }
    }
    lines.push(event(json!({ "type": "message_stop" }), writer));
    lines
}

/// The results of a message's calls.
fn results(message: &Message, agent: Option<&str>, writer: &mut Writer) -> Vec<Value> {
    let calls = message.blocks.iter().filter_map(|block| match block {
        Block::Call(id) => Some(id.clone()),
        _ => None,
    });
    calls
        .map(|id| {
            writer.line(json!({
                "type": "user",
                "message": { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": id, "content": "a.txt" },
                ] },
                "parent_tool_use_id": agent,
            }))
        })
        .collect()
}

/// What must come out, by agent.
type Expected = BTreeMap<Option<String>, Vec<String>>;

fn expect(message: &Message, agent: Option<&str>, expected: &mut Expected) {
    let events = expected.entry(agent.map(str::to_owned)).or_default();
    for block in &message.blocks {
        events.push(match block {
            Block::Text(text) => format!("text {text}"),
            Block::Thinking(text) => format!("thinking {text}"),
            Block::Call(id) => format!("call {id}"),
        });
    }
    for block in &message.blocks {
        if let Block::Call(id) = block {
            events.push(format!("result {id}"));
        }
    }
}

/// All lines of the conversation in this style, and what must come out of them.
fn render(turns: &[Turn], style: &Style, ids: bool) -> (Vec<String>, Expected) {
    let mut writer = Writer { lines: Vec::new(), next: 0, ids };
    let mut expected = Expected::new();
    let mut shown = style.shown.iter().cycle();
    let mut schedule = style.schedule.iter().cycle();
    for (number, turn) in turns.iter().enumerate() {
        let init = writer.line(json!({ "type": "system", "subtype": "init" }));
        writer.lines.push(init.to_string());
        // The calls that start the sub-agents, one message each, by whoever starts them.
        let name = |index: usize| format!("agent_{number}_{index}");
        for (index, (parent, _)) in turn.agents.iter().enumerate() {
            let parent = parent.map(name);
            let call = json!({
                "type": "tool_use", "id": name(index), "name": "Agent",
                "input": { "subagent_type": "Explore", "description": "look", "prompt": "p" },
            });
            let mut line = json!({
                "type": "assistant",
                "message": { "content": [call] },
                "parent_tool_use_id": parent,
            });
            if ids {
                line["message"]["id"] = json!(format!("msg_start_{number}_{index}"));
            }
            let line = writer.line(line);
            writer.lines.push(line.to_string());
            expected.entry(parent).or_default().push(format!("call {}", name(index)));
        }
        let mut streams: Vec<Vec<Value>> = Vec::new();
        for (index, (_, messages)) in turn.agents.iter().enumerate() {
            let agent = name(index);
            let mut lines = Vec::new();
            for message in messages {
                let shown = shown.next().copied().unwrap_or(Shown::PerBlock);
                lines.extend(show(message, shown, Some(&agent), &mut writer));
                lines.extend(results(message, Some(&agent), &mut writer));
                expect(message, Some(&agent), &mut expected);
            }
            streams.push(lines);
        }
        let mut lines = Vec::new();
        for message in &turn.main {
            let shown = shown.next().copied().unwrap_or(Shown::PerBlock);
            lines.extend(show(message, shown, None, &mut writer));
            lines.extend(results(message, None, &mut writer));
            expect(message, None, &mut expected);
        }
        streams.push(lines);
        for line in interleave(streams, &mut schedule) {
            writer.lines.push(line.to_string());
        }
        let result = json!({ "type": "result", "subtype": "success", "is_error": false });
        let result = writer.line(result);
        writer.lines.push(result.to_string());
        let text = match turn.main.last() {
            Some(message) => message.blocks.iter().filter_map(|block| match block {
                Block::Text(text) => Some(text.as_str()),
                _ => None,
            }),
            None => unreachable!("a turn has a message"),
        };
        let text: String = text.collect();
        expected.entry(None).or_default().push(format!("finished success {text}"));
    }
    let lines = repeated(writer.lines, style.repeat, ids);
    (lines, expected)
}

/// The agents write in turns, as the schedule says; each keeps its own order.
fn interleave<'s>(
    streams: Vec<Vec<Value>>,
    schedule: &mut impl Iterator<Item = &'s prop::sample::Index>,
) -> Vec<Value> {
    let mut queues: Vec<_> = streams.into_iter().map(Vec::into_iter).collect();
    let mut lines = Vec::new();
    while !queues.is_empty() {
        let pick = schedule.next().map_or(0, |index| index.index(queues.len()));
        match queues[pick].next() {
            Some(line) => lines.push(line),
            None => drop(queues.remove(pick)),
        }
    }
    lines
}

fn repeated(lines: Vec<String>, every: usize, ids: bool) -> Vec<String> {
    if every == 0 || !ids {
        return lines;
    }
    let mut all = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        all.push(line.clone());
        if index % every == 0 {
            all.push(lines[index.saturating_sub(every)].clone());
        }
    }
    all
}

fn fold(lines: &[String]) -> Expected {
    let mut transcript = Transcript::new();
    let mut found = Expected::new();
    let mut take = |event: Event| {
        let agent = event.agent().map(|agent| agent.as_str().to_owned());
        let told = match &event {
            Event::Text(event) => format!("text {}", event.text),
            Event::Thinking(event) => format!("thinking {}", event.text),
            Event::ToolCall(event) => format!("call {}", event.id),
            Event::ToolResult(event) => format!("result {}", event.tool_use_id),
            Event::TurnFinished(event) => {
                format!("finished {} {}", event.outcome, event.text)
            }
            Event::BlockAbandoned(event) => format!("abandoned {}", event.text),
            Event::UnknownLine(_) | Event::MalformedLine(_) => panic!("{event:?}"),
            _ => return,
        };
        found.entry(agent).or_default().push(told);
    };
    for line in lines {
        transcript.handle_line(Direction::ToHost, &Line::from(line.as_str()));
        while let Some(event) = transcript.poll_event() {
            take(event);
        }
    }
    transcript.handle_end();
    while let Some(event) = transcript.poll_event() {
        take(event);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_conversation_gives_the_same_events(turns in conversation(), style in style()) {
        let (lines, expected) = render(&turns, &style, true);
        prop_assert_eq!(fold(&lines), expected, "{}", lines.join("\n"));
    }

    /// Lines without any id are told apart by how they begin: equal only where openers differ.
    #[test]
    fn lines_without_ids_give_the_same_events_where_openers_differ(
        mut turns in conversation(),
        snapshots in any::<bool>(),
        schedule in vec(any::<prop::sample::Index>(), 1..30),
    ) {
        let mut next = 0;
        for turn in &mut turns {
            let all = turn.agents.iter_mut().map(|(_, messages)| messages);
            for message in std::iter::once(&mut turn.main).chain(all).flatten() {
                for block in &mut message.blocks {
                    next += 1;
                    if let Block::Text(text) | Block::Thinking(text) = block {
                        text.insert_str(0, &format!("{next}: "));
                    }
                }
            }
        }
        let shown = if snapshots { Shown::Snapshots } else { Shown::PerBlock };
        let style = Style { shown: vec![shown], schedule, repeat: 0 };
        let (lines, expected) = render(&turns, &style, false);
        // Which texts were one message cannot be told any more.
        let without_endings = |mut all: Expected| {
            for events in all.values_mut() {
                events.retain(|event| !event.starts_with("finished"));
            }
            all
        };
        prop_assert_eq!(
            without_endings(fold(&lines)),
            without_endings(expected),
            "{}",
            lines.join("\n")
        );
    }
}

#[test]
fn without_ids_duplicates_are_preferred_to_losses() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Same."}]}}"#;
    let found = fold(&[line.to_owned(), line.to_owned()]);
    assert_eq!(found[&None], ["text Same.", "text Same."]);
}
