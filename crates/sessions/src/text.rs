//! Cleaning titles and tags: they come from outside and end up in terminals and filters.

use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

use crate::js;

/// A title on one line: control and format characters become spaces, at most 200 characters.
pub(crate) fn one_line(title: &str) -> String {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let mut line = String::with_capacity(title.len());
    let mut in_run = false;
    for character in js::trim(title).chars() {
        let category = categories.get(character);
        let blank = matches!(category, GeneralCategory::Control | GeneralCategory::Format)
            || matches!(character, '\u{2028}' | '\u{2029}');
        if !blank {
            line.push(character);
        } else if !in_run {
            line.push(' ');
        }
        in_run = blank;
    }
    js::trim(&line.chars().take(200).collect::<String>()).to_owned()
}

/// A tag without characters that cannot be seen, in compatibility form, as both official SDKs store it.
pub(crate) fn tag(tag: &str) -> String {
    if tag.is_ascii() {
        return js::trim(tag).to_owned();
    }
    let categories = CodePointMapData::<GeneralCategory>::new();
    let normalizer = ComposingNormalizerBorrowed::new_nfkc();
    let mut current = tag.to_owned();
    // Removing characters can make others combine.
    for _ in 0..10 {
        let normal = normalizer.normalize(&current);
        let next: String = normal
            .chars()
            .filter(|character| {
                !matches!(
                    categories.get(*character),
                    GeneralCategory::Format
                        | GeneralCategory::PrivateUse
                        | GeneralCategory::Unassigned
                )
            })
            .collect();
        if next == current {
            break;
        }
        current = next;
    }
    js::trim(&current).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_hold_what_can_be_seen() {
        assert_eq!(tag(" release "), "release");
        assert_eq!(tag("a\u{200b}b\u{202e}c\u{e000}"), "abc");
        assert_eq!(tag("ﬁne"), "fine");
        assert_eq!(tag("\u{200b}\u{feff}"), "");
        assert_eq!(one_line("two\r\nlines\u{7}"), "two lines");
    }
}
