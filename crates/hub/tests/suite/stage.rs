//! A hub with a scripted agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duologue_hub::hub::{Agents, Hub, HubLimits, SessionHandle};
use duologue_hub::id::{AskId, PromptId, SessionId};
use duologue_hub::log::{
    AppendError, Batch, Body, Entry, Head, Incarnation, Limits, Log, MemoryLog, Page, Pending,
    ReadError, Receipt,
};
use duologue_hub::state::State;
use duologue_testkit::fake::{Script, Stage, program};
use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::watch;

/// A log that can be full.
#[derive(Default)]
pub(crate) struct TestLog {
    pub(crate) log: MemoryLog,
    pub(crate) full: AtomicBool,
}

impl Log for TestLog {
    fn append(&self, batch: Batch) -> Pending<'_, Result<Receipt, AppendError>> {
        if self.full.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(AppendError::Full)));
        }
        self.log.append(batch)
    }

    fn read(
        &self,
        session: SessionId,
        after: u64,
        limits: Limits,
    ) -> Pending<'_, Result<Page, ReadError>> {
        self.log.read(session, after, limits)
    }

    fn head(&self, session: SessionId) -> Pending<'_, Result<Option<Head>, ReadError>> {
        self.log.head(session)
    }

    fn sessions(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Pending<'_, Result<Vec<(SessionId, Head)>, ReadError>> {
        self.log.sessions(after, limit)
    }

    fn retain(
        &self,
        session: SessionId,
        from: u64,
        snapshot: Body,
    ) -> Pending<'_, Result<u64, AppendError>> {
        self.log.retain(session, from, snapshot)
    }

    fn snapshot(&self, session: SessionId) -> Pending<'_, Result<Option<Body>, ReadError>> {
        self.log.snapshot(session)
    }

    fn watch(&self, session: SessionId) -> watch::Receiver<u64> {
        self.log.watch(session)
    }

    fn incarnation(&self) -> Incarnation {
        self.log.incarnation()
    }
}

/// A log and an agent, for one hub after the other.
pub(crate) struct World {
    dir: TempDir,
    pub(crate) stage: Stage,
    pub(crate) log: Arc<TestLog>,
}

impl World {
    /// Each start of the agent follows the next script.
    pub(crate) fn new(scripts: &[Script]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stage = Stage::lives(dir.path(), scripts).unwrap();
        Self { dir, stage, log: Arc::default() }
    }

    pub(crate) fn agents(&self) -> Agents {
        let (name, value) = self.stage.env();
        Agents::new(self.dir.path()).program(program()).env(name, value)
    }

    pub(crate) async fn hub(&self) -> Hub {
        self.hub_with(HubLimits::default()).await
    }

    pub(crate) async fn hub_with(&self, limits: HubLimits) -> Hub {
        Hub::open(self.log.clone(), self.agents(), limits).await.unwrap()
    }

    /// A hub with a session.
    pub(crate) async fn begin(&self) -> (Hub, SessionHandle) {
        let hub = self.hub().await;
        let session = hub.create(SessionId::random(), &raw("{}"), None).await.unwrap().0;
        (hub, session)
    }

    /// Everything in the log of a session.
    pub(crate) async fn entries(&self, session: SessionId) -> Vec<Entry> {
        let page = self.log.read(session, 0, Limits::new(usize::MAX, usize::MAX)).await.unwrap();
        page.entries
    }

    /// Waits until the log of a session is as it should be.
    pub(crate) async fn until(
        &self,
        session: SessionId,
        fits: impl Fn(&[Entry]) -> bool,
    ) -> Vec<Entry> {
        let mut watch = self.log.watch(session);
        let wait = async {
            loop {
                let entries = self.entries(session).await;
                if fits(&entries) {
                    return entries;
                }
                watch.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(std::time::Duration::from_secs(60), wait).await {
            Ok(entries) => entries,
            Err(_) => panic!("the log is {:#?}", kinds(&self.entries(session).await)),
        }
    }

    /// Waits for this many entries of a kind.
    pub(crate) async fn until_kind(
        &self,
        session: SessionId,
        kind: &str,
        count: usize,
    ) -> Vec<Entry> {
        self.until(session, |entries| of_kind(entries, kind).len() >= count).await
    }
}

pub(crate) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

pub(crate) fn body(entry: &Entry) -> Value {
    serde_json::from_str(entry.body.as_str()).unwrap()
}

pub(crate) fn kinds(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.kind.as_str()).collect()
}

pub(crate) fn of_kind<'e>(entries: &'e [Entry], kind: &str) -> Vec<&'e Entry> {
    entries.iter().filter(|entry| entry.kind.as_str() == kind).collect()
}

/// The ask of an `asks.…` entry.
pub(crate) fn ask_of(entry: &Entry) -> AskId {
    body(entry)["ask"].as_str().unwrap().parse().unwrap()
}

pub(crate) async fn prompt(session: &SessionHandle, text: &str) -> PromptId {
    let id = PromptId::random();
    let content = RawValue::from_string(serde_json::to_string(text).unwrap()).unwrap();
    session.prompt(id, content, None).await.unwrap();
    id
}

pub(crate) fn state(session: &SessionHandle) -> State {
    session.read(|state| state.state())
}
