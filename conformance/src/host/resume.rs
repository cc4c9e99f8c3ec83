//! Resuming conversations.

use std::time::Duration;

use duologue::launch::Conversation;
use duologue::protocol::SessionId;
use duologue::{Error, Respawn};
use duologue_model::{Reply, Scenario};

use super::{ask, close, says};
use crate::case::{Trouble, Verdict, holds, same};
use crate::stage::Stage;

fn always(text: &str) -> Scenario {
    says([Reply::text(text).always()])
}

/// Runs a first conversation and returns its id.
async fn first(stage: &Stage, base_url: &str) -> Result<SessionId, Trouble> {
    let session = stage.builder(base_url)?.start().await?;
    ask(&session, "The word is heron").await?;
    let id = session.session_id().ok_or_else(|| Trouble::fails("no session id"))?;
    close(session).await?;
    Ok(id)
}

pub(super) async fn resume(stage: &Stage) -> Verdict {
    let (server, _) = stage.play(always("Yes.")).await?;
    let id = first(stage, &server.base_url()).await?;
    let builder = stage.builder(&server.base_url())?.conversation(Conversation::resume(id.clone()));
    let session = builder.start().await?;
    ask(&session, "Which word?").await?;
    same!(session.session_id(), Some(id), "the id");
    let last = server.requests().pop().map(|request| format!("{request:?}")).unwrap_or_default();
    holds!(last.contains("heron"), "the earlier conversation is missing in the request");
    close(session).await
}

pub(super) async fn fork(stage: &Stage) -> Verdict {
    let (server, _) = stage.play(always("Yes.")).await?;
    let id = first(stage, &server.base_url()).await?;
    let builder = stage.builder(&server.base_url())?.conversation(Conversation::fork(id.clone()));
    let session = builder.start().await?;
    ask(&session, "Which word?").await?;
    holds!(session.session_id().is_some_and(|fork| fork != id), "the fork has no id of its own");
    close(session).await
}

pub(super) async fn continue_newest(stage: &Stage) -> Verdict {
    let (server, _) = stage.play(always("Yes.")).await?;
    let id = first(stage, &server.base_url()).await?;
    let builder = stage.builder(&server.base_url())?.conversation(Conversation::Continue);
    let session = builder.start().await?;
    ask(&session, "Which word?").await?;
    same!(session.session_id(), Some(id), "the id");
    close(session).await
}

pub(super) async fn unknown(stage: &Stage) -> Verdict {
    let (server, _) = stage.play(always("Yes.")).await?;
    let nowhere = Conversation::resume("00000000-0000-4000-8000-000000000000");
    let started = stage.builder(&server.base_url())?.conversation(nowhere).start().await;
    let error = match started {
        Err(error) => error,
        Ok(session) => match session.prompt("Hi").await {
            Err(error) => error,
            Ok(mut turn) => match turn.outcome().await {
                Err(error) => error,
                Ok(outcome) => return Err(Trouble::fails(format!("it continued: {outcome:?}"))),
            },
        },
    };
    holds!(matches!(error, Error::Gone(_)), "{error}");
    Ok(())
}

pub(super) async fn chosen_id(stage: &Stage) -> Verdict {
    let (server, _) = stage.play(always("Yes.")).await?;
    let id = SessionId::from("11111111-1111-4111-8111-111111111111");
    let chosen = Conversation::NewWithId(id.clone());
    let session = stage.builder(&server.base_url())?.conversation(chosen.clone()).start().await?;
    ask(&session, "Hi").await?;
    same!(session.session_id(), Some(id), "the id");
    close(session).await?;
    // An id can be used once.
    let again = stage.builder(&server.base_url())?.conversation(chosen).start().await;
    let error = match again {
        Err(error) => error,
        Ok(session) => match ask(&session, "Hi").await {
            Err(error) => error,
            Ok(_) => return Err(Trouble::fails("the id was given twice")),
        },
    };
    holds!(error.to_string().contains("already in use"), "{error}");
    Ok(())
}

pub(super) async fn resume_or_new(stage: &Stage) -> Verdict {
    let (server, _) = stage.play(always("Yes.")).await?;
    let id = SessionId::from("22222222-2222-4222-8222-222222222222");
    for _ in 0..2 {
        let choice = Conversation::ResumeOrNew(id.clone());
        let session = stage.builder(&server.base_url())?.conversation(choice).start().await?;
        let (_, outcome) = ask(&session, "Hi").await?;
        holds!(outcome.is_success(), "{:?}", outcome.error());
        same!(session.session_id(), Some(id.clone()), "the id");
        close(session).await?;
    }
    Ok(())
}

/// How long an agent may take to store the conversation, and how often this is checked.
const STORED_TIMEOUT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

pub(super) async fn after_a_crash(stage: &Stage) -> Verdict {
    let (server, _) = stage.play(always("Yes.")).await?;
    let builder = stage.builder(&server.base_url())?.respawn(Respawn::up_to(1));
    let session = builder.start().await?;
    ask(&session, "The word is heron").await?;
    let (id, pid) = (session.session_id(), session.pid());
    let pid = pid.ok_or_else(|| Trouble::fails("no process"))?;
    let id = id.ok_or_else(|| Trouble::fails("no id"))?;
    // Some versions store it a little later, and the prompt before the answer. Without the answer it is not resumed.
    let kept = async {
        while !stage.keeps(&id, "Yes.") {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(STORED_TIMEOUT, kept).await.is_err() {
        close(session).await?;
        return Err(Trouble::fails("the conversation was not stored"));
    }
    kill(pid).await?;
    // A prompt sent at once might still go to the dead agent, so wait for the new one.
    let restarted = async {
        while session.pid().is_none_or(|now| now == pid) {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(STORED_TIMEOUT, restarted).await.is_err() {
        return Err(Trouble::fails("it was not started again"));
    }
    let (_, outcome) = ask(&session, "Which word?").await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    same!(session.session_id(), Some(id), "the id");
    close(session).await
}

async fn kill(pid: u32) -> Verdict {
    let status = tokio::process::Command::new("kill").arg("-9").arg(pid.to_string()).status();
    holds!(status.await?.success(), "the agent could not be killed");
    Ok(())
}
