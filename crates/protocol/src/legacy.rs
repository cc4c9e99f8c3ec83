//! Legacy forms: those that only the oldest descriptions of the protocol have.
//!
//! The types of their lines come from `duologue-wire`. The rest of this module belongs to the machines:
//! [`HostLink::legacy`](crate::host_link::HostLink::legacy), [`AgentLink::lenient`](crate::agent_link::AgentLink::lenient) and
//! [`AgentLink::legacy`](crate::agent_link::AgentLink::legacy) turn it on.

pub use duologue_wire::legacy::*;

pub(crate) mod agent_input;
pub(crate) mod agent_output;
pub(crate) mod host;
