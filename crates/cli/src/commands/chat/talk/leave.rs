//! Taking leave.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::{Left, Mode, Talk};
use crate::commands::chat::input::Input;
use crate::commands::chat::menu::Key;
use crate::commands::chat::terminal::Bottom;
use crate::visible::{Shown, ours};

/// How long the agent may take to leave before it is made to.
const FAREWELL: Duration = Duration::from_secs(10);

impl Talk {
    /// Takes leave: no process stays.
    pub(super) async fn leave(mut self, result: anyhow::Result<()>) -> anyhow::Result<()> {
        if let Some(interrupting) = self.interrupting.take() {
            interrupting.abort();
            let _ = interrupting.await;
        }
        let result = match result {
            Err(error) if error.is::<Left>() => Ok(()),
            other => other,
        };
        let bill = self.bill();
        // An open menu is answered by nobody.
        self.dialog = None;
        self.terminal.set_bottom(Bottom::Status, Vec::new())?;
        let gone = result.is_err();
        if gone && self.mode == Mode::Line {
            self.terminal.line(&Shown::default())?;
        }
        if !gone {
            if self.mode == Mode::Nothing {
                self.keys();
            }
            let wait = ours("leaving, Ctrl-C leaves at once").dimmed();
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
        self.person.dismiss(self.mode == Mode::Line);
        if self.renderer.spent > 0.0 {
            self.terminal.line(&bill)?;
        }
        result
    }
}

/// Waits until somebody wants this program to end: the system, or a window that is closed.
#[cfg(unix)]
pub(super) async fn dismissed() {
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
pub(super) async fn dismissed() {
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
