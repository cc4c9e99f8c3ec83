//! Lists sessions or reads the messages of one, and prints how many there are. The benchmark compares it with the SDKs.
//!
//! `cargo run -p duologue-sessions --example read CONFIG [ID]`

use duologue_sessions::{ListOptions, MessageOptions, Sessions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(config) = arguments.next() else { return Err("usage: read CONFIG [ID]".into()) };
    let sessions = Sessions::in_config_dir(config);
    let count = match arguments.next() {
        None => sessions.list(&ListOptions::default())?.sessions.len(),
        Some(id) => {
            let mut count = 0;
            for message in sessions.get(&id)?.messages(&MessageOptions::default())? {
                message?;
                count += 1;
            }
            count
        }
    };
    std::io::Write::write_all(&mut std::io::stdout(), format!("{count}\n").as_bytes())?;
    Ok(())
}
