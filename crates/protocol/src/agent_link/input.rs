//! How an agent reads a line of the host: as the newest tested CLI does.

use crate::content::{Content, ContentBlock};
use crate::control::{ControlResponse, HostRequest};
use crate::id::{RequestId, Uuid};
use crate::json::{RawJson, RawObject};
use crate::legacy::agent_input::Legacy;
use crate::line::{Decoded, Line};
use crate::lines::{Prompt, UserMessage};
use crate::text::Text;
use crate::to_agent::ToAgent;
use crate::wire::{Field, UnknownObject};

use super::event::Fatal;

/// A line of the host.
#[derive(Debug)]
pub(super) enum Input {
    Prompt(Box<Prompt>),
    Request {
        id: Option<RequestId>,
        request: Box<HostRequest>,
    },
    /// A known request with a field of the wrong type.
    BadRequest {
        id: Option<RequestId>,
        error: String,
    },
    Response(Box<ControlResponse>),
    /// New values for environment variables. They are not applied.
    Environment {
        id: Option<RequestId>,
    },
    /// Only legacy hosts send it.
    Legacy(Legacy),
    /// The real CLI ignores it.
    Ignored {
        why: &'static str,
    },
    /// The real CLI exits.
    Fatal(Fatal),
    Nothing,
}

pub(super) fn read(line: &Line) -> Input {
    if line.is_blank() {
        return Input::Nothing;
    }
    // Bytes that are not UTF-8 are replaced, as the CLI does.
    let Some(text) = line.as_str() else {
        return read(&Line::from(String::from_utf8_lossy(line.raw()).into_owned()));
    };
    match line.to_agent() {
        Decoded::Known(message) | Decoded::Unknown(message) => understood(message),
        Decoded::Malformed(_) => malformed(text),
    }
}

fn understood(message: ToAgent) -> Input {
    match message {
        ToAgent::Prompt(prompt) => prompted(prompt),
        ToAgent::ControlRequest(line) => {
            let id = line.request_id.into_value();
            match line.request.into_value() {
                Some(request) => Input::Request { id, request: Box::new(request) },
                None => Input::Fatal(Fatal::new(NO_REQUEST)),
            }
        }
        ToAgent::ControlResponse(response) => Input::Response(response),
        ToAgent::UpdateEnvironmentVariables(line) => {
            Input::Environment { id: line.request_id.into_value() }
        }
        ToAgent::Approve(line) => {
            Input::Legacy(Legacy::Approve(line.tool_use_id.as_str().map(Text::from)))
        }
        ToAgent::Deny(line) => {
            Input::Legacy(Legacy::Deny(line.tool_use_id.as_str().map(Text::from)))
        }
        ToAgent::ToolResult(line) => Input::Legacy(Legacy::ToolResult(line)),
        ToAgent::Abort(_) => Input::Legacy(Legacy::Abort),
        ToAgent::Unknown(_) => Input::Ignored { why: "unknown message type" },
        // Nothing to do for `keep_alive`, `control_cancel_request` and lines of hosted sessions.
        _ => Input::Nothing,
    }
}

/// The error if the first line is not `initialize` although it must be. The text is the CLI's.
pub(super) const NOT_INITIALIZE: &str = "Error: --await-initialize requires the initialize control request as the first stdin line, and the first line is a different message.";

const NO_REQUEST: &str = "Error: Missing request on control_request";

fn prompted(mut prompt: Box<Prompt>) -> Input {
    let Some(message) = prompt.message.value_mut() else { return wrong_role("undefined") };
    match &message.role {
        Field::Value(role) if role.as_str() == "user" => {}
        Field::Value(role) => return wrong_role(role),
        Field::Null => return wrong_role("null"),
        Field::Absent => return wrong_role("undefined"),
    }
    match &mut message.content {
        Field::Absent => return Input::Ignored { why: "the message has no content" },
        Field::Null => message.content = Field::Value(Content::Text(Text::default())),
        // The CLI drops tool results of the host, and still runs a turn.
        Field::Value(Content::Blocks(blocks)) => {
            blocks.retain(|block| !matches!(block, ContentBlock::ToolResult(_)));
        }
        Field::Value(Content::Text(_)) => {}
    }
    Input::Prompt(prompt)
}

