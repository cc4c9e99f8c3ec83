//! Reads scenarios from files.

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
    /// It is not TOML, or not a scenario.
    #[error("not a scenario in TOML: {0}")]
    Toml(#[source] Box<toml::de::Error>),
    /// It is not JSON, or not a scenario.
    #[error("not a scenario in JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// It is well-formed, but contradictory.
    #[error("{place}: {problem}")]
    #[non_exhaustive]
    Invalid {
        /// Which part. Replies are counted from 1.
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
    /// If it cannot be read, or is not a valid scenario.
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
    /// If it is not a valid scenario.
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
    /// If it is not a valid scenario.
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
    /// If it is not a valid scenario.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_json::from_str(text).map_err(ScenarioError::Json)?;
        scenario.check()?;
        Ok(scenario)
    }
}

/// The JSON Schema of a scenario file, in TOML or JSON, for editors and generators.
///
/// ```
/// let schema = duologue_model::schema();
/// assert_eq!(schema["title"], "Scenario");
/// ```
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Scenario).to_value()
}
