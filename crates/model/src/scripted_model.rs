//! [`ScriptedModel`]: a scenario as a model in this process.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::Stream;

use crate::error::{ApiFailure, ModelError};
use crate::model::{AnswerSender, AnswerStream, Model, Part};
use crate::pace::Paced;
use crate::render::{Event, RenderedMessage};
use crate::request::Request;
use crate::scenario::{Reply, Scenario, ScenarioError};
use crate::script::{Answer, Script, Unfinished};

/// A model that plays a scenario: the replies of a [`Server`](crate::Server), without HTTP.
///
/// Delays, cuts, stalls and errors follow the scenario. The `lines` of a reply are sent as [`Part::Line`].
///
/// ```
/// use std::sync::Arc;
/// use duologue_model::{Model, Reply, Retrying, Scenario, ScriptedModel};
///
/// let script = Arc::new(ScriptedModel::new(Scenario::new().reply(Reply::text("Hello.")))?);
/// let model: Arc<dyn Model> = Arc::new(Retrying::new(script.clone()));
/// // … an agent asks `model` …
/// # drop(model);
/// assert!(script.finished().is_err());
/// # Ok::<(), duologue_model::ScenarioError>(())
/// ```
#[derive(Debug)]
pub struct ScriptedModel {
    state: Arc<Mutex<State>>,
    word: String,
}

#[derive(Debug)]
struct State {
    script: Script,
    messages: u64,
}

impl ScriptedModel {
    /// Creates a model that plays this scenario from its start.
    ///
    /// # Errors
    ///
    /// If the scenario is invalid.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        let script = Script::new(scenario)?;
        let state = Arc::new(Mutex::new(State { script, messages: 0 }));
        Ok(Self { state, word: "script".to_owned() })
    }

    /// Sets the word in the ids of messages and calls. Use another word when a conversation is resumed with a scenario that
    /// starts again, so that no id is used twice.
    #[must_use]
    pub fn ids(mut self, word: impl Into<String>) -> Self {
        self.word = word.into();
        self
    }

    /// The number of replies that were used.
    #[must_use]
    pub fn turns(&self) -> usize {
        lock(&self.state).script.turns()
    }

    /// Checks that every reply was used.
    ///
    /// # Errors
    ///
    /// The replies that are left.
    pub fn finished(&self) -> Result<(), Unfinished> {
        lock(&self.state).script.finished()
    }
}

impl Model for ScriptedModel {
    fn ask(&self, request: Request) -> AnswerStream {
        let (state, word) = (self.state.clone(), self.word.clone());
        AnswerStream::new(async move |sender| {
            let (answer, number) = lock(&state).answer(&request)?;
            play(&answer, number, &word, &sender).await
        })
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Result<(Answer, u64), ModelError> {
        let answer = self.script.answer(request).map_err(ModelError::Script)?;
        self.messages += 1;
        Ok((answer, self.messages))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Nothing that holds the lock leaves the state half changed.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Plays a reply as the server does.
pub(crate) async fn play(
    answer: &Answer,
    number: u64,
    word: &str,
    sender: &AnswerSender,
) -> Result<(), ModelError> {
    let reply: &Reply = &answer.reply;
    for line in &reply.lines {
        sender.send(Part::Line(line.clone())).await;
    }
    if reply.is_only_lines() {
        return Ok(());
    }
    if reply.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
    }
    if let Some(error) = &reply.error
        && reply.say.is_empty()
    {
        return Err(ModelError::Api(ApiFailure::from_scenario(error, false)));
    }
    let events = RenderedMessage::new(answer, number).word(word).events();
    let mut events: Paced<Event> = Paced::new(events, reply);
    while let Some(event) = poll_fn(|context| Pin::new(&mut events).poll_next(context)).await {
        let event = event.map_err(|cut| ModelError::Cut(cut.to_string()))?;
        if let Some(error) = reply.error.as_ref().filter(|_| event.name == "error") {
            return Err(ModelError::Api(ApiFailure::from_scenario(error, true)));
        }
        sender.send_event(event).await;
    }
    Ok(())
}
