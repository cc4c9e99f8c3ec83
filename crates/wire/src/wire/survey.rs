//! [`Survey`]: a walk over a message that reports what is not understood.

use crate::text::Text;

/// What a [`Survey`] found at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding<'a> {
    /// An unknown field.
    UnknownField,
    /// An object of an unknown kind.
    UnknownTag {
        /// The field that names the kind: `type`, `subtype`, `hook_event_name`…
        name: &'static str,
        /// The value.
        tag: &'a Text,
    },
    /// An unknown word of a fixed vocabulary.
    UnknownWord(&'a Text),
    /// A form that only the legacy descriptions of the protocol have.
    Legacy,
}

/// Walks a message and reports each [`Finding`] with its path, such as
/// `message.content[].mood`.
///
/// ```
/// use duologue_wire::{Line, Survey};
///
/// let line = Line::from(r#"{"type":"keep_alive","mood":"bright"}"#);
/// let decoded = line.to_host();
/// let mut paths = Vec::new();
/// Survey::of(decoded.message().unwrap(), |path, _| paths.push(path.to_owned()));
/// assert_eq!(paths, ["mood"]);
/// ```
pub struct Survey<'r> {
    path: String,
    report: &'r mut dyn FnMut(&str, Finding<'_>),
}

impl std::fmt::Debug for Survey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Survey").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Survey<'_> {
    /// Walks `value` and calls `report` for each finding.
    pub fn of<T: super::Wire>(value: &T, mut report: impl FnMut(&str, Finding<'_>)) {
        value.survey(&mut Survey { path: String::new(), report: &mut report });
    }

    #[doc(hidden)]
    pub fn within(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        visit(self);
        self.path.truncate(length);
    }

    pub(crate) fn within_elements(&mut self, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str("[]");
        visit(self);
        self.path.truncate(length);
    }

    #[doc(hidden)]
    pub fn report(&mut self, finding: Finding<'_>) {
        (self.report)(&self.path, finding);
    }
}
