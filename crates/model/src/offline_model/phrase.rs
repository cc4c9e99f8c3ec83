//! Small functions to parse requests in plain English.

/// The text after one of these words, if it begins with it; case is ignored.
pub(super) fn behind<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| {
        let head = text.get(..word.len())?;
        let rest = &text[word.len()..];
        let ends = rest.is_empty()
            || rest.starts_with(|next: char| next.is_whitespace() || next == ':')
            || !word.ends_with(char::is_alphanumeric);
        (head.eq_ignore_ascii_case(word) && ends).then(|| rest.trim_start())
    })
}

/// The text without these words in front, however many.
pub(super) fn without<'a>(mut text: &'a str, words: &[&str]) -> &'a str {
    while let Some(rest) = behind(text, words).filter(|rest| !rest.is_empty()) {
        text = rest;
    }
    text
}

/// The position of this word outside of quotes; case is ignored.
pub(super) fn find(text: &str, part: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => continue,
            None if matches!(letter, '"' | '`') && text[at + 1..].contains(letter) => {
                quote = Some(letter);
            }
            None => {}
        }
        if text.get(at..at + part.len()).is_some_and(|here| here.eq_ignore_ascii_case(part)) {
            return Some(at);
        }
    }
    None
}

/// The text before and behind the first of these, outside of quotes.
pub(super) fn split<'a>(text: &'a str, part: &str) -> Option<(&'a str, &'a str)> {
    let at = find(text, part)?;
    Some((text[..at].trim(), text[at + part.len()..].trim()))
}

/// The text without the quotes around it.
pub(super) fn unquoted(text: &str) -> &str {
    let text = text.trim();
    for quote in ["```", "`", "\"", "'"] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner.filter(|inner| !inner.contains(quote)) {
            return inner;
        }
    }
    text
}

/// A name, a path or a pattern: without quotes, and without the end of the sentence.
pub(super) fn name(text: &str) -> &str {
    let text = text.trim();
    // A sentence ends with a stop; `..` and `.` are folders.
    let text = text.trim_end_matches(['!', '?', ',', ';', ':']);
    let ends = text.ends_with('.') && !text.ends_with("..") && !text.ends_with("/.") && text != ".";
    unquoted(if ends { &text[..text.len() - 1] } else { text })
}

/// One name, path or pattern. It has spaces only if it is quoted.
pub(super) fn one_name(text: &str) -> Option<&str> {
    let name = name(text);
    let is_quoted = text.trim().starts_with(['`', '"', '\'']);
    (!name.is_empty() && (is_quoted || !name.contains(' '))).then_some(name)
}

/// This name as a path, from the folder on if it begins nowhere.
pub(super) fn path(text: &str, folder: Option<&str>) -> String {
    match folder {
        Some(folder) if !text.starts_with(['/', '~']) => {
            let text = text.strip_prefix("./").unwrap_or(text);
            format!("{}/{text}", folder.trim_end_matches('/'))
        }
        _ => text.to_owned(),
    }
}

/// The parts of a list: "a, b and c".
pub(super) fn list(text: &str) -> Vec<String> {
    let text = text.replace(" and ", ",");
    let parts =
        text.split([',', ';', '\n']).map(|part| part.trim().trim_start_matches("- ").trim());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
