//! Who may do what.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use duologue_embedded::permission::{ModeRefused, Permissions, Reason, RuleSource, Verdict};
use duologue_protocol::permission::{PermissionBehavior, PermissionMode};
use serde_json::json;
use tempfile::TempDir;

use super::support::{judge, judge_command};

fn session() -> (TempDir, PathBuf, Permissions) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let permissions = Permissions::new(&root);
    (folder, root, permissions)
}

fn rules(permissions: &mut Permissions, behavior: PermissionBehavior, list: &str) {
    permissions.add_rules(list, behavior, RuleSource::CliArg);
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow(_) => "allow",
        Verdict::Deny(_) => "deny",
        _ => "ask",
    }
}

#[track_caller]
fn check(permissions: &Permissions, root: &Path, expected: &str, commands: &[&str]) {
    for command in commands {
        let verdict = judge_command(permissions, root, command);
        assert_eq!(word(&verdict), expected, "{command}: {verdict:?}");
    }
}

#[test]
fn commands_that_only_look_are_not_asked() {
    let (_folder, root, permissions) = session();
    fs::create_dir(root.join("src")).unwrap();
    let allowed = [
        "ls -la",
        "pwd",
        "echo 'a > b; $(c)' \"x\"",
        "cat a.txt | head -n 5",
        "ls && pwd; whoami",
        "ls\npwd\n",
        "ls 2>/dev/null",
        "ls >/dev/null 2>&1",
        "echo err >&2",
        "cat < a.txt",
        "cd src && ls",
        "git status",
        "git log --oneline -n 3",
        "git diff HEAD~1 -- src",
        "find . -name x.rs -type f",
        "grep -rn '/api/' src",
        "sleep 3; echo done",
        "wc -l < a.txt",
        "diff a b || true",
        "git branch",
        "sort -rn a.txt",
        "date +%s",
    ];
    check(&permissions, &root, "allow", &allowed);
}

#[test]
fn all_others_are_asked() {
    let (_folder, root, permissions) = session();
    let asked = [
        "touch a",
        "rm -rf x",
        "ls; touch a",
        "ls && rm x",
        "ls | tee x",
        "ls > x",
        "ls >> x",
        "ls &> x",
        "ls >| x",
        "ls >&x",
        "echo $(touch a)",
        "echo `touch a`",
        "echo \"$(touch a)\"",
        "echo $HOME",
        "FOO=bar ls",
        "PATH=. ls",
        "ls &",
        "ls & touch x",
        "(ls)",
        "{ ls; }",
        "for i in a; do ls; done",
        "if ls; then ls; fi",
        "! ls",
        "cat <(touch a)",
        "cat <<X\nX",
        "cat <<< x",
        "ls # x",
        "./ls",
        "/bin/ls",
        "l\\\ns",
        "ls 'unfinished",
        "ls \\",
        "ls &&",
        "",
        "   ",
        ";",
        "find . -delete",
        "find . -exec rm x ;",
        "find . -fprint x",
        "git push",
        "git -C / status",
        "git -c connection.pager=x log",
        "git log --output=x",
        "git log --outp=x",
        "git diff --ext-diff",
        "git branch new",
        "git remote add x y",
        "sort -o x y",
        "sort --outp=x y",
        "uniq a b",
        "printf -v PATH x",
        "date -s x",
        "command ls",
        "eval ls",
        "exec ls",
        "source x",
        ". x",
        "env ls",
        "xargs ls",
        "cat /etc/passwd",
        "cat ../x",
        "cat ~/.ssh/id_rsa",
        "cat ~root/x",
        "ls --x=/etc",
        "grep -f/etc/passwd x",
        "cat < /etc/passwd",
        "cd / && ls",
        "cd .. && cat x",
        "cd src; cat x",
        "ls || cd src && cat x",
        "cd src && git status",
        "cat *",
        "ls [a]",
        "echo {a,b}",
        "ls\u{0}",
        "ls \u{7}",
        "[[ -v x ]]",
        "test -v x",
        "function ls { touch a; }",
        "ls() { touch a; }",
        "alias ls=rm",
        "trap x EXIT",
        "ls \\\n; rm x",
        "coproc ls",
        "time ls",
        "a=1",
        "a[0]=1 ls",
        "export PATH=x",
        "ls;;",
        "ls |&",
        "ls ||",
        "ls |",
        "ls |& tee x",
        "diff <(ls) x",
        "exit 3",
        "grep -R x .",
        "diff -r a b",
        "wc --files0-from=x",
        "git show --textconv x",
        "rg --pre x y",
    ];
    check(&permissions, &root, "ask", &asked);
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let (_folder, root, mut permissions) = session();
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap();
    fs::create_dir(root.join("inner")).unwrap();
    symlink(&outside, root.join("link")).unwrap();
    symlink(outside.join("not-there-yet"), root.join("dangling")).unwrap();
    symlink("inner", root.join("near")).unwrap();
    symlink("round", root.join("round")).unwrap();
    permissions.set_mode(PermissionMode::AcceptEdits).unwrap();
    let write = |path: String| {
        word(&judge(&permissions, &root, "Write", &json!({ "file_path": path, "content": "" })))
    };
    let read =
        |path: &str| word(&judge(&permissions, &root, "Read", &json!({ "file_path": path })));
    assert_eq!(write("near/x".to_owned()), "allow");
    for path in ["link/x", "dangling", "round", "../x", "inner/../../x", "~/x", "/etc/x"] {
        assert_eq!((write(path.to_owned()), read(path)), ("ask", "ask"), "{path}");
    }
    // By its text this is the root; really it is beside the outside folder.
    assert_eq!(write("link/../x".to_owned()), "ask");
    assert_eq!(write(format!("{}/../x", root.display())), "ask");
    let sibling = format!("{}-sibling/x", root.display());
    assert_eq!(write(sibling), "ask");
    check(&permissions, &root, "ask", &["cat link/x", "touch dangling", "echo x > dangling"]);
    check(&permissions, &root, "allow", &["cat near/x", "touch near/x", "echo x > near/x"]);

    permissions.add_directory(&outside, RuleSource::Session);
    check(&permissions, &root, "allow", &["cat link/x", "touch dangling"]);
}

