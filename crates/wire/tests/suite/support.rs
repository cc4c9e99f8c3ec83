//! What these tests share.

use duologue_wire::{Finding, Survey, Wire};

/// Everything in the message that is unknown, as `path: what`.
pub(crate) fn unknowns<T: Wire>(message: &T) -> Vec<String> {
    let mut found = Vec::new();
    Survey::of(message, |path, finding| {
        if finding != Finding::Legacy {
            found.push(format!("{path}: {finding:?}"));
        }
    });
    found
}

/// The paths at which the message uses legacy forms.
pub(crate) fn legacy_paths<T: Wire>(message: &T) -> Vec<String> {
    let mut found = Vec::new();
    Survey::of(message, |path, finding| {
        if finding == Finding::Legacy {
            found.push(path.to_owned());
        }
    });
    found
}
