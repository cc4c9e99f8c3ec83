//! `duologue run`.

mod answer;
mod progress;
mod prompt;
mod verdict;

use std::time::Duration;

use duologue::ask::{Decision, QuestionAnswer};
use duologue::{Error, Event, Events, Message, Messages, Session, SessionBuilder, TurnOutcome};
use duologue_protocol::ToHost;
use duologue_protocol::lines::TurnResult;

use crate::args::{Output, Run};
use crate::exit;
use crate::runtime::{self, Interrupts};
use crate::session_args;
use crate::visible::ours;

use answer::Answer;
use progress::Progress;

pub(crate) fn run(args: &Run) -> anyhow::Result<u8> {
    let prompt = prompt::read(args)?;
    let builder = set_up(args)?;
    runtime::block_on(async {
        let interrupts = Interrupts::new();
        let mut twice = interrupts.clone();
        tokio::select! {
            code = converse(args, builder, prompt, interrupts) => code,
            // The session is dropped: the agent and all it has started are killed.
            () = twice.pressed(2) => Ok(exit::INTERRUPTED),
        }
    })
}

/// The session that the command line asks for.
fn set_up(args: &Run) -> anyhow::Result<SessionBuilder> {
    let mut builder = args.session.builder()?;
    if args.output() == Output::Text || args.partial_messages {
        builder = builder.partial_messages(true);
    }
    if let Some(schema) = &args.schema {
        let schema = session_args::object("--schema", schema)?.read("--schema")?;
        builder = builder.json_schema(schema);
    }
    if args.yes {
        builder = builder
            .on_permission(|_| async { Decision::allow() })
            .on_question(|_| async { QuestionAnswer::skip() });
    }
    Ok(builder)
}

async fn converse(
    args: &Run,
    builder: SessionBuilder,
    prompt: String,
    mut interrupts: Interrupts,
) -> anyhow::Result<u8> {
    let mut progress = Progress::new(args.quiet);
    progress.busy(&ours("starting the agent"));
    let session = tokio::select! {
        session = builder.start() => session?,
        () = interrupts.pressed(1) => return Ok(exit::INTERRUPTED),
    };
    for notice in session.notices() {
        progress.note(&notice);
    }
    let mut show = Show {
        events: Some(session.events()),
        messages: Some(session.messages()),
        answer: Answer::new(args, interrupts.clone()),
        progress,
        result: None,
    };
    show.progress.busy(&ours("waiting for the model"));
    let (outcome, stopped) = turn(args, &session, prompt, &mut show, &mut interrupts).await?;

    // What is left is read to its end: lines after the result, and turns of work in the background.
    let pressed = interrupts.count();
    tokio::select! {
        (_, shown) = async { tokio::join!(session.close(), show.rest()) } => shown?,
        () = interrupts.pressed(pressed + 1) => {}
    }
    show.progress.hide();
    let outcome = outcome?;
    show.answer.finish(&outcome, show.result.as_ref()).await?;
    let result = show.result.as_ref().and_then(|message| result_of(message));
    verdict::judge(args, &outcome, result, &stopped, &mut show.progress)
}

/// Why this program ended the turn.
#[derive(Debug, Default)]
struct Stopped {
    by_person: bool,
    by_clock: Option<Duration>,
}

/// Sends the prompt and shows what comes of it.
async fn turn(
    args: &Run,
    session: &Session,
    prompt: String,
    show: &mut Show,
    interrupts: &mut Interrupts,
) -> anyhow::Result<(Result<TurnOutcome, Error>, Stopped)> {
    let mut turn = session.prompt(prompt).await?;
    let mut stopped = Stopped::default();
    let clock = tokio::time::sleep(args.timeout.unwrap_or(Duration::MAX));
    tokio::pin!(clock);
    loop {
        tokio::select! {
            outcome = turn.outcome() => return Ok((outcome, stopped)),
            next = show.next() => show.show(next).await?,
            () = interrupts.pressed(1), if !stopped.by_person => stopped.by_person = true,
            () = &mut clock, if args.timeout.is_some() && stopped.by_clock.is_none() => {
                stopped.by_clock = args.timeout;
            }
        }
        if (stopped.by_person || stopped.by_clock.is_some()) && !show.progress.is_stopping() {
            show.progress.stopping();
            // An agent that does not answer is killed before long: the turn tells.
            let _ = turn.interrupt().await;
        }
    }
}

/// Shows what happens, on stdout and stderr.
struct Show {
    /// `None` when there are no more.
    events: Option<Events>,
    messages: Option<Messages>,
    answer: Answer,
    progress: Progress,
    /// The line that ended the turn.
    result: Option<Message>,
}

impl Show {
    /// The next thing to show. For ever, if there is none. It may be dropped while it waits.
    async fn next(&mut self) -> Next {
        tokio::select! {
            event = events(&mut self.events) => Next::Event(event),
            message = messages(&mut self.messages) => Next::Message(message.map(Box::new)),
        }
    }

    /// Shows it. It must not be dropped: half a text would be lost.
    async fn show(&mut self, next: Next) -> anyhow::Result<()> {
        match next {
            Next::Event(Some(event)) => self.event(&event).await?,
            Next::Event(None) => self.events = None,
            Next::Message(Some(message)) => self.message(*message).await?,
            Next::Message(None) => self.messages = None,
        }
        Ok(())
    }

    /// Shows all that is left.
    async fn rest(&mut self) -> anyhow::Result<()> {
        while self.events.is_some() || self.messages.is_some() {
            let next = self.next().await;
            self.show(next).await?;
        }
        Ok(())
    }

    async fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.answer.takes(event) {
            self.progress.hide();
            self.answer.event(event).await?;
        }
        self.progress.event(event, self.answer.is_inside_a_line());
        Ok(())
    }

    async fn message(&mut self, message: Message) -> anyhow::Result<()> {
        self.answer.line(&message.line).await?;
        // Others are of work in the background.
        if self.result.is_none() && result_of(&message).is_some_and(is_asked_for) {
            self.result = Some(message);
        }
        Ok(())
    }
}

/// Something to show; `None` when a stream has ended.
enum Next {
    Event(Option<Event>),
    Message(Option<Box<Message>>),
}

/// Why a stream ended is told by the turn.
async fn events(events: &mut Option<Events>) -> Option<Event> {
    match events {
        Some(events) => events.next().await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

async fn messages(messages: &mut Option<Messages>) -> Option<Message> {
    match messages {
        Some(messages) => messages.next().await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

fn result_of(message: &Message) -> Option<&TurnResult> {
    match message.known()? {
        ToHost::Result(result) => Some(result),
        _ => None,
    }
}

fn is_asked_for(result: &TurnResult) -> bool {
    result.origin.value().is_none()
}
