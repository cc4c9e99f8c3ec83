//! What gives itself away by its form.

use std::sync::LazyLock;

use regex::Regex;

/// Names that are no person's.
const NOBODY: &[&str] = &[
    "root",
    "user",
    "users",
    "home",
    "claude",
    "admin",
    "test",
    "tests",
    "node",
    "app",
    "dev",
    "bin",
    "shared",
    "public",
    "runner",
    "work",
    "workspace",
    "src",
    "example",
    "you",
    "name",
    "me",
];

/// Everything that gives itself away by its form, each with a name. One expression, so that a text is
/// gone through once.
///
/// A text may quote JSON, and then `\nann` is a line end and a name. That is why a word may begin after
/// an escape, and why a value ends at a backslash.
pub(super) const FORMS: &str = r#"
  (?P<pem>
      -----BEGIN[A-Z\ ]*PRIVATE\ KEY-----.*?-----END[A-Z\ ]*PRIVATE\ KEY-----
  )
| (?:\b|\\[nrtbf]|\\u[0-9A-Fa-f]{4})(?:
      (?P<key>
          sk-[A-Za-z0-9_-]{16,}
        | [rs]k_(?:live|test)_[A-Za-z0-9]{16,}
        | (?:gh[opsur]_|github_pat_|glpat-|npm_|hf_|pypi-)[A-Za-z0-9_-]{16,}
        | xox[abeprs]-[A-Za-z0-9-]{8,}
        | xapp-[A-Za-z0-9-]{16,}
        | A[KS]IA[0-9A-Z]{16}
        | AIza[A-Za-z0-9_-]{30,}
        | ya29\.[A-Za-z0-9_-]{16,}
        | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}
      )
    | (?i:bearer)\ +(?P<bearer>[A-Za-z0-9._~+/=-]{8,})
    | (?i:authorization\\*["']?\ ?[:=]\ ?\\*["']?basic)\ +(?P<basic>[A-Za-z0-9+/=_-]{4,})
    | [A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)\\*["']?\ ?[=:]\ ?\\*["']?
      (?P<named>[^\s"'\\,;$<>{}()]{8,})
    | [A-Za-z0-9_-]*?(?i:(?:api|access|secret|private)[_-]?key|(?:access|auth|refresh|id|session)[_-]?token
        |client[_-]?secret|passwd|password)
      \\*["']?\ ?[=:]\ ?\\*["']?(?P<lower>[^\s"'\\,;$<>{}()]{8,})
  )
| \ --?[a-z-]*(?:key|token|secret|password)[\ =](?P<flag>[^\s"'\\,;$<>{}()-][^\s"'\\,;$<>{}()]{7,})
| ://[^\s/:@"'\\]+:(?P<url>[^\s/:@"'\\]+)@
| (?:\\[nrtbf]|\\u[0-9A-Fa-f]{4})?
  (?P<email>[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})
| :\\+Users\\+(?P<windows>[^\s\\/:*?"<>|]+(?:\ [^\s\\/:*?"<>|]+){0,3})\\
| (?:(?:/|%2[Ff])(?:home|Users)(?:/|%2[Ff])|:\\+Users\\+)
  (?P<home>[A-Za-z0-9_\x80-\xff](?:[A-Za-z0-9._\x80-\xff-]*[A-Za-z0-9_\x80-\xff])?)
"#;

/// Claude Code makes one word of a path. Where a name ends in it is known only if the name is, so this
/// comes last.
pub(super) const FOLDERS: &str = r"-(?:home|Users)-(?P<folder>[A-Za-z0-9]+)";

/// What the forms are called in [`FORMS`] and [`FOLDERS`].
pub(super) const NAMES: &[&str] = &[
    "pem", "key", "bearer", "basic", "named", "lower", "flag", "url", "email", "windows", "home",
    "folder",
];

/// Words that a field with a secret in it is called by, without what joins them.
const SECRET_FIELDS: &[&str] = &[
    "apikey",
    "accesskey",
    "secretkey",
    "secretaccesskey",
    "privatekey",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "idtoken",
    "refreshtoken",
    "sessiontoken",
    "clientsecret",
    "secret",
    "token",
    "password",
    "passwd",
    "credentials",
    "authorization",
];

/// Whether a variable or a field of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let upper =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let said = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS"];
    if upper && said.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let joined: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let joined = joined.to_ascii_lowercase();
    SECRET_FIELDS.iter().any(|field| match joined.strip_suffix(field) {
        // A progressToken is none.
        Some(before) => before.is_empty() || field.len() > "token".len(),
        None => false,
    })
}

/// Whether this is nobody's name.
pub(super) fn is_nobody(name: &str) -> bool {
    NOBODY.iter().any(|nobody| nobody.eq_ignore_ascii_case(name)) || is_replaced(name.as_bytes())
}

/// Whether this is what stands instead of something.
pub(super) fn is_replaced(value: &[u8]) -> bool {
    ["secret-", "sk-ant-redacted-", "account-", "redacted-", "user"].iter().any(|word| {
        let number = value.strip_prefix(word.as_bytes());
        number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    })
}

/// Whether this is no word that could stand anywhere.
pub(super) fn looks_random(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic)
}

/// What stands instead of something.
static MASK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:sk-ant-redacted-|secret-|account-|redacted-)[0-9]+|user[0-9]+(?:@example\.com)?",
    )
    .ok()
});

/// Whether this could have been the other before things were replaced in that.
pub(crate) fn is_masked(text: &str, redacted: &str) -> bool {
    let Some(mask) = &*MASK else { return false };
    let pieces: Vec<&str> = mask.split(redacted).collect();
    let [first, middle @ .., last] = pieces.as_slice() else { return false };
    let rest = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    let follow = |rest: &str, piece: &&str| rest.split_once(piece).map(|(_, rest)| rest.to_owned());
    rest.is_some_and(|rest| {
        middle.iter().try_fold(rest.to_owned(), |rest, piece| follow(&rest, piece)).is_some()
    })
}
