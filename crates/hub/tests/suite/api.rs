//! The HTTP API.

use std::sync::Arc;
use std::time::Duration;

use duologue_hub::api::{Scope, Server, ServerOptions, Tokens};
use duologue_hub::hub::{Agents, Hub, HubLimits};
use duologue_hub::id::{PromptId, SessionId};
use duologue_hub::log::{Body, SqliteLog, SqliteOptions};
use duologue_testkit::fake::{Kind, Script, Stage, Step, program};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::http::Client;

/// A hub with everything, on a folder that can be served again.
struct Fixture {
    folder: TempDir,
    stage: Stage,
    running: Option<(Server, Hub)>,
    /// Has all scopes.
    client: Client,
    code: String,
}

impl Fixture {
    async fn new(scripts: &[Script]) -> Self {
        Self::with(scripts, ServerOptions::default()).await
    }

    async fn with(scripts: &[Script], options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::lives(folder.path(), scripts).unwrap();
        let token = {
            let tokens = Tokens::open(folder.path()).unwrap();
            tokens.create("test", &[Scope::Admin], 0, None).unwrap().0
        };
        let address = "127.0.0.1:1".parse().unwrap();
        let client = Client { address, token: Some(token) };
        let mut fixture = Self { folder, stage, running: None, client, code: String::new() };
        fixture.start(options).await;
        fixture
    }

    async fn start(&mut self, options: ServerOptions) {
        let log = SqliteLog::open(self.folder.path(), SqliteOptions::default()).unwrap();
        let (name, value) = self.stage.env();
        let agents = Agents::new(self.folder.path()).program(program()).env(name, value);
        let hub = Hub::open(Arc::new(log), agents, HubLimits::default()).await.unwrap();
        let tokens = Tokens::open(self.folder.path()).unwrap();
        self.code = tokens.pairing_code(now()).unwrap().as_str().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server::start(listener, hub.clone(), tokens, options).unwrap();
        self.client.address = server.address();
        self.running = Some((server, hub));
    }

    async fn stop(&mut self) {
        let (server, hub) = self.running.take().unwrap();
        server.shutdown().await;
        hub.shutdown().await;
    }

    fn hub(&self) -> &Hub {
        &self.running.as_ref().unwrap().1
    }

    fn without_token(&self) -> Client {
        Client { token: None, ..self.client.clone() }
    }

