//! [`Bridge`]: all sessions of one client.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodTerminal, AuthenticateRequest,
    AuthenticateResponse, CloseSessionResponse, DeleteSessionResponse, ForkSessionRequest,
    ForkSessionResponse, Implementation, InitializeRequest, InitializeResponse,
    ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
    LogoutCapabilities, LogoutResponse, McpCapabilities, McpServer, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, ResumeSessionRequest,
    ResumeSessionResponse, SessionAdditionalDirectoriesCapabilities, SessionCapabilities,
    SessionCloseCapabilities, SessionConfigOptionValue, SessionDeleteCapabilities,
    SessionForkCapabilities, SessionId, SessionInfo, SessionListCapabilities,
    SessionResumeCapabilities, SessionTitleCapabilities, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
    SetSessionTitleRequest, SetSessionTitleResponse,
};
use agent_client_protocol::{Client as ClientRole, Error, schema::ProtocolVersion};
use duologue::SessionBuilder;
use duologue::launch::Conversation;
use duologue_protocol::Map;
use duologue_protocol::control::McpServerConfig;
use duologue_sessions::{ListOptions, Sessions, StoredSession};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::config;
use crate::error::{internal, invalid, no_session, of_stored};
use crate::history;
use crate::link::{Link, lock};
use crate::options::Options;
use crate::prompt::prompt;
use crate::session::{Change, PromptAnswer, Session, Work};
use crate::transport::Gate;

type Connection = ConnectionTo<ClientRole>;

/// How many sessions may be open.
const MAX_SESSIONS: usize = 64;
/// How many sessions a page of `session/list` has.
const PAGE: usize = 50;
/// How many updates of a history may wait.
const HISTORY_QUEUE: usize = 16;
/// How long a logout may take.
const LOGOUT_WITHIN: Duration = Duration::from_secs(30);
/// The id of the login in a terminal.
const TERMINAL_LOGIN: &str = "claude-login";

/// All sessions of one client.
#[derive(Debug)]
pub(crate) struct Bridge {
    options: Options,
    gate: Arc<Gate>,
    client: OnceLock<Client>,
    sessions: Mutex<HashMap<String, Slot>>,
    closing: watch::Sender<bool>,
}

/// A session that is open, or that is being opened.
#[derive(Clone, Debug)]
enum Slot {
    Opening(Arc<Link>),
    Open(Arc<Session>),
}

/// A session that has just been started, and what has to begin once the client has its id.
pub(crate) struct Opened {
    pub(crate) session: Arc<Session>,
    work: Work,
}

impl Opened {
    pub(crate) fn begin(self) {
        self.session.begin(self.work);
    }
}

/// How a session is opened.
struct Opening {
    id: String,
    conversation: Conversation,
    cwd: PathBuf,
    directories: Vec<PathBuf>,
    servers: Vec<McpServer>,
}

impl Bridge {
    pub(crate) fn new(options: Options, gate: Arc<Gate>) -> Self {
        Self {
            options,
            gate,
            client: OnceLock::new(),
            sessions: Mutex::default(),
            closing: watch::Sender::new(false),
        }
    }

