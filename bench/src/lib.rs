//! What the benchmark measures, and over what. The two programs, `bench` and `count`, only differ
//! in what they measure: time, or allocations.

pub mod corpus;
pub mod options;
pub mod subjects;

pub use options::Options;
pub use subjects::{SUBJECTS, Subject};
