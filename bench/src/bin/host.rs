//! Duologue, with each way to read a conversation.

use std::hint::black_box;

use anyhow::{Result, bail};
use duologue::handlers::{Decision, PermissionRequest};
use duologue::protocol::ToHost;
use duologue::protocol::content::ContentBlock;
use duologue::{Event, Session, SessionBuilder, blocking};
use duologue_bench::meter::{Meter, agent};
use tokio::runtime::Builder;

fn main() -> Result<()> {
    let several = || Builder::new_multi_thread().enable_all().build();
    let one = || Builder::new_current_thread().enable_all().build();
    match std::env::args().nth(1).as_deref() {
        Some("messages") => several()?.block_on(messages()),
        Some("messages-1") => one()?.block_on(messages()),
        Some("events") => several()?.block_on(events()),
        Some("events-1") => one()?.block_on(events()),
        Some("blocking") => blocking_events(),
        _ => bail!("host messages|messages-1|events|events-1|blocking"),
    }
}

fn builder() -> Result<SessionBuilder> {
    Ok(Session::builder()
        .program(agent()?)
        .partial_messages(true)
        .on_permission(|_: PermissionRequest| async { Decision::allow() }))
}

async fn messages() -> Result<()> {
    let session = builder()?.start().await?;
    let mut lines = session.messages();
    let meter = Meter::start();
    let turn = session.prompt("Go").await?;
    drop(turn);
    let mut count = 0;
    while let Some(message) = lines.next().await? {
        count += 1;
        match message.known() {
            Some(ToHost::Result(_)) => break,
            Some(ToHost::Assistant(line)) => {
                let content = line.message.value().and_then(|message| message.content.value());
                for block in content.into_iter().flatten() {
                    if let ContentBlock::Text(text) = block {
                        black_box(text.text.as_str());
                    }
                }
            }
            _ => {}
        }
    }
    meter.report(count)?;
    drop(lines);
    session.close().await?;
    Ok(())
}

async fn events() -> Result<()> {
    let session = builder()?.start().await?;
    let meter = Meter::start();
    let mut turn = session.prompt("Go").await?;
    let mut count = 0;
    while let Some(event) = turn.next().await? {
        touch(&event);
        count += 1;
    }
    meter.report(count)?;
    session.close().await?;
    Ok(())
}

fn blocking_events() -> Result<()> {
    let session = blocking::start(builder()?)?;
    let meter = Meter::start();
    let mut turn = session.prompt("Go")?;
    let mut count = 0;
    for event in &mut turn {
        touch(&event?);
        count += 1;
    }
    meter.report(count)?;
    session.close()?;
    Ok(())
}

fn touch(event: &Event) {
    if let Event::Text(text) = event {
        black_box(text.text.as_str());
    }
}
