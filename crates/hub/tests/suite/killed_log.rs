//! `kill -9` of a process that appends: what it was promised is there afterwards, and nothing else is broken.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use duologue_hub::log::{
    Batch, Body, Limits, Log, NewEntry, OWNER, Origin, SessionId, SqliteLog, SqliteOptions,
};

/// The folder of the log, for the process that appends.
const FOLDER: &str = "HUB_TEST_KILLED_LOG";
/// How many appends the process makes if it is not killed.
const APPENDS: usize = 200_000;
/// How many appends are acknowledged before each kill.
const ACKNOWLEDGED: usize = 300;
const SESSIONS: usize = 4;

fn entry(body: &str) -> NewEntry {
    NewEntry::new("x.test", Origin::External, Body::parse(body).unwrap()).unwrap()
}

/// Appends to some sessions at once and prints each receipt when it has it.
async fn append(folder: &Path, appends: usize) {
    let log = Arc::new(SqliteLog::open(folder, SqliteOptions::default()).unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..SESSIONS {
        let log = Arc::clone(&log);
        tasks.spawn(async move {
            let session = SessionId::random();
            let owner = NewEntry::owner(Body::parse("{}").unwrap());
            log.append(Batch::new(session, 1, [owner])).await.unwrap();
            for number in 0..appends / SESSIONS {
                let (a, b) = (format!("[{number},0]"), format!("[{number},1]"));
                let batch = Batch::new(session, 1, [entry(&a), entry(&b)]);
                let receipt = log.append(batch).await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "receipt {session} {} {number}", receipt.first).unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

/// The process that is killed is this test, started by the other one. Alone, it appends a little.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_appends() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), 8).await;
        let log = SqliteLog::open(folder.path(), SqliteOptions::default()).unwrap();
        let sessions = log.sessions(None, 100).await.unwrap();
        assert!(sessions.iter().all(|(_, head)| head.last == 5), "{sessions:?}");
        assert_eq!(sessions.len(), SESSIONS);
        return;
    };
    append(Path::new(&folder), APPENDS).await;
}

/// Starts the process, reads receipts and kills it.
fn kill_while_it_appends(folder: &Path) -> Vec<(SessionId, u64, u64)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "suite::killed_log::a_process_appends", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut receipts = Vec::new();
    let mut read = |line: &str| {
        let Some((_, line)) = line.split_once("receipt ") else { return };
        // The last line may be torn.
        let words: Vec<&str> = line.split(' ').collect();
        let [session, first, number] = words[..] else { return };
        let (Ok(session), Ok(first), Ok(number)) =
            (session.parse(), first.parse(), number.parse::<u64>())
        else {
            return;
        };
        receipts.push((session, first, number));
    };
    for line in lines.by_ref().take(ACKNOWLEDGED) {
        read(&line.unwrap());
    }
    child.kill().unwrap();
    let mut rest: Vec<String> = lines.map_while(Result::ok).collect();
    // A number at the very end may be torn.
    rest.pop();
    rest.iter().for_each(|line| read(line));
    assert!(!child.wait().unwrap().success());
    receipts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let mut promised: HashMap<SessionId, Vec<(u64, u64)>> = HashMap::new();
    for _ in 0..5 {
        let receipts = kill_while_it_appends(folder.path());
        assert!(receipts.len() > ACKNOWLEDGED / 2);
        for (session, first, number) in receipts {
            promised.entry(session).or_default().push((first, number));
        }
        let log = SqliteLog::open(folder.path(), SqliteOptions::default()).unwrap();
        for (session, receipts) in &promised {
            let head = log.head(*session).await.unwrap().unwrap();
            // The owner and pairs: a batch is there as a whole or not at all.
            assert_eq!(head.last % 2, 1, "half a batch");
            let page = log.read(*session, 0, Limits::new(usize::MAX, usize::MAX)).await.unwrap();
            assert_eq!(page.entries.len() as u64, head.last);
            assert_eq!(page.entries[0].kind.as_str(), OWNER);
            for (first, number) in receipts {
                for (entry, index) in page.entries[*first as usize - 1..].iter().zip(0..2) {
                    assert_eq!(entry.body.as_str(), format!("[{number},{index}]"));
                }
            }
        }
        // It continues where it was.
        let (session, _) = promised.iter().next().unwrap();
        let before = log.head(*session).await.unwrap().unwrap().last;
        let pair = [entry("0"), entry("0")];
        let receipt = log.append(Batch::new(*session, 1, pair)).await.unwrap();
        assert_eq!(receipt.first, before + 1);
    }
    let db = rusqlite::Connection::open(folder.path().join("hub.db")).unwrap();
    let verdict: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}
