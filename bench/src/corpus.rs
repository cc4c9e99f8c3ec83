//! The input: generated lines in the shapes of a real CLI, or the lines of recordings.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::Value;

/// Lines of an agent's stdout.
#[derive(Debug)]
pub struct Corpus {
    /// Its name.
    pub name: String,
    /// Its bytes; every line ends with a newline.
    pub bytes: Vec<u8>,
    /// How many lines that is.
    pub lines: usize,
}

impl Corpus {
    pub(crate) fn new(name: &str, bytes: Vec<u8>) -> Self {
        let lines = memchr::memchr_iter(b'\n', &bytes).count();
        Self { name: name.to_owned(), bytes, lines }
    }
}

/// A conversation with partial messages: most lines are small, most bytes are in large lines.
pub fn mix(bytes: usize) -> Corpus {
    let mut make = Maker::new(1);
    let mut out = String::with_capacity(bytes + 100_000);
    while out.len() < bytes {
        match make.rng.u32(..100) {
            0..90 => make.text_delta(&mut out),
            90..96 => make.assistant(&mut out),
            96..99 => {
                let length = make.between(2_000, 40_000);
                make.tool_result(&mut out, length);
            }
            _ => match make.rng.u32(..10) {
                0 => make.init(&mut out),
                1..5 => make.status(&mut out),
                _ => make.result(&mut out),
            },
        }
        out.push('\n');
    }
    Corpus::new("mix", out.into_bytes())
}

/// Lines of 1 to 8 MB: files, images, very long answers.
pub fn big(bytes: usize) -> Corpus {
    let mut make = Maker::new(2);
    let mut out = String::with_capacity(bytes + 9_000_000);
    while out.len() < bytes {
        let length = make.between(1_000_000, 8_000_000);
        match make.rng.u32(..5) {
            0..3 => make.tool_result(&mut out, length),
            3 => make.picture(&mut out, length),
            _ => {
                let text = make.prose(length / 7, 20);
                let block = format!(r#"{{"type":"text","text":{}}}"#, quoted(&text));
                make.assistant_with(&mut out, &block);
            }
        }
        out.push('\n');
    }
    Corpus::new("big", out.into_bytes())
}

/// All lines that the agents wrote in the tapes under a directory.
pub fn real(dir: &Path) -> Result<Corpus> {
    let mut tapes = Vec::new();
    collect(dir, &mut tapes)?;
    tapes.sort();
    let mut bytes = Vec::new();
    for tape in &tapes {
        let text = std::fs::read_to_string(tape).with_context(|| tape.display().to_string())?;
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line)?;
            let (Some("out"), Some(line)) = (entry["dir"].as_str(), entry["line"].as_str()) else {
                continue;
            };
            if serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object()) {
                bytes.extend_from_slice(line.as_bytes());
                bytes.push(b'\n');
            }
        }
    }
    Ok(Corpus::new("real", bytes))
}

fn collect(dir: &Path, tapes: &mut Vec<std::path::PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, tapes)?;
        } else if path.extension().is_some_and(|extension| extension == "tape") {
            tapes.push(path);
        }
    }
    Ok(())
}

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "the", "file", "is", "a", "function", "that", "returns", "when", "test", "and", "we",
    "should", "check", "error", "of", "value", "because", "line", "parser", "now", "let", "me",
    "read", "it", "first", "then", "change", "this", "to", "result", "in", "module", "for",
    "build", "which", "passes", "string", "not", "yet", "there", "are", "three", "places",
    "where", "config", "was", "`cargo test`", "src/main.rs", "Result<()>", "an", "on", "by",
    "with", "has", "been", "fixed.", "Next,", "I", "will", "look", "at", "its", "callers",
    "again.",
];

#[rustfmt::skip]
const FOREIGN: &[&str] = &[
    "naïve", "café", "Größe", "für", "über", "señal", "été", "façade", "日本語", "文字列", "Привет",
    "файл", "→", "—", "“quoted”", "✓", "🙂", "🚀", "Ελληνικά", "한국어",
];

pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

pub(crate) struct Maker {
    pub(crate) rng: Rng,
    pub(crate) session: String,
    pub(crate) message: String,
    pub(crate) index: u32,
}