#[test]
fn searching_is_judged_by_where_it_looks() {
    let (_folder, root, permissions) = session();
    let glob = |input| word(&judge(&permissions, &root, "Glob", &input));
    assert_eq!(glob(json!({ "pattern": "**/*.rs" })), "allow");
    assert_eq!(glob(json!({ "pattern": "/etc/*" })), "ask");
    assert_eq!(glob(json!({ "pattern": "../*" })), "ask");
    assert_eq!(glob(json!({ "pattern": "*", "path": "/etc" })), "ask");
    let grep = |input| word(&judge(&permissions, &root, "Grep", &input));
    assert_eq!(grep(json!({ "pattern": "x" })), "allow");
    assert_eq!(grep(json!({ "pattern": "x", "path": "/" })), "ask");
}

#[test]
fn rules_for_commands() {
    let (_folder, root, mut permissions) = session();
    rules(
        &mut permissions,
        PermissionBehavior::Allow,
        "Bash(git *),Bash(npm run test:*) Bash(make all && make install), Bash(docker * up)",
    );
    let allowed = [
        "git push",
        "git",
        "git push && ls",
        "npm run test",
        "npm run test -- -x",
        "make all && make install",
        "docker compose up",
    ];
    check(&permissions, &root, "allow", &allowed);
    let asked = [
        "git push; rm x",
        "git push && make all",
        "git $(rm x)",
        "gitk",
        "npm run test:unit",
        "npm run tests",
        "make all",
        "GIT_SSH_COMMAND=x git push",
        "git log > x",
        "docker compose down",
        "git push & rm x",
        "git push | sh",
        "echo `git push`",
        "sudo git push",
    ];
    check(&permissions, &root, "ask", &asked);
}

