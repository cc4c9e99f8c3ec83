//! `ToolSearch`: finds tools by name.

use duologue_protocol::{RawJson, RawObject};
use serde_json::{Value, json};

use super::{Access, Role, Tool, ToolContext, ToolFuture, ToolOutput};

/// How many tools are found by default.
const MOST: usize = 5;

/// Finds tools. Newer versions of the CLI give the model most tools by name only, and it has to search for
/// them first. Here the model has all tools from the start, but a search is answered, too.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolSearchTool;

impl ToolSearchTool {
    /// Its name.
    pub const NAME: &'static str = "ToolSearch";

    /// Looks among tools, each with its name and what it does. `select:` is followed by names, anything else
    /// are words that must all be there.
    pub fn search(input: &RawObject, tools: &[(String, String)]) -> ToolOutput {
        let text = |name: &str| input.get(name).and_then(|value| value.as_str());
        let query = text("query").map(|query| query.as_str().to_owned()).unwrap_or_default();
        let most = input.get("max_results").and_then(|most| most.to::<usize>().ok());
        let found: Vec<&str> = match query.strip_prefix("select:") {
            Some(names) => {
                let known = |name: &&str| tools.iter().any(|(tool, _)| tool == name);
                names.split(',').map(str::trim).filter(known).collect()
            }
            None => {
                let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
                let fits = |(name, what): &&(String, String)| {
                    let all = format!("{name} {what}").to_lowercase();
                    words.iter().all(|word| all.contains(word.trim_start_matches('+')))
                };
                let found = tools.iter().filter(fits).take(most.unwrap_or(MOST));
                found.map(|(name, _)| name.as_str()).collect()
            }
        };
        let told = json!({ "matches": found, "query": query, "total_deferred_tools": tools.len() });
        if found.is_empty() {
            return ToolOutput::text("No matching deferred tools found", told);
        }
        let reference =
            |name: &&str| RawJson::from(json!({ "type": "tool_reference", "tool_name": name }));
        ToolOutput::blocks(found.iter().map(reference).collect(), told)
    }
}

impl Tool for ToolSearchTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Finds tools: `select:` and their names, or words that describe them."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What to look for" },
                "max_results": { "type": "number", "description": "How many at most" },
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    }

    fn access(&self, _: &RawObject) -> Access {
        Access::Nothing
    }

    fn role(&self) -> Role {
        Role::ToolSearch
    }

    fn is_offered(&self) -> bool {
        // The model has all tools already.
        false
    }

    fn content_for_model(&self, output: &ToolOutput) -> RawJson {
        if output.is_failure() {
            return output.content.to_json();
        }
        let found = output.tool_use_result.get("matches");
        let found = found.and_then(|found| found.to::<Vec<String>>().ok()).unwrap_or_default();
        // An API need not know references.
        RawJson::from(json!(match found.as_slice() {
            [] => "No matching tools found".to_owned(),
            found => format!("These tools can be called: {}", found.join(", ")),
        }))
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn run<'a>(&'a self, input: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
        // Which tools there are is known to the agent alone, which asks `search` itself.
        Box::pin(async move { Self::search(&input, &[]) })
    }
}
