//! Lines for hosted and desktop surfaces. Read leniently; never depend on them.

use crate::id::{AgentId, RequestId, SessionId, ToolUseId, Uuid};
use crate::json::{Number, RawJson};
use crate::text::Text;
use crate::wire::record;

/// A record with the two ids that every system line has.
macro_rules! internal {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident = $subtype:literal {
            $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty),* $(,)?
        }
    )*) => {$(
        record! {
            $(#[doc = $doc])*
            $name ["type" = "system", "subtype" = $subtype] {
                $($(#[doc = $field_doc])* $field: $ty,)*
                /// The conversation.
                session_id: SessionId,
                /// Names this line.
                uuid: Uuid,
            }
        }
    )*};
}

internal! {
    /// A tool call is being checked.
    PermissionCheckStatus = "permission_check_status" {
        /// The call.
        tool_use_id: ToolUseId,
        /// The sub-agent that called.
        agent_id: AgentId,
        /// `checking` or `done`.
        status: Text,
    }
    /// The effort of this turn changed.
    PerTurnEffortChanged = "per_turn_effort_changed" {
        /// Whether it may change from turn to turn.
        per_turn_effort_active: bool,
    }
    /// A prompt overtook the turn.
    TurnPreempted = "turn_preempted" {
        /// Why.
        reason: Text,
        /// The prompt that overtook.
        preempted_by_uuid: Uuid,
        /// The prompts that were overtaken.
        preempted_message_uuids: Vec<Uuid>,
    }
    /// A message of another agent is held back.
    PeerMessageHold = "peer_message_hold" {
        /// Whether it is, still.
        state: Text,
        /// Which lane.
        lane: Text,
        /// The sender.
        from: RawJson,
    }
    /// Questions of an earlier process were settled.
    InheritedAsksSettled = "inherited_asks_settled" {
        /// Those that are still open.
        kept_request_ids: Vec<RequestId>,
    }
    /// Files of a prompt did not arrive.
    FileAttachmentsMissing = "file_attachments_missing" {
        /// The prompt.
        message_uuid: Uuid,
        /// How many were sent.
        sent_count: Number,
        /// Which are missing.
        missing: RawJson,
    }
    /// A change was published for review.
    CodeChangePublished = "code_change_published" {
        /// Where.
        provider: Text,
        /// Its address.
        url: Text,
        /// The repository.
        repo: Text,
        /// Its number.
        identifier: RawJson,
        /// What was done.
        action: Text,
        /// The branch.
        branch: Text,
    }
    /// The repository changed.
    VcsStateChanged = "vcs_state_changed" {
        /// How: `commit`, `push`, `merge` or `rebase`.
        kind: Text,
        /// Where.
        cwd: Text,
        /// The branch.
        branch: Text,
    }
    /// What the person is about to do.
    DevIntent = "dev_intent" {
        /// What.
        kind: Text,
        /// Why one thinks so.
        trigger: Text,
    }
    /// A draft of feedback waits.
    FeedbackDraftQueued = "feedback_draft_queued" {
        /// The draft.
        draft_id: Text,
        /// What kind of draft.
        draft_type: Text,
        /// Its title.
        title: Text,
        /// How it begins.
        details_preview: Text,
    }
    /// A cloud session changed.
    CloudSessionDelta = "cloud_session_delta" {
        /// The how-many-eth change.
        seq: Number,
        /// What changed.
        changed: RawJson,
        /// The session.
        cloud_session: RawJson,
    }
    /// The turn may be handed over.
    TurnHandoffAvailable = "turn_handoff_available" {}
    /// A plugin's surface must be drawn again.
    UiInvalidate = "ui_invalidate" {}
    /// A plugin logs.
    UiLog = "ui_log" {
        /// The plugin.
        plugin: Text,
        /// The text.
        text: Text,
    }
    /// A plugin notifies.
    UiNotify = "ui_notify" {}
    /// A plugin takes a notification back.
    UiNotifyCancel = "ui_notify_cancel" {}
    /// A plugin says something in passing.
    UiToast = "ui_toast" {
        /// The plugin.
        plugin: Text,
        /// The text.
        text: Text,
        /// For how long it should be seen.
        timeout_ms: Number,
    }
    /// A plugin's status line.
    UiStatus = "ui_status" {
        /// The plugin.
        plugin: Text,
        /// The text; null to take it away.
        text: Text,
    }
    /// The panes of plugins.
    UiPanes = "ui_panes" {
        /// The panes.
        panes: RawJson,
    }
    /// A plugin's surface was placed.
    UiPlaced = "ui_placed" {}
    /// A plugin's surface was scrolled.
    UiScroll = "ui_scroll" {}
    /// A plugin's surface has the focus.
    UiFocus = "ui_focus" {}
}
