//! `WebFetch` and `WebSearch`.

use duologue_protocol::RawObject;
use serde_json::{Value, json};

use super::{Access, Role, Tool, ToolContext, ToolFuture, ToolOutput, text, text_or_empty};

/// Reads a page and answers a question about it. It takes a model: the agent runs it itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WebFetchTool;

impl WebFetchTool {
    /// Its name.
    pub const NAME: &'static str = "WebFetch";

    /// The host of an address.
    pub(crate) fn domain(url: &str) -> Option<&str> {
        let (scheme, rest) = url.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next()?;
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let host = host.split_once(':').map_or(host, |(host, _)| host);
        (matches!(scheme, "http" | "https") && !host.is_empty()).then_some(host)
    }

    /// The text of a page, without its marks.
    pub(crate) fn readable(page: &str) -> String {
        let (mut text, mut rest) = (String::new(), page);
        while let Some((before, tag)) = rest.split_once('<') {
            text.push_str(before);
            let name: String = tag.chars().take_while(char::is_ascii_alphabetic).collect();
            let end = match name.to_ascii_lowercase().as_str() {
                "script" => "</script>",
                "style" => "</style>",
                _ => ">",
            };
            rest = tag.split_once(end).map_or("", |(_, rest)| rest);
            text.push(' ');
        }
        text.push_str(rest);
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

impl Tool for WebFetchTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Reads a page of the web, and answers a question about it."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "url": { "type": "string", "format": "uri", "description": "The URL to fetch content from" },
                "prompt": { "type": "string", "description": "The prompt to run on the fetched content" },
            },
            "required": ["url", "prompt"],
            "additionalProperties": false,
        })
    }

    fn access(&self, input: &RawObject) -> Access {
        let url = text_or_empty(input, "url");
        Access::Web(Self::domain(&url).unwrap_or_default().to_owned())
    }

    fn summary(&self, input: &RawObject) -> Option<String> {
        text(input, "url")
    }

    fn role(&self) -> Role {
        Role::WebFetch
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn run<'a>(&'a self, _: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move { ToolOutput::failed("Pages cannot be read without a model.") })
    }
}

/// Searches the web through the Messages API. It takes a model: the agent runs it itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WebSearchTool;

impl WebSearchTool {
    /// Its name.
    pub const NAME: &'static str = "WebSearch";
}

impl Tool for WebSearchTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Searches the web."
    }

    fn input_schema(&self) -> Value {
        let domains = json!({ "type": "array", "items": { "type": "string" } });
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 2, "description": "The search query to use" },
                "allowed_domains": domains,
                "blocked_domains": domains,
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    }

    fn summary(&self, input: &RawObject) -> Option<String> {
        text(input, "query")
    }

    fn role(&self) -> Role {
        Role::WebSearch
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn run<'a>(&'a self, _: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move { ToolOutput::failed("The web cannot be searched without a model.") })
    }
}

#[cfg(test)]
mod tests {
    use super::WebFetchTool;

    #[test]
    fn a_page_is_its_text() {
        let page = "<html><style>a{}</style><script>x<y</script><h1>Title</h1>\n<p>Some  <b>text</b></p></html>";
        assert_eq!(WebFetchTool::readable(page), "Title\nSome text");
        assert_eq!(WebFetchTool::domain("https://me@a.example:80/x"), Some("a.example"));
        assert_eq!(WebFetchTool::domain("file:///etc"), None);
    }
}
