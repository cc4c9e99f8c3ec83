//! The output of `Agent`.

use crate::content::ContentBlock;
use crate::json::Number;
use crate::message::Usage;
use crate::text::Text;
use crate::wire::{record, union};

union! {
    /// The output of `Agent`, by `status`.
    AgentOutput by "status" {
        /// The sub-agent is done.
        "completed" => Completed(AgentCompleted) {
            /// The sub-agent.
            agent_id "agentId": Text,
            /// The kind of sub-agent.
            agent_type "agentType": Text,
            /// Its last message.
            content: Vec<ContentBlock>,
            /// Its model.
            resolved_model "resolvedModel": Text,
            /// All models it used, in order.
            models_used "modelsUsed": Vec<Text>,
            /// The number of tool calls.
            total_tool_use_count "totalToolUseCount": Number,
            /// Duration in milliseconds.
            total_duration_ms "totalDurationMs": Number,
            /// Tokens.
            total_tokens "totalTokens": Number,
            /// Tokens of its last message.
            usage: Usage,
            /// The tools it used.
            tools_used "toolsUsed": Vec<Text>,
            /// Counts of what it did.
            tool_stats "toolStats": AgentToolStats,
            /// The prompt.
            prompt: Text,
            /// The git worktree it worked in.
            worktree_path "worktreePath": Text,
            /// The branch of that worktree.
            worktree_branch "worktreeBranch": Text,
            /// The sub-agent can be continued.
            can_continue_agent "canContinueAgent": bool,
            /// Internal to the CLI.
            harness_note_count "harnessNoteCount": Number,
            /// Internal to the CLI.
            harness_tail_count "harnessTailCount": Number,
            /// Internal to the CLI.
            harness_section_hash "harnessSectionHash": Text,
        },
        /// The sub-agent runs in the background.
        "async_launched" => AsyncLaunched(AgentAsyncLaunched) {
            /// Always true.
            is_async "isAsync": bool,
            /// The sub-agent.
            agent_id "agentId": Text,
            /// The description of the task.
            description: Text,
            /// The model.
            resolved_model "resolvedModel": Text,
            /// All models it used, in order.
            models_used "modelsUsed": Vec<Text>,
            /// The prompt.
            prompt: Text,
            /// The file that shows its progress.
            output_file "outputFile": Text,
            /// The caller has tools to read that file.
            can_read_output_file "canReadOutputFile": bool,
            /// The sub-agent can be continued.
            can_continue_agent "canContinueAgent": bool,
        },
        /// The sub-agent runs in a cloud session.
        "remote_launched" => RemoteLaunched(AgentRemoteLaunched) {
            /// The task.
            task_id "taskId": Text,
            /// The address of the cloud session.
            session_url "sessionUrl": Text,
            /// The description of the task.
            description: Text,
            /// The prompt.
            prompt: Text,
            /// The file that shows its progress.
            output_file "outputFile": Text,
        },
    }
}

record! {
    /// Counts of what a sub-agent did.
    AgentToolStats {
        /// Files read.
        read_count "readCount": Number,
        /// Searches.
        search_count "searchCount": Number,
        /// Commands.
        bash_count "bashCount": Number,
        /// Edits.
        edit_file_count "editFileCount": Number,
        /// Lines added.
        lines_added "linesAdded": Number,
        /// Lines removed.
        lines_removed "linesRemoved": Number,
        /// Calls of other tools.
        other_tool_count "otherToolCount": Number,
        /// Frames.
        frame_count "frameCount": Number,
    }
}
