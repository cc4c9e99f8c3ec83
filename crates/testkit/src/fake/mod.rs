//! An agent that follows a script, including faults.
//!
//! The program is `fake-agent`. Without a script it behaves like the CLI. A [`Script`] changes its behaviour; a [`Stage`]
//! passes the script to the program and keeps the lines that it received.
//!
//! ```
//! use duologue_testkit::fake::{Script, Stage, Step};
//! # fn example(dir: &std::path::Path) -> std::io::Result<()> {
//! let script = Script::new().turn([
//!     Step::Init,
//!     Step::can_use_tool("ask-1", "Bash", serde_json::json!({ "command": "ls" })),
//!     Step::Text("thank you".to_owned()),
//!     Step::Die(9),
//! ]);
//! let stage = Stage::new(dir, &script)?;
//! let (name, value) = stage.env();
//! std::process::Command::new("fake-agent").env(name, value).spawn()?;
//! # Ok(())
//! # }
//! ```

mod agent;
mod program;
mod script;
mod stage;
mod step;

pub use agent::play;
pub use program::program;
pub use script::Script;
pub use stage::{Stage, Start};
pub use step::{Answer, Kind, Step};

/// The variable that names the file with the scripts.
const SCRIPT_VAR: &str = "FAKE_AGENT_SCRIPT";

/// The files in the directory of a stage.
mod files {
    use std::path::{Path, PathBuf};

    pub(super) const SCRIPTS: &str = "script.json";
    pub(super) const STARTS: &str = "starts.ndjson";
    pub(super) const GRANDCHILDREN: &str = "grandchildren";

    /// The lines that one run of the agent received.
    pub(super) fn host(dir: &Path, life: usize) -> PathBuf {
        dir.join(format!("host-{life}.log"))
    }

    /// Exists if this run has begun.
    pub(super) fn life(dir: &Path, life: usize) -> PathBuf {
        dir.join(format!("life-{life}"))
    }

    pub(super) fn gate(dir: &Path, name: &str) -> PathBuf {
        dir.join(format!("gate-{name}"))
    }

    pub(super) fn mark(dir: &Path, name: &str) -> PathBuf {
        dir.join(format!("mark-{name}"))
    }
}
