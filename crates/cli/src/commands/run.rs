//! `duologue run`.

mod answer;
mod progress;
mod prompt;
mod verdict;

use duologue::handlers::{Decision, QuestionAnswer};
use duologue::{Error, Event, Events, Message, Messages, Session, SessionBuilder, TurnOutcome};
use duologue_protocol::ToHost;
use duologue_protocol::lines::TurnResult;
use duologue_terminal::ours;

use crate::args::{Output, Run};
use crate::exit;
use crate::limit::{Limit, TimedOut};
use crate::runtime::{self, Interrupts};
use crate::session_args;

use answer::Answer;
use progress::Progress;

pub(crate) fn run(args: &Run) -> anyhow::Result<u8> {
    let limit = Limit::new(args.timeout);
    let prompt = prompt::read(args, &limit)?;
    let builder = set_up(args)?;
    runtime::block_on(async {
        let interrupts = Interrupts::new();
        let mut twice = interrupts.clone();
        tokio::select! {
            code = session_and_turn(args, builder, prompt, interrupts, limit) => code,
            () = limit.long_over() => Err(limit.error(NOT_ENDED).into()),
            // Dropping the session kills the agent and everything it has started.
            () = twice.pressed(2) => Ok(exit::INTERRUPTED),
        }
    })
}

const NOT_STARTED: &str = "the agent did not start in time, and was killed";
const NOT_ENDED: &str = "the turn did not end in time, and the agent was killed";
const NOT_EXITED: &str = "the turn has ended, but the agent did not exit, and was killed";

/// The session for this command line.
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

async fn session_and_turn(
    args: &Run,
    builder: SessionBuilder,
    prompt: String,
    mut interrupts: Interrupts,
    limit: Limit,
) -> anyhow::Result<u8> {
    let mut progress = Progress::new(args.quiet);
    progress.busy(&ours("starting the agent"));
    let session = tokio::select! {
        session = limit.within(NOT_STARTED, builder.start()) => session,
        () = interrupts.pressed(1) => return Ok(exit::INTERRUPTED),
    };
    if session.is_err() {
        progress.hide();
    }
    let session = session??;
    for notice in session.notices() {
        progress.note(notice);
    }
    let mut show = Show {
        events: Some(session.events()),
        messages: Some(session.messages()),
        answer: Answer::new(args, interrupts.clone()),
        progress,
        result: None,
    };
    show.progress.busy(&ours("waiting for the model"));
    let turn = turn(&session, prompt, &mut show, &mut interrupts, limit).await;
    if turn.is_err() {
        show.progress.hide();
    }
    let (outcome, stopped) = turn?;

    // Read the rest: lines after the result, and turns of background work.
    let pressed = interrupts.count();
    let mut late: Option<TimedOut> = None;
    tokio::select! {
        (_, shown) = async { tokio::join!(session.close(), show.rest()) } => shown?,
        () = interrupts.pressed(pressed + 1) => {}
        // Dropping the session kills the agent.
        () = limit.over() => late = Some(limit.error(NOT_EXITED)),
    }
    show.progress.hide();
    let outcome = outcome?;
    show.answer.finish(&outcome, show.result.as_ref()).await?;
    let result = show.result.as_ref().and_then(|message| result_of(message));
    let code = verdict::judge(args, &outcome, result, &stopped, &mut show.progress)?;
    match late {
        // The outcome of the turn was reported already.
        Some(late) if code == exit::OK => {
            show.progress.error(late.to_string());
            Ok(exit::FAILED)
        }
        _ => Ok(code),
    }
}

/// Why this program ended the turn.
#[derive(Debug, Default)]
struct Stopped {
    by_user: bool,
    by_timeout: Option<TimedOut>,
}

/// Sends the prompt and shows the turn.
async fn turn(
    session: &Session,
    prompt: String,
    show: &mut Show,
    interrupts: &mut Interrupts,
    limit: Limit,
) -> anyhow::Result<(Result<TurnOutcome, Error>, Stopped)> {
    let mut turn = limit.within(NOT_ENDED, session.prompt(prompt)).await??;
    let mut stopped = Stopped::default();
    let interrupt = session.interrupt();
    tokio::pin!(interrupt);
    let mut interrupted = false;
    loop {
        let stop = stopped.by_user || stopped.by_timeout.is_some();
        if stop && !show.progress.is_stopping() {
            show.progress.stopping();
        }
        tokio::select! {
            outcome = turn.outcome() => return Ok((outcome, stopped)),
            next = show.next() => show.show(next).await?,
            () = interrupts.pressed(1), if !stopped.by_user => stopped.by_user = true,
            () = limit.nearly_over(), if stopped.by_timeout.is_none() => {
                stopped.by_timeout = Some(limit.error("the turn took longer, and was interrupted"));
            }
            () = limit.over() => return Err(limit.error(NOT_ENDED).into()),
            // An agent that does not answer is killed, which ends the turn.
            _ = &mut interrupt, if stop && !interrupted => interrupted = true,
        }
    }
}

/// Shows the turn on stdout and stderr.
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
    /// The next thing to show. Pending forever if there is none. Cancel safe.
    async fn next(&mut self) -> Next {
        tokio::select! {
            event = events(&mut self.events) => Next::Event(event),
            message = messages(&mut self.messages) => Next::Message(message.map(Box::new)),
        }
    }

    /// Shows it. Not cancel safe: a part of a text would be lost.
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
        // Later results belong to background work.
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

/// The next event; the turn reports why a stream ended.
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
