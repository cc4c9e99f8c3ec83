//! A tool in this program: the agent calls it, its schema comes from its input type.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows things")]

mod support;

use duologue::handlers::{Decision, PermissionRequest};
use duologue::{Error, Event, Session, mcp};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    /// Its name.
    name: String,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let weather = mcp::tool("weather", "The weather in a city", async |city: City| {
        format!("Rain in {}", city.name)
    });
    let builder =
        Session::builder().tool(weather).on_permission(|ask: PermissionRequest| async move {
            match ask.tool_name() {
                "mcp__tools__weather" => Decision::allow(),
                _ => Decision::deny("only the weather"),
            }
        });
    let session = support::start(builder).await?;
    let mut turn = session.prompt(r#"call mcp__tools__weather {"name": "Oslo"}"#).await?;
    while let Some(event) = turn.next().await? {
        match event {
            Event::ToolCall(call) => eprintln!("· {}", call.name),
            Event::Text(text) => println!("{}", text.text),
            _ => {}
        }
    }
    session.close().await?;
    Ok(())
}
