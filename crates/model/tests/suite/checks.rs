//! Requests that the server refuses, over raw TCP.

use std::net::SocketAddr;

use duologue_model::{Reply, Scenario, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::client::asks;

async fn server() -> Server {
    Server::start(Scenario::new().reply(Reply::text("Hello.").always())).await.unwrap()
}

/// Everything that the server says to these bytes.
async fn say(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that refuses may close before all is read.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of a request with these headers.
async fn status(address: SocketAddr, target: &str, headers: &[&str]) -> String {
    let body = asks("hi").to_string();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "POST {target} HTTP/1.1\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let answer = say(address, request.as_bytes()).await;
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn only_names_of_this_server_are_served() {
    let server = server().await;
    let address = server.address();
    let port = address.port();
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        "localhost".to_owned(),
        format!("[::1]:{port}"),
        format!("127.0.0.2:{port}"),
    ] {
        let host = format!("host: {host}");
        assert_eq!(status(address, "/v1/messages", &[&host]).await, "200", "{host}");
    }
    let ours = format!("host: {address}");
    for headers in [
        &[] as &[&str],
        &["host: evil.example"],
        &["host:"],
        &[&format!("host: evil.example:{port}")],
        &[&format!("host: localhost.evil.example:{port}")],
        &[&format!("host: 127.0.0.1.evil.example:{port}")],
        &[&format!("host: localhost:{port}@evil.example")],
        &[&format!("host: evil@localhost:{port}")],
        &["host: 127.0.0.1:1"],
        &["host: 10.0.0.1"],
        &[&format!("host: localhost.:{port}")],
        &[&ours, "host: evil.example"],
        &["host: evil.example", &ours],
    ] {
        let status = status(address, "/v1/messages", headers).await;
        assert!(status == "403" || status == "400", "{headers:?}: {status}");
    }
    // The name of an absolute request counts, too.
    let target = format!("http://evil.example:{port}/v1/messages");
    assert_eq!(status(address, &target, &[&ours]).await, "403");
    assert_eq!(status(address, "/", &["host: evil.example"]).await, "403");
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn web_pages_are_not_served() {
    let server = server().await;
    let address = server.address();
    let host = format!("host: {address}");
    for header in [
        "origin: https://evil.example",
        "origin: http://evil.example",
        "origin: null",
        "origin:",
        "origin: http://localhost",
        "origin: http://localhost:1",
        &format!("origin: https://{address}"),
        &format!("origin: http://evil.example:{}", address.port()),
        &format!("origin: http://{address}.evil.example"),
        "origin: file://",
        "sec-fetch-site: cross-site",
        "sec-fetch-site: same-site",
    ] {
        assert_eq!(status(address, "/v1/messages", &[&host, header]).await, "403", "{header}");
    }
    assert_eq!(server.requests().len(), 0);
    for header in [&format!("origin: http://{address}"), "sec-fetch-site: same-origin"] {
        assert_eq!(status(address, "/v1/messages", &[&host, header]).await, "200", "{header}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_finishes_its_headers_is_cut_off() {
    let server = server().await;
    for begun in
        ["", "P", "POST /v1/messages HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n"]
    {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // It comes to an end by itself.
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!String::from_utf8_lossy(&answer).contains(" 200 "), "{begun:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_finishes_its_body_is_cut_off() {
    let server = server().await;
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: {}\r\ncontent-length: 100\r\n\r\n{{",
        server.address()
    );
    assert!(say(server.address(), head.as_bytes()).await.contains(" 408 "));
}

#[tokio::test]
async fn a_body_has_a_limit() {
    let server = server().await;
    let host = format!("host: {}", server.address());
    let request =
        format!("POST /v1/messages HTTP/1.1\r\n{host}\r\ncontent-length: 99999999999\r\n\r\n");
    assert!(say(server.address(), request.as_bytes()).await.contains(" 413 "));
    // Without a length, it is counted.
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let head =
        format!("POST /v1/messages HTTP/1.1\r\n{host}\r\ntransfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [b"100000\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    let (mut reader, mut writer) = stream.into_split();
    let sent = tokio::spawn(async move {
        let mut sent = 0_usize;
        while sent < 1000 && writer.write_all(&chunk).await.is_ok() {
            sent += 1;
        }
        sent
    });
    let mut answer = Vec::new();
    let _ = reader.read_to_end(&mut answer).await;
    assert!(sent.await.unwrap() < 1000);
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn the_number_of_connections_is_bounded() {
    let server = server().await;
    let mut idle = Vec::new();
    for _ in 0..256 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        // Each has its place once it is answered.
        let head = format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", server.address());
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        idle.push(stream);
    }
    let request =
        format!("GET / HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address());
    let waiting = say(server.address(), request.as_bytes());
    tokio::pin!(waiting);
    // The next one is not answered while all others are open: give the server every chance.
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert!(futures_poll(waiting.as_mut()).await.is_none());
    }
    idle.pop();
    assert!(waiting.await.contains(" 200 "));
}

/// Polls once.
async fn futures_poll<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
