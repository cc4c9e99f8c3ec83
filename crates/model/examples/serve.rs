//! Serves a scenario, prints its address, and runs until it is killed:
//!
//! ```sh
//! cargo run -p duologue-model --example serve -- crates/model/examples/tour.toml
//! ```

use std::io::Write;

use duologue_model::{Scenario, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: serve SCENARIO")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::start(Scenario::read(path)?).await?;
        let mut out = std::io::stdout();
        writeln!(out, "{}", serde_json::json!({ "base_url": server.base_url() }))?;
        out.flush()?;
        let (mut turns, mut seen) = (0, 0);
        loop {
            turns += 1;
            server.wait_for(turns).await;
            let requests = server.requests();
            for exchange in requests.iter().skip(seen) {
                let line = serde_json::json!({
                    "agent": exchange.agent,
                    "prompt": exchange.request.prompt(),
                    "reply": exchange.reply.map(|index| index + 1),
                });
                writeln!(out, "{line}")?;
            }
            seen = requests.len();
        }
    })
}
