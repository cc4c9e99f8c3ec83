//! [`Talk`]: the conversation in a terminal. The agent, the person and the clock are listened to at
//! once; nothing here blocks.

mod leave;
mod typed;
mod waits;

use std::collections::VecDeque;
use std::io::Stdout;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::{Error, Event, Events, Session, Turn, TurnOutcome};
use duologue_protocol::RequestId;
use duologue_protocol::control::InitializeReply;
use owo_colors::OwoColorize as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::asks::Ask;
use super::dialog::{Dialog, Progress, Reply, Topic};
use super::input::{Input, Person, Want};
use super::menu::{Key, edit, tail};
use super::render::{Piece, Renderer, dim};
use super::terminal::{Bottom, Terminal};
use leave::dismissed;
use waits::{failed, outcome, withdrawn};

use crate::visible::visible;
use crate::words;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: Duration = Duration::from_millis(100);

/// Keys that follow each other this fast belong together: somebody is typing.
const TYPING: Duration = Duration::from_millis(700);

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
            tokio::select! {
                event = self.events.next() => match event? {
                    Some(event) => {
                        if let Event::PermissionWithdrawn(gone) = &event
                            && let Some(open) = &self.dialog
                            && gone.request_id.value() == Some(&open.id)
                        {
                            self.withdraw().await?;
                        }
                        self.event(&event)?;
                    }
                    None => return Ok(()),
                },
                Some(ask) = self.asks.recv() => self.asked(ask).await?,
                input = self.person.inputs.recv() => {
                    let input = input.unwrap_or(Input::End);
                    if self.input(input).await? == Next::Leave {
                        return Ok(());
                    }
                }
                () = withdrawn(&mut self.dialog) => self.withdraw().await?,
                over = outcome(&mut self.turn) => self.over(over).await?,
                Some(error) = failed(&mut self.interrupting) => {
                    self.terminal.line(&format!("✗ {error}").red().to_string())?;
                }
                _ = clock.tick() => self.tick()?,
                () = &mut dismissed => return Ok(()),
            }
        }
    }

    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if self.turn.is_none() && matches!(event, Event::TurnStarted(_)) {
            self.terminal.line(&dim("· the agent goes on by itself"))?;
        }
        // Above the prompt only whole texts can be shown.
        self.renderer.streaming = self.mode != Mode::Line;
        self.renderer.columns = columns();
        for piece in self.renderer.event(event) {
            match piece {
                Piece::Text(text) => self.terminal.text(&text)?,
                Piece::Line(line) => self.terminal.line(&line)?,
            }
        }
        Ok(())
    }

    /// Does what is to be done next, if nothing else is going on.
    async fn proceed(&mut self) -> anyhow::Result<()> {
        loop {
            if self.dialog.is_some() || self.mode == Mode::Line {
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
            self.terminal.line(&format!("{} {}", "›".cyan().bold(), visible(&line)))?;
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
            let note =
                "? The agent asks something: press Enter to see it".yellow().bold().to_string();
            self.terminal.line(&note)?;
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
        let (dialog, head) = Dialog::new(topic);
        self.renderer.interjected();
        for line in head {
            self.terminal.line(&line)?;
        }
        self.terminal.set_bottom(Bottom::Menu, dialog.lines(columns()))?;
        self.dialog = Some(Open { id, dialog, reply });
        self.was_typing = self.is_typing();
        self.keys();
        Ok(())
    }

    async fn withdraw(&mut self) -> anyhow::Result<()> {
        self.dialog = None;
        self.terminal.set_bottom(Bottom::Status, Vec::new())?;
        self.terminal.line(&dim("  ✗ no longer asked"))?;
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
                self.terminal.line(&dim("Ctrl-C again leaves, so does Ctrl-D"))?;
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
        match open.dialog.key(key) {
            Progress::Done(answer, notes) => {
                self.terminal.set_bottom(Bottom::Status, Vec::new())?;
                for note in notes {
                    self.terminal.line(&note)?;
                }
                // If it was withdrawn meanwhile, nobody hears it.
                let _ = open.reply.send(answer);
                return self.proceed().await;
            }
            Progress::Next(lines) => {
                for line in lines {
                    self.terminal.line(&line)?;
                }
            }
            Progress::Stay => {}
        }
        self.terminal.set_bottom(Bottom::Menu, open.dialog.lines(columns()))?;
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
        "interrupting, Ctrl-C again leaves".clone_into(&mut self.renderer.doing);
        let session = Arc::clone(&self.session);
        self.interrupting = Some(tokio::spawn(async move { session.interrupt().await.err() }));
        Ok(Next::GoOn)
    }

    async fn over(&mut self, over: Result<TurnOutcome, Error>) -> anyhow::Result<()> {
        // What it said may still wait to be shown.
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => match event? {
                    Some(event) => self.event(&event)?,
                    None => break,
                },
                () = std::future::ready(()) => break,
            }
        }
        self.turn = None;
        match over {
            // Its end was shown, unless it ended without one.
            Ok(outcome) if outcome.finished().turn.value().is_none() => {
                let how = outcome.outcome();
                self.terminal.line(&format!("✗ {}", how.as_str()).yellow().to_string())?;
            }
            Ok(_) => {}
            Err(error) => self.terminal.line(&complaint(error)?)?,
        }
        self.interrupts = 0;
        self.proceed().await
    }

    fn tick(&mut self) -> anyhow::Result<()> {
        self.resize()?;
        if self.mode == Mode::Line {
            self.terminal.release()?;
        } else if self.dialog.is_none() && self.turn.is_some() {
            self.frame = (self.frame + 1) % FRAMES.len();
            let lines = self.status();
            self.terminal.set_bottom(Bottom::Status, lines)?;
        }
        Ok(())
    }

    fn resize(&mut self) -> anyhow::Result<()> {
        if self.terminal.resize(columns())?
            && let Some(open) = &self.dialog
        {
            self.terminal.set_bottom(Bottom::Menu, open.dialog.lines(columns()))?;
        }
        Ok(())
    }

    /// The spinner, and what was typed ahead.
    fn status(&self) -> Vec<String> {
        let frame = FRAMES.get(self.frame).copied().unwrap_or_default();
        let mut line = format!("{} {}", frame.cyan(), words::span(millis(self.began.elapsed())));
        let tokens = self.renderer.tokens();
        if tokens > 0 {
            line.push_str(&format!(" · ~{} tokens", words::count(tokens)));
        }
        if !self.renderer.doing.is_empty() {
            line.push_str(&format!(" · {}", visible(&self.renderer.doing)));
        }
        let room = columns().saturating_sub(5);
        let mut lines = vec![dim_tail(&line)];
        lines.extend(
            self.ahead.iter().map(|text| dim(&format!("› {}", tail(&visible(text), room)))),
        );
        if !self.typed.is_empty() {
            lines.push(format!("{} {}▏", "›".dimmed(), tail(&visible(&self.typed), room)));
        }
        lines
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
fn complaint(error: Error) -> anyhow::Result<String> {
    if error.is_fatal() {
        return Err(error.into());
    }
    Ok(format!("✗ {}", visible(&error.to_string())).red().to_string())
}

/// Dim behind its first word, which has a colour.
fn dim_tail(line: &str) -> String {
    match line.split_once(' ') {
        Some((first, rest)) => format!("{first} {}", rest.dimmed()),
        None => line.to_owned(),
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn columns() -> usize {
    console::Term::stdout().size_checked().map_or(80, |(_, columns)| usize::from(columns)).max(2)
}
