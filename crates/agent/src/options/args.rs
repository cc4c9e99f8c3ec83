//! Options from a command line, as the official SDKs write it.

use duologue_protocol::Text;
use duologue_protocol::permission::PermissionMode;

use super::{Dialect, Options};

impl Options {
    /// The options that a host gave on the command line, in either spelling (`--flag value`,
    /// `--flag=value`), and in the environment. What means nothing to an agent in general is passed over.
    ///
    /// ```
    /// use duologue_agent::Options;
    ///
    /// let args = ["--verbose", "--include-partial-messages", "--model=sonnet"];
    /// let options = Options::from_args(args.map(String::from));
    /// ```
    #[must_use]
    pub fn from_args(args: impl IntoIterator<Item = String>) -> Self {
        let mut options = Self::new().prompts(false);
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (arg, None),
            };
            let mut value = || value.clone().or_else(|| args.next()).unwrap_or_default();
            match flag.as_str() {
                "--permission-prompt-tool" => options.prompts = value() == "stdio",
                "--include-partial-messages" => options.partial = true,
                "--replay-user-messages" => options.replay = true,
                "--forward-subagent-text" => options.forward_subagent_text = true,
                "--dangerously-skip-permissions" | "--allow-dangerously-skip-permissions" => {
                    options.may_bypass = true;
                }
                "--model" => options.info.model = Text::from(value()),
                "--session-id" => options.info.session_id = Some(value().into()),
                "--permission-mode" => {
                    options.info.permission_mode = PermissionMode::from(value());
                }
                "--lenient" => options.lenient = true,
                "--dialect" => {
                    options.dialect = match value().as_str() {
                        "seeds" => Dialect::Seeds,
                        "seeds-system-result" => Dialect::SeedsSystemResult,
                        _ => Dialect::Today,
                    };
                }
                "--fault" => options.fault = value().parse().ok(),
                _ => {}
            }
        }
        options.from_environment()
    }

    fn from_environment(mut self) -> Self {
        let on = |name: &str| std::env::var(name).is_ok_and(|value| !matches!(&*value, "" | "0"));
        self.lenient |= on("DUOLOGUE_LENIENT");
        self.state_events |= on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS");
        if let Ok(fault) = std::env::var("DUOLOGUE_FAULT") {
            self.fault = self.fault.or_else(|| fault.parse().ok());
        }
        if let Ok(cwd) = std::env::current_dir() {
            self.info.cwd = Text::from(cwd.to_string_lossy().into_owned());
        }
        self
    }
}
