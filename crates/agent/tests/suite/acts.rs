//! An agent that does what a test says.

use std::future::Future;
use std::pin::Pin;

use duologue_agent::{Agent, Turn, TurnResult};

type Act = dyn for<'a> Fn(&'a mut Turn<'_>) -> Pin<Box<dyn Future<Output = TurnResult> + Send + 'a>>
    + Send
    + Sync;

/// An agent whose every turn is this function.
pub(crate) struct Acts(Box<Act>);

pub(crate) fn acts<F>(act: F) -> Acts
where
    F: for<'a> Fn(&'a mut Turn<'_>) -> Pin<Box<dyn Future<Output = TurnResult> + Send + 'a>>
        + Send
        + Sync
        + 'static,
{
    Acts(Box::new(act))
}

impl Agent for Acts {
    async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
        (self.0)(turn).await
    }
}
