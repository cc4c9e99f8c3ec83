//! [`Reasoning`]: effort and thinking of the model, as the Messages API takes them.

use serde_json::{Value, json};

/// Effort and thinking of the model, from flags and the host. What is not set is not sent: not every API
/// supports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reasoning {
    /// `low`, `medium`, `high`, `xhigh` or `max`: `--effort`.
    pub effort: Option<String>,
    /// Whether it thinks before it answers: `--thinking`, `--max-thinking-tokens`.
    pub thinking: Option<Thinking>,
    /// What of it is shown: `--thinking-display`.
    pub display: Option<String>,
    /// How many tokens it may use for all of a task: `--task-budget`.
    pub task_budget: Option<u64>,
}

/// Whether a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// As long as it likes.
    Adaptive,
    /// Not at all.
    Disabled,
    /// With so many tokens at most.
    Budget(u64),
}

/// The betas that the API wants to be named, for what needs one.
const EFFORT_BETA: &str = "effort-2025-11-24";
const BUDGET_BETA: &str = "task-budgets-2026-03-13";

impl Reasoning {
    /// So many tokens of thinking: none for 0.
    pub(super) fn set_limit(&mut self, tokens: Option<u64>) {
        self.thinking = tokens.map(|tokens| match tokens {
            0 => Thinking::Disabled,
            tokens => Thinking::Budget(tokens),
        });
    }

    /// What the CLI asks for if nothing is set: a model that can, thinks as long as it likes, with medium effort.
    pub(super) fn set_defaults(&mut self) {
        if self.thinking.is_none() {
            self.thinking = Some(Thinking::Adaptive);
        }
        if self.effort.is_none() {
            self.effort = Some("medium".to_owned());
        }
    }

    /// The betas that it needs.
    pub(super) fn betas(&self) -> impl Iterator<Item = &'static str> {
        let effort = self.effort.is_some().then_some(EFFORT_BETA);
        effort.into_iter().chain(self.task_budget.is_some().then_some(BUDGET_BETA))
    }

    /// Adds it to a request, as far as this model supports it.
    pub(super) fn add_to(&self, model: &str, body: &mut Value) {
        let support = Support::of(model);
        if let Some(effort) = self.effort.as_ref().filter(|_| support.effort) {
            body["output_config"]["effort"] = json!(effort);
        }
        if let Some(total) = self.task_budget {
            body["output_config"]["task_budget"] = json!({ "type": "tokens", "total": total });
        }
        // The budget is part of what an answer may have.
        let most = body["max_tokens"].as_u64().unwrap_or_default().saturating_sub(1);
        let mut thinking = match (self.thinking, support.thinking) {
            // Without a setting, the model does not think.
            (None | Some(Thinking::Disabled), _) | (_, None) => return,
            (Some(_), Some(Way::Adaptive)) => json!({ "type": "adaptive" }),
            (Some(Thinking::Budget(tokens)), Some(Way::Budget)) => {
                json!({ "type": "enabled", "budget_tokens": tokens.min(most) })
            }
            (Some(Thinking::Adaptive), Some(Way::Budget)) => {
                json!({ "type": "enabled", "budget_tokens": most })
            }
        };
        if let Some(display) = &self.display {
            thinking["display"] = json!(display);
        }
        body["thinking"] = thinking;
    }
}

/// How a model takes a thinking setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Adaptive,
    Budget,
}

/// What a model supports, as the CLI has it. An unknown model counts as new.
#[derive(Clone, Copy, Debug)]
struct Support {
    effort: bool,
    thinking: Option<Way>,
}

impl Support {
    fn of(model: &str) -> Self {
        if model.contains("claude-3") {
            Self { effort: false, thinking: None }
        } else if model.contains("-4-5") {
            Self { effort: model.contains("opus"), thinking: Some(Way::Budget) }
        } else {
            Self { effort: true, thinking: Some(Way::Adaptive) }
        }
    }
}

/// Whether a model supports an effort.
pub(super) fn supports_effort(model: &str) -> bool {
    Support::of(model).effort
}

/// Whether a model decides itself how long it thinks.
pub(super) fn thinks_adaptively(model: &str) -> bool {
    Support::of(model).thinking == Some(Way::Adaptive)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Reasoning, Thinking};

    fn told(reasoning: &Reasoning, model: &str) -> Value {
        let mut body = json!({ "max_tokens": 32_000 });
        reasoning.add_to(model, &mut body);
        body
    }

    #[test]
    fn nothing_is_sent_that_nobody_said() {
        let body = json!({ "max_tokens": 32_000 });
        assert_eq!(told(&Reasoning::default(), "claude-opus-5-5"), body);
        let disabled = Reasoning { thinking: Some(Thinking::Disabled), ..Reasoning::default() };
        assert_eq!(told(&disabled, "claude-haiku-4-5"), body);
    }

    #[test]
    fn each_model_is_told_in_its_own_way() {
        let mut reasoning = Reasoning { effort: Some("low".to_owned()), ..Reasoning::default() };
        reasoning.set_limit(Some(5_000));
        let new = told(&reasoning, "claude-opus-5-5");
        assert_eq!(new["output_config"], json!({ "effort": "low" }));
        assert_eq!(new["thinking"], json!({ "type": "adaptive" }));
        let older = told(&reasoning, "claude-sonnet-4-5");
        assert_eq!(older["output_config"], Value::Null);
        assert_eq!(older["thinking"], json!({ "type": "enabled", "budget_tokens": 5_000 }));
        let oldest = told(&reasoning, "claude-3-5-haiku-latest");
        assert_eq!(oldest, json!({ "max_tokens": 32_000 }));
        reasoning.set_limit(Some(90_000));
        assert_eq!(told(&reasoning, "claude-opus-4-5")["thinking"]["budget_tokens"], 31_999);
        reasoning.set_limit(Some(0));
        assert_eq!(reasoning.thinking, Some(Thinking::Disabled));
    }

    #[test]
    fn a_task_has_a_budget_and_names_its_beta() {
        let reasoning = Reasoning { task_budget: Some(1_000), ..Reasoning::default() };
        let body = told(&reasoning, "any");
        assert_eq!(
            body["output_config"]["task_budget"],
            json!({ "type": "tokens", "total": 1_000 })
        );
        assert_eq!(reasoning.betas().collect::<Vec<_>>(), ["task-budgets-2026-03-13"]);
    }
}
