//! One prompt of a session that is kept in a folder while it runs, and is resumed from there on any machine.
//!
//! `cargo run -p duologue --features sessions --example in_store STORE CONFIG PROMPT [ID]`
//!
//! STORE is the folder of the store, CONFIG the config directory of the agent, ID the session to resume. `CLAUDE` names another agent
//! than Claude Code.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows things")]

use std::sync::Arc;
use std::time::Duration;

use duologue::Session;
use duologue::sessions::InStore;
use duologue::sessions::store::{FolderStore, SessionStore};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(config), Some(prompt)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: in_store STORE CONFIG PROMPT [ID]".into());
    };
    let store: Arc<dyn SessionStore> = Arc::new(FolderStore::new(folder));
    let mut options = InStore::new(store, std::env::current_dir()?)
        .config_dir(config)
        .on_problem(|problem| eprintln!("{problem}"));
    if let Some(id) = arguments.next() {
        options = options.resume(id);
    }
    let mut builder = Session::builder();
    if let Some(agent) = std::env::var_os("CLAUDE") {
        builder = builder.program(agent);
    }
    let kept = builder.start_in_store(options).await?;
    let outcome = kept.session().prompt(prompt).await?.outcome().await?;
    let id = kept.session().session_id();
    let stored = kept.close(Duration::from_secs(30)).await?;
    let id = id.as_ref().map(|id| id.as_str());
    println!("{}", serde_json::json!({ "id": id, "text": outcome.text(), "stored": stored }));
    Ok(())
}
