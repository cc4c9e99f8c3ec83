//! An agent for the examples: Claude Code, if it is there; else the embedded one, in this process.

use duologue::{Error, Session, SessionBuilder, find};
use duologue_agent::in_process;
use duologue_embedded::{Embedded, Setup};
use duologue_model::OfflineModel;

/// Starts the session. `EMBEDDED=1` takes the embedded agent even where Claude Code is.
pub(crate) async fn start(builder: SessionBuilder) -> Result<Session, Error> {
    if std::env::var_os("EMBEDDED").is_none() && find::cli(None).is_ok() {
        return builder.start().await;
    }
    let agent = match Embedded::new(Setup::new("."), OfflineModel::new()) {
        Ok(agent) => agent,
        Err(error) => {
            return Err(Error::Runtime(std::sync::Arc::new(std::io::Error::other(error))));
        }
    };
    let options = agent.options().partial(true);
    let (reader, writer) = in_process(agent, options);
    builder.connect(reader, writer).await
}
