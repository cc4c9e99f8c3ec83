//! The limits: a loop over the agent's stdout that counts newlines, or parses each line as a `serde_json::Value`. No
//! library, and no control protocol beyond the handshake.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use duologue_bench::meter::{Meter, agent};
use serde_json::Value;

const INITIALIZE: &str =
    r#"{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}"#;
const PROMPT: &str =
    r#"{"type":"user","message":{"role":"user","content":"Go"},"parent_tool_use_id":null}"#;

fn main() -> Result<()> {
    let kind = std::env::args().nth(1);
    let mut child = Command::new(agent()?).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let mut stdout = child.stdout.take().context("no stdout")?;
    let meter = Meter::start();
    write!(stdin, "{INITIALIZE}\n{PROMPT}\n")?;
    let mut messages = 0;
    match kind.as_deref() {
        Some("newlines") => {
            // The agent exits by itself: without parsing, the last line cannot be recognised.
            drop(stdin);
            let mut chunk = vec![0; 64 * 1024];
            loop {
                let count = stdout.read(&mut chunk)?;
                if count == 0 {
                    break;
                }
                messages += memchr::memchr_iter(b'\n', &chunk[..count]).count() as u64;
            }
        }
        Some("value") => {
            let mut reader = BufReader::with_capacity(64 * 1024, stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line)? > 0 {
                let value: Value = serde_json::from_slice(&line)?;
                messages += 1;
                if value["type"] == "result" {
                    break;
                }
                line.clear();
            }
            drop(stdin);
        }
        _ => bail!("plain newlines|value"),
    }
    meter.report(messages)?;
    child.wait()?;
    Ok(())
}
