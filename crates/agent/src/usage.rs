//! What was used and what it cost.

use std::collections::BTreeMap;

use duologue_protocol::message::{
    CacheCreation, CostBasis, ModelUsage, OutputTokensDetails, ServerToolUsage, Usage,
};
use duologue_protocol::{Field, Map, Number, RawJson, Text};
use serde_json::{Value, json};

use crate::clock;

/// Tokens and money of a session, by model.
#[derive(Clone, Debug, Default)]
pub struct UsageTotals {
    by_model: BTreeMap<Text, Share>,
    /// The same, since the last result.
    since: BTreeMap<Text, Share>,
    pub(crate) api_millis: u64,
    /// What was spent before this process resumed the conversation.
    before: f64,
    /// When the conversation began, in milliseconds, and how long it had lasted when this process resumed it.
    began: Option<u64>,
    lasted: u64,
    /// When this process first spent something.
    since_when: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cache_5m: u64,
    cache_1h: u64,
    thinking: u64,
    searches: u64,
    cost: f64,
}

impl UsageTotals {
    /// Adds what a message of a model used and cost.
    pub fn add(&mut self, model: &Text, usage: &Usage, cost_usd: f64) {
        let now = clock::millis();
        self.began.get_or_insert(now);
        self.since_when.get_or_insert(now);
        for shares in [&mut self.by_model, &mut self.since] {
            let share = shares.entry(model.clone()).or_default();
            share.input += usage.input_tokens.as_u64().unwrap_or_default();
            share.output += usage.output_tokens.as_u64().unwrap_or_default();
            share.cache_read += usage.cache_read_input_tokens.as_u64().unwrap_or_default();
            share.cache_write += usage.cache_creation_input_tokens.as_u64().unwrap_or_default();
            if let Some(cache) = usage.cache_creation.value() {
                share.cache_5m += cache.ephemeral_5m_input_tokens.as_u64().unwrap_or_default();
                share.cache_1h += cache.ephemeral_1h_input_tokens.as_u64().unwrap_or_default();
            }
            if let Some(details) = usage.output_tokens_details.value() {
                share.thinking += details.thinking_tokens.as_u64().unwrap_or_default();
            }
            if let Some(tools) = usage.server_tool_use.value() {
                share.searches += tools.web_search_requests.as_u64().unwrap_or_default();
            }
            share.cost += cost_usd;
        }
    }

    /// How long the API took to answer, in milliseconds.
    pub const fn api_millis(&self) -> u64 {
        self.api_millis
    }

    /// What the conversation cost.
    pub fn cost_usd(&self) -> f64 {
        // Not `sum`: of nothing, that is minus zero.
        self.by_model.values().fold(0.0, |total, share| total + share.cost)
    }

    /// What this process usage: Budgets count this.
    pub fn process_cost_usd(&self) -> f64 {
        self.cost_usd() - self.before
    }

    /// The form in transcripts, in the fields of the CLI. Lines and the time of tools are not counted.
    pub fn to_transcript(&self) -> Value {
        let now = clock::millis();
        let here = now.saturating_sub(self.since_when.unwrap_or(now));
        let models = self.by_model.iter().map(|(model, share)| {
            let kept = json!({
                "inputTokens": share.input, "outputTokens": share.output,
                "thinkingTokens": share.thinking, "cacheReadInputTokens": share.cache_read,
                "cacheCreationInputTokens": share.cache_write,
                "cacheCreationEphemeral5mInputTokens": share.cache_5m,
                "cacheCreationEphemeral1hInputTokens": share.cache_1h,
                "webSearchRequests": share.searches, "costUSD": share.cost,
            });
            (model.as_str().to_owned(), kept)
        });
        json!({
            "totalCostUSD": self.cost_usd(), "totalAPIDuration": self.api_millis,
            "totalAPIDurationWithoutRetries": self.api_millis, "totalToolDuration": 0,
            "totalLinesAdded": 0, "totalLinesRemoved": 0,
            "totalDuration": self.lasted + here, "startTime": self.began.unwrap_or(now),
            "modelUsage": models.collect::<serde_json::Map<_, _>>(),
            "hasUnknownModelCost": self.by_model.values().any(Share::is_unpriced),
        })
    }

