//! [`SubagentStats`]: what a sub-agent did, for the report on it.

use duologue_model::Tokens;
use serde_json::{Value, json};

use crate::tools::Category;

/// Which tools were called, how often, and what they changed.
#[derive(Clone, Debug, Default)]
pub(super) struct SubagentStats {
    /// How many tools were called.
    pub(super) uses: u64,
    /// Which, in the order of their first call.
    pub(super) tools: Vec<String>,
    /// The tokens of the last message: the context as it was in the end.
    pub(super) tokens: u64,
    reads: u64,
    searches: u64,
    commands: u64,
    edits: u64,
    others: u64,
    added: u64,
    removed: u64,
}

impl SubagentStats {
    /// A tool was called.
    pub(super) fn call(&mut self, tool: &str, category: Category) {
        self.uses += 1;
        if !self.tools.iter().any(|known| known == tool) {
            self.tools.push(tool.to_owned());
        }
        let count = match category {
            Category::Read => &mut self.reads,
            Category::Search => &mut self.searches,
            Category::Command => &mut self.commands,
            Category::Edit => &mut self.edits,
            Category::Other => &mut self.others,
        };
        *count += 1;
    }

    /// A tool gave this to the host: a patch, maybe.
    pub(super) fn result(&mut self, result: &Value) {
        let hunks = result["structuredPatch"].as_array().into_iter().flatten();
        for line in hunks.filter_map(|hunk| hunk["lines"].as_array()).flatten() {
            match line.as_str().and_then(|line| line.chars().next()) {
                Some('+') => self.added += 1,
                Some('-') => self.removed += 1,
                _ => {}
            }
        }
    }

    /// A message came to its end.
    pub(super) const fn message(&mut self, tokens: &Tokens) {
        self.tokens = tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
    }

    /// The counts, for the host.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "readCount": self.reads, "searchCount": self.searches, "bashCount": self.commands,
            "editFileCount": self.edits, "linesAdded": self.added, "linesRemoved": self.removed,
            "otherToolCount": self.others,
        })
    }
}
