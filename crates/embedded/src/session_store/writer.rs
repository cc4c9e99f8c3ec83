//! Writing a conversation down.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use duologue_agent::{VERSION, clock};
use serde_json::{Value, json};

/// Writes a conversation down, one entry a line. A line is written at once, so that a reader sees it
/// whole or not at all.
#[derive(Debug)]
pub struct SessionWriter {
    file: File,
    id: String,
    cwd: String,
    git_branch: String,
    leaf: Option<String>,
    /// The uuid of the next entry, if it was set.
    named: Option<String>,
    /// What was written and not yet taken, if it is mirrored.
    mirror: Option<Vec<Value>>,
    /// The sub-agent whose conversation it is.
    agent: Option<String>,
    /// How the process was started, as hosts name it.
    entrypoint: String,
}

impl SessionWriter {
    pub(super) fn new(file: File, id: &str, cwd: &Path, leaf: Option<String>) -> Self {
        Self {
            file,
            id: id.to_owned(),
            cwd: cwd.to_string_lossy().into_owned(),
            git_branch: git_branch(cwd).unwrap_or_else(|| "HEAD".to_owned()),
            leaf,
            named: None,
            mirror: None,
            agent: None,
            entrypoint: std::env::var("CLAUDE_CODE_ENTRYPOINT")
                .ok()
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| "sdk-cli".to_owned()),
        }
    }

    /// The conversation of a sub-agent.
    #[must_use]
    pub(super) fn of_agent(mut self, agent: &str) -> Self {
        self.agent = Some(agent.to_owned());
        self
    }

    /// Keeps what is written from now on for [`take_mirrored`](Self::take_mirrored).
    pub fn mirror(&mut self) {
        self.mirror.get_or_insert_default();
    }

    /// The entries that were written since this was last asked, if they are kept.
    pub fn take_mirrored(&mut self) -> Vec<Value> {
        self.mirror.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The next entry of the chain has this name: that of its line on the wire.
    pub fn name_next(&mut self, uuid: &str) {
        self.named = Some(uuid.to_owned());
    }

    /// The id of the conversation.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The last entry.
    pub fn leaf(&self) -> Option<&str> {
        self.leaf.as_deref()
    }

    /// A prompt, or results of tools: the content of a user message, and what the host got of it.
    /// Returns the entry's UUID.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn user(&mut self, content: &Value, tool_use_result: Option<&Value>) -> io::Result<String> {
        let message = json!({ "role": "user", "content": content });
        let result = tool_use_result.map(|result| ("toolUseResult", result.clone()));
        self.entry("user", vec![("message", message)].into_iter().chain(result).collect())
    }

    /// A prompt that is not from the person.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn meta(&mut self, content: &Value) -> io::Result<String> {
        let message = json!({ "role": "user", "content": content });
        self.entry("user", vec![("isMeta", json!(true)), ("message", message)])
    }

    /// A message of the model: one block of it, as on the wire.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn assistant(&mut self, message: &Value) -> io::Result<String> {
        self.entry("assistant", vec![("message", message.clone())])
    }

    /// The conversation continues from a summary, which replaces all before it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn compacted(&mut self, metadata: &Value, summary: &Value) -> io::Result<String> {
        let before = self.leaf.take();
        let fields = vec![
            ("subtype", json!("compact_boundary")),
            ("logicalParentUuid", json!(before)),
            ("content", json!("Conversation compacted")),
            ("compactMetadata", metadata.clone()),
        ];
        self.entry("system", fields)?;
        let message = json!({ "role": "user", "content": summary });
        self.entry("user", vec![("isCompactSummary", json!(true)), ("message", message)])
    }

    /// What was last asked, by which people find a conversation again.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn last_prompt(&mut self, prompt: &str) -> io::Result<()> {
        let fields = [
            ("type", json!("last-prompt")),
            ("lastPrompt", json!(prompt)),
            ("leafUuid", json!(self.leaf)),
            ("sessionId", json!(self.id)),
        ];
        self.line(&fields)
    }

    /// What the conversation has cost so far: the fields of a `cost-state`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn cost(&mut self, cost: &Value) -> io::Result<()> {
        let mut fields = vec![("type", json!("cost-state")), ("sessionId", json!(self.id))];
        let rest = cost.as_object().into_iter().flatten();
        fields.extend(rest.map(|(name, value)| (name.as_str(), value.clone())));
        self.line(&fields)
    }

    /// A title.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn title(&mut self, title: &str) -> io::Result<()> {
        let fields = [
            ("type", json!("custom-title")),
            ("customTitle", json!(title)),
            ("sessionId", json!(self.id)),
        ];
        self.line(&fields)
    }

    /// An entry of the chain. It comes after the last.
    fn entry(&mut self, kind: &str, fields: Vec<(&str, Value)>) -> io::Result<String> {
        let uuid = self.named.take().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let mut all =
            vec![("parentUuid", json!(self.leaf)), ("isSidechain", json!(self.agent.is_some()))];
        all.extend(self.agent.as_ref().map(|agent| ("agentId", json!(agent))));
        all.push(("type", json!(kind)));
        all.extend(fields);
        all.extend([
            ("uuid", json!(uuid)),
            ("timestamp", json!(clock::timestamp().as_str())),
            ("userType", json!("external")),
            ("entrypoint", json!(self.entrypoint)),
            ("cwd", json!(self.cwd)),
            ("sessionId", json!(self.id)),
            ("version", json!(VERSION)),
            ("gitBranch", json!(self.git_branch)),
        ]);
        self.line(&all)?;
        self.leaf = Some(uuid.clone());
        Ok(uuid)
    }

    /// An entry of another conversation, with the names that it has here.
    pub(super) fn copied(&mut self, entry: &Value) -> io::Result<()> {
        self.leaf = entry["uuid"].as_str().map(str::to_owned);
        let mut text = entry.to_string();
        text.push('\n');
        self.reflect(&text);
        self.file.write_all(text.as_bytes())
    }

    fn reflect(&mut self, line: &str) {
        if let Some(mirror) = &mut self.mirror {
            mirror.extend(serde_json::from_str::<Value>(line).ok());
        }
    }

    /// Readers look for some fields by their place: `{"type":"tag"`.
    fn line(&mut self, fields: &[(&str, Value)]) -> io::Result<()> {
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        let line = format!("{{{}}}\n", fields.join(","));
        self.reflect(&line);
        self.file.write_all(line.as_bytes())
    }
}

/// Ends a line that a writer left torn, so that the next one is whole.
pub(super) fn end_torn_line(file: &mut File) -> io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last != *b"\n" { file.write_all(b"\n") } else { Ok(()) }
}

/// The branch that is checked out, as far as it is known without git.
fn git_branch(cwd: &Path) -> Option<String> {
    let head = cwd
        .ancestors()
        .find_map(|folder| std::fs::read_to_string(folder.join(".git/HEAD")).ok())?;
    let head = head.trim();
    Some(head.strip_prefix("ref: refs/heads/").unwrap_or("HEAD").to_owned())
}
