//! The few operations on texts that JavaScript and Rust do differently.
//!
//! Titles, summaries and first prompts are compared with those of the official SDKs, so they are made in the same way.

/// Removes white space at both ends, as `String.prototype.trim` does.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Removes white space at the beginning.
pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

pub(crate) fn is_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

/// The first `units` units of UTF-16, without half a character at the end. `None` if the text is not longer.
pub(crate) fn cut(text: &str, units: usize) -> Option<&str> {
    let mut count = 0;
    for (at, character) in text.char_indices() {
        count += character.len_utf16();
        if count > units {
            return text.get(..at);
        }
    }
    None
}

/// Milliseconds since 1970 of an ISO 8601 time with a date, a time and a zone.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let mut date = date.split('-');
    let year: i64 = digits(date.next()?, 4)?;
    let (month, day): (i64, i64) = (digits(date.next()?, 2)?, digits(date.next()?, 2)?);
    if date.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (time, offset) = match time.find(['Z', '+', '-']) {
        Some(at) => (time.get(..at)?, offset(time.get(at..)?)?),
        None => return None,
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = time.split(':');
    let (hour, minute): (i64, i64) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second: i64 = parts.next().map_or(Some(0), |part| digits(part, 2))?;
    if parts.next().is_some() || hour > 24 || minute > 59 || second > 59 {
        return None;
    }
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let milliseconds: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let seconds = (days(year, month, day) * 24 + hour) * 3600 + minute * 60 + second - offset * 60;
    Some(seconds * 1000 + milliseconds)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let fits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

/// A zone in minutes.
fn offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    Some(sign * (digits(hours, 2)? * 60 + digits(minutes, 2)?))
}

/// Days since 1970, after Howard Hinnant: years begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// A time as JavaScript writes it: `2026-11-15T14:48:49.155Z`.
pub(crate) fn format_time(milliseconds: i64) -> String {
    let (days, rest) = (milliseconds.div_euclid(86_400_000), milliseconds.rem_euclid(86_400_000));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1_000)
}

/// Milliseconds since 1970, now.
pub(crate) fn now() -> i64 {
    milliseconds(std::time::SystemTime::now())
}

/// Milliseconds since 1970, rounded as Node rounds the times of files.
pub(crate) fn milliseconds(time: std::time::SystemTime) -> i64 {
    let since = |duration: std::time::Duration| {
        i64::try_from((duration.as_nanos() + 500_000) / 1_000_000).unwrap_or(i64::MAX)
    };
    match time.duration_since(std::time::UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for text in
            ["2026-11-15T14:48:49.155Z", "1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z"]
        {
            assert_eq!(parse_time(text).map(format_time).as_deref(), Some(text));
        }
        assert_eq!(parse_time("2026-11-15T14:48:49.1559Z"), parse_time("2026-11-15T14:48:49.155Z"));
        assert_eq!(parse_time("2026-11-15T15:48:49+01:00"), parse_time("2026-11-15T14:48:49.000Z"));
        for bad in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-15", "2026-11-15T14:48:49.Z"]
        {
            assert_eq!(parse_time(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn texts_are_cut_in_units_of_utf_16() {
        assert_eq!(cut("abc", 3), None);
        assert_eq!(cut("abcd", 3), Some("abc"));
        assert_eq!(cut("ab🦀d", 3), Some("ab"));
        assert_eq!(trim("\u{feff} a\u{a0}\n"), "a");
    }
}
