//! What users, projects and plugins add: agents, commands, skills, styles, instructions, checkpoints.

use std::path::Path;

use duologue_embedded::Setup;
use duologue_embedded::settings::SettingSource;
use duologue_model::{Block, Reply, Scenario};
use serde_json::{Value, json};

use super::driving::Host;
use super::embedded::{allow, plays, rest, turn};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A setup that reads all settings, with these files in its directory.
fn with_files(setup: &mut Setup, files: &[(&str, &str)]) {
    for (name, text) in files {
        write(&setup.cwd.join(name), text);
    }
    setup.sources = SettingSource::ALL.to_vec();
}

async fn ask(host: &mut Host, request: Value) -> Value {
    host.request("asked", request).await;
    loop {
        let line = host.line().await.unwrap();
        if line["response"]["request_id"] == "asked" {
            return line["response"].clone();
        }
    }
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn agents_commands_skills_and_the_style_are_listed() {
    let (_folder, mut host) = plays(Scenario::new().reply(Reply::text("Hi.")), |setup| {
        with_files(
            setup,
            &[
                (".claude/agents/a.md", "---\nname: reader\ndescription: Reads\n---\nYou read."),
                (".claude/agents/broken.md", "---\nname: broken\n---\nIt has no description."),
                (".claude/commands/deep/er.md", "Deeper."),
                (".claude/skills/sing/SKILL.md", "---\ndescription: Sings\n---\nSing."),
                (".claude/settings.json", "{\"outputStyle\":\"Concise\"}"),
            ],
        );
    });
    let agents = json!({ "of-host": { "description": "d", "prompt": "p" } });
    let hello = ask(&mut host, json!({ "subtype": "initialize", "agents": agents })).await;
    let hello = &hello["response"];
    assert_eq!(hello["output_style"], "Concise");
    let lines = turn(&mut host, "go", allow).await;
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    let listed = names(&init["agents"]);
    assert!(listed.contains(&"reader") && listed.contains(&"of-host"), "{listed:?}");
    assert!(!listed.contains(&"broken"), "a file without a description is not an agent");
    let mut sorted = listed.clone();
    sorted.sort_by_key(|name| name.to_lowercase());
    assert_eq!(listed, sorted);
    assert_eq!(names(&init["slash_commands"])[..2], ["sing", "deep:er"]);
    assert_eq!(names(&init["skills"]), ["sing"]);
    assert_eq!(init["output_style"], "Concise");
}

#[tokio::test]
async fn nothing_of_a_source_that_does_not_count_is_read() {
    let (_folder, mut host) = plays(Scenario::new().reply(Reply::text("Hi.")), |setup| {
        with_files(setup, &[(".claude/commands/greet.md", "Greet.")]);
        setup.sources = vec![SettingSource::User];
    });
    let lines = turn(&mut host, "go", allow).await;
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert!(!names(&init["slash_commands"]).contains(&"greet"));
}

#[tokio::test]
async fn a_command_is_replaced_by_its_prompt_and_its_rules_end_with_its_turn() {
    let touch = |name: &str| {
        Reply::new().say(Block::tool("Bash", json!({ "command": format!("touch {name}") })))
    };
    let scenario = Scenario::new()
        .reply(touch("one"))
        .reply(Reply::text("Done."))
        .reply(touch("two"))
        .reply(Reply::text("Done."));
    let (folder, mut host) = plays(scenario, |setup| {
        let text = "---\nallowed-tools: Bash(touch:*)\n---\nGreet $ARGUMENTS now.";
        with_files(setup, &[(".claude/commands/greet.md", text)]);
    });
    let refuse = |_: &Value| json!({ "behavior": "deny", "message": "no" });
    turn(&mut host, "/greet Ann", refuse).await;
    assert!(folder.path().join("one").exists(), "the command allows it");
    turn(&mut host, "go", refuse).await;
    assert!(!folder.path().join("two").exists(), "it is over");
}

#[tokio::test]
async fn a_skill_follows_the_result_of_its_call() {
    let scenario = Scenario::new()
        .reply(Reply::new().say(Block::tool("Skill", json!({ "skill": "sing", "args": "low" }))))
        .reply(Reply::text("Done."));
    let (_folder, mut host) = plays(scenario, |setup| {
        with_files(setup, &[(".claude/skills/sing/SKILL.md", "---\ndescription: S\n---\nSing.")]);
    });
    let lines = turn(&mut host, "go", allow).await;
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "user").collect();
    assert_eq!(results[0]["tool_use_result"]["commandName"], "sing");
    let text = results[1]["message"]["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("Sing.\n\nARGUMENTS: low"), "{text}");
    assert_eq!(results[1]["isSynthetic"], true);
}

#[tokio::test]
async fn files_go_back_to_what_they_were_before_a_prompt() {
    let scenario = Scenario::new()
        .reply(
            Reply::new()
                .say(Block::tool("Write", json!({ "file_path": "new.txt", "content": "one\n" }))),
        )
        .reply(Reply::text("Done."));
    let (folder, mut host) = plays(scenario, |setup| {
        setup.checkpoints = true;
        setup.config = setup.cwd.join("config");
        setup.options = setup.options.clone().session_id("11111111-2222-4333-8444-555555555555");
    });
    let uuid = "00000000-0000-4000-8000-000000000001";
    let prompt = json!({ "role": "user", "content": "go" });
    host.say(&json!({ "type": "user", "uuid": uuid, "message": prompt })).await;
    rest(&mut host, allow).await;
    assert!(folder.path().join("new.txt").exists());
    let rewind =
        |dry: bool| json!({ "subtype": "rewind_files", "user_message_id": uuid, "dry_run": dry });
    let would = ask(&mut host, rewind(true)).await;
    assert_eq!(would["response"]["deletions"], 1, "{would}");
    assert!(folder.path().join("new.txt").exists(), "a dry run changes nothing");
    let done = ask(&mut host, rewind(false)).await;
    assert_eq!(done["response"]["canRewind"], true, "{done}");
    assert!(!folder.path().join("new.txt").exists());
    let none = json!({ "subtype": "rewind_files", "user_message_id": "x" });
    assert_eq!(ask(&mut host, none).await["error"], "No file checkpoint found for this message.");
}

#[tokio::test]
async fn settings_are_reported_changed_and_kept() {
    let (folder, mut host) = plays(Scenario::new(), |setup| {
        with_files(setup, &[(".claude/settings.json", "{\"model\":\"sonnet\"}"), ("some.txt", "")]);
    });
    let settings = ask(&mut host, json!({ "subtype": "get_settings" })).await;
    assert_eq!(settings["response"]["effective"]["model"], "sonnet");
    let update = |name: &str| {
        json!({
            "subtype": "update_settings", "source": "localSettings", "settings": { name: "Concise" },
        })
    };
    assert_eq!(ask(&mut host, update("outputStyle")).await["subtype"], "success");
    let kept = std::fs::read_to_string(folder.path().join(".claude/settings.local.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap()["outputStyle"], "Concise");
    assert_eq!(
        ask(&mut host, update("model")).await["error"],
        "update_settings keys not allowed: model"
    );
    let files = json!({ "subtype": "file_suggestions", "query": "SOME" });
    assert_eq!(
        ask(&mut host, files).await["response"]["suggestions"],
        json!([{ "path": "some.txt" }])
    );
}
