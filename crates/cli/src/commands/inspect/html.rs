//! One HTML page that needs no network.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue_protocol::transcript::{Event, NoticeEvent, PromptQueuedEvent};
use duologue_protocol::{Text, Wire as _, visible};
use duologue_tape::{Header, Reader};
use ring::digest::{SHA256, digest};
use serde_json::json;

use super::json::timed;
use super::spool::Spool;
use super::{Moment, Printer};
use crate::output_file::{Access, OutputFile, is_same_file};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Collects the events and writes the page at the end.
pub(super) struct Html {
    output: Option<OutputFile>,
    /// The description of the file, as JSON.
    about: String,
    /// The events as JSON, one after the other.
    events: Spool,
}

impl Html {
    /// A page at this path, or on stdout for `-`. Never replaces a tape, and another file only with --force.
    ///
    /// # Errors
    /// If the page cannot be written there.
    pub(super) fn new(path: &Path, input: &Path, force: bool) -> anyhow::Result<Self> {
        let usage = "use `duologue inspect TAPE --html OUT`";
        anyhow::ensure!(
            !is_same_file(path, input),
            "{} is the input; choose another file for the page: {usage}",
            path.display()
        );
        anyhow::ensure!(
            !is_named_as_tape(path) && !is_tape(path),
            "{} is a tape, and is not replaced by a page: {usage}",
            path.display()
        );
        let output = OutputFile::check(path, force)?;
        Ok(Self { output: Some(output), about: String::new(), events: Spool::new() })
    }

    fn push(&mut self, json: &str) -> anyhow::Result<()> {
        let mut escaped = String::with_capacity(json.len());
        escape_into(json, &mut escaped);
        self.events.push(",\n", &escaped).context("could not keep the page in a temporary file")
    }

    /// The notice about omitted events, if there are any.
    fn left_out(&self) -> String {
        match self.events.left_out() {
            0 => String::new(),
            count => {
                let text = format!("{count} more events are omitted: the page would be too large");
                format!(",\n{}", NoticeEvent::new().kind("page").text(Text::from(text)).to_json())
            }
        }
    }
}

impl Printer for Html {
    fn begin(
        &mut self,
        path: &Path,
        header: Option<&Header>,
        prompt: Option<&str>,
    ) -> anyhow::Result<()> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let title = if name == "-" { "stdin".into() } else { name };
        let about = json!({
            "title": title,
            "program": header.map(|header| header.program.as_deref().unwrap_or("an agent")),
            "version": header.and_then(|header| header.version.as_deref()),
            "recorded_at": header.and_then(|header| header.extra.get("recorded_at")?.as_u64()),
        });
        self.about.clear();
        escape_into(&about.to_string(), &mut self.about);
        if let Some(prompt) = prompt {
            self.push(&PromptQueuedEvent::new().text(Text::from(prompt)).to_json())?;
        }
        Ok(())
    }

    fn event(&mut self, at: &Moment, event: Event) -> anyhow::Result<()> {
        if event.is_delta() {
            return Ok(());
        }
        let mut json = timed(at.millis, &event);
        if let Some(timestamp) = &at.timestamp
            && json.pop() == Some('}')
        {
            json.push_str(&format!(",\"at\":{}}}", json!(timestamp)));
        }
        self.push(&json)?;
        Ok(())
    }

    fn shows_timestamps(&self) -> bool {
        true
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        let Some(output) = self.output.take() else { return Ok(()) };
        let mut out = output.create(Access::Owner)?;
        let context = "the page could not be written";
        let policy = policy();
        let mut rest = PAGE;
        let left_out = self.left_out();
        for (mark, text) in [
            ("/*POLICY*/", policy.as_str()),
            ("/*STYLE*/", STYLE),
            ("/*ABOUT*/", &self.about),
            ("/*EVENTS*/", &left_out),
            ("/*SCRIPT*/", SCRIPT),
        ] {
            let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
            write!(out, "{before}").context(context)?;
            if mark == "/*EVENTS*/" {
                self.events.write_to(&mut out).context(context)?;
            }
            write!(out, "{text}").context(context)?;
            rest = after;
        }
        write!(out, "{rest}").context(context)?;
        out.finish()
    }
}

/// The content security policy: only the style and script of the page, by their hashes. A browser fetches nothing, and runs
/// nothing that comes from a tape.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// Escapes JSON for a script element. `<` could end the element; hidden characters could mislead a reader of the source. All
/// of them are inside strings, where `\u` escapes mean the same.
fn escape_into(json: &str, out: &mut String) {
    for part in visible::json(json).split_inclusive(['<', '>', '&']) {
        let mark = match part.chars().next_back() {
            Some('<') => "\\u003c",
            Some('>') => "\\u003e",
            Some('&') => "\\u0026",
            _ => {
                out.push_str(part);
                continue;
            }
        };
        out.push_str(part.get(..part.len() - 1).unwrap_or_default());
        out.push_str(mark);
    }
}

/// Whether this is the name of a tape.
fn is_named_as_tape(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.ends_with(".tape") || name.ends_with(".tape.zst")
}

/// Whether this file is a tape.
fn is_tape(path: &Path) -> bool {
    let is_file = path.metadata().is_ok_and(|there| there.is_file());
    let file = if is_file { File::open(path).ok() } else { None };
    file.is_some_and(|file| Reader::new(file).header().is_ok_and(|header| header.is_some()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]
    use super::*;

    #[test]
    fn the_policy_allows_the_pages_own_style_and_script_alone() {
        let policy = policy();
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert_eq!(policy.matches("'sha256-").count(), 2);
        for weak in ["unsafe", "http", "*", "data:", "nonce"] {
            assert!(!policy.contains(weak), "{policy}");
        }
        // Each stands in the page exactly as it was hashed, and there is no handler that the policy would stop.
        for (mark, element) in [("/*STYLE*/", "style"), ("/*SCRIPT*/", "script")] {
            assert!(PAGE.contains(&format!("<{element}>{mark}</{element}>")));
        }
        for part in [PAGE, SCRIPT] {
            for word in [
                "onclick=",
                "onload=",
                "innerHTML",
                "outerHTML",
                "insertAdjacent",
                "eval(",
                "document.write",
            ] {
                assert!(!part.contains(word), "{word}");
            }
        }
    }

    #[test]
    fn data_cannot_leave_its_element_and_hides_nothing() {
        let text = "</script><!--&\u{202e}\u{200b}\u{e0041}é\u{1f600}";
        let json = json!({ "text": text }).to_string();
        let mut escaped = String::new();
        escape_into(&json, &mut escaped);
        assert!(
            !escaped.contains(['<', '>', '&', '\u{202e}', '\u{200b}', '\u{e0041}']),
            "{escaped}"
        );
        assert!(escaped.contains("é\u{1f600}"), "{escaped}");
        let read: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read["text"], text);
    }
}
