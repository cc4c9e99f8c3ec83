//! What every [`Log`] must do, as cases that run against any implementation.
//!
//! ```
//! use std::sync::Arc;
//! use duologue_hub::log::{MemoryLog, contract};
//!
//! # async fn run() {
//! for case in contract::run(|| Arc::new(MemoryLog::new())).await {
//!     assert_eq!(case.failure, None, "{}", case.name);
//! }
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run());
//! ```

use std::sync::Arc;

use super::{
    AppendError, Batch, Body, Cursor, Entry, Key, Limits, Log, NewEntry, Origin, Pending,
    ReadError, Receipt, SessionId,
};

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// What a log must do.
    pub name: &'static str,
    /// Why it does not.
    pub failure: Option<String>,
}

type Outcome = Result<(), String>;
type Run = fn(Arc<dyn Log>) -> Pending<'static, Outcome>;

/// Runs all cases. `make` is called for each and returns an empty log.
pub async fn run(mut make: impl FnMut() -> Arc<dyn Log>) -> Vec<Case> {
    let mut report = Vec::new();
    for (name, case) in CASES {
        report.push(Case { name, failure: case(make()).await.err() });
    }
    report
}

macro_rules! cases {
    ($($case:ident)*) => {
        const CASES: &[(&str, Run)] = &[$((stringify!($case), |log| Box::pin($case(log)))),*];
    };
}

cases! {
    entries_are_numbered_without_gaps
    entries_are_returned_as_they_were_appended
    a_session_begins_with_its_owner
    an_old_owner_is_fenced
    a_refused_batch_leaves_nothing
    a_key_is_appended_once
    a_key_of_another_request_is_refused
    pages_have_limits
    places_outside_the_log_are_refused
    retention_keeps_the_numbers
    receipts_outlive_retention
    sessions_are_listed_in_pages
    a_watcher_learns_of_the_head
    concurrent_appends_do_not_mix
}

macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err(format!($($text)+));
        }
    };
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn entry(body: &str) -> Result<NewEntry, String> {
    let body = Body::parse(body).map_err(text)?;
    NewEntry::new("x.contract", Origin::External, body).map_err(text)
}

fn owner() -> Result<NewEntry, String> {
    Ok(NewEntry::owner(Body::parse("{}").map_err(text)?))
}

/// A new session at entry 1.
async fn begin(log: &dyn Log) -> Result<SessionId, String> {
    let session = SessionId::random();
    log.append(Batch::new(session, 1, [owner()?])).await.map_err(text)?;
    Ok(session)
}

async fn append(log: &dyn Log, session: SessionId, body: &str) -> Result<Receipt, String> {
    log.append(Batch::new(session, 1, [entry(body)?])).await.map_err(text)
}

/// Everything that is kept, read in pages of three.
async fn all(log: &dyn Log, session: SessionId) -> Result<Vec<Entry>, String> {
    let head = log.head(session).await.map_err(text)?.ok_or("the session has no head")?;
    let (mut entries, mut after) = (Vec::new(), head.first - 1);
    while after < head.last {
        let page = log.read(session, after, Limits::new(3, 1 << 20)).await.map_err(text)?;
        ensure!(!page.entries.is_empty(), "nothing after {after}, but the head is {head:?}");
        after += page.entries.len() as u64;
        entries.extend(page.entries);
    }
    Ok(entries)
}

async fn entries_are_numbered_without_gaps(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    let three = [entry("1")?, entry("2")?, entry("3")?];
    let receipt = log.append(Batch::new(session, 1, three)).await.map_err(text)?;
    ensure!((receipt.first, receipt.last) == (2, 4), "{receipt:?}");
    let receipt = append(&*log, session, "4").await?;
    ensure!((receipt.first, receipt.last) == (5, 5), "{receipt:?}");
    let seqs: Vec<u64> = all(&*log, session).await?.iter().map(|entry| entry.seq).collect();
    ensure!(seqs == [1, 2, 3, 4, 5], "{seqs:?}");
    Ok(())
}

