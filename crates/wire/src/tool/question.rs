//! `AskUserQuestion`: questions with options, and their answers.

use serde_json::{Value, json};

use crate::json::{Fault, Kind, Parser, RawJson, Writer};
use crate::text::Text;
use crate::wire::{Map, Schemas, Sealed, Wire, record};

record! {
    /// Ask the user. The input and the output have the same form; the output has the answers.
    AskUserQuestion {
        /// One to four questions.
        questions: Vec<Question>,
        /// The answers, by the text of the question.
        answers: Map<Answer>,
        /// Annotations, by the text of the question.
        annotations: Map<Annotation>,
        /// Where the questions come from.
        metadata: RawJson,
        /// Free text of the user in place of a choice.
        response: Text,
        /// The time after which the dialog closed without an answer, in milliseconds.
        afk_timeout_ms "afkTimeoutMs": RawJson,
    }
}

impl AskUserQuestion {
    /// The same questions, answered.
    #[must_use]
    pub fn answered(mut self, answers: &Answers) -> Self {
        self.answers = answers.answers.clone().into();
        if !answers.annotations.is_empty() {
            self.annotations = answers.annotations.clone().into();
        }
        self
    }
}

record! {
    /// A question.
    Question {
        /// The question. Answers are kept under this text.
        question: Text,
        /// A word or two for a tab.
        header: Text,
        /// Two to four options.
        options: Vec<QuestionOption>,
        /// Whether several may be chosen.
        multi_select "multiSelect": bool,
    }
}

record! {
    /// An option.
    QuestionOption {
        /// What to choose.
        label: Text,
        /// What it means.
        description: Text,
        /// What it would look like.
        preview: Text,
    }
}

record! {
    /// An annotation of an answer.
    Annotation {
        /// The preview of what was chosen.
        preview: Text,
        /// Notes of the user.
        notes: Text,
        /// The reason, if there is no answer: `skipped`, `replied_in_chat` or `dismissed`.
        unanswered: Text,
    }
}

/// An answer: one text, or a list of what was chosen.
///
/// The CLI takes both; a text is what it documents, also for several choices (`A, B`).
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "any other JSON type is malformed")]
pub enum Answer {
    /// One text: a label, several labels with commas, or free text.
    Text(Text),
    /// A list of labels.
    List(Vec<Text>),
}

impl Answer {
    /// What was chosen, as one text.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.as_str().to_owned(),
            Self::List(labels) => {
                labels.iter().map(|label| label.as_str()).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl Sealed for Answer {}

impl Wire for Answer {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        match parser.kind()? {
            Kind::String => parser.string().map(Self::Text),
            Kind::Array => Wire::decode(parser).map(Self::List),
            other => Err(parser.wrong_type("a string or an array of strings", other)),
        }
    }

    fn encode(&self, out: &mut Writer) {
        match self {
            Self::Text(text) => text.encode(out),
            Self::List(labels) => labels.encode(out),
        }
    }

    fn schema(schemas: &mut Schemas) -> Value {
        json!({ "anyOf": [Text::schema(schemas), Vec::<Text>::schema(schemas)] })
    }
}

/// The answers to the questions of one `AskUserQuestion`.
///
/// ```
/// use duologue_wire::tool::Answers;
///
/// let answers = Answers::new()
///     .choose("Which colour?", "Blue")
///     .choose_several("Which toppings?", ["Olives", "Basil"])
///     .say("Anything else?", "A glass of water, please.");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    answers: Map<Answer>,
    annotations: Map<Annotation>,
}

impl Answers {
    /// No answers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One option, by its label.
    #[must_use]
    pub fn choose(mut self, question: impl Into<Text>, label: &str) -> Self {
        self.answers.insert(question, label);
        self
    }

    /// Several options. They travel as one text with commas, as the CLI documents it.
    #[must_use]
    pub fn choose_several<'a>(
        mut self,
        question: impl Into<Text>,
        labels: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let labels: Vec<&str> = labels.into_iter().collect();
        self.answers.insert(question, labels.join(", "));
        self
    }

    /// Several options, as a list. Read by every CLI that was tested.
    #[must_use]
    pub fn choose_list<'a>(
        mut self,
        question: impl Into<Text>,
        labels: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let labels = labels.into_iter().map(Text::from).collect();
        self.answers.insert(question, Answer::List(labels));
        self
    }

    /// Free text.
    #[must_use]
    pub fn say(self, question: impl Into<Text>, text: &str) -> Self {
        self.choose(question, text)
    }

    /// Something more about an answer: notes, or the preview that was chosen.
    #[must_use]
    pub fn annotate(mut self, question: impl Into<Text>, annotation: Annotation) -> Self {
        self.annotations.insert(question, annotation);
        self
    }
}
