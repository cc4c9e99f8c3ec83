//! Requests of the agent to the user: permissions, plans, questions, and the questions of MCP servers.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, ElicitationAction, ElicitationContentValue, ElicitationFormMode,
    ElicitationSchema, ElicitationSessionScope, ElicitationUrlMode, PermissionOption,
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, ToolCallId,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use duologue::handlers::{Decision, ElicitationAnswer};
use duologue_protocol::control::{CanUseTool, Elicitation};
use duologue_protocol::permission::{PermissionMode, PermissionRule, PermissionUpdate};
use duologue_protocol::tool::{Answers, AskUserQuestion, Question};
use duologue_protocol::{RawJson, RawObject};
use serde_json::{Value, json};

use crate::link::{Link, Unanswered};
use crate::tool_calls::{Description, shown_name, text_content};

const ALLOW: &str = "allow";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT: &str = "reject";
const REJECT_ALWAYS: &str = "reject_always";
const ACCEPT_EDITS: &str = "accept_edits";
const SKIP: &str = "skip";

const REJECTED: &str = "The user rejected this tool call.";
const REJECTED_BEFORE: &str =
    "The user rejected this tool call, and all like it, for this session.";
const CANCELLED: &str = "The user cancelled.";
const SKIPPED: &str = "The user did not answer the questions.";
const KEEP_PLANNING: &str = "The user does not want to leave plan mode yet. Ask what to change.";

/// Decides about a call: asks the client, by whatever the tool needs.
pub(crate) async fn decide(
    link: &Link,
    ask: &CanUseTool,
    call: Option<&str>,
    description: Description,
    cancels: u64,
) -> Decision {
    let name = ask.tool_name.as_str().unwrap_or_default();
    match name {
        "AskUserQuestion" => question(link, ask, call, description, cancels).await,
        "ExitPlanMode" => plan(link, call, description, cancels).await,
        _ => permission(link, ask, call, description, cancels).await,
    }
}

fn option(id: &str, name: impl Into<String>, kind: PermissionOptionKind) -> PermissionOption {
    PermissionOption::new(id.to_owned(), name.into(), kind)
}

/// Shows options to the user. Returns the id of the one that was chosen.
async fn choose(
    link: &Link,
    call: Option<&str>,
    description: Description,
    options: Vec<PermissionOption>,
    cancels: u64,
) -> Result<Option<String>, Unanswered> {
    let fields = ToolCallUpdateFields::new()
        .title(description.title)
        .kind(description.kind)
        .status(ToolCallStatus::Pending)
        .content(description.content)
        .locations(description.locations);
    let call = call.map_or_else(|| format!("ask-{}", uuid::Uuid::new_v4()), str::to_owned);
    let request =
        RequestPermissionRequest::new(link.id.clone(), ToolCallUpdate::new(call, fields), options);
    Ok(match link.request(request, cancels).await?.outcome {
        RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
        _ => None,
    })
}

/// The decision for a request that the client did not answer.
fn unanswered(why: &Unanswered) -> Decision {
    match why {
        Unanswered::Cancelled => Decision::deny(CANCELLED),
        Unanswered::Failed(error) => {
            Decision::deny(format!("The editor could not ask the user: {}", error.message))
        }
    }
}

async fn permission(
    link: &Link,
    ask: &CanUseTool,
    call: Option<&str>,
    description: Description,
    cancels: u64,
) -> Decision {
    let updates = always(ask);
    let what = subject(ask, &updates);
    if link.is_rejected(&what) {
        return Decision::deny(REJECTED_BEFORE);
    }
    let mut options = vec![option(ALLOW, "Allow", PermissionOptionKind::AllowOnce)];
    if !ask.suppress_always_allow_rule.is_true() && !updates.is_empty() {
        options.push(option(ALLOW_ALWAYS, spelled(&updates), PermissionOptionKind::AllowAlways));
    }
    options.push(option(REJECT, "Reject", PermissionOptionKind::RejectOnce));
    options.push(option(
        REJECT_ALWAYS,
        "Reject for this session",
        PermissionOptionKind::RejectAlways,
    ));
    if ask.default_to_no.is_true() {
        options.reverse();
    }
    match choose(link, call, description, options, cancels).await {
        Ok(Some(id)) => match id.as_str() {
            ALLOW => Decision::allow(),
            ALLOW_ALWAYS => Decision::allow_and_update(updates),
            REJECT_ALWAYS => {
                link.reject_always(what);
                Decision::deny(REJECTED)
            }
            _ => Decision::deny(REJECTED),
        },
        Ok(None) => Decision::deny_and_interrupt(CANCELLED),
        Err(why) => unanswered(&why),
    }
}

