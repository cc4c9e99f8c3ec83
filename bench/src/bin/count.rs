//! Counts allocations. A separate program, because counting slows down every allocation and would distort the times.
//! `bench` starts it.

use anyhow::Result;
use duologue_bench::Options;

fn main() -> Result<()> {
    let options = Options::from_args()?;
    for corpus in options.corpora()? {
        for subject in options.subjects() {
            let info = allocation_counter::measure(|| {
                std::hint::black_box((subject.run)(&corpus.bytes));
            });
            println!(
                "{}\t{}\t{}\t{}",
                corpus.name, subject.name, info.count_total, info.bytes_total
            );
        }
    }
    Ok(())
}
