//! [`Script`]: plays a scenario and chooses the reply for each request.

use std::fmt;
use std::sync::Arc;

use crate::purpose::Purpose;
use crate::request::Request;
use crate::scenario::{Reply, Scenario, ScenarioError, Times};

/// A scenario that is being played. It keeps track of used replies and of requests without a reply.
///
/// ```
/// use duologue_model::{Reply, Request, Scenario, Script};
/// use serde_json::json;
///
/// let mut script = Script::new(Scenario::new().reply(Reply::text("Hello.")))?;
/// let request = Request::new(json!({
///     "model": "any",
///     "messages": [{ "role": "user", "content": "hi" }],
/// }))?;
/// let answer = script.answer(&request)?;
/// assert_eq!(answer.agent, "main");
///
/// let none_left = script.answer(&request).unwrap_err();
/// assert!(none_left.to_string().starts_with("the script has no reply left for main"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Script {
    scenario: Scenario,
    replies: Vec<Played>,
    turns: usize,
}

#[derive(Debug)]
struct Played {
    reply: Arc<Reply>,
    given: u32,
}

/// The reply to a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The purpose of the request.
    pub purpose: Purpose,
    /// The agent of the request.
    pub agent: String,
    /// The index of the reply in the scenario. `None` for a fixed reply to a request that the CLI makes on its own.
    pub index: Option<usize>,
    /// The reply.
    pub reply: Arc<Reply>,
    /// The model that it names.
    pub model: String,
}

impl Script {
    /// Creates a script at its start.
    ///
    /// # Errors
    ///
    /// If the scenario is invalid.
    pub fn new(mut scenario: Scenario) -> Result<Self, ScenarioError> {
        scenario.check()?;
        let replies = std::mem::take(&mut scenario.replies);
        let replies =
            replies.into_iter().map(|reply| Played { reply: Arc::new(reply), given: 0 }).collect();
        Ok(Self { scenario, replies, turns: 0 })
    }

    /// The reply to a request.
    ///
    /// # Errors
    ///
    /// If the scenario has none.
    pub fn answer(&mut self, request: &Request) -> Result<Answer, Mismatch> {
        let purpose = request.purpose();
        let agent = self.agent_of(request, purpose).to_owned();
        let model = self.scenario.model.clone().unwrap_or_else(|| request.model().to_owned());
        if let Some(index) = self.choose(&agent, request) {
            let played = &mut self.replies[index];
            played.given = played.given.saturating_add(1);
            self.turns += 1;
            let reply = played.reply.clone();
            return Ok(Answer { purpose, agent, index: Some(index), reply, model });
        }
        match purpose.fixed(request) {
            Some(reply) => {
                Ok(Answer { purpose, agent, index: None, reply: Arc::new(reply), model })
            }
            None => Err(self.mismatch(agent, request)),
        }
    }

    /// The number of replies that were used.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.turns
    }

    /// Checks that every reply was used. Replies with `times = "always"` need not be.
    ///
    /// # Errors
    ///
    /// The replies that are left.
    pub fn finished(&self) -> Result<(), Unfinished> {
        let left: Vec<String> =
            self.left().map(|(index, played)| describe(index, &played.reply)).collect();
        if left.is_empty() { Ok(()) } else { Err(Unfinished { left }) }
    }

    /// Skips replies that an API cannot send.
    pub(crate) fn for_api(mut self) -> Self {
        for played in self.replies.iter_mut().filter(|played| played.reply.is_only_lines()) {
            played.given = u32::MAX;
        }
        self
    }

    fn agent_of(&self, request: &Request, purpose: Purpose) -> &str {
        // Requests that the CLI makes on its own often contain the prompts of an agent.
        if !purpose.is_conversation() {
            return purpose.as_str();
        }
        let agents = &self.scenario.agents;
        // An agent in this process sets its name; the real CLI must be recognised.
        let said = request.agent().and_then(|agent| agents.get_key_value(agent));
        let named = said.or_else(|| agents.iter().find(|(_, who)| request.is_from(who)));
        named.map_or(purpose.as_str(), |(name, _)| name)
    }

    fn choose(&self, agent: &str, request: &Request) -> Option<usize> {
        let mut next = None;
        for (index, played) in self.replies.iter().enumerate() {
            if !is_left(played) || owner(&played.reply) != agent {
                continue;
            }
            match &played.reply.when {
                Some(when) if request.meets(when) => return Some(index),
                Some(_) => {}
                None => next = next.or(Some(index)),
            }
        }
        next
    }

    fn left(&self) -> impl Iterator<Item = (usize, &Played)> {
        self.replies
            .iter()
            .enumerate()
            .filter(|(_, played)| is_left(played) && played.reply.times != Times::Always)
    }

    fn mismatch(&self, agent: String, request: &Request) -> Mismatch {
        let waiting = self
            .replies
            .iter()
            .enumerate()
            .filter(|(_, played)| is_left(played))
            .map(|(index, played)| describe(index, &played.reply))
            .collect();
        let mut asked: Vec<String> = request.tool_results();
        asked.insert(0, request.prompt());
        asked.retain(|text| !text.is_empty());
        let replies = self.replies.len();
        let asked = asked.join("\n");
        Mismatch { agent, asked, messages: request.message_count(), waiting, replies }
    }
}

fn owner(reply: &Reply) -> &str {
    reply.agent.as_deref().unwrap_or(Purpose::Main.as_str())
}

fn is_left(played: &Played) -> bool {
    match played.reply.times {
        Times::Only(times) => played.given < times,
        Times::Always => played.given < u32::MAX,
    }
}

fn describe(index: usize, reply: &Reply) -> String {
    let number = index + 1;
    let owner = owner(reply);
    match &reply.when {
        Some(when) => format!("reply {number} ({owner}, when {when})"),
        None => format!("reply {number} ({owner})"),
    }
}

/// The script has no reply for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The agent of the request.
    pub agent: String,
    /// The new part of the request: text of the user and tool results.
    pub asked: String,
    /// The number of messages of the request.
    pub messages: usize,
    /// The replies that are left, for other agents or conditions.
    pub waiting: Vec<String>,
    /// The number of replies of the scenario.
    pub replies: usize,
}

/// How many characters of the request an error shows.
const SHOWN: usize = 200;

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, asked, messages, waiting, replies } = self;
        let mut shown: String = asked.chars().take(SHOWN).collect();
        if shown.len() < asked.len() {
            shown.push('…');
        }
        write!(formatter, "the script has no reply left for {agent}.")?;
        write!(formatter, " New in its request: {shown:?} (messages in all: {messages}).")?;
        if *replies == 0 {
            write!(formatter, " The scenario is empty: a reply begins with [[replies]].")?;
        } else if waiting.is_empty() {
            write!(formatter, " All replies were given.")?;
        } else {
            write!(formatter, " Left: {}.", waiting.join(", "))?;
        }
        write!(formatter, " Add a reply for `{agent}`, or give one `times = \"always\"`.")
    }
}

impl std::error::Error for Mismatch {}

/// Some replies were never used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the script is not finished; left: {}", .left.join(", "))]
#[non_exhaustive]
pub struct Unfinished {
    /// The replies.
    pub left: Vec<String>,
}
