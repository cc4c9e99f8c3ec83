//! Runs the cases: each with each peer, and a second time if the first attempt failed.
//!
//! A second attempt is never silent. It is printed when it begins, counted in the summary, and named in the document:
//! a cell that needs one now and then has a race, in a peer or in the case.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

use crate::case::{Case, Trouble};
use crate::differences::{self, Differences, Said};
use crate::host;
use crate::matrix::{Cell, Matrix};
use crate::peers::Peer;
use crate::stage::Stage;

/// How long one case may take.
const CASE_TIMEOUT: Duration = Duration::from_secs(120);

/// How long processes may take to be gone after a case.
const PROCESSES_GONE: Duration = Duration::from_secs(5);

/// The tapes of each peer in each case that it passed.
pub(crate) type Heard = HashMap<(&'static str, String), Said>;

/// Runs all cases with all peers. The matrix has a cell for each, whatever happens to the case.
pub(crate) async fn play(
    cases: &[Case],
    peers: &[Peer],
    places: &Arc<Semaphore>,
    tapes: &Path,
) -> (Matrix, Heard) {
    let mut running = JoinSet::new();
    for peer in peers {
        for case in cases {
            let (case, peer, places) = (*case, peer.clone(), Arc::clone(places));
            let tapes = tapes.to_owned();
            running.spawn(async move {
                let _place = places.acquire_owned().await;
                let mut done = attempt(case, &peer, &tapes).await;
                let mut first_failure = None;
                if let Err(Trouble::Fails(why)) = &done {
                    anstream::eprintln!("second attempt: {} {}: {why}", case.name, peer.name);
                    first_failure = Some(why.clone());
                    done = attempt(case, &peer, &tapes).await;
                }
                (case.name, peer.name, done, first_failure)
            });
        }
    }
    let mut matrix = Matrix::default();
    // A cell without a result is red.
    for peer in peers {
        for case in cases {
            matrix.set(case.name, &peer.name, Cell::Fail("the case has no result".to_owned()));
        }
    }
    let mut heard = Heard::new();
    while let Some(done) = running.join_next().await {
        let (row, column, done, first_failure) = match done {
            Ok(done) => done,
            // Cases run in `attempt`, which catches panics. If this task panics anyway, its cell stays red.
            Err(error) => {
                let error = duologue::protocol::visible::line(&error.to_string()).into_owned();
                anstream::eprintln!("a case ended without a result: {error}");
                continue;
            }
        };
        let cell = Cell::from(done.map(|said| drop(heard.insert((row, column.clone()), said))));
        anstream::eprintln!("{:7} {row} {column}", cell.word());
        matrix.set(row, &column, cell);
        if let Some(why) = first_failure {
            matrix.needed_second_attempt(row, &column, why);
        }
    }
    (matrix, heard)
}

/// Compares two peers, Claude Code first.
pub(crate) async fn compare(
    cases: &[Case],
    pair: [&Peer; 2],
    mut heard: Heard,
    tapes: &Path,
    matrix: &mut Matrix,
) -> Result<()> {
    let mut differences = Differences::read()?;
    for case in cases {
        let [real, ours] = pair.map(|peer| heard.remove(&(case.name, peer.name.clone())));
        let (Some(real), Some(ours)) = (real, ours) else { continue };
        let mut cell = differences.judge(case.name, &real, &ours);
        if let Cell::Fail(why) = &cell {
            anstream::eprintln!("second attempt: {} {}: {why}", case.name, differences::COLUMN);
            matrix.needed_second_attempt(case.name, differences::COLUMN, why.clone());
            let [real, ours] = pair;
            let real = attempt(*case, real, tapes).await;
            let ours = attempt(*case, ours, tapes).await;
            cell = match (real, ours) {
                (Ok(real), Ok(ours)) => differences.judge(case.name, &real, &ours),
                (Err(trouble), _) | (_, Err(trouble)) => Cell::from(Err(trouble)),
            };
        }
        matrix.set(case.name, differences::COLUMN, cell);
    }
    if cases.len() == host::CASES.len() {
        matrix.set(differences::LIST, differences::COLUMN, differences.list());
    }
    Ok(())
}

/// One attempt at a case, in a task of its own: a panic is a failure of the case.
async fn attempt(case: Case, peer: &Peer, tapes: &Path) -> Result<Said, Trouble> {
    let (peer, tapes) = (peer.clone(), tapes.to_owned());
    let done = tokio::spawn(async move { perform(case, &peer, &tapes).await }).await;
    done.unwrap_or_else(|error| Err(Trouble::Fails(panic_message(error))))
}

/// What a task panicked with.
pub(crate) fn panic_message(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "it was cancelled".to_owned() };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.unwrap_or_else(|| "no message".to_owned()))
}

