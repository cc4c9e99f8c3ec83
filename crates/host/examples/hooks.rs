//! Hooks: one looks at each command before it runs, one hears when the agent stops.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows things")]

mod support;

use duologue::handlers::{Hook, HookCall, HookEvent};
use duologue::protocol::hook::HookOutput;
use duologue::{Error, Session};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let before = Hook::new(HookEvent::PreToolUse, |call: HookCall| async move {
        eprintln!("before {}", call.tool_name().unwrap_or("?"));
        HookOutput::deny_tool("the house is closed on Sundays")
    })
    .matcher("Bash");
    let stop = Hook::new(HookEvent::Stop, |_| async {
        eprintln!("it stops");
        HookOutput::new()
    });
    let session = support::start(Session::builder().hook(before).hook(stop)).await?;
    let answer = session.prompt("run touch seen.txt").await?.outcome().await?;
    println!("{}", answer.text());
    session.close().await?;
    Ok(())
}
