//! An agent that any host can drive: it repeats each prompt, and asks before it writes one to a file.
//!
//! Give it to a host as the program `claude`: `ClaudeAgentOptions(cli_path="target/debug/examples/parrot")`.

use duologue_agent::protocol::content::Content;
use duologue_agent::{Agent, SubagentTask, ToolResult, Turn, TurnResult};
use serde_json::json;

#[derive(Default)]
pub(crate) struct Parrot {
    heard: usize,
}

impl Agent for Parrot {
    async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
        self.heard += 1;
        let text = turn.text();
        turn.think("What was that again?").await?;
        // Word by word: hosts that want partial messages see each.
        for word in text.split_inclusive(' ') {
            turn.delta(word).await?;
        }
        if text.contains("write") {
            let wish = turn
                .use_tool("Write", json!({ "file_path": "heard.txt", "content": text }))
                .await?;
            if wish.is_allowed() {
                let content = wish.input.get("content").and_then(|content| content.as_str());
                let output =
                    match tokio::fs::write("heard.txt", content.unwrap_or_default().as_str()).await
                    {
                        Ok(()) => ToolResult::new("written"),
                        Err(error) => ToolResult::error(error.to_string()),
                    };
                turn.tool_result(&wish.call, output).await?;
            }
            turn.say(wish.denial().unwrap_or("noted").to_owned()).await?;
        }
        if text.contains("delegate") {
            let call = turn.call_tool("Agent", Default::default()).await?;
            let chick = turn.subagent(&call, SubagentTask::new("Repeat", text.as_str())).await;
            chick.say(text.as_str()).await?;
            chick.finish("completed".into(), "repeated").await;
            turn.tool_result(&call, ToolResult::new(Content::from("repeated"))).await?;
        }
        turn.say(format!("That was number {}.", self.heard)).await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::process::ExitCode {
    duologue_agent::serve_stdio(Parrot::default()).await
}
