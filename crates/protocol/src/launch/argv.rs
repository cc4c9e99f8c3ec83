//! The arguments, and what is too long for them.

use std::ffi::{OsStr, OsString};

use super::error::LaunchError;
use super::flags::{AWAIT_INITIALIZE, Flag, MANAGED_SETTINGS_IN_INITIALIZE};
use super::plan::PlannedFile;
use super::version::CliVersion;

/// How long a command line may be, in bytes.
///
/// Linux takes 128 KiB in one argument, and all of them share their space with the environment,
/// which may be large. Windows takes 32,767 characters altogether, quotes and the program included.
/// The defaults stay well below either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgvBudget {
    /// One argument.
    pub value: usize,
    /// All of them.
    pub total: usize,
}

impl ArgvBudget {
    /// For Unix: 32 KiB for one, 100 KiB for all.
    pub const UNIX: Self = Self::new(32 * 1024, 100 * 1024);
    /// For Windows: 8 KiB for one, 24 KiB for all, since each quote may take two characters.
    pub const WINDOWS: Self = Self::new(8 * 1024, 24 * 1024);

    /// So many bytes for one argument, and so many for all.
    pub const fn new(value: usize, total: usize) -> Self {
        Self { value, total }
    }
}

/// That of the platform this was built for.
impl Default for ArgvBudget {
    fn default() -> Self {
        if cfg!(windows) { Self::WINDOWS } else { Self::UNIX }
    }
}

/// Where a value can go instead.
pub(super) enum Detour {
    /// Nowhere.
    None,
    /// Into a file, which this flag names.
    File(Flag, &'static str),
    /// Into `initialize`, which has it anyway.
    AlreadyInInitialize,
    /// Into `initialize`, with a flag for the CLI.
    ManagedSettings,
}

struct Entry {
    flag: String,
    token: OsString,
    detour: Detour,
    value: String,
}

/// The arguments, while they are collected.
pub(super) struct Argv<'a> {
    entries: Vec<Entry>,
    version: Option<&'a CliVersion>,
    budget: ArgvBudget,
}

/// The finished arguments.
pub(super) struct Finished {
    pub(super) args: Vec<OsString>,
    pub(super) files: Vec<PlannedFile>,
    pub(super) managed_settings_in_initialize: bool,
}

impl<'a> Argv<'a> {
    pub(super) const fn new(version: Option<&'a CliVersion>, budget: ArgvBudget) -> Self {
        Self { entries: Vec::new(), version, budget }
    }

