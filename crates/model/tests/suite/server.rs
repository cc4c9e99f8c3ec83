//! The scripted API over HTTP.

use duologue_model::{ApiError, Block, Reply, Scenario, Server, Unplayed, When};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::asking::EVENTS;
use super::client::{asks, finish, message, open, post, read_until, send, streamed};

async fn server(scenario: Scenario) -> Server {
    Server::start(scenario).await.unwrap()
}

#[tokio::test]
async fn a_reply_is_sent_whole_or_streamed() {
    let server = server(Scenario::new().reply(Reply::text("Hello there.").times(2))).await;
    let address = server.address();

    let whole = message(address, &asks("hi")).await;
    assert_eq!((whole.status, whole.header("content-type")), (200, Some("application/json")));
    assert_eq!(whole.json()["content"], json!([{ "type": "text", "text": "Hello there." }]));
    assert_eq!(whole.json()["stop_reason"], "end_turn");

    let stream = message(address, &streamed(asks("hi"))).await;
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    assert!(stream.is_whole);
    let types: Vec<Value> = stream.events().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(types, EVENTS);
    assert_ne!(whole.header("request-id"), stream.header("request-id"));
    server.finished().unwrap();
}

#[tokio::test]
async fn requests_are_kept_without_keys() {
    let server = server(Scenario::new().reply(Reply::text("Hello."))).await;
    message(server.address(), &asks("hi")).await;
    let mut quota = asks("quota");
    quota["max_tokens"] = 1.into();
    message(server.address(), &quota).await;

    let requests = server.requests();
    let seen: Vec<_> =
        requests.iter().map(|exchange| (exchange.agent.as_str(), exchange.reply)).collect();
    assert_eq!(seen, [("main", Some(0)), ("quota", None)]);
    assert_eq!(*requests[0].request.body(), asks("hi"));
    assert_eq!(requests[0].request.header("x-app"), Some("test"));
    assert_eq!(requests[0].request.header("x-api-key"), None);
    assert_eq!(server.turns(), 1);
}

#[tokio::test]
async fn errors_are_those_of_the_api() {
    let server = server(
        Scenario::new()
            .reply(Reply::error(ApiError::new(429).retry_after(7)))
            .reply(Reply::error(529))
            .reply(Reply::error(401))
            .reply(
                Reply::error(ApiError::new(400).message("no").kind("odd_error"))
                    .header("x-why", "test"),
            ),
    )
    .await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(message(server.address(), &streamed(asks("hi"))).await);
    }
    let seen: Vec<_> = answers
        .iter()
        .map(|answer| (answer.status, answer.json()["error"]["type"].clone()))
        .collect();
    assert_eq!(
        seen,
        [
            (429, json!("rate_limit_error")),
            (529, json!("overloaded_error")),
            (401, json!("authentication_error")),
            (400, json!("odd_error")),
        ]
    );
    assert_eq!(answers[0].header("retry-after"), Some("7"));
    assert_eq!(answers[3].json()["error"]["message"], "no");
    assert_eq!(answers[3].header("x-why"), Some("test"));
}

#[tokio::test]
async fn a_stream_is_cut_after_the_scripted_event() {
    let server = server(
        Scenario::new()
            .reply(Reply::text("Hello.").cut_after(3))
            .reply(Reply::text("Hello.").cut_after(1000))
            .reply(Reply::text("Hello.").cut_after(2)),
    )
    .await;
    let cut = message(server.address(), &streamed(asks("hi"))).await;
    assert!(!cut.is_whole);
    assert_eq!(cut.events().len(), 3);
    let late = message(server.address(), &streamed(asks("hi"))).await;
    assert!(!late.is_whole);
    assert_eq!(late.events().last().unwrap()["type"], "message_stop");
    let whole = message(server.address(), &asks("hi")).await;
    assert!(!whole.is_whole);
    assert_eq!(whole.body, "");
}

