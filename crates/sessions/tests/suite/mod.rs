mod bench;
mod chain;
mod changes;
mod damage;
mod fixtures;
mod fork;
mod list;
mod live;
mod store_faults;
mod store_sessions;
mod stores;
mod usage;

use std::fs;
use std::path::PathBuf;

use duologue_sessions::{MessageOptions, Sessions, StoredSession};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A config directory with one project.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
}

pub(crate) const ID: &str = "11111111-2222-4333-8444-555555555555";

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("projects/-my")).unwrap();
        Self { dir }
    }

    pub(crate) fn sessions(&self) -> Sessions {
        Sessions::in_config_dir(self.dir.path())
    }

    pub(crate) fn path(&self, id: &str) -> PathBuf {
        self.dir.path().join(format!("projects/-my/{id}.jsonl"))
    }

    /// Writes a transcript and returns the session.
    pub(crate) fn write(&self, id: &str, entries: &[Value]) -> StoredSession {
        let text: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        fs::write(self.path(id), text).unwrap();
        self.sessions().get(id).unwrap()
    }
}

pub(crate) fn user(uuid: &str, parent: Option<&str>, text: &str) -> Value {
    json!({ "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": ID,
        "timestamp": "2026-01-02T03:04:05.000Z", "message": { "role": "user", "content": text } })
}

pub(crate) fn assistant(uuid: &str, parent: Option<&str>, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    json!({ "type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": ID,
        "timestamp": "2026-01-02T03:04:05.000Z",
        "message": { "id": format!("msg_{uuid}"), "role": "assistant", "content": content } })
}

/// The texts of the conversation.
pub(crate) fn texts(session: &StoredSession) -> Vec<String> {
    let messages = session.messages(&MessageOptions::default()).unwrap();
    messages
        .map(|message| {
            let content = message.unwrap().message.unwrap().to_value().unwrap()["content"].clone();
            content.as_str().or(content[0]["text"].as_str()).unwrap_or_default().to_owned()
        })
        .collect()
}
