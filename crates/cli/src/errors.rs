//! Errors of the libraries, with flags instead of the names of options.

use duologue::Error;
use duologue_protocol::launch::LaunchError;

/// The text of an error, with flags instead of the names of the Rust API.
pub(crate) fn spelled(error: &Error) -> String {
    match error {
        Error::Launch(error) => spelled_launch(error),
        Error::OverBudget { spent_usd, limit_usd, .. } => format!(
            "the budget is used up: ${spent_usd:.4} of ${limit_usd:.4}. Start again with a larger \
             --max-budget-usd"
        ),
        other => other.to_string(),
    }
}

fn spelled_launch(error: &LaunchError) -> String {
    match error {
        LaunchError::Contradiction { first, second, why, .. } => {
            format!("{} and {} cannot be used together: {why}", flag(first), flag(second))
        }
        LaunchError::Invalid { option, value, why, .. } => {
            format!("{} {value:?} cannot be used: {why}", flag(option))
        }
        LaunchError::Unsupported { option, version, missing_in, .. } => format!(
            "version {version} of the agent does not support {} (missing in {missing_in}): remove \
             it, or update the agent",
            flag(option)
        ),
        other => other.to_string(),
    }
}

/// The flag that sets an option of the library.
fn flag(option: &str) -> String {
    match option {
        "fallback_models" => "--fallback-model".to_owned(),
        "add_dirs" => "--add-dir".to_owned(),
        "json_schema" => "--schema".to_owned(),
        "mcp_server" | "mcp_servers" | "mcp_config_files" => "--mcp-config".to_owned(),
        "conversation" => "--session-id".to_owned(),
        "extra_arg" | "extra_args" | "extra_flag" => "a flag after --".to_owned(),
        "settings by file" => "--settings with a file".to_owned(),
        "program" => "--agent".to_owned(),
        // Words, not a name.
        other if other.contains(' ') => other.to_owned(),
        other => format!("--{}", other.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_named_not_fields() {
        assert_eq!(flag("max_budget_usd"), "--max-budget-usd");
        assert_eq!(flag("fallback_models"), "--fallback-model");
        assert_eq!(flag("settings by file"), "--settings with a file");
    }
}
