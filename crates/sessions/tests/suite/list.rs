//! Lists: order, pages, projects and worktrees.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use duologue_sessions::{ListOptions, Sessions, project_key_of_directory};
use serde_json::json;

use super::{ID, Place, user};

fn id(number: usize) -> String {
    format!("{number:08x}-2222-4333-8444-555555555555")
}

fn place(count: usize) -> Place {
    let place = Place::new();
    for number in 0..count {
        place.write(&id(number), &[user("a", None, &format!("Prompt {number}"))]);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number as u64);
        let file = fs::File::options().append(true).open(place.path(&id(number))).unwrap();
        file.set_modified(time).unwrap();
    }
    place
}

fn summaries(sessions: &Sessions, options: &ListOptions) -> Vec<String> {
    sessions.list(options).unwrap().sessions.into_iter().map(|info| info.summary).collect()
}

#[test]
fn the_newest_comes_first_and_pages_fit_together() {
    let place = place(150);
    let all = summaries(&place.sessions(), &ListOptions::default());
    assert_eq!(all.len(), 150);
    assert_eq!(all[0], "Prompt 149");
    let pages: Vec<String> = (0..4)
        .flat_map(|page| {
            summaries(&place.sessions(), &ListOptions::default().limit(40).offset(page * 40))
        })
        .collect();
    assert_eq!(pages, all);
    assert_eq!(summaries(&place.sessions(), &ListOptions::default().limit(0)).len(), 150);
    assert!(summaries(&place.sessions(), &ListOptions::default().offset(150)).is_empty());
}

#[test]
fn no_folder_is_no_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_config_dir(dir.path().join("missing"));
    assert_eq!(sessions.list(&ListOptions::default()).unwrap(), Default::default());
    assert!(matches!(sessions.get(ID), Err(duologue_sessions::Error::NotFound(_))));
}

#[test]
fn a_session_in_two_projects_is_listed_once() {
    let place = place(1);
    let other = place.dir.path().join("projects/-other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join(format!("{}.jsonl", id(0))), format!("{}\n", user("a", None, "Newer")))
        .unwrap();
    assert_eq!(summaries(&place.sessions(), &ListOptions::default()), ["Newer"]);
}

fn git(directory: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@example.com"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn worktrees_belong_to_their_project() {
    let place = Place::new();
    let root = place.dir.path().canonicalize().unwrap();
    let (main, tree, deep) = (root.join("main"), root.join("tree"), root.join("main/deep"));
    fs::create_dir_all(&deep).unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(&main, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    for (number, directory) in [&main, &tree, &deep].into_iter().enumerate() {
        let folder = place.dir.path().join("projects").join(project_key_of_directory(directory));
        fs::create_dir_all(&folder).unwrap();
        let text =
            format!("{}\n", user("a", None, directory.file_name().unwrap().to_str().unwrap()));
        fs::write(folder.join(format!("{}.jsonl", id(number))), text).unwrap();
    }
    let in_main = place.sessions().in_project(&main);
    let mut found = summaries(&in_main, &ListOptions::default());
    found.sort();
    assert_eq!(found, ["main", "tree"]);
    assert_eq!(
        summaries(&in_main.clone().with_worktrees(false), &ListOptions::default()),
        ["main"]
    );
    let mut found = summaries(&place.sessions().in_project(&deep), &ListOptions::default());
    found.sort();
    assert_eq!(found, ["deep", "main", "tree"]);
    assert_eq!(in_main.get(&id(1)).unwrap().info().unwrap().unwrap().summary, "tree");
    assert!(in_main.get(&id(2)).is_err());
}

#[test]
fn long_paths_are_found_whatever_their_hash() {
    let place = Place::new();
    let project = format!("/nowhere/{}", "long/".repeat(60));
    let key = duologue_sessions::project_key(project.as_ref());
    let folder = place.dir.path().join("projects").join(format!("{}-otherhash", &key[..200]));
    fs::create_dir(&folder).unwrap();
    let mut entry = user("a", None, "Deep");
    entry["cwd"] = json!(project.trim_end_matches('/'));
    fs::write(folder.join(format!("{}.jsonl", id(0))), format!("{entry}\n")).unwrap();
    let sessions = place.sessions().in_project(project.trim_end_matches('/'));
    assert_eq!(summaries(&sessions, &ListOptions::default()), ["Deep"]);
    assert!(sessions.get(&id(0)).is_ok());
}