    /// From the form in transcripts.
    pub fn from_transcript(kept: &Value) -> Self {
        let mut usage = Self {
            api_millis: kept["totalAPIDuration"].as_u64().unwrap_or_default(),
            began: kept["startTime"].as_u64(),
            lasted: kept["totalDuration"].as_u64().unwrap_or_default(),
            ..Self::default()
        };
        for (model, kept) in kept["modelUsage"].as_object().into_iter().flatten() {
            let count = |name: &str| kept[name].as_u64().unwrap_or_default();
            let share = Share {
                input: count("inputTokens"),
                output: count("outputTokens"),
                cache_read: count("cacheReadInputTokens"),
                cache_write: count("cacheCreationInputTokens"),
                cache_5m: count("cacheCreationEphemeral5mInputTokens"),
                cache_1h: count("cacheCreationEphemeral1hInputTokens"),
                thinking: count("thinkingTokens"),
                searches: count("webSearchRequests"),
                cost: kept["costUSD"].as_f64().unwrap_or_default(),
            };
            usage.by_model.insert(Text::from(model.as_str()), share);
        }
        usage.before = usage.cost_usd();
        usage
    }

    /// What each model used.
    pub fn model_usage(&self) -> Map<ModelUsage> {
        model_usage(&self.by_model)
    }

    pub(crate) fn take_since(&mut self) -> Map<ModelUsage> {
        model_usage(&std::mem::take(&mut self.since))
    }
}

impl Share {
    /// Whether it was used and cost nothing: its price is unknown.
    fn is_unpriced(&self) -> bool {
        self.cost == 0.0 && self.input + self.output + self.cache_read + self.cache_write > 0
    }
}

fn model_usage(shares: &BTreeMap<Text, Share>) -> Map<ModelUsage> {
    let usage = |(model, share): (&Text, &Share)| {
        let (window, most) = model_limits(model);
        let usage = ModelUsage::new()
            .input_tokens(share.input)
            .output_tokens(share.output)
            .cache_read_input_tokens(share.cache_read)
            .cache_creation_input_tokens(share.cache_write)
            .web_search_requests(share.searches)
            .thinking_tokens(share.thinking)
            .cache_creation_ephemeral_5m_input_tokens(share.cache_5m)
            .cache_creation_ephemeral_1h_input_tokens(share.cache_1h)
            .cost_usd(share.cost)
            .context_window(window)
            .max_output_tokens(most)
            .canonical_model(model)
            .cost_basis(if share.is_unpriced() { CostBasis::Unknown } else { CostBasis::List });
        (model.clone(), usage)
    };
    shares.iter().map(usage).collect()
}

/// The context window of a model and the longest answer, in tokens, as the CLI reports them.
pub fn model_limits(model: &str) -> (u64, u64) {
    const LARGE: [&str; 4] =
        ["claude-opus-5", "claude-sonnet-5", "claude-haiku-5", "claude-fable-5"];
    let is_large = LARGE.iter().any(|name| model.starts_with(name));
    match (is_large, model) {
        (true, "claude-sonnet-5") => (1_000_000, 64_000),
        (true, _) => (1_000_000, 128_000),
        (false, _) => (200_000, 32_000),
    }
}

/// A usage of nothing, with the fields that the real one always has.
pub(crate) fn nothing() -> Usage {
    Usage::new()
        .input_tokens(0_u64)
        .cache_creation_input_tokens(0_u64)
        .cache_read_input_tokens(0_u64)
        .output_tokens(0_u64)
        .output_tokens_details(OutputTokensDetails::new().thinking_tokens(0_u64))
        .server_tool_use(
            ServerToolUsage::new().web_search_requests(0_u64).web_fetch_requests(0_u64),
        )
        .service_tier("standard")
        .cache_creation(
            CacheCreation::new().ephemeral_1h_input_tokens(0_u64).ephemeral_5m_input_tokens(0_u64),
        )
        .inference_geo("")
        .iterations(RawJson::from(json!([])))
        .speed("standard")
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
    if let (Some(total), Some(more)) =
        (total.cache_creation.value_mut(), more.cache_creation.value())
    {
        sum(&mut total.ephemeral_1h_input_tokens, &more.ephemeral_1h_input_tokens);
        sum(&mut total.ephemeral_5m_input_tokens, &more.ephemeral_5m_input_tokens);
    }
    if let (Some(total), Some(more)) =
        (total.server_tool_use.value_mut(), more.server_tool_use.value())
    {
        sum(&mut total.web_search_requests, &more.web_search_requests);
        sum(&mut total.web_fetch_requests, &more.web_fetch_requests);
    }
    if let (Some(total), Some(more)) =
        (total.output_tokens_details.value_mut(), more.output_tokens_details.value())
    {
        sum(&mut total.thinking_tokens, &more.thinking_tokens);
    }
}
