//! Content blocks: what messages are made of.

use crate::id::ToolUseId;
use crate::json::{Fault, Kind, Parser, RawJson, RawObject, Writer};
use crate::text::Text;
use crate::tool::ToolInput;
use crate::wire::{Schemas, Sealed, Survey, Wire, record, union};
use serde_json::{Value, json};

/// The content of a message: a string, or blocks.
///
/// The third form, `null`, is the [`Field`](crate::Field) around it.
///
/// ```
/// use duologue_wire::{Wire, content::Content};
///
/// assert_eq!(Content::from_json(r#""Hi""#)?.text(), "Hi");
/// assert_eq!(Content::from_json(r#"[{"type":"text","text":"Hi"}]"#)?.text(), "Hi");
/// # Ok::<(), duologue_wire::Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "any other JSON type is malformed")]
pub enum Content {
    /// Plain text.
    Text(Text),
    /// A list of blocks.
    Blocks(Vec<ContentBlock>),
}

impl Content {
    /// All its text: the string, or the texts of its text blocks put together.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.as_str().to_owned(),
            Self::Blocks(blocks) => text_of(blocks),
        }
    }

    /// Its blocks; none if it is a string.
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }
}

/// The texts of the text blocks, put together.
pub(crate) fn text_of(blocks: &[ContentBlock]) -> String {
    let mut text = String::new();
    for block in blocks {
        if let ContentBlock::Text(block) = block {
            text.push_str(block.text.as_str().unwrap_or_default());
        }
    }
    text
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Text> for Content {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<ContentBlock>> for Content {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self::Blocks(blocks)
    }
}

impl<const N: usize> From<[ContentBlock; N]> for Content {
    fn from(blocks: [ContentBlock; N]) -> Self {
        Self::Blocks(blocks.into())
    }
}

impl Sealed for Content {}

impl Wire for Content {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        match parser.kind()? {
            Kind::String => parser.string().map(Self::Text),
            Kind::Array => Wire::decode(parser).map(Self::Blocks),
            other => Err(parser.wrong_type("a string or an array of blocks", other)),
        }
    }

    fn encode(&self, out: &mut Writer) {
        match self {
            Self::Text(text) => text.encode(out),
            Self::Blocks(blocks) => blocks.encode(out),
        }
    }

    fn survey(&self, survey: &mut Survey<'_>) {
        if let Self::Blocks(blocks) = self {
            blocks.survey(survey);
        }
    }

    fn schema(schemas: &mut Schemas) -> Value {
        json!({ "anyOf": [Text::schema(schemas), Vec::<ContentBlock>::schema(schemas)] })
    }
}

/// Content that is decoded on request, because the results of tools are the largest values in the protocol. It is a string or
/// an array.
///
/// ```
/// use duologue_wire::{Wire, content::ToolResultBlock};
///
/// let block = ToolResultBlock::from_json(
///     r#"{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a.txt"}]}"#,
/// )?;
/// assert_eq!(block.content.value().unwrap().read()?.text(), "a.txt");
/// # Ok::<(), duologue_wire::Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LazyContent(RawJson);

impl LazyContent {
    /// Reads it now.
    ///
    /// # Errors
    /// If a block in it is malformed.
    pub fn read(&self) -> Result<Content, Fault> {
        self.0.read()
    }

    /// The raw JSON.
    pub const fn raw(&self) -> &RawJson {
        &self.0
    }
}

impl<T: Into<Content>> From<T> for LazyContent {
    fn from(content: T) -> Self {
        Self(RawJson::from_wire(&content.into()))
    }
}

impl Sealed for LazyContent {}

impl Wire for LazyContent {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        match parser.kind()? {
            Kind::String | Kind::Array => parser.raw().map(Self),
            other => Err(parser.wrong_type("a string or an array of blocks", other)),
        }
    }

    fn encode(&self, out: &mut Writer) {
        self.0.encode(out);
    }

    fn survey(&self, survey: &mut Survey<'_>) {
        if let Ok(content) = self.read() {
            content.survey(survey);
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": ["string", "array"] })
    }
}

