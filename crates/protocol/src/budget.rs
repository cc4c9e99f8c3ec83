//! [`Budget`]: how much memory may be used for what is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::text::Text;

/// How many bytes a [`Transcript`](crate::transcript::Transcript) keeps for what is open by default: 64 MiB.
pub const DEFAULT_OPEN_LIMIT: usize = 64 * 1024 * 1024;

/// The memory for what is open in one transcript. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: usize,
    used: AtomicUsize,
    /// Something did not fit since the last call of `take_exceeded`.
    exceeded: AtomicBool,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(DEFAULT_OPEN_LIMIT)
    }
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        let (used, exceeded) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self(Arc::new(Account { limit, used, exceeded }))
    }

    pub(crate) fn limit(&self) -> usize {
        self.0.limit
    }

    /// Reserves so many bytes until the charge is dropped; `None` if they do not fit.
    pub(crate) fn charge(&self, bytes: usize) -> Option<Charge> {
        let mut charge = Charge { budget: self.clone(), bytes: 0 };
        charge.grow(bytes).then_some(charge)
    }

    /// Whether something did not fit since the last call.
    pub(crate) fn take_exceeded(&self) -> bool {
        self.0.exceeded.swap(false, Ordering::Relaxed)
    }
}

/// Reserved bytes.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Budget,
    bytes: usize,
}

impl Charge {
    /// Reserves more bytes. False if they do not fit.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let account = &*self.budget.0;
        let used = account.used.load(Ordering::Relaxed).saturating_add(bytes);
        if used > account.limit {
            account.exceeded.store(true, Ordering::Relaxed);
            return false;
        }
        account.used.store(used, Ordering::Relaxed);
        self.bytes += bytes;
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let used = &self.budget.0.used;
        used.store(used.load(Ordering::Relaxed).saturating_sub(self.bytes), Ordering::Relaxed);
    }
}

/// Texts, and their share of the budget.
#[derive(Debug, Default)]
pub(crate) struct KeptTexts {
    pub(crate) texts: Vec<Text>,
    _charges: Vec<Charge>,
}

impl KeptTexts {
    /// These texts, or none if they do not all fit.
    pub(crate) fn new(texts: Vec<Text>, budget: &Budget) -> Self {
        let charges: Option<Vec<Charge>> =
            texts.iter().map(|text| budget.charge(text.retained())).collect();
        charges.map_or_else(Self::default, |charges| Self { texts, _charges: charges })
    }
}

/// The same text, without a line that is much longer than it.
pub(crate) fn compact(text: &Text) -> Text {
    if text.retained() > 2 * text.len() + 64 { text.detach() } else { text.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_charges_are_free_again() {
        let budget = Budget::new(100);
        let first = budget.charge(60);
        assert!(first.is_some());
        assert!(!budget.take_exceeded());
        assert!(budget.charge(41).is_none());
        assert!(budget.take_exceeded());
        assert!(!budget.take_exceeded());
        drop(first);
        let mut all = budget.charge(90);
        assert!(all.as_mut().is_some_and(|all| all.grow(10) && !all.grow(1)));
        drop(all);
        assert!(budget.charge(100).is_some());
    }

    #[test]
    fn a_short_text_does_not_keep_a_long_line() {
        let json = crate::json::RawJson::parse(&format!("[\"short\",\"{}\"]", "x".repeat(10_000)));
        let texts: Vec<Text> = json.ok().and_then(|json| json.read().ok()).unwrap_or_default();
        let retained: Vec<usize> = texts.iter().map(|text| compact(text).retained()).collect();
        assert_eq!(texts.len(), 2);
        assert!(retained.first().is_some_and(|bytes| *bytes < 100), "{retained:?}");
    }
}
