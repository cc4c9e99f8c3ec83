//! [`Talk`]: the conversation in a terminal. The agent, the person and the clock are listened to at
//! once; nothing here blocks.

mod leave;
mod screen;
mod typed;
mod waits;

use std::collections::VecDeque;
use std::io::Stdout;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::{Error, Event, Events, Session, Turn, TurnOutcome};
use duologue_protocol::RequestId;
use duologue_protocol::control::InitializeReply;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::asks::Ask;
use super::dialog::{Dialog, Progress, Reply, Topic};
use super::input::{Input, Person, Want};
use super::menu::{Key, edit};
use super::render::Renderer;
use super::terminal::{Bottom, Terminal};
use leave::dismissed;
pub(super) use screen::size;
use waits::{failed, outcome, withdrawn};

use crate::errors;
use crate::visible::{Foreign, Shown, block, line, ours, shown};

const FRAME: Duration = Duration::from_millis(100);

/// Keys that follow each other this fast belong together: somebody is typing.
const TYPING: Duration = Duration::from_millis(700);

/// How many events are looked at before a menu is opened.
const MOST_BEFORE: usize = 64;

/// How many prompts may be typed ahead.
const MOST_AHEAD: usize = 32;

/// What the person is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Nothing,
    Line,
    Keys,
}

/// Whether the conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
}

/// A dialog that is shown.
struct Open {
    id: RequestId,
    dialog: Dialog,
    reply: oneshot::Sender<Reply>,
}

pub(super) struct Talk {
    pub(super) session: Arc<Session>,
    pub(super) events: Events,
    pub(super) asks: mpsc::Receiver<Ask>,
    pub(super) person: Person,
    pub(super) terminal: Terminal<Stdout>,
    pub(super) renderer: Renderer,
    pub(super) handshake: Option<InitializeReply>,
    mode: Mode,
    turn: Option<Turn>,
    /// How the turn ended, while what it said is still being printed.
    ended: Option<Result<TurnOutcome, Error>>,
    /// What waits to be printed, a little each, and whether it begins a line.
    outbox: VecDeque<(bool, Shown)>,
    /// The person has interrupted the turn: what it still says is not printed.
    is_muted: bool,
    /// What looks like a command, and is sent to the agent only if the person insists.
    doubtful: Option<String>,
    began: Instant,
    dialog: Option<Open>,
    waiting: VecDeque<Ask>,
    /// What was typed during a turn, and what of it was sent off.
    typed: String,
    ahead: VecDeque<String>,
    /// When the last key was typed ahead.
    last_typed: Option<Instant>,
    /// Somebody was typing when the menu came: those keys are no answer to it.
    was_typing: bool,
    /// How often Ctrl-C was pressed in this turn, or at the prompt.
    interrupts: u32,
    interrupting: Option<JoinHandle<Option<Error>>>,
    frame: usize,
}

