//! [`Shadowed`]: options that allow tool calls before the host is asked.

use std::fmt;

use crate::permission::PermissionMode;

use super::{Launch, Skills};

/// Options that allow tool calls before the host is asked, so that its permission handler is not called for
/// them. This can be intended.
///
/// ```
/// use duologue_protocol::launch::Launch;
///
/// let launch = Launch::new().allowed_tools(["Read", "Bash(git *)"]);
/// let shadowed = launch.shadowed_permissions().unwrap();
/// assert_eq!(shadowed.tools(), ["Read"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// Empty if the mode allows all tools.
    tools: Vec<String>,
}

impl Shadowed {
    /// The tools that are allowed as a whole; empty if the permission mode allows all.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }
}

impl fmt::Display for Shadowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tools.is_empty() {
            return f.write_str(
                "the permission handler is not called: the mode bypassPermissions allows every tool call \
                 that no rule denies. To check every call, use a PreToolUse hook",
            );
        }
        write!(
            f,
            "the permission handler is not called for {}: allowed_tools allows these tools as a whole. To check \
             every call, use a PreToolUse hook or a narrower rule. Rules in settings files can have the same \
             effect",
            self.tools.join(", ")
        )
    }
}

impl Launch {
    /// Which of these options allow tool calls before the host is asked; `None` if none do. Settings files are not
    /// considered.
    pub fn shadowed_permissions(&self) -> Option<Shadowed> {
        if self.permission_mode == Some(PermissionMode::BypassPermissions) {
            return Some(Shadowed { tools: Vec::new() });
        }
        let skills = matches!(self.skills, Some(Skills::All)).then_some("Skill");
        let allowed = self.allowed_tools.iter().filter_map(|rule| whole_tool(rule)).chain(skills);
        let mut tools: Vec<String> = Vec::new();
        for tool in allowed {
            if !tools.iter().any(|known| known == tool) {
                tools.push(tool.to_owned());
            }
        }
        (!tools.is_empty()).then_some(Shadowed { tools })
    }
}

/// The tool that a rule allows as a whole: `Read`, `Read()` and `Read(*)`.
fn whole_tool(rule: &str) -> Option<&str> {
    let Some(open) = rule.find('(') else {
        return Some(rule).filter(|rule| !rule.trim().is_empty());
    };
    let (tool, rest) = rule.split_at(open);
    (!tool.is_empty() && matches!(rest, "()" | "(*)")).then_some(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rules_for_whole_tools_shadow_the_handler() {
        let launch = Launch::new().allowed_tools(["Bash(ls:*)", "(x)", "Read(", "Edit(a)"]);
        assert_eq!(launch.shadowed_permissions(), None);
        let launch = Launch::new().allowed_tools(["Read", "Read()", "Grep(*)", "Bash(ls)"]);
        let shadowed = launch.shadowed_permissions().unwrap();
        assert_eq!(shadowed.tools(), ["Read", "Grep"]);
        assert!(shadowed.to_string().contains("not called for Read, Grep:"), "{shadowed}");
        let launch = Launch::new().skills(Skills::All);
        assert_eq!(launch.shadowed_permissions().unwrap().tools(), ["Skill"]);
        let launch = Launch::new().permission_mode(PermissionMode::BypassPermissions);
        let shadowed = launch.shadowed_permissions().unwrap();
        assert!(shadowed.tools().is_empty() && shadowed.to_string().contains("bypassPermissions"));
    }
}
