//! One HTML page that needs no network.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use duologue_protocol::Wire as _;
use duologue_protocol::transcript::{Event, Notice};
use duologue_tape::Header;
use serde_json::json;

use super::Printer;
use super::json::timed;
use super::spool::Spool;
use crate::print;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Collects the events and writes the page at the end.
pub(super) struct Html {
    path: PathBuf,
    title: String,
    about: String,
    /// The events as JSON, one after the other.
    events: Spool,
}

impl Html {
    /// A page at this path, or on stdout for `-`; never in place of what it tells about.
    pub(super) fn new(path: &Path, input: &Path) -> anyhow::Result<Self> {
        let same = match (path.canonicalize(), input.canonicalize()) {
            (Ok(path), Ok(input)) => path == input,
            _ => false,
        };
        anyhow::ensure!(
            !same,
            "{} is the file to inspect; name another for the page",
            path.display()
        );
        Ok(Self {
            path: path.to_owned(),
            title: String::new(),
            about: String::new(),
            events: Spool::new(),
        })
    }

    fn push(&mut self, json: &str) -> anyhow::Result<()> {
        // Inside a script element only `<` could end it early.
        let json = json.replace('<', "\\u003c");
        self.events.push(",\n", &json).context("could not keep the page in a temporary file")
    }

    /// Says how many events the page lacks, if it does.
    fn left_out(&self) -> String {
        match self.events.left_out() {
            0 => String::new(),
            count => {
                let text = format!("{count} more events are left out: the page would be too large");
                format!(",\n{}", Notice::new().kind("page").text(text).to_json())
            }
        }
    }
}

impl Printer for Html {
    fn begin(&mut self, path: &Path, header: Option<&Header>) -> anyhow::Result<()> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        self.title = if name == "-" { "stdin".to_owned() } else { name.into_owned() };
        if let Some(header) = header {
            let program = header.program.as_deref().unwrap_or("an agent");
            self.about = format!("{program} {}", header.version.as_deref().unwrap_or_default());
        }
        Ok(())
    }

    fn event(&mut self, millis: Option<u64>, event: Event) -> anyhow::Result<()> {
        if !event.is_delta() {
            self.push(&timed(millis, &event))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        let context = || format!("could not write {}", self.path.display());
        let mut out: Box<dyn Write> = if self.path == Path::new("-") {
            Box::new(BufWriter::new(print::data()))
        } else {
            Box::new(BufWriter::new(File::create(&self.path).with_context(context)?))
        };
        let about = json!({ "title": self.title, "about": self.about.trim_end() }).to_string();
        let mut rest = PAGE;
        let left_out = self.left_out();
        for (mark, text) in [
            ("/*STYLE*/", STYLE),
            ("/*ABOUT*/", &about.replace('<', "\\u003c")),
            ("/*EVENTS*/", &left_out),
            ("/*SCRIPT*/", SCRIPT),
        ] {
            let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
            write!(out, "{before}").with_context(context)?;
            if mark == "/*EVENTS*/" {
                self.events.write_to(out.as_mut()).with_context(context)?;
            }
            write!(out, "{text}").with_context(context)?;
            rest = after;
        }
        write!(out, "{rest}").with_context(context)?;
        out.flush().with_context(context)
    }
}
