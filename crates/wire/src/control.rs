//! Control requests in both directions, and their responses.
//!
//! [`HostRequest`] and [`AgentRequest`] are tables with one entry for each request: its subtype, its fields, and the
//! fields of its reply.

mod agent_requests;
mod answer;
mod envelope;
mod host_requests;
mod initialize;
mod mcp;
mod settings;
mod usage;

pub use agent_requests::*;
pub use envelope::*;
pub use host_requests::*;
pub use initialize::*;
pub use mcp::*;
pub use settings::*;
pub use usage::*;

use crate::json::RawJson;
use crate::wire::{Wire, record};

/// A control request and the type of its reply.
///
/// ```
/// use duologue_wire::control::{ControlRequest, SetModel};
///
/// assert_eq!(SetModel::SUBTYPE, "set_model");
/// ```
pub trait ControlRequest: Wire {
    /// Its `subtype`.
    const SUBTYPE: &'static str;
    /// The payload of a successful response.
    type Reply: Wire;
}

record! {
    /// A reply without content: the request succeeded.
    Ack {}
}

/// A reply that this crate does not type.
pub type Opaque = RawJson;

/// The requests of one direction: the union of the requests, and the enum of their replies.
///
/// A row declares the request and its reply: `"subtype" => Request { fields } -> Reply { fields },`. Without braces, a
/// name refers to a type that is declared elsewhere.
macro_rules! control_requests {
    (@request $subtype:literal $name:ident $reply:ident $fields:tt) => {
        impl $crate::control::ControlRequest for $name {
            const SUBTYPE: &'static str = $subtype;
            type Reply = $reply;
        }
    };

    (
        $(#[doc = $doc:expr])*
        $requests:ident, $replies:ident {
            $(
                $(#[doc = $row_doc:expr])*
                $subtype:literal => $name:ident $({ $($field:tt)* })?
                -> $reply:ident $({ $($reply_field:tt)* })? $(=> $mark:ident)?,
            )*
        }
    ) => {
        $crate::union! {
            $(#[doc = $doc])*
            $requests by "subtype" closed {
                $(
                    $(#[doc = $row_doc])*
                    $subtype => $name(Box<$name>) $({ $($field)* })? $(=> $mark)?,
                )*
            }
        }

        $($(
            $crate::control::control_requests!(@request $subtype $name $reply { $($field)* });
        )?)*

        $($(
            $crate::record! {
                #[doc = concat!("The reply to `", $subtype, "`.")]
                $reply { $($reply_field)* }
            }
        )?)*

        #[doc = concat!("The reply to a [`", stringify!($requests), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $replies {
            $(
                #[doc = concat!("The reply to `", $subtype, "`.")]
                $name(Box<$reply>),
            )*
        }

        impl $replies {
            /// Reads the payload of a response as the reply to a request with this subtype.
            ///
            /// Returns `None` if there is no such request. A response without payload reads as an empty object.
            pub fn read(
                subtype: &str,
                payload: Option<&$crate::json::RawJson>,
            ) -> Option<Result<Self, $crate::json::Fault>> {
                let empty = $crate::json::RawJson::from(serde_json::json!({}));
                let payload = payload.unwrap_or(&empty);
                match subtype {
                    $($subtype => {
                        Some(payload.read().map(|reply| Self::$name(Box::new(reply))))
                    })*
                    _ => None,
                }
            }

            /// Walks the reply and reports what is unknown or legacy in it.
            pub fn survey(&self, report: impl FnMut(&str, $crate::wire::Finding<'_>)) {
                match self {
                    $(Self::$name(reply) => $crate::wire::Survey::of(reply, report),)*
                }
            }

            /// The reply as JSON text.
            pub fn to_json(&self) -> String {
                match self {
                    $(Self::$name(reply) => $crate::wire::Wire::to_json(reply),)*
                }
            }
        }
    };
}
pub(crate) use control_requests;
