//! Private keys in blocks: PEM, PGP, PuTTY, with an end or without one, in one text or over several.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use memchr::memmem;

/// The longest first line of a block.
const LONGEST_TITLE: usize = 96;

/// Blocks in a text, and whether the last one continues after it.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) spans: Vec<Range<usize>>,
    pub(super) is_open: bool,
    /// How many bytes were searched.
    pub(super) work: u64,
}

/// The blocks in a text. `is_open`: the text before it has ended within one.
pub(super) fn find(text: &[u8], is_open: bool) -> Blocks {
    let mut blocks = Blocks::default();
    let mut at = 0;
    if is_open {
        // A line that cannot belong to a key ends it.
        let end = end_of(text, 0, &mut blocks.work);
        blocks.is_open = end.is_open;
        if !text.get(..end.body).unwrap_or_default().trim_ascii().is_empty() {
            blocks.spans.push(0..end.body);
        }
        at = end.until.max(end.body);
    }
    while let Some((start, after)) = next_title(text, at, &mut blocks.work) {
        let end = end_of(text, after, &mut blocks.work);
        blocks.is_open = end.is_open;
        // A title alone is not secret.
        if !text.get(after..end.body).unwrap_or_default().trim_ascii().is_empty() {
            blocks.spans.push(start..end.until);
        }
        at = end.until.max(after);
    }
    blocks
}

/// The first words of a block.
static TITLES: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(["BEGIN ", "PuTTY-User-Key-File"]).ok());

/// What a block begins and ends with, and the ends of lines. One search for all of them, which never goes further than
/// the nearest.
static MARKS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(["\n", "BEGIN ", "END ", "PuTTY-User-Key-File"]).ok());

const NEWLINE: usize = 0;
const END: usize = 2;

/// The next of these marks: which, and where.
fn next_mark(
    marks: &Option<AhoCorasick>,
    text: &[u8],
    from: usize,
    work: &mut u64,
) -> Option<(usize, Range<usize>)> {
    let found = marks.as_ref()?.find(text.get(from..)?);
    let span = found
        .as_ref()
        .map_or(text.len()..text.len(), |found| from + found.start()..from + found.end());
    *work += (span.end - from) as u64;
    Some((found?.pattern().as_usize(), span))
}

/// How many dashes there are before this place, a few at most.
fn dashes_before(text: &[u8], at: usize) -> usize {
    let before = text.get(at.saturating_sub(8)..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'-').count()
}

/// Where the title ends that begins here, and the dashes after it.
fn title_end(text: &[u8], at: usize) -> (&[u8], usize) {
    let rest = text.get(at..).unwrap_or_default();
    let rest = rest.get(..LONGEST_TITLE).unwrap_or(rest);
    let is_of_title =
        |byte: &&u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b' ';
    let letters = rest.iter().take_while(is_of_title).count();
    let label = rest.get(..letters).unwrap_or_default();
    let dashes = rest.iter().skip(letters).take(8).take_while(|byte| **byte == b'-').count();
    (label, at + letters + dashes)
}

/// The first line of the next block: where it begins, and where it ends.
fn next_title(text: &[u8], mut from: usize, work: &mut u64) -> Option<(usize, usize)> {
    loop {
        let (mark, span) = next_mark(&TITLES, text, from, work)?;
        from = span.end;
        match mark {
            0 => {
                let (label, end) = title_end(text, span.end);
                let is_secret = memmem::find(label, b"PRIVATE KEY").is_some()
                    || memmem::find(label, b"SECRET KEY").is_some()
                    || label.starts_with(b"PGP MESSAGE");
                let spaces = usize::from(
                    text.get(..span.start).is_some_and(|before| before.ends_with(b" ")),
                );
                let dashes = dashes_before(text, span.start - spaces);
                if is_secret && dashes >= 2 && end >= span.end + label.len() + 2 {
                    return Some((span.start - spaces - dashes, end));
                }
            }
            _ => {
                // The version and the kind of the key are in the same line.
                let rest = text.get(span.end..)?;
                let rest = rest.get(..LONGEST_TITLE).unwrap_or(rest);
                let line = rest.iter().take_while(|byte| !matches!(byte, b'\n' | b'\\')).count();
                return Some((span.start, span.end + line));
            }
        }
    }
}

/// Where a block ends.
struct End {
    /// The end of its secret part.
    body: usize,
    /// The end of its last line.
    until: usize,
    /// It has no last line in this text, and all of the rest belongs to it.
    is_open: bool,
}

impl End {
    const fn at(end: usize) -> Self {
        Self { body: end, until: end, is_open: false }
    }
}

