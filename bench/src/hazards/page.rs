//! The page.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::Result;
use duologue_bench::hazard::Hazard;

use crate::judge::Cell;

/// The crates, as `drive` calls them, and their versions as pinned in Cargo.toml.
pub const CRATES: &[(&str, &str)] = &[
    ("duologue", ""),
    ("claude-codes", "2.1.316"),
    ("claude-wrapper", "0.14.9"),
    ("claude-agent-sdk-rs", "0.6.4"),
    ("cc-sdk", "0.8.1"),
    ("claude-cli-sdk", "0.5.1"),
];

pub fn page(
    names: &[&str],
    hazards: &[Hazard],
    table: &[Vec<Cell>],
    tapes: &[[String; 3]],
) -> Result<String> {
    let mut page = String::from("# Hazards\n\n");
    page.push_str(INTRODUCTION);
    let date = Command::new("date").args(["-u", "+%F"]).output()?.stdout;
    let rustc = Command::new("rustc").arg("--version").output()?.stdout;
    let rustc = String::from_utf8(rustc)?;
    let rustc = rustc.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    writeln!(page, "\nMeasured on {}, {rustc}, Linux.\n", String::from_utf8(date)?.trim())?;
    writeln!(page, "| | {} |", names.join(" | "))?;
    writeln!(page, "|---|{}", "---|".repeat(names.len()))?;
    for (row, hazard) in hazards.iter().enumerate() {
        let cells: Vec<&str> = table.iter().map(|cells| cells[row].text.as_str()).collect();
        writeln!(page, "| {} | {} |", hazard.title(), cells.join(" | "))?;
    }
    if !tapes.is_empty() {
        page.push_str(RECORDER);
        for row in tapes {
            writeln!(page, "| {} |", row.join(" | "))?;
        }
    }
    page.push_str("\n## The rows\n\n");
    for hazard in hazards {
        writeln!(page, "- **{}**: {}", hazard.title(), hazard.about())?;
    }
    page.push('\n');
    page.push_str(include_str!("notes.md"));
    page.push_str("\n## What was told\n\nThe first error that each host gave its caller, where it gave one.\n\n");
    for (name, cells) in names.iter().zip(table) {
        for (hazard, cell) in hazards.iter().zip(cells) {
            if let Some(told) = &cell.told {
                writeln!(page, "- {name}, {}: `{}`", hazard.title(), plain(told))?;
            }
        }
    }
    Ok(page)
}

/// Without what would end the quotation, what is too long, and where this ran.
fn plain(told: &str) -> String {
    let here = std::env::temp_dir().display().to_string();
    let text: String = told.replace('`', "'").replace(&here, "…").chars().take(200).collect();
    text.replace(env!("CARGO_MANIFEST_DIR"), "…")
}

const RECORDER: &str = "
## The recorder

Duologue again, with `duologue record` between it and the agent. The memory is that of the host.

| | the conversation | on the tape |
|---|---|---|
";

const INTRODUCTION: &str = "What happens to a host when its agent misbehaves: Duologue, the Rust crates that can be driven, and both official
SDKs, each used as its documentation says, with its defaults. This page is written by

```sh
cargo run --release --manifest-path bench/Cargo.toml --bin hazards
```
";
