//! Blocks that come from tools which run on the API's side.
//!
//! Their insides are the API's business: they are carried whole.

use crate::id::ToolUseId;
use crate::json::{RawJson, RawObject};
use crate::text::Text;
use crate::wire::record;

record! {
    /// The model calls a tool that runs on the server.
    ServerToolUseBlock ["type" = "server_tool_use"] {
        /// Names this call.
        id: ToolUseId,
        /// The tool: `web_search`, `web_fetch`, `code_execution`…
        name: Text,
        /// Its input.
        input: RawObject,
        /// Who calls.
        caller: RawJson,
    }
}

/// A result block of a server tool: which call, and what came back.
macro_rules! server_result {
    ($($(#[doc = $doc:literal])* $name:ident = $tag:literal),* $(,)?) => {$(
        record! {
            $(#[doc = $doc])*
            $name ["type" = $tag] {
                /// The call that this answers.
                tool_use_id: ToolUseId,
                /// What came back: a list of findings, or an error object.
                content: RawJson,
                /// Whether it failed.
                is_error: bool,
                /// Who called.
                caller: RawJson,
            }
        }
    )*};
}

server_result! {
    /// What the server's web search found.
    WebSearchToolResultBlock = "web_search_tool_result",
    /// What the server fetched.
    WebFetchToolResultBlock = "web_fetch_tool_result",
    /// What the advisor said.
    AdvisorToolResultBlock = "advisor_tool_result",
    /// What a program run by the server gave back.
    CodeExecutionToolResultBlock = "code_execution_tool_result",
    /// What a shell command run by the server gave back.
    BashCodeExecutionToolResultBlock = "bash_code_execution_tool_result",
    /// What an edit made by the server gave back.
    TextEditorCodeExecutionToolResultBlock = "text_editor_code_execution_tool_result",
    /// Which tools the server's tool search found.
    ToolSearchToolResultBlock = "tool_search_tool_result",
    /// What an MCP tool called through the server gave back.
    McpToolResultBlock = "mcp_tool_result",
}

record! {
    /// The model calls an MCP tool through the server.
    McpToolUseBlock ["type" = "mcp_tool_use"] {
        /// Names this call.
        id: ToolUseId,
        /// The tool.
        name: Text,
        /// The MCP server.
        server_name: Text,
        /// Its input.
        input: RawObject,
    }
}

record! {
    /// The tools of an MCP server, listed by the server.
    McpToolListingBlock ["type" = "mcp_tool_listing"] {
        /// Names this listing.
        id: ToolUseId,
        /// The MCP server.
        server_name: Text,
        /// Its tools.
        tools: RawJson,
    }
}

record! {
    /// A file uploaded to the server's container.
    ContainerUploadBlock ["type" = "container_upload"] {
        /// Its name at the API.
        file_id: Text,
    }
}

record! {
    /// A summary that stands for what came before.
    CompactionBlock ["type" = "compaction"] {
        /// The summary.
        content: Text,
        /// The summary, encrypted.
        encrypted_content: Text,
    }
}

record! {
    /// The server answered with another model.
    FallbackBlock ["type" = "fallback"] {
        /// The model that was asked.
        from: RawJson,
        /// The model that answered.
        to: RawJson,
    }
}

record! {
    /// An instruction in the middle of a conversation.
    MidConversationSystemBlock ["type" = "mid_conv_system"] {
        /// The instruction: text, or blocks.
        content: RawJson,
        /// The instruction, where it is plain text.
        text: Text,
    }
}

record! {
    /// The name of a tool that a search found.
    ToolReferenceBlock ["type" = "tool_reference"] {
        /// The tool.
        tool_name: Text,
    }
}
