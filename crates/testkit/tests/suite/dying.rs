//! The fake agent: how it exits, and the processes that it leaves.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use duologue_testkit::fake::{Script, Step};
use duologue_testkit::leak::{assert_gone_blocking, descendants, group, is_alive};

use super::host::{Host, stage};

fn signal(name: &str, pid: u32) {
    let kill = format!("kill -{name} {pid}");
    assert!(Command::new("/bin/sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn it_exits_after_each_line() {
    // Two of the prompt's life, init, assistant, result, and the end of the prompt's life.
    for count in 0..=6 {
        let (_dir, stage) = stage(&[Script::new().dies_after(count)]);
        let mut host = Host::start(&stage, &[]);
        // It may be dead already.
        let _ = host.try_send(b"{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n");
        let mut lines = 0;
        while host.raw().is_some() {
            lines += 1;
        }
        assert_eq!(lines, count);
        assert_eq!(host.child.wait().unwrap().signal(), Some(9));
    }
}

#[test]
fn it_exits_inside_a_line() {
    let (_dir, stage) = stage(&[Script::new().dies_inside(2)]);
    let mut host = Host::start(&stage, &[]);
    host.prompt("a", "u-1");
    host.read();
    host.read();
    assert_ne!(host.raw().unwrap().pop(), Some(b'\n'));
    assert_eq!(host.child.wait().unwrap().signal(), Some(9));
}

#[test]
fn each_start_takes_the_next_part_of_the_script() {
    let lives = [Script::new().start([Step::Exit(7)]), Script::new().start([Step::Die(15)])];
    let (_dir, stage) = stage(&lives);
    assert_eq!(Host::start(&stage, &[]).child.wait().unwrap().code(), Some(7));
    for _ in 0..2 {
        assert_eq!(Host::start(&stage, &[]).child.wait().unwrap().signal(), Some(15));
    }
    let lives: Vec<usize> = stage.starts().iter().map(|start| start.life).collect();
    assert_eq!(lives, [0, 1, 2]);
}

#[test]
fn an_agent_may_ignore_term_and_the_end() {
    let (_dir, stage) = stage(&[Script::new().ignores_term().ignores_end()]);
    let mut host = Host::start(&stage, &[]);
    stage.started_blocking(1);
    assert_eq!(stage.pids(), [host.child.id()]);
    signal("TERM", host.child.id());
    host.prompt("still there?", "u-1");
    assert_eq!(host.until("result").last().unwrap()["result"], "still there?");
    host.close();
    signal("KILL", host.child.id());
    assert_eq!(host.child.wait().unwrap().signal(), Some(9));
}

#[test]
fn grandchildren_stay_until_they_are_killed() {
    let script = Script::new().start([
        Step::grandchild(),
        Step::stubborn_grandchild(),
        Step::Grandchild { ignores_term: false, own_group: true, holds_pipes: false },
        Step::Mark("ready".to_owned()),
    ]);
    let (_dir, stage) = stage(&[script]);
    let mut host = Host::start(&stage, &[]);
    let agent = host.child.id();
    stage.reached_blocking("ready");
    let pids = stage.grandchildren();
    let [meek, stubborn, stray] = pids[..] else { panic!("{pids:?}") };
    let sorted = |mut pids: Vec<u32>| {
        pids.sort_unstable();
        pids
    };
    assert_eq!(sorted(descendants(agent)), sorted(pids.clone()));
    assert_eq!(sorted(group(agent)), sorted(vec![agent, meek, stubborn]));
    assert_eq!(group(stray), [stray]);
    signal("TERM", meek);
    assert_gone_blocking(&[meek]);
    signal("TERM", stubborn);
    assert_eq!(host.finish().code(), Some(0));
    assert!(is_alive(stubborn));
    signal("KILL", stubborn);
    signal("KILL", stray);
    assert_gone_blocking(&[agent, stubborn, stray]);
}
