//! Starts the agent, completes the handshake and stops it again. Sends no prompt.

use std::time::{Duration, Instant};

use duologue::{Error, Handshake, Session, find};
use duologue_protocol::control::InitializeReply;
use duologue_protocol::launch::CliVersion;

use super::machine;
use super::report::{Finding, Report};
use crate::agent::Agent;
use crate::limit::Limit;

const NO_ANSWER: &str = "the agent did not answer in time, and was killed";

/// How often a request is timed. The fastest counts: the first one may include start-up work.
const TIMES: usize = 3;

/// The timeout of a request. Old versions do not answer unknown requests.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Variables that keep the CLI from using the network.
const OFFLINE: [&str; 3] =
    ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"];

pub(super) async fn examine(
    agent: Agent,
    is_named: bool,
    limit: Limit,
    report: &mut Report,
) -> anyhow::Result<()> {
    let shown = std::iter::once(agent.program.as_os_str())
        .chain(agent.leading.iter().map(AsRef::as_ref))
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    report.add(Finding::well("program", shown));
    let version = limit.within(NO_ANSWER, find::version(&agent.program, &agent.leading)).await;
    let version = version.ok().flatten();
    let node = machine::node(&agent);
    let embedded = agent.is_ours();

    let began = Instant::now();
    let most = limit.left().unwrap_or(Duration::MAX);
    let mut builder = agent.session().handshake(Handshake::Require).handshake_within(most);
    if let Some(version) = version {
        builder = builder.cli_version(version);
    }
    for name in OFFLINE {
        builder = builder.env(name, "1");
    }
    let session = limit.within(NO_ANSWER, builder.start()).await;
    let took = began.elapsed();

    let known = match &session {
        Ok(Ok(session)) => session.version(),
        _ => version,
    };
    let about = About { is_tested: known.as_ref().is_some_and(find::is_tested), is_named };
    report.version = known.as_ref().map(ToString::to_string);
    report.tested = known.as_ref().map(find::is_tested);
    report.add(match known {
        Some(version) if embedded => {
            Finding::well("version", format!("embedded agent, behaves as {version}"))
        }
        known => of_version(known),
    });
    report.add(node);
    report.add(machine::config());
    let session = match session {
        Ok(Ok(session)) => session,
        // Both are the same limit.
        Err(_) | Ok(Err(Error::TimedOut { .. })) => {
            let what = limit.error(NO_ANSWER).to_string();
            report.add(Finding::broken("handshake", what, too_slow(about)));
            return Ok(());
        }
        Ok(Err(error)) => {
            report.add(Finding::broken("handshake", error.to_string(), fix(&error, about)));
            return Ok(());
        }
    };
    report.handshake = Some(took);
    report.add(Finding::well("handshake", format!("in {}", milliseconds(took))));
    let (trip, finding) = round_trip(&session, limit, about).await;
    report.round_trip = trip;
    report.add(finding);
    if let Some(reply) = session.handshake() {
        report.add(account(&reply));
        if let Some(conflict) = reply.auth_conflict.value().filter(|conflict| !conflict.is_null()) {
            let kind = conflict.get("kind").and_then(|kind| kind.as_str());
            let kind = kind.as_ref().map_or("two ways to log in", |kind| kind.as_str()).to_owned();
            let how = "Unset ANTHROPIC_API_KEY, or log out of the other.";
            report.add(Finding::warning("login", format!("conflict: {kind}"), how));
        }
    }
    report.add(end(session, limit, about).await);
    Ok(())
}

fn of_version(version: Option<CliVersion>) -> Finding {
    const NAME: &str = "version";
    let tested = || find::TESTED.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match version {
        Some(version) if find::is_tested(&version) => {
            Finding::well(NAME, format!("{version}, tested"))
        }
        Some(version) => Finding::warning(
            NAME,
            format!("{version}, not tested"),
            format!("It will probably work. Tested versions: {}.", tested()),
        ),
        None => Finding::warning(
            NAME,
            "unknown: the agent does not report it",
            "Is it Claude Code? It should print its version with `--version`.",
        ),
    }
}

async fn round_trip(session: &Session, limit: Limit, about: About) -> (Option<Duration>, Finding) {
    const NAME: &str = "round trip";
    let control = session
        .control()
        .within(limit.left().map_or(ANSWER_TIMEOUT, |left| left.min(ANSWER_TIMEOUT)));
    let mut best: Option<Duration> = None;
    for _ in 0..TIMES {
        let began = Instant::now();
        match control.get_binary_version().await {
            // An error is an answer too.
            Ok(_) | Err(Error::Refused { .. } | Error::Malformed { .. }) => {
                let took = began.elapsed();
                best = Some(best.map_or(took, |best| best.min(took)));
            }
            Err(error @ Error::TimedOut { .. }) => {
                let how = "Versions before 2.1 do not answer unknown requests. Update Claude Code.";
                return (None, Finding::warning(NAME, error.to_string(), how));
            }
            Err(error) => {
                return (None, Finding::broken(NAME, error.to_string(), fix(&error, about)));
            }
        }
    }
    let took = best.unwrap_or_default();
    (best, Finding::well(NAME, format!("a request and its answer take {}", milliseconds(took))))
}

