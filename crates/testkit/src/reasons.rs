//! [`Reasons`]: known differences with their reasons, from a file.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// Which differences between two conversations are accepted, and why. A difference without a reason is an error, and so is
/// an unused reason.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Reasons {
    /// All of them.
    pub difference: Vec<Reason>,
}

/// Why some differences are accepted.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Reason {
    /// The reason, for readers.
    pub reason: String,
    /// `KIND EVENT` or `KIND EVENT FIELD`; a star for the kind or at the end matches anything.
    pub what: Vec<String>,
    /// Prefixes of the names of scenarios; all by default.
    pub scenarios: Option<Vec<String>>,
    /// The versions that it applies to; all by default.
    pub versions: Option<Vec<String>>,
    /// The JSON that the first must contain; anything by default.
    pub real: Option<String>,
    /// The JSON that the second must contain; anything by default.
    pub ours: Option<String>,
    /// Whether it may be absent in some runs.
    #[serde(default)]
    pub sometimes: bool,
}

/// One difference, by its names.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "made by the tests that compare")]
pub struct Named<'a> {
    /// The version that differs.
    pub version: &'a str,
    /// The scenario that was played.
    pub scenario: &'a str,
    /// `missing`, `extra`, `different` or `moved`.
    pub kind: &'a str,
    /// The event.
    pub event: &'a str,
    /// The field of the event, if that is what differs.
    pub field: Option<&'a str>,
    /// What the first has.
    pub a: &'a Value,
    /// What the second has.
    pub b: &'a Value,
}

impl Reasons {
    /// Reads them from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is invalid.
    pub fn read(path: &Path) -> Result<Self, String> {
        let place = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{place}: {error}"))?;
        let reasons: Self = toml::from_str(&text).map_err(|error| format!("{place}: {error}"))?;
        let all = reasons.difference.iter().flat_map(|reason| &reason.what);
        match all.into_iter().find(|what| !what.contains(' ')) {
            Some(what) => Err(format!("{place}: {what:?} names no event")),
            None => Ok(reasons),
        }
    }

    /// The reason of a difference: its index in the list, and the index of the name in it.
    pub fn find(&self, named: Named<'_>) -> Option<(usize, usize)> {
        let places = self.difference.iter().enumerate();
        places.into_iter().find_map(|(at, reason)| Some((at, reason.names(named)?)))
    }

    /// The unused entries.
    pub fn unneeded(&self, needed: impl Fn((usize, usize)) -> bool) -> Vec<String> {
        let mut unneeded = Vec::new();
        for (at, reason) in self.difference.iter().enumerate().filter(|(_, r)| !r.sometimes) {
            let names = reason.what.iter().enumerate();
            let names = names.filter(|(name, _)| !needed((at, *name)));
            unneeded.extend(names.map(|(_, what)| format!("{what} ({})", reason.reason)));
        }
        unneeded
    }
}

impl Reason {
    fn names(&self, named: Named<'_>) -> Option<usize> {
        let of = |list: &Option<Vec<String>>, matches: &dyn Fn(&str) -> bool| {
            list.as_ref().is_none_or(|list| list.iter().any(|item| matches(item)))
        };
        if !of(&self.versions, &|known| known == named.version)
            || !of(&self.scenarios, &|known| named.scenario.starts_with(known))
        {
            return None;
        }
        let has = |wanted: &Option<String>, value: &Value| {
            wanted.as_ref().is_none_or(|wanted| value.to_string().contains(wanted))
        };
        if !has(&self.real, named.a) || !has(&self.ours, named.b) {
            return None;
        }
        let field = named.field.map(|field| format!(" {field}")).unwrap_or_default();
        let rest = format!("{}{field}", named.event);
        self.what.iter().position(|what| {
            let Some((kind, form)) = what.split_once(' ') else { return false };
            let form_fits = match form.strip_suffix('*') {
                Some(start) => rest.starts_with(start),
                None => rest == form,
            };
            (kind == "*" || kind == named.kind) && form_fits
        })
    }
}