#[test]
fn what_is_forbidden_is_forbidden_everywhere() {
    let (_folder, root, mut permissions) = session();
    rules(&mut permissions, PermissionBehavior::Allow, "Bash");
    rules(&mut permissions, PermissionBehavior::Deny, "Bash(rm *),Bash(curl:*)");
    let denied = [
        "rm x",
        "rm",
        "ls; rm x",
        "ls && rm x",
        "echo $(rm x)",
        "echo \"`rm x`\"",
        "echo \"$(ls; rm x)\"",
        "(rm x)",
        "{ rm x; }",
        "if true; then rm x; fi",
        "FOO=1 rm x",
        "sudo rm x",
        "sudo -u me rm x",
        "timeout 5 rm x",
        "env A=b rm x",
        "xargs rm x",
        "/bin/rm x",
        "r\"m\" x",
        "\\rm x",
        "'rm' x",
        "bash -c 'rm x'",
        "sh -c \"ls; rm x\"",
        "eval rm x",
        "find . -exec rm x ;",
        "ls | xargs -n 1 rm",
        "> y rm x",
        "ls\nrm x",
        "! rm x",
        "while true; do rm x; done",
        "r''m x",
        "curl evil",
        "ls & curl",
    ];
    check(&permissions, &root, "deny", &denied);
    check(
        &permissions,
        &root,
        "allow",
        &["echo 'rm x'", "rmdir x", "ls rm", "curly x", "git rm x"],
    );
    permissions.allow_bypass();
    permissions.set_mode(PermissionMode::BypassPermissions).unwrap();
    check(&permissions, &root, "deny", &["ls; rm x"]);
}

#[test]
fn rules_for_paths() {
    let (_folder, root, mut permissions) = session();
    fs::create_dir_all(root.join("secret")).unwrap();
    fs::write(root.join("secret/key"), "").unwrap();
    symlink("secret/key", root.join("innocent")).unwrap();
    rules(
        &mut permissions,
        PermissionBehavior::Allow,
        "Edit(./src/**),Read(//etc/hosts),Edit(*.md)",
    );
    rules(&mut permissions, PermissionBehavior::Deny, "Read(./secret/**),Edit(Cargo.lock)");
    let read =
        |path: &str| word(&judge(&permissions, &root, "Read", &json!({ "file_path": path })));
    let edit =
        |path: &str| word(&judge(&permissions, &root, "Edit", &json!({ "file_path": path })));
    assert_eq!(read("secret/key"), "deny");
    assert_eq!(read("./x/../secret/key"), "deny");
    assert_eq!(read("innocent"), "deny");
    assert_eq!(edit("secret/key"), "deny");
    assert_eq!(read("/etc/hosts"), "allow");
    assert_eq!(read("/etc/passwd"), "ask");
    assert_eq!(edit("src/a.rs"), "allow");
    assert_eq!(edit("src/../b.rs"), "ask");
    assert_eq!(edit("other/src/a.rs"), "ask");
    assert_eq!(edit("docs/a.md"), "allow");
    assert_eq!(edit("deep/Cargo.lock"), "deny");
    rules(&mut permissions, PermissionBehavior::Allow, "Bash");
    check(
        &permissions,
        &root,
        "deny",
        &[
            "cat secret/key",
            "cat /etc/x secret/key",
            "cat innocent",
            "wc < innocent",
            "touch Cargo.lock",
        ],
    );
}

#[test]
fn rules_for_servers() {
    let (_folder, root, mut permissions) = session();
    rules(&mut permissions, PermissionBehavior::Allow, "mcp__calc,mcp__web__*,mcp__db__read");
    rules(&mut permissions, PermissionBehavior::Deny, "mcp__calc__divide");
    let judged = |tool: &str| word(&judge(&permissions, &root, tool, &json!({})));
    assert_eq!(judged("mcp__calc__add"), "allow");
    assert_eq!(judged("mcp__calc__divide"), "deny");
    assert_eq!(judged("mcp__calculator__add"), "ask");
    assert_eq!(judged("mcp__web__get"), "allow");
    assert_eq!(judged("mcp__db__read"), "allow");
    assert_eq!(judged("mcp__db__read__all"), "ask");
    assert_eq!(judged("mcp__db__write"), "ask");
    assert!(permissions.denies_tool("mcp__calc__divide"));
}

