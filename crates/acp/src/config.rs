//! Modes, models and effort of a session: what there is, and what is set.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use duologue_protocol::control::{InitializeReply, ModelInfo};
use duologue_protocol::permission::PermissionMode;

/// The ids of config options.
pub(crate) const MODE: &str = "mode";
pub(crate) const MODEL: &str = "model";
pub(crate) const EFFORT: &str = "effort";

/// The name of the model that is used if none is set.
const DEFAULT_MODEL: &str = "default";

/// The configuration of a session.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) mode: String,
    pub(crate) model: String,
    pub(crate) effort: Option<String>,
    models: Vec<ModelInfo>,
    bypass: bool,
}

/// The modes: id, name, description.
const MODES: [(&str, &str, &str); 6] = [
    ("default", "Ask", "Asks before tools that change something"),
    ("acceptEdits", "Accept edits", "Edits files without asking"),
    ("plan", "Plan", "Reads and plans, changes nothing"),
    ("dontAsk", "Do not ask", "Denies what is not allowed already"),
    ("auto", "Auto", "A classifier decides what needs a question"),
    ("bypassPermissions", "Bypass permissions", "Allows everything"),
];

impl Config {
    pub(crate) fn new(reply: Option<&InitializeReply>, bypass: bool) -> Self {
        let mode = reply
            .and_then(|it| it.current_permission_mode.value())
            .map(|mode| mode.as_str().to_owned());
        let models = reply.map(|it| it.models.items().to_vec()).unwrap_or_default();
        let mut config = Self {
            mode: mode.unwrap_or_else(|| "default".to_owned()),
            model: DEFAULT_MODEL.to_owned(),
            effort: None,
            models,
            bypass,
        };
        if let Some(model) = reply.and_then(|it| it.current_model.as_str()) {
            config.set_model(model);
        }
        if config.models.iter().all(|it| it.value.as_str() != Some(&config.model))
            && let Some(first) = config.models.first().and_then(|it| it.value.as_str())
        {
            config.model = first.to_owned();
        }
        config
    }

    fn info(&self) -> Option<&ModelInfo> {
        self.models.iter().find(|it| it.value.as_str() == Some(&self.model))
    }

    /// Sets the model by the name that the agent reports. True if that is a change.
    pub(crate) fn set_model(&mut self, model: &str) -> bool {
        let named = |it: &&ModelInfo| it.value.as_str() == Some(model);
        let resolved = |it: &&ModelInfo| it.resolved_model.as_str() == Some(model);
        // The default resolves to a model that may be in the list by its name too.
        let is_current = self.info().is_some_and(|it| resolved(&it) || named(&it));
        let found = self.models.iter().find(named).or_else(|| self.models.iter().find(resolved));
        match found.and_then(|it| it.value.as_str()) {
            Some(value) if !is_current && self.model != value => {
                self.model = value.to_owned();
                true
            }
            _ => false,
        }
    }

    /// Sets the mode that the agent reports. True if that is a change.
    pub(crate) fn set_mode(&mut self, mode: &PermissionMode) -> bool {
        let mode = match mode {
            PermissionMode::Manual => "default",
            other => other.as_str(),
        };
        let is_new = self.mode != mode;
        mode.clone_into(&mut self.mode);
        is_new
    }

    pub(crate) fn has_mode(&self, id: &str) -> bool {
        self.available_modes().any(|(mode, ..)| mode == id)
    }

    pub(crate) fn has_model(&self, id: &str) -> bool {
        self.models.iter().any(|it| it.value.as_str() == Some(id))
    }

    /// The efforts of the current model.
    pub(crate) fn efforts(&self) -> Vec<String> {
        let levels = self.info().map(|it| it.supported_effort_levels.items()).unwrap_or_default();
        levels.iter().map(|level| level.as_str().to_owned()).collect()
    }

    fn available_modes(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let auto = self.info().is_some_and(|it| it.supports_auto_mode.is_true());
        MODES.into_iter().filter(move |(id, ..)| match *id {
            "auto" => auto || self.mode == "auto",
            "bypassPermissions" => self.bypass || self.mode == "bypassPermissions",
            _ => true,
        })
    }

    pub(crate) fn modes(&self) -> SessionModeState {
        let modes = self.available_modes().map(|(id, name, description)| {
            SessionMode::new(id, name).description(Some(description.to_owned()))
        });
        SessionModeState::new(self.mode.clone(), modes.collect())
    }

    pub(crate) fn options(&self) -> Vec<SessionConfigOption> {
        let choice = |value: &str, name: &str, description: Option<&str>| {
            SessionConfigSelectOption::new(value.to_owned(), name)
                .description(description.map(str::to_owned))
        };
        let modes: Vec<_> = self
            .available_modes()
            .map(|(id, name, description)| choice(id, name, Some(description)))
            .collect();
        let mut options = vec![
            SessionConfigOption::select(MODE, "Mode", self.mode.clone(), modes)
                .description(Some("What the agent may do without asking".to_owned()))
                .category(Some(SessionConfigOptionCategory::Mode)),
        ];
        let models: Vec<_> = self
            .models
            .iter()
            .filter_map(|it| {
                let value = it.value.as_str()?;
                Some(choice(
                    value,
                    it.display_name.as_str().unwrap_or(value),
                    it.description.as_str(),
                ))
            })
            .collect();
        if !models.is_empty() {
            options.push(
                SessionConfigOption::select(MODEL, "Model", self.model.clone(), models)
                    .category(Some(SessionConfigOptionCategory::Model)),
            );
        }
        let efforts = self.efforts();
        if !efforts.is_empty() {
            let mut levels = vec![choice(DEFAULT_EFFORT, "Default", None)];
            levels.extend(efforts.iter().map(|level| choice(level, &capitalized(level), None)));
            let current = self.effort.clone().unwrap_or_else(|| DEFAULT_EFFORT.to_owned());
            options.push(
                SessionConfigOption::select(EFFORT, "Effort", current, levels)
                    .category(Some(SessionConfigOptionCategory::ThoughtLevel)),
            );
        }
        options
    }
}

/// The effort that the agent chooses.
pub(crate) const DEFAULT_EFFORT: &str = "default";

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;

    use super::*;

    fn reply() -> InitializeReply {
        InitializeReply::from_json(
            r#"{"models":[{"value":"default","resolvedModel":"opus-9","displayName":"Default"},
            {"value":"haiku","resolvedModel":"haiku-9","supportedEffortLevels":["low","high"]}],
            "current_model":"opus-9","current_permission_mode":"plan"}"#,
        )
        .unwrap()
    }

    #[test]
    fn what_the_agent_reports_is_offered() {
        let mut config = Config::new(Some(&reply()), false);
        assert_eq!((config.mode.as_str(), config.model.as_str()), ("plan", "default"));
        assert_eq!(config.options().len(), 2);
        assert!(config.set_model("haiku"));
        assert_eq!(config.options().len(), 3);
        assert!(!config.has_mode("bypassPermissions") && config.has_mode("plan"));
    }

    #[test]
    fn an_agent_without_a_handshake_has_modes_only() {
        let config = Config::new(None, true);
        assert_eq!(config.options().len(), 1);
        assert!(config.has_mode("bypassPermissions"));
    }
}
