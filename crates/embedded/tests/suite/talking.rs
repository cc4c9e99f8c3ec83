//! Questions and plans, put into words.

use duologue_embedded::tools::{StructuredOutputTool, Toolbox};
use duologue_protocol::RawObject;
use serde_json::json;

use super::support::{place, result, run};

#[tokio::test]
async fn answers() {
    let (_folder, context) = place();
    let questions =
        json!([{ "question": "Which?", "header": "H", "multiSelect": true, "options": [] }]);
    let ask = async |answers| {
        let input = json!({ "questions": questions, "answers": answers });
        run(&context, "AskUserQuestion", input).await
    };
    let output = ask(json!({ "Which?": "A", "With?": ["B", "C"] })).await;
    let told = r#"Your questions have been answered: "Which?"="A", "With?"="B,C". You can now continue with these answers in mind."#;
    assert_eq!(output.content.text(), told);
    assert_eq!(result(&output)["answers"], json!({ "Which?": "A", "With?": ["B", "C"] }));
    let output = ask(json!({})).await;
    assert_eq!(output.content.text(), "The user did not answer the questions.");
    assert_eq!(result(&output), json!({ "questions": questions, "answers": {} }));
}

#[tokio::test]
async fn plans() {
    let (_folder, context) = place();
    context.set_plan_file(Some("/plans/x.md".into()));
    let output = run(&context, "ExitPlanMode", json!({})).await;
    assert_eq!(output.content.text(), "User has approved exiting plan mode. You can now proceed.");
    let expected = json!({ "plan": null, "isAgent": false, "filePath": "/plans/x.md" });
    assert_eq!(result(&output), expected);
    let output = run(&context, "ExitPlanMode", json!({ "plan": "1. Go" })).await;
    assert!(output.content.text().ends_with("## Approved Plan:\n1. Go"));
}

#[tokio::test]
async fn things_to_do() {
    let (_folder, context) = place();
    let todo = |status| json!([{ "content": "Do", "status": status, "activeForm": "Doing" }]);
    run(&context, "TodoWrite", json!({ "todos": todo("pending") })).await;
    assert_eq!(json!(context.todos()), todo("pending"));
    let output = run(&context, "TodoWrite", json!({ "todos": todo("completed") })).await;
    let expected = json!({ "oldTodos": todo("pending"), "newTodos": todo("completed") });
    assert_eq!(result(&output), expected);
    assert!(context.todos().is_empty());
}

#[tokio::test]
async fn output_of_another_shape_is_not_taken() {
    let (_folder, context) = place();
    let schema = json!({ "type": "object", "required": ["n"] });
    let toolbox = Toolbox::new().with(StructuredOutputTool::new(schema).unwrap());
    let output = toolbox.run("StructuredOutput", RawObject::default(), &context).await;
    assert!(output.is_failure());
    assert!(StructuredOutputTool::new(json!({ "type": 7 })).is_err());
}
