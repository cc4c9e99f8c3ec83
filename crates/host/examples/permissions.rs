//! A policy: commands are looked at, everything else that is asked is denied.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows things")]

mod support;

use duologue::handlers::{Decision, PermissionRequest};
use duologue::tool::ToolInput;
use duologue::{Error, Session};

async fn decide(ask: PermissionRequest) -> Decision {
    eprintln!("may I? {}", ask.tool_name());
    match ask.tool() {
        ToolInput::Bash(bash) if bash.command.as_str() == Some("touch seen.txt") => {
            Decision::allow()
        }
        ToolInput::Bash(_) => Decision::deny("not this command"),
        _ => Decision::deny("only commands"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let session = support::start(Session::builder().on_permission(decide)).await?;
    for prompt in ["run touch seen.txt", "run touch unseen.txt", "write other.txt: hello"] {
        let answer = session.prompt(prompt).await?.outcome().await?;
        println!("{prompt}: {} ({} denied)", answer.text(), answer.denials());
    }
    session.close().await?;
    let _ = std::fs::remove_file("seen.txt");
    Ok(())
}
