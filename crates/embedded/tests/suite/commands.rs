//! `Bash`: commands are run, stopped, and never left behind.

use std::time::Duration;

use duologue_embedded::tools::{Cancel, ShellTaskStatus, ToolOutput};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use super::support::{place, result, run};

#[tokio::test]
async fn stdout_and_stderr_come_in_their_order() {
    let (_folder, context) = place();
    let input = json!({ "command": "echo out; echo err >&2; exit 3" });
    let output = run(&context, "Bash", input).await;
    assert_eq!(output, ToolOutput::failed("Exit code 3\nout\nerr"));
}

#[tokio::test]
async fn the_directory_stays_and_is_kept_inside() {
    let (folder, context) = place();
    let root = folder.path().canonicalize().unwrap();
    run(&context, "Bash", json!({ "command": "mkdir -p a/b && cd a/b" })).await;
    let output = run(&context, "Bash", json!({ "command": "pwd" })).await;
    assert_eq!(output.content.text(), root.join("a/b").to_string_lossy());

    let output = run(&context, "Bash", json!({ "command": "cd /" })).await;
    let told = format!("Shell cwd was reset to {}", root.display());
    assert_eq!(output.content.text(), told);
    assert_eq!(context.cwd(), root);

    context.set_directories(vec!["/".into()]);
    run(&context, "Bash", json!({ "command": "cd /usr" })).await;
    assert_eq!(context.cwd().to_string_lossy(), "/usr");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_with_all_it_started() {
    let (_folder, context) = place();
    let command = "sleep 600 & echo $!; echo $$; wait";
    let output = run(&context, "Bash", json!({ "command": command, "timeout": 300 })).await;
    let told = output.content.text();
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told[..2], ["Exit code 143", "Command timed out after 0.3s"]);
    for pid in &told[2..] {
        gone(pid).await;
    }
}

#[tokio::test]
async fn cancelling_kills_the_group_and_tells_the_model() {
    let (folder, context) = place();
    let cancel = Cancel::new();
    let call = context.with_cancel(cancel.clone());
    let pids = folder.path().join("pids");
    let stop = async {
        let mut written = String::new();
        while written.lines().count() < 2 {
            tokio::task::yield_now().await;
            written = std::fs::read_to_string(&pids).unwrap_or_default();
        }
        cancel.cancel();
        written
    };
    // The grandchild does not listen to a polite request.
    let command = "(trap '' TERM; sleep 600) & echo $! > tmp; echo $$ >> tmp; mv tmp pids; wait";
    let ran = run(&call, "Bash", json!({ "command": command }));
    let (output, written) = tokio::join!(ran, stop);
    assert_eq!(output, ToolOutput::stopped());
    assert_eq!(written.lines().count(), 2);
    for pid in written.lines() {
        gone(pid).await;
    }
}

#[tokio::test]
async fn dropping_a_call_kills_the_group() {
    let (folder, context) = place();
    let pids = folder.path().join("pid");
    let command = "echo $$ > tmp; mv tmp pid; sleep 600";
    let ran = run(&context, "Bash", json!({ "command": command }));
    let pid = tokio::select! {
        _ = ran => panic!("it ended"),
        pid = async {
            loop {
                tokio::task::yield_now().await;
                if let Ok(pid) = std::fs::read_to_string(&pids) {
                    break pid;
                }
            }
        } => pid,
    };
    gone(pid.trim()).await;
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    let (_folder, context) = place();
    let output = run(&context, "Bash", json!({ "command": "sleep 600 & echo $!" })).await;
    gone(&output.content.text()).await;
}

#[tokio::test]
async fn large_output_is_kept_and_shown_in_part() {
    let (folder, context) = place();
    let kept = folder.path().join("kept");
    let context = context.keep_outputs_in(&kept);
    let command = "for i in $(seq 1 100000); do echo line $i; done";
    let output = run(&context, "Bash", json!({ "command": command })).await;
    let content = output.content.text();
    assert!(content.starts_with("<persisted-output>\nOutput too large (1MB)."), "{content}");
    assert!(content.ends_with("\n...\n</persisted-output>"));
    assert!(content.len() < 2500);
    let result = result(&output);
    assert_eq!(result["stdout"].as_str().unwrap().chars().count(), 30_000);
    let path = result["persistedOutputPath"].as_str().unwrap();
    let all = std::fs::read_to_string(path).unwrap();
    assert_eq!(all.lines().count(), 100_000);
    assert_eq!(result["persistedOutputSize"], all.len());
}

