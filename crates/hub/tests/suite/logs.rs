//! Every log: the contract, and invariants under any order of operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use duologue_hub::log::{
    AppendError, Batch, Body, Entry, Key, Limits, Log, MemoryLog, NewEntry, Origin, ReadError,
    SessionId, SqliteLog, SqliteOptions, contract,
};
use proptest::prelude::*;
use tempfile::TempDir;

fn check(report: Vec<contract::Case>) {
    assert!(report.len() > 10);
    for case in report {
        assert_eq!(case.failure, None, "{}", case.name);
    }
}

#[tokio::test]
async fn the_log_in_memory_keeps_the_contract() {
    check(contract::run(|| Arc::new(MemoryLog::new())).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_in_sqlite_keeps_the_contract() {
    let folders = tempfile::tempdir().unwrap();
    let mut number = 0;
    let make = || -> Arc<dyn Log> {
        number += 1;
        let folder = folders.path().join(number.to_string());
        Arc::new(SqliteLog::open(&folder, SqliteOptions::default()).unwrap())
    };
    check(contract::run(make).await);
}

#[derive(Clone, Debug)]
enum Operation {
    /// Appends entries at the generation plus this.
    Append { session: usize, generation: i8, entries: u8, key: Option<u8> },
    /// A new owner.
    Own { session: usize },
    /// Removes up to this share of the entries.
    Retain { session: usize, share: u8 },
    /// Closes the log and opens it again.
    Reopen,
}

fn operation() -> impl Strategy<Value = Operation> {
    let session = 0..3_usize;
    let generation = prop_oneof![8 => Just(0_i8), 1 => -2..3_i8];
    let key = proptest::option::of(0..6_u8);
    prop_oneof![
        8 => (session.clone(), generation, 0..5_u8, key).prop_map(
            |(session, generation, entries, key)| Operation::Append { session, generation, entries, key }
        ),
        2 => session.clone().prop_map(|session| Operation::Own { session }),
        1 => (session, any::<u8>()).prop_map(|(session, share)| Operation::Retain { session, share }),
        1 => Just(Operation::Reopen),
    ]
}

/// What a session must contain.
#[derive(Default)]
struct Model {
    generation: u64,
    first: u64,
    /// Bodies and generations, by number; none is removed here.
    entries: Vec<(String, u64)>,
    keys: BTreeMap<u8, (u64, u64)>,
}

/// A log that can be opened again.
struct Subject {
    folder: Option<TempDir>,
    log: Option<Arc<dyn Log>>,
}

impl Subject {
    fn memory() -> Self {
        Self { folder: None, log: Some(Arc::new(MemoryLog::new())) }
    }

    fn sqlite() -> Self {
        let mut subject = Self { folder: Some(tempfile::tempdir().unwrap()), log: None };
        subject.reopen();
        subject
    }

    fn reopen(&mut self) {
        if let Some(folder) = &self.folder {
            self.log = None;
            let log = SqliteLog::open(folder.path(), SqliteOptions::default()).unwrap();
            self.log = Some(Arc::new(log));
        }
    }

    fn log(&self) -> &dyn Log {
        &**self.log.as_ref().unwrap()
    }
}

/// Plays operations. Checks invariants 1, 2, 3 and 12: each number has one entry for ever, every receipt is in the log, generations
/// only grow and begin with their owner, and numbers continue after retention.
async fn play(mut subject: Subject, operations: Vec<Operation>) {
    let incarnation = subject.log().incarnation();
    let sessions: Vec<SessionId> = (0..3).map(|_| SessionId::random()).collect();
    let mut models: Vec<Model> = (0..3).map(|_| Model::default()).collect();
    for (step, operation) in operations.into_iter().enumerate() {
        let log = subject.log();
        match operation {
            Operation::Append { session, generation, entries, key } => {
                let (id, model) = (sessions[session], &mut models[session]);
                let Some(asked) = model.generation.checked_add_signed(generation.into()) else {
                    continue;
                };
                let bodies: Vec<String> =
                    (0..entries).map(|index| format!("[{step},{index}]")).collect();
                let new = bodies.iter().map(|body| {
                    let body = Body::parse(body).unwrap();
                    NewEntry::new("x.test", Origin::External, body).unwrap()
                });
                let mut batch = Batch::new(id, asked, new);
                if let Some(key) = key {
                    batch = batch.key(Key::new(key.to_string(), b"the same request"));
                }
                let known = key.and_then(|key| model.keys.get(&key));
                match log.append(batch).await {
                    Ok(receipt) if receipt.repeated => {
                        assert_eq!(known, Some(&(receipt.first, receipt.last)));
                    }
                    Ok(receipt) => {
                        assert_eq!(known, None);
                        assert_eq!(receipt.first, model.entries.len() as u64 + 1);
                        assert_eq!(asked, model.generation);
                        model.entries.extend(bodies.into_iter().map(|body| (body, asked)));
                        assert_eq!(receipt.last, model.entries.len() as u64);
                        if let Some(key) = key {
                            model.keys.insert(key, (receipt.first, receipt.last));
                        }
                    }
                    Err(error) => {
                        let expected = match error {
                            AppendError::NoSession(_) => model.generation == 0,
                            AppendError::Fenced { .. } => asked < model.generation,
                            AppendError::Invalid(_) => entries == 0 || asked > model.generation,
                            _ => false,
                        };
                        assert!(expected, "{error}");
                    }
                }
            }
            Operation::Own { session } => {
                let model = &mut models[session];
                let owner = NewEntry::owner(Body::parse(&step.to_string()).unwrap());
                let batch = Batch::new(sessions[session], model.generation + 1, [owner]);
                let receipt = log.append(batch).await.unwrap();
                model.generation += 1;
                model.first = model.first.max(1);
                model.entries.push((step.to_string(), model.generation));
                assert_eq!(receipt.first, model.entries.len() as u64);
            }
            Operation::Retain { session, share } => {
                let model = &mut models[session];
                let last = model.entries.len() as u64;
                if last == 0 {
                    continue;
                }
                let from = 1 + (last - 1) * u64::from(share) / 255;
                let snapshot = Body::parse(&from.to_string()).unwrap();
                let first = log.retain(sessions[session], from, snapshot).await.unwrap();
                model.first = model.first.max(from);
                assert_eq!(first, model.first);
            }
            Operation::Reopen => subject.reopen(),
        }
    }
    subject.reopen();
    assert_eq!(subject.log().incarnation(), incarnation);
    for (session, model) in sessions.into_iter().zip(models) {
        verify(subject.log(), session, &model).await;
    }
}

async fn verify(log: &dyn Log, session: SessionId, model: &Model) {
    if model.entries.is_empty() {
        assert_eq!(log.head(session).await, Ok(None));
        return;
    }
    let mut read: Vec<Entry> = Vec::new();
    let mut after = model.first - 1;
    if after > 0 {
        let gone = log.read(session, after - 1, Limits::default()).await;
        assert!(matches!(gone, Err(ReadError::Gone { first, .. }) if first == model.first));
        let snapshot: u64 = log.snapshot(session).await.unwrap().unwrap().as_str().parse().unwrap();
        assert_eq!(snapshot, model.first);
    }
    loop {
        let page = log.read(session, after, Limits::new(4, 1 << 20)).await.unwrap();
        if page.entries.is_empty() {
            break;
        }
        after += page.entries.len() as u64;
        read.extend(page.entries);
    }
    let expected = model.entries.iter().zip(1_u64..).skip(model.first as usize - 1);
    let mut generation = 0;
    assert_eq!(read.len(), model.entries.len() + 1 - model.first as usize);
    for (entry, ((body, of), seq)) in read.iter().zip(expected) {
        assert_eq!((entry.seq, entry.body.as_str(), entry.generation), (seq, body.as_str(), *of));
        assert!(entry.generation >= generation);
        let begins = entry.generation > generation && entry.seq > model.first;
        assert!(!begins || entry.kind.as_str() == duologue_hub::log::OWNER);
        generation = entry.generation;
    }
}

fn run(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_operations_keep_the_invariants_in_memory(
        operations in proptest::collection::vec(operation(), 0..60),
    ) {
        run(play(Subject::memory(), operations));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_operations_keep_the_invariants_in_sqlite(
        operations in proptest::collection::vec(operation(), 0..60),
    ) {
        run(play(Subject::sqlite(), operations));
    }
}
