//! `StructuredOutput`: an answer in a given shape.

use duologue_protocol::RawObject;
use jsonschema::Validator;
use serde_json::{Value, json};
use thiserror::Error;

use super::{Access, Role, Tool, ToolContext, ToolFuture, ToolOutput};

/// How many errors are reported.
const MAX_ERRORS: usize = 5;

/// A JSON Schema that is not valid.
#[derive(Clone, Debug, Error)]
#[error("not a JSON Schema: {0}")]
#[non_exhaustive]
pub struct InvalidSchema(String);

/// Takes the answer of a turn in the shape that the host asked for with `--json-schema`.
///
/// The input of the first call that succeeds is the answer.
///
/// ```
/// use duologue_embedded::tools::StructuredOutputTool;
/// use serde_json::json;
///
/// let tool = StructuredOutputTool::new(json!({ "type": "object", "required": ["n"] }))?;
/// # Ok::<(), duologue_embedded::tools::InvalidSchema>(())
/// ```
#[derive(Debug)]
pub struct StructuredOutputTool {
    schema: Value,
    validator: Validator,
}

impl StructuredOutputTool {
    /// A tool that takes this shape.
    ///
    /// # Errors
    /// If it is not a JSON Schema.
    pub fn new(schema: Value) -> Result<Self, InvalidSchema> {
        let validator =
            jsonschema::validator_for(&schema).map_err(|error| InvalidSchema(error.to_string()))?;
        Ok(Self { schema, validator })
    }
}

impl StructuredOutputTool {
    /// Its name.
    pub const NAME: &'static str = "StructuredOutput";
}

impl Tool for StructuredOutputTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Returns your final response in the required format. Call it exactly once, at the end."
    }

    fn input_schema(&self) -> Value {
        self.schema.clone()
    }

    fn access(&self, _: &RawObject) -> Access {
        Access::Nothing
    }

    fn for_subagents(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::StructuredOutput
    }

    fn is_read_only(&self, _: &RawObject) -> bool {
        true
    }

    fn checks_itself(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, input: RawObject, _: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Ok(value) = input.to_value_lossy() else {
                return ToolOutput::unparsable(Self::NAME, input.as_json());
            };
            let wrong: Vec<String> = self
                .validator
                .iter_errors(&value)
                .take(MAX_ERRORS)
                .map(|error| {
                    let at = error.instance_path().to_string();
                    let at = if at.is_empty() { "root" } else { &at };
                    format!("{at}: {error}")
                })
                .collect();
            if wrong.is_empty() {
                const DONE: &str = "Structured output provided successfully";
                ToolOutput::text(DONE, json!(DONE))
            } else {
                let wrong = wrong.join(", ");
                ToolOutput::failed(format!("Output does not match required schema: {wrong}"))
            }
        })
    }
}
