//! Writes a long tape to stdout: `cargo run -p duologue-testkit --example long_tape -- LINES`.
//!
//! Turns of a main agent and two sub-agents at once, with thinking, texts, tool calls and results.

use std::io::{self, BufWriter, Write as _};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let wanted: usize =
        std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let mut tape = Tape { out: BufWriter::new(io::stdout()), lines: 0, millis: 0 };
    writeln!(tape.out, "{}", json!({ "tape": 1, "program": "claude", "version": "made up" }))?;
    let mut total = 0.0;
    for turn in 1.. {
        if tape.lines >= wanted {
            break;
        }
        tape.turn(turn)?;
        total += 0.01 + f64::from(turn % 7) * 0.003;
        tape.out("result", json!({
            "subtype": "success", "is_error": false, "result": "Done.", "num_turns": 7,
            "duration_ms": 900, "total_cost_usd": total,
            "usage": { "input_tokens": 900 + turn % 11 * 300, "output_tokens": 120 + turn % 5 * 80 },
        }))?;
    }
    tape.out.flush()
}

struct Tape {
    out: BufWriter<io::Stdout>,
    lines: usize,
    millis: u64,
}

impl Tape {
    fn turn(&mut self, turn: u32) -> io::Result<()> {
        let prompt = json!({ "role": "user", "content": format!("Question {turn} <b>&amp;</b>") });
        let line = json!({ "type": "user", "message": prompt });
        self.write("in", &line)?;
        self.out("system", json!({ "subtype": "init", "model": "m", "cwd": "/project" }))?;
        let agents = [format!("toolu_a{turn}"), format!("toolu_b{turn}")];
        for (number, agent) in agents.iter().enumerate() {
            let input =
                json!({ "description": format!("part {number}"), "subagent_type": "Explore" });
            self.block(
                None,
                &format!("m{turn}_{number}"),
                json!({
                    "type": "tool_use", "id": agent, "name": "Agent", "input": input,
                }),
            )?;
        }
        for step in 0..4 {
            for agent in &agents {
                let message = format!("{agent}_{step}");
                self.block(
                    Some(agent),
                    &message,
                    json!({
                        "type": "thinking", "thinking": "Where could it be?",
                    }),
                )?;
                let call = format!("toolu_{agent}_{step}");
                self.block(
                    Some(agent),
                    &message,
                    json!({
                        "type": "tool_use", "id": call, "name": "Bash",
                        "input": { "command": format!("grep -rn word{step} src | head") },
                    }),
                )?;
                let found = "src/lib.rs:12: a line that was found\n".repeat(20);
                self.result(Some(agent), &call, &found)?;
            }
        }
        for agent in &agents {
            self.result(None, agent, "It is in src/lib.rs.")?;
        }
        self.block(None, &format!("m{turn}_end"), json!({ "type": "text", "text": "Done." }))
    }

    fn block(&mut self, agent: Option<&str>, id: &str, block: Value) -> io::Result<()> {
        let message = json!({ "id": id, "role": "assistant", "content": [block] });
        self.out("assistant", json!({ "message": message, "parent_tool_use_id": agent }))
    }

    fn result(&mut self, agent: Option<&str>, call: &str, content: &str) -> io::Result<()> {
        let block = json!({ "type": "tool_result", "tool_use_id": call, "content": content });
        let message = json!({ "role": "user", "content": [block] });
        self.out("user", json!({ "message": message, "parent_tool_use_id": agent }))
    }

    fn out(&mut self, kind: &str, mut line: Value) -> io::Result<()> {
        line["type"] = json!(kind);
        line["uuid"] = json!(format!("line-{}", self.lines));
        line["session_id"] = json!("s");
        self.write("out", &line)
    }

    fn write(&mut self, direction: &str, line: &Value) -> io::Result<()> {
        self.lines += 1;
        self.millis += 40;
        let entry = json!({ "t": self.millis, "dir": direction, "line": line.to_string() });
        writeln!(self.out, "{entry}")
    }
}