    pub(super) const fn version(&self) -> Option<&'a CliVersion> {
        self.version
    }

    /// A flag alone.
    pub(super) fn switch(&mut self, flag: Flag, option: &'static str) -> Result<(), LaunchError> {
        flag.demand(self.version, option)?;
        self.entries.push(Entry::alone(flag.name));
        Ok(())
    }

    /// A flag and its value, as one argument.
    pub(super) fn value(
        &mut self,
        flag: Flag,
        option: &'static str,
        value: impl AsRef<OsStr>,
    ) -> Result<(), LaunchError> {
        flag.demand(self.version, option)?;
        self.raw(flag.name, option, Some(value.as_ref()))
    }

    /// A flag and a value that is passed in another way if it is too long.
    pub(super) fn movable(
        &mut self,
        flag: Flag,
        option: &'static str,
        value: &str,
        detour: Detour,
    ) -> Result<(), LaunchError> {
        flag.demand(self.version, option)?;
        // Only if this version supports it.
        let known = match &detour {
            Detour::File(flag, _) => flag.supported_by(self.version),
            Detour::ManagedSettings => MANAGED_SETTINGS_IN_INITIALIZE.supported_by(self.version),
            Detour::None | Detour::AlreadyInInitialize => true,
        };
        let token = token(flag.name, OsStr::new(value));
        if !known || token.len() <= self.budget.value {
            // A file can contain any text, an argument cannot.
            no_nul(option, OsStr::new(value))?;
        }
        self.entries.push(Entry {
            flag: flag.name.to_owned(),
            token,
            detour: if known { detour } else { Detour::None },
            value: value.to_owned(),
        });
        Ok(())
    }

    /// A list, split at commas by the CLI. Too long a list becomes several: the CLI joins them.
    pub(super) fn list(
        &mut self,
        flag: Flag,
        option: &'static str,
        items: &[String],
    ) -> Result<(), LaunchError> {
        let room = self.budget.value.saturating_sub(flag.name.len() + 1);
        let mut list = String::new();
        for item in items {
            if !list.is_empty() && list.len() + 1 + item.len() > room {
                self.value(flag, option, &list)?;
                list.clear();
            }
            if !list.is_empty() {
                list.push(',');
            }
            list.push_str(item);
        }
        self.value(flag, option, &list)
    }

    /// A flag as the caller names it.
    pub(super) fn raw(
        &mut self,
        flag: &str,
        option: &'static str,
        value: Option<&OsStr>,
    ) -> Result<(), LaunchError> {
        let Some(value) = value else {
            self.entries.push(Entry::alone(flag));
            return Ok(());
        };
        no_nul(option, value)?;
        let token = token(flag, value);
        self.entries.push(Entry { token, ..Entry::alone(flag) });
        Ok(())
    }

    /// Whether the flag is there already.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.entries.iter().any(|entry| entry.flag == flag)
    }

    /// Moves values out of the arguments, the longest first, until the rest fits.
    pub(super) fn finish(mut self) -> Result<Finished, LaunchError> {
        let mut files = Vec::new();
        let mut in_initialize = false;
        while let Some(at) = self.longest_movable() {
            let Some(entry) = self.entries.get_mut(at) else { break };
            match std::mem::replace(&mut entry.detour, Detour::None) {
                Detour::File(flag, suffix) => {
                    let file = PlannedFile {
                        placeholder: format!("{{file {}}}", files.len()),
                        contents: std::mem::take(&mut entry.value),
                        suffix,
                        flag: flag.name,
                        arg: at,
                    };
                    entry.flag = flag.name.to_owned();
                    entry.token = token(flag.name, OsStr::new(&file.placeholder));
                    files.push(file);
                }
                Detour::AlreadyInInitialize => entry.token.clear(),
                Detour::ManagedSettings => {
                    *entry = Entry::alone(MANAGED_SETTINGS_IN_INITIALIZE.name);
                    in_initialize = true;
                    if !self.has(AWAIT_INITIALIZE.name) {
                        self.entries.push(Entry::alone(AWAIT_INITIALIZE.name));
                    }
                }
                Detour::None => break,
            }
        }
        self.check()?;
        Ok(self.settle(files, in_initialize))
    }

    /// The longest value that can be moved, if one must.
    fn longest_movable(&self) -> Option<usize> {
        let movable = self.entries.iter().enumerate();
        let movable = movable.filter(|(_, entry)| !matches!(entry.detour, Detour::None));
        let (at, longest) = movable.max_by_key(|(_, entry)| entry.token.len())?;
        let must = longest.token.len() > self.budget.value || self.total() > self.budget.total;
        must.then_some(at)
    }

    /// Each argument needs one byte more than its length.
    fn total(&self) -> usize {
        self.entries.iter().map(|entry| entry.token.len() + 1).sum()
    }

    fn check(&self) -> Result<(), LaunchError> {
        for entry in &self.entries {
            let length = entry.token.len();
            if length > self.budget.value {
                let (flag, limit) = (entry.flag.clone(), self.budget.value);
                return Err(LaunchError::TooLong { flag, length, limit });
            }
        }
        let (length, limit) = (self.total(), self.budget.total);
        if length > limit {
            return Err(LaunchError::ArgvTooLong { length, limit });
        }
        Ok(())
    }

    /// Removes the arguments that were moved.
    fn settle(self, mut files: Vec<PlannedFile>, in_initialize: bool) -> Finished {
        let mut args = Vec::with_capacity(self.entries.len());
        for (at, entry) in self.entries.into_iter().enumerate() {
            if entry.token.is_empty() {
                continue;
            }
            for file in files.iter_mut().filter(|file| file.arg == at) {
                file.arg = args.len();
            }
            args.push(entry.token);
        }
        Finished { args, files, managed_settings_in_initialize: in_initialize }
    }
}

impl Entry {
    fn alone(flag: &str) -> Self {
        let token = OsString::from(flag);
        Self { flag: flag.to_owned(), token, detour: Detour::None, value: String::new() }
    }
}

/// `--flag=value`: one argument, with any value.
pub(super) fn token(flag: &str, value: &OsStr) -> OsString {
    let mut token = OsString::with_capacity(flag.len() + 1 + value.len());
    token.push(flag);
    token.push("=");
    token.push(value);
    token
}

fn no_nul(option: &'static str, value: &OsStr) -> Result<(), LaunchError> {
    if value.as_encoded_bytes().contains(&0) {
        let why = "an argument cannot hold a NUL byte";
        return Err(LaunchError::invalid(option, &value.to_string_lossy(), why));
    }
    Ok(())
}