/// What "always" changes: the suggestions of the agent, or else a rule for this session.
fn always(ask: &CanUseTool) -> Vec<PermissionUpdate> {
    let suggested = ask.permission_suggestions.items();
    if !suggested.is_empty() {
        return suggested.to_vec();
    }
    let name = ask.tool_name.as_str().unwrap_or_default();
    let rule = PermissionRule::new().tool_name(name);
    let rule = match name {
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => {
            return vec![PermissionUpdate::set_mode(PermissionMode::AcceptEdits)];
        }
        "Bash" | "PowerShell" => {
            let command =
                ask.input.value().and_then(|input| input.get("command")).and_then(|it| it.as_str());
            match command {
                Some(command) => rule.rule_content(command),
                None => return Vec::new(),
            }
        }
        _ => rule,
    };
    vec![PermissionUpdate::allow_in_session([rule])]
}

/// What a rejection for the session covers: the rules that would allow it, or else the same input.
fn subject(ask: &CanUseTool, updates: &[PermissionUpdate]) -> String {
    let name = ask.tool_name.as_str().unwrap_or_default();
    let mut rules: Vec<String> = updates.iter().flat_map(rules).collect();
    rules.sort_unstable();
    if rules.is_empty() {
        let input = ask.input.value().map(|input| input.as_json().to_owned()).unwrap_or_default();
        return format!("{name} {input}");
    }
    format!("{name} {}", rules.join(" "))
}

fn rules(update: &PermissionUpdate) -> Vec<String> {
    match update {
        PermissionUpdate::AddRules(add) => {
            add.rules.items().iter().map(PermissionRule::spelled).collect()
        }
        _ => Vec::new(),
    }
}

/// The name of the option "always".
fn spelled(updates: &[PermissionUpdate]) -> String {
    let mut parts = Vec::new();
    let mut is_kept = false;
    for update in updates {
        match update {
            PermissionUpdate::AddRules(add) => {
                is_kept |= add.destination.as_str().is_some_and(|it| it.ends_with("Settings"));
                parts.extend(add.rules.items().iter().map(
                    |rule| match rule.rule_content.as_str() {
                        Some(_) => rule.spelled(),
                        None => shown_name(rule.tool_name.as_str().unwrap_or_default()),
                    },
                ));
            }
            PermissionUpdate::SetMode(set) => match set.mode.as_str() {
                Some("acceptEdits") => parts.push("all edits".to_owned()),
                Some(mode) => parts.push(format!("the mode {mode}")),
                None => {}
            },
            PermissionUpdate::AddDirectories(add) => {
                is_kept |= add.destination.as_str().is_some_and(|it| it.ends_with("Settings"));
                parts.extend(add.directories.items().iter().map(|it| it.as_str().to_owned()));
            }
            _ => {}
        }
    }
    let what = if parts.is_empty() { "this".to_owned() } else { parts.join(", ") };
    let when = if is_kept { "" } else { " for this session" };
    format!("Always allow {what}{when}")
}

async fn plan(link: &Link, call: Option<&str>, description: Description, cancels: u64) -> Decision {
    let options = vec![
        option(ACCEPT_EDITS, "Yes, and accept edits", PermissionOptionKind::AllowAlways),
        option(ALLOW, "Yes, and ask before edits", PermissionOptionKind::AllowOnce),
        option(REJECT, "No, keep planning", PermissionOptionKind::RejectOnce),
    ];
    match choose(link, call, description, options, cancels).await {
        Ok(Some(id)) if id == ACCEPT_EDITS => {
            Decision::allow_and_set_mode(PermissionMode::AcceptEdits)
        }
        Ok(Some(id)) if id == ALLOW => Decision::allow_and_set_mode(PermissionMode::Default),
        Ok(Some(_)) => Decision::deny(KEEP_PLANNING),
        Ok(None) => Decision::deny_and_interrupt(CANCELLED),
        Err(why) => unanswered(&why),
    }
}

