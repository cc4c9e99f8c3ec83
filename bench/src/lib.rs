//! What the benchmarks measure, and over what. The programs `bench` and `count` read lines in place
//! and only differ in what they measure: time, or allocations. `endtoend` lets whole programs talk
//! to an agent, `hazards` to one that misbehaves.

pub mod corpus;
pub mod hazard;
pub mod meter;
pub mod options;
pub mod peers;
pub mod subjects;
pub mod turn;

pub use options::Options;
pub use subjects::{SUBJECTS, Subject};
