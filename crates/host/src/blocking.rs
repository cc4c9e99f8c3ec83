//! The API without `async`.
//!
//! Two background threads serve all agents, so that handlers and tools work whatever the program does.
//! Each call of a handler has a thread of its own and may block. A late answer is denied on time.
//!
//! ```no_run
//! use duologue::{Event, Session, blocking};
//!
//! let session = blocking::start(Session::builder().model("sonnet"))?;
//! let mut turn = session.prompt("What does this project do?")?;
//! for event in &mut turn {
//!     if let Event::Text(text) = event? {
//!         println!("{}", text.text);
//!     }
//! }
//! println!("${:.4}", turn.outcome()?.cost_usd());
//! session.close()?;
//! # Ok::<(), duologue::Error>(())
//! ```

use std::future::Future;
use std::sync::{Arc, OnceLock};

use duologue_protocol::RequestId;
use duologue_protocol::control::{ControlRequest, HostRequest};
use duologue_protocol::transcript::Event;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::Error;
use crate::handlers::Decision;
use crate::outcome::TurnOutcome;
use crate::process::ExitReport;
use crate::prompt::IntoPrompt;
use crate::session::{InterruptReceipt, SessionBuilder};

/// The threads that serve agents, started when they are first needed.
fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Result<Runtime, Error>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let built = builder.worker_threads(2).thread_name("duologue").enable_all().build();
        built.map_err(|error| Error::Runtime(Arc::new(error)))
    });
    made.as_ref().map_err(Clone::clone)
}

fn wait<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    if Handle::try_current().is_ok() {
        return Err(Error::InsideAsync);
    }
    runtime()?.block_on(future)
}

/// Starts Claude Code, sends one prompt, and returns its outcome.
///
/// # Errors
/// As [`duologue::run`](crate::run).
pub fn run(prompt: impl IntoPrompt) -> Result<TurnOutcome, Error> {
    wait(crate::run(prompt))
}

/// Starts the agent and initializes it.
///
/// # Errors
/// As [`SessionBuilder::start`].
pub fn start(builder: SessionBuilder) -> Result<Session, Error> {
    Ok(Session { session: wait(builder.handlers_block().start())? })
}

/// A conversation with an agent. Clones share it; dropping the last one kills the agent.
#[derive(Clone, Debug)]
pub struct Session {
    session: crate::Session,
}

impl Session {
    /// Sends a prompt.
    ///
    /// # Errors
    /// As [`Session::prompt`](crate::Session::prompt).
    pub fn prompt(&self, prompt: impl IntoPrompt) -> Result<Turn, Error> {
        Ok(Turn { turn: wait(self.session.prompt(prompt))? })
    }

    /// Sends a control request to the agent.
    ///
    /// # Errors
    /// As [`Control::ask`](crate::Control::ask).
    pub fn ask<R>(&self, request: R) -> Result<R::Reply, Error>
    where
        R: ControlRequest + Into<HostRequest>,
    {
        wait(self.session.control().ask(request))
    }

    /// Interrupts the turn that runs now.
    ///
    /// # Errors
    /// As [`Session::interrupt`](crate::Session::interrupt).
    pub fn interrupt(&self) -> Result<InterruptReceipt, Error> {
        wait(self.session.interrupt())
    }

    /// Answers a request for permission that was left open.
    ///
    /// # Errors
    /// As [`Session::respond`](crate::Session::respond).
    pub fn respond(&self, id: impl Into<RequestId>, decision: Decision) -> Result<(), Error> {
        wait(self.session.respond(id, decision))
    }

    /// Runs `async` code with the session, for what has no method here.
    ///
    /// ```no_run
    /// # fn example(session: duologue::blocking::Session) -> Result<(), duologue::Error> {
    /// let usage = session.wait(async |session| session.control().get_context_usage().await)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the code, and [`Error::InsideAsync`] if it is called in `async` code.
    pub fn wait<T>(
        &self,
        code: impl AsyncFnOnce(&crate::Session) -> Result<T, Error>,
    ) -> Result<T, Error> {
        wait(code(&self.session))
    }

    /// Ends the conversation in order.
    ///
    /// # Errors
    /// As [`Session::close`](crate::Session::close).
    pub fn close(&self) -> Result<ExitReport, Error> {
        wait(self.session.close())
    }
}

/// A prompt that was sent. It iterates over the events of its turn.
#[derive(Debug)]
pub struct Turn {
    turn: crate::Turn,
}

impl Turn {
    /// Waits for the end of the turn, and skips the events that were not read.
    ///
    /// # Errors
    /// As [`Turn::outcome`](crate::Turn::outcome).
    pub fn outcome(&mut self) -> Result<TurnOutcome, Error> {
        wait(self.turn.outcome())
    }

    /// Interrupts the turn that runs now.
    ///
    /// # Errors
    /// As [`Turn::interrupt`](crate::Turn::interrupt).
    pub fn interrupt(&self) -> Result<InterruptReceipt, Error> {
        wait(self.turn.interrupt())
    }
}

impl Iterator for Turn {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // Entering the runtime costs as much as reading a short line.
        match self.turn.next_in_batch() {
            Some(event) => Some(Ok(event)),
            None => wait(self.turn.next()).transpose(),
        }
    }
}
