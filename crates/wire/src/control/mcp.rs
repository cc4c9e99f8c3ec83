//! MCP servers: configuration and status.

use crate::json::{Number, RawJson};
use crate::system::McpStatus;
use crate::text::Text;
use crate::wire::{Map, record};

record! {
    /// An MCP server.
    McpServerStatus {
        /// Its name.
        name: Text,
        /// Whether it is connected.
        status: McpStatus,
        /// The name and version that the server reports.
        server_info "serverInfo": McpServerInfo,
        /// The error.
        error: Text,
        /// The error code.
        error_code: Text,
        /// How it is configured.
        config: McpServerConfig,
        /// The scope of the configuration.
        scope: Text,
        /// Where it is configured.
        source: Text,
        /// How it is reached.
        transport: Text,
        /// Its tools.
        tools: Vec<McpToolInfo>,
        /// How many tools it has.
        tool_count "toolCount": Number,
        /// Its capabilities.
        capabilities: RawJson,
        /// Where it runs.
        url_host "urlHost": Text,
    }
}

record! {
    /// The name and version that an MCP server reports.
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
        /// Load its tools at the start.
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
    /// The content of a resource.
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
