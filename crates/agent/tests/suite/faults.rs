//! Faults on purpose.

use std::time::Duration;

use duologue_agent::{Fault, Options};
use serde_json::{Value, json};

use super::acts::acts;
use super::driving::{Host, drive};

fn with(fault: &str) -> Host {
    let agent = acts(|turn| Box::pin(turn.say("Hello!")));
    drive(agent, Options::new().fault(fault.parse().unwrap()))
}

#[tokio::test]
async fn it_dies_in_the_middle_of_a_line() {
    let mut host = with("die@2");
    host.prompt("Hi").await;
    assert_eq!(host.line().await.unwrap()["subtype"], "init");
    assert!(matches!(host.line().await, Some(Value::String(half)) if half.starts_with('{')));
    let (rest, exit) = host.end().await;
    assert_eq!((rest.len(), exit.code), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn it_hangs() {
    let mut host = with("hang@2");
    host.prompt("Hi").await;
    assert_eq!(host.line().await.unwrap()["subtype"], "init");
    let more = tokio::time::timeout(Duration::from_secs(3600), host.line()).await;
    assert!(more.is_err(), "nothing comes");
}

#[tokio::test]
async fn what_is_split_delayed_or_flooded_arrives_all_the_same() {
    for fault in ["split", "delay=1", "flood=500", "stderr=10"] {
        let mut host = with(fault);
        host.prompt("Hi").await;
        let lines = host.until_kind("result").await;
        let flood = lines.iter().filter(|line| line["type"] == "keep_alive").count();
        assert_eq!(flood, if fault == "flood=500" { 500 } else { 0 });
        assert_eq!(host.end().await.1.code, 0);
    }
}

#[tokio::test]
async fn answers_come_twice_or_never() {
    let mut host = with("answer-twice");
    host.request("r1", json!({ "subtype": "mcp_status" })).await;
    assert_eq!(host.line().await, host.line().await);
    let mut host = with("never-answer");
    host.request("r1", json!({ "subtype": "mcp_status" })).await;
    host.prompt("Hi").await;
    let lines = host.until_kind("result").await;
    assert!(lines.iter().all(|line| line["type"] != "control_response"));
}

#[test]
fn faults_have_names() {
    assert_eq!("garbage@4".parse(), Ok(Fault::GarbageAt(4)));
    assert!("die@soon".parse::<Fault>().is_err() && "sulk".parse::<Fault>().is_err());
}
