//! [`Work`]: the tasks in the background.

use std::collections::HashSet;

/// The subagents and workflows in the background, by task id. Commands in the background do not keep the conversation open,
/// so they are not included.
#[derive(Debug, Default)]
pub(crate) struct Work(HashSet<String>);

/// How many tasks are followed. Further ones are ignored.
const MOST: usize = 4096;

impl Work {
    pub(super) fn started(&mut self, task: &str) {
        if self.0.len() < MOST {
            self.0.insert(task.to_owned());
        }
    }

    pub(super) fn ended(&mut self, task: &str) {
        self.0.remove(task);
    }

    pub(super) fn replace(&mut self, tasks: &[String]) {
        self.0 = tasks.iter().take(MOST).cloned().collect();
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
