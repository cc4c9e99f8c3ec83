//! Times in the form that the protocol has.

/// A time in milliseconds since 1970, as ISO 8601. `None` if it is not in years 0 to 9999.
pub(crate) fn iso(milliseconds: i64) -> Option<String> {
    const DAY: i64 = 86_400_000;
    let (days, rest) = (milliseconds.div_euclid(DAY), milliseconds.rem_euclid(DAY));
    // Days to a date of the Gregorian calendar, in eras of 400 years that begin in March.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, shift) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year_of_era + era * 400 + shift;
    if !(0..=9999).contains(&year) {
        return None;
    }
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, milliseconds) = (rest / 1000 % 60, rest % 1000);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}Z"
    ))
}

#[cfg(test)]
mod tests {
    use super::iso;

    #[test]
    fn times_are_iso_8601() {
        assert_eq!(iso(0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(iso(1_709_210_096_789).as_deref(), Some("2024-02-29T12:34:56.789Z"));
        assert_eq!(iso(-1).as_deref(), Some("1969-12-31T23:59:59.999Z"));
        assert_eq!(iso(i64::MAX), None);
    }
}
