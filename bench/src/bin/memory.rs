//! Does memory grow with the length of a conversation? Turns a gigabyte of `mix` into events and prints the resident
//! memory after each hundred megabytes. Linux only: it reads `/proc`.

use std::hint::black_box;

use anyhow::{Context, Result};
use duologue_bench::corpus;
use duologue_protocol::transcript::Transcript;
use duologue_protocol::{Direction, Frame, LineDecoder};

const PIECE: usize = 100_000_000;

fn main() -> Result<()> {
    let megabytes: usize = match std::env::args().nth(1) {
        Some(number) => number.parse().context("the size in MB must be a number")?,
        None => 1_000,
    };
    let corpus = corpus::mix(PIECE);
    let mut decoder = LineDecoder::new();
    let mut transcript = Transcript::new();
    let mut events = 0_u64;
    println!("after the corpus was made: {} kB", resident()?);
    for piece in 1..=megabytes.div_ceil(PIECE / 1_000_000) {
        for mut chunk in corpus.bytes.chunks(256 * 1024) {
            while let Some(frame) = decoder.next(&mut chunk) {
                let Frame::Line(line) = frame else { continue };
                transcript.handle_line(Direction::ToHost, &line);
                while let Some(event) = transcript.poll_event() {
                    events += 1;
                    black_box(event);
                }
            }
        }
        println!("after {:>5} MB: {} kB, {events} events", piece * PIECE / 1_000_000, resident()?);
    }
    Ok(())
}

fn resident() -> Result<String> {
    let status = std::fs::read_to_string("/proc/self/status").context("no /proc here")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").to_owned())
}
