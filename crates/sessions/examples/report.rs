//! Prints everything about the sessions below a config directory as JSON, to be compared with what the official SDKs say.
//!
//! `cargo run -p duologue-sessions --example report CONFIG PROJECT`

use duologue_sessions::{
    Error, ListOptions, MessageOptions, Messages, Result, SessionInfo, SessionMessage, Sessions,
};
use serde_json::{Map, Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(config), Some(project)) = (arguments.next(), arguments.next()) else {
        return Err("usage: report CONFIG PROJECT".into());
    };
    let report = report(&Sessions::in_config_dir(config), &project)?;
    std::io::Write::write_all(&mut std::io::stdout(), format!("{report}\n").as_bytes())?;
    Ok(())
}

/// What the SDKs report, under the same names.
pub(crate) fn report(sessions: &Sessions, project: &str) -> Result<Value> {
    let list = |sessions: &Sessions, options: ListOptions| -> Result<Vec<Value>> {
        Ok(sessions.list(&options)?.sessions.iter().map(info).collect())
    };
    let all = sessions.list(&ListOptions::default())?.sessions;
    let mut each = Map::new();
    for found in &all {
        let session = sessions.get(&found.id)?;
        let mut agents = Map::new();
        for agent in session.subagents()? {
            agents.insert(agent.id.clone(), messages(agent.messages(&MessageOptions::default())?)?);
        }
        let uuids = |options: MessageOptions| -> Result<Vec<String>> {
            session.messages(&options)?.map(|message| Ok(message?.uuid)).collect()
        };
        let entry = json!({
            "info": session.info()?.as_ref().map(info),
            "messages": messages(session.messages(&MessageOptions::default())?)?,
            "system": uuids(MessageOptions::default().system_messages(true))?,
            "page": uuids(MessageOptions::default().limit(2).offset(1))?,
            "agents": agents,
        });
        each.insert(found.id.clone(), entry);
    }
    let people = sessions.list(&ListOptions::default().programmatic(false))?.sessions;
    Ok(json!({
        "all": all.iter().map(info).collect::<Vec<_>>(),
        "project": list(&sessions.clone().in_project(project), ListOptions::default())?,
        "page": list(sessions, ListOptions::default().limit(2).offset(1))?,
        "people": people.iter().map(|info| info.id.clone()).collect::<Vec<_>>(),
        "sessions": each,
    }))
}

fn info(info: &SessionInfo) -> Value {
    json!({
        "id": info.id, "summary": info.summary, "title": info.title, "firstPrompt": info.first_prompt,
        "gitBranch": info.git_branch, "cwd": info.cwd, "tag": info.tag, "created": info.created,
        "size": info.size, "archived": info.archived, "modified": info.modified,
    })
}

fn messages(messages: Messages) -> Result<Value> {
    messages.map(|found| found.and_then(|found| message(&found))).collect()
}

fn message(found: &SessionMessage) -> Result<Value> {
    let value = |json: &Option<duologue_wire::RawJson>| match json {
        Some(json) => json.to_value_lossy().map_err(Error::store),
        None => Ok(Value::Null),
    };
    Ok(json!({
        "type": found.kind.as_str(), "uuid": found.uuid, "session": found.session_id,
        "message": value(&found.message)?, "call": found.parent_tool_use_id, "agent": found.parent_agent_id,
        "time": found.timestamp, "meta": found.is_meta, "summary": found.is_compact_summary,
        "queued": found.is_queued, "local": found.is_local_command, "origin": value(&found.origin)?,
    }))
}
