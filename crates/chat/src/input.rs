//! Input of the user: a thread that edits lines or reads keys, on demand. Both block.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use duologue_terminal::print;
use etcetera::BaseStrategy as _;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter as _};
use tokio::sync::mpsc;

use crate::complete::LineHelper;
use crate::menu::{Key, edit};

const PROMPT: &str = "› ";

/// How long to wait for a key before checking for a new demand.
const KEY_TIMEOUT: Duration = Duration::from_millis(30);

/// The most queued keys, and the most queued texts above the prompt.
const MAX_QUEUED: usize = 256;

/// The most lines of the history.
const HISTORY: usize = 2000;

/// What to read.
#[derive(Debug)]
pub(super) enum Want {
    /// A line with this initial text.
    Line(String),
    /// Keys, until the next demand.
    Keys,
}

/// What was read.
#[derive(Debug)]
pub(super) enum Input {
    Line(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// Ctrl-D at the prompt, or the terminal was closed.
    End,
    Key(Key),
}

pub(super) struct UserInput {
    pub(super) inputs: mpsc::Receiver<Input>,
    wants: Option<SyncSender<Want>>,
    thread: Option<JoinHandle<()>>,
    settings: Settings,
}

/// The original settings of the terminal, restored on drop. Until then, keys are neither echoed nor turned into lines or
/// signals, also between two lines or menus, so that no key is lost.
struct Settings(Option<rustix::termios::Termios>);

impl Settings {
    fn read() -> Self {
        Self(rustix::termios::tcgetattr(rustix::stdio::stdin()).ok())
    }

    fn set_raw(&self) {
        use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex};
        if let Some(mut settings) = self.0.clone() {
            settings.local_modes -=
                LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
            settings.input_modes -= InputModes::ICRNL | InputModes::IXON;
            settings.special_codes[SpecialCodeIndex::VMIN] = 1;
            settings.special_codes[SpecialCodeIndex::VTIME] = 0;
            Self::set(&settings);
        }
    }

    fn restore(&self) {
        if let Some(settings) = &self.0 {
            Self::set(settings);
        }
    }

    fn set(settings: &rustix::termios::Termios) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // If the terminal was closed, reading from it fails too.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, settings);
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        self.restore();
    }
}

impl UserInput {
    /// Starts the thread. Texts sent to the returned sender are printed above the prompt.
    pub(super) fn start(typing: LineHelper) -> anyhow::Result<(Self, SyncSender<String>)> {
        let settings = Settings::read();
        settings.set_raw();
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .auto_add_history(false)
            .max_history_size(HISTORY)?
            .bracketed_paste(true)
            .build();
        let mut editor: Editor<LineHelper, FileHistory> = Editor::with_config(config)?;
        editor.set_helper(Some(typing));
        let history = history_file();
        if let Some(path) = &history {
            // There may be no history yet.
            let _ = editor.load_history(path);
        }
        let (above, texts) = sync_channel::<String>(MAX_QUEUED);
        let mut printer = editor.create_external_printer()?;
        // Printing blocks between two lines.
        thread::spawn(move || {
            while let Ok(text) = texts.recv() {
                if printer.print(text).is_err() {
                    return;
                }
            }
        });
        let (wants, wanted) = sync_channel(4);
        let (inputs, received) = mpsc::channel(MAX_QUEUED);
        let thread = thread::spawn(move || serve(editor, history, &wanted, &inputs));
        let person = Self { inputs: received, wants: Some(wants), thread: Some(thread), settings };
        Ok((person, above))
    }

    pub(super) fn want(&self, want: Want) {
        // A shell may have changed the settings while we were stopped.
        self.settings.set_raw();
        if let Some(wants) = &self.wants {
            // If the thread has ended, so have the inputs.
            let _ = wants.send(want);
        }
    }

    /// Stops reading and restores the terminal.
    pub(super) fn stop(&mut self, editing: bool) {
        self.wants = None;
        match self.thread.take() {
            // The line editor cannot be stopped: restore what it would restore.
            Some(_) if editing => {
                let _ = print::bracketed_paste(false);
            }
            Some(thread) => {
                let _ = thread.join();
            }
            None => {}
        }
        self.settings.restore();
    }
}

