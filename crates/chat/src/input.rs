//! The person's end: a thread that edits lines or reads keys, as it is told. Both block, so nobody else
//! may wait for them.

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

pub(super) struct UserInput {
    pub(super) inputs: mpsc::Receiver<Input>,
    wants: Option<SyncSender<Want>>,
    thread: Option<JoinHandle<()>>,
    settings: Settings,
}

/// How the terminal was set before. Until this is dropped, keys are neither echoed nor turned into lines
/// or signals, also between two lines and two menus: what is typed then is not lost.
struct Settings(#[cfg(unix)] Option<rustix::termios::Termios>);

impl Settings {
    #[cfg(unix)]
    fn read() -> Self {
        Self(rustix::termios::tcgetattr(rustix::stdio::stdin()).ok())
    }

    #[cfg(unix)]
    fn set_aside(&self) {
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

    #[cfg(unix)]
    fn restore(&self) {
        if let Some(settings) = &self.0 {
            Self::set(settings);
        }
    }

    #[cfg(unix)]
    fn set(settings: &rustix::termios::Termios) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // If the terminal is gone, reading from it will tell.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, settings);
    }

    #[cfg(not(unix))]
    fn read() -> Self {
        Self()
    }

    #[cfg(not(unix))]
    fn set_aside(&self) {
        let _ = crossterm::terminal::enable_raw_mode();
    }

    #[cfg(not(unix))]
    fn restore(&self) {
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        self.restore();
    }
}

impl UserInput {
    /// Begins to listen. What is sent to the other end is printed above the prompt.
    pub(super) fn start(typing: LineHelper) -> anyhow::Result<(Self, SyncSender<String>)> {
        let settings = Settings::read();
        settings.set_aside();
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
            // None yet: then there is nothing to go back to.
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
        // A shell that had it meanwhile may have set it otherwise.
        self.settings.set_aside();
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

/// Keys that were read while keys were wanted, and that nobody has taken: they belong to the line. What
/// came of it if they end it, or how it begins.
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
    let path = folder.join("chat-history");
    // The history is written anew now and then: a file that is not one must stay as it is.
    let is_free = match std::fs::read(&path) {
        Ok(text) => text.is_empty() || text.starts_with(b"#V2"),
        Err(error) => error.kind() == io::ErrorKind::NotFound && !path.is_symlink(),
    };
    is_free.then_some(path)
}

/// A text that is pasted comes as one, until this is dropped.
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
