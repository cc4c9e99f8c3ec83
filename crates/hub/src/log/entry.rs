//! [`Entry`]: one record of a session's log.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::id::SessionId;

/// The kind of the entry that begins a generation.
pub const OWNER: &str = "sessions.owner";

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Origin {
    /// A user of the hub.
    User,
    /// The agent.
    Agent,
    /// The hub itself.
    Hub,
    /// Another client, which published the entry.
    External,
}

impl Origin {
    pub(crate) const ALL: [Self; 4] = [Self::User, Self::Agent, Self::Hub, Self::External];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Hub => "hub",
            Self::External => "external",
        }
    }
}

/// What an entry is about: a family and what happened, such as `prompts.accepted`. `x.` is for clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Kind(#[serde(serialize_with = "shared")] Arc<str>);

fn shared<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// A kind has 1 to 64 letters, digits, `_`, `-` and dots; letters are lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a kind has 1 to 64 of these: a-z, 0-9, _, - and dots")]
#[non_exhaustive]
pub struct KindError;

impl Kind {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Kind {
    type Error = KindError;

    fn try_from(text: &str) -> Result<Self, KindError> {
        let plain = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
        if text.is_empty() || text.len() > 64 || !text.bytes().all(plain) {
            return Err(KindError);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// JSON, byte for byte as it was given. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body(Arc<str>);

impl Body {
    /// Any value as JSON.
    ///
    /// # Errors
    ///
    /// If the value has no JSON.
    pub fn encode(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(|json| Self(json.into()))
    }

    /// A text that is JSON.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let value: &RawValue = serde_json::from_str(json)?;
        Ok(Self(value.get().into()))
    }

    /// A text that was checked when it was appended.
    pub(crate) fn trusted(json: &str) -> Self {
        Self(json.into())
    }

    /// The JSON.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        value.serialize(serializer)
    }
}

/// An entry that is to be appended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewEntry {
    /// Where it comes from.
    pub origin: Origin,
    /// The id of the token of the client that caused it.
    pub by: Option<Arc<str>>,
    /// What it is about.
    pub kind: Kind,
    /// The rest.
    pub body: Body,
}

impl NewEntry {
    /// An entry that no client caused.
    ///
    /// # Errors
    ///
    /// If the kind is not valid.
    pub fn new(kind: &str, origin: Origin, body: Body) -> Result<Self, KindError> {
        Ok(Self { origin, by: None, kind: Kind::try_from(kind)?, body })
    }

    /// The entry that begins a generation.
    pub fn owner(body: Body) -> Self {
        Self { origin: Origin::Hub, by: None, kind: Kind(OWNER.into()), body }
    }

    /// Sets which client caused it.
    #[must_use]
    pub fn by(mut self, token: Option<Arc<str>>) -> Self {
        self.by = token;
        self
    }
}

/// One record of a session's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// Its number within the session: 1, 2, 3, … without gaps, never reused.
    pub seq: u64,
    /// When it was appended, in milliseconds since 1970, by the clock of the hub. Entries are ordered by `seq`, not by time.
    pub time: u64,
    /// The session.
    pub session: SessionId,
    /// The generation of the owner that appended it.
    pub generation: u64,
    /// Where it comes from.
    pub origin: Origin,
    /// The id of the token of the client that caused it.
    #[serde(serialize_with = "by", skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// What it is about.
    pub kind: Kind,
    /// The rest.
    pub body: Body,
}

fn by<S: Serializer>(by: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    by.as_deref().serialize(serializer)
}

impl Entry {
    pub(crate) fn new(
        session: SessionId,
        generation: u64,
        seq: u64,
        time: u64,
        entry: NewEntry,
    ) -> Self {
        let NewEntry { origin, by, kind, body } = entry;
        Self { seq, time, session, generation, origin, by, kind, body }
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