    async fn with_scopes(&self, scopes: &[&str]) -> Client {
        let body = json!({ "name": "limited", "scopes": scopes });
        let created = self.client.json("POST", "/v1/tokens", &body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let token = created.json()["token"].as_str().unwrap().to_owned();
        Client { token: Some(token), ..self.client.clone() }
    }

    async fn session(&self) -> String {
        let id = SessionId::random();
        let created = self.client.json("PUT", &format!("/v1/sessions/{id}"), &json!({})).await;
        assert_eq!(created.status, 201, "{created:?}");
        id.to_string()
    }

    async fn publish(&self, session: &str, text: &str) {
        let body = json!({ "kind": "x.note", "body": text });
        let path = format!("/v1/sessions/{session}/entries");
        let published = self.client.json("POST", &path, &body).await;
        assert_eq!(published.status, 201, "{published:?}");
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}

/// Every route, with the scope that it needs.
fn routes() -> Vec<(&'static str, String, Option<&'static str>)> {
    let id = SessionId::random();
    let session = |rest: &str| format!("/v1/sessions/{id}{rest}");
    vec![
        ("GET", "/healthz".to_owned(), None),
        ("GET", "/readyz".to_owned(), None),
        ("GET", "/v1/tokens".to_owned(), Some("admin")),
        ("POST", "/v1/tokens".to_owned(), Some("admin")),
        ("DELETE", "/v1/tokens/none".to_owned(), Some("admin")),
        ("GET", "/v1/sessions".to_owned(), Some("read")),
        ("PUT", session(""), Some("control")),
        ("GET", session(""), Some("read")),
        ("POST", session("/close"), Some("control")),
        ("PUT", session(&format!("/prompts/{id}")), Some("prompt")),
        ("GET", session(&format!("/prompts/{id}")), Some("read")),
        ("DELETE", session(&format!("/prompts/{id}")), Some("prompt")),
        ("POST", session("/interrupt"), Some("prompt")),
        ("POST", session("/entries"), Some("prompt")),
        ("GET", session("/log"), Some("read")),
        ("GET", session("/stream"), Some("read")),
        ("GET", "/v1/asks".to_owned(), Some("read")),
        ("GET", format!("/v1/asks/{id}"), Some("read")),
        ("POST", format!("/v1/asks/{id}/answer"), Some("answer")),
    ]
}

#[tokio::test]
async fn every_route_needs_its_scope_and_no_other_is_enough() {
    let fixture = Fixture::new(&[Script::new()]).await;
    for scope in ["read", "prompt", "answer", "control"] {
        let client = fixture.with_scopes(&[scope]).await;
        for (method, path, needed) in routes() {
            let reply = client.send(method, &path, "", "").await;
            let refused = reply.status == 403;
            let expected = needed.is_some_and(|needed| needed != scope);
            assert_eq!(refused, expected, "{scope}: {method} {path}: {reply:?}");
        }
    }
    let stranger = fixture.without_token();
    for (method, path, needed) in routes() {
        let reply = stranger.send(method, &path, "", "").await;
        assert_eq!(reply.status == 401, needed.is_some(), "{method} {path}: {reply:?}");
    }
    // The list above is complete, but for pairing.
    let declared = include_str!("../../src/api/handlers.rs").matches(".route(").count();
    assert_eq!(declared, routes().len() + 1);
}

#[tokio::test]
async fn other_hosts_and_other_pages_are_refused_before_anything_else() {
    let mut options = ServerOptions::default();
    options.hosts = vec!["hub.example".to_owned()];
    let fixture = Fixture::with(&[Script::new()], options).await;
    let client = &fixture.client;
    let port = client.address.port();
    for (headers, allowed) in [
        (format!("Host: localhost:{port}\r\n"), true),
        (format!("Host: [::1]:{port}\r\n"), true),
        ("Host: hub.example\r\n".to_owned(), true),
        ("Host: evil.example\r\n".to_owned(), false),
        (format!("Host: evil.example:{port}\r\n"), false),
        (format!("Host: 127.0.0.1.evil.example:{port}\r\n"), false),
        (format!("Host: localhost:{}\r\n", port.wrapping_add(1)), false),
        (format!("Host: user@localhost:{port}\r\n"), false),
        (format!("Host: localhost:{port}\r\nHost: evil.example\r\n"), false),
        (format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n"), true),
        (format!("Host: localhost:{port}\r\nOrigin: http://evil.example\r\n"), false),
        (format!("Host: localhost:{port}\r\nOrigin: http://localhost:3000\r\n"), false),
        (format!("Host: localhost:{port}\r\nOrigin: null\r\n"), false),
        (format!("Host: localhost:{port}\r\nSec-Fetch-Site: cross-site\r\n"), false),
        (format!("Host: localhost:{port}\r\nSec-Fetch-Site: same-origin\r\n"), true),
    ] {
        let reply = client.send("GET", "/v1/sessions", &headers, "").await;
        assert_eq!(reply.status, if allowed { 200 } else { 403 }, "{headers}");
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn a_code_pairs_once_and_gives_a_token_and_a_cookie() {
    let mut fixture = Fixture::new(&[Script::new()]).await;
    let stranger = fixture.without_token();
    let wrong = stranger.json("POST", "/v1/pair", &json!({ "code": "wrong" })).await;
    assert_eq!(wrong.status, 403);
    let code = json!({ "code": fixture.code, "name": "phone" });
    let paired = stranger.json("POST", "/v1/pair", &code).await;
    assert_eq!(paired.status, 201, "{paired:?}");
    let again = stranger.json("POST", "/v1/pair", &code).await;
    assert_eq!(again.status, 403);
    let cookie = paired.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = format!("Cookie: other=1; {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(stranger.send("GET", "/v1/sessions", &cookie, "").await.status, 200);
    let token = paired.json()["token"].as_str().unwrap().to_owned();
    // After a restart it is still valid; after it was revoked it is not.
    fixture.stop().await;
    fixture.start(ServerOptions::default()).await;
    let phone = Client { token: Some(token), ..fixture.client.clone() };
    assert_eq!(phone.get("/v1/sessions").await.status, 200);
    let id = paired.json()["info"]["id"].as_str().unwrap().to_owned();
    let revoked = fixture.client.send("DELETE", &format!("/v1/tokens/{id}"), "", "").await;
    assert_eq!(revoked.status, 200);
    assert_eq!(phone.get("/v1/sessions").await.status, 401);
}

fn asking() -> Script {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "toolu_1",
                          "input": { "command": "ls" } });
    Script::new().turn([
        Step::Init,
        Step::ask_and_go_on("r1", request),
        Step::WaitFor(Kind::Answer("r1".to_owned())),
        Step::ToolResult { id: "toolu_1".to_owned(), content: "ok".to_owned(), is_error: false },
        Step::Done("done".to_owned()),
    ])
}

#[tokio::test]
async fn a_prompt_an_ask_and_its_answer_from_elsewhere() {
    let mut fixture = Fixture::new(&[asking()]).await;
    let session = fixture.session().await;
    let path = format!("/v1/sessions/{session}");
    let mut desk = fixture.client.stream(&format!("{path}/stream"), "").await;
    assert_eq!(desk.next().await.unwrap().name, "hello");
    let prompt = PromptId::random();
    let put = json!({ "content": "Hello." });
    let first = fixture.client.json("PUT", &format!("{path}/prompts/{prompt}"), &put).await;
    assert_eq!(first.status, 202, "{first:?}");
    let again = fixture.client.json("PUT", &format!("{path}/prompts/{prompt}"), &put).await;
    assert_eq!((again.status, &again.json()["seq"]), (202, &first.json()["seq"]));
    let other = json!({ "content": "Bye." });
    let other = fixture.client.json("PUT", &format!("{path}/prompts/{prompt}"), &other).await;
    assert_eq!(other.status, 422);
    let ask = desk.until_kind("asks.opened").await.data["body"]["ask"].as_str().unwrap().to_owned();
    // A viewer that comes now has the ask in its first event; so does the list.
    let mut phone = fixture.client.stream(&format!("{path}/stream"), "").await;
    let hello = phone.next().await.unwrap();
    assert_eq!(hello.data["asks"][0]["id"], ask.as_str());
    assert_eq!(hello.data["asks"][0]["content"]["input"]["command"], "ls");
    let listed = fixture.client.get("/v1/asks").await.json();
    assert_eq!(listed["asks"][0]["session"], session.as_str());
    // Who may answer may not change the input.
    let answer = format!("/v1/asks/{ask}/answer");
    let limited = fixture.with_scopes(&["answer", "read"]).await;
    for control in [
        json!({ "behavior": "allow", "always": true }),
        json!({ "behavior": "allow", "input": {} }),
    ] {
        assert_eq!(limited.json("POST", &answer, &control).await.status, 403);
    }
    let bad = limited.json("POST", &answer, &json!({ "behavior": "decline" })).await;
    assert_eq!(bad.status, 422, "{bad:?}");
    let allowed = limited.json("POST", &answer, &json!({ "behavior": "allow" })).await;
    assert_eq!(allowed.status, 200, "{allowed:?}");
    let late = fixture.client.json("POST", &answer, &json!({ "behavior": "deny" })).await;
    assert_eq!(late.status, 409);
    assert_eq!(late.json()["answer"]["behavior"], "allow", "{late:?}");
    assert_eq!(late.json()["by"], allowed.json()["by"]);
    for viewer in [&mut desk, &mut phone] {
        let answered = viewer.until_kind("asks.answered").await;
        assert_eq!(answered.data["by"], allowed.json()["by"]);
        viewer.until_kind("turns.completed").await;
    }
    let state = fixture.client.get(&format!("{path}/prompts/{prompt}")).await.json();
    assert_eq!(state["state"], "finished");
    let closed = fixture.client.send("POST", &format!("{path}/close"), "", "").await;
    assert_eq!((closed.status, &closed.json()["state"]), (200, &json!("closed")));
    fixture.stop().await;
}

#[tokio::test]
async fn a_viewer_sees_every_entry_once_whenever_it_attaches() {
    let mut fixture = Fixture::new(&[Script::new()]).await;
    let session = fixture.session().await;
    let path = format!("/v1/sessions/{session}/stream");
    const ENTRIES: u64 = 60;
    let writer = async {
        for number in 0..ENTRIES {
            fixture.publish(&session, &number.to_string()).await;
        }
    };
    // Viewers come while entries are written, leave in the middle, and come back where they were.
    let viewer = |leaves_after: usize| {
        let (client, path) = (fixture.client.clone(), path.clone());
        async move {
            let (mut seen, mut cursor) = (Vec::new(), None::<String>);
            while seen.last() != Some(&(ENTRIES + 2)) {
                // The address has an old cursor, as that of a browser that reconnects.
                let header = cursor.as_ref().map(|id| format!("Last-Event-ID: {id}\r\n"));
                let mut events = client.stream(&path, header.as_deref().unwrap_or_default()).await;
                let mut live = 0;
                for _ in 0..leaves_after {
                    let Some(event) = events.next().await else { break };
                    live += usize::from(event.name == "live");
                    if event.name == "entry" {
                        seen.push(event.seq());
                        cursor = event.id;
                    }
                    if seen.last() == Some(&(ENTRIES + 2)) {
                        break;
                    }
                }
                assert!(live <= 1);
            }
            seen
        }
    };
    let (a, b, c, ()) = tokio::join!(viewer(usize::MAX), viewer(7), viewer(20), writer);
    let expected: Vec<u64> = (1..=ENTRIES + 2).collect();
    assert!(a == expected && b == expected && c == expected, "{a:?} {b:?} {c:?}");
    // Also after a restart of the hub.
    let page = fixture.client.get(&format!("/v1/sessions/{session}/log?limit=10")).await.json();
    let next = page["next"].as_str().unwrap().to_owned();
    fixture.stop().await;
    fixture.start(ServerOptions::default()).await;
    let mut events = fixture.client.stream(&format!("{path}?after={next}"), "").await;
    assert_eq!(events.until("entry").await.seq(), 11);
    fixture.stop().await;
}

#[tokio::test]
async fn cursors_that_lead_nowhere_are_named() {
    let fixture = Fixture::new(&[Script::new()]).await;
    let session = fixture.session().await;
    for text in ["1", "2", "3"] {
        fixture.publish(&session, text).await;
    }
    let log = fixture.hub().log().clone();
    let id: SessionId = session.parse().unwrap();
    let page = fixture.client.get(&format!("/v1/sessions/{session}/log?limit=1")).await.json();
    let old = page["next"].as_str().unwrap().to_owned();
    let (incarnation, _) = old.split_once('-').unwrap();
    log.retain(id, 4, Body::parse("{}").unwrap()).await.unwrap();
    let ahead = format!("{incarnation}-00000000000000ff");
    let other = "0000000000000001-0000000000000001".to_owned();
    for (cursor, status, event) in [
        (old, 410, "gone"),
        (ahead, 409, "ahead"),
        (other, 410, "gone"),
        ("nonsense".to_owned(), 400, "failure"),
    ] {
        let reply = fixture.client.get(&format!("/v1/sessions/{session}/log?after={cursor}")).await;
        assert_eq!(reply.status, status, "{cursor}: {reply:?}");
        let path = format!("/v1/sessions/{session}/stream?after={cursor}");
        let mut events = fixture.client.stream(&path, "").await;
        // A browser cannot read an error status.
        assert_eq!(events.status, 200);
        let named = events.until(event).await;
        if event == "gone" {
            let oldest = named.data["oldest"].as_str().unwrap();
            let path = format!("/v1/sessions/{session}/stream?after={oldest}");
            let mut events = fixture.client.stream(&path, "").await;
            assert_eq!(events.until("entry").await.seq(), 4);
        }
        assert!(events.next().await.is_none());
    }
    // Without a cursor, what is left is read.
    let page = fixture.client.get(&format!("/v1/sessions/{session}/log")).await.json();
    assert_eq!(page["entries"][0]["seq"], 4);
}

#[tokio::test]
async fn a_viewer_that_does_not_read_delays_no_one_and_misses_nothing() {
    let fixture = Fixture::new(&[Script::new()]).await;
    let session = fixture.session().await;
    let path = format!("/v1/sessions/{session}/stream");
    let mut stalled = fixture.client.stream(&path, "").await;
    let mut quick = fixture.client.stream(&path, "").await;
    let text = "x".repeat(200_000);
    // More than the buffers of a connection hold.
    for _ in 0..60 {
        fixture.publish(&session, &text).await;
    }
    for viewer in [&mut quick, &mut stalled] {
        for seq in 1..=62 {
            assert_eq!(viewer.until("entry").await.seq(), seq);
        }
    }
}

#[tokio::test]
async fn a_quiet_stream_beats_as_often_as_it_said() {
    let mut options = ServerOptions::default();
    options.beat = Duration::from_millis(50);
    let mut fixture = Fixture::with(&[Script::new()], options).await;
    let session = fixture.session().await;
    let mut events = fixture.client.stream(&format!("/v1/sessions/{session}/stream"), "").await;
    let hello = events.next().await.unwrap();
    assert_eq!((hello.name.as_str(), &hello.data["heartbeat"]), ("hello", &json!(0.05)));
    events.until("live").await;
    // A beat is an event, which clients notice, and has no id.
    let beat = events.until("beat").await;
    assert_eq!(beat.id, None);
    // The end of the hub ends the stream.
    fixture.stop().await;
    while events.next().await.is_some() {}
}

#[tokio::test]
async fn streams_are_limited() {
    let mut options = ServerOptions::default();
    options.streams = 2;
    let fixture = Fixture::with(&[Script::new()], options).await;
    let session = fixture.session().await;
    let path = format!("/v1/sessions/{session}/stream");
    let mut open = Vec::new();
    for _ in 0..2 {
        open.push(fixture.client.stream(&path, "").await);
    }
    let refused = fixture.client.get(&path).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["limit"], 2);
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test]
async fn bad_requests_get_problem_documents() {
    let fixture = Fixture::new(&[Script::new()]).await;
    let session = fixture.session().await;
    let path = format!("/v1/sessions/{session}");
    let prompt = format!("{path}/prompts/{}", PromptId::random());
    let json = "Content-Type: application/json\r\n";
    let text = "Content-Type: text/plain\r\n";
    let unknown = SessionId::random();
    let unknown = format!("/v1/sessions/{unknown}");
    let large = format!("{{\"content\":\"{}\"}}", "x".repeat(9 << 20));
    let cases: Vec<(&str, String, &str, &str, u16)> = vec![
        ("GET", "/nothing".to_owned(), "", "", 404),
        ("PATCH", path.clone(), "", "", 405),
        ("GET", unknown.clone(), "", "", 404),
        ("GET", format!("{unknown}/log"), "", "", 404),
        ("GET", format!("{unknown}/stream"), "", "", 404),
        ("GET", "/v1/sessions/not-a-uuid".to_owned(), "", "", 404),
        ("GET", "/v1/sessions?limit=0".to_owned(), "", "", 422),
        ("GET", "/v1/sessions?after=x".to_owned(), "", "", 422),
        ("GET", format!("{path}/log?limit=100000"), "", "", 422),
        ("GET", format!("{path}/log?view=events"), "", "", 422),
        ("GET", format!("{path}/log?after=%2e"), "", "", 422),
        ("PUT", prompt.clone(), json, "{", 422),
        ("PUT", prompt.clone(), json, "", 422),
        ("PUT", prompt.clone(), json, "{\"content\":\"\"}", 422),
        ("PUT", prompt.clone(), json, "{\"content\":\"a\",\"extra\":1}", 422),
        ("PUT", prompt.clone(), text, "{\"content\":\"a\"}", 415),
        ("PUT", prompt.clone(), json, &large, 413),
        ("DELETE", prompt.clone(), "", "", 404),
        ("GET", prompt, "", "", 404),
        ("POST", format!("{path}/interrupt"), json, "{\"turn\":1}", 409),
        (
            "POST",
            format!("{path}/entries"),
            json,
            "{\"kind\":\"prompts.accepted\",\"body\":1}",
            422,
        ),
        (
            "POST",
            format!("/v1/asks/{}/answer", PromptId::random()),
            json,
            "{\"behavior\":\"allow\"}",
            404,
        ),
        ("POST", "/v1/tokens".to_owned(), json, "{\"name\":\"a\",\"scopes\":[\"all\"]}", 422),
        ("POST", "/v1/tokens".to_owned(), json, "{\"name\":\"a\",\"scopes\":[]}", 422),
        ("PUT", path, json, "{\"model\":\"other\"}", 422),
    ];
    for (method, path, headers, body, status) in cases {
        let reply = fixture.client.send(method, &path, headers, body).await;
        let shown = body.get(..60).unwrap_or(body);
        assert_eq!(reply.status, status, "{method} {path} {shown}: {reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{path}");
        let document = reply.json();
        assert_eq!(document["status"], status);
        for field in ["type", "title", "detail"] {
            assert!(document[field].as_str().is_some_and(|text| !text.is_empty()), "{document}");
        }
    }
    let healthy: Value = fixture.without_token().get("/readyz").await.json();
    assert_eq!(healthy["status"], "ok");
}
