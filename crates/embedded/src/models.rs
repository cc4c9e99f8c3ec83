//! Which model answers.

use std::path::Path;
use std::sync::Arc;

use duologue_model::{
    MessagesModelBuilder, Model, OfflineModel, Retrying, Scenario, ScriptedModel,
};
use duologue_protocol::Text;
use duologue_protocol::control::ModelInfo;

/// The model of the CLI whose forms are spoken here.
const DEFAULT: &str = "claude-opus-5-5";

/// A model, and its default name.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) model: Arc<dyn Model>,
    pub(super) name: String,
    /// Where the key comes from, for `init`.
    pub(super) key_source: &'static str,
    /// What a scenario wants to go wrong.
    pub(super) fault: Option<String>,
}

/// Chooses: a scenario, else a Messages API if there is a key for one, else the offline model.
pub(super) fn choose(
    scenario: Option<&str>,
    folder: &Path,
    betas: &[String],
    var: impl Fn(&str) -> Option<String>,
) -> Result<Chosen, String> {
    let set = |name: &str| var(name).filter(|value| !value.trim().is_empty());
    let named = set("ANTHROPIC_MODEL").map(|name| full_name(&name));
    let named = named.unwrap_or_else(|| DEFAULT.to_owned());
    if let Some(path) = scenario.map(str::to_owned).or_else(|| set("DUOLOGUE_SCENARIO")) {
        let scenario = Scenario::read(&path).map_err(|error| error.to_string())?;
        // A resumed conversation must not have the same ids again.
        let word = uuid::Uuid::new_v4().simple().to_string();
        let word = word.get(..8).unwrap_or_default().to_owned();
        let name = scenario.model.clone().unwrap_or(named);
        let fault = scenario.fault.clone();
        let script = ScriptedModel::new(scenario).map_err(|error| format!("{path}: {error}"))?;
        let model = Retrying::new(script.ids(word)).from_vars(var);
        return Ok(Chosen { model: Arc::new(model), name, key_source: "none", fault });
    }
    let has_token = set("ANTHROPIC_AUTH_TOKEN").is_some();
    let has_key = set("ANTHROPIC_API_KEY").is_some();
    if has_key || has_token || set("ANTHROPIC_BASE_URL").is_some() {
        let all = |name: &str| match name {
            "ANTHROPIC_BETAS" => {
                let given = var(name).into_iter().chain(betas.iter().cloned());
                Some(given.collect::<Vec<_>>().join(","))
            }
            _ => var(name),
        };
        let builder = MessagesModelBuilder::from_vars(all);
        let model = builder.build().map_err(|error| error.to_string())?;
        let model = Retrying::new(model).from_vars(var);
        let key_source = if has_key { "ANTHROPIC_API_KEY" } else { "none" };
        return Ok(Chosen { model: Arc::new(model), name: named, key_source, fault: None });
    }
    let model = OfflineModel::new().folder(folder.to_string_lossy());
    let name = OfflineModel::NAME.to_owned();
    Ok(Chosen { model: Arc::new(model), name, key_source: "none", fault: None })
}

/// The levels of effort.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// The models that a person can choose, the default first.
pub(super) fn models(usual: &str) -> Vec<ModelInfo> {
    let model = |value: &str, name: &str, resolved: &str| {
        ModelInfo::new()
            .value(value)
            .resolved_model(resolved)
            .display_name(name)
            .description(resolved)
            .supports_effort(super::reasoning::supports_effort(resolved))
            .supported_effort_levels(EFFORTS.map(Text::from))
            .supports_adaptive_thinking(super::reasoning::thinks_adaptively(resolved))
    };
    let mut models = vec![model("default", "Default (recommended)", usual)];
    for (value, name) in
        [("opus", "Opus"), ("fable", "Fable"), ("sonnet", "Sonnet"), ("haiku", "Haiku")]
    {
        models.push(model(value, name, &full_name(value)));
    }
    models
}

/// The name of a model, for an alias as people type it.
pub(super) fn full_name(name: &str) -> String {
    let (variable, usual) = match name {
        "default" => ("ANTHROPIC_MODEL", DEFAULT),
        "opus" => ("ANTHROPIC_DEFAULT_OPUS_MODEL", DEFAULT),
        "sonnet" => ("ANTHROPIC_DEFAULT_SONNET_MODEL", "claude-sonnet-5-5"),
        "haiku" => ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-haiku-5-5"),
        "fable" => ("ANTHROPIC_DEFAULT_FABLE_MODEL", "claude-fable-5-2"),
        other => return other.to_owned(),
    };
    std::env::var(variable).unwrap_or_else(|_| usual.to_owned())
}

/// What people call a model: `Opus 5.5` for `claude-opus-5-5`.
pub(super) fn title(model: &str) -> String {
    let words: Vec<&str> = model.strip_prefix("claude-").unwrap_or(model).split('-').collect();
    let is_number = |word: &&&str| word.len() < 3 && word.chars().all(|c| c.is_ascii_digit());
    let version: Vec<&str> = words.iter().filter(is_number).copied().collect();
    let mut name = words.first().copied().unwrap_or_default().to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if version.is_empty() { name } else { format!("{name} {}", version.join(".")) }
}
