//! Work in the background.

use std::collections::HashSet;

/// Sub-agents and workflows in the background, by their task. A command in the background does not
/// keep the conversation open, so it is not in here.
#[derive(Debug, Default)]
pub(crate) struct Work(HashSet<String>);

/// How many tasks are followed. An agent that starts more is not followed any further.
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
