//! What a shell and `man` want to know of the command: made out of what can be typed.

use std::io::Write as _;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::args::{Args, Completions, Man};
use crate::{exit, print};

pub(crate) fn completions(completions: &Completions) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Args::command(), "duologue", &mut script);
    print::data().write_all(&script)?;
    Ok(exit::OK)
}

pub(crate) fn man(man: &Man) -> anyhow::Result<u8> {
    let folder = &man.folder;
    let cannot = || format!("the manual pages cannot be written to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(Args::command(), folder).with_context(cannot)?;
    Ok(exit::OK)
}
