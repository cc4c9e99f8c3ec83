//! Which conversation: one choice.

use crate::id::{SessionId, Uuid};

/// Which conversation the agent holds: one choice, since its flags exclude each other.
///
/// ```
/// use duologue_protocol::launch::{Conversation, Launch};
///
/// let id = "6f2b1c1e-93a5-4c0e-8a51-1d5d0a7f3c11";
/// let plan = Launch::new().conversation(Conversation::resume(id)).plan(None)?;
/// assert!(plan.args.iter().any(|arg| *arg == *format!("--resume={id}")));
/// # Ok::<(), duologue_protocol::launch::LaunchError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Conversation {
    /// A new one. The CLI chooses its id.
    #[default]
    New,
    /// A new one with this id, a UUID that no session has yet.
    NewWithId(SessionId),
    /// An old one, by its id or its title. It keeps its id.
    ///
    /// ```
    /// use duologue_protocol::launch::{Conversation, Cut};
    ///
    /// let cut = Some(Cut::after("a-message").drops("a-prompt"));
    /// let choice = Conversation::Resume { id: "an old title".into(), cut };
    /// ```
    Resume {
        /// Which.
        id: SessionId,
        /// Up to where.
        cut: Option<Cut>,
    },
    /// The old one with this id, a UUID; if there is none, a new one with this id.
    ///
    /// The plan has `--resume`. If the agent answers that the conversation does not exist, the host starts [`Launch::fallback`](super::Launch::fallback).
    ResumeOrNew(SessionId),
    /// The newest one of the working directory.
    Continue,
    /// A copy of an old one, with an id of its own.
    Fork {
        /// Of which.
        of: SessionId,
        /// Up to where.
        cut: Option<Cut>,
        /// The id of the copy, a UUID. `None`: the CLI chooses.
        id: Option<SessionId>,
    },
    /// A copy of the newest one of the working directory.
    ForkContinue {
        /// The id of the copy, a UUID. `None`: the CLI chooses.
        id: Option<SessionId>,
    },
}

/// Where an old conversation is cut: what comes after is forgotten.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cut {
    /// The last message to keep.
    pub after: Uuid,
    /// The prompt of the turn that may be lost. The CLI refuses if more than that would be.
    pub drops_turn: Option<Uuid>,
}

impl Conversation {
    /// An old one, by its id or its title.
    pub fn resume(id: impl Into<SessionId>) -> Self {
        Self::Resume { id: id.into(), cut: None }
    }

    /// A copy of an old one.
    pub fn fork(of: impl Into<SessionId>) -> Self {
        Self::Fork { of: of.into(), cut: None, id: None }
    }

    /// A copy of the newest one of the working directory.
    pub const fn fork_continue() -> Self {
        Self::ForkContinue { id: None }
    }

    /// What to try if the conversation does not exist: only [`ResumeOrNew`](Self::ResumeOrNew) has it.
    #[must_use]
    pub fn fallback(&self) -> Option<Self> {
        match self {
            Self::ResumeOrNew(id) => Some(Self::NewWithId(id.clone())),
            _ => None,
        }
    }
}

impl Cut {
    /// Keep everything up to this message.
    pub fn after(message: impl Into<Uuid>) -> Self {
        Self { after: message.into(), drops_turn: None }
    }

    /// Drops only the turn of this prompt.
    #[must_use]
    pub fn drops(mut self, prompt: impl Into<Uuid>) -> Self {
        self.drops_turn = Some(prompt.into());
        self
    }
}
