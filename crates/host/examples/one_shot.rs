//! One question, one answer. With Claude Code it is a single line: `duologue::run("…").await?`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows things")]

mod support;

use duologue::{Error, Session};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let session = support::start(Session::builder()).await?;
    let answer = session.prompt("read Cargo.toml").await?.outcome().await?;
    println!("{}", answer.text());
    eprintln!("${:.4}", answer.cost_usd());
    session.close().await?;
    Ok(())
}
