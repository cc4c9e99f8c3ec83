//! Many conversations at once, each with an agent of its own.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows things")]

mod support;

use duologue::{Error, Session};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut talks = JoinSet::new();
    for number in 1..=8 {
        talks.spawn(async move {
            let session = support::start(Session::builder()).await?;
            let answer =
                session.prompt(format!("say I am number {number}")).await?.outcome().await?;
            session.close().await?;
            Ok::<_, Error>(answer.text().to_owned())
        });
    }
    while let Some(Ok(answer)) = talks.join_next().await {
        println!("{}", answer?);
    }
    Ok(())
}
