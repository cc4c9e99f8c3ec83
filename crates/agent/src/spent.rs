//! What was used and what it cost.

use std::collections::BTreeMap;

use duologue_protocol::message::{CostBasis, ModelUsage, Usage};
use duologue_protocol::{Field, Map, Number, Text};

/// Tokens and money of a session, by model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spent {
    by_model: BTreeMap<Text, Share>,
    /// The same, since the last result.
    since: BTreeMap<Text, Share>,
    pub(crate) api_millis: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cost: f64,
}

impl Spent {
    pub(crate) fn add(&mut self, model: &Text, usage: &Usage, cost_usd: f64) {
        for shares in [&mut self.by_model, &mut self.since] {
            let share = shares.entry(model.clone()).or_default();
            share.input += usage.input_tokens.as_u64().unwrap_or_default();
            share.output += usage.output_tokens.as_u64().unwrap_or_default();
            share.cache_read += usage.cache_read_input_tokens.as_u64().unwrap_or_default();
            share.cache_write += usage.cache_creation_input_tokens.as_u64().unwrap_or_default();
            share.cost += cost_usd;
        }
    }

    pub(crate) fn cost_usd(&self) -> f64 {
        // Not `sum`: of nothing, that is minus zero.
        self.by_model.values().fold(0.0, |total, share| total + share.cost)
    }

    pub(crate) fn model_usage(&self) -> Map<ModelUsage> {
        told(&self.by_model)
    }

    pub(crate) fn take_since(&mut self) -> Map<ModelUsage> {
        told(&std::mem::take(&mut self.since))
    }
}

fn told(shares: &BTreeMap<Text, Share>) -> Map<ModelUsage> {
    let usage = |(model, share): (&Text, &Share)| {
        let (window, most) = limits(model);
        let usage = ModelUsage::new()
            .input_tokens(share.input)
            .output_tokens(share.output)
            .cache_read_input_tokens(share.cache_read)
            .cache_creation_input_tokens(share.cache_write)
            .web_search_requests(0_u64)
            .cost_usd(share.cost)
            .context_window(window)
            .max_output_tokens(most)
            .canonical_model(model)
            .cost_basis(CostBasis::List);
        (model.clone(), usage)
    };
    shares.iter().map(usage).collect()
}

/// How many tokens a conversation with a model may have, and one answer of it, as the CLI tells it.
pub(crate) fn limits(model: &str) -> (u64, u64) {
    let is_large = ["claude-opus-5", "claude-sonnet-5"].iter().any(|name| model.starts_with(name));
    if is_large { (1_000_000, 128_000) } else { (200_000, 32_000) }
}

/// A usage of nothing, with the fields that the real one always has.
pub(crate) fn nothing() -> Usage {
    Usage::new()
        .input_tokens(0_u64)
        .cache_creation_input_tokens(0_u64)
        .cache_read_input_tokens(0_u64)
        .output_tokens(0_u64)
        .service_tier("standard")
}

/// Adds what one message used.
pub(crate) fn add(total: &mut Usage, more: &Usage) {
    let sum = |total: &mut Field<Number>, more: &Field<Number>| {
        let sum = total.as_u64().unwrap_or_default() + more.as_u64().unwrap_or_default();
        *total = Field::Value(Number::from(sum));
    };
    sum(&mut total.input_tokens, &more.input_tokens);
    sum(&mut total.output_tokens, &more.output_tokens);
    sum(&mut total.cache_creation_input_tokens, &more.cache_creation_input_tokens);
    sum(&mut total.cache_read_input_tokens, &more.cache_read_input_tokens);
}
