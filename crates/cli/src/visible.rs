//! What comes from outside must not command a terminal.

use std::borrow::Cow;

/// The text with its control characters made visible, all but newlines and tabs. Escape sequences in
/// a tool's output could otherwise clear the screen, write to the clipboard, or hide what was said.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\0'..='\u{1f}' if is_hidden(character) => {
                // The pictures of control characters stand in the same order.
                let picture = char::from_u32(0x2400 + u32::from(character));
                shown.push(picture.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            '\u{7f}' => shown.push('\u{2421}'),
            _ if is_hidden(character) => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// Control characters, and those that turn the direction of the text around.
fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn commands_become_pictures() {
        assert_eq!(visible("a\tb\nc é"), "a\tb\nc é");
        assert_eq!(visible("\u{1b}[2J\u{7}\r"), "␛[2J␇␍");
        assert_eq!(visible("\u{9b}x\u{202e}"), "\\u{9b}x\\u{202e}");
    }
}
