//! Whether a text looks like a secret, or like something else in its place: code, a reference, a description.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::mask::is_replaced;
use super::words::{NO_SECRET, SECRET_WORDS};

/// Whether it is a reference or a placeholder: a variable, or a value to be filled in.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let trimmed = value.trim_ascii();
    let Some(first) = trimmed.first() else { return true };
    let last = trimmed.last().unwrap_or(first);
    let inside = trimmed.get(1..trimmed.len().saturating_sub(1)).unwrap_or_default();
    let is_name = |bytes: &[u8]| {
        !bytes.is_empty()
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-.: ".contains(byte))
    };
    let lower = trimmed.get(..trimmed.len().min(64)).unwrap_or(trimmed).to_ascii_lowercase();
    let is_reference = match first {
        b'$' => match trimmed.get(1) {
            Some(b'{') => *last == b'}',
            Some(b'(') => *last == b')' || !trimmed.contains(&b')'),
            _ => {
                let name = trimmed.get(1..).unwrap_or_default();
                let plain = name
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_:@*#?.".contains(byte));
                let has_lower = name.iter().any(u8::is_ascii_lowercase);
                // `$ecret123` is unlikely to be a variable.
                plain
                    && !(has_lower
                        && looks_random(name)
                        && name.len() >= 6
                        && !describes_secret(&lower))
            }
        },
        b'%' => (*last == b'%' && is_name(inside)) || trimmed.len() <= 2,
        b'{' => *last == b'}',
        b'<' => *last == b'>' || !trimmed.contains(&b'>'),
        b'[' => *last == b']' && is_name(inside),
        _ => false,
    };
    let is_one_letter = trimmed.iter().all(|byte| byte == first) && !first.is_ascii_digit();
    let is_masked = !trimmed.is_empty()
        && trimmed.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-' | b'_'));
    is_reference
        || is_one_letter
        || is_masked
        || trimmed.ends_with(b"...")
        || trimmed.starts_with(b"...")
        || trimmed == "…".as_bytes()
        || [
            &b"your-"[..],
            b"your_",
            b"redacted",
            b"[redacted",
            b"<redacted",
            b"changeit-",
            b"insert-",
            b"replace-with",
        ]
        .iter()
        .any(|start| lower.starts_with(start))
}

/// Whether a word describes a secret: `my_password`, `authtoken`.
pub(super) fn describes_secret(lower: &[u8]) -> bool {
    SECRET_WORDS.any(|word| memchr::memmem::find(lower, word.as_bytes()).is_some())
}

/// Whether this is never a secret, with any name before it.
pub(super) fn is_never_secret(value: &[u8]) -> bool {
    let lower = value.get(..value.len().min(32)).unwrap_or(value).to_ascii_lowercase();
    value.is_empty() || is_replaced(value) || NO_SECRET.has(&lower)
}

/// A path of names, an expression or a type, not a value.
pub(super) fn is_code(value: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let joined = |byte: &u8| is_name(byte) || b".:?!-".contains(byte);
    let has_joint = [&b"."[..], b"::", b"->", b"?."].iter().any(|joint| {
        memchr::memmem::find(value, joint)
            .is_some_and(|at| at > 0 && at + joint.len() < value.len())
    });
    let is_names = value.iter().all(joined)
        && (!looks_random(value) || describes_secret(&value.to_ascii_lowercase()));
    let is_path = has_joint && is_names;
    // Of a grammar: `1*char`.
    let is_rule =
        value.len() < 16 && value.iter().find(|byte| !byte.is_ascii_digit()) == Some(&b'*');
    let first = value.first().copied().unwrap_or_default();
    let is_expression =
        matches!(
            first,
            b'\\' | b':' | b'&' | b'*' | b'{' | b'|' | b'(' | b'[' | b'=' | b')' | b',' | b'>'
        ) || (first == b'!' && value.iter().skip(1).all(is_name) && !looks_random(value));
    let is_builtin = [
        &b"process.env"[..],
        b"os.environ",
        b"os.getenv",
        b"env.",
        b"secrets.",
        b"vars.",
        b"var.",
        b"self.",
        b"this.",
        b"ENV[",
    ]
    .iter()
    .any(|start| value.starts_with(start));
    is_path || is_rule || is_expression || is_builtin
}

/// An expression, a format or a pattern for values, or a text of several lines.
pub(super) fn is_pattern(value: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(value, part).is_some();
    let marks = [&b"\\w"[..], b"\\d", b"\\s", b"\\W", b"\\S", b"[^", b"(?", b".*", b".+"];
    let is_format = (has(b"%s") || has(b"{}") || has(b"%d"))
        && !value.iter().any(|byte| byte.is_ascii_alphanumeric() && !b"sd".contains(byte));
    let lines = value.iter().filter(|byte| **byte == b'\n').count();
    marks.iter().any(|mark| has(mark)) || is_format || lines >= 3
}

/// Whether a quoted text describes a secret and is not one.
pub(super) fn is_prose(lower: &[u8]) -> bool {
    let about = [
        "password", "token", "secret", " key", "enter ", "please", "must ", "required", "invalid",
        "your ",
    ];
    about.iter().any(|word| memchr::memmem::find(lower, word.as_bytes()).is_some())
}

/// Whether it has letters and digits, like generated values.
pub(super) fn looks_random(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Whether this is signed or encrypted: it has several parts, and the second is not a file extension.
pub(super) fn is_web_token(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'.');
    let is_long = |part: Option<&[u8]>| part.is_some_and(|part| part.len() >= 8);
    is_long(parts.next()) && is_long(parts.next())
}

/// Whether this is a private key in Base64. Certificates begin alike.
pub(super) fn is_private_key(value: &[u8]) -> bool {
    let head = value.get(..value.len().min(64) / 4 * 4).unwrap_or_default();
    STANDARD_NO_PAD
        .decode(head)
        .is_ok_and(|text| memchr::memmem::find(&text, b"PRIVATE KEY").is_some())
}

/// Whether this is a name and a password, encoded.
pub(super) fn is_basic(value: &[u8]) -> bool {
    let end = value.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = value.get(..value.len() - end).unwrap_or_default();
    let text = STANDARD_NO_PAD.decode(digits).or_else(|_| URL_SAFE_NO_PAD.decode(digits));
    text.is_ok_and(|text| {
        text.contains(&b':') && text.iter().all(|byte| (b' '..=b'~').contains(byte))
    })
}