/// Runs one case with one peer and returns its tapes. No process may be left running.
async fn perform(case: Case, peer: &Peer, tapes: &Path) -> Result<Said, Trouble> {
    let tapes = tapes.join(case.name.replace('/', "-")).join(&peer.name);
    let stage = Stage::new(peer.clone(), tapes.clone())?;
    let verdict = match tokio::time::timeout(CASE_TIMEOUT, (case.run)(&stage)).await {
        Ok(verdict) => verdict,
        Err(_) => Err(Trouble::fails(format!("took more than {} s", CASE_TIMEOUT.as_secs()))),
    };
    let until = Instant::now() + PROCESSES_GONE;
    while !stage.left_running().is_empty() {
        if Instant::now() > until {
            let left = stage.left_running();
            let left = Err(Trouble::fails(format!("processes left running: {left:?}")));
            return verdict.and(left);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stage.written()?;
    verdict?;
    differences::said(&tapes, stage.place())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use duologue::launch::CliVersion;
    use tokio::sync::Semaphore;

    use super::play;
    use crate::case::{Case, Trouble};
    use crate::matrix::{Cell, Matrix};
    use crate::peers::Peer;

    /// Its program is never started.
    const PEER: &str = "1.2.3";

    fn peer() -> Peer {
        let version = CliVersion::parse(PEER).unwrap();
        Peer { name: PEER.to_owned(), version, program: PathBuf::from("never-started") }
    }

    async fn run(cases: &[Case]) -> Matrix {
        let tapes = tempfile::tempdir().unwrap();
        let places = Arc::new(Semaphore::new(2));
        play(cases, &[peer()], &places, tapes.path()).await.0
    }

    #[tokio::test]
    async fn a_case_that_panics_is_a_red_cell() {
        let cases = [
            Case { name: "test/panics", run: |_| Box::pin(async { panic!("no {}", "luck") }) },
            Case { name: "test/passes", run: |_| Box::pin(async { Ok(()) }) },
        ];
        let matrix = run(&cases).await;
        let panicked = Cell::Fail("it panicked: no luck".to_owned());
        assert_eq!(matrix.cell("test/panics", PEER), Some(&panicked));
        assert_eq!(matrix.cell("test/passes", PEER), Some(&Cell::Pass));
        assert!(!crate::all_is_well(&matrix, &Matrix::default()), "the exit code would be 0");
    }

    static ATTEMPTS: AtomicUsize = AtomicUsize::new(0);

    #[tokio::test]
    async fn a_second_attempt_is_counted_and_named() {
        let lucky = Case {
            name: "test/lucky",
            run: |_| {
                Box::pin(async {
                    let first = ATTEMPTS.fetch_add(1, Ordering::Relaxed) == 0;
                    if first { Err(Trouble::fails("a race")) } else { Ok(()) }
                })
            },
        };
        let steady = Case { name: "test/steady", run: |_| Box::pin(async { Ok(()) }) };
        let matrix = run(&[lucky, steady]).await;
        assert_eq!(matrix.cell("test/lucky", PEER), Some(&Cell::Pass));
        assert_eq!(matrix.second_attempts(), [("test/lucky", PEER, "a race")]);
        assert_eq!(matrix.cell("test/steady", PEER), Some(&Cell::Pass));
    }
}
