//! `user` lines on stdin: prompts.

use crate::content::{Content, ContentBlock};
use crate::id::{AgentId, SessionId, ToolUseId, Uuid};
use crate::json::{Number, RawJson};
use crate::message::Origin;
use crate::text::Text;
use crate::wire::{Field, record, words};

use super::user::UserMessage;

record! {
    /// A prompt of the host.
    ///
    /// ```
    /// use duologue_wire::{Wire, lines::Prompt};
    ///
    /// let line = Prompt::text("What does this project do?").uuid("7f9c").to_line();
    /// assert_eq!(
    ///     line,
    ///     concat!(
    ///         r#"{"type":"user","message":{"role":"user","content":"What does this project do?"},"#,
    ///         r#""parent_tool_use_id":null,"session_id":"","uuid":"7f9c"}"#,
    ///         "\n",
    ///     ),
    /// );
    /// ```
    Prompt ["type" = "user"] {
        /// The message. Its role must be `user`: the CLI exits on any other.
        message: UserMessage,
        /// Always null for a prompt.
        parent_tool_use_id: ToolUseId,
        /// The CLI ignores it.
        session_id: SessionId,
        /// The id of the prompt. Results, queue events and replays refer to it.
        uuid: Uuid,
        /// Its priority in the queue while a turn runs.
        priority: Priority,
        /// False: keep it, but do not answer.
        should_query "shouldQuery": bool,
        /// Deliver the text as it is: no `@path`, no slash command.
        client_composed: bool,
        /// Not typed by the user.
        is_synthetic "isSynthetic": bool,
        /// Where it came from.
        origin: Origin,
        /// When it was written.
        timestamp: Text,
        /// Text that was pasted, to be added after the typed text.
        pasted_content: Vec<Content>,
        /// Parts of the content that were pasted.
        inline_pastes: Vec<Text>,
        /// Only on output.
        tool_use_result: RawJson,
        /// Only on output.
        agent_id: AgentId,
        /// Only on output.
        subagent_type: Text,
        /// Only on output.
        task_description: Text,
        /// Files that come with it.
        file_attachments: RawJson,
        /// The state of the host's tools.
        tool_states: RawJson,
        /// Put it back into the queue if it is interrupted this soon.
        requeue_if_interrupted_within_ms: Number,
        /// The user typed the word that requests more thinking.
        ultrathink_typed: bool,
        /// Where the host runs.
        client_platform: Text,
        /// How it came in.
        inbound_origin: Text,
        /// Who started it.
        initiator: RawJson,
        /// Not for display.
        is_meta: bool,
        /// It happened before this process started.
        historical: bool,
    }
}

impl Prompt {
    /// A prompt of plain text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::with(Content::Text(text.into()))
    }

    /// A prompt of blocks: text, images, documents.
    ///
    /// ```
    /// use duologue_wire::{content::ContentBlock, lines::Prompt};
    ///
    /// let prompt = Prompt::blocks([
    ///     ContentBlock::text("What is in this image?"),
    ///     ContentBlock::image("image/png", "iVBORw0KGgo="),
    /// ]);
    /// ```
    pub fn blocks(blocks: impl Into<Vec<ContentBlock>>) -> Self {
        Self::with(Content::Blocks(blocks.into()))
    }

    fn with(content: Content) -> Self {
        Self {
            message: UserMessage::new().role("user").content(content).into(),
            parent_tool_use_id: Field::Null,
            session_id: Field::Value("".into()),
            ..Self::default()
        }
    }
}

words! {
    /// Where a prompt goes while a turn runs.
    Priority {
        /// Interrupt the turn and run this prompt.
        Now = "now",
        /// As soon as the turn allows.
        Next = "next",
        /// After everything else.
        Later = "later",
    }
}
