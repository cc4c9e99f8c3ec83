//! A conversation with an agent.

mod builder;
mod closing;
mod config;
mod control;
mod handle;
mod inner;
mod interrupt;
mod options;
mod recycle;
mod run;
mod spare;
mod stagger;
mod turn;
mod watchdog;

pub use builder::SessionBuilder;
pub use config::{Handshake, Respawn, Watchdog};
pub use control::Control;
pub use handle::Session;
pub use interrupt::InterruptReceipt;
pub use spare::{Claim, Spare};
pub use turn::{Events, Message, Messages, Turn};

pub(crate) use config::Config;
pub(crate) use inner::lock;