async fn entries_are_returned_as_they_were_appended(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    let bodies = [r#"{"b": 1.0,  "a":"\ud83d"}"#, "null", "\"\u{0}\u{1f980}\"", "[1e400]"];
    for (body, origin) in bodies.into_iter().zip(Origin::ALL) {
        let Ok(body) = Body::parse(body) else { continue };
        let mut new = NewEntry::new("x.any-kind_1", origin, body.clone()).map_err(text)?;
        new.by = (origin == Origin::User).then(|| "token".into());
        log.append(Batch::new(session, 1, [new.clone()])).await.map_err(text)?;
        let read = all(&*log, session).await?.pop().ok_or("the entry is missing")?;
        ensure!(read.body == body, "{:?} was {body:?}", read.body);
        ensure!(
            (read.origin, &read.by, &read.kind) == (new.origin, &new.by, &new.kind),
            "{read:?} was {new:?}"
        );
        ensure!(read.session == session && read.generation == 1 && read.time > 0, "{read:?}");
    }
    Ok(())
}

async fn a_session_begins_with_its_owner(log: Arc<dyn Log>) -> Outcome {
    let session = SessionId::random();
    let refused = log.append(Batch::new(session, 1, [entry("1")?])).await;
    ensure!(refused == Err(AppendError::NoSession(session)), "{refused:?}");
    let refused = log.append(Batch::new(session, 2, [owner()?])).await;
    ensure!(matches!(refused, Err(AppendError::Invalid(_))), "{refused:?}");
    ensure!(log.head(session).await == Ok(None), "the session was created");
    let receipt = log.append(Batch::new(session, 1, [owner()?, entry("1")?])).await;
    ensure!(receipt == Ok(Receipt::new(1, 2)), "{receipt:?}");
    Ok(())
}

async fn an_old_owner_is_fenced(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    log.append(Batch::new(session, 2, [owner()?])).await.map_err(text)?;
    let fenced = Err(AppendError::Fenced { generation: 1, current: 2 });
    let refused = log.append(Batch::new(session, 1, [entry("1")?])).await;
    ensure!(refused == fenced, "{refused:?}");
    let refused = log.append(Batch::new(session, 2, [owner()?])).await;
    ensure!(matches!(refused, Err(AppendError::Fenced { .. })), "a second owner: {refused:?}");
    let refused = log.append(Batch::new(session, 3, [entry("1")?])).await;
    ensure!(matches!(refused, Err(AppendError::Invalid(_))), "no owner: {refused:?}");
    let receipt = log.append(Batch::new(session, 2, [entry("1")?])).await;
    ensure!(receipt == Ok(Receipt::new(3, 3)), "{receipt:?}");
    Ok(())
}

async fn a_refused_batch_leaves_nothing(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    for batch in [
        Batch::new(session, 1, []),
        Batch::new(session, 1, [entry("1")?, owner()?]),
        Batch::new(session, 9, [entry("1")?]).key(Key::new("k", b"1")),
    ] {
        let refused = log.append(batch).await;
        ensure!(refused.is_err(), "{refused:?}");
    }
    let receipt = log.append(Batch::new(session, 1, [entry("1")?]).key(Key::new("k", b"2"))).await;
    ensure!(receipt == Ok(Receipt::new(2, 2)), "{receipt:?}");
    Ok(())
}

async fn a_key_is_appended_once(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    let batch = Batch::new(session, 1, [entry("1")?, entry("2")?]).key(Key::new("k", b"same"));
    let first = log.append(batch.clone()).await.map_err(text)?;
    ensure!(!first.repeated, "{first:?}");
    append(&*log, session, "3").await?;
    let second = log.append(batch.clone()).await.map_err(text)?;
    ensure!(second == Receipt { repeated: true, ..first }, "{second:?}, not {first:?}");
    // Another owner gets the same receipt, and so does an old one.
    log.append(Batch::new(session, 2, [owner()?])).await.map_err(text)?;
    let third = log.append(batch).await.map_err(text)?;
    ensure!(third == second, "{third:?}");
    // A key belongs to its session.
    let other = begin(&*log).await?;
    let receipt =
        log.append(Batch::new(other, 1, [entry("1")?]).key(Key::new("k", b"other"))).await;
    ensure!(receipt == Ok(Receipt::new(2, 2)), "{receipt:?}");
    let bodies: Vec<String> =
        all(&*log, session).await?.iter().map(|entry| entry.body.as_str().to_owned()).collect();
    ensure!(bodies == ["{}", "1", "2", "3", "{}"], "{bodies:?}");
    Ok(())
}

async fn a_key_of_another_request_is_refused(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    let batch = Batch::new(session, 1, [entry("1")?]);
    log.append(batch.clone().key(Key::new("k", b"one"))).await.map_err(text)?;
    let refused = log.append(batch.key(Key::new("k", b"two"))).await;
    let expected = AppendError::KeyReused { name: "k".into(), seq: 2 };
    ensure!(refused == Err(expected), "{refused:?}");
    Ok(())
}

async fn pages_have_limits(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    for _ in 0..5 {
        append(&*log, session, "\"0123456789\"").await?;
    }
    let read = async |after, entries, bytes| {
        let page = log.read(session, after, Limits::new(entries, bytes)).await.map_err(text)?;
        ensure!(page.head.last == 6, "{:?}", page.head);
        Ok(page.entries.iter().map(|entry| entry.seq).collect::<Vec<_>>())
    };
    for (after, entries, bytes, expected) in [
        (0, 2, 1_000, &[1, 2][..]),
        (1, 100, 30, &[2, 3]),
        (1, 100, 1, &[2]),
        (4, 0, 0, &[5]),
        (5, 100, 1_000, &[6]),
        (6, 100, 1_000, &[]),
    ] {
        let seqs = read(after, entries, bytes).await?;
        ensure!(seqs == expected, "after {after}, {entries} of {bytes} bytes: {seqs:?}");
    }
    Ok(())
}

async fn places_outside_the_log_are_refused(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    let ahead = log.read(session, 2, Limits::default()).await;
    ensure!(matches!(ahead, Err(ReadError::Ahead { head: 1 })), "{ahead:?}");
    let unknown = SessionId::random();
    let missing = log.read(unknown, 0, Limits::default()).await;
    ensure!(matches!(missing, Err(ReadError::NoSession(id)) if id == unknown), "{missing:?}");
    let missing = log.snapshot(unknown).await;
    ensure!(missing == Err(ReadError::NoSession(unknown)), "{missing:?}");
    ensure!(log.head(unknown).await == Ok(None), "a head of no session");
    let cursor = Cursor::new(log.incarnation(), 1);
    ensure!(cursor.seq_in(log.incarnation()) == Ok(1), "the incarnation changes");
    Ok(())
}

async fn retention_keeps_the_numbers(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    for number in 0..4 {
        append(&*log, session, &number.to_string()).await?;
    }
    let snapshot = |number: u8| Body::encode(&number).map_err(text);
    ensure!(log.snapshot(session).await == Ok(None), "a snapshot before any retention");
    let first = log.retain(session, 3, snapshot(1)?).await;
    ensure!(first == Ok(3), "{first:?}");
    let first = log.retain(session, 2, snapshot(2)?).await;
    ensure!(first == Ok(3), "{first:?}");
    let kept = log.snapshot(session).await;
    ensure!(kept == Ok(Some(snapshot(1)?)), "{kept:?}");
    let gone = log.read(session, 1, Limits::default()).await;
    ensure!(matches!(gone, Err(ReadError::Gone { first: 3 })), "{gone:?}");
    let refused = log.retain(session, 6, snapshot(3)?).await;
    ensure!(matches!(refused, Err(AppendError::Invalid(_))), "the last entry: {refused:?}");
    let first = log.retain(session, 5, snapshot(4)?).await;
    ensure!(first == Ok(5), "{first:?}");
    let receipt = append(&*log, session, "5").await?;
    ensure!(receipt.first == 6, "{receipt:?}");
    let seqs: Vec<u64> = all(&*log, session).await?.iter().map(|entry| entry.seq).collect();
    ensure!(seqs == [5, 6], "{seqs:?}");
    let unknown = SessionId::random();
    let refused = log.retain(unknown, 1, snapshot(5)?).await;
    ensure!(refused == Err(AppendError::NoSession(unknown)), "{refused:?}");
    Ok(())
}

async fn receipts_outlive_retention(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    let batch = Batch::new(session, 1, [entry("1")?]).key(Key::new("k", b"1"));
    log.append(batch.clone()).await.map_err(text)?;
    append(&*log, session, "2").await?;
    log.retain(session, 3, Body::parse("0").map_err(text)?).await.map_err(text)?;
    let receipt = log.append(batch).await;
    ensure!(receipt == Ok(Receipt { first: 2, last: 2, repeated: true }), "{receipt:?}");
    Ok(())
}

async fn sessions_are_listed_in_pages(log: Arc<dyn Log>) -> Outcome {
    let mut expected = Vec::new();
    for _ in 0..7 {
        expected.push(begin(&*log).await?);
    }
    expected.sort();
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = log.sessions(after, 3).await.map_err(text)?;
        ensure!(page.len() <= 3, "{} sessions", page.len());
        let Some((last, head)) = page.last() else { break };
        ensure!((head.first, head.last, head.generation) == (1, 1, 1), "{head:?}");
        after = Some(*last);
        listed.extend(page.iter().map(|(id, _)| *id));
    }
    ensure!(listed == expected, "{listed:?}, not {expected:?}");
    Ok(())
}

