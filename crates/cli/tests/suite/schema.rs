//! `duologue schema`.

use super::command::{duologue, json};

#[test]
fn each_direction_has_its_schema() {
    let schema = |args: &[&str]| json(&duologue().arg("schema").args(args).output().unwrap());
    let to_host = schema(&["--direction", "to-host"]);
    let to_agent = schema(&["--direction", "to-agent"]);
    let both = schema(&[]);
    assert!(to_host["$defs"]["lines.assistant.Assistant"].is_object());
    assert!(to_agent["$defs"]["lines.prompt.Prompt"].is_object());
    assert_eq!(
        both["anyOf"].as_array().unwrap().len(),
        to_host["anyOf"].as_array().unwrap().len() + to_agent["anyOf"].as_array().unwrap().len()
    );
}
