//! The person's end: a thread that edits lines or reads keys, as it is told. Both block, so nobody else
//! may wait for them.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind,
    KeyModifiers,
};
use crossterm::{execute, terminal};
use etcetera::BaseStrategy as _;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter as _};
use tokio::sync::mpsc;

use super::complete::Typing;
use super::menu::Key;

const PROMPT: &str = "› ";

/// How long keys are waited for before anything else is looked at.
const GLANCE: Duration = Duration::from_millis(30);

/// How many keys, and how many texts above the prompt, may wait.
const MOST_WAITING: usize = 256;

/// How many lines are remembered.
const HISTORY: usize = 2000;

/// What is wanted of the person.
#[derive(Debug)]
pub(super) enum Want {
    /// A line that begins so.
    Line(String),
    /// Keys, until something else is wanted.
    Keys,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Input {
    Line(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// Ctrl-D at the prompt, or the terminal is gone.
    End,
    Key(Key),
}

pub(super) struct Person {
    pub(super) inputs: mpsc::Receiver<Input>,
    wants: Option<SyncSender<Want>>,
    thread: Option<JoinHandle<()>>,
    settings: Settings,
}

/// How the terminal was set before.
struct Settings(#[cfg(unix)] Option<rustix::termios::Termios>);

impl Settings {
    #[cfg(unix)]
    fn read() -> Self {
        Self(rustix::termios::tcgetattr(rustix::stdio::stdin()).ok())
    }

    #[cfg(unix)]
    fn restore(&self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(settings) = &self.0 {
            // If it is gone, nobody misses them.
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, settings);
        }
    }

    #[cfg(not(unix))]
    fn read() -> Self {
        Self()
    }

    #[cfg(not(unix))]
    fn restore(&self) {}
}

impl Person {
    /// Begins to listen. What is sent to the other end is printed above the prompt.
    pub(super) fn listen(typing: Typing) -> anyhow::Result<(Self, SyncSender<String>)> {
        let settings = Settings::read();
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .auto_add_history(false)
            .max_history_size(HISTORY)?
            .bracketed_paste(true)
            .build();
        let mut editor: Editor<Typing, FileHistory> = Editor::with_config(config)?;
        editor.set_helper(Some(typing));
        let history = history_file();
        if let Some(path) = &history {
            // None yet, or none of ours: either way there is nothing to go back to.
            let _ = editor.load_history(path);
        }
        let (above, texts) = sync_channel::<String>(MOST_WAITING);
        let mut printer = editor.create_external_printer()?;
        // The editor takes one text at a time, and none between two lines.
        thread::spawn(move || {
            while let Ok(text) = texts.recv() {
                if printer.print(text).is_err() {
                    return;
                }
            }
        });
        let (wants, wanted) = sync_channel(4);
        let (inputs, received) = mpsc::channel(MOST_WAITING);
        let thread = thread::spawn(move || serve(editor, history, &wanted, &inputs));
        let person = Self { inputs: received, wants: Some(wants), thread: Some(thread), settings };
        Ok((person, above))
    }

    pub(super) fn want(&self, want: Want) {
        if let Some(wants) = &self.wants {
            // If the thread is gone, its end of the inputs tells.
            let _ = wants.send(want);
        }
    }

    /// Gives the terminal back as it was.
    pub(super) fn dismiss(&mut self, editing: bool) {
        self.wants = None;
        match self.thread.take() {
            // A line that is being edited cannot be stopped: what the editor would do is done here.
            Some(_) if editing => {
                let _ = execute!(io::stdout(), DisableBracketedPaste);
                self.settings.restore();
            }
            Some(thread) => {
                let _ = thread.join();
            }
            None => {}
        }
    }
}

fn serve(
    mut editor: Editor<Typing, FileHistory>,
    history: Option<PathBuf>,
    wanted: &Receiver<Want>,
    inputs: &mpsc::Sender<Input>,
) {
    let mut next = wanted.recv();
    while let Ok(want) = next {
        next = match want {
            Want::Keys => read_keys(wanted, inputs),
            Want::Line(initial) => {
                let input = match editor.readline_with_initial(PROMPT, (&initial, "")) {
                    Ok(line) => {
                        remember(&mut editor, history.as_ref(), &line);
                        Input::Line(line)
                    }
                    Err(ReadlineError::Interrupted) => Input::Interrupted,
                    Err(_) => Input::End,
                };
                if inputs.blocking_send(input).is_err() {
                    return;
                }
                wanted.recv()
            }
        };
    }
}

fn remember(editor: &mut Editor<Typing, FileHistory>, history: Option<&PathBuf>, line: &str) {
    if !line.trim().is_empty()
        && editor.add_history_entry(line).unwrap_or(false)
        && let Some(path) = history
    {
        // A chat without a memory is still a chat.
        let _ = editor.append_history(path);
    }
}

/// The history, in a folder that only its owner may look into.
fn history_file() -> Option<PathBuf> {
    let folder =
        etcetera::base_strategy::choose_native_strategy().ok()?.data_dir().join("duologue");
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).ok()?;
    Some(folder.join("chat-history"))
}

/// The terminal gives each key as it is pressed, until this is dropped.
struct RawMode;

impl RawMode {
    fn begin() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let raw = Self;
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(raw)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), DisableBracketedPaste);
        let _ = terminal::disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

fn read_keys(wanted: &Receiver<Want>, inputs: &mpsc::Sender<Input>) -> Result<Want, RecvError> {
    let Ok(_raw) = RawMode::begin() else {
        let _ = inputs.blocking_send(Input::End);
        return wanted.recv();
    };
    loop {
        match wanted.try_recv() {
            Ok(want) => return Ok(want),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) => {}
        }
        let input = match event::poll(GLANCE).and_then(|ready| ready.then(event::read).transpose())
        {
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
            KeyCode::Char('h') => Some(Key::Backspace),
            KeyCode::Char('j' | 'm') => Some(Key::Enter),
            _ => None,
        };
    }
    match code {
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down | KeyCode::Tab => Some(Key::Down),
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Esc => Some(Key::Escape),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Char(character) => Some(Key::Char(character)),
        _ => None,
    }
}
