//! [`server`]: a server made of tools.

use std::sync::Arc;

use duologue_protocol::Text;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::connect::{McpConnection, McpServer, Outbox};
use super::panics::catch_panic;
use super::result::failure;
use super::rmcp_server::rmcp;
use super::tool::{CallContext, Tool};

/// A server made of tools. Made by [`server`].
///
/// It is a `ServerHandler` of the official MCP SDK, so it can also be served over that SDK's transports.
#[derive(Clone, Debug)]
pub struct Server {
    definition: Arc<Definition>,
}

#[derive(Clone, Debug)]
struct Definition {
    name: Text,
    version: String,
    instructions: Option<String>,
    tools: Vec<Tool>,
}

/// Makes a server without tools.
///
/// ```
/// use duologue::mcp;
///
/// let dice = mcp::server("dice")
///     .version("1.0.0")
///     .instructions("Roll dice instead of guessing.")
///     .tool(mcp::tool("roll", "Rolls a die", async |_: ()| "4"));
/// ```
pub fn server(name: impl Into<Text>) -> Server {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let definition =
        Definition { name: name.into(), version, instructions: None, tools: Vec::new() };
    Server { definition: Arc::new(definition) }
}

impl Server {
    /// Sets the server's version. The default is the version of this crate.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.definition).version = version.into();
        self
    }

    /// Sets instructions for the model about the tools as a whole.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.definition).instructions = Some(instructions.into());
        self
    }

    /// Adds a tool. It replaces a tool of the same name.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        let tools = &mut Arc::make_mut(&mut self.definition).tools;
        match tools.iter_mut().find(|known| known.name() == tool.name()) {
            Some(known) => *known = tool,
            None => tools.push(tool),
        }
        self
    }

    /// The server's tools.
    pub fn tools(&self) -> &[Tool] {
        &self.definition.tools
    }

    /// Calls a tool until it returns or the request is cancelled. A panic becomes an error for the model.
    async fn call(
        &self,
        name: &str,
        arguments: Value,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let Some(tool) = self.tools().iter().find(|tool| name == tool.name()) else {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
        };
        let call = CallContext::new(&context.meta);
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Ok(failure("The call was cancelled.")),
            result = catch_panic(|| tool.call(arguments, call)) => Ok(result.unwrap_or_else(|message| {
                failure(format!("The tool \"{name}\" panicked: {message}"))
            })),
        }
    }
}

impl McpServer for Server {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn connect(&self, outbox: Outbox) -> Arc<dyn McpConnection> {
        let service = self.clone();
        rmcp(self.definition.name.clone(), move || service.clone()).connect(outbox)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let Definition { name, version, instructions, .. } = &*self.definition;
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(Implementation::new(name.as_str(), version.as_str()));
        info.instructions.clone_from(instructions);
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools().iter().map(|tool| tool.definition().clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        self.call(&request.name, arguments, context).await.map(Into::into)
    }

    /// `rmcp` also passes requests here whose parameters it cannot read. The model should read what is wrong
    /// with the arguments of a call, so the tool gets them as they are.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "tools/call" {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let mut params = request.params.unwrap_or_default();
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let arguments = params.get_mut("arguments").map(Value::take);
        let arguments = arguments.filter(|value| !value.is_null()).unwrap_or_else(|| json!({}));
        let result = self.call(&name, arguments, context).await?;
        serde_json::to_value(result)
            .map(CustomResult::new)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    // The server has tools only. `rmcp` would answer these with empty lists.

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }
}
