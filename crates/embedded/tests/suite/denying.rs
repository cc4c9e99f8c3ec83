//! Deny rules hold, however a command is written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use duologue_embedded::permission::{Permissions, RuleSource, Verdict};
use duologue_protocol::permission::{PermissionBehavior, PermissionMode};
use proptest::prelude::*;
use tempfile::TempDir;

use super::denied_commands::{ALLOWED, DENIED};
use super::evading_commands::EVADING;
use super::support::judge_command;

/// Permissions with these deny rules, in which all other commands are allowed.
fn denying(rules: &str) -> (TempDir, PathBuf, Permissions) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let mut permissions = Permissions::new(&root);
    permissions.add_rules("Bash", PermissionBehavior::Allow, RuleSource::CliArg);
    permissions.add_rules(rules, PermissionBehavior::Deny, RuleSource::CliArg);
    (folder, root, permissions)
}

/// The commands whose verdict is not the expected one.
fn others<'a>(
    permissions: &Permissions,
    root: &Path,
    commands: &[&'a str],
    expected: impl Fn(&Verdict) -> bool,
) -> Vec<&'a str> {
    let other = |command: &&str| !expected(&judge_command(permissions, root, command));
    commands.iter().copied().filter(other).collect()
}

#[test]
fn what_the_cli_denies_is_denied() {
    let (_folder, root, permissions) = denying("Bash(touch *)");
    let others = others(&permissions, &root, DENIED, |it| matches!(it, Verdict::Deny(_)));
    assert!(others.is_empty(), "not denied: {others:#?}");
}

#[test]
fn no_spelling_evades_a_deny_rule() {
    for rule in ["Bash(touch *)", "Bash(touch:*)", "Bash(touch x),Bash(touch)"] {
        let (_folder, root, mut permissions) = denying(rule);
        permissions.allow_bypass();
        for mode in [PermissionMode::Default, PermissionMode::BypassPermissions] {
            permissions.set_mode(mode).unwrap();
            let others = others(&permissions, &root, EVADING, |it| !it.is_allowed());
            // A rule about one exact command does not cover other arguments.
            if !rule.contains("touch x") {
                assert!(others.is_empty(), "{rule} allows: {others:#?}");
            }
        }
        permissions.set_mode(PermissionMode::DontAsk).unwrap();
        if !rule.contains("touch x") {
            let others = others(&permissions, &root, EVADING, |it| matches!(it, Verdict::Deny(_)));
            assert!(others.is_empty(), "{rule} does not deny: {others:#?}");
        }
    }
}

#[test]
fn other_commands_are_still_allowed() {
    let (_folder, root, permissions) = denying("Bash(touch *)");
    let others = others(&permissions, &root, ALLOWED, Verdict::is_allowed);
    assert!(others.is_empty(), "not allowed: {others:#?}");
}

#[test]
fn a_longer_rule_counts_too() {
    let (_folder, root, permissions) = denying("Bash(git push *)");
    let refused = [
        "git push",
        "git push origin",
        "git $x origin",
        "git $(echo push)",
        "git \"$x\"",
        "git pu{sh,ll}",
        "$x push",
        "$x",
        "g=git; $g push",
        "p='push origin'; git $p",
        "git  push",
        "git 'push'",
        "bash -c 'git push'",
        "ssh host git push",
        "python3 -c 'os.system(\"git push\")'",
        "git $x push",
    ];
    let others_refused = others(&permissions, &root, &refused, |it| !it.is_allowed());
    assert!(others_refused.is_empty(), "allowed: {others_refused:#?}");
    let allowed = ["git status", "git commit $x", "git pull", "echo $x", "git log push"];
    let others_allowed = others(&permissions, &root, &allowed, Verdict::is_allowed);
    assert!(others_allowed.is_empty(), "not allowed: {others_allowed:#?}");
}

