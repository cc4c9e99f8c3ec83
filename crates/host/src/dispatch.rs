//! From bytes to subscribers: one dispatcher task for each run of a session.
//!
//! The [`Dispatcher`] reads bytes, cuts them into lines, and decodes each line once. The machine
//! (`HostLink`) serves control lines; the [`Router`] folds lines into events and delivers both to
//! subscriptions. Each subscription has a [queue](queue::Queue) with a budget, beyond which it spills to a
//! file. The dispatcher never waits for a subscriber, except where [`Overflow`] or
//! [`READER_CATCH_UP`](crate::timeouts::READER_CATCH_UP) says so.
//!
//! | where | what |
//! |---|---|
//! | `dispatcher.rs` | the task: read, decode, route, write |
//! | `link.rs` | the handle to it: prompts, requests, answers |
//! | `requests.rs` | the open requests of the agent, with costs and deadlines |
//! | `status.rs` | the state of the run, for those who wait for a change |
//! | `router.rs` | lines to events, events to subscriptions; shared by all runs of a session |
//! | `unattributed.rs` | events of turns whose prompt is not known yet |
//! | `applied.rs` | what was changed in the agent, for the next run |
//! | `queue.rs`, `spill.rs` | what waits for one subscriber, in memory and in a file |

mod applied;
mod dispatcher;
mod link;
mod options;
mod queue;
mod requests;
mod router;
mod spill;
mod status;
mod unattributed;

#[cfg(test)]
mod tests;

pub use options::Overflow;

pub(crate) use dispatcher::connect;
pub(crate) use link::{Ask, Asks, Link, Received, RequestError};
pub(crate) use options::{DEFAULT_BUDGET, Options, QueueOptions, Tap};
pub(crate) use queue::{Delivery, End, Reader};
pub(crate) use router::{Filter, Router, RunEnd, SubscriptionId};
pub(crate) use status::Status;
