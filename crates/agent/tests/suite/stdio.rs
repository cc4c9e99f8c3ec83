//! A program made with `serve_stdio`, as people and hosts start it.

use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use duologue_agent::{Agent, Turn, TurnError, TurnResult, VERSION, serve_args};
use serde_json::Value;

/// Set for the process that is the agent: its arguments, one per line.
const ARGS: &str = "DUOLOGUE_TEST_AGENT_ARGS";

struct Parrot;

impl Agent for Parrot {
    async fn turn(&mut self, turn: &mut Turn<'_>) -> TurnResult {
        if turn.text() == "fail" {
            return Err(TurnError::failed("no luck"));
        }
        turn.say(format!("You said: {}", turn.text())).await
    }

    fn resume(&mut self, session_id: &str) -> bool {
        session_id == "11111111-1111-4111-8111-111111111111"
    }
}

/// Not a test by itself: what the others run, in a process of its own.
#[test]
#[allow(clippy::exit, reason = "the exit code is what the others look at")]
fn plays_the_agent() {
    let Ok(args) = std::env::var(ARGS) else { return };
    let args: Vec<String> = args.lines().map(str::to_owned).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let code = runtime.block_on(serve_args(Parrot, args));
    std::process::exit(i32::from(code != ExitCode::SUCCESS));
}

/// Exit code, stdout and stderr of the agent.
fn run(args: &[&str], stdin: &str) -> (i32, String, String) {
    let mut agent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "suite::stdio::plays_the_agent", "--nocapture"])
        .env(ARGS, args.join("\n"))
        .env_remove("DUOLOGUE_FAULT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // An agent that refuses to start does not read it.
    let _ = agent.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = agent.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let stdout = text(&output.stdout);
    let (_, stdout) = stdout.split_once("running 1 test\n").unwrap();
    (output.status.code().unwrap(), stdout.to_owned(), text(&output.stderr))
}

#[test]
fn it_answers_a_prompt_as_text() {
    let answered = (0, "You said: hello\n".to_owned(), String::new());
    assert_eq!(run(&["-p", "hello"], ""), answered);
    assert_eq!(run(&["hello"], ""), answered);
    assert_eq!(run(&["-p"], "hello\n"), answered);
    assert_eq!(run(&["--print", "--output-format=text", "--", "hello"], ""), answered);
    assert_eq!(run(&["-p", "this"], "that\n").1, "You said: this\nthat\n");
    let (code, stdout, _) = run(&["-p", "fail"], "");
    assert_eq!((code, stdout.contains("no luck")), (1, true), "{stdout}");
}

#[test]
fn it_answers_as_json() {
    let (code, stdout, stderr) = run(&["-p", "hello", "--output-format", "json"], "");
    assert_eq!((code, stderr.as_str()), (0, ""));
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(result["type"], "result");
    assert_eq!(result["result"], "You said: hello");
    let (_, stdout, _) = run(&["-p", "hello", "--output-format", "json", "--verbose"], "");
    let all: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    assert_eq!(all.first().unwrap()["subtype"], "init");
    let (_, stdout, _) = run(&["-p", "hello", "--output-format=stream-json", "--verbose"], "");
    let last: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["result"], "You said: hello");
}

#[test]
fn a_host_drives_it() {
    let args = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"];
    let prompt = r#"{"type":"user","message":{"role":"user","content":"Hi"}}"#;
    let (code, stdout, _) = run(&args, prompt);
    assert_eq!(code, 0);
    assert!(stdout.contains("You said: Hi"), "{stdout}");
}

#[test]
fn what_it_cannot_do_it_refuses() {
    let unknown = "22222222-2222-4222-8222-222222222222";
    for (args, words) in [
        (&["-p"] as &[&str], "Input must be provided either through stdin or as a prompt argument"),
        (&[], "Input must be provided"),
        (&["--bogus"], "error: unknown option '--bogus'"),
        (&["-p", "hi", "--bogus=1"], "error: unknown option '--bogus=1'"),
        (&["--scenario", "x", "hi"], "error: unknown option '--scenario'"),
        (&["-p", "hi", "--output-format", "xml"], "argument 'xml' is invalid"),
        (&["-p", "hi", "--output-format", "stream-json"], "requires --verbose"),
        (&["--input-format", "stream-json"], "requires output-format=stream-json"),
        (&["-p", "hi", "--resume", unknown], "No conversation found with session ID: 22222222"),
        (&["-p", "hi", "--resume"], "--resume requires a valid session ID"),
        (&["-p", "hi", "--continue"], "No conversation found to continue"),
    ] {
        let (code, stdout, stderr) = run(args, "");
        assert_eq!((code, stdout.as_str()), (1, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
    let json = ["-p", "hi", "--output-format", "json", "--resume", unknown];
    let (code, stdout, _) = run(&json, "");
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &result["subtype"]), (1, &"error_during_execution".into()));
}

#[test]
fn a_conversation_that_it_knows_goes_on() {
    let known = "11111111-1111-4111-8111-111111111111";
    let (code, stdout, _) = run(&["-p", "hi", "--output-format", "json", "--resume", known], "");
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &result["session_id"]), (0, &known.into()));
}

#[test]
fn it_says_what_it_is() {
    let (code, stdout, _) = run(&["--version"], "");
    assert_eq!((code, stdout.as_str()), (0, format!("{VERSION} (duologue-agent)\n").as_str()));
    for flag in ["--help", "-h"] {
        let (code, stdout, _) = run(&[flag], "");
        assert_eq!(code, 0);
        assert!(stdout.starts_with("Usage:") && stdout.contains("--output-format"), "{stdout}");
    }
}
