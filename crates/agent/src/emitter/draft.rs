//! The message that is being written.

use duologue_protocol::Text;
use duologue_protocol::message::Usage;

/// What kind of block is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
    /// The input of a call.
    Tool,
}

#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// The message, if one has begun.
    pub(super) message: Option<Text>,
    /// The id of the next message, if it was set.
    named: Option<Text>,
    /// Its model and its usage so far, if they are known.
    pub(super) origin: Option<(Text, Usage)>,
    /// What it used in all, once that is known.
    pub(super) used: Option<Usage>,
    /// What the API calls the request that it answers.
    pub(super) request: Option<Text>,
    /// The uuid of the next line, if it was set.
    pub(super) line: Option<Text>,
    /// Milliseconds that its first event took.
    pub(super) took: Option<u64>,
    /// The place of the next block.
    pub(super) index: u64,
    open: Option<(Kind, String)>,
    /// Tokens of thinking so far, roughly.
    pub(super) thought: u64,
}

impl Draft {
    pub(super) fn open_kind(&self) -> Option<Kind> {
        self.open.as_ref().map(|(kind, _)| *kind)
    }

    /// False if such a block is open already.
    pub(super) fn open(&mut self, kind: Kind) -> bool {
        let opens = self.open.is_none();
        if opens {
            self.open = Some((kind, String::new()));
        }
        opens
    }

    pub(super) fn append(&mut self, piece: &str) {
        if let Some((_, text)) = &mut self.open {
            text.push_str(piece);
        }
    }

    pub(super) const fn take_open(&mut self) -> Option<(Kind, String)> {
        self.open.take()
    }

    pub(super) fn name_next(&mut self, id: Text) {
        self.named = Some(id);
    }

    pub(super) const fn take_name(&mut self) -> Option<Text> {
        self.named.take()
    }
}