async fn question(
    link: &Link,
    ask: &CanUseTool,
    call: Option<&str>,
    description: Description,
    cancels: u64,
) -> Decision {
    let input = ask.input.value().cloned().unwrap_or_default();
    let Ok(asked) = input.read::<AskUserQuestion>() else {
        return Decision::deny("The questions have an unknown form.");
    };
    let questions = asked.questions.items().to_vec();
    let answers = if link.client.forms {
        answers_by_form(link, &questions, call, cancels).await
    } else {
        answers_by_choice(link, &questions, call, description, cancels).await
    };
    match answers {
        Ok(Some(answers)) => RawObject::from_wire(&asked.answered(&answers))
            .map_or_else(|| Decision::deny(SKIPPED), Decision::allow_with),
        Ok(None) => Decision::deny(SKIPPED),
        Err(why) => unanswered(&why),
    }
}

fn scope(link: &Link, call: Option<&str>) -> ElicitationSessionScope {
    let call: Option<ToolCallId> = call.map(|call| ToolCallId::new(call.to_owned()));
    ElicitationSessionScope::new(link.id.clone()).tool_call_id(call)
}

/// All questions in one form. `None` if the user declines.
async fn answers_by_form(
    link: &Link,
    questions: &[Question],
    call: Option<&str>,
    cancels: u64,
) -> Result<Option<Answers>, Unanswered> {
    let mut properties = serde_json::Map::new();
    for (number, question) in questions.iter().enumerate() {
        let options: Vec<Value> = question
            .options
            .items()
            .iter()
            .map(|option| {
                let label = option.label.as_str().unwrap_or_default();
                let mut value = json!({ "const": label, "title": label });
                if let Some(description) = option.description.as_str() {
                    value["description"] = description.into();
                }
                value
            })
            .collect();
        let text = question.question.as_str().unwrap_or_default();
        let title = question.header.as_str().unwrap_or(text);
        properties.insert(format!("question_{number}"), if question.multi_select.is_true() {
            json!({ "type": "array", "title": title, "description": text, "items": { "anyOf": options } })
        } else {
            json!({ "type": "string", "title": title, "description": text, "oneOf": options })
        });
        let other = json!({ "type": "string", "title": "Other", "description": "An answer of your own (optional)" });
        properties.insert(format!("question_{number}_other"), other);
    }
    let message = match questions {
        [one] => one.question.as_str().unwrap_or_default().to_owned(),
        _ => "Please answer these questions.".to_owned(),
    };
    let schema = json!({ "type": "object", "properties": properties });
    let schema: ElicitationSchema = serde_json::from_value(schema)
        .map_err(|error| Unanswered::Failed(crate::error::internal(error.to_string())))?;
    let form = ElicitationFormMode::new(scope(link, call), schema);
    let answer = link.request(CreateElicitationRequest::new(form, message), cancels).await?;
    let ElicitationAction::Accept(accepted) = answer.action else { return Ok(None) };
    let content = accepted.content.unwrap_or_default();
    Ok(answers_of(questions, &content))
}

/// The answers in the content of a form. `None` if no question has one.
fn answers_of(
    questions: &[Question],
    content: &BTreeMap<String, ElicitationContentValue>,
) -> Option<Answers> {
    let mut answers = Answers::new();
    let mut is_answered = false;
    for (number, question) in questions.iter().enumerate() {
        let text = question.question.as_str().unwrap_or_default();
        let other = match content.get(&format!("question_{number}_other")) {
            Some(ElicitationContentValue::String(other)) if !other.trim().is_empty() => {
                Some(other.clone())
            }
            _ => None,
        };
        let chosen: Vec<String> = match content.get(&format!("question_{number}")) {
            Some(ElicitationContentValue::String(label)) if !label.is_empty() => {
                vec![label.clone()]
            }
            Some(ElicitationContentValue::StringArray(labels)) => labels.clone(),
            _ => Vec::new(),
        };
        answers = match (&chosen[..], other) {
            ([], None) => continue,
            ([], Some(other)) => answers.say(text, &other),
            (_, ref other) if question.multi_select.is_true() => {
                let all = chosen.iter().chain(other).map(String::as_str);
                answers.choose_several(text, all.collect::<Vec<_>>())
            }
            ([first, ..], None) => answers.choose(text, first.as_str()),
            ([first, ..], Some(other)) => answers.choose(text, &format!("{first} ({other})")),
        };
        is_answered = true;
    }
    is_answered.then_some(answers)
}