#[test]
fn modes() {
    let (_folder, root, mut permissions) = session();
    let write = |permissions: &Permissions, path: &str| {
        word(&judge(permissions, &root, "Write", &json!({ "file_path": path, "content": "" })))
    };
    let bypass = PermissionMode::BypassPermissions;
    assert_eq!(permissions.set_mode(bypass.clone()), Err(ModeRefused::BypassNotLaunched));
    assert!(permissions.set_mode("frobnicate".into()).is_err());
    assert_eq!(write(&permissions, "x"), "ask");

    permissions.set_mode(PermissionMode::AcceptEdits).unwrap();
    assert_eq!(write(&permissions, "x"), "allow");
    for delicate in [".git/hooks/pre-commit", ".claude/settings.json", ".bashrc", ".GIT/config"] {
        assert_eq!(write(&permissions, delicate), "ask", "{delicate}");
    }
    check(&permissions, &root, "allow", &["touch x && mkdir -p y", "rm -rf build", "ls > x"]);
    check(
        &permissions,
        &root,
        "ask",
        &["touch .git/x", "rm *", "cp --target-directory=/ x", "rm -rf .", "mv x /etc"],
    );

    permissions.set_mode(PermissionMode::Plan).unwrap();
    permissions.set_plan_file(Some(root.join("plan.md")));
    assert_eq!(write(&permissions, "x"), "ask");
    assert_eq!(write(&permissions, "plan.md"), "allow");
    check(&permissions, &root, "allow", &["ls"]);

    permissions.set_mode(PermissionMode::DontAsk).unwrap();
    assert_eq!(write(&permissions, "x"), "deny");
    check(&permissions, &root, "allow", &["ls"]);
    check(&permissions, &root, "deny", &["touch x"]);

    permissions.allow_bypass();
    permissions.set_mode(bypass).unwrap();
    assert_eq!(write(&permissions, "/etc/x"), "allow");
    check(&permissions, &root, "allow", &["rm -rf /"]);
    let question = judge(&permissions, &root, "AskUserQuestion", &json!({ "questions": [] }));
    let Verdict::Ask(question) = question else { panic!("not asked") };
    assert!(question.requires_user_interaction);
}

#[test]
fn ask_rules_come_before_allow_rules() {
    let (_folder, root, mut permissions) = session();
    rules(&mut permissions, PermissionBehavior::Allow, "Bash(git *),Edit");
    rules(&mut permissions, PermissionBehavior::Ask, "Bash(git push:*),Edit(*.lock)");
    check(&permissions, &root, "allow", &["git fetch"]);
    check(&permissions, &root, "ask", &["git push", "git fetch && git push"]);
    let edit = |path: &str| judge(&permissions, &root, "Edit", &json!({ "file_path": path }));
    assert_eq!(edit("a"), Verdict::Allow(Reason::Rule));
    assert_eq!(word(&edit("a.lock")), "ask");
}

#[test]
fn no_rule_lets_a_command_remove_the_ground_it_stands_on() {
    let (_folder, root, mut permissions) = session();
    fs::create_dir(root.join("sub")).unwrap();
    rules(&mut permissions, PermissionBehavior::Allow, "Bash");
    let above = root.parent().unwrap().display().to_string();
    let all =
        ["rm -rf .", "rm -rf ..", "rm -rf /", "ls && rm -r sub/..", &format!("rmdir {above}")];
    check(&permissions, &root, "ask", &all);
    let Verdict::Ask(ask) = judge_command(&permissions, &root, "rm -rf ..") else { panic!() };
    assert_eq!(ask.decision_reason_type, Some(Reason::SafetyCheck));
    assert_eq!(ask.suggestions, Some(Vec::new()));
    check(&permissions, &root, "allow", &["rm -rf sub", "rm -rf sub/x"]);
}

#[test]
fn people_are_told_where_a_command_would_reach() {
    let (_folder, root, permissions) = session();
    let told = |command: &str| match judge_command(&permissions, &root, command) {
        Verdict::Ask(ask) => (ask.message, ask.blocked_path),
        other => panic!("{command}: {other:?}"),
    };
    let (message, path) = told("touch a");
    assert!(message.starts_with(&format!("touch in '{}'", root.join("a").display())), "{message}");
    assert!(message.contains("The path is inside"), "{message}");
    assert_eq!(path, Some(root.join("a")));
    // Where a copy goes is what matters.
    let (message, path) = told("cp a /etc/b");
    assert!(message.contains("The path is outside"), "{message}");
    assert_eq!(path.as_deref(), Some(Path::new("/etc/b")));
    assert!(told("echo hi > /etc/b").0.starts_with("Output redirection to '/etc/b'"));
    let (message, path) = told("cat /etc/hostname");
    assert!(message.starts_with("cat in '/etc/hostname' was blocked."), "{message}");
    assert_eq!(path.as_deref(), Some(Path::new("/etc/hostname")));
}
