//! Many conversations at once in one process: do all finish, and what does each cost in memory?

use std::time::Instant;

use anyhow::{Context, Result, bail};
use duologue::Session;
use duologue_bench::meter::{agent, status};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinSet;

/// How many are started at once.
const AT_ONCE: usize = 50;

/// File descriptors for each: three pipes, the watcher of its end, and a margin.
const DESCRIPTORS_EACH: u64 = 8;

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let over_pipes = match args.next().as_deref() {
        Some("processes") => false,
        Some("pipes") => true,
        _ => bail!("many processes|pipes [COUNT]"),
    };
    let count: usize = args.next().map_or(Ok(1_000), |count| count.parse())?;
    if !over_pipes {
        raise_descriptors(count as u64 * DESCRIPTORS_EACH + 100)?;
    }
    // The first one pays for shared resources.
    turn(&start(over_pipes).await?).await?;
    let before = status("VmRSS")?;
    let began = Instant::now();
    let mut sessions = Vec::new();
    while sessions.len() < count {
        let mut starting = JoinSet::new();
        for _ in 0..AT_ONCE.min(count - sessions.len()) {
            starting.spawn(start(over_pipes));
        }
        while let Some(session) = starting.join_next().await {
            sessions.push(session??);
        }
    }
    let started = began.elapsed();
    let live = status("VmRSS")?;
    let began = Instant::now();
    let mut turns = JoinSet::new();
    for session in sessions {
        turns.spawn(async move {
            turn(&session).await?;
            anyhow::Ok(session)
        });
    }
    let mut sessions = Vec::new();
    while let Some(session) = turns.join_next().await {
        sessions.push(session??);
    }
    let answered = began.elapsed();
    let after = status("VmRSS")?;
    let finished = sessions.len();
    let began = Instant::now();
    let mut closing = JoinSet::new();
    for session in sessions {
        closing.spawn(async move { session.close().await });
    }
    while let Some(closed) = closing.join_next().await {
        closed??;
    }
    let each = |kb: u64| kb.saturating_sub(before) as f64 / count as f64;
    println!(
        "{}",
        json!({
            "conversations": count,
            "finished": finished,
            "kb_each_live": each(live),
            "kb_each_after_a_turn": each(after),
            "peak_kb": status("VmHWM")?,
            "start_s": started.as_secs_f64(),
            "turns_s": answered.as_secs_f64(),
            "close_s": began.elapsed().as_secs_f64(),
        })
    );
    Ok(())
}

fn raise_descriptors(needed: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: limit.maximum })
        .with_context(|| format!("{needed} descriptors are needed: raise the limit (ulimit -Hn)"))
}

async fn start(over_pipes: bool) -> Result<Session> {
    let builder = Session::builder();
    if !over_pipes {
        return Ok(builder.program(agent()?).start().await?);
    }
    let (host, agent) = tokio::io::duplex(64 * 1024);
    tokio::spawn(in_memory(agent));
    let (reader, writer) = tokio::io::split(host);
    Ok(builder.connect(reader, writer).await?)
}

async fn turn(session: &Session) -> Result<()> {
    let outcome = session.prompt("Go").await?.outcome().await?;
    anyhow::ensure!(outcome.is_success(), "the turn failed: {outcome:?}");
    Ok(())
}

/// The agent as a task.
async fn in_memory(pipe: DuplexStream) -> Result<()> {
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::with_capacity(1024, reader).lines();
    while let Some(line) = lines.next_line().await? {
        let line: Value = serde_json::from_str(&line)?;
        let answer = match line["type"].as_str() {
            Some("control_request") => json!({ "type": "control_response", "response": {
                "subtype": "success", "request_id": line["request_id"], "response": {},
            }})
            .to_string(),
            Some("user") => {
                let init = json!({ "type": "system", "subtype": "init", "session_id": "s" });
                let result = json!({
                    "type": "result", "subtype": "success", "is_error": false, "result": "Done.",
                    "session_id": "s", "user_message_uuids": [line["uuid"]],
                });
                format!("{init}\n{result}")
            }
            _ => continue,
        };
        writer.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}
