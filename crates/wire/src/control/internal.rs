//! Requests of hosted and desktop surfaces. Read leniently; never depend on them.

use crate::json::{Number, RawJson, RawObject};
use crate::text::Text;
use crate::wire::record;

use super::runtime::requests;

requests! {
    /// End the session: an answer, then the end.
    EndSession = "end_session" {
        /// Why.
        reason: Text,
    }
    /// What is in a directory?
    ListDirectory = "list_directory" {
        /// Which.
        path: Text,
    }
    /// What has changed in the work tree?
    GetWorkspaceDiff = "get_workspace_diff" {}
    /// Run a command as a task.
    StartShellTask = "start_shell_task" {
        /// The command.
        command: Text,
        /// Its arguments.
        args: RawJson,
        /// Where.
        cwd: Text,
        /// Its environment.
        env: RawObject,
        /// How long it may take.
        timeout_ms: Number,
        /// What it does.
        description: Text,
    }
    /// How much the agent does by itself.
    SetProactivityLevel = "set_proactivity_level" {
        /// `ask`, `default` or `proactive`.
        level: Text,
    }
    /// Add a working directory.
    AddDirectory = "add_directory" {}
    /// Go on in another session.
    ForkConversation = "fork_conversation" {}
    /// Go back in the conversation.
    RewindConversation = "rewind_conversation" {}
    /// Something may have happened elsewhere.
    PollEvent = "poll_event" {}
    /// Take a file.
    StageFile = "stage_file" {}
    /// The tasks of an MCP server changed.
    McpTasksChanged = "mcp_tasks_changed" {}
    /// Hand the turn over.
    TurnHandoff = "turn_handoff" {}
    /// Hooks of a device.
    RegisterDeviceHooks = "register_device_hooks" {}
    /// A template for hooks of a device.
    UploadDeviceHookTemplate = "upload_device_hook_template" {}
    /// Tools that run elsewhere.
    RemoteToolsAnnounce = "remote_tools_announce" {}
    /// A plugin's surface: attach.
    UiAttach = "ui_attach" {}
    /// A plugin's surface: detach.
    UiDetach = "ui_detach" {}
    /// A plugin's surface: render.
    UiRender = "ui_render" {}
    /// A plugin's surface: press.
    UiPress = "ui_press" {}
    /// A plugin's surface: its code.
    UiClientModule = "ui_client_module" {}
    /// A plugin's surface: press, in the host.
    UiClientPress = "ui_client_press" {}
    /// A plugin's surface: a message.
    UiMessage = "ui_message" {}
    /// A plugin's surface: a fault in the host.
    UiClientFault = "ui_client_fault" {}
    /// A plugin's surface: input.
    UiInput = "ui_input" {}
    /// A plugin's surface: select.
    UiSelect = "ui_select" {}
    /// A plugin's surface: all panes.
    UiPanesRequest = "ui_panes" {}
    /// A plugin's surface: show a pane.
    UiPaneShow = "ui_pane_show" {}
    /// A plugin's surface: focus a pane.
    UiPaneFocus = "ui_pane_focus" {}
    /// A plugin's surface: close.
    UiClose = "ui_close" {}
    /// A plugin's surface: scroll.
    UiScrollRequest = "ui_scroll" {}
    /// A plugin's surface: focus.
    UiFocusRequest = "ui_focus" {}
    /// A plugin's surface: the input line was edited.
    UiPromptEdit = "ui_prompt_edit" {}
    /// A plugin's surface: complete the input line.
    UiPromptAutocomplete = "ui_prompt_autocomplete" {}
}

record! {
    /// What has changed in the work tree.
    GetWorkspaceDiffReply {
        /// The difference; null if there is none.
        diff: Text,
        /// Why there is none.
        no_diff_reason "noDiffReason": Text,
    }
}