fn wrong_role(role: &str) -> Input {
    Input::Fatal(Fatal::new(format!("Error: Expected message role 'user', got '{role}'")))
}

/// A line that is malformed here. The CLI checks fewer fields and may accept it.
fn malformed(text: &str) -> Input {
    let text = text.trim_start_matches('\u{feff}');
    let Ok(value) = RawJson::parse(text) else { return unparsable(text, "SyntaxError") };
    if value.is_null() {
        return unparsable(text, "TypeError");
    }
    match value.get("type").and_then(|kind| kind.as_str()).as_deref() {
        Some("user") => odd_prompt(&value),
        Some("control_request") => odd_request(&value),
        _ => Input::Ignored { why: "unknown message type" },
    }
}

fn unparsable(text: &str, error: &str) -> Input {
    let kind = find_type(text).unwrap_or("unknown");
    let length = text.encode_utf16().count();
    Input::Fatal(Fatal::new(format!(
        "Error parsing streaming input line (type={kind}, {length} chars): {error}"
    )))
}

/// The first `"type":"…"` in a text that is not JSON.
fn find_type(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("\"type\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(kind, _)| kind)
}

/// A prompt with a field of the wrong type: the CLI checks only the message and the uuid.
fn odd_prompt(value: &RawJson) -> Input {
    let Some(message) = value.get("message") else { return wrong_role("undefined") };
    match message.get("role") {
        None => return wrong_role("undefined"),
        Some(role) => match role.as_str() {
            Some(role) if role == "user" => {}
            Some(role) => return wrong_role(&role),
            None => return wrong_role(role.as_json()),
        },
    }
    let Some(content) = message.get("content").and_then(|content| odd_content(&content)) else {
        return Input::Ignored { why: "the content is neither a string nor blocks" };
    };
    let mut prompt = Prompt::new().message(UserMessage::new().role("user").content(content));
    prompt.uuid = value.get("uuid").and_then(|uuid| uuid.as_str()).map(Uuid::from).into();
    prompted(Box::new(prompt))
}

fn odd_content(content: &RawJson) -> Option<Content> {
    if content.is_null() {
        return Some(Content::Text(Text::default()));
    }
    if let Ok(content) = content.read::<Content>() {
        return Some(content);
    }
    let blocks: Vec<RawObject> = content.read().ok()?;
    let known = blocks.iter().map(|block| {
        block.read::<ContentBlock>().unwrap_or_else(|_| {
            let tag = block.get("type").and_then(|tag| tag.as_str()).unwrap_or_default();
            ContentBlock::Unknown(UnknownObject::new(tag, (**block).clone()))
        })
    });
    Some(Content::Blocks(known.collect()))
}

fn odd_request(value: &RawJson) -> Input {
    let id = value.get("request_id").and_then(|id| id.read::<RequestId>().ok());
    let request = value.get("request").filter(|request| !request.is_null());
    let Some(request) = request else { return Input::Fatal(Fatal::new(NO_REQUEST)) };
    match request.get("subtype").and_then(|subtype| subtype.as_str()) {
        Some(subtype) => {
            let why = request.read::<HostRequest>().err();
            let why = why.map_or_else(|| "invalid request".to_owned(), |fault| fault.to_string());
            Input::BadRequest { id, error: format!("{subtype}: {why}") }
        }
        None => {
            let tag = Text::from("undefined");
            let request = HostRequest::Unknown(UnknownObject::new(tag, request));
            Input::Request { id, request: Box::new(request) }
        }
    }
}