/// One choice after the other, for a client without forms. `None` if the user skips one.
async fn answers_by_choice(
    link: &Link,
    questions: &[Question],
    call: Option<&str>,
    description: Description,
    cancels: u64,
) -> Result<Option<Answers>, Unanswered> {
    let mut answers = Answers::new();
    for question in questions {
        let text = question.question.as_str().unwrap_or_default();
        let labels: Vec<&str> =
            question.options.items().iter().filter_map(|it| it.label.as_str()).collect();
        let mut options: Vec<PermissionOption> = labels
            .iter()
            .enumerate()
            .map(|(number, label)| {
                option(&format!("option_{number}"), *label, PermissionOptionKind::AllowOnce)
            })
            .collect();
        options.push(option(SKIP, "Skip", PermissionOptionKind::RejectOnce));
        let details: Vec<String> = question
            .options
            .items()
            .iter()
            .filter_map(|it| {
                Some(format!("- {}: {}", it.label.as_str()?, it.description.as_str()?))
            })
            .collect();
        let shown = if details.is_empty() {
            text.to_owned()
        } else {
            format!("{text}\n\n{}", details.join("\n"))
        };
        let description = Description {
            title: text.to_owned(),
            kind: description.kind,
            content: vec![text_content(shown).into()],
            ..Description::default()
        };
        let chosen = choose(link, call, description, options, cancels).await?;
        let number = chosen.and_then(|id| id.strip_prefix("option_")?.parse::<usize>().ok());
        let Some(label) = number.and_then(|number| labels.get(number)) else { return Ok(None) };
        answers = answers.choose(text, label);
    }
    Ok(Some(answers))
}

/// A question of an MCP server.
pub(crate) async fn elicit(link: &Link, ask: &Elicitation) -> ElicitationAnswer {
    let cancels = link.cancels();
    let message = ask.message.as_str().unwrap_or_default().to_owned();
    let is_url = ask.mode.as_str() == Some("url");
    let mode = if is_url && link.client.urls {
        let Some(url) = ask.url.as_str() else { return ElicitationAnswer::decline() };
        let id = ask
            .elicitation_id
            .as_str()
            .map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        ElicitationUrlMode::new(scope(link, None), id, url).into()
    } else if !is_url && link.client.forms {
        let schema = ask.requested_schema.value().and_then(|it| it.to_value_lossy().ok());
        let schema = schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
        match serde_json::from_value::<ElicitationSchema>(schema) {
            Ok(schema) => ElicitationFormMode::new(scope(link, None), schema).into(),
            Err(_) => return ElicitationAnswer::decline(),
        }
    } else {
        return elicit_by_choice(link, ask, &message, is_url, cancels).await;
    };
    let mode: agent_client_protocol::v1::schema::ElicitationMode = mode;
    match link.request(CreateElicitationRequest::new(mode, message), cancels).await {
        Ok(answer) => match answer.action {
            ElicitationAction::Accept(accepted) => {
                let content =
                    accepted.content.map(|content| json!(content)).unwrap_or_else(|| json!({}));
                ElicitationAnswer::accept(RawJson::from(content))
            }
            ElicitationAction::Decline => ElicitationAnswer::decline(),
            _ => ElicitationAnswer::cancel(),
        },
        Err(_) => ElicitationAnswer::cancel(),
    }
}

/// A question of an MCP server, for a client without forms: a URL to open, or one field with few values.
async fn elicit_by_choice(
    link: &Link,
    ask: &Elicitation,
    message: &str,
    is_url: bool,
    cancels: u64,
) -> ElicitationAnswer {
    let server = ask.mcp_server_name.as_str().unwrap_or("an MCP server");
    let describe = |text: String| Description {
        title: format!("{server} asks"),
        content: vec![text_content(text).into()],
        ..Description::default()
    };
    let (description, choices) = if is_url {
        let url = ask.url.as_str().unwrap_or_default();
        (describe(format!("{message}\n\n{url}")), vec![("Done".to_owned(), json!({}))])
    } else {
        let schema = ask
            .requested_schema
            .value()
            .and_then(|it| it.to_value_lossy().ok())
            .unwrap_or_default();
        match simple_choices(&schema) {
            Some(choices) => (describe(message.to_owned()), choices),
            None => return ElicitationAnswer::decline(),
        }
    };
    let mut options: Vec<PermissionOption> = choices
        .iter()
        .enumerate()
        .map(|(number, (name, _))| {
            option(&format!("option_{number}"), name.as_str(), PermissionOptionKind::AllowOnce)
        })
        .collect();
    options.push(option(REJECT, "Decline", PermissionOptionKind::RejectOnce));
    match choose(link, None, description, options, cancels).await {
        Ok(Some(id)) => {
            let number = id.strip_prefix("option_").and_then(|number| number.parse::<usize>().ok());
            match number.and_then(|number| choices.get(number)) {
                Some((_, content)) => ElicitationAnswer::accept(RawJson::from(content)),
                None => ElicitationAnswer::decline(),
            }
        }
        Ok(None) | Err(_) => ElicitationAnswer::cancel(),
    }
}

