//! [`Conversation`]: the conversation in a terminal. One loop waits for the agent, the user and the clock; nothing in it blocks.

mod display;

use std::collections::VecDeque;
use std::io::Stdout;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::{Error, Event, Events, Session, Turn, TurnOutcome};
use duologue_protocol::RequestId;
use duologue_protocol::control::InitializeReply;
use duologue_protocol::permission::PermissionMode;
use duologue_terminal::{Foreign, Shown, block, line, ours, shown, summary};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::commands::{self, Typed};
use crate::dialog::{Dialog, Progress, Reply, Topic};
use crate::input::{Input, UserInput, Want};
use crate::menu::{Key, edit};
use crate::render::Renderer;
use crate::requests::Request;
use crate::screen::{Bottom, Screen};

pub(super) use display::size;

/// How long the agent may take to answer `/model` and `/mode`.
const SWITCH_TIMEOUT: Duration = Duration::from_secs(15);

/// How long the agent may take to exit before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

const FRAME: Duration = Duration::from_millis(100);

/// Keys that follow each other this fast are typed text.
const TYPING: Duration = Duration::from_millis(700);

/// The most events that are shown before a menu opens.
const MAX_EVENTS_BEFORE_MENU: usize = 64;

/// The most prompts that can be typed ahead.
const MAX_AHEAD: usize = 32;

/// What is read from the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Nothing,
    Line,
    Keys,
}

/// Whether the conversation continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Continue,
    Leave,
}

/// An open dialog.
struct Open {
    id: Option<RequestId>,
    dialog: Dialog,
    reply: oneshot::Sender<Reply>,
}

pub(super) struct Conversation {
    pub(super) session: Arc<Session>,
    pub(super) events: Events,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) user: UserInput,
    pub(super) screen: Screen<Stdout>,
    pub(super) renderer: Renderer,
    pub(super) handshake: Option<InitializeReply>,
    describe_error: fn(&Error) -> String,
    mode: Mode,
    turn: Option<Turn>,
    /// The end of the turn, while its text is still being printed.
    ended: Option<Result<TurnOutcome, Error>>,
    /// Pieces to print, each with whether it begins a line.
    outbox: VecDeque<(bool, Shown)>,
    /// The turn was interrupted: its further text is not printed.
    is_muted: bool,
    /// An unknown command. It is sent to the agent if the user presses Enter.
    unknown_command: Option<String>,
    began: Instant,
    dialog: Option<Open>,
    waiting: VecDeque<Request>,
    /// The line that is being typed during a turn, and the lines before it.
    typed: String,
    ahead: VecDeque<String>,
    /// The time of the last key that was typed ahead.
    last_typed: Option<Instant>,
    /// The user was typing when the menu opened: those keys are not an answer.
    was_typing: bool,
    /// How often Ctrl-C was pressed in this turn, or at the prompt.
    interrupts: u32,
    interrupting: Option<JoinHandle<Option<Error>>>,
    frame: usize,
}

impl Conversation {
    pub(super) fn new(
        session: Session,
        requests: mpsc::Receiver<Request>,
        user: UserInput,
        screen: Screen<Stdout>,
        renderer: Renderer,
        describe_error: fn(&Error) -> String,
    ) -> Self {
        let now = Instant::now();
        Self {
            events: session.events(),
            handshake: session.handshake(),
            session: Arc::new(session),
            requests,
            user,
            screen,
            renderer,
            describe_error,
            mode: Mode::Nothing,
            turn: None,
            ended: None,
            outbox: VecDeque::new(),
            is_muted: false,
            unknown_command: None,
            began: now,
            dialog: None,
            waiting: VecDeque::new(),
            typed: String::new(),
            ahead: VecDeque::new(),
            last_typed: None,
            was_typing: false,
            interrupts: 0,
            interrupting: None,
            frame: 0,
        }
    }

    /// Runs the conversation until the user leaves or the agent ends.
    pub(super) async fn run(mut self, first: Option<String>) -> anyhow::Result<()> {
        self.ahead.extend(first);
        let result = self.talk().await;
        self.leave(result).await
    }