impl Talk {
    pub(super) fn new(
        session: Session,
        asks: mpsc::Receiver<Ask>,
        person: Person,
        terminal: Terminal<Stdout>,
        renderer: Renderer,
    ) -> Self {
        let now = Instant::now();
        Self {
            events: session.events(),
            handshake: session.handshake(),
            session: Arc::new(session),
            asks,
            person,
            terminal,
            renderer,
            mode: Mode::Nothing,
            turn: None,
            ended: None,
            outbox: VecDeque::new(),
            is_muted: false,
            doubtful: None,
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

    /// Talks until one of the two has enough.
    pub(super) async fn hold(mut self, first: Option<String>) -> anyhow::Result<()> {
        self.ahead.extend(first);
        let result = self.talk().await;
        self.leave(result).await
    }

    async fn talk(&mut self) -> anyhow::Result<()> {
        self.proceed().await?;
        let dismissed = dismissed();
        tokio::pin!(dismissed);
        let mut clock = tokio::time::interval(FRAME);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            // Keys come first, whatever else waits.
            if let Ok(input) = self.person.inputs.try_recv() {
                if self.input(input).await? == Next::Leave {
                    return Ok(());
                }
                continue;
            }
            // A turn that has ended is over when all that it said is printed.
            let is_printed = self.outbox.is_empty();
            if self.ended.is_some() && is_printed {
                tokio::select! {
                    biased;
                    () = &mut dismissed => return Ok(()),
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
                            && gone.request_id == open.id
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
                Some(ask) = self.asks.recv(), if is_printed => self.asked(ask).await?,
                input = self.person.inputs.recv() => {
                    let input = input.unwrap_or(Input::End);
                    if self.input(input).await? == Next::Leave {
                        return Ok(());
                    }
                }
                () = withdrawn(&mut self.dialog) => self.withdraw().await?,
                over = outcome(&mut self.turn), if self.ended.is_none() => self.ended = Some(over),
                Some(error) = failed(&mut self.interrupting) => {
                    self.terminal.line(&shown!("✗ {}", block(Foreign::of(&error))).red())?;
                }
                _ = clock.tick() => self.tick()?,
                () = &mut dismissed => return Ok(()),
            }
        }
    }

    /// Does what is to be done next, if nothing else is going on.
    async fn proceed(&mut self) -> anyhow::Result<()> {
        loop {
            if self.dialog.is_some() || self.mode == Mode::Line {
                return Ok(());
            }
            // First what the agent said before it asked.
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
            self.terminal.line(&shown!("{} {}", ours("›").cyan().bold(), block(&line)))?;
            if self.typed_line(&line).await? == Next::Leave {
                self.ahead.clear();
                return Err(Left.into());
            }
        }
        self.terminal.set_bottom(Bottom::Status, Vec::new())?;
        self.terminal.set_bottom(Bottom::Prompt, Vec::new())?;
        self.mode = Mode::Line;
        self.person.want(Want::Line(std::mem::take(&mut self.typed)));
        Ok(())
    }

    fn keys(&mut self) {
        if self.mode != Mode::Keys {
            self.mode = Mode::Keys;
            self.person.want(Want::Keys);
        }
    }

    async fn asked(&mut self, ask: Ask) -> anyhow::Result<()> {
        if self.mode == Mode::Line {
            let note = ours("? The agent asks something: press Enter to see it");
            self.terminal.line(&note.yellow().bold())?;
        }
        // What it said before may be on its way still.
        for _ in 0..MOST_BEFORE {
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

    /// Shows what is asked, and a menu.
    fn open(&mut self, ask: Ask) -> anyhow::Result<()> {
        let Ask { id, topic, reply } = ask;
        let topic = match topic {
            // The plan may stand only in the call that came before.
            Topic::Plan(plan) if plan.is_empty() => Topic::Plan(self.renderer.plan.clone()),
            topic => topic,
        };
        let mut dialog = Dialog::new(topic);
        self.renderer.interjected();
        let (rows, columns) = size();
        self.terminal.set_bottom(Bottom::Menu, dialog.lines(rows, columns))?;
        self.dialog = Some(Open { id, dialog, reply });
        self.was_typing = self.is_typing();
        self.keys();
        Ok(())
    }

    async fn withdraw(&mut self) -> anyhow::Result<()> {
        let left = self.dialog.take().map(|open| open.dialog.left(size().1));
        self.terminal.set_bottom(Bottom::Status, Vec::new())?;
        for line in left.into_iter().flatten() {
            self.terminal.line(&line)?;
        }
        self.terminal.line(&ours("  ✗ no longer asked").dimmed())?;
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
                self.terminal.line(&ours("Ctrl-C again leaves, so does Ctrl-D").dimmed())?;
            }
            Input::Line(line) => {
                self.at_line_end()?;
                self.interrupts = 0;
                if self.waiting.is_empty() {
                    if self.typed_line(&line).await? == Next::Leave {
                        return Ok(Next::Leave);
                    }
                } else if !line.trim().is_empty() {
                    // First what the agent asks, then this.
                    self.ahead.push_front(line);
                }
            }
        }
        self.proceed().await?;
        Ok(Next::GoOn)
    }

    /// The line editor has given the terminal back.
    fn at_line_end(&mut self) -> anyhow::Result<()> {
        self.mode = Mode::Nothing;
        self.terminal.set_bottom(Bottom::Status, Vec::new())?;
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
        Ok(Next::GoOn)
    }

    async fn in_dialog(&mut self, mut open: Open, key: Key) -> anyhow::Result<()> {
        let (rows, columns) = size();
        let left = open.dialog.left(columns);
        match open.dialog.key(key) {
            Progress::Done(answer, notes) => {
                self.terminal.set_bottom(Bottom::Status, Vec::new())?;
                for note in left.into_iter().chain(notes) {
                    self.terminal.line(&note)?;
                }
                // If it was withdrawn meanwhile, nobody hears it.
                let _ = open.reply.send(answer);
                return self.proceed().await;
            }
            Progress::Next(notes) => {
                for line in left.into_iter().chain(notes) {
                    self.terminal.line(&line)?;
                }
            }
            Progress::Stay => {}
        }
        self.terminal.set_bottom(Bottom::Menu, open.dialog.lines(rows, columns))?;
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
            Key::Enter if !self.typed.trim().is_empty() && self.ahead.len() < MOST_AHEAD => {
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
        // What was to come after it was meant for another course of things.
        if let Some(text) = self.ahead.drain(..).reduce(|all, more| format!("{all}\n{more}")) {
            let rest =
                if self.typed.is_empty() { String::new() } else { format!("\n{}", self.typed) };
            self.typed = format!("{text}{rest}");
        }
        // What is printed so far is enough.
        self.outbox.clear();
        self.is_muted = true;
        self.terminal.end_line()?;
        self.renderer.interjected();
        self.renderer.doing = ours("interrupting, Ctrl-C again leaves");
        if self.ended.is_some() {
            return Ok(Next::GoOn);
        }
        let session = Arc::clone(&self.session);
        self.interrupting = Some(tokio::spawn(async move { session.interrupt().await.err() }));
        Ok(Next::GoOn)
    }

    async fn over(&mut self) -> anyhow::Result<()> {
        let Some(over) = self.ended.take() else { return Ok(()) };
        self.turn = None;
        self.is_muted = false;
        match over {
            // Its end was shown, unless it ended without one.
            Ok(outcome) if outcome.finished().turn.is_none() => {
                let how = line(outcome.status().as_str());
                self.terminal.line(&shown!("✗ {}", how).yellow())?;
            }
            Ok(_) => {}
            Err(error) => self.terminal.line(&complaint(error)?)?,
        }
        self.interrupts = 0;
        self.proceed().await
    }
}

/// The person has left by a line that was typed ahead.
#[derive(Debug)]
struct Left;

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the person has left")
    }
}

impl std::error::Error for Left {}

/// What went wrong, as a line; an error if the conversation cannot go on.
fn complaint(error: Error) -> anyhow::Result<Shown> {
    if error.is_fatal() {
        return Err(error.into());
    }
    Ok(shown!("✗ {}", block(errors::spelled(&error))).red())
}
