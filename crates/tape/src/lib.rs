//! Tapes.
