//! [`OfflineModel`]: answers by fixed rules, without a model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::{AnswerStream, Model};
use crate::purpose::Purpose;
use crate::request::{Request, said};
use crate::scenario::{Reply, Usage};
use crate::script::Answer;
use crate::scripted_model::play;

mod phrase;
mod report;
mod steps;
mod turn;

/// A replacement for a model: it understands plain requests and calls the tools for them.
///
/// [`OfflineModel::notice`] says that it is not a model. Answers have [`OfflineModel::NAME`] as their model and cost
/// nothing. The same conversation always gets the same answer. It understands these requests, joined by "then":
///
/// ```text
/// read README.md                          ask me: tabs or spaces?
/// run ls -la                              plan the move to tabs
/// write notes.txt: buy milk               delegate: read README.md
/// edit notes.txt: replace milk with tea   todo: read, write, rest
/// find *.rs                               count to 100 slowly
/// search TODO in src                      call mcp tool mcp__clock__now {"zone":"UTC"}
/// list files                              say hello
/// ```
///
/// ```
/// use duologue_model::{StreamedMessage, Model, OfflineModel, Part, Request};
/// use serde_json::json;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = OfflineModel::new();
/// let request = Request::new(json!({
///     "model": "any",
///     "tools": [{ "name": "Bash" }],
///     "messages": [{ "role": "user", "content": "run ls -la" }],
/// }))?;
/// let mut folded = StreamedMessage::new();
/// let mut answer = model.ask(request);
/// while let Some(part) = answer.next().await {
///     if let Part::Event(event) = part? {
///         folded.add(&event);
///     }
/// }
/// assert_eq!(folded.content()[1]["input"]["command"], "ls -la");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct OfflineModel {
    folder: Option<String>,
    asked: AtomicU64,
}

/// How many prompts a summary repeats.
const MOST_ASKED: usize = 50;

impl OfflineModel {
    /// The model name in its answers.
    pub const NAME: &str = "duologue-offline";

    /// Creates a model. Relative paths stay relative, unless the system prompt names the working directory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the directory for relative paths.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    fn reply(&self, request: &Request) -> Reply {
        if request.purpose() == Purpose::Summary {
            return Reply::text(summary(request));
        }
        if let Some(reply) = request.purpose().fixed(request) {
            return reply;
        }
        let folder = self.folder.clone().or_else(|| folder_in(&request.system()));
        turn::reply(request, folder.as_deref())
    }
}

impl Model for OfflineModel {
    fn ask(&self, request: Request) -> AnswerStream {
        let answer = Answer {
            purpose: request.purpose(),
            agent: request.agent().unwrap_or(request.purpose().as_str()).to_owned(),
            index: None,
            reply: Arc::new(self.reply(&request).usage(Usage::new(0, 0))),
            model: Self::NAME.to_owned(),
        };
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        // A resumed conversation counts from 1 again; the hash of its messages keeps the ids different.
        let word = format!("offline_{:08x}", fingerprint(&request.body()["messages"].to_string()));
        AnswerStream::new(async move |sender| play(&answer, number, &word, &sender).await)
    }

    fn notice(&self) -> Option<String> {
        Some(
            "No model is connected: a few plain requests are understood and carried out with the tools. \
             Say \"help\" to see which; set ANTHROPIC_API_KEY to talk to a model."
                .to_owned(),
        )
    }
}

/// A list of the prompts, in place of a summary by a model.
fn summary(request: &Request) -> String {
    let messages = request.messages();
    // The last message asks for the summary.
    let earlier = &messages[..messages.len().saturating_sub(1)];
    let asked = earlier.iter().map(|message| said(std::slice::from_ref(message)));
    let asked: Vec<String> = asked
        .filter_map(|text| text.trim().lines().next().map(|line| format!("- {line}\n")))
        .collect();
    let latest = &asked[asked.len().saturating_sub(MOST_ASKED)..];
    format!("<summary>\nNo model wrote this. The user asked:\n{}</summary>", latest.concat())
}

/// The working directory that a system prompt names.
fn folder_in(system: &str) -> Option<String> {
    let behind = ["Primary working directory: ", "Working directory: "]
        .iter()
        .find_map(|words| system.split_once(words).map(|(_, behind)| behind))?;
    behind.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// FNV-1a: the result does not depend on the version of the compiler.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
