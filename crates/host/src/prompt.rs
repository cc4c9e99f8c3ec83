//! What is said to the agent: text, blocks, pictures, checked before they are sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue_protocol::content::{Content, ContentBlock, Source};
use duologue_protocol::lines::Prompt;

/// How large a picture may be for the API, as base64.
const MOST_ENCODED: usize = 5 * 1024 * 1024;

/// How many pixels a side may have, unless told otherwise. The API takes a single picture of 8000,
/// but refuses more than 2000 once a conversation has many; and since a picture stays in its
/// conversation, every later turn fails then.
pub(crate) const MOST_PIXELS: usize = 2000;

/// Why a prompt cannot be sent.
///
/// One bad picture would make every later turn of its conversation fail, so it is refused here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// There is nothing in it.
    #[error("the prompt is empty: give it a text or a picture")]
    Empty,
    /// A picture is of a kind that the API does not take.
    #[error("the picture is {found}: use PNG, JPEG, GIF or WebP")]
    #[non_exhaustive]
    Format {
        /// What it is.
        found: String,
    },
    /// A picture is not of the kind that it is said to be.
    #[error("the picture is said to be {said} and is {found}")]
    #[non_exhaustive]
    OtherFormat {
        /// What it is said to be.
        said: String,
        /// What it is.
        found: String,
    },
    /// A picture is not base64.
    #[error("the picture is not base64: {0}")]
    NotBase64(String),
    /// A picture has too many bytes.
    #[error("the picture has {bytes} bytes as base64, and may have {limit}: make it smaller")]
    #[non_exhaustive]
    TooLarge {
        /// How many it has.
        bytes: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A picture has too many pixels.
    #[error(
        "the picture is {width}×{height} pixels, and may be {limit} a side: scale it down, or see max_image_pixels"
    )]
    #[non_exhaustive]
    TooManyPixels {
        /// Its width.
        width: usize,
        /// Its height.
        height: usize,
        /// What a side may have.
        limit: usize,
    },
    /// A prompt of this name was sent before. The agent would swallow it.
    #[error("a prompt with the uuid {0} was sent before: the agent would ignore it")]
    SentBefore(String),
}

/// A picture as a block of a prompt, from the bytes of a PNG, JPEG, GIF or WebP file.
///
/// ```
/// # use duologue::image;
/// let pixel = include_bytes!("../tests/pixel.png");
/// let block = image(pixel)?;
/// # Ok::<(), duologue::PromptError>(())
/// ```
///
/// # Errors
/// If it is none of these, or too large for the API.
pub fn image(bytes: &[u8]) -> Result<ContentBlock, PromptError> {
    let media_type = check(bytes, usize::MAX)?;
    let encoded = STANDARD.encode(bytes);
    if encoded.len() > MOST_ENCODED {
        return Err(PromptError::TooLarge { bytes: encoded.len(), limit: MOST_ENCODED });
    }
    Ok(ContentBlock::image(media_type, encoded))
}

/// The media type of a picture that the API takes.
fn check(bytes: &[u8], most_pixels: usize) -> Result<&'static str, PromptError> {
    use imagesize::ImageType;
    let media_type = match imagesize::image_type(bytes) {
        Ok(ImageType::Png) => "image/png",
        Ok(ImageType::Jpeg) => "image/jpeg",
        Ok(ImageType::Gif) => "image/gif",
        Ok(ImageType::Webp) => "image/webp",
        Ok(other) => return Err(PromptError::Format { found: format!("{other:?}") }),
        Err(_) => return Err(PromptError::Format { found: "of an unknown kind".to_owned() }),
    };
    let size = imagesize::blob_size(bytes)
        .map_err(|_| PromptError::Format { found: format!("a damaged {media_type}") })?;
    if size.width > most_pixels || size.height > most_pixels {
        let (width, height) = (size.width, size.height);
        return Err(PromptError::TooManyPixels { width, height, limit: most_pixels });
    }
    Ok(media_type)
}

/// Refuses what would spoil the conversation.
pub(crate) fn validate(prompt: &Prompt, most_pixels: usize) -> Result<(), PromptError> {
    let content = prompt.message.value().and_then(|message| message.content.value());
    match content {
        None => Err(PromptError::Empty),
        Some(Content::Text(text)) if text.as_str().is_empty() => Err(PromptError::Empty),
        Some(Content::Text(_)) => Ok(()),
        Some(Content::Blocks(blocks)) if blocks.is_empty() => Err(PromptError::Empty),
        Some(Content::Blocks(blocks)) => {
            blocks.iter().try_for_each(|block| validate_block(block, most_pixels))
        }
    }
}

fn validate_block(block: &ContentBlock, most_pixels: usize) -> Result<(), PromptError> {
    let ContentBlock::Image(image) = block else { return Ok(()) };
    let Some(Source::Base64(source)) = image.source.value() else { return Ok(()) };
    let Some(data) = source.data.as_str() else { return Ok(()) };
    if data.len() > MOST_ENCODED {
        return Err(PromptError::TooLarge { bytes: data.len(), limit: MOST_ENCODED });
    }
    let bytes = STANDARD.decode(data).map_err(|error| PromptError::NotBase64(error.to_string()))?;
    let found = check(&bytes, most_pixels)?;
    match source.media_type.as_str() {
        Some(said) if said != found => {
            Err(PromptError::OtherFormat { said: said.to_owned(), found: found.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Something that can be said: a text, blocks, or a [`Prompt`] made by hand.
pub trait IntoPrompt {
    /// The prompt.
    fn into_prompt(self) -> Prompt;
}

impl IntoPrompt for Prompt {
    fn into_prompt(self) -> Prompt {
        self
    }
}

impl IntoPrompt for &str {
    fn into_prompt(self) -> Prompt {
        Prompt::text(self)
    }
}

impl IntoPrompt for String {
    fn into_prompt(self) -> Prompt {
        Prompt::text(self)
    }
}

impl IntoPrompt for &String {
    fn into_prompt(self) -> Prompt {
        Prompt::text(self.as_str())
    }
}

impl IntoPrompt for Vec<ContentBlock> {
    fn into_prompt(self) -> Prompt {
        Prompt::blocks(self)
    }
}

impl<const N: usize> IntoPrompt for [ContentBlock; N] {
    fn into_prompt(self) -> Prompt {
        Prompt::blocks(self)
    }
}