    pub(crate) fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        let client = self.client.get_or_init(|| Client::of(request));
        let can_log_in = self.options.login.as_ref();
        let auth = can_log_in.map_or_else(AgentAuthCapabilities::new, |_| {
            AgentAuthCapabilities::new().logout(Some(LogoutCapabilities::new()))
        });
        let stored = self.options.sessions.is_some();
        let mut sessions = SessionCapabilities::new()
            .additional_directories(Some(SessionAdditionalDirectoriesCapabilities::new()))
            .close(Some(SessionCloseCapabilities::new()))
            .title(Some(SessionTitleCapabilities::new()));
        if stored {
            sessions = sessions
                .list(Some(SessionListCapabilities::new()))
                .delete(Some(SessionDeleteCapabilities::new()))
                .fork(Some(SessionForkCapabilities::new()))
                .resume(Some(SessionResumeCapabilities::new()));
        }
        let capabilities = AgentCapabilities::new()
            .load_session(stored)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
            .session_capabilities(sessions)
            .auth(auth);
        let methods = can_log_in.filter(|_| client.terminal_auth).map(|login| {
            let method = AuthMethodTerminal::new(TERMINAL_LOGIN, "Log in with Claude Code")
                .description(Some("Runs `claude auth login` in a terminal".to_owned()))
                .args(login.terminal_args.clone());
            AuthMethod::Terminal(method)
        });
        let us = Implementation::new("duologue", env!("CARGO_PKG_VERSION"))
            .title(Some("Claude Code (Duologue)".to_owned()));
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(methods.into_iter().collect::<Vec<_>>())
            .agent_info(Some(us))
    }

    fn client(&self) -> Client {
        self.client.get().cloned().unwrap_or_default()
    }

    // --- login ------------------------------------------------------------------------------------------------

    /// The client runs the login itself, in a terminal, so there is nothing to do.
    pub(crate) fn authenticate(
        &self,
        request: &AuthenticateRequest,
    ) -> Result<AuthenticateResponse, Error> {
        let is_known = self.options.login.is_some() && &*request.method_id.0 == TERMINAL_LOGIN;
        if !is_known {
            return Err(invalid(format!("there is no login method {}", request.method_id.0)));
        }
        Ok(AuthenticateResponse::new())
    }

    pub(crate) async fn logout(&self) -> Result<LogoutResponse, Error> {
        let Some(login) = &self.options.login else { return Err(Error::method_not_found()) };
        let mut command = tokio::process::Command::new(&login.program);
        command.args(&login.args).args(["auth", "logout"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let ended = tokio::time::timeout(LOGOUT_WITHIN, command.output()).await;
        match ended {
            Ok(Ok(output)) if output.status.success() => Ok(LogoutResponse::new()),
            Ok(Ok(output)) => {
                let reason = String::from_utf8_lossy(&output.stderr);
                Err(internal(format!("the logout failed: {}", reason.trim())))
            }
            Ok(Err(error)) => Err(internal(format!("the logout could not be started: {error}"))),
            Err(_) => Err(internal("the logout did not end in time")),
        }
    }

    // --- open and close ---------------------------------------------------------------------------------------

    pub(crate) async fn new_session(
        &self,
        request: NewSessionRequest,
        connection: Connection,
    ) -> Result<(NewSessionResponse, Opened), Error> {
        let id = uuid::Uuid::new_v4().to_string();
        let opening = Opening {
            conversation: Conversation::NewWithId(id.as_str().into()),
            id: id.clone(),
            cwd: request.cwd,
            directories: request.additional_directories,
            servers: request.mcp_servers,
        };
        let opened = self.open(opening, connection, |_| std::future::ready(Ok(()))).await?;
        let config = opened.session.config();
        let response = NewSessionResponse::new(id)
            .modes(Some(config.modes()))
            .config_options(Some(config.options()));
        Ok((response, opened))
    }

    pub(crate) async fn load(
        &self,
        request: LoadSessionRequest,
        connection: Connection,
    ) -> Result<(LoadSessionResponse, Opened), Error> {
        let id = request.session_id.0.to_string();
        let stored = self.stored(&id).await?;
        let (cwd, directories) =
            working_directory(&stored, request.cwd, request.additional_directories).await;
        let opening = Opening {
            conversation: Conversation::resume(id.as_str()),
            id,
            cwd: cwd.clone(),
            directories,
            servers: request.mcp_servers,
        };
        let client = self.client();
        let replayed = |link: Arc<Link>| replay(link, stored, client, cwd);
        let opened = self.open(opening, connection, replayed).await?;
        let config = opened.session.config();
        let response = LoadSessionResponse::new()
            .modes(Some(config.modes()))
            .config_options(Some(config.options()));
        Ok((response, opened))
    }

    pub(crate) async fn resume(
        &self,
        request: ResumeSessionRequest,
        connection: Connection,
    ) -> Result<(ResumeSessionResponse, Opened), Error> {
        let id = request.session_id.0.to_string();
        let stored = self.stored(&id).await?;
        let (cwd, directories) =
            working_directory(&stored, request.cwd, request.additional_directories).await;
        let opening = Opening {
            conversation: Conversation::resume(id.as_str()),
            id,
            cwd,
            directories,
            servers: request.mcp_servers,
        };
        let opened = self.open(opening, connection, |_| std::future::ready(Ok(()))).await?;
        let config = opened.session.config();
        let response = ResumeSessionResponse::new()
            .modes(Some(config.modes()))
            .config_options(Some(config.options()));
        Ok((response, opened))
    }

    pub(crate) async fn fork(
        &self,
        request: ForkSessionRequest,
        connection: Connection,
    ) -> Result<(ForkSessionResponse, Opened), Error> {
        let of = request.session_id.0.to_string();
        let stored = self.stored(&of).await?;
        let (cwd, directories) =
            working_directory(&stored, request.cwd, request.additional_directories).await;
        let id = uuid::Uuid::new_v4().to_string();
        let opening = Opening {
            conversation: Conversation::Fork {
                of: of.as_str().into(),
                cut: None,
                id: Some(id.as_str().into()),
            },
            id: id.clone(),
            cwd,
            directories,
            servers: request.mcp_servers,
        };
        let opened = self.open(opening, connection, |_| std::future::ready(Ok(()))).await?;
        let config = opened.session.config();
        let response = ForkSessionResponse::new(id)
            .modes(Some(config.modes()))
            .config_options(Some(config.options()));
        Ok((response, opened))
    }

    /// Starts a session. `before` runs while the agent starts. A session with the same id is closed first.
    async fn open<F, R>(
        &self,
        opening: Opening,
        connection: Connection,
        before: F,
    ) -> Result<Opened, Error>
    where
        F: FnOnce(Arc<Link>) -> R,
        R: Future<Output = Result<(), Error>>,
    {
        let Opening { id, conversation, cwd, directories, servers } = opening;
        check_directory(&cwd)?;
        let directories = directories.into_iter().map(|it| check_directory(&it).map(|()| it));
        let directories: Vec<PathBuf> = directories.collect::<Result<_, _>>()?;
        let mut builder = (self.options.builder)().conversation(conversation).add_dirs(directories);
        builder = with_servers(builder, servers)?;
        self.close_if_open(&id).await;
        let link = Link::new(
            SessionId::new(id.as_str()),
            self.client(),
            connection,
            Arc::clone(&self.gate),
        );
        let link = Arc::new(link);
        {
            let mut sessions = lock(&self.sessions);
            if *self.closing.borrow() {
                return Err(internal("the connection is closing"));
            }
            if sessions.len() >= MAX_SESSIONS {
                return Err(internal(format!("{MAX_SESSIONS} sessions are open; close one first")));
            }
            sessions.insert(id.clone(), Slot::Opening(Arc::clone(&link)));
        }
        let starting = Session::start(builder, Arc::clone(&link), cwd, &self.options);
        let (started, before) = tokio::join!(starting, before(Arc::clone(&link)));
        let opened = match (started, before) {
            (Ok((session, work)), Ok(())) => Ok(Opened { session, work }),
            (Ok((session, _)), Err(error)) => {
                session.close().await;
                Err(error)
            }
            (Err(error), _) => Err(error),
        };
        let is_ours = {
            let mut sessions = lock(&self.sessions);
            let is_ours =
                matches!(sessions.get(&id), Some(Slot::Opening(ours)) if Arc::ptr_eq(ours, &link));
            match &opened {
                Ok(opened) if is_ours => {
                    sessions.insert(id.clone(), Slot::Open(Arc::clone(&opened.session)));
                }
                Err(_) if is_ours => {
                    sessions.remove(&id);
                }
                _ => {}
            }
            is_ours
        };
        match opened {
            // It was closed, or opened again, while it was started.
            Ok(opened) if !is_ours => {
                opened.session.close().await;
                Err(internal("the session was closed while it was opened"))
            }
            opened => opened,
        }
    }

    async fn close_if_open(&self, id: &str) -> bool {
        let slot = lock(&self.sessions).remove(id);
        match slot {
            Some(Slot::Open(session)) => session.close().await,
            Some(Slot::Opening(link)) => link.close(),
            None => return false,
        }
        true
    }

    pub(crate) async fn close(&self, id: &str) -> Result<CloseSessionResponse, Error> {
        if !self.close_if_open(id).await {
            return Err(no_session(id));
        }
        Ok(CloseSessionResponse::new())
    }

    /// Ends all sessions and everything that their agents have started.
    pub(crate) async fn shut_down(&self) {
        let slots: Vec<Slot> = {
            let mut sessions = lock(&self.sessions);
            self.closing.send_replace(true);
            sessions.drain().map(|(_, slot)| slot).collect()
        };
        let mut closing = JoinSet::new();
        for slot in slots {
            match slot {
                Slot::Open(session) => {
                    closing.spawn(async move { session.close().await });
                }
                Slot::Opening(link) => link.close(),
            }
        }
        while closing.join_next().await.is_some() {}
    }

    /// Ends all sessions without waiting: their tasks end, and the agents are killed with the last handle.
    pub(crate) fn abandon(&self) {
        let mut sessions = lock(&self.sessions);
        self.closing.send_replace(true);
        for (_, slot) in sessions.drain() {
            match slot {
                Slot::Open(session) => session.link.close(),
                Slot::Opening(link) => link.close(),
            }
        }
    }

    fn session(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        match lock(&self.sessions).get(&*id.0) {
            Some(Slot::Open(session)) => Ok(Arc::clone(session)),
            _ => Err(no_session(&id.0)),
        }
    }

    // --- an open session --------------------------------------------------------------------------------------

    pub(crate) fn prompt(
        &self,
        request: PromptRequest,
    ) -> Result<(Arc<Session>, PromptAnswer), Error> {
        let session = self.session(&request.session_id)?;
        let answer = session.prompt(prompt(request.prompt)?)?;
        Ok((session, answer))
    }

    pub(crate) fn cancel(&self, id: &SessionId) {
        if let Ok(session) = self.session(id) {
            session.cancel();
        }
    }

    pub(crate) async fn set_mode(
        &self,
        request: SetSessionModeRequest,
    ) -> Result<SetSessionModeResponse, Error> {
        let session = self.session(&request.session_id)?;
        answered(session.set(Change::Mode(request.mode_id.0.to_string()))?).await?;
        Ok(SetSessionModeResponse::new())
    }

    pub(crate) async fn set_config_option(
        &self,
        request: SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let session = self.session(&request.session_id)?;
        let SessionConfigOptionValue::ValueId { value } = request.value else {
            return Err(invalid("the value of this option is the id of a choice"));
        };
        let value = value.0.to_string();
        let change = match &*request.config_id.0 {
            config::MODE => Change::Mode(value),
            config::MODEL => Change::Model(value),
            config::EFFORT => Change::Effort(value),
            other => return Err(invalid(format!("there is no option {other}"))),
        };
        answered(session.set(change)?).await?;
        Ok(SetSessionConfigOptionResponse::new(session.config().options()))
    }

    pub(crate) async fn set_title(
        &self,
        request: SetSessionTitleRequest,
    ) -> Result<SetSessionTitleResponse, Error> {
        let title = request.title.trim().to_owned();
        if title.is_empty() {
            return Err(invalid("the title is empty"));
        }
        match self.session(&request.session_id) {
            Ok(session) => session.rename(&title).await?,
            Err(_) => {
                let (stored, title) = (self.stored(&request.session_id.0).await?, title.clone());
                blocking(move || stored.rename(&title))
                    .await?
                    .map_err(|error| of_stored(&error))?;
            }
        }
        Ok(SetSessionTitleResponse::new(title))
    }

    // --- stored sessions --------------------------------------------------------------------------------------

    fn sessions(&self) -> Result<Sessions, Error> {
        self.options.sessions.clone().ok_or_else(Error::method_not_found)
    }

    async fn stored(&self, id: &str) -> Result<StoredSession, Error> {
        let (sessions, name) = (self.sessions()?, id.to_owned());
        blocking(move || sessions.get(&name)).await?.map_err(|error| of_stored(&error))
    }

    pub(crate) async fn list(
        &self,
        request: ListSessionsRequest,
    ) -> Result<ListSessionsResponse, Error> {
        let mut sessions = self.sessions()?;
        let offset = match request.cursor.as_deref() {
            Some(cursor) => cursor
                .parse()
                .map_err(|_| invalid(format!("{cursor} is not a cursor of this list")))?,
            None => 0_usize,
        };
        if let Some(cwd) = &request.cwd {
            if !cwd.is_absolute() {
                return Err(invalid(format!("{} is not an absolute path", cwd.display())));
            }
            sessions = sessions.in_project(cwd);
        }
        let options = ListOptions::default().programmatic(true).offset(offset).limit(PAGE + 1);
        let listed =
            blocking(move || sessions.list(&options)).await?.map_err(|error| of_stored(&error))?;
        let has_more = listed.sessions.len() > PAGE;
        let fallback = request.cwd.unwrap_or_default();
        let info = |it: duologue_sessions::SessionInfo| {
            let cwd = it.cwd.map_or_else(|| fallback.clone(), PathBuf::from);
            let title = it.title.unwrap_or(it.summary);
            SessionInfo::new(it.id, cwd)
                .title((!title.is_empty()).then_some(title))
                .updated_at(crate::time::iso(it.modified))
        };
        let page = listed.sessions.into_iter().take(PAGE).map(info).collect();
        Ok(ListSessionsResponse::new(page)
            .next_cursor(has_more.then(|| (offset + PAGE).to_string())))
    }

    pub(crate) async fn delete(&self, id: &str) -> Result<DeleteSessionResponse, Error> {
        let was_open = self.close_if_open(id).await;
        match self.stored(id).await {
            Ok(stored) => {
                blocking(move || stored.delete()).await?.map_err(|error| of_stored(&error))?;
            }
            // A session without a prompt is not stored.
            Err(error) if !was_open => return Err(error),
            Err(_) => {}
        }
        Ok(DeleteSessionResponse::new())
    }
}

/// Runs what reads files.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| internal("reading the stored sessions failed"))
}

