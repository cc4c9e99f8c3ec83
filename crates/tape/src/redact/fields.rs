//! Fields whose name indicates the kind of their value.

use super::judge::is_basic;
use super::value::is_key_of_a_kind;
use super::words::NOT_TELLING;

/// Fields that name a person or an account, in any object.
const ACCOUNT: &[&str] = &[
    "email",
    "emailAddress",
    "email_address",
    "organization",
    "organizationName",
    "organization_name",
    "organizationUuid",
    "organization_uuid",
    "organizationId",
    "organization_id",
    "accountUuid",
    "account_uuid",
    "fullName",
    "full_name",
];

/// Fields that name a person only inside an account object. Models have them, too.
const IN_ACCOUNT: &[&str] = &["displayName", "display_name", "name", "uuid"];

/// Fields whose values are words of the wire, even if a user has the same name.
const WIRE: &[&str] = &[
    "type",
    "subtype",
    "role",
    "behavior",
    "hook_event_name",
    "permissionMode",
    "stop_reason",
    "tool_name",
    "model",
    "status",
    "mode",
    "decision",
];

/// Fields that name the field beside them.
const NAMES: &[&str] = &["name", "key", "variable", "var", "header", "field"];

/// The ends of the names of secret fields, without separators.
const SECRETS: &[&str] = &[
    "secret",
    "secrets",
    "token",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "credentials",
    "authorization",
    "cookie",
    "setcookie",
    "mnemonic",
    "seedphrase",
    "privatekey",
    "secretkeybase",
];

/// The last field of a path and its parent. Only the end of the path is used.
pub(super) fn last_names(path: &str) -> (&str, &str) {
    let mut start = path.len().saturating_sub(256);
    while !path.is_char_boundary(start) {
        start += 1;
    }
    let mut names = path.get(start..).unwrap_or_default().rsplit('.');
    (names.next().unwrap_or_default(), names.next().unwrap_or_default())
}

pub(super) fn is_account(path: &str) -> bool {
    let (name, parent) = last_names(path);
    ACCOUNT.contains(&name)
        || (IN_ACCOUNT.contains(&name) && parent.to_lowercase().contains("account"))
}

pub(super) fn is_wire(path: &str) -> bool {
    WIRE.contains(&last_names(path).0)
}

/// Whether the value of this field names the one beside it: `{"name":"TOKEN","value":"…"}`.
pub(super) fn names_another(path: &str) -> bool {
    let name = last_names(path).0;
    NAMES.iter().any(|other| other.eq_ignore_ascii_case(name))
}

pub(super) fn is_value(path: &str) -> bool {
    last_names(path).0.eq_ignore_ascii_case("value")
}

/// Whether this is a name and a password, encoded: the `auth` of a registry.
pub(super) fn is_registry(path: &str, text: &[u8]) -> bool {
    last_names(path).0 == "auth" && is_basic(text)
}

/// Whether this is the secret number of a key in JSON.
pub(super) fn is_secret_number(path: &str, text: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    last_names(path).0 == "d" && text.len() >= 40 && text.iter().all(is_digit)
}

/// Whether a variable or a field of this name holds a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let upper =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let said = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "_PASS", "_PWD", "CREDENTIALS"];
    if upper && said.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let joined: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let joined = joined.to_ascii_lowercase();
    if NOT_TELLING.any(|other| joined.ends_with(*other)) {
        return false;
    }
    let has_end = SECRETS.iter().any(|end| joined.ends_with(end));
    has_end || joined == "pwd" || joined.ends_with("dbpwd") || is_key_of_a_kind(&joined)
}

/// Whether this is a working directory: `pwd` is also short for a password.
pub(super) fn is_folder(name: &str, value: &[u8]) -> bool {
    name.eq_ignore_ascii_case("pwd") && matches!(value.first(), Some(b'/' | b'~'))
}

/// Whether a number under this name is a secret, too.
pub(super) fn is_password(name: &str) -> bool {
    let joined: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let joined = joined.to_ascii_lowercase();
    ["password", "passwd", "passcode", "passphrase"].iter().any(|end| joined.ends_with(end))
}