impl Maker {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let session = uuid(&mut rng);
        let message = id(&mut rng, "msg_01");
        Self { rng, session, message, index: 0 }
    }

    /// A random length in this range, more often small than large.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        (least as f64 * (most as f64 / least as f64).powf(self.rng.f64())) as usize
    }

    pub(crate) fn word(&mut self) -> &'static str {
        let words = if self.rng.u32(..100) < 9 { FOREIGN } else { WORDS };
        words[self.rng.usize(..words.len())]
    }

    /// Words with spaces between them, and a newline or a quoted word at about this interval.
    pub(crate) fn prose(&mut self, words: usize, every: u32) -> String {
        let mut text = String::with_capacity(words * 6);
        for _ in 0..words {
            text.push_str(self.word());
            match self.rng.u32(..every * 2) {
                0 => text.push_str(".\n\n"),
                1 => text.push_str(" \"so\" "),
                _ => text.push(' '),
            }
        }
        text
    }

    /// Output of a program, of about this many bytes: short lines.
    pub(crate) fn output(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 100);
        let mut number = 1;
        while text.len() < length {
            let _ = write!(text, "{number:>6}\t");
            for _ in 0..self.rng.u32(2..14) {
                text.push_str(self.word());
                text.push(' ');
            }
            if self.rng.u32(..6) == 0 {
                text.push_str("\"C:\\path\"");
            }
            text.push('\n');
            number += 1;
        }
        text
    }

    fn text_delta(&mut self, out: &mut String) {
        if self.rng.u32(..200) == 0 {
            self.message = id(&mut self.rng, "msg_01");
            self.index = self.rng.u32(..4);
        }
        let text = self.piece();
        let _ = write!(
            out,
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":{},"delta":{{"type":"text_delta","text":{}}}}},"session_id":"{}","parent_tool_use_id":null,"uuid":"{}","api_message_id":"{}"}}"#,
            self.index,
            quoted(&text),
            self.session,
            uuid(&mut self.rng),
            self.message,
        );
    }

    fn assistant(&mut self, out: &mut String) {
        let block = match self.rng.u32(..10) {
            0..4 => {
                let words = self.rng.usize(20..160);
                format!(r#"{{"type":"text","text":{}}}"#, quoted(&self.prose(words, 12)))
            }
            4..6 => {
                let words = self.rng.usize(20..120);
                let thinking = quoted(&self.prose(words, 20));
                let signature = self.base64(320);
                format!(r#"{{"type":"thinking","thinking":{thinking},"signature":"{signature}"}}"#)
            }
            6..8 => format!(
                r#"{{"type":"tool_use","id":"{}","name":"Bash","input":{{"command":{},"description":{}}}}}"#,
                id(&mut self.rng, "toolu_01"),
                quoted(&self.prose(8, 8)),
                quoted(&self.prose(5, 100)),
            ),
            8 => format!(
                r#"{{"type":"tool_use","id":"{}","name":"Read","input":{{"file_path":"/workspace/src/{}.rs"}}}}"#,
                id(&mut self.rng, "toolu_01"),
                self.rng.u32(..1000),
            ),
            _ => format!(
                r#"{{"type":"tool_use","id":"{}","name":"Edit","input":{{"replace_all":false,"file_path":"/workspace/src/lib.rs","old_string":{},"new_string":{}}}}}"#,
                id(&mut self.rng, "toolu_01"),
                quoted(&self.output(300)),
                quoted(&self.output(400)),
            ),
        };
        self.assistant_with(out, &block);
    }

    pub(crate) fn assistant_with(&mut self, out: &mut String, block: &str) {
        let _ = write!(
            out,
            r#"{{"type":"assistant","message":{{"id":"{}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{},"cache_creation":{{"ephemeral_5m_input_tokens":{},"ephemeral_1h_input_tokens":0}},"output_tokens":{},"service_tier":"standard"}},"context_management":null}},"parent_tool_use_id":null,"session_id":"{}","uuid":"{}","timestamp":"2026-11-15T06:58:49.053Z","request_id":"{}"}}"#,
            self.message,
            self.rng.u32(1..40),
            self.rng.u32(..9000),
            self.rng.u32(..150_000),
            self.rng.u32(..9000),
            self.rng.u32(1..900),
            self.session,
            uuid(&mut self.rng),
            id(&mut self.rng, "req_01"),
        );
    }

    /// A line of about this many bytes; the CLI writes what a command printed twice.
    fn tool_result(&mut self, out: &mut String, length: usize) {
        let content = quoted(&self.output(length * 2 / 5));
        let call = id(&mut self.rng, "toolu_01");
        self.tool_result_with(out, &call, &content);
    }

    pub(crate) fn tool_result_with(&mut self, out: &mut String, call: &str, content: &str) {
        let _ = write!(
            out,
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":{content},"is_error":false}}]}},"parent_tool_use_id":null,"session_id":"{}","uuid":"{}","timestamp":"2026-11-15T06:53:52.963Z","tool_use_result":{{"stdout":{content},"stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}},"tool_result_meta":[{{"id":"{call}","permission_decision":{{"decision":"accept","source":"user_temporary"}}}}]}}"#,
            self.session,
            uuid(&mut self.rng),
        );
    }

    fn picture(&mut self, out: &mut String, length: usize) {
        let data = self.base64(length);
        let call = id(&mut self.rng, "toolu_01");
        let _ = write!(
            out,
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}]}}]}},"parent_tool_use_id":null,"session_id":"{}","uuid":"{}","timestamp":"2026-11-15T06:53:52.963Z"}}"#,
            self.session,
            uuid(&mut self.rng),
        );
    }

    fn base64(&mut self, length: usize) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        (0..length).map(|_| char::from(DIGITS[self.rng.usize(..64)])).collect()
    }

    pub(crate) fn status(&mut self, out: &mut String) {
        let _ = match self.rng.u32(..2) {
            0 => write!(
                out,
                r#"{{"type":"system","subtype":"status","status":"requesting","session_id":"{}","uuid":"{}"}}"#,
                self.session,
                uuid(&mut self.rng),
            ),
            _ => write!(
                out,
                r#"{{"type":"system","subtype":"thinking_tokens","estimated_tokens":{},"estimated_tokens_delta":2,"session_id":"{}","uuid":"{}"}}"#,
                self.rng.u32(..500),
                self.session,
                uuid(&mut self.rng),
            ),
        };
    }

    pub(crate) fn init(&mut self, out: &mut String) {
        let version = duologue_testkit::peers::imitated_version();
        let _ = write!(
            out,
            r#"{{"type":"system","subtype":"init","cwd":"/workspace","session_id":"{}","tools":["Task","AskUserQuestion","Bash","Edit","EnterPlanMode","ExitPlanMode","NotebookEdit","Read","Skill","TaskStop","ToolSearch","WebFetch","WebSearch","Write"],"mcp_servers":[],"model":"claude-opus-5-5","permissionMode":"default","slash_commands":["deep-research","update-config","verify","debug","code-review","simplify","batch","doctor","loop","agents","clear","color","compact","config","context","effort","fast","init","mcp","model","rename","security-review","usage","insights","recap","goal"],"terminal_slash_commands":["doctor","color","focus"],"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"{version}","output_style":"default","agents":["claude","Explore","general-purpose","Plan"],"skills":["deep-research","verify","debug","code-review"],"plugins":[{{"name":"cc-plugin-privacy","path":"builtin","source":"cc-plugin-privacy@builtin"}}],"capabilities":["interrupt_receipt_v1","msg_lifecycle_v1","sdk_mcp_manifests"],"analytics_disabled":true,"product_feedback_disabled":true,"uuid":"{}","memory_paths":{{"auto":"/home/user/.claude/projects/-workspace/memory/"}},"original_cwd":"/workspace","additional_directories":[],"fast_mode_state":"off"}}"#,
            self.session,
            uuid(&mut self.rng),
        );
    }

    /// The CLI does not begin a result with its type.
    pub(crate) fn result(&mut self, out: &mut String) {
        let model = format!(
            r#"{{"claude-opus-5-5":{{"inputTokens":{},"outputTokens":{},"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":0.0{},"contextWindow":1000000,"maxOutputTokens":128000,"thinkingTokens":0,"cacheCreationEphemeral5mInputTokens":0,"cacheCreationEphemeral1hInputTokens":0,"canonicalModel":"claude-opus-5-5","provider":"firstParty","costBasis":"list"}}}}"#,
            self.rng.u32(..9000),
            self.rng.u32(..9000),
            self.rng.u32(1..99999),
        );
        let text = quoted(&self.prose(40, 12));
        let _ = write!(
            out,
            r#"{{"duration_api_ms":{},"stop_reason":"end_turn","session_id":"{}","total_cost_usd":0.010192,"usage":{{"input_tokens":{},"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":476,"output_tokens_details":{{"thinking_tokens":0}},"server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":"standard","cache_creation":{{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0}},"inference_geo":"","iterations":[],"speed":"standard","fallback_credit":null}},"modelUsage":{model},"permission_denials":[],"terminal_reason":"completed","fast_mode_state":"off","fast_mode_disabled_reason":"sdk_opt_in_required","subagent_stats":{{"spawned":0,"requested":{{"background":0,"foreground":0,"unset":0}},"started_in_background":0,"max_depth":0,"spawned_by_subagents":0,"completed":0,"failed":0,"killed":{{"parent":0,"user":0,"system":0}},"refused":{{"depth_limit":0,"concurrency_limit":0,"budget":0}},"by_type":{{}}}},"safety_stops":0,"is_error":false,"num_turns":{},"subtype":"success","api_error_status":null,"result":{text},"ttft_ms":555,"type":"result","duration_ms":{},"uuid":"{}","ttft_stream_ms":551,"time_to_request_ms":504,"first_content_frame_ms":552,"queued_turn_count":0,"result_index":0,"model_usage_since_last_result":{model}}}"#,
            self.rng.u32(..9000),
            self.session,
            self.rng.u32(..9000),
            self.rng.u32(1..40),
            self.rng.u32(..9000),
            uuid(&mut self.rng),
        );
    }
}

pub(crate) fn uuid(rng: &mut Rng) -> String {
    let (a, b) = (rng.u64(..), rng.u64(..));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff,
    )
}

pub(crate) fn id(rng: &mut Rng, prefix: &str) -> String {
    let mut id = prefix.to_owned();
    id.extend((0..22).map(|_| rng.alphanumeric()));
    id
}
