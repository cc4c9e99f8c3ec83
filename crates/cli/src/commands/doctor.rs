//! `duologue doctor`.

use crate::args::Doctor;

pub(crate) fn run(_args: &Doctor) -> anyhow::Result<u8> {
    anyhow::bail!("not yet")
}
