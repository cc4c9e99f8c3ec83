//! [`Tokens`]: who may do what.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

/// How many tokens there may be.
const MOST_TOKENS: usize = 1024;

/// How many wrong codes are accepted before a pairing code is void.
const ATTEMPTS: u32 = 10;

/// For how long a pairing code is valid, in milliseconds.
const PAIRING: u64 = 10 * 60 * 1000;

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scope {
    /// Sessions, logs and asks can be read.
    Read,
    /// Prompts can be sent, turns interrupted, entries published.
    Prompt,
    /// Asks can be answered as they were asked.
    Answer,
    /// Sessions can be created and closed, inputs changed, permissions given for good.
    Control,
    /// Tokens can be created and revoked. Includes all others.
    Admin,
}

/// What is kept of a token: not the token itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenInfo {
    /// Its id, which the log shows as `by`.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// When it was created, in milliseconds since 1970.
    pub created: u64,
    /// When it expires, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

impl TokenInfo {
    /// Whether it allows something.
    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }
}

/// A token on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    info: TokenInfo,
    /// The SHA-256 of the token, in hexadecimal digits.
    hash: String,
}

/// Why tokens cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("{}: {reason}", path.display())]
    #[non_exhaustive]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// There are too many tokens.
    #[error("there are {MOST_TOKENS} tokens: revoke some first")]
    TooMany,
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    NoRandom,
}

/// A code that can be exchanged for a token, once, within ten minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairingCode(String);

impl PairingCode {
    /// The code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug)]
struct Pairing {
    hash: [u8; 32],
    until: u64,
    attempts: u32,
}

/// The tokens of a hub, in a file that only its owner can read. The file has their hashes only.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tokens: BTreeMap<String, Stored>,
    pairing: Option<Pairing>,
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
    hash
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares in a time that does not depend on where the two differ.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
}

fn random<const N: usize>() -> Result<String, TokenError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| TokenError::NoRandom)?;
    Ok(hex(&bytes))
}

