//! Settings, permission rules, hooks and plugins, as the agent lists them.

use crate::json::{Number, RawJson, RawObject};
use crate::text::Text;
use crate::wire::record;

record! {
    /// Settings from one place.
    SettingsSource {
        /// Which.
        source: Text,
        /// The settings.
        settings: RawObject,
    }
}

record! {
    /// What is in force.
    AppliedSettings {
        /// The model.
        model: Text,
        /// The effort level.
        effort: Text,
        /// The advisor.
        advisor: RawJson,
        /// Whether ultracode is on.
        ultracode: bool,
        /// Whether it was asked for.
        ultracode_requested "ultracodeRequested": bool,
        /// Whether there is such a thing.
        ultracode_available "ultracodeAvailable": bool,
        /// Whether a word can ask for more thinking.
        ultrathink_available "ultrathinkAvailable": bool,
        /// Whether reading outside is blocked.
        outside_file_tool_reads_blocked "outsideFileToolReadsBlocked": bool,
        /// Whether writing outside is blocked.
        outside_file_tool_writes_blocked "outsideFileToolWritesBlocked": bool,
        /// Whether only the folders of the start count as inside.
        outside_blocks_count_launch_folders_only "outsideBlocksCountLaunchFoldersOnly": bool,
        /// Whether the environment left the agent's own files in place.
        launch_env_left_own_files_in_place "launchEnvLeftOwnFilesInPlace": bool,
    }
}

record! {
    /// Settings that could not be read.
    SettingsError {
        /// The file.
        file: Text,
        /// Where in it.
        path: Text,
        /// What is wrong.
        message: Text,
    }
}

record! {
    /// The permission rules and directories.
    PermissionRulesState {
        /// The rules.
        rules: Vec<ListedPermissionRule>,
        /// The directories.
        workspace_directories "workspaceDirectories": Vec<WorkspaceDirectory>,
        /// The directory in which the process started.
        original_cwd "originalCwd": Text,
        /// Only managed rules count.
        managed_only "managedOnly": bool,
        /// What could not be read.
        errors: RawJson,
        /// What is withheld.
        withheld: RawJson,
    }
}

record! {
    /// A permission rule in force.
    ListedPermissionRule {
        /// The text.
        behavior: Text,
        /// Where it was set.
        source: Text,
        /// The rule.
        rule: Text,
        /// The rule in words.
        description: RawJson,
        /// Whether it can be changed.
        editability: Text,
        /// It is not in force.
        not_in_effect "notInEffect": RawJson,
    }
}

record! {
    /// A working directory.
    WorkspaceDirectory {
        /// Where.
        path: Text,
        /// Who added it.
        source: Text,
    }
}

record! {
    /// A hook event.
    HookEventInfo {
        /// Its name.
        name: Text,
        /// When it happens.
        summary: Text,
        /// Whether a matcher counts.
        supports_matcher "supportsMatcher": bool,
        /// How many hooks it has.
        hook_count "hookCount": Number,
    }
}

record! {
    /// A hook.
    ListedHook {
        /// The event.
        event: Text,
        /// What must match.
        matcher: Text,
        /// Where it was set.
        source: Text,
        /// The same for people.
        source_label "sourceLabel": Text,
        /// The plugin it belongs to.
        plugin_name "pluginName": Text,
        /// What kind of hook.
        kind "type": Text,
        /// What to show.
        display_text "displayText": Text,
        /// The command.
        command_text "commandText": Text,
        /// What it is called.
        content_label "contentLabel": Text,
        /// When it runs.
        condition: RawJson,
        /// Timeout in milliseconds.
        timeout: Number,
        /// What to show while it runs.
        status_message "statusMessage": Text,
        /// It runs once.
        runs_once "runsOnce": bool,
        /// It runs in the background.
        runs_in_background "runsInBackground": bool,
        /// It is switched off.
        disabled: bool,
        /// How it can be changed.
        editable: RawJson,
    }
}

record! {
    /// Who may set hooks.
    HookPolicy {
        /// Hooks are switched off by policy.
        disabled_by_policy "disabledByPolicy": bool,
        /// Only managed hooks count.
        managed_only "managedOnly": bool,
        /// Only hooks of plugins count.
        plugin_only "pluginOnly": bool,
        /// All hooks are switched off.
        all_disabled "allDisabled": bool,
        /// How many hooks the policy has.
        policy_hook_count "policyHookCount": Number,
        /// The policy could not be read.
        policy_unreadable "policyUnreadable": bool,
    }
}

record! {
    /// A plugin that was loaded.
    LoadedPlugin {
        /// Its name.
        name: Text,
        /// The path.
        path: Text,
        /// Where it came from.
        source: Text,
        /// Its version.
        version: Text,
    }
}
