//! The time of day, as the wire spells it.

use std::time::{SystemTime, UNIX_EPOCH};

use duologue_protocol::Text;

/// Milliseconds since 1970.
pub(crate) fn millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Now: `2026-11-15T06:53:52.279Z`.
pub(crate) fn timestamp() -> Text {
    Text::from(spelled(millis()))
}

fn spelled(millis: u64) -> String {
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The date, that many days after 1970-01-01: years begin in March, so that leap days come last.
const fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_are_spelled() {
        assert_eq!(super::spelled(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(super::spelled(1_794_725_699_443), "2026-11-15T06:54:59.443Z");
        assert_eq!(super::spelled(951_782_400_000), "2000-02-29T00:00:00.000Z");
    }
}