fn serve(
    mut editor: Editor<LineHelper, FileHistory>,
    history: Option<PathBuf>,
    wanted: &Receiver<Want>,
    inputs: &mpsc::Sender<Input>,
) {
    let mut next = wanted.recv();
    while let Ok(want) = next {
        next = match want {
            Want::Keys => read_keys(wanted, inputs),
            Want::Line(initial) => {
                let input = match typed_before(initial) {
                    Ok(input) => input,
                    Err(initial) => match editor.readline_with_initial(PROMPT, (&initial, "")) {
                        Ok(line) => {
                            remember(&mut editor, history.as_ref(), &line);
                            Input::Line(line)
                        }
                        Err(ReadlineError::Interrupted) => Input::Interrupted,
                        Err(_) => Input::End,
                    },
                };
                if inputs.blocking_send(input).is_err() {
                    return;
                }
                wanted.recv()
            }
        };
    }
}

/// Keys that were read but not used belong to the line. Returns the input if they end it, or else its initial text.
fn typed_before(mut line: String) -> Result<Input, String> {
    while let Ok(true) = event::poll(Duration::ZERO) {
        match event::read().map(key) {
            Ok(Some(Key::Enter)) => return Ok(Input::Line(line)),
            Ok(Some(Key::Interrupt)) => return Ok(Input::Interrupted),
            Ok(Some(Key::End)) if line.is_empty() => return Ok(Input::End),
            Ok(Some(key)) => edit(&mut line, &key),
            Ok(None) => {}
            Err(_) => return Ok(Input::End),
        }
    }
    Err(line)
}

fn remember(editor: &mut Editor<LineHelper, FileHistory>, history: Option<&PathBuf>, line: &str) {
    if !line.trim().is_empty()
        && editor.add_history_entry(line).unwrap_or(false)
        && let Some(path) = history
    {
        // A chat works without a history too.
        let _ = editor.append_history(path);
    }
}

/// The history file, in a folder that only its owner can read.
fn history_file() -> Option<PathBuf> {
    let folder =
        etcetera::base_strategy::choose_native_strategy().ok()?.data_dir().join("duologue");
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).ok()?;
    let path = folder.join("chat-history");
    // The file is rewritten now and then: never replace one that is not a history.
    let is_free = match std::fs::read(&path) {
        Ok(text) => text.is_empty() || text.starts_with(b"#V2"),
        Err(error) => error.kind() == io::ErrorKind::NotFound && !path.is_symlink(),
    };
    is_free.then_some(path)
}

/// Bracketed paste, until this is dropped.
struct Pasting;

impl Pasting {
    fn begin() -> io::Result<Self> {
        print::bracketed_paste(true)?;
        Ok(Self)
    }
}

impl Drop for Pasting {
    fn drop(&mut self) {
        let _ = print::bracketed_paste(false);
    }
}

fn read_keys(wanted: &Receiver<Want>, inputs: &mpsc::Sender<Input>) -> Result<Want, RecvError> {
    let Ok(_pasting) = Pasting::begin() else {
        let _ = inputs.blocking_send(Input::End);
        return wanted.recv();
    };
    loop {
        match wanted.try_recv() {
            Ok(want) => return Ok(want),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) => {}
        }
        let input =
            match event::poll(KEY_TIMEOUT).and_then(|ready| ready.then(event::read).transpose()) {
                Ok(None) => continue,
                Ok(Some(event)) => match key(event) {
                    Some(key) => Input::Key(key),
                    None => continue,
                },
                Err(_) => Input::End,
            };
        let over = matches!(input, Input::End);
        if inputs.blocking_send(input).is_err() {
            return Err(RecvError);
        }
        if over {
            return wanted.recv();
        }
    }
}

fn key(event: Event) -> Option<Key> {
    let key = match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        Event::Paste(text) => {
            return Some(Key::Paste(text.replace("\r\n", "\n").replace('\r', "\n")));
        }
        Event::Resize(..) => return Some(Key::Resize),
        _ => return None,
    };
    let KeyEvent { code, modifiers, .. } = key;
    if modifiers.contains(KeyModifiers::CONTROL) {
        return match code {
            KeyCode::Char('c') => Some(Key::Interrupt),
            KeyCode::Char('d') => Some(Key::End),
            KeyCode::Char('u') => Some(Key::Clear),
            KeyCode::Char('w') => Some(Key::ClearWord),
            KeyCode::Char('p') => Some(Key::Up),
            KeyCode::Char('n') => Some(Key::Down),
            KeyCode::Char('o') => Some(Key::More),
            KeyCode::Char('h') => Some(Key::Backspace),
            KeyCode::Char('j' | 'm') => Some(Key::Enter),
            _ => None,
        };
    }
    match code {
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down | KeyCode::Tab => Some(Key::Down),
        KeyCode::PageDown => Some(Key::More),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Char(character) => Some(Key::Char(character)),
        _ => None,
    }
}
