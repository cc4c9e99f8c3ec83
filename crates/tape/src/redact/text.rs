//! Rules for texts: what gives itself away by its form.

use std::collections::HashMap;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::counts::Counts;

/// Shorter values of secret variables are switches, not secrets.
const SHORTEST_SECRET: usize = 8;

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

/// Everything that gives itself away by its form, each with a name. One expression, so that a line is
/// gone through once. Texts are looked at as they stand in JSON: a backslash ends most things.
const FORMS: &str = r#"
  (?P<key>
      -----BEGIN[A-Z\ ]*PRIVATE\ KEY-----.*?-----END[A-Z\ ]*PRIVATE\ KEY-----
    | \b(?:
          sk-[A-Za-z0-9_-]{16,}
        | (?:gh[opsur]_|github_pat_|glpat-|npm_|hf_|pypi-)[A-Za-z0-9_-]{16,}
        | xox[abeprs]-[A-Za-z0-9-]{8,}
        | AKIA[0-9A-Z]{16}
        | AIza[A-Za-z0-9_-]{30,}
        | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}
      )
  )
| \b(?P<bearer_before>[Bb]earer\ +)(?P<bearer>[A-Za-z0-9._~+/=-]{8,})
| \b(?P<variable_before>[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)\\?["']?[\ ]?[=:][\ ]?\\?["']?)
    (?P<variable>[^\s"'\\,;$<>{}()]{8,})
| (?P<email>[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})
| (?P<home_before>/home/|/Users/|:\\\\?Users\\\\?|-home-|-Users-)(?P<home>[A-Za-z0-9][A-Za-z0-9._]*)
"#;

#[derive(Debug)]
pub(super) struct TextRules {
    forms: Regex,
    /// Values that are known to be secret.
    secrets: Vec<String>,
    /// Names that are known to be people's.
    users: Vec<Vec<u8>>,
    /// What was called what.
    names: HashMap<Vec<u8>, String>,
    pub(super) counts: Counts,
}

/// Whether a variable of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let upper =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let said = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS"];
    upper && said.iter().any(|end| name.ends_with(end))
}

impl TextRules {
    pub(super) fn new() -> Self {
        let forms = RegexBuilder::new(FORMS)
            .ignore_whitespace(true)
            .unicode(false)
            .dot_matches_new_line(true)
            .build();
        #[expect(clippy::expect_used, reason = "a constant, which every test compiles")]
        let forms = forms.expect("the expression is well formed");
        Self {
            forms,
            secrets: Vec::new(),
            users: Vec::new(),
            names: HashMap::new(),
            counts: Counts::default(),
        }
    }

    #[cfg(feature = "session")]
    pub(super) fn fresh(&self) -> Self {
        Self {
            forms: self.forms.clone(),
            secrets: self.secrets.clone(),
            users: self.users.clone(),
            names: HashMap::new(),
            counts: Counts::default(),
        }
    }

    pub(super) fn know_secret(&mut self, value: &str) {
        if value.len() >= SHORTEST_SECRET && !self.secrets.iter().any(|known| known == value) {
            self.secrets.push(value.to_owned());
        }
    }

    pub(super) fn know_user(&mut self, name: &str) {
        let nobody = NOBODY.iter().any(|nobody| nobody.eq_ignore_ascii_case(name));
        let known = self.users.iter().any(|known| known == name.as_bytes());
        if name.len() >= 3 && !nobody && !known {
            self.users.push(name.as_bytes().to_vec());
        }
    }

    /// What this is called on this tape.
    pub(super) fn name(&mut self, kind: &'static str, value: &[u8], word: &str) -> String {
        self.counts.add(kind);
        let number = self.names.len() + 1;
        self.names.entry(value.to_vec()).or_insert_with(|| format!("{word}{number}")).clone()
    }

    pub(super) fn replace(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for secret in std::mem::take(&mut self.secrets) {
            bytes = self.replace_all(&bytes, secret.as_bytes(), false);
            self.secrets.push(secret);
        }
        let forms = self.forms.clone();
        if forms.is_match(&bytes) {
            bytes = forms.replace_all(&bytes, |found: &Captures<'_>| self.form(found)).into_owned();
        }
        for user in std::mem::take(&mut self.users) {
            bytes = self.replace_all(&bytes, &user, true);
            self.users.push(user);
        }
        bytes
    }

    /// What stands instead of something that has a telling form.
    fn form(&mut self, found: &Captures<'_>) -> Vec<u8> {
        let whole = found.get(0).map(|whole| whole.as_bytes()).unwrap_or_default();
        let after = |before: &str, new: String| {
            let mut bytes =
                found.name(before).map(|text| text.as_bytes().to_vec()).unwrap_or_default();
            bytes.extend_from_slice(new.as_bytes());
            bytes
        };
        if let Some(key) = found.name("key") {
            let word =
                if key.as_bytes().starts_with(b"sk-ant-") { "sk-ant-redacted-" } else { "secret-" };
            return self.name("keys and tokens", key.as_bytes(), word).into_bytes();
        }
        for (name, before) in [("bearer", "bearer_before"), ("variable", "variable_before")] {
            let Some(value) = found.name(name) else { continue };
            if is_replaced(value.as_bytes()) {
                return whole.to_vec();
            }
            return after(before, self.name("keys and tokens", value.as_bytes(), "secret-"));
        }
        if let Some(email) = found.name("email") {
            if email.as_bytes().ends_with(b"@example.com")
                || email.as_bytes().ends_with(b"@anthropic.com")
            {
                return whole.to_vec();
            }
            let name = self.name("e-mail addresses", email.as_bytes(), "user");
            return format!("{name}@example.com").into_bytes();
        }
        let Some(home) = found.name("home") else { return whole.to_vec() };
        let name = String::from_utf8_lossy(home.as_bytes()).into_owned();
        self.know_user(&name);
        if !self.users.iter().any(|known| known == name.as_bytes()) {
            return whole.to_vec();
        }
        after("home_before", self.name("home folders and user names", home.as_bytes(), "user"))
    }

    /// Replaces every occurrence; of a user's name, only those that are words.
    fn replace_all(&mut self, bytes: &[u8], what: &[u8], is_user: bool) -> Vec<u8> {
        let mut replaced = Vec::new();
        let mut rest = bytes;
        let mut before = None;
        while let Some(at) = memchr::memmem::find(rest, what) {
            let (head, tail) = rest.split_at(at);
            let (found, tail) = tail.split_at(what.len());
            let neighbours = [head.last().copied().or(before), tail.first().copied()];
            let inside = neighbours
                .into_iter()
                .flatten()
                .any(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            replaced.extend_from_slice(head);
            if is_user && inside {
                replaced.extend_from_slice(found);
            } else {
                let name = if is_user {
                    self.name("home folders and user names", what, "user")
                } else {
                    self.name("keys and tokens", what, "secret-")
                };
                replaced.extend_from_slice(name.as_bytes());
            }
            before = found.last().copied();
            rest = tail;
        }
        if replaced.is_empty() {
            return bytes.to_vec();
        }
        replaced.extend_from_slice(rest);
        replaced
    }
}

/// Whether this is what stands instead of a secret.
fn is_replaced(value: &[u8]) -> bool {
    value.starts_with(b"secret-") || value.starts_with(b"sk-ant-redacted-")
}
