//! `duologue doctor`.

mod examine;
mod machine;
mod report;

use duologue::find;

use crate::agent::Agent;
use crate::args::Doctor;
use crate::exit;
use crate::limit::Limit;
use crate::runtime;

use report::{Finding, Report};

pub(crate) fn run(args: &Doctor) -> anyhow::Result<u8> {
    let mut report = Report::default();
    let code = match Agent::resolve(&args.agent) {
        Ok(agent) => {
            report.program = Some(agent.program.clone());
            let limit = Limit::new(Some(args.timeout));
            let is_named = !args.agent.is_empty();
            runtime::block_on(examine::examine(agent, is_named, limit, &mut report))?;
            if report.is_well() { exit::OK } else { exit::FAILED }
        }
        Err(error) if error.is::<find::NotFound>() => {
            let (what, mut how) = not_found(&error.to_string());
            if args.agent.is_empty() {
                how = how.replace(
                    "give the path of a program.",
                    "give the path of a program with --agent.",
                );
                how.push_str(" Until then, `run` and `chat` use the embedded agent.");
            }
            report.add(Finding::broken("program", what, how));
            report.add(machine::config());
            exit::NO_AGENT
        }
        Err(error) => return Err(error),
    };
    if args.json {
        report.print_json(code)?;
    } else {
        report.print()?;
    }
    Ok(code)
}

/// Splits the error into the searched places and the suggested fix.
fn not_found(error: &str) -> (String, String) {
    match error.rsplit_once('\n') {
        Some((what, how)) => (what.to_owned(), how.to_owned()),
        None => (error.to_owned(), String::new()),
    }
}