/// The end of the block whose first line ends here: its last line, or what does not look like a line of a key.
fn end_of(text: &[u8], from: usize, work: &mut u64) -> End {
    // Where this line begins, and what belongs to the block so far.
    let (mut at, mut body) = (from, from);
    let mut look = from;
    loop {
        let found = next_mark(&MARKS, text, look, work);
        let (mark, span) = found.unwrap_or((NEWLINE, text.len()..text.len()));
        look = span.end;
        let spaces =
            usize::from(text.get(..span.start).is_some_and(|before| before.ends_with(b" ")));
        let dashes = dashes_before(text, span.start - spaces);
        match mark {
            END if dashes >= 2 => {
                let (_, until) = title_end(text, span.end);
                return End { body: span.start - spaces - dashes, until, is_open: false };
            }
            END => continue,
            NEWLINE => {}
            // Another one, or something of the kind.
            _ => return End::at((span.start - spaces - dashes).max(from)),
        }
        let line = text.get(at..span.end).unwrap_or_default();
        if !is_of_key(line) {
            // The beginning of the line may still be of the key, if that is written in one.
            let run = line.iter().take_while(|byte| is_digit(**byte) || **byte == b'\\').count();
            return End::at(if run >= 16 { at + run } else { body });
        }
        if !line.trim_ascii().is_empty() {
            body = span.start;
        }
        at = span.end;
        if at == text.len() {
            return End { body, until: body, is_open: true };
        }
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Whether a line could be one of a key: nothing but Base64, or a header, with what editors, programs and diffs put
/// around it.
fn is_of_key(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if line.is_empty() {
        return true;
    }
    let headers = [
        "Proc-Type:",
        "DEK-Info:",
        "Version:",
        "Comment:",
        "Hash:",
        "Encryption:",
        "Public-Lines:",
        "Private-Lines:",
        "Private-MAC:",
        "Key-Derivation:",
        "Argon2-",
    ];
    let around = |byte: &u8| {
        matches!(
            byte,
            b'"' | b'\''
                | b'`'
                | b','
                | b'+'
                | b'>'
                | b'|'
                | b'\\'
                | b';'
                | b'#'
                | b'*'
                | b':'
                | b' '
                | b'\t'
                | b'('
                | b')'
                | b'['
                | b']'
        )
    };
    // The number of the line.
    let digits = line.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    let numbered = match line.get(digits) {
        Some(b'\t' | b':' | b'|' | b' ') if digits > 0 => digits,
        _ => 0,
    };
    let line = line.get(numbered..).unwrap_or_default();
    let start = line.iter().take_while(|byte| around(byte)).count();
    let line = line.get(start..).unwrap_or_default();
    if headers.iter().any(|header| line.starts_with(header.as_bytes())) {
        return true;
    }
    let end = line.iter().rev().take_while(|byte| around(byte)).count();
    let line = line.get(..line.len() - end).unwrap_or_default();
    // `\n` between the lines of a key that is written in one.
    let mut parts = line.split(|byte| *byte == b'\\');
    let is_short_word =
        line.len() < 16 && line.iter().all(u8::is_ascii_alphabetic) && !line.is_empty();
    !is_short_word && parts.all(|part| part.iter().all(|byte| is_digit(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> (Vec<&str>, bool) {
        let found = find(text.as_bytes(), false);
        (found.spans.iter().map(|span| &text[span.clone()]).collect(), found.is_open)
    }

    #[test]
    fn a_block_ends_at_its_last_line_or_where_it_no_longer_looks_like_a_key() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj";
        let whole = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----"
        );
        assert_eq!(blocks(&format!("a\n{whole}\nb")), (vec![&*whole], false));
        let cut = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}");
        assert_eq!(blocks(&format!("{cut}\nthat was it")), (vec![&*cut], false));
        assert_eq!(blocks(&cut), (vec![&*cut], true));
        let in_code = format!(r"-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----");
        assert_eq!(blocks(&format!("key = \"{in_code}\\n\"")), (vec![&*in_code], false));
        let public = format!("-----BEGIN PUBLIC KEY-----\n{line}\n-----END PUBLIC KEY-----");
        assert_eq!(blocks(&public), (vec![], false));
    }

    #[test]
    fn the_work_is_linear_in_the_length_of_the_text() {
        for part in [
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n",
            "BEGIN ",
            "-----END ",
            "PuTTY-User-Key-File",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n",
        ] {
            let work = |count: usize| find(part.repeat(count).as_bytes(), false).work;
            assert!(
                work(2000) <= 2 * work(1000) + 200,
                "{part}: {} and {}",
                work(1000),
                work(2000)
            );
        }
    }
}
