//! Spreads the starts of agents over time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// When the next agent of this program may start.
static NEXT: Mutex<Option<Instant>> = Mutex::new(None);

/// Waits until `gap` has passed since the previous start. A caller that is dropped keeps its place.
pub(super) async fn wait(gap: Duration) {
    if gap.is_zero() {
        return;
    }
    let start = {
        let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
        reserve(&mut next, Instant::now(), gap)
    };
    tokio::time::sleep_until(start).await;
}

/// Reserves the next place.
fn reserve(next: &mut Option<Instant>, now: Instant, gap: Duration) -> Instant {
    let start = next.map_or(now, |next| next.max(now));
    *next = start.checked_add(gap);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_a_gap_apart_and_the_first_is_immediate() {
        let (now, gap) = (Instant::now(), Duration::from_secs(1));
        let mut next = None;
        let starts: Vec<Duration> =
            (0..3).map(|_| reserve(&mut next, now, gap).duration_since(now)).collect();
        assert_eq!(starts, [Duration::ZERO, gap, 2 * gap]);
        // After a pause, a start is immediate again.
        let later = now + 10 * gap;
        assert_eq!(reserve(&mut next, later, gap), later);
        assert_eq!(reserve(&mut next, later, gap), later + gap);
    }
}
