//! Prints the answer as it is written.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows things")]

mod support;

use std::io::Write as _;

use duologue::{Error, Event, Session};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let session = support::start(Session::builder().partial_messages(true)).await?;
    let mut turn = session.prompt("count to 20").await?;
    while let Some(event) = turn.next().await? {
        match event {
            Event::TextDelta(delta) => {
                print!("{}", delta.text);
                let _ = std::io::stdout().flush();
            }
            Event::ToolCall(call) => eprintln!("· {}", call.name),
            _ => {}
        }
    }
    let outcome = turn.outcome().await?;
    println!("\n{:?}, ${:.4}", outcome.status(), outcome.cost_usd());
    session.close().await?;
    Ok(())
}
