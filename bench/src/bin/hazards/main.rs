//! Tests each library with an agent that misbehaves: see README.md. Writes `docs/HAZARDS.md`.

mod judge;
mod page;
mod run;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use duologue_bench::hazard::{ALL, Ending, HANG_TIMEOUT, HAZARD, Hazard, SLEEP};
use duologue_bench::peers;

use judge::Cell;
use run::Stage;

const USAGE: &str = "hazards [options]
  --quick          three hazards, as a test; nothing is written
  --only WORD      only those whose name contains WORD; the page is printed
  --hazard WORD    only this hazard; the page is printed
  --rust-only      without the official SDKs; nothing is installed, and the page is printed
  --duologue PATH  the `duologue` whose recorder is tested; by default it is built
  --output PATH    where the page is written (docs/HAZARDS.md of this tree)";

/// How often a recorded session is dropped.
const DROP_REPS: usize = 5;

/// The hazards of `--quick`.
const QUICK: [Hazard; 3] = [Hazard::Calm, Hazard::Stray, Hazard::Closed];

struct Options {
    quick: bool,
    only: Option<String>,
    hazard: Option<Hazard>,
    rust_only: bool,
    duologue: Option<PathBuf>,
    output: PathBuf,
}

impl Options {
    fn from_args() -> Result<Self> {
        let mut options = Self {
            quick: false,
            only: None,
            hazard: None,
            rust_only: false,
            duologue: None,
            output: Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/HAZARDS.md"),
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--quick" => options.quick = true,
                "--only" => options.only = Some(value()?),
                "--hazard" => options.hazard = Some(value()?.parse()?),
                "--rust-only" => options.rust_only = true,
                "--duologue" => options.duologue = Some(PathBuf::from(value()?)),
                "--output" => options.output = PathBuf::from(value()?),
                _ => bail!("{USAGE}"),
            }
        }
        Ok(options)
    }

    fn is_whole(&self) -> bool {
        !self.quick && self.only.is_none() && self.hazard.is_none() && !self.rust_only
    }

    fn hazards(&self) -> Vec<Hazard> {
        let wanted = |hazard: &Hazard| match self.hazard {
            Some(only) => only == *hazard,
            None => !self.quick || QUICK.contains(hazard),
        };
        ALL.iter().copied().filter(wanted).collect()
    }
}

/// A library under test.
struct Contender {
    name: String,
    command: Vec<String>,
}

fn main() -> Result<()> {
    let options = Options::from_args()?;
    let programs = std::env::current_exe()?.parent().context("no directory")?.to_owned();
    build(&programs)?;
    let stage = Stage::new()?;
    let agent = programs.join("misbehave");
    let contenders = contenders(&options, &programs)?;
    let hazards = options.hazards();
    let mut table: Vec<Vec<Cell>> = Vec::new();
    for contender in &contenders {
        let mut cells = Vec::new();
        for hazard in &hazards {
            // This one depends on timing, so it runs more than once.
            let reps = if *hazard == Hazard::Slow { 3 } else { 1 };
            let mut runs = Vec::new();
            for _ in 0..reps {
                let run = stage.run(&contender.command, &agent, *hazard);
                let run = run.with_context(|| format!("{}, {}", contender.name, hazard.word()))?;
                runs.push(judge::judge(*hazard, &run));
            }
            let cell = judge::together(runs);
            eprintln!("{}, {}: {}", contender.name, hazard.title(), cell.text);
            cells.push(cell);
        }
        table.push(cells);
    }
    let names: Vec<&str> = contenders.iter().map(|contender| contender.name.as_str()).collect();
    let wants_tapes = !options.quick && options.only.as_deref().is_none_or(|only| only == "record");
    let tapes =
        if wants_tapes { tapes(&options, &programs, &stage, &hazards)? } else { Vec::new() };
    let page = page::page(&names, &hazards, &table, &tapes)?;
    if options.is_whole() {
        std::fs::write(&options.output, page)?;
        eprintln!("{} is written", options.output.display());
    } else {
        println!("{page}");
    }
    // A program that cannot hold a plain conversation is wrong, and says nothing about its library.
    for (name, cells) in names.iter().zip(&table) {
        for (hazard, cell) in hazards.iter().zip(cells) {
            ensure!(*hazard != Hazard::Calm || cell.text == "ok", "{name}: {}", cell.text);
        }
    }
    Ok(())
}

