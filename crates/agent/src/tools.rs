//! Tools, really executed.
