//! Prompts of the client, as prompts for the agent.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};
use duologue_protocol::content::{self, Base64Source, DocumentBlock, Source};
use duologue_protocol::lines::Prompt;

use crate::error::invalid;

/// The prompt for the agent.
///
/// # Errors
/// If it has no content, or content that the agent cannot read.
pub(crate) fn prompt(blocks: Vec<ContentBlock>) -> Result<Prompt, Error> {
    let mut content = Vec::new();
    let mut context = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => content.push(content::ContentBlock::text(text.text)),
            ContentBlock::Image(image) => {
                content.push(content::ContentBlock::image(image.mime_type, image.data))
            }
            ContentBlock::ResourceLink(link) => {
                content.push(content::ContentBlock::text(mention(&link.uri, Some(&link.name))));
            }
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    content.push(content::ContentBlock::text(mention(&text.uri, None)));
                    let context_of =
                        format!("\n<context ref=\"{}\">\n{}\n</context>", text.uri, text.text);
                    context.push(content::ContentBlock::text(context_of));
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    let kind = blob.mime_type.unwrap_or_default();
                    if kind.starts_with("image/") {
                        content.push(content::ContentBlock::image(kind, blob.blob));
                    } else if kind == "application/pdf" {
                        let source = Base64Source::new().media_type(kind).data(blob.blob);
                        let document = DocumentBlock::new()
                            .source(Source::Base64(source))
                            .title(name_of(&blob.uri));
                        content.push(content::ContentBlock::Document(Box::new(document)));
                    } else {
                        let shown = if kind.is_empty() { "without a type" } else { &kind };
                        return Err(invalid(format!(
                            "the resource {} is binary data ({shown}); images, PDF and text can be embedded",
                            blob.uri
                        )));
                    }
                }
                _ => return Err(invalid("the prompt has a resource of an unknown kind")),
            },
            ContentBlock::Audio(_) => return Err(invalid("audio is not supported")),
            _ => return Err(invalid("the prompt has content of an unknown kind")),
        }
    }
    content.append(&mut context);
    match &content[..] {
        [] => Err(invalid("the prompt is empty")),
        // Slash commands are recognized in plain text.
        [content::ContentBlock::Text(text)] => {
            Ok(Prompt::text(text.text.as_str().unwrap_or_default()))
        }
        _ => Ok(Prompt::blocks(content)),
    }
}

/// The last part of a URI.
fn name_of(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or(uri);
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(uri)
}

/// A resource as it is mentioned in a text.
fn mention(uri: &str, name: Option<&str>) -> String {
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| name_of(uri));
    format!("[@{name}]({uri})")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use agent_client_protocol::v1::schema::{
        AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextResourceContents,
    };
    use duologue_protocol::Wire as _;

    use super::*;

    #[test]
    fn a_single_text_is_a_plain_prompt() {
        let prompt = prompt(vec!["/compact".into()]).unwrap();
        assert!(prompt.to_json().contains(r#""content":"/compact""#), "{}", prompt.to_json());
    }

    #[test]
    fn resources_are_mentioned_and_their_text_follows() {
        let text = TextResourceContents::new("fn main() {}", "file:///project/src/main.rs");
        let resource = EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(text));
        let link = ResourceLink::new("a.txt", "file:///project/a.txt");
        let blocks = vec![
            ContentBlock::Resource(resource),
            ContentBlock::ResourceLink(link),
            ContentBlock::Image(ImageContent::new("aGk=", "image/png")),
        ];
        let json = prompt(blocks).unwrap().to_json();
        let at = |text: &str| {
            json.find(text).unwrap_or_else(|| unreachable!("{text} is missing in {json}"))
        };
        assert!(at("[@main.rs](file:///project/src/main.rs)") < at("[@a.txt]"));
        assert!(at("image/png") < at("fn main() {}"));
    }

    #[test]
    fn what_cannot_be_read_is_an_error_of_the_params() {
        let audio = ContentBlock::Audio(AudioContent::new("aGk=", "audio/wav"));
        assert_eq!(i32::from(prompt(vec![audio]).unwrap_err().code), -32602);
        assert_eq!(i32::from(prompt(Vec::new()).unwrap_err().code), -32602);
    }
}
