//! The messages of the conversation itself, one file each.

mod assistant;
mod other;
mod prompt;
mod result;
mod stream;
mod user;

pub use assistant::*;
pub use other::*;
pub use prompt::*;
pub use result::*;
pub use stream::*;
pub use user::*;
