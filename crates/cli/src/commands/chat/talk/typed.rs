//! What the person says: to the agent, or to the chat.

use std::time::{Duration, Instant};

use duologue_protocol::permission::PermissionMode;

use super::{Next, Talk, complaint};
use crate::commands::chat::local::{self, Typed};
use crate::visible::{Shown, line, ours, shown};
use crate::words;

/// How long the agent may take to answer `/model` and `/mode`.
const SWITCH: Duration = Duration::from_secs(15);

impl Talk {
    /// A line that was typed, at the prompt or ahead.
    pub(super) async fn typed_line(&mut self, typed: &str) -> anyhow::Result<Next> {
        let doubtful = self.doubtful.take();
        let control = self.session.control().within(SWITCH);
        let lines = match Typed::read(typed) {
            Typed::Nothing => {
                if let Some(text) = doubtful {
                    self.send(text).await?;
                }
                return Ok(Next::GoOn);
            }
            Typed::Exit => return Ok(Next::Leave),
            Typed::Prompt(text) => match local::unknown(self.handshake.as_ref(), typed) {
                Some(unknown) => {
                    self.doubtful = Some(text);
                    vec![
                        unknown.yellow(),
                        ours("Enter sends it to the agent as it is; type something else instead.")
                            .dimmed(),
                    ]
                }
                None => {
                    self.send(text).await?;
                    return Ok(Next::GoOn);
                }
            },
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
                        vec![shown!("model {}", line(&model)).dimmed()]
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
                        vec![shown!("mode {}", line(&name)).dimmed()]
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

    pub(super) fn bill(&self) -> Shown {
        shown!("this conversation: {}", words::dollars(self.renderer.spent)).dimmed()
    }
}
