//! The client of a Messages API, against our own server and against raw bytes.

use std::time::Duration;

use duologue_model::{
    ApiError, Block, Chunk, MessagesModel, Model, ModelError, Purpose, RenderedMessage, Reply,
    Retrying, Scenario, Script, Server,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::asking::{receive, request, says};
use super::scripted_model::{blocks, chunks};

fn model_at(url: String) -> MessagesModel {
    MessagesModel::builder().base_url(url).api_key("made-up-key").build().unwrap()
}

async fn pair(scenario: Scenario) -> (Server, MessagesModel) {
    let server = Server::start(scenario).await.unwrap();
    let model = model_at(server.base_url());
    (server, model)
}

/// A server that sends these bytes to every client, one per write.
async fn raw(answer: String) -> MessagesModel {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|four| four == b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        for byte in answer.bytes() {
            stream.write_u8(byte).await.unwrap();
            stream.flush().await.unwrap();
        }
        // Until the other side has read all and leaves.
        drop(stream.shutdown().await);
        drop(stream.read_to_end(&mut Vec::new()).await);
    });
    model_at(format!("http://{address}"))
}

fn stream_of(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

#[tokio::test]
async fn the_answer_of_the_server_arrives() {
    let reply = Reply::new()
        .say(Block::thinking("Hm."))
        .say("Größe 😀\nand more")
        .say(Block::tool("Bash", json!({ "command": "ls" })))
        .chunk(Chunk::Chars(1));
    let scenario = Scenario::new().reply(reply);
    let answer = Script::new(scenario.clone()).unwrap().answer(&request("x")).unwrap();
    let (server, model) = pair(scenario).await;
    let received = receive(&model, request("x")).await;
    assert_eq!(received.error, None);
    assert_eq!(received.request_ids, ["req_script_0001"]);
    assert_eq!(received.folded.message(), RenderedMessage::new(&answer, 1).to_json());
    assert!(received.folded.is_whole());
    let asked = &server.requests()[0].request;
    assert!(asked.is_stream());
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert!(asked.header("user-agent").unwrap().starts_with("duologue/"));
    server.finished().unwrap();
}

#[tokio::test]
async fn the_server_recognises_a_sub_agent() {
    let scenario = Scenario::new().reply(Reply::text("To the sub-agent.").agent("sub"));
    let (server, model) = pair(scenario).await;
    let received = receive(&model, request("go").with_purpose(Purpose::Sub)).await;
    assert_eq!(received.folded.text(), "To the sub-agent.");
    assert_eq!(server.requests()[0].purpose, Purpose::Sub);
}

#[tokio::test]
async fn a_huge_text_arrives() {
    let say = Block::repeated("0123456789", 400_000);
    let (_server, model) = pair(Scenario::new().reply(Reply::new().say(say))).await;
    assert_eq!(says(&model, "x").await.len(), 4_000_000);
}

#[tokio::test]
async fn errors_have_the_message_of_the_api() {
    let busy = ApiError::new(429).retry_after(7).message("slow down");
    let scenario =
        Scenario::new().reply(Reply::error(busy)).reply(Reply::text("We").then_error(500));
    let (_server, model) = pair(scenario).await;
    let error = receive(&model, request("x")).await.error.unwrap();
    let failure = error.api().unwrap();
    assert_eq!((failure.status, failure.kind.as_str()), (Some(429), "rate_limit_error"));
    assert_eq!(failure.message, "slow down");
    assert_eq!(failure.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(failure.request_id.as_deref(), Some("req_script_0001"));
    let midst = receive(&model, request("x")).await;
    assert_eq!(midst.folded.text(), "We");
    let error = midst.error.unwrap();
    assert_eq!((error.status(), error.api().unwrap().kind.as_str()), (None, "api_error"));
    assert_eq!(error.api().unwrap().request_id.as_deref(), Some("req_script_0002"));
}

#[tokio::test]
async fn failures_are_retried_over_the_network() {
    let busy = ApiError::new(529).retry_after(0);
    let scenario = Scenario::new()
        .reply(Reply::error(busy).times(2))
        .reply(Reply::error(ApiError::new(500).retry_after(0)))
        .reply(Reply::text("Hello."));
    let (server, model) = pair(scenario).await;
    let received = receive(&Retrying::new(model), request("x")).await;
    let statuses: Vec<_> = received.retries.iter().map(|retry| retry.error.status()).collect();
    assert_eq!(statuses, [Some(529), Some(529), Some(500)]);
    assert_eq!(received.folded.text(), "Hello.");
    server.finished().unwrap();
}

#[tokio::test]
async fn a_dropped_connection_is_an_error() {
    for after in [1, 3] {
        let (_server, model) =
            pair(Scenario::new().reply(Reply::text("Hello.").cut_after(after))).await;
        let received = receive(&model, request("x")).await;
        assert_eq!(received.events.len(), after);
        assert!(matches!(received.error, Some(ModelError::Cut(_))), "{:?}", received.error);
    }
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let server = Server::start(
        Scenario::new()
            .reply(Reply::text("Hello.").stall_after(3))
            .reply(Reply::text("Late.").delay_ms(86_400_000)),
    )
    .await
    .unwrap();
    let limit = Duration::from_millis(500);
    let builder = MessagesModel::builder().base_url(server.base_url()).api_key("made-up");
    let model = builder.clone().idle_timeout(limit).build().unwrap();
    let received = receive(&model, request("x")).await;
    assert_eq!((received.events.len(), received.error), (3, Some(ModelError::Timeout(limit))));
    let model = builder.answer_timeout(limit).build().unwrap();
    let received = receive(&model, request("x")).await;
    assert_eq!((received.events.len(), received.error), (0, Some(ModelError::Timeout(limit))));
}

#[tokio::test]
async fn dropping_an_answer_cancels_the_request() {
    let scenario =
        Scenario::new().reply(Reply::text("Hello.").stall_after(3)).reply(Reply::text("Again."));
    let (server, model) = pair(scenario).await;
    let mut answer = model.ask(request("x"));
    for _ in 0..3 {
        answer.next().await.unwrap().unwrap();
    }
    drop(answer);
    assert_eq!(says(&model, "y").await, "Again.");
    server.shutdown().await;
}

#[tokio::test]
async fn a_refused_connection_is_a_transient_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = receive(&model_at(format!("http://{address}")), request("x")).await.error.unwrap();
    assert!(matches!(&error, ModelError::Unreachable(why) if why.contains("refused")), "{error}");
    assert_eq!((error.status(), error.word(), error.is_transient()), (None, "unknown", true));
}

#[tokio::test]
async fn unusual_streams_are_parsed_byte_by_byte() {
    let body = "\u{feff}: a comment\r\n\r\nevent: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n\
        data: {\"type\":\"message_start\",\rdata: \"message\":{\"id\":\"m\"}}\r\r\
        id: 7\nretry: 10\n\n\
        event: content_block_start\ndata:{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: new_thing\ndata: {\"type\":\"new_thing\"}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Größe 😀\"}}\n\n\
        event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        data: {\"type\":\"message_stop\"}\n\ndata: [DONE]\n\n";
    let received = receive(&raw(stream_of(body)).await, request("x")).await;
    assert_eq!(received.error, None);
    assert_eq!(received.folded.text(), "Größe 😀");
    assert_eq!((received.folded.id(), received.folded.is_whole()), (Some("m"), true));
    assert_eq!(received.events.len(), 7);
}

#[tokio::test]
async fn a_server_that_is_not_a_messages_api_is_an_error() {
    let answers = [
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi".to_owned(),
            "text/html",
        ),
        (stream_of("data: no JSON\n\n"), "not JSON"),
        (stream_of("data: {}\n\n"), "no type"),
        (stream_of("data: \u{1}\n\n"), "not JSON"),
    ];
    for (answer, part) in answers {
        let error = receive(&raw(answer).await, request("x")).await.error.unwrap();
        assert!(matches!(error, ModelError::Malformed(_)), "{error:?}");
        assert!(error.to_string().contains(part), "{error}");
        assert!(!error.is_transient());
    }
    let proxy = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\n\r\ngone".to_owned();
    let error = receive(&raw(proxy).await, request("x")).await.error.unwrap();
    assert_eq!((error.to_string().as_str(), error.word()), ("502 gone", "server_error"));
    let elsewhere =
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
            .to_owned();
    let error = receive(&raw(elsewhere).await, request("x")).await.error.unwrap();
    assert_eq!(error.status(), Some(302));
}

