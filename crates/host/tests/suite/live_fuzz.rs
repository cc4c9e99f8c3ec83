//! Mutated turns, played to a real [`Session`]: it reads the turn and closes, whatever the agent writes.
//!
//! `cargo test` plays a slice. `DUOLOGUE_FUZZ_TURNS=5000` plays more, `DUOLOGUE_FUZZ_SEED=7` begins elsewhere
//! (and, with one turn, plays that one again).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a long run reports what happened")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use duologue::Session;
use duologue::protocol::lines::Prompt;
use duologue::protocol::{Line, ToAgent};
use duologue_testkit::mutate::{LONG, Random, mutate};
use duologue_testkit::{Recording, recordings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::{Instant, timeout};

/// How many turns `cargo test` plays.
const SLICE: u64 = 300;

/// How long `close` may take in this test's clock: what its documentation states, with this linger.
const LINGER: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(60 + 2 + 5 + 2 + 1);

/// How long the test waits for a turn whose end may have been mutated away, in its clock.
const TURN: Duration = Duration::from_secs(30);

/// How long one turn may take on the clock on the wall before it counts as a hang. In the test's own
/// clock nothing is waited for, so this is far more than enough.
const WATCHDOG: Duration = Duration::from_secs(180);

/// What the agent does next.
enum Move {
    /// Waits for a prompt.
    Hear,
    /// Writes this line.
    Say(Vec<u8>),
}

/// One conversation: the prompts of the host, and the moves of the agent.
struct Case {
    name: String,
    prompts: Vec<Option<String>>,
    moves: Vec<Move>,
}

/// The turns of a recording, with one to three mutations.
fn case(recording: &Recording, seed: u64) -> Option<Case> {
    let mut random = Random::new(seed);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut prompts = Vec::new();
    for entry in &recording.entries {
        if entry.to_host {
            // The answers to the recorded host's own requests are not for this one.
            if !entry.line.starts_with(r#"{"type":"control_response""#) {
                lines.push(entry.line.clone().into_bytes());
            }
        } else if let Some(ToAgent::Prompt(prompt)) =
            Line::from(entry.line.as_str()).to_agent().into_message()
        {
            let uuid = prompt.uuid.as_str().map(str::to_owned);
            // A name that is used twice is refused.
            if uuid.is_none() || !prompts.iter().any(|(_, known)| *known == uuid) {
                prompts.push((lines.len(), uuid));
            }
        }
    }
    if prompts.is_empty() || lines.is_empty() {
        return None;
    }
    let mut name = format!("seed {seed}: {} {}", recording.version, recording.name);
    for _ in 0..=random.below(3) {
        if let Some(mutation) = mutate(&mut lines, 0, &mut random) {
            name.push_str(&format!(", {mutation}"));
        }
    }
    let mut moves = Vec::new();
    let mut heard = prompts.iter().peekable();
    for (at, line) in lines.into_iter().enumerate() {
        while heard.next_if(|(before, _)| *before <= at).is_some() {
            moves.push(Move::Hear);
        }
        moves.push(Move::Say(line));
    }
    let prompts = prompts.into_iter().map(|(_, uuid)| uuid).collect();
    Some(Case { name, prompts, moves })
}

/// Plays the agent: answers the handshake, follows its moves, and ends when stdin does.
async fn agent(pipe: DuplexStream, moves: Vec<Move>) {
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    let mut heard = 0_usize;
    let mut moves = moves.into_iter().peekable();
    loop {
        while let Some(next) = moves.next_if(|next| matches!(next, Move::Say(_)) || heard > 0) {
            match next {
                Move::Hear => heard -= 1,
                Move::Say(mut line) => {
                    line.push(b'\n');
                    if writer.write_all(&line).await.is_err() {
                        return;
                    }
                }
            }
        }
        let Ok(Some(line)) = lines.next_line().await else { return };
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        match line["type"].as_str() {
            Some("user") => heard += 1,
            Some("control_request") => {
                let answer = json!({ "type": "control_response", "response": {
                    "subtype": "success", "request_id": line["request_id"], "response": {},
                }});
                if writer.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
            _ => {}
        }
    }
}

/// What became of one case.
struct Played {
    /// How many turns ended, of how many.
    ended: usize,
    prompts: usize,
    /// How long closing took, in the test's clock.
    closing: Duration,
}

async fn play(case: Case) -> Result<Played, String> {
    let (host, other) = tokio::io::duplex(64 * 1024);
    // Lines before the first prompt wait: the handshake comes first.
    let agent = tokio::spawn(agent(other, case.moves));
    let (reader, writer) = tokio::io::split(host);
    let builder = Session::builder().linger(LINGER).max_line(LONG / 2);
    let session = match timeout(Duration::from_secs(600), builder.connect(reader, writer)).await {
        Ok(session) => session.map_err(|error| format!("connect: {error}"))?,
        Err(_) => return Err("connect hangs".to_owned()),
    };
    let prompts = case.prompts.len();
    let mut ended = 0;
    for uuid in case.prompts {
        let mut prompt = Prompt::text("hi");
        if let Some(uuid) = uuid {
            prompt = prompt.uuid(uuid.as_str());
        }
        let Ok(turn) = timeout(TURN, session.prompt(prompt)).await else {
            return Err("prompt hangs".to_owned());
        };
        // The agent may be gone; its end is not what is tested here.
        let Ok(mut turn) = turn else { continue };
        ended += usize::from(timeout(TURN, turn.outcome()).await.is_ok());
    }
    let began = Instant::now();
    // A little more: what takes longer hangs, in a clock that passes by itself.
    let Ok(_) = timeout(DEADLINE + Duration::from_millis(10), session.close()).await else {
        return Err(format!("close takes more than {DEADLINE:?}"));
    };
    let closing = began.elapsed();
    agent.abort();
    Ok(Played { ended, prompts, closing })
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |number| number.parse().unwrap())
}

#[test]
fn mutated_turns_end_and_close_returns() {
    let turns = number("DUOLOGUE_FUZZ_TURNS", SLICE);
    let first = number("DUOLOGUE_FUZZ_SEED", 0);
    let recordings = recordings();
    // Fails with the seed if the program itself hangs, so that not even its own clock goes on.
    let at = Arc::new(AtomicU64::new(first));
    let over = Arc::new(AtomicBool::new(false));
    let watchdog = {
        let (at, over) = (Arc::clone(&at), Arc::clone(&over));
        std::thread::spawn(move || {
            let (mut last, mut since) = (first, std::time::Instant::now());
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_secs(1));
                let now = at.load(Ordering::Relaxed);
                if now != last {
                    (last, since) = (now, std::time::Instant::now());
                }
                if since.elapsed() > WATCHDOG {
                    eprintln!("seed {now} hangs");
                    std::process::abort();
                }
            }
        })
    };
    let (mut played, mut complete) = (0_u64, 0_u64);
    let mut waits: BTreeMap<&str, u64> = BTreeMap::new();
    let mut slow: Vec<String> = Vec::new();
    let mut seed = first;
    while played < turns {
        seed += 1;
        at.store(seed, Ordering::Relaxed);
        let index = Random::new(seed ^ 0xabcd).below(recordings.len());
        let Some(case) = recordings.get(index).and_then(|recording| case(recording, seed)) else {
            continue;
        };
        let name = case.name.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let result = runtime.block_on(play(case));
        let Played { ended, prompts, closing } = result.unwrap_or_else(|error| {
            panic!("{name}: {error}");
        });
        played += 1;
        let all_ended = ended == prompts;
        complete += u64::from(all_ended);
        let wait = match closing {
            closing if closing < Duration::from_secs(4) => "at once",
            closing if closing < LINGER => "after silence",
            _ => "after linger",
        };
        *waits.entry(wait).or_default() += 1;
        if all_ended && closing >= LINGER {
            slow.push(name);
        }
    }
    over.store(true, Ordering::Relaxed);
    watchdog.thread().unpark();
    watchdog.join().unwrap();
    println!("{played} conversations, all turns ended in {complete}; closed: {waits:?}");
    println!("all turns ended, but closed only after linger: {} {slow:#?}", slow.len());
    // Most mutations leave the end of the turn readable, or salvageable.
    assert!(complete * 10 >= played * 7, "{complete} of {played}");
    // Deleted lines leave no trace; everything else should not cost the whole linger.
    assert!(slow.len() as u64 * 50 <= played, "{slow:#?}");
}
