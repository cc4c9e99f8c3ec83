//! Plays a scenario: which reply a request gets.

use std::fmt;
use std::sync::Arc;

use crate::purpose::Purpose;
use crate::request::Request;
use crate::scenario::{Reply, Scenario, ScenarioError, Times};

/// A scenario that is being played. It knows which replies were given, and which request had none.
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

/// What a request gets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// What was asked.
    pub purpose: Purpose,
    /// Whose reply it is.
    pub agent: String,
    /// Which reply of the scenario it is, counted from 0. None if it is a fixed one, to what the CLI asks on its own.
    pub index: Option<usize>,
    /// The reply.
    pub reply: Arc<Reply>,
    /// The model that says it.
    pub model: String,
}

impl Script {
    /// A script at its beginning.
    ///
    /// # Errors
    ///
    /// If the scenario makes no sense.
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

    /// How many replies of the scenario were given.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.turns
    }

    /// Whether all was said. A reply that is always given counts as said.
    ///
    /// # Errors
    ///
    /// If not: which replies are left.
    pub fn finished(&self) -> Result<(), Unfinished> {
        let left: Vec<String> =
            self.left().map(|(index, played)| describe(index, &played.reply)).collect();
        if left.is_empty() { Ok(()) } else { Err(Unfinished { left }) }
    }

    /// Leaves out the replies that no API can send.
    pub(crate) fn for_api(mut self) -> Self {
        for played in self.replies.iter_mut().filter(|played| played.reply.is_only_lines()) {
            played.given = u32::MAX;
        }
        self
    }

    fn agent_of(&self, request: &Request, purpose: Purpose) -> &str {
        // What the CLI asks on its own account often comes with the prompts of the agent it is about.
        if !purpose.is_conversation() {
            return purpose.as_str();
        }
        let agents = &self.scenario.agents;
        // An agent of this process says who it is; the real CLI has to be recognised.
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
    /// Who asked.
    pub agent: String,
    /// What was new in the request: the user's text, and results of tools.
    pub asked: String,
    /// How many messages the request had.
    pub messages: usize,
    /// The replies that are left, for others or for something else.
    pub waiting: Vec<String>,
    /// How many replies the scenario has.
    pub replies: usize,
}

/// Characters of what was asked that a message of an error shows.
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

/// Some replies were never given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the script is not finished; left: {}", .left.join(", "))]
#[non_exhaustive]
pub struct Unfinished {
    /// The replies.
    pub left: Vec<String>,
}
