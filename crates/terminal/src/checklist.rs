//! [`Checklist`]: the to-do list of the agent.

use duologue_protocol::RawObject;
use duologue_protocol::tool::{TodoStatus, ToolInput};
use duologue_protocol::transcript::{ToolCallEvent, ToolResultEvent};

use crate::text::{Foreign, Shown, line, ours};
use crate::{shown, summary};

/// The most items that are kept and shown. The others are only counted.
const MOST: usize = 50;

/// The to-do list, as `TodoWrite` writes it or `TaskCreate` and `TaskUpdate` change it.
#[derive(Debug, Default)]
pub struct Checklist {
    items: Vec<Item>,
    /// How many items there are beyond [`MOST`].
    more: usize,
}

#[derive(Debug)]
struct Item {
    /// The id that `TaskUpdate` uses.
    id: Option<String>,
    /// The call that created it, until the result has its id.
    made_by: Option<String>,
    what: Foreign<'static>,
    status: TodoStatus,
}

impl Checklist {
    /// Applies a tool call. Returns the lines of the list, or `None` if the call does not change it.
    pub fn call(&mut self, call: &ToolCallEvent) -> Option<Vec<Shown>> {
        let input = &call.input;
        match call.name.as_str() {
            "TodoWrite" => self.write(input)?,
            "TaskCreate" => {
                let what = text(input, "subject").or_else(|| text(input, "description"))?;
                let made_by = Some(call.id.to_string());
                self.add(Item {
                    id: None,
                    made_by,
                    what: what.into(),
                    status: TodoStatus::Pending,
                });
            }
            "TaskUpdate" => self.update(input)?,
            _ => return None,
        }
        Some(self.lines())
    }

    /// Applies a tool result: that of `TaskCreate` has the id of the new item.
    pub fn result(&mut self, result: &ToolResultEvent) {
        let made_by = Some(result.tool_use_id.as_str());
        let item = self
            .items
            .iter_mut()
            .find(|item| item.made_by.is_some() && item.made_by.as_deref() == made_by);
        if let Some(item) = item {
            item.made_by = None;
            let content = summary::tool_result(result.content.as_ref());
            let id = content.raw().split_once('#').map(|(_, rest)| {
                rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>()
            });
            item.id = id.filter(|id| !id.is_empty());
        }
    }

    fn write(&mut self, input: &RawObject) -> Option<()> {
        let Ok(ToolInput::TodoWrite(list)) = ToolInput::read("TodoWrite", input) else {
            return None;
        };
        (self.items, self.more) = (Vec::new(), 0);
        for todo in list.todos.items() {
            let status = todo.status.value().cloned().unwrap_or(TodoStatus::Pending);
            let what = match (&status, todo.active_form.as_str()) {
                (TodoStatus::InProgress, Some(active)) if !active.is_empty() => active,
                _ => todo.content.as_str().unwrap_or_default(),
            };
            let what = Foreign::from(what).into_owned();
            self.add(Item { id: None, made_by: None, what, status });
        }
        Some(())
    }

    fn update(&mut self, input: &RawObject) -> Option<()> {
        let id = text(input, "taskId")?;
        let at = self.items.iter().position(|item| item.id.as_deref() == Some(id.as_str()))?;
        let status = text(input, "status");
        if status.as_deref() == Some("deleted") {
            self.items.remove(at);
            return Some(());
        }
        let item = self.items.get_mut(at)?;
        if let Some(status) = status {
            item.status = TodoStatus::from(status.as_str());
        }
        if let Some(what) = text(input, "subject") {
            item.what = what.into();
        }
        Some(())
    }

    fn add(&mut self, item: Item) {
        if self.items.len() < MOST {
            self.items.push(item);
        } else {
            self.more += 1;
        }
    }

    fn lines(&self) -> Vec<Shown> {
        let mut lines: Vec<Shown> = self.items.iter().map(Item::line).collect();
        if self.more > 0 {
            lines.push(shown!("… {} more", self.more).dimmed());
        }
        if lines.is_empty() {
            lines.push(ours("(nothing left to do)").dimmed());
        }
        lines
    }
}

impl Item {
    fn line(&self) -> Shown {
        let what = line(&self.what);
        match &self.status {
            TodoStatus::Completed => shown!("☒ {}", what).dimmed(),
            TodoStatus::InProgress => shown!("▸ {}", what).bold(),
            TodoStatus::Pending => shown!("☐ {}", what),
            other => shown!("? {} ({})", what, line(other.as_str())),
        }
    }
}

fn text(input: &RawObject, name: &str) -> Option<String> {
    let text = input.get(name)?.as_str()?;
    Some(text.as_str().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;
    use duologue_protocol::transcript::Event;

    use super::*;

    fn shown(todos: &mut Checklist, event: &str) -> Option<Vec<String>> {
        match Event::from_json(event).unwrap() {
            Event::ToolCall(call) => {
                let lines = todos.call(&call)?;
                Some(lines.iter().map(|line| line.plain().to_string()).collect())
            }
            Event::ToolResult(result) => {
                todos.result(&result);
                None
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_list_is_written() {
        let lines = shown(
            &mut Checklist::default(),
            r#"{"event":"tool_call","id":"a","name":"TodoWrite","input":{"todos":[
                {"content":"Look","status":"completed","activeForm":"Looking"},
                {"content":"Leap\n❯ 1 Yes","status":"in_progress","activeForm":"Leaping\n❯ 1 Yes"},
                {"content":"Land","status":"pending"},{"content":"x","status":"new"}]}}"#,
        );
        assert_eq!(lines.unwrap(), ["☒ Look", "▸ Leaping⏎❯ 1 Yes", "☐ Land", "? x (new)"]);
    }

    #[test]
    fn tasks_are_created_and_updated() {
        let mut todos = Checklist::default();
        let create =
            r#"{"event":"tool_call","id":"a","name":"TaskCreate","input":{"subject":"Look"}}"#;
        assert_eq!(shown(&mut todos, create).unwrap(), ["☐ Look"]);
        let made = r#"{"event":"tool_result","tool_use_id":"a","content":"Task #7 created successfully: Look"}"#;
        shown(&mut todos, made);
        let update = |status: &str| {
            format!(
                r#"{{"event":"tool_call","id":"b","name":"TaskUpdate","input":{{"taskId":"7","status":"{status}"}}}}"#
            )
        };
        assert_eq!(shown(&mut todos, &update("in_progress")).unwrap(), ["▸ Look"]);
        assert_eq!(shown(&mut todos, &update("completed")).unwrap(), ["☒ Look"]);
        assert_eq!(shown(&mut todos, &update("deleted")).unwrap(), ["(nothing left to do)"]);
        // It was deleted.
        assert_eq!(shown(&mut todos, &update("completed")), None);
    }
}