union! {
    /// One block of a message.
    ContentBlock by "type" {
        /// Text.
        "text" => Text(TextBlock) {
            /// The text.
            text: Text,
            /// Where it comes from.
            citations: RawJson,
            /// A breakpoint of the prompt cache.
            cache_control: CacheControl,
        },
        /// The model's thinking.
        "thinking" => Thinking(ThinkingBlock) {
            /// The thinking, or a summary of it.
            thinking: Text,
            /// Proof that the model wrote it; absent in old data.
            signature: Text,
        },
        /// Thinking that may not be shown.
        "redacted_thinking" => RedactedThinking(RedactedThinkingBlock) {
            /// The encrypted thinking.
            data: Text,
        },
        /// The model calls a tool.
        "tool_use" => ToolUse(ToolUseBlock) {
            /// The id of this call.
            id: ToolUseId,
            /// The tool.
            name: Text,
            /// Its input, normalised by the CLI: it need not be what the deltas spelled.
            input: RawObject,
            /// Who calls: the model itself, or a program that it runs on the server.
            caller: RawJson,
            /// A breakpoint of the prompt cache.
            cache_control: CacheControl,
        },
        /// The result of a tool.
        "tool_result" => ToolResult(ToolResultBlock) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// A string, blocks, or nothing.
            content: LazyContent,
            /// Whether the tool failed or was not run; absent means it did not.
            is_error: bool,
            /// A breakpoint of the prompt cache.
            cache_control: CacheControl,
        },
        /// An image.
        "image" => Image(ImageBlock) {
            /// Its bytes, or where they are.
            source: Source,
            /// A breakpoint of the prompt cache.
            cache_control: CacheControl,
        },
        /// A document.
        "document" => Document(Box<DocumentBlock>) {
            /// Its bytes or text, or where they are.
            source: Source,
            /// Its title.
            title: Text,
            /// Context for the model.
            context: Text,
            /// Whether answers should cite it.
            citations: RawJson,
            /// A breakpoint of the prompt cache.
            cache_control: CacheControl,
        },
        /// A search result from the host.
        "search_result" => SearchResult(Box<SearchResultBlock>) {
            /// Where it was found.
            source: Text,
            /// Its title.
            title: Text,
            /// Its text.
            content: Vec<ContentBlock>,
            /// Whether answers should cite it.
            citations: RawJson,
            /// A breakpoint of the prompt cache.
            cache_control: CacheControl,
        },
        /// The model calls a tool that runs on the server.
        "server_tool_use" => ServerToolUse(Box<ServerToolUseBlock>) {
            /// The id of this call.
            id: ToolUseId,
            /// The tool: `web_search`, `web_fetch`, `code_execution`…
            name: Text,
            /// Its input.
            input: RawObject,
            /// Who calls.
            caller: RawJson,
        },
        /// What the server's web search found.
        "web_search_tool_result" => WebSearchToolResult(Box<WebSearchToolResultBlock>) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// The result: a list, or an error object.
            content: RawJson,
            /// Whether it failed.
            is_error: bool,
            /// Who called.
            caller: RawJson,
        },
        /// What the server fetched.
        "web_fetch_tool_result" => WebFetchToolResult(Box<WebFetchToolResultBlock>) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// The result: a list, or an error object.
            content: RawJson,
            /// Whether it failed.
            is_error: bool,
            /// Who called.
            caller: RawJson,
        },
        /// The answer of the advisor.
        "advisor_tool_result" => AdvisorToolResult(Box<AdvisorToolResultBlock>) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// The result: a list, or an error object.
            content: RawJson,
            /// Whether it failed.
            is_error: bool,
            /// Who called.
            caller: RawJson,
        },
        /// The result of a program that ran on the server.
        "code_execution_tool_result" => CodeExecutionToolResult(Box<CodeExecutionToolResultBlock>) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// The result: a list, or an error object.
            content: RawJson,
            /// Whether it failed.
            is_error: bool,
            /// Who called.
            caller: RawJson,
        },
        /// The result of a shell command that ran on the server.
        "bash_code_execution_tool_result" => BashCodeExecutionToolResult(Box<BashCodeExecutionToolResultBlock>) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// The result: a list, or an error object.
            content: RawJson,
            /// Whether it failed.
            is_error: bool,
            /// Who called.
            caller: RawJson,
        },
        /// The result of an edit on the server.
        "text_editor_code_execution_tool_result" => TextEditorCodeExecutionToolResult(Box<TextEditorCodeExecutionToolResultBlock>) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// The result: a list, or an error object.
            content: RawJson,
            /// Whether it failed.
            is_error: bool,
            /// Who called.
            caller: RawJson,
        },
        /// Which tools the server's tool search found.
        "tool_search_tool_result" => ToolSearchToolResult(Box<ToolSearchToolResultBlock>) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// The result: a list, or an error object.
            content: RawJson,
            /// Whether it failed.
            is_error: bool,
            /// Who called.
            caller: RawJson,
        },
        /// The model calls an MCP tool through the server.
        "mcp_tool_use" => McpToolUse(Box<McpToolUseBlock>) {
            /// The id of this call.
            id: ToolUseId,
            /// The tool.
            name: Text,
            /// The MCP server.
            server_name: Text,
            /// Its input.
            input: RawObject,
        },
        /// The result of an MCP tool that the server called.
        "mcp_tool_result" => McpToolResult(Box<McpToolResultBlock>) {
            /// The call that this answers.
            tool_use_id: ToolUseId,
            /// The result: a list, or an error object.
            content: RawJson,
            /// Whether it failed.
            is_error: bool,
            /// Who called.
            caller: RawJson,
        },
        /// The tools of an MCP server, listed by the server.
        "mcp_tool_listing" => McpToolListing(Box<McpToolListingBlock>) {
            /// The id of this listing.
            id: ToolUseId,
            /// The MCP server.
            server_name: Text,
            /// Its tools.
            tools: RawJson,
        },
        /// A file uploaded to the server's container.
        "container_upload" => ContainerUpload(Box<ContainerUploadBlock>) {
            /// Its name at the API.
            file_id: Text,
        },
        /// A summary that replaces the earlier conversation.
        "compaction" => Compaction(Box<CompactionBlock>) {
            /// The summary.
            content: Text,
            /// The summary, encrypted.
            encrypted_content: Text,
        },
        /// The server answered with another model.
        "fallback" => Fallback(Box<FallbackBlock>) {
            /// The model that was asked.
            from: RawJson,
            /// The model that answered.
            to: RawJson,
        },
        /// An instruction in the middle of a conversation.
        "mid_conv_system" => MidConversationSystem(Box<MidConversationSystemBlock>) {
            /// The instruction: text, or blocks.
            content: RawJson,
            /// The instruction, where it is plain text.
            text: Text,
        },
        /// The name of a tool that a search found.
        "tool_reference" => ToolReference(Box<ToolReferenceBlock>) {
            /// The tool.
            tool_name: Text,
        },
    }
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(TextBlock::new().text(text))
    }

    /// An image, from base64 data.
    ///
    /// ```
    /// use duologue_wire::{Wire, content::ContentBlock};
    ///
    /// let block = ContentBlock::image("image/png", "iVBORw0KGgo=");
    /// assert!(block.to_json().contains("base64"));
    /// ```
    pub fn image(media_type: impl Into<Text>, data: impl Into<Text>) -> Self {
        let source = Base64Source::new().media_type(media_type).data(data);
        Self::Image(ImageBlock::new().source(Source::Base64(source)))
    }

    /// A tool call.
    pub fn tool_use(id: impl Into<ToolUseId>, name: impl Into<Text>, input: RawObject) -> Self {
        Self::ToolUse(ToolUseBlock::new().id(id).name(name).input(input))
    }

    /// The result of a tool.
    pub fn tool_result(id: impl Into<ToolUseId>, content: impl Into<Content>) -> Self {
        Self::ToolResult(ToolResultBlock::new().tool_use_id(id).content(content.into()))
    }
}

