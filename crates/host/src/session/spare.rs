//! [`Spare`]: an agent that is started before its session is known.

use std::path::{Path, PathBuf};

use duologue_protocol::control::{
    ApplyFlagSettings, ClaimSession, ControlRequest, HostRequest, SetModel,
};
use duologue_protocol::permission::PermissionMode;
use duologue_protocol::{RawJson, RawObject, Text};
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::error::Error;
use crate::process::SpawnError;

use super::builder::SessionBuilder;
use super::config::{Handshake, Respawn};
use super::handle::Session;
use super::inner::Inner;

/// Settings that take effect only after the claim.
const AFTER_CLAIM: &[&str] =
    &["model", "agent", "fastMode", "permissions", "availableModels", "disableAutoMode"];

/// An agent that is started and initialized, but has no session yet. Made by [`SessionBuilder::prewarm`].
///
/// It waits in a private folder and uses some 250 MB. Dropping it ends the agent.
#[derive(Debug)]
pub struct Spare {
    session: Session,
    /// The folder in which it waits.
    parking: TempDir,
}

/// The session that a [`Spare`] serves.
///
/// Everything else is fixed by [`SessionBuilder::prewarm`].
#[derive(Clone, Debug)]
pub struct Claim {
    cwd: PathBuf,
    request: ClaimSession,
    environment: Map<String, Value>,
    model: Option<Text>,
    settings: Map<String, Value>,
}

impl Claim {
    /// A session in this folder.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            request: ClaimSession::new(),
            environment: Map::new(),
            model: None,
            settings: Map::new(),
        }
    }

    /// Sets the permission mode.
    #[must_use]
    pub fn permission_mode(mut self, mode: PermissionMode) -> Self {
        self.request = self.request.permission_mode(mode);
        self
    }

    /// Adds directories that the agent may use.
    #[must_use]
    pub fn add_dirs(mut self, dirs: impl IntoIterator<Item: AsRef<Path>>) -> Self {
        let dirs = dirs.into_iter().map(|dir| Text::from(dir.as_ref().to_string_lossy().as_ref()));
        self.request = self.request.additional_directories(dirs.collect::<Vec<_>>());
        self
    }

    /// Adds to the system prompt.
    #[must_use]
    pub fn append_system_prompt(mut self, text: impl Into<Text>) -> Self {
        self.request = self.request.append_system_prompt(text);
        self
    }

    /// Sets the title of the conversation.
    #[must_use]
    pub fn title(mut self, title: impl Into<Text>) -> Self {
        self.request = self.request.title(title);
        self
    }

    /// Sets an environment variable. The CLI accepts `CLAUDE_CODE_OAUTH_TOKEN`, `CLAUDE_CODE_SESSION_ACCESS_TOKEN`
    /// and `CLAUDE_CODE_HOST_SESSION_ID`, and refuses the claim for others.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.insert(name.into(), Value::String(value.into()));
        self
    }

    /// Sets the model. If the agent refuses it, that is a [notice](Session::notices).
    #[must_use]
    pub fn model(mut self, model: impl Into<Text>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Changes settings. Settings of hooks belong into [`SessionBuilder::settings`].
    #[must_use]
    pub fn settings(mut self, settings: Map<String, Value>) -> Self {
        self.settings.extend(settings);
        self
    }
}

impl SessionBuilder {
    /// Starts an agent before its session is known, so that the session starts fast.
    ///
    /// The agent loads its configuration, tools, plugins and MCP servers, and then waits for
    /// [`Spare::claim`]. The folder of the session, its model and its permission mode are set by the claim;
    /// everything else is set here. [`respawn`](Self::respawn) has no effect on such a session.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), duologue::Error> {
    /// use duologue::{Claim, Session};
    ///
    /// let spare = Session::builder().prewarm().await?;
    /// // Later, when the user opens a folder:
    /// let session = spare.claim(Claim::new("/home/me/project").model("sonnet")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Not cancel safe. If the future is dropped, the agent is killed.
    ///
    /// # Errors
    /// As [`start`](Self::start). A CLI without the flag `--await-claim` does not start.
    pub async fn prewarm(self) -> Result<Spare, Error> {
        let parking = tempfile::Builder::new().prefix("duologue-spare-").tempdir();
        let parking = parking.map_err(SpawnError::Parking)?;
        if let Some(user) = self.config.os_user {
            user.own(parking.path()).map_err(SpawnError::Parking)?;
        }
        let folder = parking.path().to_owned();
        let builder = self.map_launch(|launch| launch.cwd(folder).extra_flag("await-claim"));
        let builder = builder.handshake(Handshake::Require).respawn(Respawn::never());
        Ok(Spare { session: builder.start().await?, parking })
    }
}

impl Spare {
    /// The process of the agent; `None` if it has exited.
    pub fn pid(&self) -> Option<u32> {
        self.session.pid()
    }

    /// Gives the agent its session.
    ///
    /// The agent refuses some claims: a folder that does not exist, or one whose project settings set `env`,
    /// `agent` or `model`, for example. It cannot be used after that: start the session with
    /// [`SessionBuilder::start`].
    ///
    /// Not cancel safe. If the future is dropped, the agent is killed.
    ///
    /// # Errors
    /// If the agent refuses the claim, the permission mode or the settings, or has exited. It is ended then.
    pub async fn claim(self, claim: Claim) -> Result<Session, Error> {
        let Self { session, parking: _parking } = self;
        let Claim { cwd, mut request, environment, model, settings } = claim;
        let cwd = std::path::absolute(&cwd).unwrap_or(cwd);
        let inner = &session.inner;
        let servers = inner.handlers.mcp_servers();
        let servers: Vec<Value> = servers.iter().map(|server| server.name().into()).collect();
        request = request
            .cwd(cwd.to_string_lossy().as_ref())
            .sdk_mcp_servers(RawJson::from(Value::Array(servers)));
        if !environment.is_empty() {
            request = request.env(RawObject::from(environment));
        }
        let (after, before): (Map<_, _>, Map<_, _>) =
            settings.into_iter().partition(|(key, _)| AFTER_CLAIM.contains(&key.as_str()));
        let model = model.map(|model| SetModel::new().model(model));
        // Sent at once, in this order. The agent answers when it is claimed.
        let (before, claimed, model, after) = tokio::join!(
            send(inner, flag_settings(before)),
            send(inner, Some(request)),
            send(inner, model),
            send(inner, flag_settings(after)),
        );
        if let Err(error) = claimed.and(before).and(after) {
            session.kill().await;
            return Err(error);
        }
        if let Err(error) = model {
            inner.notice(format!("the model of the claim was not set: {error}"));
        }
        Ok(session)
    }

    /// Ends the agent.
    ///
    /// Not cancel safe. If the future is dropped, the agent is killed without waiting for its end.
    pub async fn close(self) {
        self.session.kill().await;
    }
}

fn flag_settings(settings: Map<String, Value>) -> Option<ApplyFlagSettings> {
    let settings = (!settings.is_empty()).then(|| RawObject::from(settings))?;
    Some(ApplyFlagSettings::new().settings(settings))
}

async fn send<R>(inner: &Inner, request: Option<R>) -> Result<(), Error>
where
    R: ControlRequest + Into<HostRequest>,
{
    match request {
        Some(request) => inner.request(request, inner.config.timeout).await.map(drop),
        None => Ok(()),
    }
}
