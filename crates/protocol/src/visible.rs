//! Makes hidden characters visible, so that text from outside cannot control a terminal.
//!
//! A model, a tool or a tape may hold any characters: escape sequences that clear the screen or write to the clipboard,
//! characters that reverse the direction of a line, characters without width that hide a part of a
//! command. Escape such text before you print it:
//!
//! ```
//! use duologue_protocol::visible;
//!
//! // One line: a line break cannot start a new one.
//! assert_eq!(visible::line("Bash\u{1b}[2J\nyes"), "Bash␛[2J⏎yes");
//! // Several lines: line breaks and tabs stay.
//! assert_eq!(visible::block("one\n\ttwo\r\u{202e}"), "one\n\ttwo␍\\u{202e}");
//! // JSON on a terminal: still JSON with the same meaning.
//! assert_eq!(visible::json("\"\u{9b}2J\""), "\"\\u009b2J\"");
//! ```

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text on one line. Control characters become symbols (`␛`), line breaks `⏎`, other hidden characters escapes
/// (`\u{202e}`).
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, is_hidden, |shown, character| match character {
        '\n' => shown.push('⏎'),
        _ => picture(shown, character),
    })
}

/// The same for a text of several lines: line breaks and tabs stay as they are.
#[must_use]
pub fn block(text: &str) -> Cow<'_, str> {
    escape(text, |character| is_hidden(character) && !matches!(character, '\n' | '\t'), picture)
}

/// JSON with its hidden characters as `\u` escapes, which mean the same. Line breaks and tabs stay,
/// since JSON has them between values only.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let hidden = |character| is_hidden(character) && !matches!(character, '\n' | '\t');
    escape(text, hidden, |shown, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    })
}

/// Whether a terminal obeys this character or shows nothing for it: control and format
/// characters, line and paragraph separators, tags, fillers. Line breaks and tabs count.
#[must_use]
pub const fn is_hidden(character: char) -> bool {
    matches!(character,
        // Control characters: C0, DEL, C1.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Direction: ALM, LRM, RLM, embeddings, overrides, isolates, and the deprecated ones.
        | '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        // Line breaks of their own.
        | '\u{2028}'..='\u{2029}'
        // No width: soft hyphen, joiners, spaces, fillers, invisible operators.
        | '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Variation selectors, tags, and everything else on that plane.
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

fn escape(
    text: &str,
    hidden: impl Fn(char) -> bool,
    replace: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    // Almost all text is ASCII without control characters.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let mut copied = 0;
    let mut before = None;
    for (at, character) in text.char_indices() {
        if hidden(character) && !is_presentation(before, character) {
            shown.push_str(text.get(copied..at).unwrap_or_default());
            replace(&mut shown, character);
            copied = at + character.len_utf8();
        }
        before = Some(character);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(shown)
}

/// Whether this only selects the presentation of the symbol before it: `⚠️` is `⚠` and a selector. After a letter or another
/// selector it would be hidden.
const fn is_presentation(before: Option<char>, character: char) -> bool {
    let symbol = match before {
        Some('0'..='9' | '#' | '*' | '\u{a9}' | '\u{ae}') => true,
        Some(before) => {
            matches!(before, '\u{2000}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
                && !is_hidden(before)
        }
        None => false,
    };
    symbol && matches!(character, '\u{fe0e}' | '\u{fe0f}')
}

fn picture(shown: &mut String, character: char) {
    match character {
        // The symbols of control characters have the same order.
        '\0'..='\u{1f}' => {
            let picture = char::from_u32(0x2400 + u32::from(character));
            shown.push(picture.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        '\u{7f}' => shown.push('\u{2421}'),
        _ => shown.extend(character.escape_unicode()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_hidden_characters_stays() {
        for text in ["", "plain", "a\tb\nc é", "日本語 ⚠️ 1️⃣ 🦀", "العربية עברית"]
        {
            assert!(matches!(block(text), Cow::Borrowed(_)), "{text:?}");
        }
    }

    #[test]
    fn control_characters_become_pictures() {
        assert_eq!(block("\u{1b}[2J\u{7}\r\u{7f}"), "␛[2J␇␍␡");
        assert_eq!(line("a\tb\nc"), "a␉b⏎c");
        assert_eq!(block("\u{9b}x\u{85}"), "\\u{9b}x\\u{85}");
    }

    #[test]
    fn no_character_without_width_or_with_a_direction_gets_through() {
        let hidden = "\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{61c}\u{202a}\u{202e}\u{2066}\u{2069}\u{2060}\
                      \u{feff}\u{ad}\u{2028}\u{2029}\u{e0041}\u{e0100}\u{fe00}\u{3164}\u{115f}";
        for character in hidden.chars() {
            for shown in [line(&character.to_string()), block(&character.to_string())] {
                assert_eq!(shown, character.escape_unicode().to_string());
            }
            assert!(!json(&format!("\"{character}\"")).contains(character));
        }
    }

    #[test]
    fn a_selector_after_a_letter_is_shown() {
        assert_eq!(line("rm\u{fe0f}"), "rm\\u{fe0f}");
        assert_eq!(line("⚠\u{fe0f}\u{fe0f}"), "⚠\u{fe0f}\\u{fe0f}");
    }

    #[test]
    fn json_means_the_same() {
        assert_eq!(json("{\"a\":\"\u{e0041}\u{7f}é\"}\n"), "{\"a\":\"\\udb40\\udc41\\u007fé\"}\n");
    }

    #[test]
    fn every_character_is_escaped_or_shown() {
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let shown = line(&text);
            assert_eq!(is_hidden(character), shown != text, "{character:?}");
            assert!(!shown.chars().any(is_hidden), "{character:?}");
        }
    }
}
