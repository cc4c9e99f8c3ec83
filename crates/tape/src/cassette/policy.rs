//! [`Record`]: when a cassette starts the real agent.

use std::ffi::OsStr;

use super::{CassetteError, RECORD};

/// When a [`Cassette`](super::Cassette) records, which starts the real agent.
///
/// The first of these decides:
///
/// 1. `DUOLOGUE_RECORD=never` in the environment;
/// 2. [`Cassette::record`](super::Cassette::record);
/// 3. `DUOLOGUE_RECORD=missing` or `always` in the environment (`1` means `always`);
/// 4. `CI` in the environment, unless it is empty, `0` or `false`: never;
/// 5. otherwise: if the tape is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record {
    /// Never. A tape that is missing is an error.
    Never,
    /// If there is no tape.
    Missing,
    /// Always, in place of the tape.
    Always,
}

/// The decision, and why nothing is recorded.
pub(super) fn policy(
    variable: Option<&OsStr>,
    ci: Option<&OsStr>,
    chosen: Option<Record>,
) -> Result<(Record, &'static str), CassetteError> {
    let text = variable.map(|value| value.to_string_lossy()).unwrap_or_default();
    let wanted = match text.as_ref() {
        "" | "0" => None,
        "never" => return Ok((Record::Never, "DUOLOGUE_RECORD is never")),
        "missing" => Some(Record::Missing),
        "always" | "1" => Some(Record::Always),
        other => return Err(CassetteError::BadVariable { value: other.to_owned() }),
    };
    if let Some(chosen) = chosen {
        return Ok((chosen, "the test says so"));
    }
    let in_ci = ci.is_some_and(|value| !["", "0", "false"].iter().any(|off| value == *off));
    Ok(match wanted {
        Some(wanted) => (wanted, RECORD),
        None if in_ci => (Record::Never, "CI is set"),
        None => (Record::Missing, RECORD),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    fn of(variable: Option<&str>, ci: Option<&str>, chosen: Option<Record>) -> Record {
        policy(variable.map(OsStr::new), ci.map(OsStr::new), chosen).unwrap().0
    }

    #[test]
    fn nothing_is_recorded_in_ci_by_default() {
        use Record::{Always, Missing, Never};
        assert_eq!(of(None, None, None), Missing);
        for ci in ["true", "1", "yes"] {
            assert_eq!(of(None, Some(ci), None), Never);
            assert_eq!(of(Some(""), Some(ci), None), Never);
            assert_eq!(of(Some("missing"), Some(ci), None), Missing);
            assert_eq!(of(Some("always"), Some(ci), None), Always);
            assert_eq!(of(None, Some(ci), Some(Missing)), Missing);
        }
        for ci in ["", "0", "false"] {
            assert_eq!(of(None, Some(ci), None), Missing);
        }
        assert_eq!(of(Some("1"), None, None), Always);
        assert_eq!(of(Some("0"), None, None), Missing);
        // The environment overrides the test.
        assert_eq!(of(Some("never"), None, Some(Always)), Never);
        assert_eq!(of(Some("always"), None, Some(Never)), Never);
    }

    #[test]
    fn other_values_are_refused() {
        for value in ["yes", "Never", "none", "2"] {
            let error = policy(Some(OsStr::new(value)), None, None).unwrap_err().to_string();
            assert!(error.contains(value) && error.contains("never, missing or always"), "{error}");
        }
    }
}
