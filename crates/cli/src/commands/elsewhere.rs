//! What needs signals and process groups, on systems that have none.

pub(crate) mod record {
    use crate::args::{Record, Start};

    pub(crate) fn run(_: &Record) -> anyhow::Result<u8> {
        anyhow::bail!("`record` stands in for a process as Unix has it, and works nowhere else");
    }

    pub(crate) fn start(_: &Start) -> anyhow::Result<u8> {
        anyhow::bail!("`start` is a part of `record`, which works on Unix only");
    }
}

pub(crate) mod replay {
    use crate::args::Replay;

    pub(crate) fn run(_: &Replay) -> anyhow::Result<u8> {
        anyhow::bail!("`replay` stands in for a process as Unix has it, and works nowhere else");
    }
}
