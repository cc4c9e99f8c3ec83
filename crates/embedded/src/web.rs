//! `WebFetch` and `WebSearch`, which take a model.

use std::time::{Duration, Instant};

use duologue_agent::TurnError;
use duologue_model::{Part, Purpose, Request, StreamedMessage};
use duologue_protocol::RawObject;
use serde_json::{Value, json};

use crate::agent_loop::AgentLoop;
use crate::models::full_name;
use crate::tools::{ToolOutput, WebFetchTool, text};

/// How long a page may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(60);

/// The most of a page that the model reads.
const MAX_PAGE: usize = 100_000;

impl AgentLoop {
    /// Reads a page, and asks the small model about it.
    pub(super) async fn fetch(&self, input: &RawObject) -> Result<ToolOutput, TurnError> {
        let url = text(input, "url").unwrap_or_default();
        let started = Instant::now();
        let Some(domain) = WebFetchTool::domain(&url) else {
            return Ok(ToolOutput::failed(format!("Invalid URL \"{url}\"")));
        };
        let page = match tokio::time::timeout(FETCH_TIMEOUT, read(&url)).await {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => {
                return Ok(ToolOutput::failed(format!("Unable to fetch from {domain}: {error}")));
            }
            Err(_) => {
                return Ok(ToolOutput::failed(format!("Unable to fetch from {domain}: timeout")));
            }
        };
        let bytes = page.text.len();
        let readable: String = WebFetchTool::readable(&page.text).chars().take(MAX_PAGE).collect();
        let wish = text(input, "prompt").unwrap_or_default();
        let question = format!("Web page content:\n---\n{readable}\n---\n\n{wish}");
        let answer = self.ask_helper(&full_name("haiku"), &question, Vec::new()).await?;
        let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let result = json!({
            "bytes": bytes, "code": page.code, "codeText": page.reason, "result": answer,
            "durationMs": millis, "url": url,
        });
        Ok(ToolOutput::text(answer, result))
    }

    /// Lets the API search the web.
    pub(super) async fn search(&self, input: &RawObject) -> Result<ToolOutput, TurnError> {
        let query = text(input, "query").unwrap_or_default();
        let started = Instant::now();
        let mut tool =
            json!({ "type": "web_search_20250305", "name": "web_search", "max_uses": 8 });
        for name in ["allowed_domains", "blocked_domains"] {
            if let Some(domains) = input.get(name).and_then(|domains| domains.to_value_lossy().ok())
            {
                tool[name] = domains;
            }
        }
        let question = format!("Perform a web search for the query: {query}");
        let model = self.emitter.session().model();
        let found = self.ask_helper(&model, &question, vec![tool]).await?;
        let result = json!({
            "query": query, "results": [found], "durationSeconds": started.elapsed().as_secs_f64(),
            "searchCount": 0,
        });
        Ok(ToolOutput::text(
            format!(
                "Web search results for query: \"{query}\"\n\n{found}\n\n\nREMINDER: You MUST include the sources above in your response to the user using markdown hyperlinks."
            ),
            result,
        ))
    }

    /// Asks a question beside the conversation.
    async fn ask_helper(
        &self,
        model: &str,
        question: &str,
        tools: Vec<Value>,
    ) -> Result<String, TurnError> {
        let mut body = json!({
            "model": model, "max_tokens": 8_000, "stream": true,
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": question }] }],
        });
        if !tools.is_empty() {
            body["tools"] = Value::from(tools);
        }
        let request = Request::new(body).map_err(TurnError::failed)?;
        let mut answer = self.shared.model.ask(request.with_purpose(Purpose::Helper));
        let mut folded = StreamedMessage::new();
        while let Some(part) = answer.next().await {
            match part {
                Ok(Part::Event(event)) => drop(folded.add(&event).cloned()),
                Ok(_) => {}
                Err(error) => return Ok(format!("The model could not be asked: {error}")),
            }
        }
        Ok(folded.text())
    }
}

/// A page.
struct Page {
    text: String,
    code: u16,
    reason: String,
}

async fn read(url: &str) -> Result<Page, String> {
    let client = duologue_model::http_client(url, &[]).map_err(|error| error.to_string())?;
    let response = client.get(url).send().await.map_err(|error| error.to_string())?;
    let status = response.status();
    let text = response.text().await.map_err(|error| error.to_string())?;
    let reason = status.canonical_reason().unwrap_or_default().to_owned();
    Ok(Page { text, code: status.as_u16(), reason })
}
