//! Excerpts of long texts, for reports.

/// How many characters are shown before the first difference.
const BEFORE: usize = 24;

/// One text: its beginning, and its end if it is longer than `most` characters.
pub(crate) fn of(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let tail = most / 4;
    let head: String = text.chars().take(most - tail).collect();
    let tail: String = text.chars().skip(length - tail).collect();
    format!("{head}…{tail}")
}

/// Two different texts. If one is longer than `most` characters, both are cut around the first difference, so that the
/// excerpts differ too.
pub(crate) fn of_two(a: &str, b: &str, most: usize) -> (String, String) {
    let parted = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let is_short = |text: &str| text.chars().count() <= most;
    let (mut shown_a, mut shown_b) = if is_short(a) && is_short(b) {
        (a.to_owned(), b.to_owned())
    } else {
        let start = parted.saturating_sub(BEFORE);
        (window(a, start, most), window(b, start, most))
    };
    // Different characters may look alike: é is one character, or two.
    let [next_a, next_b] = [a, b].map(|text| text.chars().nth(parted));
    if [next_a, next_b].iter().flatten().any(|letter| !letter.is_ascii()) {
        for (shown, letter) in [(&mut shown_a, next_a), (&mut shown_b, next_b)] {
            if let Some(letter) = letter {
                shown.push_str(&format!(" (U+{:04X} at {})", u32::from(letter), parted + 1));
            }
        }
    }
    (shown_a, shown_b)
}

fn window(text: &str, start: usize, most: usize) -> String {
    let before = if start > 0 { "…" } else { "" };
    let part: String = text.chars().skip(start).take(most).collect();
    let after = if text.chars().nth(start + most).is_some() { "…" } else { "" };
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::{of, of_two};

    #[test]
    fn the_excerpts_of_two_texts_differ() {
        let same = "x".repeat(500);
        let (a, b) = of_two(&format!("{same}old{same}"), &format!("{same}new{same}"), 80);
        assert!(a.contains("xold") && b.contains("xnew"), "{a}\n{b}");
        assert!(a.starts_with('…') && a.ends_with('…') && a.chars().count() <= 82, "{a}");
        // One continues where the other ends.
        let (a, b) = of_two(&same, &format!("{same}y"), 80);
        assert!(a != b && b.ends_with('y'), "{a}\n{b}");
        assert_eq!(of_two("1", "2", 80), ("1".to_owned(), "2".to_owned()));
    }

    #[test]
    fn letters_that_look_alike_are_named() {
        let (a, b) = of_two("caf\u{e9}", "cafe\u{301}", 80);
        assert!(a.contains("U+00E9 at 4") && b.contains("U+0065 at 4"), "{a}\n{b}");
    }

    #[test]
    fn a_long_text_keeps_both_ends() {
        let text = format!("begin{}end", "x".repeat(500));
        let shown = of(&text, 80);
        assert!(shown.starts_with("begin") && shown.ends_with("end") && shown.contains('…'));
        assert_eq!(of("short", 80), "short");
    }
}
