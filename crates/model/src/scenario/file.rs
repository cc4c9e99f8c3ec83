//! Scenarios in files.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Scenario;

/// Why a scenario cannot be used: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read the scenario {}: {source}", .path.display())]
    #[non_exhaustive]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no TOML, or not the TOML of a scenario.
    #[error("this is no scenario in TOML: {0}")]
    Toml(#[source] Box<toml::de::Error>),
    /// It is no JSON, or not the JSON of a scenario.
    #[error("this is no scenario in JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// It is well-formed, and makes no sense.
    #[error("{place}: {problem}")]
    #[non_exhaustive]
    Senseless {
        /// Which part of it. Replies are counted from 1.
        place: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// One of the above, in this file.
    #[error("{}: {source}", .path.display())]
    #[non_exhaustive]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Self>,
    },
}

impl Scenario {
    /// Reads a file: JSON if it begins with `{`, TOML otherwise.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no scenario, or makes no sense.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let path = path.as_ref().to_owned();
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text)
                .map_err(|error| ScenarioError::InFile { path, source: Box::new(error) }),
            Err(source) => Err(ScenarioError::Unreadable { path, source }),
        }
    }

    /// Reads JSON if it begins with `{`, and TOML otherwise.
    ///
    /// # Errors
    ///
    /// If it is no scenario, or makes no sense.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        // No TOML document begins with a brace.
        if text.trim_start().starts_with('{') {
            Self::from_json(text)
        } else {
            Self::from_toml(text)
        }
    }

    /// Reads TOML.
    ///
    /// # Errors
    ///
    /// If it is no scenario, or makes no sense.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self =
            toml::from_str(text).map_err(|error| ScenarioError::Toml(Box::new(error)))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Reads JSON.
    ///
    /// # Errors
    ///
    /// If it is no scenario, or makes no sense.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_json::from_str(text).map_err(ScenarioError::Json)?;
        scenario.check()?;
        Ok(scenario)
    }
}

/// The JSON Schema of a scenario's file, in TOML or JSON, for editors and for those who write such files with programs.
///
/// ```
/// let schema = duologue_model::schema();
/// assert_eq!(schema["title"], "Scenario");
/// ```
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Scenario).to_value()
}