/// The values of a schema that a choice can show: no field, or one that is a boolean or an enum.
fn simple_choices(schema: &Value) -> Option<Vec<(String, Value)>> {
    let empty = serde_json::Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut fields = fields.iter();
    let Some((name, field)) = fields.next() else {
        return Some(vec![("Accept".to_owned(), json!({}))]);
    };
    if fields.next().is_some() {
        return None;
    }
    let of = |shown: String, value: Value| (shown, json!({ name.as_str(): value }));
    if field.get("type").and_then(Value::as_str) == Some("boolean") {
        return Some(vec![of("Yes".to_owned(), true.into()), of("No".to_owned(), false.into())]);
    }
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        return Some(
            values
                .iter()
                .filter_map(Value::as_str)
                .map(|it| of(it.to_owned(), it.into()))
                .collect(),
        );
    }
    let titled = field.get("oneOf").and_then(Value::as_array)?;
    Some(
        titled
            .iter()
            .filter_map(|it| {
                let value = it.get("const")?.as_str()?;
                let title = it.get("title").and_then(Value::as_str).unwrap_or(value);
                Some(of(title.to_owned(), value.into()))
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;

    use super::*;

    fn ask(json: &str) -> CanUseTool {
        CanUseTool::from_json(json).unwrap()
    }

    #[test]
    fn always_is_what_the_agent_suggests_or_a_rule_for_the_session() {
        let suggested = ask(
            r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"git log"},"permission_suggestions":
            [{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git *"}],"behavior":"allow","destination":"localSettings"}]}"#,
        );
        assert_eq!(spelled(&always(&suggested)), "Always allow Bash(git *)");
        let bash = ask(r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}"#);
        assert_eq!(spelled(&always(&bash)), "Always allow Bash(ls) for this session");
        let edit = ask(r#"{"subtype":"can_use_tool","tool_name":"Edit","input":{}}"#);
        assert_eq!(spelled(&always(&edit)), "Always allow all edits for this session");
        let mcp = ask(r#"{"subtype":"can_use_tool","tool_name":"mcp__files__stat","input":{}}"#);
        assert_eq!(spelled(&always(&mcp)), "Always allow files: stat for this session");
    }

    #[test]
    fn a_rejection_covers_the_same_command_only() {
        let subject_of = |command: &str| {
            let ask = ask(&format!(
                r#"{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"command":"{command}"}}}}"#
            ));
            subject(&ask, &always(&ask))
        };
        assert_eq!(subject_of("ls"), subject_of("ls"));
        assert_ne!(subject_of("ls"), subject_of("rm"));
    }

    #[test]
    fn a_form_gives_labels_and_own_answers() {
        let question =
            Question::from_json(r#"{"question":"Colour?","options":[{"label":"Red"}]}"#).unwrap();
        let content = |json: Value| serde_json::from_value(json).unwrap();
        let chosen =
            answers_of(std::slice::from_ref(&question), &content(json!({ "question_0": "Red" })));
        assert_eq!(chosen, Some(Answers::new().choose("Colour?", "Red")));
        let own = answers_of(
            std::slice::from_ref(&question),
            &content(json!({ "question_0_other": "Green" })),
        );
        assert_eq!(own, Some(Answers::new().say("Colour?", "Green")));
        assert_eq!(answers_of(&[question], &content(json!({}))), None);
    }

    #[test]
    fn a_simple_schema_is_a_choice() {
        let names = |schema: Value| {
            simple_choices(&schema)
                .map(|all| all.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        assert_eq!(names(json!({})), Some(vec!["Accept".to_owned()]));
        let boolean = json!({ "properties": { "ok": { "type": "boolean" } } });
        assert_eq!(names(boolean), Some(vec!["Yes".to_owned(), "No".to_owned()]));
        let one = json!({ "properties": { "c": { "type": "string", "oneOf": [{ "const": "r", "title": "Red" }] } } });
        assert_eq!(names(one), Some(vec!["Red".to_owned()]));
        assert_eq!(names(json!({ "properties": { "t": { "type": "string" } } })), None);
    }
}
