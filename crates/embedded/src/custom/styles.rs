//! Output styles: how answers are written.

use std::path::Path;

use super::front_matter;

/// An output style in a file.
#[derive(Clone, Debug)]
pub(crate) struct OutputStyle {
    pub(crate) name: String,
    prompt: String,
}

/// The styles that are always there, and what each asks of the model.
const BUILT_IN: &[(&str, &str)] = &[
    ("default", ""),
    (
        "Proactive",
        "Start at once. Do not stop for questions that you can answer yourself, and prefer doing to planning.",
    ),
    (
        "Concise",
        "Answer briefly. Give the result first, without a preamble and without telling what you do.",
    ),
    (
        "Explanatory",
        "Explain your choices and the patterns of the code base while you work, in short insights.",
    ),
    (
        "Learning",
        "Teach while you work: now and then leave a small piece of code to the user, say what it has to do, and wait for it.",
    ),
];

/// The styles in a folder.
pub(super) fn load(folder: &Path) -> Vec<OutputStyle> {
    let files = super::markdown(folder).into_iter();
    let styles = files.filter_map(|(stem, path)| {
        let text = super::read(&path)?;
        let (fields, body) = front_matter::split(&text);
        let name = front_matter::text(&fields, "name").unwrap_or(&stem).to_owned();
        Some(OutputStyle { name, prompt: body.trim().to_owned() })
    });
    styles.collect()
}

/// What a style asks of the model, as a part of the system prompt.
pub(super) fn prompt(styles: &[OutputStyle], name: &str) -> Option<String> {
    let own = styles.iter().find(|style| style.name == name).map(|style| style.prompt.as_str());
    let built_in = || BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let text = own.or_else(built_in).filter(|text| !text.is_empty())?;
    Some(format!("# Output Style: {name}\n{text}"))
}

/// The names of all styles.
pub(super) fn names(styles: &[OutputStyle]) -> Vec<String> {
    let own = styles.iter().map(|style| style.name.clone());
    let own = own.filter(|name| !BUILT_IN.iter().any(|(known, _)| known == name));
    BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).chain(own).collect()
}