/// The account, as far as the handshake reports it. Never a key or an address.
fn account(reply: &InitializeReply) -> Finding {
    const NAME: &str = "account";
    let Some(account) = reply.account.value() else {
        return Finding::warning(NAME, "the agent does not report it", "Run a prompt to find out.");
    };
    let given = |text: Option<&str>| {
        text.filter(|text| !text.is_empty() && *text != "none").map(str::to_owned)
    };
    let provider = given(account.api_provider.as_str());
    let elsewhere = provider.as_deref().is_some_and(|provider| provider != "firstParty");
    let source = given(account.api_key_source.as_str()).map(|from| format!("API key from {from}"));
    let token = given(account.token_source.as_str()).map(|from| format!("token from {from}"));
    let plan = given(account.subscription_type.as_str());
    let parts: Vec<String> = plan.into_iter().chain(source).chain(token).collect();
    if parts.is_empty() && !elsewhere {
        const WHAT: &str = "not logged in, and there is no API key";
        let how = "Run `claude` and then /login, or set ANTHROPIC_API_KEY.";
        // Claude Code reports where its token comes from. Other agents may need none.
        return match account.token_source.as_str() {
            Some(_) => Finding::broken(NAME, WHAT, how),
            None => Finding::warning(NAME, WHAT, "Nothing to do if this agent needs neither."),
        };
    }
    let parts = parts.into_iter().chain(provider.filter(|_| elsewhere));
    Finding::well(NAME, parts.collect::<Vec<_>>().join(", "))
}

async fn end(session: Session, limit: Limit, about: About) -> Finding {
    const NAME: &str = "end";
    let began = Instant::now();
    let closed = match limit
        .within("the agent did not end in time, and was killed", session.close())
        .await
    {
        Ok(closed) => closed,
        Err(error) => return Finding::broken(NAME, error.to_string(), too_slow(about)),
    };
    match closed {
        Ok(report) if report.code == Some(0) => {
            Finding::well(NAME, format!("cleanly, in {}", milliseconds(began.elapsed())))
        }
        Ok(report) => {
            let how = "Nothing to do: it was killed. Please report it if it happens again.";
            let what = match (report.code, report.signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("ended by signal {signal}"),
                (None, None) => "unknown exit status".to_owned(),
            };
            Finding::warning(NAME, what, how)
        }
        Err(error) => Finding::broken(NAME, error.to_string(), fix(&error, about)),
    }
}

/// What is known about an agent that fails.
#[derive(Clone, Copy, Debug)]
struct About {
    /// Its version is tested.
    is_tested: bool,
    /// It was given with `--agent`, so that it may not be Claude Code.
    is_named: bool,
}

/// The suggested fix for an agent that took too long.
const fn too_slow(about: About) -> &'static str {
    match about {
        About { is_tested: true, .. } => "If the machine is slow, raise --timeout.",
        About { is_named: true, .. } => {
            "Does it speak stream-json? If the machine is slow, raise --timeout."
        }
        _ => "Is it Claude Code 1.0.128 or newer? If the machine is slow, raise --timeout.",
    }
}

/// The suggested fix for an error of the agent. Does not suggest to update a tested version, or to install Claude Code instead
/// of another agent.
fn fix(error: &Error, about: About) -> &'static str {
    match (error, about) {
        (Error::TimedOut { .. }, about) => too_slow(about),
        (Error::Gone(gone), _) if !gone.stderr.trim().is_empty() => "See its stderr.",
        (Error::Gone(_), About { is_named: true, .. }) => {
            "It wrote nothing to stderr. Does it speak stream-json?"
        }
        (Error::Gone(_), _) => "It wrote nothing to stderr. Install it again.",
        (Error::Spawn(_), About { is_named: true, .. }) => "Is it a program that can be run?",
        (Error::Spawn(_), _) => "Install it again: `npm install -g @anthropic-ai/claude-code`.",
        (_, About { is_tested: true, .. }) => "Please report this: the version is tested.",
        (_, About { is_named: true, .. }) => "Does it speak stream-json as Claude Code does?",
        _ => "Update Claude Code: `claude update`.",
    }
}

fn milliseconds(span: Duration) -> String {
    let millis = span.as_secs_f64() * 1000.0;
    if millis < 10.0 { format!("{millis:.1} ms") } else { format!("{millis:.0} ms") }
}