async fn answered(answer: oneshot::Receiver<Result<(), Error>>) -> Result<(), Error> {
    answer.await.unwrap_or_else(|_| Err(internal("the session was closed")))
}

fn check_directory(path: &Path) -> Result<(), Error> {
    if !path.is_absolute() {
        return Err(invalid(format!("{} is not an absolute path", path.display())));
    }
    if !path.is_dir() {
        return Err(invalid(format!("{} is not a directory", path.display())));
    }
    Ok(())
}

/// The working directory of a stored session. It keeps its own, because Claude Code finds it there only; another one of the
/// client becomes an additional directory.
async fn working_directory(
    stored: &StoredSession,
    cwd: PathBuf,
    mut directories: Vec<PathBuf>,
) -> (PathBuf, Vec<PathBuf>) {
    let stored = stored.clone();
    let info = blocking(move || stored.info()).await.ok().and_then(Result::ok).flatten();
    let own = info.and_then(|info| info.cwd).map(PathBuf::from).filter(|own| own.is_dir());
    match own {
        Some(own) if own != cwd => {
            if !directories.contains(&cwd) {
                directories.push(cwd);
            }
            directories.retain(|directory| *directory != own);
            (own, directories)
        }
        _ => (cwd, directories),
    }
}

/// Sends the history of a session.
async fn replay(
    link: Arc<Link>,
    stored: StoredSession,
    client: Client,
    cwd: PathBuf,
) -> Result<(), Error> {
    let (sender, mut updates) = mpsc::channel(HISTORY_QUEUE);
    let reading = blocking(move || {
        history::replay(&stored, client, cwd, |update| sender.blocking_send(update).is_ok())
    });
    let sending = async {
        while let Some(update) = updates.recv().await {
            if !link.send(update).await {
                break;
            }
        }
        // The reader ends too.
        updates.close();
    };
    let (read, ()) = tokio::join!(reading, sending);
    read?.map_err(|error| of_stored(&error))
}

