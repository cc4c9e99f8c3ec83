//! `Read`, `Write` and `Edit`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::support::{place, result, run};

#[tokio::test]
async fn parts_of_a_file() {
    let (folder, context) = place();
    fs::write(folder.path().join("a"), "one\r\ntwo\nthree\nfour").unwrap();
    let read = async |offset: u64, limit: u64| {
        run(&context, "Read", json!({ "file_path": "a", "offset": offset, "limit": limit })).await
    };
    let output = read(2, 2).await;
    assert_eq!(output.content.text(), "2\ttwo\n3\tthree");
    assert_eq!(output.is_error, None);
    let file = result(&output)["file"].clone();
    assert_eq!(file["content"], "two\nthree");
    assert_eq!((&file["numLines"], &file["totalLines"]), (&json!(2), &json!(4)));

    assert_eq!(read(1, 1).await.content.text(), "1\tone");
    assert_eq!(read(4, 9).await.content.text(), "4\tfour");
    assert!(read(5, 1).await.content.text().contains("shorter than the provided offset (5)"));
}

#[tokio::test]
async fn what_cannot_be_read_is_told() {
    let (folder, context) = place();
    let read = async |path: &str| run(&context, "Read", json!({ "file_path": path })).await;
    fs::write(folder.path().join("empty"), "").unwrap();
    assert!(read("empty").await.content.text().contains("contents are empty"));
    fs::write(folder.path().join("zero"), "a\0b").unwrap();
    assert!(read("zero").await.content.text().contains("cannot read binary files"));
    assert!(read("/dev/zero").await.content.text().contains("infinite output"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert!(read("pipe").await.is_failure());
    symlink("loop", folder.path().join("loop")).unwrap();
    assert!(read("loop").await.content.text().contains("ELOOP"));
    fs::write(folder.path().join("large"), "x".repeat(300_000)).unwrap();
    assert!(read("large").await.content.text().starts_with("File content (293KB) exceeds"));
    let input = json!({ "file_path": "large", "limit": 1 });
    assert!(run(&context, "Read", input).await.is_failure());
    let input = json!({ "file_path": "large", "allow_large": true });
    assert!(!run(&context, "Read", input).await.is_failure());
}

#[tokio::test]
async fn a_file_must_be_read_before_it_is_overwritten() {
    let (folder, context) = place();
    let path = folder.path().join("a");
    fs::write(&path, "theirs\n").unwrap();
    let write =
        async || run(&context, "Write", json!({ "file_path": "a", "content": "mine\n" })).await;
    let told = write().await.content.text();
    assert!(told.contains("has not been read yet"), "{told}");

    run(&context, "Read", json!({ "file_path": "a" })).await;
    fs::write(&path, "changed meanwhile\n").unwrap();
    let told = write().await.content.text();
    assert!(told.contains("modified since read"), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "changed meanwhile\n");

    run(&context, "Read", json!({ "file_path": "a" })).await;
    assert!(!write().await.is_failure());
    assert!(!write().await.is_failure());
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    // What one agent has read, another has not.
    let input = json!({ "file_path": "a", "content": "other" });
    assert!(run(&context.for_agent(), "Write", input).await.is_failure());
}

#[tokio::test]
async fn permissions_and_links_stay() {
    let (folder, context) = place();
    let target = folder.path().join("script");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o751)).unwrap();
    symlink("script", folder.path().join("link")).unwrap();
    let input = json!({ "file_path": "link", "old_string": "old", "new_string": "new" });
    assert!(!run(&context, "Edit", input).await.is_failure());
    assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o751);
    assert!(fs::symlink_metadata(folder.path().join("link")).unwrap().is_symlink());

    // A new file is as one that any program would make.
    let input = json!({ "file_path": "deep/new", "content": "x" });
    assert!(!run(&context, "Write", input).await.is_failure());
    fs::write(folder.path().join("plain"), "").unwrap();
    let mode = |name| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode("deep/new"), mode("plain"));
}

#[tokio::test]
async fn edits() {
    let (folder, context) = place();
    let path = folder.path().join("a");
    let edit = async |old: &str, new: &str, all: bool| {
        let input =
            json!({ "file_path": "a", "old_string": old, "new_string": new, "replace_all": all });
        run(&context, "Edit", input).await.content.text()
    };
    assert!(edit("x", "y", false).await.contains("File does not exist."));
    assert!(edit("", "a\r\nb\r\na\r\n", false).await.contains("updated successfully"));
    assert!(edit("a", "a", false).await.contains("exactly the same"));
    assert!(edit("", "x", false).await.contains("file already exists"));
    assert!(edit("a", "c", false).await.contains("Found 2 matches"));
    // Line ends stay as they are.
    assert!(edit("a\nb", "c\nb", false).await.contains("updated successfully"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "c\r\nb\r\na\r\n");
    // A line that goes away takes its newline with it.
    assert!(edit("b", "", true).await.contains("All occurrences"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "c\r\na\r\n");

    fs::write(&path, b"latin \xe9\n").unwrap();
    assert!(edit("latin", "x", false).await.contains("not UTF-8"));
    assert_eq!(fs::read(&path).unwrap(), b"latin \xe9\n");
}
