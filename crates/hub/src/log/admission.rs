//! The rules that every log enforces, in one place: numbering, fencing, and what is kept after retention.

use super::{AppendError, Batch, MAX_BODY, OWNER, ReadError};

/// Where the log of a session begins and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The number of the first entry that is kept.
    pub first: u64,
    /// The number of the last entry.
    pub last: u64,
    /// The generation of the owner.
    pub generation: u64,
}

impl Head {
    /// Checks a batch. Returns the head after it. The head of a session that does not exist is the default.
    pub(crate) fn admit(self, batch: &Batch) -> Result<Self, AppendError> {
        let Some(entry) = batch.entries.first() else {
            return Err(AppendError::Invalid("it has no entries"));
        };
        if batch.entries.iter().skip(1).any(|entry| entry.kind.as_str() == OWNER) {
            return Err(AppendError::Invalid("only its first entry can be that of an owner"));
        }
        if let Some(bytes) =
            batch.entries.iter().map(|entry| entry.body.as_str().len()).find(|len| *len > MAX_BODY)
        {
            return Err(AppendError::TooLarge { bytes });
        }
        let (generation, current) = (batch.generation, self.generation);
        let is_owner = entry.kind.as_str() == OWNER;
        if self.last == 0 && !is_owner {
            return Err(AppendError::NoSession(batch.session));
        }
        let expected = if is_owner { current + 1 } else { current };
        if generation < expected {
            return Err(AppendError::Fenced { generation, current });
        }
        if generation > expected {
            return Err(AppendError::Invalid(
                "a generation begins with the entry of its owner, and follows the one before",
            ));
        }
        let last = self.last + batch.entries.len() as u64;
        Ok(Self { first: self.first.max(1), last, generation })
    }

    /// Checks that the entries after `after` can be read.
    pub(crate) const fn readable(self, after: u64) -> Result<(), ReadError> {
        if after > self.last {
            return Err(ReadError::Ahead { head: self.last });
        }
        if after + 1 < self.first {
            return Err(ReadError::Gone { first: self.first });
        }
        Ok(())
    }

    /// The head after entries before `from` are removed.
    pub(crate) fn retain(self, from: u64) -> Result<Self, AppendError> {
        if from > self.last {
            return Err(AppendError::Invalid("the last entry of a session cannot be removed"));
        }
        Ok(Self { first: from.max(self.first), ..self })
    }
}
