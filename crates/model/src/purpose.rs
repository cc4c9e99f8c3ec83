//! [`Purpose`]: why the CLI sends a request.

use std::fmt;

use crate::request::Request;
use crate::scenario::Reply;

/// Why a request is sent.
///
/// The real CLI also makes requests on its own. Only conversations consume replies of the script; other requests get a
/// fixed reply, unless the scenario has a reply with the purpose as its agent (`agent = "summary"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// The conversation with the user.
    Main,
    /// The conversation of a sub-agent.
    Sub,
    /// A title for the session.
    Title,
    /// Whether a prompt begins a new topic.
    Topic,
    /// Whether the API answers, or how many tokens something has: a request for a single token.
    Quota,
    /// A summary of the conversation, for compaction.
    Summary,
    /// A request that only fills the cache, for a possible sub-agent.
    Warmup,
    /// Other helpers: the files of a command, a label, a summary of a web page.
    Helper,
}

enum Place {
    System,
    Prompt,
}

/// Phrases of the CLI, in versions 2.0 and 2.1.
const PHRASES: &[(Place, &str, Purpose)] = &[
    (Place::Prompt, "Your task is to create a detailed summary", Purpose::Summary),
    (Place::System, "tasked with summarizing conversations", Purpose::Summary),
    (Place::System, "indicates a new conversation topic", Purpose::Topic),
    (Place::System, "sentence-case title", Purpose::Title),
    (Place::System, "5-10 word title", Purpose::Title),
    (Place::System, "title is a name for what the session is about", Purpose::Title),
    (Place::System, "Your task is to process Bash commands", Purpose::Helper),
    (Place::System, "Extract any file paths that this command reads", Purpose::Helper),
    (Place::System, "Write a short summary label", Purpose::Helper),
    (Place::System, "Generate a short kebab-case name", Purpose::Helper),
    (Place::System, "performing a web search", Purpose::Helper),
    (Place::System, "You are evaluating a hook", Purpose::Helper),
    (Place::Prompt, "Your task is to process Bash commands", Purpose::Helper),
    (Place::Prompt, "Provide a brief summary of what was accomplished", Purpose::Helper),
    (Place::Prompt, "[SUGGESTION MODE", Purpose::Helper),
    (Place::Prompt, "Describe your most recent action", Purpose::Helper),
    (Place::Prompt, "Web page content:\n---", Purpose::Helper),
    (Place::Prompt, "The user stepped away", Purpose::Helper),
];

/// Marks of a sub-agent: the first since 2.1.197, the second before.
const SUB_AGENT: &[&str] = &["cc_is_subagent=true", "Agent threads always have their cwd reset"];

impl Purpose {
    /// All of them.
    pub(crate) const ALL: [Self; 8] = [
        Self::Main,
        Self::Sub,
        Self::Title,
        Self::Topic,
        Self::Quota,
        Self::Summary,
        Self::Warmup,
        Self::Helper,
    ];

    /// Its name, which scenarios use as `agent`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Sub => "sub",
            Self::Title => "title",
            Self::Topic => "topic",
            Self::Quota => "quota",
            Self::Summary => "summary",
            Self::Warmup => "warmup",
            Self::Helper => "helper",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.as_str() == word)
    }

    /// Whether it consumes replies of the script.
    #[must_use]
    pub fn is_conversation(self) -> bool {
        matches!(self, Self::Main | Self::Sub)
    }

    pub(crate) fn of(request: &Request) -> Self {
        let body = request.body();
        if body["max_tokens"] == 1 {
            return Self::Quota;
        }
        let prompt = request.prompt();
        if prompt == "Warmup" {
            return Self::Warmup;
        }
        let system = request.system();
        let known = PHRASES.iter().find(|(place, phrase, _)| match place {
            Place::System => system.contains(phrase),
            Place::Prompt => prompt.contains(phrase),
        });
        if let Some((_, _, purpose)) = known {
            return *purpose;
        }
        let wanted = &body["output_config"]["format"]["schema"]["properties"];
        if request.tools().next().is_none() && wanted["title"].is_object() {
            return Self::Title;
        }
        let is_sub = request.header("x-claude-code-agent-id").is_some()
            || SUB_AGENT.iter().any(|mark| system.contains(mark));
        if is_sub { Self::Sub } else { Self::Main }
    }

    /// The fixed reply, if the scenario has none. A conversation has no fixed reply.
    pub(crate) fn fixed(self, request: &Request) -> Option<Reply> {
        let wants_json = request.body()["output_config"]["format"].is_object();
        let text = match self {
            Self::Main | Self::Sub => return None,
            Self::Title if wants_json => r#"{"title":"Scripted session","branch":"scripted"}"#,
            Self::Title => "Scripted session",
            Self::Topic => r#"{"isNewTopic":false,"title":null}"#,
            Self::Summary => "<summary>\nA scripted conversation.\n</summary>",
            Self::Quota | Self::Warmup => "OK",
            // For a request for the prefix of a command, this means that there is none.
            Self::Helper => "none",
        };
        Some(Reply::text(text))
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
