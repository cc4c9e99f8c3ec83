//! MCP: messages for servers in the host, and requests about servers.

use crate::json::{Number, RawJson, RawObject};
use crate::system::McpStatus;
use crate::text::Text;
use crate::wire::{Map, record};

record! {
    /// A JSON-RPC message for an MCP server, or from one. Both sides send it.
    McpMessage ["subtype" = "mcp_message"] {
        /// The server.
        server_name: Text,
        /// The message.
        message: RawObject,
    }
}

record! {
    /// The answer to an [`McpMessage`].
    McpMessageReply {
        /// The JSON-RPC response.
        mcp_response: RawObject,
    }
}

record! {
    /// How are the MCP servers?
    McpStatusRequest ["subtype" = "mcp_status"] {
        /// Answer even while a turn runs.
        live_reply "liveReply": bool,
    }
}

record! {
    /// The MCP servers.
    McpStatusReply {
        /// The servers.
        mcp_servers "mcpServers": Vec<McpServerStatus>,
    }
}

record! {
    /// An MCP server.
    McpServerStatus {
        /// Its name.
        name: Text,
        /// Whether it is connected.
        status: McpStatus,
        /// What it says about itself.
        server_info "serverInfo": McpServerInfo,
        /// What went wrong.
        error: Text,
        /// What went wrong, for programs.
        error_code: Text,
        /// How it is configured.
        config: McpServerConfig,
        /// For whom it is configured.
        scope: Text,
        /// Where it is configured.
        source: Text,
        /// How it is reached.
        transport: Text,
        /// Its tools.
        tools: Vec<McpToolInfo>,
        /// How many tools it has.
        tool_count "toolCount": Number,
        /// What it can do.
        capabilities: RawJson,
        /// Where it runs.
        url_host "urlHost": Text,
    }
}

record! {
    /// What an MCP server says about itself.
    McpServerInfo {
        /// Its name.
        name: Text,
        /// Its version.
        version: Text,
        /// Its title.
        title: Text,
    }
}

record! {
    /// A tool of an MCP server.
    McpToolInfo {
        /// Its name.
        name: Text,
        /// What it does.
        description: Text,
        /// How dangerous it is.
        annotations: McpToolAnnotations,
        /// Metadata.
        meta "_meta": RawJson,
    }
}

record! {
    /// How dangerous a tool is, by its own account.
    McpToolAnnotations {
        /// It changes nothing.
        read_only "readOnly": bool,
        /// It may destroy something.
        destructive: bool,
        /// It reaches out into the world.
        open_world "openWorld": bool,
    }
}

record! {
    /// How an MCP server is configured.
    McpServerConfig {
        /// `stdio`, `sse`, `http`, `sdk` or `claudeai-proxy`; absent means `stdio`.
        kind "type": Text,
        /// The program.
        command: Text,
        /// Its arguments.
        args: Vec<Text>,
        /// Its environment.
        env: Map<Text>,
        /// Its address.
        url: Text,
        /// Headers to send.
        headers: Map<Text>,
        /// The name of a server in the host.
        name: Text,
        /// What its tools may do.
        tools: RawJson,
        /// How long a tool may take, in milliseconds.
        timeout: Number,
        /// Load its tools at once.
        always_load "alwaysLoad": bool,
        /// Names a proxy.
        id: Text,
    }
}

impl McpServerConfig {
    /// A program that the agent starts.
    ///
    /// ```
    /// use duologue_wire::control::McpServerConfig;
    ///
    /// let server = McpServerConfig::stdio("mcp-files", ["--root", "."]);
    /// ```
    pub fn stdio(command: impl Into<Text>, args: impl IntoIterator<Item: Into<Text>>) -> Self {
        let args: Vec<Text> = args.into_iter().map(Into::into).collect();
        Self::new().kind("stdio").command(command).args(args)
    }

    /// A server that is reached over HTTP.
    pub fn http(url: impl Into<Text>) -> Self {
        Self::new().kind("http").url(url)
    }

    /// A server that is reached over HTTP with server-sent events: the older way.
    pub fn sse(url: impl Into<Text>) -> Self {
        Self::new().kind("sse").url(url)
    }

    /// A server that the host serves.
    pub fn sdk(name: impl Into<Text>) -> Self {
        Self::new().kind("sdk").name(name)
    }
}

record! {
    /// Replace the MCP servers that were set this way.
    McpSetServers ["subtype" = "mcp_set_servers"] {
        /// The servers.
        servers: Map<McpServerConfig>,
        /// Why.
        hint: RawJson,
        /// Tools that may not be used.
        denied_tools: RawJson,
    }
}

record! {
    /// What became of the servers.
    McpSetServersReply {
        /// Those that are new.
        added: Vec<Text>,
        /// Those that are gone.
        removed: Vec<Text>,
        /// Those that failed.
        errors: Map<Text>,
    }
}

record! {
    /// Connect to an MCP server again.
    McpReconnect ["subtype" = "mcp_reconnect"] {
        /// The server.
        server_name "serverName": Text,
    }
}

record! {
    /// Switch an MCP server on or off.
    McpToggle ["subtype" = "mcp_toggle"] {
        /// The server.
        server_name "serverName": Text,
        /// On or off.
        enabled: bool,
    }
}

record! {
    /// Call a tool of an MCP server.
    McpCall ["subtype" = "mcp_call"] {
        /// The tool: `mcp__server__tool`.
        tool: Text,
        /// Its input.
        arguments: RawObject,
        /// Not after this time.
        expires_at: RawJson,
        /// How long it may take.
        timeout_ms: Number,
        /// The model should not see the result.
        result_not_for_model: bool,
        /// Ask for permission.
        check_permissions: bool,
        /// Files to give it.
        input_files: RawJson,
        /// Files to take from it.
        output_files: RawJson,
    }
}

record! {
    /// What a tool of an MCP server gave back.
    McpCallReply {
        /// For people.
        content: RawJson,
        /// For programs.
        structured_content "structuredContent": RawJson,
        /// Metadata.
        meta "_meta": RawJson,
        /// What became of the files.
        staging: RawJson,
    }
}

record! {
    /// Read a resource of an MCP server.
    McpReadResource ["subtype" = "mcp_read_resource"] {
        /// The server.
        server_name "serverName": Text,
        /// The resource: `ui://…` only.
        uri: Text,
    }
}

record! {
    /// A resource of an MCP server.
    McpReadResourceReply {
        /// What stands in it.
        contents: Vec<McpResourceContents>,
    }
}

record! {
    /// What stands in a resource.
    McpResourceContents {
        /// Which.
        uri: Text,
        /// What it is.
        mime_type "mimeType": Text,
        /// As text.
        text: Text,
        /// As base64.
        blob: Text,
        /// Metadata.
        meta "_meta": RawJson,
    }
}
