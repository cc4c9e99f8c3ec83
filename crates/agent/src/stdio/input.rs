//! The prompt of a conversation that is only one.

use std::io::{IsTerminal as _, Read as _};

use duologue_protocol::lines::Prompt;
use duologue_protocol::{ToAgent, Wire as _};

use super::StartError;

/// The prompt of the command line, with what stands on stdin, as a line of the wire.
pub(crate) fn prompt_line(prompt: &str) -> Result<String, StartError> {
    let mut piped = String::new();
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        // Text that is none is as good as no text.
        let _ = stdin.lock().read_to_string(&mut piped);
    }
    let parts: Vec<&str> =
        [prompt, piped.trim_end()].into_iter().filter(|part| !part.trim().is_empty()).collect();
    if parts.is_empty() {
        return Err("Error: Input must be provided either through stdin or as a prompt argument when using --print".into());
    }
    let line = ToAgent::from(Box::new(Prompt::text(parts.join("\n"))));
    Ok(line.to_json())
}