impl Tokens {
    /// Opens the tokens of a folder.
    ///
    /// # Errors
    ///
    /// If the file is there and cannot be read.
    pub fn open(folder: &Path) -> Result<Self, TokenError> {
        let path = folder.join("tokens.json");
        let failed = |reason: String| TokenError::File { path: path.clone(), reason };
        let tokens = match std::fs::read(&path) {
            Ok(json) => serde_json::from_slice(&json).map_err(|error| failed(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(failed(error.to_string())),
        };
        Ok(Self { path, state: Mutex::new(State { tokens, pairing: None }) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file as a whole: it is the old or the new one, whatever happens.
    fn save(&self, tokens: &BTreeMap<String, Stored>) -> Result<(), TokenError> {
        let unfinished = self.path.with_extension("json.new");
        let write = || {
            let json = serde_json::to_vec_pretty(tokens)?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&unfinished)?;
            file.write_all(&json)?;
            file.sync_all()?;
            std::fs::rename(&unfinished, &self.path)
        };
        let failed = |error: std::io::Error| {
            let (path, reason) = (self.path.clone(), error.to_string());
            TokenError::File { path, reason }
        };
        write().map_err(failed)
    }

    /// Creates a token. This is the only time that it can be read.
    ///
    /// # Errors
    ///
    /// If it cannot be stored.
    pub fn create(
        &self,
        name: &str,
        scopes: &[Scope],
        now: u64,
        expires: Option<u64>,
    ) -> Result<(String, TokenInfo), TokenError> {
        let (id, secret) = (random::<6>()?, random::<32>()?);
        let token = format!("duo_{id}_{secret}");
        let info = TokenInfo {
            id: id.clone(),
            name: name.to_owned(),
            scopes: scopes.to_vec(),
            created: now,
            expires,
        };
        let mut state = self.lock();
        let mut tokens = state.tokens.clone();
        tokens.retain(|_, token| token.info.expires.is_none_or(|expires| expires > now));
        if tokens.len() >= MOST_TOKENS {
            return Err(TokenError::TooMany);
        }
        let stored = Stored { info: info.clone(), hash: hex(&sha256(token.as_bytes())) };
        tokens.insert(id, stored);
        self.save(&tokens)?;
        state.tokens = tokens;
        Ok((token, info))
    }

    /// The token, if it is valid.
    pub fn find(&self, token: &str, now: u64) -> Option<TokenInfo> {
        let id = token.strip_prefix("duo_")?.split('_').next()?;
        let state = self.lock();
        let stored = state.tokens.get(id)?;
        let hash = hex(&sha256(token.as_bytes()));
        let is_valid = is_equal(hash.as_bytes(), stored.hash.as_bytes());
        let is_fresh = stored.info.expires.is_none_or(|expires| expires > now);
        (is_valid && is_fresh).then(|| stored.info.clone())
    }

    /// All tokens.
    pub fn list(&self) -> Vec<TokenInfo> {
        self.lock().tokens.values().map(|stored| stored.info.clone()).collect()
    }

    /// Revokes a token. False if there is none.
    ///
    /// # Errors
    ///
    /// If that cannot be stored.
    pub fn revoke(&self, id: &str) -> Result<bool, TokenError> {
        let mut state = self.lock();
        let mut tokens = state.tokens.clone();
        if tokens.remove(id).is_none() {
            return Ok(false);
        }
        self.save(&tokens)?;
        state.tokens = tokens;
        Ok(true)
    }

    /// A new pairing code. An earlier one is void.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers.
    pub fn pairing_code(&self, now: u64) -> Result<PairingCode, TokenError> {
        let code = random::<16>()?;
        let hash = sha256(code.as_bytes());
        let until = now.saturating_add(PAIRING);
        self.lock().pairing = Some(Pairing { hash, until, attempts: 0 });
        Ok(PairingCode(code))
    }

    /// Uses a pairing code: true once.
    pub(super) fn use_code(&self, code: &str, now: u64) -> bool {
        let mut state = self.lock();
        let Some(pairing) = &mut state.pairing else { return false };
        pairing.attempts += 1;
        let is_right = is_equal(&sha256(code.as_bytes()), &pairing.hash);
        let is_valid = now < pairing.until && pairing.attempts <= ATTEMPTS;
        if is_right || !is_valid {
            state.pairing = None;
        }
        is_right && is_valid
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn tokens_survive_a_restart_and_only_their_hashes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path()).unwrap();
        let (token, info) = tokens.create("phone", &[Scope::Read], 1, None).unwrap();
        let file = folder.path().join("tokens.json");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&token[20..]), "{text}");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let tokens = Tokens::open(folder.path()).unwrap();
        assert_eq!(tokens.find(&token, 2), Some(info.clone()));
        let mut wrong = token.clone();
        wrong.pop();
        assert_eq!(tokens.find(&wrong, 2), None);
        assert_eq!(tokens.find("", 2), None);
        assert!(tokens.revoke(&info.id).unwrap());
        assert!(!tokens.revoke(&info.id).unwrap());
        assert_eq!(tokens.find(&token, 2), None);
        assert_eq!(Tokens::open(folder.path()).unwrap().find(&token, 2), None);
    }

    #[test]
    fn tokens_expire() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path()).unwrap();
        let (token, _) = tokens.create("short", &[Scope::Read], 0, Some(100)).unwrap();
        assert!(tokens.find(&token, 99).is_some());
        assert!(tokens.find(&token, 100).is_none());
    }

    #[test]
    fn a_code_is_valid_once_for_ten_minutes_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::open(folder.path()).unwrap();
        let code = tokens.pairing_code(0).unwrap();
        assert!(!tokens.use_code("wrong", 1));
        assert!(tokens.use_code(code.as_str(), 1));
        assert!(!tokens.use_code(code.as_str(), 1));
        let code = tokens.pairing_code(0).unwrap();
        assert!(!tokens.use_code(code.as_str(), PAIRING));
        assert!(!tokens.use_code(code.as_str(), 1));
        let code = tokens.pairing_code(0).unwrap();
        for _ in 0..ATTEMPTS {
            assert!(!tokens.use_code("wrong", 1));
        }
        assert!(!tokens.use_code(code.as_str(), 1));
    }

    #[test]
    fn a_damaged_file_is_an_error_not_an_empty_list() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tokens.json"), "{").unwrap();
        assert!(matches!(Tokens::open(folder.path()), Err(TokenError::File { .. })));
    }
}
