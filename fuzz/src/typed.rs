//! Every typed body, by number.

use std::fmt::Debug;

use duologue_protocol::control::{AgentRequestReply, HostRequestReply};
use duologue_protocol::tool::ToolInput;
use duologue_protocol::{RawJson, RawObject, Survey, Wire};

/// A kind of body and what must hold for it.
pub struct Kind {
    /// Its type, or the subtype or tool that it belongs to.
    pub name: &'static str,
    check: fn(&'static str, &str),
}

impl Kind {
    /// Reads the text as this kind, and looks at what comes of it.
    pub fn check(&self, json: &str) {
        (self.check)(self.name, json);
    }
}

/// The number of a kind, for seeds.
pub fn number(name: &str) -> Option<u8> {
    KINDS.iter().position(|kind| kind.name == name).and_then(|at| u8::try_from(at).ok())
}

/// What is read from `json` says the same when it is written, and is read again as the same.
fn wire<T: Wire + PartialEq + Debug>(_: &str, json: &str) {
    let Ok(first) = T::from_json(json) else { return };
    Survey::of(&first, |path, finding| drop((path.len(), finding)));
    let line = first.to_line();
    let Some(written) = line.strip_suffix('\n') else { panic!("no newline: {line}") };
    assert!(!written.contains('\n'), "a newline inside: {written}");
    same(json, written);
    let second = T::from_json(written).unwrap_or_else(|fault| panic!("{fault}: {written}"));
    assert_eq!(second.to_json(), written);
    // Raw values lose white space where it holds newlines.
    if !json.contains('\n') {
        assert_eq!(first, second);
    }
}

/// The same for an answer, which is read by the subtype of its request.
macro_rules! reply {
    ($check:ident, $table:ident) => {
        fn $check(subtype: &str, json: &str) {
            let Ok(payload) = RawJson::parse(json) else { return };
            let read = |payload: &RawJson| {
                let reply = $table::read(subtype, Some(payload));
                reply.unwrap_or_else(|| panic!("{subtype} is in no table"))
            };
            let Ok(first) = read(&payload) else { return };
            first.survey(|path, finding| drop((path.len(), finding)));
            let written = first.to_json();
            assert!(!written.contains('\n'), "a newline inside: {written}");
            same(json, &written);
            let again = RawJson::parse(&written).and_then(|payload| read(&payload));
            let second = again.unwrap_or_else(|fault| panic!("{fault}: {written}"));
            assert_eq!(second.to_json(), written);
            if !json.contains('\n') {
                assert_eq!(first, second);
            }
        }
    };
}

reply!(host_reply, HostRequestReply);
reply!(agent_reply, AgentRequestReply);

/// A tool's input reads by the tool's name if and only if it reads as the tool's type.
fn tool<T: Wire + PartialEq + Debug>(name: &str, json: &str) {
    wire::<T>(name, json);
    if let Ok(input) = RawObject::from_json(json) {
        assert_eq!(ToolInput::read(name, &input).is_ok(), T::from_json(json).is_ok(), "{json}");
    }
}

fn same(read: &str, written: &str) {
    assert_eq!(
        crate::meaning(read),
        crate::meaning(written),
        "\n   read {read}\nwritten {written}"
    );
}

macro_rules! kinds {
    (
        types { $($ty:ty),* $(,)? }
        tools { $($tool:ident),* $(,)? }
        answers of agents { $($host:literal),* $(,)? }
        answers of hosts { $($agent:literal),* $(,)? }
    ) => {
        /// All kinds. New ones go to the end of their list and renumber the seeds behind them.
        pub const KINDS: &[Kind] = &[
            $(Kind { name: stringify!($ty), check: wire::<$ty> },)*
            $(Kind { name: stringify!($tool), check: tool::<duologue_protocol::tool::$tool> },)*
            $(Kind { name: $host, check: host_reply },)*
            $(Kind { name: $agent, check: agent_reply },)*
        ];
        const _: () = assert!(KINDS.len() <= 256, "one byte no longer names a kind");
    };
}

use duologue_protocol::content::{Content, ContentBlock, LazyContent, Source};
use duologue_protocol::control::{AgentRequest, HostRequest, McpServerConfig, Response};
use duologue_protocol::hook::{HookInput, HookOutput, HookSpecificOutput};
use duologue_protocol::lines::{Delta, StreamEvent};
use duologue_protocol::message::{Message, ModelUsage, Origin, StopReason, Usage};
use duologue_protocol::permission::{PermissionResult, PermissionRule, PermissionUpdate};
use duologue_protocol::system::System;
use duologue_protocol::{Map, Number, RequestId, Text, ToAgent, ToHost};

// Unions and records without a tag. A record with a tag is reached through its union.
kinds! {
    types {
        ToHost, ToAgent, System, AgentRequest, HostRequest, Response, ContentBlock, Content,
        LazyContent, Source, HookInput, HookOutput, HookSpecificOutput, StreamEvent, Delta, Message,
        ModelUsage, Usage, Origin, StopReason, PermissionResult, PermissionRule, PermissionUpdate,
        McpServerConfig, Map<Vec<ContentBlock>>, Map<Text>, Vec<RequestId>, Number, Text, bool,
        RawJson, RawObject,
    }
    tools {
        Bash, Read, Write, Edit, Glob, Grep, NotebookEdit, Agent, TodoWrite, WebFetch, WebSearch,
        AskUserQuestion, ExitPlanMode,
    }
    answers of agents {
        "initialize", "interrupt", "set_permission_mode", "set_model",
        "set_max_thinking_tokens", "apply_flag_settings", "update_settings", "get_settings",
        "mcp_status", "mcp_set_servers", "mcp_reconnect", "mcp_toggle", "mcp_message",
        "mcp_call", "mcp_read_resource", "rewind_files", "cancel_async_message",
        "seed_read_state", "read_file", "file_suggestions", "get_context_usage", "get_usage",
        "get_session_cost", "get_binary_version", "list_models", "list_permission_rules",
        "get_hooks_listing", "reload_plugins", "reload_skills", "reload_output_styles",
        "register_repo_root", "rename_session", "set_color", "stop_task", "background_tasks",
        "get_task_output", "set_has_subscribers", "set_mcp_permission_mode_override",
        "set_prompt_suggestions_paused", "set_chrome_browser_hints", "generate_session_title",
        "side_question", "set_cwd", "claim_session", "remote_control", "submit_feedback",
        "submit_survey_feedback", "message_rated", "mcp_authenticate", "mcp_clear_auth",
        "mcp_oauth_callback_url", "claude_authenticate", "claude_oauth_callback",
        "claude_oauth_wait_for_completion", "channel_enable", "ultrareview_launch",
        "get_memory_dialog", "get_skills_dialog", "get_sandbox_dialog", "get_chrome_dialog",
        "get_chrome_browsers", "select_chrome_browser", "get_status", "get_plan",
        "export_conversation", "list_cloud_sessions", "get_cloud_session",
        "get_cloud_session_transcript", "end_session", "list_directory", "get_workspace_diff",
        "start_shell_task", "set_proactivity_level", "add_directory", "fork_conversation",
        "rewind_conversation", "poll_event", "stage_file", "mcp_tasks_changed", "turn_handoff",
        "register_device_hooks", "upload_device_hook_template", "remote_tools_announce",
        "ui_attach", "ui_detach", "ui_render", "ui_press", "ui_client_module",
        "ui_client_press", "ui_message", "ui_client_fault", "ui_input", "ui_select",
        "ui_panes", "ui_pane_show", "ui_pane_focus", "ui_close", "ui_scroll", "ui_focus",
        "ui_prompt_edit", "ui_prompt_autocomplete"
    }
    answers of hosts {
        "can_use_tool", "hook_callback", "elicitation", "request_user_dialog",
        "oauth_token_refresh", "host_auth_token_refresh", "remote_control_work_secret",
        "ui_copy", "ui_prompt_read", "ui_prompt_fill", "ui_prompt_paint", "ui_prompt_suggest",
        "ui_read_selection", "remote_tool_call", "remote_plumbing_call", "remote_tools_probe",
        "remote_tools_reannounce", "sdk_control_interrupt", "mcp_message"
    }
}
