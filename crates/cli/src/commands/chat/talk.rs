//! [`Talk`]: the conversation in a terminal. The agent, the person and the clock are listened to at
//! once; nothing here blocks.

use std::collections::VecDeque;
use std::io::Stdout;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duologue::{Error, Event, Events, Session, Turn, TurnOutcome};
use duologue_protocol::RequestId;
use duologue_protocol::control::InitializeReply;
use duologue_protocol::permission::PermissionMode;
use owo_colors::OwoColorize as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::asks::Ask;
use super::dialog::{Dialog, Progress, Reply, Topic};
use super::input::{Input, Person, Want};
use super::local::{self, Typed};
use super::menu::{Key, edit, tail};
use super::render::{Piece, Renderer, dim};
use super::terminal::{Bottom, Terminal};
use crate::visible::visible;
use crate::words;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: Duration = Duration::from_millis(100);

/// How long the agent may take to leave before it is made to.
const FAREWELL: Duration = Duration::from_secs(10);

/// How long the agent may take to answer `/model` and `/mode`.
const SWITCH: Duration = Duration::from_secs(15);

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
    last_key: Instant,
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
            last_key: now,
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
        self.was_typing = !self.typed.is_empty() || self.last_key.elapsed() < TYPING;
        self.last_key = Instant::now();
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
        let pause = self.last_key.elapsed();
        self.last_key = Instant::now();
        match key {
            Key::Resize => self.resize()?,
            Key::Interrupt | Key::End if self.turn.is_none() => return Ok(Next::Leave),
            Key::Interrupt => return self.interrupt(),
            key => {
                self.was_typing &= pause < TYPING;
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

    /// Keys during a turn are kept for the next prompt.
    fn type_ahead(&mut self, key: &Key) {
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

    /// A line that was typed, at the prompt or ahead.
    async fn typed_line(&mut self, line: &str) -> anyhow::Result<Next> {
        let control = self.session.control().within(SWITCH);
        let lines = match Typed::read(line) {
            Typed::Nothing => return Ok(Next::GoOn),
            Typed::Exit => return Ok(Next::Leave),
            Typed::Prompt(text) => {
                self.send(text).await?;
                return Ok(Next::GoOn);
            }
            Typed::Help => local::help(self.handshake.as_ref()),
            Typed::Cost => vec![self.bill()],
            Typed::Model(None) => {
                local::models(self.handshake.as_ref(), self.renderer.model.as_deref())
            }
            Typed::Model(Some(name)) => {
                let model = local::model(self.handshake.as_ref(), &name);
                match control.set_model(model.as_str()).await {
                    Ok(_) => {
                        self.renderer.model = Some(model.clone());
                        vec![dim(&format!("model {}", visible(&model)))]
                    }
                    Err(error) => vec![complaint(error)?],
                }
            }
            Typed::Mode(None) => local::modes(self.renderer.mode.as_ref()),
            Typed::Mode(Some(name)) => {
                let mode = PermissionMode::from(name.as_str());
                match control.set_permission_mode(mode.clone()).await {
                    Ok(_) => {
                        self.renderer.mode = Some(mode);
                        vec![dim(&format!("mode {}", visible(&name)))]
                    }
                    Err(error) => vec![complaint(error)?],
                }
            }
        };
        for line in lines {
            self.terminal.line(&line)?;
        }
        Ok(Next::GoOn)
    }

    async fn send(&mut self, text: String) -> anyhow::Result<()> {
        self.renderer.prompted();
        match self.session.prompt(text).await {
            Ok(turn) => {
                self.turn = Some(turn);
                (self.began, self.interrupts) = (Instant::now(), 0);
            }
            Err(error) => self.terminal.line(&complaint(error)?)?,
        }
        Ok(())
    }

    async fn over(&mut self, over: Result<TurnOutcome, Error>) -> anyhow::Result<()> {
        self.turn = None;
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

    fn bill(&self) -> String {
        dim(&format!("this conversation: {}", words::dollars(self.renderer.spent)))
    }

    /// Takes leave: no process stays.
    async fn leave(mut self, result: anyhow::Result<()>) -> anyhow::Result<()> {
        if let Some(interrupting) = self.interrupting.take() {
            interrupting.abort();
            let _ = interrupting.await;
        }
        let result = match result {
            Err(error) if error.is::<Left>() => Ok(()),
            other => other,
        };
        // An open menu is answered by nobody.
        self.dialog = None;
        self.terminal.set_bottom(Bottom::Status, Vec::new())?;
        let gone = result.is_err();
        if gone && self.mode == Mode::Line {
            self.terminal.line("")?;
        }
        if !gone {
            if self.mode == Mode::Nothing {
                self.keys();
            }
            let wait = dim("leaving, Ctrl-C leaves at once");
            self.terminal.set_bottom(Bottom::Status, vec![wait])?;
            let busy = self.turn.take().is_some();
            if let Some(session) = Arc::into_inner(self.session) {
                let close = async move {
                    if busy && session.interrupt().await.is_err() {
                        return;
                    }
                    let _ = session.close().await;
                };
                // Whatever is dropped here is killed.
                tokio::select! {
                    () = close => {}
                    () = tokio::time::sleep(FAREWELL) => {}
                    () = until_interrupted(&mut self.person.inputs) => {}
                }
            }
            self.terminal.set_bottom(Bottom::Status, Vec::new())?;
        }
        if self.mode != Mode::Line {
            self.person.dismiss();
        }
        if self.renderer.spent > 0.0 {
            let bill = format!("this conversation: {}", words::dollars(self.renderer.spent));
            self.terminal.line(&dim(&bill))?;
        }
        result
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

/// Waits until somebody wants this program to end: the system, or a window that is closed.
#[cfg(unix)]
async fn dismissed() {
    use tokio::signal::unix::{SignalKind, signal};
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

#[cfg(not(unix))]
async fn dismissed() {
    std::future::pending().await
}

async fn until_interrupted(inputs: &mut mpsc::Receiver<Input>) {
    while let Some(input) = inputs.recv().await {
        if matches!(input, Input::Key(Key::Interrupt) | Input::End) {
            return;
        }
    }
    std::future::pending().await
}