#[test]
fn it_is_configured_by_variables_and_hides_secrets() {
    use duologue_model::MessagesModelBuilder;
    let build = |vars: &[(&str, &str)]| {
        let var = |name: &str| vars.iter().find(|var| var.0 == name).map(|var| var.1.to_owned());
        MessagesModelBuilder::from_vars(var).build()
    };
    assert!(build(&[("ANTHROPIC_API_KEY", " ")]).unwrap_err().to_string().contains("no key"));
    assert_eq!(build(&[]).unwrap_err().word(), "authentication_failed");
    let vars = [
        ("ANTHROPIC_AUTH_TOKEN", "secret-token"),
        ("ANTHROPIC_BASE_URL", "http://name:secret-word@127.0.0.1:1/base/"),
        ("ANTHROPIC_CUSTOM_HEADERS", "X-One: secret-one\nX-Two: 2\n"),
        ("API_TIMEOUT_MS", "1000"),
    ];
    let model = build(&vars).unwrap();
    assert!(!format!("{model:?}").contains("secret"), "{model:?}");
    let key = |value| [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", value)];
    for url in ["ftp://a", "nothing", "http://"] {
        assert!(build(&key(url)).is_err(), "{url}");
    }
    let bad = build(&[("ANTHROPIC_API_KEY", "line\nbreak-secret")]).unwrap_err().to_string();
    assert!(bad.contains("ANTHROPIC_API_KEY") && !bad.contains("secret"), "{bad}");
}

#[tokio::test]
async fn https_is_supported() {
    // The connection is refused after the client with its certificates was created.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = receive(&model_at(format!("https://{address}")), request("x")).await.error.unwrap();
    assert!(matches!(error, ModelError::Unreachable(_) | ModelError::Setup(_)), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_reply_arrives_as_it_was_written(
        replies in vec((vec(blocks(), 1..4), chunks()), 1..6),
    ) {
        let mut scenario = Scenario::new();
        for (say, chunk) in replies {
            scenario = scenario.reply(say.into_iter().fold(Reply::new().chunk(chunk), Reply::say));
        }
        let mut script = Script::new(scenario.clone()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let received = runtime.block_on(async {
            let (server, model) = pair(scenario.clone()).await;
            let mut received = Vec::new();
            for _ in &scenario.replies {
                received.push(receive(&model, request("x")).await.folded.message());
            }
            server.shutdown().await;
            received
        });
        for (number, message) in (1..).zip(received) {
            let answer = script.answer(&request("x")).unwrap();
            prop_assert_eq!(message, RenderedMessage::new(&answer, number).to_json());
        }
    }
}