record! {
    /// A breakpoint of the prompt cache.
    CacheControl {
        /// Always `ephemeral`.
        kind "type": Text,
        /// How long: `5m` or `1h`.
        ttl: Text,
    }
}

impl ToolUseBlock {
    /// Its input as the built-in tool of that name takes it.
    ///
    /// # Errors
    /// If a field has the wrong JSON type.
    pub fn typed_input(&self) -> Result<ToolInput, Fault> {
        let input = self.input.value().cloned().unwrap_or_default();
        ToolInput::read(self.name.as_str().unwrap_or_default(), &input)
    }
}

union! {
    /// The source of an image or a document.
    Source by "type" {
        /// Bytes in base64.
        "base64" => Base64(Base64Source) {
            /// What they are: `image/png`.
            media_type: Text,
            /// The bytes in base64.
            data: Text,
        },
        /// An address.
        "url" => Url(UrlSource) {
            /// The address.
            url: Text,
        },
        /// A file uploaded before.
        "file" => File(FileSource) {
            /// Its name at the API.
            file_id: Text,
        },
        /// Plain text.
        "text" => Text(TextSource) {
            /// What it is: `text/plain`.
            media_type: Text,
            /// The text.
            data: Text,
        },
        /// Blocks.
        "content" => Content(ContentSource) {
            /// Text, or text and images.
            content: Content,
        },
    }
}
