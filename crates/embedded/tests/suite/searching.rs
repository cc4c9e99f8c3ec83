//! `Glob` and `Grep`.

use std::fs;

use duologue_embedded::permission::{Permissions, RuleSource};
use duologue_protocol::permission::PermissionBehavior;
use serde_json::{Value, json};

use super::support::{place, result, run};

async fn told(context: &duologue_embedded::tools::ToolContext, tool: &str, input: Value) -> String {
    run(context, tool, input).await.content.text()
}

#[tokio::test]
async fn files_by_name() {
    let (folder, context) = place();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("src/deep")).unwrap();
    for name in ["src/a.rs", "src/deep/b.rs", "src/c.txt", ".hidden.rs"] {
        fs::write(root.join(name), "").unwrap();
    }
    let glob = async |input| {
        let text = told(&context, "Glob", input).await;
        let mut names: Vec<String> =
            text.lines().map(|line| line.replace(&format!("{}/", root.display()), "")).collect();
        names.sort();
        names
    };
    assert_eq!(
        glob(json!({ "pattern": "**/*.rs" })).await,
        [".hidden.rs", "src/a.rs", "src/deep/b.rs"]
    );
    assert_eq!(glob(json!({ "pattern": "src/*.rs" })).await, ["src/a.rs"]);
    assert_eq!(glob(json!({ "pattern": "*.txt", "path": "src" })).await, ["src/c.txt"]);
    let absolute = root.join("src/deep/*").to_string_lossy().into_owned();
    assert_eq!(glob(json!({ "pattern": absolute })).await, ["src/deep/b.rs"]);
    assert_eq!(glob(json!({ "pattern": "*.py" })).await, ["No files found"]);
    assert!(run(&context, "Glob", json!({ "pattern": "*", "path": "no" })).await.is_failure());
    assert!(run(&context, "Glob", json!({ "pattern": "a{b" })).await.is_failure());
}

#[tokio::test]
async fn text_in_files() {
    let (folder, context) = place();
    fs::create_dir_all(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join(".git/config"), "needle").unwrap();
    fs::write(folder.path().join(".gitignore"), "ignored\n").unwrap();
    fs::write(folder.path().join("ignored"), "needle").unwrap();
    fs::write(folder.path().join("a.rs"), "one\nneedle two\nthree\nfour\nNeedle five\n").unwrap();
    fs::write(folder.path().join("b.txt"), "needle needle\n").unwrap();
    let grep = async |input| told(&context, "Grep", input).await;

    let count = json!({ "pattern": "needle", "output_mode": "count" });
    assert_eq!(grep(count).await, "a.rs:1\nb.txt:1\n\nFound 2 total occurrences across 2 files.");
    let content = json!({ "pattern": "needle", "output_mode": "content", "-i": true, "-C": 1 });
    assert_eq!(
        grep(content).await,
        "a.rs-1-one\na.rs:2:needle two\na.rs-3-three\na.rs-4-four\na.rs:5:Needle five\nb.txt:1:needle needle"
    );
    let around =
        json!({ "pattern": "one|five", "output_mode": "content", "-A": 1, "path": "a.rs" });
    assert_eq!(grep(around).await, "1:one\n2-needle two\n--\n5:Needle five");
    let only = json!({ "pattern": "need", "output_mode": "content", "-o": true, "-n": false, "glob": "*.txt" });
    assert_eq!(grep(only).await, "b.txt:need\nb.txt:need");
    let kind = json!({ "pattern": "needle", "type": "rust" });
    assert_eq!(grep(kind).await, "Found 1 file\na.rs");
    let lines = json!({ "pattern": "two.*four", "multiline": true, "output_mode": "content" });
    assert_eq!(grep(lines).await, "a.rs:2:needle two\na.rs:3:three\na.rs:4:four");
    let page = json!({ "pattern": ".", "output_mode": "content", "head_limit": 2, "offset": 1, "path": "a.rs" });
    assert_eq!(
        grep(page).await,
        "2:needle two\n3:three\n\n[Showing results with pagination = limit: 2, offset: 1]"
    );
    assert_eq!(grep(json!({ "pattern": "absent" })).await, "No files found");
    assert!(run(&context, "Grep", json!({ "pattern": "(" })).await.is_failure());
    assert!(run(&context, "Grep", json!({ "pattern": "x", "type": "klingon" })).await.is_failure());
}

#[tokio::test]
async fn the_newest_file_comes_first() {
    let (folder, context) = place();
    for (name, seconds) in [("old", 1), ("new", 3), ("middle", 2)] {
        let path = folder.path().join(name);
        fs::write(&path, "needle").unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    let output = run(&context, "Grep", json!({ "pattern": "needle" })).await;
    assert_eq!(result(&output)["filenames"], json!(["new", "middle", "old"]));
}

#[tokio::test]
async fn files_that_must_not_be_read_are_not_found() {
    let (folder, context) = place();
    let root = folder.path().canonicalize().unwrap();
    for name in ["secret", "open"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    for (file, text) in [("secret/key", "S1"), ("open/a", "S2"), ("open/b.pem", "S3")] {
        std::fs::write(root.join(file), text).unwrap();
    }
    std::os::unix::fs::symlink("secret/key", root.join("innocent")).unwrap();
    std::os::unix::fs::symlink("open", root.join("link")).unwrap();
    let mut permissions = Permissions::new(&root);
    let rules = "Read(./secret/**),Read(*.pem),Read(link/a)";
    permissions.add_rules(rules, PermissionBehavior::Deny, RuleSource::CliArg);
    let all = [
        ("Grep", json!({ "pattern": "S" })),
        ("Grep", json!({ "pattern": "S", "output_mode": "content" })),
        ("Grep", json!({ "pattern": "S", "output_mode": "count" })),
        ("Grep", json!({ "pattern": "S", "path": "secret" })),
        ("Grep", json!({ "pattern": "S", "path": "secret/key" })),
        ("Grep", json!({ "pattern": "S", "path": "open" })),
        ("Grep", json!({ "pattern": "S", "path": "link" })),
        ("Grep", json!({ "pattern": "S", "glob": "secret/**" })),
        ("Grep", json!({ "pattern": "S", "glob": "*.pem" })),
        ("Grep", json!({ "pattern": "(?s)S.*", "multiline": true, "output_mode": "content" })),
        ("Glob", json!({ "pattern": "**/*" })),
        ("Glob", json!({ "pattern": "secret/*" })),
        ("Glob", json!({ "pattern": "*", "path": "secret" })),
        ("Glob", json!({ "pattern": "*.pem" })),
        ("Glob", json!({ "pattern": "**/key" })),
    ];
    for hides in [false, true] {
        if hides {
            context.set_hidden_files(permissions.hidden_files());
        }
        for (tool, input) in &all {
            let output = run(&context, tool, input.clone()).await;
            let shown = format!("{}{}", output.content.text(), result(&output));
            let told = ["secret", "S1", "b.pem", "S3", "innocent", "link/a"];
            let told: Vec<_> = told.iter().filter(|word| shown.contains(**word)).collect();
            assert_eq!(told.is_empty(), hides, "{tool} {input}: {shown}");
        }
    }
    let output = run(&context, "Grep", json!({ "pattern": "S" })).await;
    assert_eq!(output.content.text(), "Found 1 file\nopen/a");
}