/// Adds the MCP servers of the client.
fn with_servers(
    mut builder: SessionBuilder,
    servers: Vec<McpServer>,
) -> Result<SessionBuilder, Error> {
    let headers = |headers: Vec<agent_client_protocol::v1::schema::HttpHeader>| {
        let mut map = Map::default();
        for header in headers {
            map.insert(header.name, header.value);
        }
        map
    };
    for server in servers {
        let (name, config) = match server {
            McpServer::Stdio(stdio) => {
                let Some(command) = stdio.command.to_str() else {
                    return Err(invalid("the command of an MCP server is not UTF-8"));
                };
                let mut env = Map::default();
                for variable in stdio.env {
                    env.insert(variable.name, variable.value);
                }
                (stdio.name, McpServerConfig::stdio(command, stdio.args).env(env))
            }
            McpServer::Http(http) => {
                (http.name, McpServerConfig::http(http.url).headers(headers(http.headers)))
            }
            McpServer::Sse(sse) => {
                let config =
                    McpServerConfig::new().kind("sse").url(sse.url).headers(headers(sse.headers));
                (sse.name, config)
            }
            _ => return Err(invalid("an MCP server has a transport that is not supported")),
        };
        builder = builder.mcp_server(name, config);
    }
    Ok(builder)
}
