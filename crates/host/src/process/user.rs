//! [`OsUser`]: the user of the system that a process runs as.

use std::io;
use std::path::Path;

use tokio::process::Command;

/// A user of the operating system.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use duologue::{OsUser, Session};
///
/// let builder = Session::builder()
///     .os_user(OsUser::named("sandbox")?)
///     .env("HOME", "/home/sandbox");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsUser {
    uid: u32,
    gid: Option<u32>,
}

impl OsUser {
    /// The user with this id. The group does not change.
    pub const fn new(uid: u32) -> Self {
        Self { uid, gid: None }
    }

    /// Sets the group, too.
    #[must_use]
    pub const fn group(mut self, gid: u32) -> Self {
        self.gid = Some(gid);
        self
    }

    /// The user with this name, and its primary group, from `/etc/passwd`. Users of other directories, such as
    /// LDAP, are not found: use [`new`](Self::new).
    ///
    /// # Errors
    /// If the file cannot be read, or has no such user.
    pub fn named(name: &str) -> io::Result<Self> {
        let users = std::fs::read_to_string("/etc/passwd")?;
        Self::find(&users, name).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no user {name} in /etc/passwd"))
        })
    }

    /// `name:password:uid:gid:…`
    fn find(users: &str, name: &str) -> Option<Self> {
        users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let found = fields.next() == Some(name);
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            found.then_some(Self { uid, gid: Some(gid) })
        })
    }

    pub(super) const fn id(self) -> u32 {
        self.uid
    }

    pub(super) fn apply(self, command: &mut Command) {
        command.uid(self.uid);
        if let Some(gid) = self.gid {
            command.gid(gid);
        }
    }

    /// Gives a file to the user.
    pub(crate) fn own(self, path: &Path) -> io::Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), self.gid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\nbroken\nsandbox2:x:7:8::/:\nsandbox:x:1001:1002::/:\n";
        let sandbox = OsUser { uid: 1001, gid: Some(1002) };
        assert_eq!(OsUser::find(users, "sandbox"), Some(sandbox));
        assert_eq!(OsUser::find(users, "sand"), None);
        assert_eq!(OsUser::find(users, "broken"), None);
    }
}
