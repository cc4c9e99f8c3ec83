//! The to-do list of the model, as a plan: `TodoWrite`, and the tools `TaskCreate`, `TaskUpdate` and `TaskList`.

use agent_client_protocol::v1::schema::{Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus};
use serde_json::Value;

/// The most entries that are kept.
const MAX_ENTRIES: usize = 512;

/// The tools whose calls are shown as a plan, and not as tool calls.
pub(crate) fn is_plan_tool(name: &str) -> bool {
    matches!(name, "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet")
}

#[derive(Clone, Debug)]
struct Task {
    id: String,
    subject: String,
    active: Option<String>,
    status: String,
}

/// The plan of a session.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Vec<Task>);

fn text(value: &Value, name: &str) -> Option<String> {
    Some(value.get(name)?.as_str()?.to_owned())
}

impl Tasks {
    /// A call of `TodoWrite` has begun: its input is the whole list.
    pub(crate) fn called(&mut self, name: &str, input: &Value) -> Option<Plan> {
        if name != "TodoWrite" {
            return None;
        }
        let todos = input.get("todos")?.as_array()?;
        let entry = |todo: &Value| {
            let active = text(todo, "activeForm");
            let status = text(todo, "status").unwrap_or_default();
            Some(entry(&text(todo, "content")?, active.as_deref(), &status))
        };
        Some(Plan::new(todos.iter().filter_map(entry).take(MAX_ENTRIES).collect()))
    }

    /// A call of another tool has returned: the id of a new task is in its output.
    pub(crate) fn returned(
        &mut self,
        name: &str,
        input: &Value,
        content: &str,
        structured: Option<&Value>,
    ) -> Option<Plan> {
        match name {
            "TaskCreate" => {
                let named =
                    || content.strip_prefix("Task #")?.split_whitespace().next().map(str::to_owned);
                let id = structured.and_then(|it| text(it.get("task")?, "id")).or_else(named)?;
                let subject = text(input, "subject")?;
                if self.0.len() < MAX_ENTRIES && self.0.iter().all(|task| task.id != id) {
                    let status = "pending".to_owned();
                    self.0.push(Task { id, subject, active: text(input, "activeForm"), status });
                }
            }
            "TaskUpdate" => {
                let id = text(input, "taskId")?;
                if text(input, "status").as_deref() == Some("deleted") {
                    self.0.retain(|task| task.id != id);
                } else {
                    let task = self.0.iter_mut().find(|task| task.id == id)?;
                    task.status = text(input, "status").unwrap_or_else(|| task.status.clone());
                    task.subject = text(input, "subject").unwrap_or_else(|| task.subject.clone());
                    task.active = text(input, "activeForm").or_else(|| task.active.clone());
                }
            }
            "TaskList" => {
                let listed = structured?.get("tasks")?.as_array()?;
                let old = std::mem::take(&mut self.0);
                let active = |id: &str| {
                    old.iter().find(|task| task.id == id).and_then(|task| task.active.clone())
                };
                let task = |task: &Value| {
                    let id = text(task, "id")?;
                    Some(Task {
                        active: active(&id),
                        subject: text(task, "subject")?,
                        status: text(task, "status")?,
                        id,
                    })
                };
                self.0 = listed.iter().filter_map(task).take(MAX_ENTRIES).collect();
            }
            _ => return None,
        }
        let entries =
            self.0.iter().map(|task| entry(&task.subject, task.active.as_deref(), &task.status));
        Some(Plan::new(entries.collect()))
    }
}

fn entry(subject: &str, active: Option<&str>, status: &str) -> PlanEntry {
    let status = match status {
        "in_progress" => PlanEntryStatus::InProgress,
        "completed" => PlanEntryStatus::Completed,
        _ => PlanEntryStatus::Pending,
    };
    let shown = active.filter(|_| status == PlanEntryStatus::InProgress).unwrap_or(subject);
    PlanEntry::new(shown, PlanEntryPriority::Medium, status)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_todo_list_is_a_plan() {
        let plan = Tasks::default().called(
            "TodoWrite",
            &json!({ "todos": [
            { "content": "Read", "status": "completed", "activeForm": "Reading" },
            { "content": "Write", "status": "in_progress", "activeForm": "Writing" } ] }),
        );
        let entries = plan.unwrap().entries;
        assert_eq!(entries[0].status, PlanEntryStatus::Completed);
        assert_eq!(entries[1].content, "Writing");
    }

    #[test]
    fn tasks_are_created_updated_and_deleted() {
        let mut tasks = Tasks::default();
        let input = json!({ "subject": "Test it", "activeForm": "Testing" });
        let text = "Task #1 created successfully: Test it";
        assert_eq!(tasks.returned("TaskCreate", &input, text, None).unwrap().entries.len(), 1);
        let input = json!({ "taskId": "1", "status": "in_progress" });
        let plan = tasks.returned("TaskUpdate", &input, "", None).unwrap();
        assert_eq!(
            (plan.entries[0].content.as_str(), plan.entries[0].status.clone()),
            ("Testing", PlanEntryStatus::InProgress)
        );
        let input = json!({ "taskId": "1", "status": "deleted" });
        assert!(tasks.returned("TaskUpdate", &input, "", None).unwrap().entries.is_empty());
    }
}