#[test]
fn a_command_that_cannot_be_followed_is_asked_about() {
    let (_folder, root, permissions) = denying("Bash(touch *)");
    let deep = format!("{}touch x{}", "$(".repeat(200), ")".repeat(200));
    let braces = format!("{}touch x", "{ ".repeat(5000));
    let parens = "$((".repeat(3000);
    let wrapped = format!("{}touch x", "sudo ".repeat(50));
    let words = format!("sudo {} touch x", "y ".repeat(5000));
    let evals = format!("{}touch x", "eval ".repeat(40));
    let long = format!("echo {}; touch x", "y".repeat(2_000_000));
    let quotes = "\"$(".repeat(500);
    for command in [&deep, &braces, &parens, &wrapped, &words, &evals, &long, &quotes] {
        let verdict = judge_command(&permissions, &root, command);
        assert!(!verdict.is_allowed(), "{}…: {verdict:?}", &command[..40]);
    }
}

#[test]
fn files_that_must_not_be_read_are_denied_to_commands() {
    let (_folder, root, mut permissions) = denying("Read(secret/**),Read(*.pem),Edit(Cargo.lock)");
    for folder in ["secret", "open"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    for file in ["secret/key", "open/a", "open/b.pem", "Cargo.lock", "x"] {
        fs::write(root.join(file), "S").unwrap();
    }
    symlink("secret/key", root.join("innocent")).unwrap();
    symlink("secret", root.join("link")).unwrap();
    let denied = [
        "cat secret/key",
        "head secret/key",
        "tail -n 1 secret/key",
        "less secret/key",
        "more secret/key",
        "grep S secret/key",
        "sed -n p secret/key",
        "awk 1 secret/key",
        "cp secret/key y",
        "mv secret/key y",
        "wc secret/key",
        "sort secret/key",
        "nl secret/key",
        "od secret/key",
        "xxd secret/key",
        "strings secret/key",
        "base64 secret/key",
        "diff secret/key y",
        "jq . secret/key",
        "cat < secret/key",
        "wc -l < secret/key",
        "cat secret/*",
        "cat */key",
        "cat *",
        "cat secret/k?y",
        "cat secret/[k]ey",
        "cd secret && cat key",
        "cd secret; cat key",
        "(cd secret && cat key)",
        "a=secret/key; cat $a",
        "a=secret/key; cat \"$a\"",
        "for f in secret/key; do cat $f; done",
        "echo $(cat secret/key)",
        "echo $(<secret/key)",
        "echo `cat secret/key`",
        "cat \"secret/key\"",
        "cat 'secret'/key",
        "cat $'secret/key'",
        "cat sec\\ret/key",
        "cat ./secret/../secret/key",
        "cat innocent",
        "cat link/key",
        "cat secret/key &",
        "cat secret/key | head",
        "cat secret/key > y",
        "true; cat secret/key",
        "if true; then cat secret/key; fi",
        "bash -c 'cat secret/key'",
        "env cat secret/key",
        "timeout 5 cat secret/key",
        "find secret",
        "ls secret",
        "ls -la secret/key",
        "stat secret/key",
        "file secret/key",
        "du secret",
        "grep -r S secret",
        "dd if=secret/key",
        "tac secret/key",
        "while read l; do echo $l; done < secret/key",
        "exec 3< secret/key; cat <&3",
        "read a < secret/key",
        "cat open/b.pem",
        "cat open/*.pem",
        "cat open/*",
        "f() { cat secret/key; }; f",
        "eval 'cat secret/key'",
        "cat secret//key",
        "echo x > Cargo.lock",
        "echo x >> Cargo.lock &",
        "{ echo x; } > Cargo.lock",
        "touch Cargo.lock",
        "tee Cargo.lock",
        "sed -i s/a/b/ Cargo.lock",
        "(rm Cargo.lock)",
        "echo x >| Cargo.lock",
        "true &> Cargo.lock",
        "cp x Cargo.lock",
        "grep -f secret/key x",
        "sort --files0-from=secret/key",
        "cat -- secret/key",
        "tar cf - secret",
    ];
    let others_denied = others(&permissions, &root, &denied, |it| matches!(it, Verdict::Deny(_)));
    assert!(others_denied.is_empty(), "not denied: {others_denied:#?}");
    let refused = [
        "cat $(echo secret/key)",
        "cat `echo secret/key`",
        "cat $x",
        "cat s{ecret,}/key",
        "xargs cat <<< secret/key",
        "find . -name key -exec cat {} \\;",
        "cat \"$x\"",
        "python3 secret/key",
        "python3 -c 'print(open(\"secret/key\").read())'",
        "curl -d @secret/key localhost",
        "git show HEAD:secret/key",
        "source secret/key",
        ". secret/key",
        "node secret/key",
        "vim secret/key",
        "cd $x && cat key",
        "echo secret/key | xargs cat",
        "ln secret/key z",
        "perl -pe 1 secret/key",
        "head -n1 $x/key",
        "bash secret/key",
        "make -f secret/key",
        "cat < $x",
        "while read l; do echo $l; done < $x",
    ];
    let others_refused = others(&permissions, &root, &refused, |it| !it.is_allowed());
    assert!(others_refused.is_empty(), "allowed: {others_refused:#?}");
    let allowed = [
        "cat open/a",
        "ls",
        "echo secret/key",
        "cat x",
        "grep S open/a",
        "cat ope?/a",
        "ls open",
        "echo x > y",
        "cargo build",
        "cat Cargo.lock",
        "for i in 1 2; do echo $i; done",
        "python3 x",
        "wc -l x > y",
    ];
    let others_allowed = others(&permissions, &root, &allowed, Verdict::is_allowed);
    assert!(others_allowed.is_empty(), "not allowed: {others_allowed:#?}");
    permissions.allow_bypass();
    permissions.set_mode(PermissionMode::BypassPermissions).unwrap();
    let others = others(&permissions, &root, &denied, |it| matches!(it, Verdict::Deny(_)));
    assert!(others.is_empty(), "not denied when permissions are bypassed: {others:#?}");
}

/// Command lines that often run `evil`, in ways that are hard to see.
fn devious() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "evil",
        "evil",
        "ev",
        "il",
        "ls",
        "echo",
        "true",
        " ",
        " ",
        " ",
        ";",
        "; ",
        " && ",
        " | ",
        "&",
        "\n",
        "\n",
        "(",
        ")",
        "{ ",
        "; }",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "\\\n",
        "${",
        "}",
        "$((",
        "))",
        "((",
        "$[",
        "]",
        "[",
        "[[ ",
        " ]]",
        "#",
        " #",
        "<<E\n",
        "\nE\n",
        "<<'E'\n",
        "<<-E\n",
        "<<<",
        "<(",
        ">(",
        ">x",
        "<x",
        "2>&1",
        "A=",
        "A=evil",
        "$A",
        "${A}",
        "\"$A\"",
        "a[",
        "]=1",
        "$'",
        "\\x65vil",
        "if ",
        "; then ",
        "; fi",
        "for i in ",
        "; do ",
        "; done",
        "case a in ",
        "a) ",
        ";; ",
        " esac",
        "f() ",
        "function f ",
        "f",
        "eval ",
        "bash -c ",
        "command ",
        "env ",
        "xargs ",
        "time ",
        "! ",
        "coproc ",
        ":-",
        "1 << 2",
        "E\\\n",
        "\t",
        "trap ",
        " EXIT",
        "exec ",
    ]);
    proptest::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// What is allowed is given to a real shell, where `evil` leaves a mark.
    #[test]
    fn what_is_denied_does_not_run(command in devious()) {
        let (folder, root, permissions) = denying("Bash(evil *)");
        if command.contains('e') && judge_command(&permissions, &root, &command).is_allowed() {
            let bin = folder.path().join("bin");
            let work = folder.path().join("work");
            fs::create_dir(&bin).unwrap();
            fs::create_dir(&work).unwrap();
            let evil = bin.join("evil");
            fs::write(&evil, "#!/bin/sh\n: > \"${0%/*}/mark\"\n").unwrap();
            fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
            let path = std::env::var("PATH").unwrap();
            let ran = Command::new("timeout")
                .args(["-s", "KILL", "5", "bash", "-c", "eval \"$0\"", &command])
                .env("PATH", format!("{}:{path}", bin.display()))
                .env_remove("A")
                .current_dir(&work)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            prop_assert!(!bin.join("mark").exists(), "{command:?} ran evil: {ran:?}");
        }
    }
}