    async fn talk(&mut self) -> anyhow::Result<()> {
        self.proceed().await?;
        let terminated = terminated();
        tokio::pin!(terminated);
        let mut clock = tokio::time::interval(FRAME);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            // Keys have priority.
            if let Ok(input) = self.user.inputs.try_recv() {
                if self.input(input).await? == Next::Leave {
                    return Ok(());
                }
                continue;
            }
            // A turn is over when all of its text is printed.
            let is_printed = self.outbox.is_empty();
            if self.ended.is_some() && is_printed {
                tokio::select! {
                    biased;
                    () = &mut terminated => return Ok(()),
                    event = self.events.next() => match event? {
                        Some(event) => self.event(&event)?,
                        None => {
                            self.over().await?;
                            return Ok(());
                        }
                    },
                    () = std::future::ready(()) => self.over().await?,
                }
                continue;
            }
            tokio::select! {
                event = self.events.next(), if is_printed => match event? {
                    Some(event) => {
                        if let Event::PermissionWithdrawn(gone) = &event
                            && let Some(open) = &self.dialog
                            && Some(&gone.request_id) == open.id.as_ref()
                        {
                            self.withdraw().await?;
                        }
                        self.event(&event)?;
                    }
                    None => return Ok(()),
                },
                () = std::future::ready(()), if !is_printed => {
                    self.print()?;
                    if self.outbox.is_empty() && !self.waiting.is_empty() {
                        self.proceed().await?;
                    }
                }
                Some(ask) = self.requests.recv(), if is_printed => self.asked(ask).await?,
                input = self.user.inputs.recv() => {
                    let input = input.unwrap_or(Input::End);
                    if self.input(input).await? == Next::Leave {
                        return Ok(());
                    }
                }
                () = withdrawn(&mut self.dialog) => self.withdraw().await?,
                over = outcome(&mut self.turn), if self.ended.is_none() => self.ended = Some(over),
                Some(error) = failed(&mut self.interrupting) => {
                    self.screen.line(&shown!("✗ {}", block(Foreign::of(&error))).red())?;
                }
                _ = clock.tick() => self.tick()?,
                () = &mut terminated => return Ok(()),
            }
        }
    }

    /// Starts the next thing, if nothing is in progress: an open request, a prompt typed ahead, or the prompt.
    async fn proceed(&mut self) -> anyhow::Result<()> {
        loop {
            if self.dialog.is_some() || self.mode == Mode::Line {
                return Ok(());
            }
            // First print the text that came before the request.
            if !self.waiting.is_empty() && !self.outbox.is_empty() {
                return Ok(());
            }
            if let Some(ask) = self.waiting.pop_front() {
                if !ask.is_withdrawn() {
                    self.open(ask)?;
                }
                continue;
            }
            if self.turn.is_some() {
                self.keys();
                return Ok(());
            }
            let Some(line) = self.ahead.pop_front() else { break };
            self.screen.line(&shown!("{} {}", ours("›").cyan().bold(), block(&line)))?;
            if self.typed_line(&line).await? == Next::Leave {
                self.ahead.clear();
                return Err(Left.into());
            }
        }
        self.screen.set_bottom(Bottom::Status, Vec::new())?;
        self.screen.set_bottom(Bottom::Prompt, Vec::new())?;
        self.mode = Mode::Line;
        self.user.want(Want::Line(std::mem::take(&mut self.typed)));
        Ok(())
    }

    fn keys(&mut self) {
        if self.mode != Mode::Keys {
            self.mode = Mode::Keys;
            self.user.want(Want::Keys);
        }
    }

    async fn asked(&mut self, ask: Request) -> anyhow::Result<()> {
        if self.mode == Mode::Line {
            let note = ours("? The agent asks something: press Enter to see it");
            self.screen.line(&note.yellow().bold())?;
        }
        // Show the text that came before.
        for _ in 0..MAX_EVENTS_BEFORE_MENU {
            tokio::select! {
                biased;
                event = self.events.next() => match event? {
                    Some(event) => self.event(&event)?,
                    None => break,
                },
                () = std::future::ready(()) => break,
            }
        }
        self.waiting.push_back(ask);
        self.proceed().await
    }

    /// Opens the menu of a request.
    fn open(&mut self, ask: Request) -> anyhow::Result<()> {
        let Request { id, topic, reply } = ask;
        let topic = match topic {
            // The plan may be only in the tool call before.
            Topic::Plan(plan) if plan.is_empty() => Topic::Plan(self.renderer.plan.clone()),
            topic => topic,
        };
        let mut dialog = Dialog::new(topic);
        self.renderer.interjected();
        let (rows, columns) = size();
        self.screen.set_bottom(Bottom::Menu, dialog.lines(rows, columns))?;
        self.dialog = Some(Open { id, dialog, reply });
        self.was_typing = self.is_typing();
        self.keys();
        Ok(())
    }

    async fn withdraw(&mut self) -> anyhow::Result<()> {
        let left = self.dialog.take().map(|open| open.dialog.left(size().1));
        self.screen.set_bottom(Bottom::Status, Vec::new())?;
        for line in left.into_iter().flatten() {
            self.screen.line(&line)?;
        }
        self.screen.line(&ours("  ✗ no longer asked").dimmed())?;
        self.proceed().await
    }

    async fn input(&mut self, input: Input) -> anyhow::Result<Next> {
        match input {
            Input::Key(key) => return self.key(key).await,
            Input::End => return Ok(Next::Leave),
            Input::Interrupted => {
                self.at_line_end()?;
                self.interrupts += 1;
                if self.interrupts > 1 {
                    return Ok(Next::Leave);
                }
                self.screen.line(&ours("press Ctrl-C again or Ctrl-D to exit").dimmed())?;
            }
            Input::Line(line) => {
                self.at_line_end()?;
                self.interrupts = 0;
                if self.waiting.is_empty() {
                    if self.typed_line(&line).await? == Next::Leave {
                        return Ok(Next::Leave);
                    }
                } else if !line.trim().is_empty() {
                    // First the request of the agent, then this line.
                    self.ahead.push_front(line);
                }
            }
        }
        self.proceed().await?;
        Ok(Next::Continue)
    }

    /// The line editor has released the terminal.
    fn at_line_end(&mut self) -> anyhow::Result<()> {
        self.mode = Mode::Nothing;
        self.screen.set_bottom(Bottom::Status, Vec::new())?;
        Ok(())
    }

    async fn key(&mut self, key: Key) -> anyhow::Result<Next> {
        match key {
            Key::Resize => self.resize()?,
            Key::Interrupt | Key::End if self.turn.is_none() => return Ok(Next::Leave),
            Key::Interrupt => return self.interrupt(),
            key => {
                self.was_typing &= self.is_typing();
                match self.dialog.take() {
                    Some(dialog) if !self.was_typing => self.in_dialog(dialog, key).await?,
                    dialog => {
                        self.dialog = dialog;
                        self.type_ahead(&key);
                    }
                }
            }
        }
        Ok(Next::Continue)
    }

    async fn in_dialog(&mut self, mut open: Open, key: Key) -> anyhow::Result<()> {
        let (rows, columns) = size();
        let left = open.dialog.left(columns);
        match open.dialog.key(key) {
            Progress::Done(answer, notes) => {
                self.screen.set_bottom(Bottom::Status, Vec::new())?;
                for note in left.into_iter().chain(notes) {
                    self.screen.line(&note)?;
                }
                // Fails if the request was withdrawn in the meantime.
                let _ = open.reply.send(answer);
                return self.proceed().await;
            }
            Progress::Next(notes) => {
                for line in left.into_iter().chain(notes) {
                    self.screen.line(&line)?;
                }
            }
            Progress::Stay => {}
        }
        self.screen.set_bottom(Bottom::Menu, open.dialog.lines(rows, columns))?;
        self.dialog = Some(open);
        Ok(())
    }

    fn is_typing(&self) -> bool {
        self.last_typed.is_some_and(|last| last.elapsed() < TYPING)
    }

    /// Keys during a turn are kept for the next prompt.
    fn type_ahead(&mut self, key: &Key) {
        self.last_typed = Some(Instant::now());
        match key {
            Key::Enter if !self.typed.trim().is_empty() && self.ahead.len() < MAX_AHEAD => {
                self.ahead.push_back(std::mem::take(&mut self.typed));
            }
            key => edit(&mut self.typed, key),
        }
    }

    fn interrupt(&mut self) -> anyhow::Result<Next> {
        self.interrupts += 1;
        if self.interrupts > 1 {
            return Ok(Next::Leave);
        }
        // Prompts that were typed ahead are edited again: they were meant to follow this turn.
        if let Some(text) = self.ahead.drain(..).reduce(|all, more| format!("{all}\n{more}")) {
            let rest =
                if self.typed.is_empty() { String::new() } else { format!("\n{}", self.typed) };
            self.typed = format!("{text}{rest}");
        }
        // Discard the text that is not printed yet.
        self.outbox.clear();
        self.is_muted = true;
        self.screen.end_line()?;
        self.renderer.interjected();
        self.renderer.doing = ours("interrupting; press Ctrl-C again to exit");
        if self.ended.is_some() {
            return Ok(Next::Continue);
        }
        let session = Arc::clone(&self.session);
        self.interrupting = Some(tokio::spawn(async move { session.interrupt().await.err() }));
        Ok(Next::Continue)
    }

    async fn over(&mut self) -> anyhow::Result<()> {
        let Some(over) = self.ended.take() else { return Ok(()) };
        self.turn = None;
        self.is_muted = false;
        match over {
            // The end was shown already, unless there was no result.
            Ok(outcome) if outcome.finished().turn.is_none() => {
                let how = line(outcome.status().as_str());
                self.screen.line(&shown!("✗ {}", how).yellow())?;
            }
            Ok(_) => {}
            Err(error) => self.screen.line(&self.failure(error)?)?,
        }
        self.interrupts = 0;
        self.proceed().await
    }

    /// Handles a line that was typed at the prompt or ahead.
    async fn typed_line(&mut self, typed: &str) -> anyhow::Result<Next> {
        let doubtful = self.unknown_command.take();
        let control = self.session.control().within(SWITCH_TIMEOUT);
        let lines = match Typed::read(typed) {
            Typed::Nothing => {
                if let Some(text) = doubtful {
                    self.send(text).await?;
                }
                return Ok(Next::Continue);
            }
            Typed::Exit => return Ok(Next::Leave),
            Typed::Prompt(text) => match commands::unknown(self.handshake.as_ref(), typed) {
                Some(unknown) => {
                    self.unknown_command = Some(text);
                    vec![
                        unknown.yellow(),
                        ours("Press Enter to send it to the agent anyway, or type something else.")
                            .dimmed(),
                    ]
                }
                None => {
                    self.send(text).await?;
                    return Ok(Next::Continue);
                }
            },
            Typed::Help => commands::help(self.handshake.as_ref()),
            Typed::Cost => vec![self.bill()],
            Typed::Model(None) => {
                commands::models(self.handshake.as_ref(), self.renderer.model.as_deref())
            }
            Typed::Model(Some(name)) => {
                let model = commands::model(self.handshake.as_ref(), &name);
                match control.set_model(model.as_str()).await {
                    Ok(_) => {
                        self.renderer.model = Some(model.clone());
                        vec![shown!("model {}", line(&model)).dimmed()]
                    }
                    Err(error) => vec![self.failure(error)?],
                }
            }
            Typed::Mode(None) => commands::modes(self.renderer.mode.as_ref()),
            Typed::Mode(Some(name)) => {
                let mode = PermissionMode::from(name.as_str());
                match control.set_permission_mode(mode.clone()).await {
                    Ok(_) => {
                        self.renderer.mode = Some(mode);
                        vec![shown!("mode {}", line(&name)).dimmed()]
                    }
                    Err(error) => vec![self.failure(error)?],
                }
            }
        };
        for line in lines {
            self.screen.line(&line)?;
        }
        Ok(Next::Continue)
    }

    async fn send(&mut self, text: String) -> anyhow::Result<()> {
        self.renderer.prompted();
        match self.session.prompt(text).await {
            Ok(turn) => {
                self.turn = Some(turn);
                (self.began, self.interrupts) = (Instant::now(), 0);
            }
            Err(error) => self.screen.line(&self.failure(error)?)?,
        }
        Ok(())
    }

    fn bill(&self) -> Shown {
        shown!("this conversation: {}", summary::dollars(self.renderer.spent)).dimmed()
    }

    /// Ends the session. No process is left.
    async fn leave(mut self, result: anyhow::Result<()>) -> anyhow::Result<()> {
        if let Some(interrupting) = self.interrupting.take() {
            interrupting.abort();
            let _ = interrupting.await;
        }
        let result = match result {
            Err(error) if error.is::<Left>() => Ok(()),
            other => other,
        };
        let bill = self.bill();
        // An open menu stays unanswered.
        self.dialog = None;
        self.screen.set_bottom(Bottom::Status, Vec::new())?;
        let gone = result.is_err();
        if gone && self.mode == Mode::Line {
            self.screen.line(&Shown::default())?;
        }
        if !gone {
            if self.mode == Mode::Nothing {
                self.keys();
            }
            let wait = ours("exiting; press Ctrl-C to exit at once").dimmed();
            self.screen.set_bottom(Bottom::Status, vec![wait])?;
            let busy = self.turn.take().is_some();
            if let Some(session) = Arc::into_inner(self.session) {
                let close = async move {
                    if busy && session.interrupt().await.is_err() {
                        return;
                    }
                    let _ = session.close().await;
                };
                // Dropping the session kills the agent.
                tokio::select! {
                    () = close => {}
                    () = tokio::time::sleep(EXIT_TIMEOUT) => {}
                    () = until_interrupted(&mut self.user.inputs) => {}
                }
            }
            self.screen.set_bottom(Bottom::Status, Vec::new())?;
        }
        self.user.stop(self.mode == Mode::Line);
        if self.renderer.spent > 0.0 {
            self.screen.line(&bill)?;
        }
        result
    }

    /// The line that reports an error.
    ///
    /// # Errors
    /// The error itself if it ends the conversation.
    fn failure(&self, error: Error) -> anyhow::Result<Shown> {
        if error.is_fatal() {
            return Err(error.into());
        }
        Ok(shown!("✗ {}", block((self.describe_error)(&error))).red())
    }
}

/// The user left with a line that was typed ahead.
#[derive(Debug)]
struct Left;

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the user has left")
    }
}

impl std::error::Error for Left {}

/// Waits for SIGTERM or SIGHUP.
async fn terminated() {
    let (Ok(mut end), Ok(mut closed)) =
        (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = end.recv() => {}
        _ = closed.recv() => {}
    }
}

async fn until_interrupted(inputs: &mut mpsc::Receiver<Input>) {
    while let Some(input) = inputs.recv().await {
        if matches!(input, Input::Key(Key::Interrupt) | Input::End) {
            return;
        }
    }
    std::future::pending().await
}

async fn withdrawn(dialog: &mut Option<Open>) {
    match dialog {
        Some(open) => open.reply.closed().await,
        None => std::future::pending().await,
    }
}

async fn outcome(turn: &mut Option<Turn>) -> Result<TurnOutcome, Error> {
    match turn {
        Some(turn) => turn.outcome().await,
        None => std::future::pending().await,
    }
}

async fn failed(task: &mut Option<JoinHandle<Option<Error>>>) -> Option<Error> {
    let ended = match task {
        Some(task) => task.await,
        None => std::future::pending().await,
    };
    *task = None;
    ended.ok().flatten()
}