async fn a_watcher_learns_of_the_head(log: Arc<dyn Log>) -> Outcome {
    let session = begin(&*log).await?;
    let mut watch = log.watch(session);
    let receipt = append(&*log, session, "1").await?;
    let head = *watch.wait_for(|head| *head >= receipt.last).await.map_err(text)?;
    let page = log.read(session, head - 1, Limits::default()).await.map_err(text)?;
    ensure!(page.entries.len() == 1, "the entry cannot be read: {page:?}");
    Ok(())
}

async fn concurrent_appends_do_not_mix(log: Arc<dyn Log>) -> Outcome {
    let mut tasks = tokio::task::JoinSet::new();
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(begin(&*log).await?);
    }
    for number in 0..64_usize {
        let (log, session) = (Arc::clone(&log), sessions[number % 4]);
        let pair = [entry(&number.to_string())?, entry(&number.to_string())?];
        tasks.spawn(
            async move { (number, session, log.append(Batch::new(session, 1, pair)).await) },
        );
    }
    let mut receipts = Vec::new();
    while let Some(done) = tasks.join_next().await {
        let (number, session, receipt) = done.map_err(text)?;
        receipts.push((number, session, receipt.map_err(text)?));
    }
    for session in sessions {
        let entries = all(&*log, session).await?;
        ensure!(entries.len() == 33, "{} entries", entries.len());
        for (number, _, receipt) in receipts.iter().filter(|(_, id, _)| *id == session) {
            for seq in receipt.first..=receipt.last {
                let found = entries.iter().find(|entry| entry.seq == seq);
                let body = found.map(|entry| entry.body.as_str().to_owned());
                ensure!(body == Some(number.to_string()), "{seq}: {body:?}, not {number}");
            }
        }
    }
    Ok(())
}
