//! Shared code of the benchmarks. `bench` and `count` read lines in place and measure time and allocations. `endtoend`
//! measures whole programs with an agent, and `hazards` tests them with an agent that misbehaves.

pub mod corpus;
pub mod hazard;
pub mod meter;
pub mod options;
pub mod peers;
pub mod subjects;
pub mod turn;
pub mod wire;

pub use options::Options;
pub use subjects::{SUBJECTS, Subject};
