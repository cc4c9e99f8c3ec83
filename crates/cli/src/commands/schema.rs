//! `duologue schema`.

use std::io::Write as _;

use duologue_protocol::{Direction, schema};
use duologue_terminal::print;

use crate::args::Schema;
use crate::exit;

pub(crate) fn run(args: &Schema) -> anyhow::Result<u8> {
    let schema = match args.direction.map(Direction::from) {
        _ if args.events => schema::of_events(),
        _ if args.scenario => duologue_model::schema(),
        Some(direction) => schema::of(direction),
        None => schema::of_both(),
    };
    let mut out = print::data();
    serde_json::to_writer_pretty(&mut out, &schema).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(exit::OK)
}
