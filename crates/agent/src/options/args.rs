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
                "--mcp-config" => options.host_servers.extend(host_servers(&value())),
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
        options.with_environment()
    }

    /// The same, with what the environment says.
    #[must_use]
    pub fn with_environment(mut self) -> Self {
        let on = |name: &str| std::env::var(name).is_ok_and(|value| !matches!(&*value, "" | "0"));
        self.lenient |= on("DUOLOGUE_LENIENT");
        self.state_events |= on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS");
        self.hidden_state_events |= on("CLAUDE_CODE_SDK_READS_SESSION_STATE");
        if let Ok(fault) = std::env::var("DUOLOGUE_FAULT") {
            self.fault = self.fault.or_else(|| fault.parse().ok());
        }
        if let Ok(cwd) = std::env::current_dir() {
            self.info.cwd = Text::from(cwd.to_string_lossy().into_owned());
        }
        self
    }
}

/// The servers of a configuration that the host itself serves. It may also be the name of a file, which
/// is none of our business.
fn host_servers(config: &str) -> Vec<Text> {
    let config: serde_json::Value = serde_json::from_str(config).unwrap_or_default();
    let servers = config["mcpServers"].as_object().into_iter().flatten();
    let ours = servers.filter(|(_, server)| server["type"] == "sdk");
    ours.map(|(name, _)| Text::from(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read_and_the_rest_is_passed_over() {
        let args = [
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-prompt-tool",
            "stdio",
            "--model=sonnet",
            "--permission-mode",
            "plan",
            "--frobnicate",
            "--fault=die@2",
            "--mcp-config",
            r#"{"mcpServers":{"calc":{"type":"sdk","name":"calc"},"x":{"command":"y"}}}"#,
        ];
        let options = Options::from_args(args.map(String::from));
        assert!(options.prompts && !options.partial);
        assert_eq!(options.info.model, "sonnet");
        assert_eq!(options.info.permission_mode, PermissionMode::Plan);
        assert_eq!(options.fault, Some(crate::Fault::DieAt(2)));
        assert_eq!(options.host_servers, ["calc"]);
    }
}
