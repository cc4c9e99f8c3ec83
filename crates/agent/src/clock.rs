//! The time, as lines carry it.

use std::time::SystemTime;

use duologue_protocol::Text;
use jiff::Timestamp;

/// Milliseconds since 1970.
pub fn millis() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// The time now: `2026-11-15T06:53:52.279Z`.
pub fn timestamp() -> Text {
    Text::from(format!("{:.3}", Timestamp::now()))
}

/// A time in the form of [`timestamp`]. One that no calendar has is shown as 1970.
pub fn format(time: SystemTime) -> String {
    format!("{:.3}", Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_have_three_decimals_and_a_z() {
        let format = |millis| super::format(UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(format(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(format(1_794_725_699_443), "2026-11-15T06:54:59.443Z");
        assert_eq!(format(951_782_400_000), "2000-02-29T00:00:00.000Z");
    }
}
