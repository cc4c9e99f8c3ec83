//! A conversation with an agent.

mod applied;
mod builder;
mod closing;
mod config;
mod control;
mod handle;
mod hub;
mod inner;
mod interrupt;
mod limbo;
mod options;
mod queue;
mod run;
mod turn;
mod watchdog;

pub use builder::SessionBuilder;
pub use config::{Handshake, Respawn, Watchdog};
pub use control::Control;
pub use handle::Session;
pub use interrupt::InterruptReceipt;
pub use turn::{Events, Message, Messages, Turn};
