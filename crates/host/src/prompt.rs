//! Prompts: text, blocks and images, checked before they are sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue_protocol::content::{Content, ContentBlock, Source};
use duologue_protocol::lines::Prompt;

/// The largest image that the API accepts, in bytes of base64.
const MAX_ENCODED: usize = 5 * 1024 * 1024;

/// The default limit for the sides of an image, in pixels. The API accepts a single image of 8000 pixels, but
/// rejects more than 2000 once a conversation has many images. An image stays in its conversation, so every later
/// turn would fail.
pub(crate) const MAX_PIXELS: usize = 2000;

/// Why a prompt cannot be sent.
///
/// One bad image would make every later turn of its conversation fail, so it is refused here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// The prompt is empty.
    #[error("the prompt is empty: give it a text or an image")]
    Empty,
    /// The API does not support the format of an image.
    #[error("the image is {found}: use PNG, JPEG, GIF or WebP")]
    #[non_exhaustive]
    Format {
        /// The format of the image.
        found: String,
    },
    /// An image has another format than its media type says.
    #[error("the media type of the image is {said}, but its format is {found}")]
    #[non_exhaustive]
    OtherFormat {
        /// The media type.
        said: String,
        /// The format of the image.
        found: String,
    },
    /// An image is not base64.
    #[error("the image is not base64: {0}")]
    NotBase64(String),
    /// An image has too many bytes.
    #[error("the image has {bytes} bytes as base64, more than {limit}: make it smaller")]
    #[non_exhaustive]
    TooLarge {
        /// The size of the image, as base64.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// An image has too many pixels.
    #[error(
        "the image has {width}×{height} pixels, more than {limit} on a side: scale it down, or see max_image_pixels"
    )]
    #[non_exhaustive]
    TooManyPixels {
        /// Its width.
        width: usize,
        /// Its height.
        height: usize,
        /// The limit for each side.
        limit: usize,
    },
    /// A prompt with this uuid was sent before. The agent would ignore it.
    #[error("a prompt with the uuid {0} was sent before: the agent would ignore it")]
    SentBefore(String),
}

/// Makes an image block from the bytes of a PNG, JPEG, GIF or WebP file.
///
/// ```
/// # use duologue::image;
/// let pixel = include_bytes!("../tests/pixel.png");
/// let block = image(pixel)?;
/// # Ok::<(), duologue::PromptError>(())
/// ```
///
/// # Errors
/// If it has another format, or is too large for the API.
pub fn image(bytes: &[u8]) -> Result<ContentBlock, PromptError> {
    let media_type = check(bytes, usize::MAX)?;
    let encoded = STANDARD.encode(bytes);
    if encoded.len() > MAX_ENCODED {
        return Err(PromptError::TooLarge { bytes: encoded.len(), limit: MAX_ENCODED });
    }
    Ok(ContentBlock::image(media_type, encoded))
}

/// The media type of an image, if the API supports it.
fn check(bytes: &[u8], max_pixels: usize) -> Result<&'static str, PromptError> {
    use imagesize::ImageType;
    let media_type = match imagesize::image_type(bytes) {
        Ok(ImageType::Png) => "image/png",
        Ok(ImageType::Jpeg) => "image/jpeg",
        Ok(ImageType::Gif) => "image/gif",
        Ok(ImageType::Webp) => "image/webp",
        Ok(other) => return Err(PromptError::Format { found: format!("{other:?}") }),
        Err(_) => return Err(PromptError::Format { found: "of an unknown format".to_owned() }),
    };
    let size = imagesize::blob_size(bytes)
        .map_err(|_| PromptError::Format { found: format!("a damaged {media_type}") })?;
    if size.width > max_pixels || size.height > max_pixels {
        let (width, height) = (size.width, size.height);
        return Err(PromptError::TooManyPixels { width, height, limit: max_pixels });
    }
    Ok(media_type)
}

/// Refuses a prompt that would make later turns fail.
pub(crate) fn validate(prompt: &Prompt, max_pixels: usize) -> Result<(), PromptError> {
    let content = prompt.message.value().and_then(|message| message.content.value());
    match content {
        None => Err(PromptError::Empty),
        Some(Content::Text(text)) if text.as_str().is_empty() => Err(PromptError::Empty),
        Some(Content::Text(_)) => Ok(()),
        Some(Content::Blocks(blocks)) if blocks.is_empty() => Err(PromptError::Empty),
        Some(Content::Blocks(blocks)) => {
            blocks.iter().try_for_each(|block| validate_block(block, max_pixels))
        }
    }
}

fn validate_block(block: &ContentBlock, max_pixels: usize) -> Result<(), PromptError> {
    let ContentBlock::Image(image) = block else { return Ok(()) };
    let Some(Source::Base64(source)) = image.source.value() else { return Ok(()) };
    let Some(data) = source.data.as_str() else { return Ok(()) };
    if data.len() > MAX_ENCODED {
        return Err(PromptError::TooLarge { bytes: data.len(), limit: MAX_ENCODED });
    }
    let bytes = STANDARD.decode(data).map_err(|error| PromptError::NotBase64(error.to_string()))?;
    let found = check(&bytes, max_pixels)?;
    match source.media_type.as_str() {
        Some(said) if said != found => {
            Err(PromptError::OtherFormat { said: said.to_owned(), found: found.to_owned() })
        }
        _ => Ok(()),
    }
}

/// A type that can be sent as a prompt: a text, blocks, or a [`Prompt`].
pub trait IntoPrompt {
    /// Converts the value into a prompt.
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