#[tokio::test]
async fn a_stream_that_stalls_ends_with_the_server() {
    let server = server(Scenario::new().reply(Reply::text("Hello.").stall_after(3))).await;
    let body = streamed(asks("hi")).to_string();
    let mut stream = open(server.address(), "POST", "/v1/messages", &body).await;
    read_until(&mut stream, "text_delta").await;
    let address = server.address();
    server.shutdown().await;
    finish(&mut stream).await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_stream_that_stalls_can_be_resumed() {
    let replies = [Reply::text("Hello.").stall_after(3), Reply::text("Again.").stall_after(0)];
    let server = server(replies.into_iter().fold(Scenario::new(), Scenario::reply)).await;
    let body = streamed(asks("hi")).to_string();
    let mut stream = open(server.address(), "POST", "/v1/messages", &body).await;
    read_until(&mut stream, "text_delta").await;
    server.resume();
    read_until(&mut stream, "message_stop").await;
    // Those that follow do not stall any more.
    let next = message(server.address(), &streamed(asks("hi"))).await;
    assert_eq!(next.events().last().unwrap()["type"], "message_stop");
    server.shutdown().await;
}

#[tokio::test]
async fn a_client_may_disconnect_from_a_stalled_stream() {
    let server = server(
        Scenario::new().reply(Reply::text("Hello.").stall_after(3)).reply(Reply::text("Again.")),
    )
    .await;
    let body = streamed(asks("hi")).to_string();
    let mut stream = open(server.address(), "POST", "/v1/messages", &body).await;
    read_until(&mut stream, "text_delta").await;
    drop(stream);
    let next = message(server.address(), &asks("hi")).await;
    assert_eq!(next.json()["content"][0]["text"], "Again.");
    server.shutdown().await;
}

#[tokio::test]
async fn a_delay_ends_with_the_server() {
    let server = server(Scenario::new().reply(Reply::text("Late.").delay_ms(86_400_000))).await;
    let body = streamed(asks("hi")).to_string();
    let mut stream = open(server.address(), "POST", "/v1/messages", &body).await;
    server.wait_for(1).await;
    server.shutdown().await;
    finish(&mut stream).await;
}

#[tokio::test]
async fn a_test_can_wait_for_turns() {
    let server = server(Scenario::new().reply(Reply::text("Hello.").times(2))).await;
    let asking = async {
        for _ in 0..2 {
            message(server.address(), &asks("hi")).await;
        }
    };
    tokio::join!(asking, server.wait_for(2));
    assert_eq!(server.turns(), 2);
}

#[tokio::test]
async fn a_request_without_a_reply_is_refused_and_recorded() {
    let server =
        server(Scenario::new().reply(Reply::text("rain").when(When::prompt("weather")))).await;
    let unfinished = server.finished().unwrap_err();
    assert!(matches!(unfinished, Unplayed::Unfinished(_)), "{unfinished}");

    let refused = message(server.address(), &streamed(asks("hello"))).await;
    assert_eq!(refused.status, 400);
    let text = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(text.starts_with("the script has no reply left for main"), "{text}");
    let unplayed = server.finished().unwrap_err();
    assert!(matches!(unplayed, Unplayed::Mismatch(_)), "{unplayed}");
    assert_eq!(unplayed.to_string(), text);
}

#[tokio::test]
async fn a_reply_with_lines_only_is_skipped() {
    let server = server(
        Scenario::new().reply(Reply::new().line("{}")).reply(Reply::text("Hello.").line("{}")),
    )
    .await;
    let answer = message(server.address(), &asks("hi")).await;
    assert_eq!(answer.json()["content"][0]["text"], "Hello.");
    server.finished().unwrap();
}

#[tokio::test]
async fn other_endpoints_of_the_api() {
    let server = server(Scenario::new()).await;
    let address = server.address();
    assert_eq!(server.base_url(), format!("http://{address}"));
    assert!(address.ip().is_loopback());
    for method in ["GET", "HEAD"] {
        assert_eq!(send(address, method, "/").await.status, 200);
    }
    let count = post(address, "/v1/messages/count_tokens", &asks("hello")).await;
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 0);
    let missing = send(address, "GET", "/v1/models").await;
    assert_eq!(
        (missing.status, missing.json()["error"]["type"].clone()),
        (404, json!("not_found_error"))
    );
    let bad = post(address, "/v1/messages", &json!({})).await;
    assert_eq!(bad.status, 400);
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_huge_text_arrives() {
    let server =
        server(Scenario::new().reply(Reply::new().say(Block::repeated("0123456789", 400_000))))
            .await;
    let answer = message(server.address(), &streamed(asks("hi"))).await;
    let texts: String = answer
        .events()
        .iter()
        .filter_map(|event| event["delta"]["text"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(texts.len(), 4_000_000);
}

#[tokio::test]
async fn memory_for_requests_is_bounded() {
    let server = server(Scenario::new().reply(Reply::text("Hello.").always())).await;
    let mut large = asks("hi");
    large["padding"] = "x".repeat(20 << 20).into();
    for _ in 0..4 {
        message(server.address(), &large).await;
    }
    assert_eq!(server.requests().len(), 3);
    assert_eq!(server.turns(), 4);
}

#[tokio::test]
async fn an_invalid_scenario_does_not_start() {
    let error = Server::start(Scenario::new().reply(Reply::new())).await.unwrap_err();
    assert!(error.to_string().contains("the reply is empty"), "{error}");
}