#[tokio::test]
async fn outputs_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    for given in [false, true] {
        let (folder, context) = place();
        let kept = folder.path().join("a/b");
        let context = if given { context.keep_outputs_in(&kept) } else { context };
        let long = json!({ "command": "seq 1 100000" });
        let output = run(&context, "Bash", long).await;
        let long = result(&output)["persistedOutputPath"].as_str().unwrap().to_owned();
        let input = json!({ "command": "echo done", "run_in_background": true });
        run(&context, "Bash", input).await;
        let ended = context.tasks().next_ended().await;
        for file in [std::path::Path::new(&long), &ended.output_file] {
            assert_eq!(mode(file), 0o600, "{}", file.display());
            assert_eq!(mode(file.parent().unwrap()), 0o700, "{}", file.display());
        }
        if given {
            assert_eq!(mode(&folder.path().join("a")), 0o700);
        }
    }
}

#[tokio::test]
async fn endless_output_is_bounded() {
    let (_folder, context) = place();
    let input = json!({ "command": "yes", "timeout": 300 });
    let output = run(&context, "Bash", input).await;
    assert!(output.is_failure());
    assert!(output.content.text().len() < 31_000);
}

#[tokio::test]
async fn a_background_task_runs_on_and_is_told_once() {
    let (folder, context) = place();
    let command = "while ! test -e go; do sleep 0.01; done; echo done; exit 4";
    let input = json!({ "command": command, "run_in_background": true, "description": "Wait" });
    let output = run(&context, "Bash", input).await;
    let [task] = &context.tasks().running()[..] else { panic!("no task") };
    assert_eq!(result(&output)["backgroundTaskId"], task.id);
    assert_eq!(task.description.as_deref(), Some("Wait"));
    std::fs::write(folder.path().join("go"), "").unwrap();
    let ended = context.tasks().next_ended().await;
    assert_eq!(
        (ended.id.as_str(), ended.status),
        (task.id.as_str(), ShellTaskStatus::Ended(Some(4)))
    );
    assert_eq!(std::fs::read_to_string(&ended.output_file).unwrap(), "done\n");
    assert!(context.tasks().running().is_empty());
}

#[tokio::test]
async fn a_background_task_is_stopped_with_all_it_started() {
    let (folder, context) = place();
    let command = "sleep 600 & echo $! > tmp; mv tmp pid; wait";
    let input = json!({ "command": command, "run_in_background": true });
    run(&context, "Bash", input).await;
    let pid = loop {
        tokio::time::sleep(Duration::from_millis(1)).await;
        if let Ok(pid) = std::fs::read_to_string(folder.path().join("pid")) {
            break pid;
        }
    };
    let [task] = &context.tasks().running()[..] else { panic!("no task") };
    assert!(context.tasks().stop(&task.id));
    assert!(!context.tasks().stop(&task.id));
    assert_eq!(context.tasks().next_ended().await.status, ShellTaskStatus::Stopped);
    gone(pid.trim()).await;
}

#[tokio::test]
async fn a_command_that_is_waited_for_can_be_let_go() {
    let (folder, context) = place();
    let context = context.with_tool_use_id("toolu_1");
    let command = "echo begun; while ! test -e go; do sleep 0.01; done; echo done";
    let ran = run(&context, "Bash", json!({ "command": command }));
    let let_go = async {
        while !context.tasks().send_to_background("toolu_1") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (output, ()) = tokio::join!(ran, let_go);
    let [task] = &context.tasks().running()[..] else { panic!("no task") };
    let told = result(&output);
    assert_eq!(told["backgroundTaskId"], task.id);
    assert_eq!(told["backgroundedByUser"], true);
    assert!(context.tasks().in_foreground().is_empty());
    std::fs::write(folder.path().join("go"), "").unwrap();
    let ended = context.tasks().next_ended().await;
    assert_eq!(ended.status, ShellTaskStatus::Ended(Some(0)));
    assert_eq!(ended.tool_use_id.as_deref(), Some("toolu_1"));
    assert_eq!(std::fs::read_to_string(&ended.output_file).unwrap(), "begun\ndone\n");
}

#[tokio::test]
async fn the_number_of_background_tasks_is_bounded() {
    let (_folder, context) = place();
    let input = json!({ "command": "sleep 600", "run_in_background": true });
    for _ in 0..64 {
        assert!(!run(&context, "Bash", input.clone()).await.is_failure());
    }
    assert!(run(&context, "Bash", input).await.is_failure());
    context.tasks().stop_all();
    assert!(context.tasks().running().is_empty());
}

#[tokio::test]
async fn variables_are_set_and_quotes_survive() {
    let (_folder, context) = place();
    context.set_environment([("COLOUR".to_owned(), "blue".to_owned())]);
    let command = r#"echo "$COLOUR" 'it'"'"'s' "$#" \' é"#;
    let output = run(&context, "Bash", json!({ "command": command })).await;
    assert_eq!(output.content.text(), "blue it's 0 ' é");
}

/// Waits until there is no such process. A killed one may take a moment to go.
async fn gone(pid: &str) {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    while test_kill_process(pid).is_ok() && !is_zombie(pid) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// In a container, nobody may reap what lost its parent.
fn is_zombie(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    status.is_ok_and(|status| status.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}
