//! Requests that are withdrawn: by a notification, by dropping the future, by the end of everything.

use serde_json::json;
use tokio::sync::mpsc;

use super::super::{self as mcp, BoxFuture};
use super::services::{Said, Service};
use super::*;

const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"interrupted"}}"#;

/// A tool that tells when it began and when it was dropped.
fn waiting() -> (mcp::Server, mpsc::Receiver<Said>) {
    struct Dropped(mpsc::Sender<Said>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.try_send(Said::Cancelled).ok();
        }
    }
    let (said, heard) = mpsc::channel(16);
    let tool = mcp::tool("wait", "Waits for ever", move |_: ()| {
        let said = said.clone();
        async move {
            said.try_send(Said::Began).unwrap();
            let _dropped = Dropped(said);
            std::future::pending::<()>().await;
        }
    });
    (mcp::server("calc").tool(tool), heard)
}

fn both() -> [(Agent, mpsc::Receiver<Said>); 2] {
    let (server, heard) = waiting();
    let (service, service_heard) = Service::new();
    [(Agent::of(&server), heard), (Agent::of(&service.server()), service_heard)]
}

fn wait(agent: &Agent) -> BoxFuture<Option<RawObject>> {
    agent.0.handle(object(&request(2, "tools/call", json!({ "name": "wait" }))))
}

#[tokio::test]
async fn a_notification_cancels_a_call_and_the_call_is_answered() {
    for (agent, mut heard) in both() {
        agent.send(INITIALIZE).await;
        let call = tokio::spawn(wait(&agent));
        assert_eq!(heard.recv().await, Some(Said::Began));
        assert_eq!(agent.send(CANCEL).await, None);
        let answer = call.await.unwrap().unwrap().to_value().unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(-32800)));
        assert_eq!(heard.recv().await, Some(Said::Cancelled));
        // Too late, and about nothing at all.
        assert_eq!(agent.send(CANCEL).await, None);
        assert_eq!(
            agent.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#).await,
            None
        );
        assert_eq!(agent.ask(9, "ping", json!({})).await["result"], json!({}));
    }
}

#[tokio::test]
async fn dropping_the_future_cancels_the_call() {
    for (agent, mut heard) in both() {
        agent.send(INITIALIZE).await;
        let call = tokio::spawn(wait(&agent));
        assert_eq!(heard.recv().await, Some(Said::Began));
        call.abort();
        assert_eq!(heard.recv().await, Some(Said::Cancelled));
        assert!(call.await.unwrap_err().is_cancelled());
        assert_eq!(agent.ask(3, "ping", json!({})).await["result"], json!({}));
    }
}

#[tokio::test]
async fn an_id_is_free_again_after_its_call() {
    for (agent, mut heard) in both() {
        agent.send(INITIALIZE).await;
        // A service may answer a cancelled call late: the next call with its id must not get that answer.
        for _ in 0..3 {
            let call = tokio::spawn(wait(&agent));
            assert_eq!(heard.recv().await, Some(Said::Began));
            call.abort();
            assert_eq!(heard.recv().await, Some(Said::Cancelled));
        }
        let call = tokio::spawn(wait(&agent));
        assert_eq!(heard.recv().await, Some(Said::Began));
        agent.send(CANCEL).await;
        let answer = call.await.unwrap().unwrap().to_value().unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(-32800)));
    }
}

#[tokio::test]
async fn an_id_cannot_be_used_twice_at_once() {
    for (agent, mut heard) in both() {
        agent.send(INITIALIZE).await;
        let call = tokio::spawn(wait(&agent));
        assert_eq!(heard.recv().await, Some(Said::Began));
        let answer = wait(&agent).await.unwrap().to_value().unwrap();
        assert_eq!(answer["error"]["code"], -32600);
        call.abort();
        assert_eq!(heard.recv().await, Some(Said::Cancelled));
    }
}

#[tokio::test]
async fn a_new_handshake_ends_what_a_service_works_on() {
    let (service, mut heard) = Service::new();
    let agent = Agent::of(&service.server());
    agent.send(INITIALIZE).await;
    let call = tokio::spawn(wait(&agent));
    assert_eq!(heard.recv().await, Some(Said::Began));
    agent.send(INITIALIZE).await;
    let answer = call.await.unwrap().unwrap().to_value().unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(-32603)));
    assert_eq!(heard.recv().await, Some(Said::Cancelled));
}

#[tokio::test]
async fn dropping_the_connection_ends_everything() {
    for (agent, mut heard) in both() {
        agent.send(INITIALIZE).await;
        let call = tokio::spawn(wait(&agent));
        assert_eq!(heard.recv().await, Some(Said::Began));
        drop(agent);
        let answer = call.await.unwrap().unwrap().to_value().unwrap();
        assert_eq!(answer["error"]["code"], -32603);
        assert_eq!(heard.recv().await, Some(Said::Cancelled));
    }
}

#[tokio::test]
async fn agents_do_not_cancel_each_others_calls() {
    let (server, mut heard) = waiting();
    let (one, other) = (Agent::of(&server), Agent::of(&server));
    let call = tokio::spawn(wait(&one));
    assert_eq!(heard.recv().await, Some(Said::Began));
    other.send(CANCEL).await;
    assert!(heard.try_recv().is_err());
    one.send(CANCEL).await;
    assert_eq!(heard.recv().await, Some(Said::Cancelled));
    call.await.unwrap();
}