/// `cargo run` builds only the program it runs.
fn build(programs: &Path) -> Result<()> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    cargo(programs, &["--bin", "misbehave", "--bin", "hazard-host", "--manifest-path", manifest])
}

fn cargo(programs: &Path, args: &[&str]) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet"]).args(args);
    if programs.ends_with("release") {
        cargo.arg("--release");
    }
    ensure!(cargo.status()?.success(), "{args:?} could not be built");
    Ok(())
}

fn contenders(options: &Options, programs: &Path) -> Result<Vec<Contender>> {
    let host = programs.join("hazard-host").display().to_string();
    let mut all = Vec::new();
    let listed = Command::new(&host).arg("--list").output().context("hazard-host --list")?;
    let listed = String::from_utf8(listed.stdout)?;
    ensure!(!listed.is_empty(), "hazard-host --list printed nothing");
    for name in listed.lines() {
        let command = vec![host.clone(), name.to_owned()];
        let title = if name == "duologue" { name.to_owned() } else { peers::crate_title(name)? };
        all.push(Contender { name: title, command });
    }
    if !options.rust_only {
        let mut python = peers::python("host.py", include_str!("hosts/host.py"))?;
        let mut node = peers::typescript("host.mjs", include_str!("hosts/host.mjs"))?;
        for script in [&mut python, &mut node] {
            // They take these after the hazard.
            script.push(HAZARD.to_owned());
            script.push(HANG_TIMEOUT.as_secs().to_string());
            script.push(SLEEP.as_secs().to_string());
        }
        all.push(Contender { name: peers::python_title(), command: python });
        all.push(Contender { name: peers::typescript_title(), command: node });
    }
    all.retain(|contender| {
        options.only.as_ref().is_none_or(|only| contender.name.contains(only.as_str()))
    });
    Ok(all)
}

/// Our host with the agent behind our recorder: the row, the conversation, the tape.
fn tapes(
    options: &Options,
    programs: &Path,
    stage: &Stage,
    hazards: &[Hazard],
) -> Result<Vec<[String; 3]>> {
    let duologue = match &options.duologue {
        Some(path) => std::fs::canonicalize(path)?,
        None => {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            let manifest = root.join("Cargo.toml").display().to_string();
            cargo(programs, &["--package", "duologue-cli", "--manifest-path", &manifest])?;
            let profile = programs.file_name().context("no profile")?;
            std::fs::canonicalize(root.join("target").join(profile).join("duologue"))?
        }
    };
    let command = [programs.join("hazard-host").display().to_string(), "duologue".to_owned()];
    let agent = programs.join("misbehave");
    let mut rows: Vec<_> = hazards.iter().map(|hazard| (hazard.title(), *hazard, false)).collect();
    if options.is_whole() {
        rows.push(("the disk is full", Hazard::Cancelled, true));
    }
    let mut tapes = Vec::new();
    for (title, hazard, disk_is_full) in rows {
        let recorder = stage.recorded(&duologue, &agent, disk_is_full)?;
        // A drop kills the recorder at once, so what is on its tape depends on timing.
        let reps = if hazard.ending() == Ending::Drop { DROP_REPS } else { 1 };
        let runs = (0..reps).map(|_| stage.run(&command, &recorder, hazard));
        let runs = runs.collect::<Result<Vec<_>>>()?;
        let cell = judge::together(runs.iter().map(|run| judge::judge(hazard, run)).collect());
        let row = [title.to_owned(), cell.text, judge::tapes(hazard, &runs)];
        eprintln!("recorded, {}", row.join(": "));
        tapes.push(row);
    }
    Ok(tapes)
}
