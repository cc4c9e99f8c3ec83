//! The table of events: `events!` and `event_record!`.
//!
//! An event is written once, as a row with its fields. Its type, JSON, JSON Schema, setters and serde
//! come out of that row. Unlike the types of lines, events have plain fields: a field that is
//! always known is a plain value, and one that a line may lack is an `Option`.

use crate::content::LazyContent;
use crate::hook::HookEvent;
use crate::id::{CallbackId, MessageId, RequestId, SessionId, TaskId, ToolUseId, Uuid};
use crate::json::{Fault, Number, Parser, RawJson, RawObject, Writer};
use crate::line::Direction;
use crate::message::{ApiErrorKind, ModelUsage, Origin, Usage};
use crate::permission::{PermissionMode, PermissionUpdate};
use crate::system::TaskUsage;
use crate::text::Text;
use crate::tool::{Answer, Question};
use crate::wire::{Field, Map, Schemas, Wire};

use super::event::{AgentUsage, TurnStatus};

/// A struct with plain fields that has JSON.
///
/// ```text
/// event_record! {
///     /// What it is.
///     Name ["event" = "its tag"] {
///         /// Always in the JSON.
///         field: Type,
///         /// Left out of the JSON if it is false or empty.
///         field: Vec<Type> => omit_empty,
///         /// Left out of the JSON if it is `None`.
///         field: Option<Type>,
///         /// `null` in the JSON if it is `None`.
///         field: Option<Type> => null,
///     }
/// }
/// ```
macro_rules! event_record {
    (@missing) => { $crate::transcript::event_table::Missing::Default };
    (@missing omit_empty) => { $crate::transcript::event_table::Missing::Omit };
    (@missing null) => { $crate::transcript::event_table::Missing::Null };

    (@is_required $ty:ty) => {
        <$ty as $crate::transcript::event_table::EventField>::IS_REQUIRED
    };
    (@is_required $ty:ty, $mode:ident) => { false };

    (
        $(#[doc = $doc:literal])*
        $name:ident $([$tag:literal = $value:literal])? {
            $(
                $(#[doc = $field_doc:literal])*
                $field:ident : $ty:ty $(=> $mode:ident)?
            ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $field_doc])*
                pub $field: $ty,
            )*
        }

        impl $name {
            /// One with every field empty. Set them by the methods of their names.
            pub fn new() -> Self {
                Self {
                    $($field: $crate::transcript::event_table::EventField::empty(),)*
                }
            }

            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, value: impl Into<$ty>) -> Self {
                    self.$field = value.into();
                    self
                }
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl $crate::wire::Sealed for $name {}

        impl $crate::wire::Wire for $name {
            fn decode(
                parser: &mut $crate::json::Parser<'_>,
            ) -> Result<Self, $crate::json::Fault> {
                #[allow(non_camel_case_types, dead_code, reason = "named after the fields")]
                enum Place { $($field),* }
                let mut fields =
                    parser.enter_record(&[$(($tag, $value))?], &[$(stringify!($field)),*])?;
                let mut me = Self::new();
                while let Some(key) = parser.next_field(&mut fields)? {
                    match key {
                        $($crate::json::FieldKey::Known(place) if place == Place::$field as usize => {
                            $crate::transcript::event_table::EventField::decode(
                                &mut me.$field,
                                parser,
                                stringify!($field),
                            )?;
                        })*
                        _ => {
                            parser.raw()?;
                            parser.count()?;
                        }
                    }
                }
                Ok(me)
            }

            fn encode(&self, out: &mut $crate::json::Writer) {
                out.begin_object();
                $(out.tag($tag, $value);)?
                $($crate::transcript::event_table::EventField::encode(
                    &self.$field,
                    out,
                    stringify!($field),
                    $crate::transcript::event_table::event_record!(@missing $($mode)?),
                );)*
                out.end_object();
            }

            fn schema(schemas: &mut $crate::wire::Schemas) -> serde_json::Value {
                schemas.define(module_path!(), stringify!($name), |_schemas| {
                    $crate::wire::Schemas::object(
                        concat!($($doc, "\n"),*),
                        &[$(($tag, $value))?],
                        vec![$((
                            stringify!($field),
                            concat!($($field_doc, "\n"),*),
                            $crate::transcript::event_table::event_record!(@is_required $ty $(, $mode)?),
                            <$ty as $crate::transcript::event_table::EventField>::schema(_schemas),
                        )),*],
                    )
                })
            }
        }

        $crate::wire::serde_through_json!($name);
    };
}

/// The enum of all events, and for each row the struct that it holds.
macro_rules! events {
    (
        $(#[doc = $doc:literal])*
        $name:ident {
            $(
                $(#[doc = $row_doc:literal])*
                $tag:literal => $variant:ident($body:ident) {
                    $(
                        $(#[doc = $field_doc:literal])*
                        $field:ident : $ty:ty $(=> $mode:ident)?
                    ),* $(,)?
                }
            )*
        }
    ) => {
        $crate::wire::union! {
            $(#[doc = $doc])*
            $name by "event" {
                $($(#[doc = $row_doc])* $tag => $variant(Box<$body>),)*
            }
        }

        $(
            $crate::transcript::event_table::event_record! {
                $(#[doc = $row_doc])*
                $body ["event" = $tag] {
                    /// The turn, counted from 1 in order of start. `None` outside of turns.
                    turn: Option<u64>,
                    /// The agent that it happens in: the tool call that started it. `None` for the main
                    /// agent.
                    agent: Option<$crate::id::ToolUseId> => null,
                    /// The message of the model that it belongs to.
                    message_id: Option<$crate::id::MessageId>,
                    $($(#[doc = $field_doc])* $field: $ty $(=> $mode)?,)*
                }
            }

            // Boxed, since an event is moved often.
            impl From<$body> for $name {
                fn from(event: $body) -> Self {
                    Self::$variant(Box::new(event))
                }
            }

            impl $crate::transcript::out::Placed for $body {
                fn placed(mut self, place: &$crate::transcript::out::Place) -> Self {
                    self.turn = place.turn;
                    self.agent.clone_from(&place.agent);
                    self.message_id.clone_from(&place.message_id);
                    self
                }
            }
        )*

        impl $name {
            /// The turn it belongs to, counted from 1.
            pub fn turn(&self) -> Option<u64> {
                match self {
                    $(Self::$variant(event) => event.turn,)*
                    Self::Unknown(_) => None,
                }
            }

            /// The agent that it happens in: the tool call that started it, `None` for the main agent.
            pub fn agent(&self) -> Option<&$crate::id::ToolUseId> {
                match self {
                    $(Self::$variant(event) => event.agent.as_ref(),)*
                    Self::Unknown(_) => None,
                }
            }

            /// The message of the model that it belongs to.
            pub fn message_id(&self) -> Option<&$crate::id::MessageId> {
                match self {
                    $(Self::$variant(event) => event.message_id.as_ref(),)*
                    Self::Unknown(_) => None,
                }
            }
        }
    };
}

pub(crate) use {event_record, events};

/// What the JSON has where a field is empty.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Missing {
    /// Nothing for `None`, the empty value otherwise.
    Default,
    /// Nothing.
    Omit,
    /// `null`.
    Null,
}

/// A field of an event: a [`Plain`] value or an `Option`.
pub(crate) trait EventField: Sized {
    /// Whether its JSON always has a value.
    const IS_REQUIRED: bool;

    fn empty() -> Self;
    fn decode(&mut self, parser: &mut Parser<'_>, name: &str) -> Result<(), Fault>;
    fn encode(&self, out: &mut Writer, name: &str, missing: Missing);
    fn schema(schemas: &mut Schemas) -> serde_json::Value;
}

/// A value with JSON.
pub(crate) trait Value: Sized {
    /// The type of lines that has the same JSON.
    type Json: Wire;

    fn from_json(json: Self::Json) -> Option<Self>;
    fn encode(&self, out: &mut Writer);
}

/// A value that has an empty form.
pub(crate) trait Plain: Value {
    fn empty() -> Self;

    fn is_empty(&self) -> bool {
        false
    }
}

impl<T: Plain> EventField for T {
    const IS_REQUIRED: bool = true;

    fn empty() -> Self {
        <T as Plain>::empty()
    }

    fn decode(&mut self, parser: &mut Parser<'_>, name: &str) -> Result<(), Fault> {
        let json = Field::<T::Json>::decode(parser, name)?;
        if let Some(value) = json.into_value().and_then(T::from_json) {
            *self = value;
        }
        Ok(())
    }

    fn encode(&self, out: &mut Writer, name: &str, missing: Missing) {
        if missing != Missing::Omit || !self.is_empty() {
            out.key(name);
            Value::encode(self, out);
        }
    }

    fn schema(schemas: &mut Schemas) -> serde_json::Value {
        T::Json::schema(schemas)
    }
}

impl<T: Value> EventField for Option<T> {
    const IS_REQUIRED: bool = false;

    fn empty() -> Self {
        None
    }

    fn decode(&mut self, parser: &mut Parser<'_>, name: &str) -> Result<(), Fault> {
        *self = Field::<T::Json>::decode(parser, name)?.into_value().and_then(T::from_json);
        Ok(())
    }

    fn encode(&self, out: &mut Writer, name: &str, missing: Missing) {
        match self {
            Some(value) => {
                out.key(name);
                value.encode(out);
            }
            None if missing == Missing::Null => {
                out.key(name);
                out.null();
            }
            None => {}
        }
    }

    fn schema(schemas: &mut Schemas) -> serde_json::Value {
        T::Json::schema(schemas)
    }
}

/// Types of lines that are values of events as they are.
macro_rules! same_json {
    ($($ty:ty),* $(,)?) => {$(
        impl Value for $ty {
            type Json = Self;

            fn from_json(json: Self) -> Option<Self> {
                Some(json)
            }

            fn encode(&self, out: &mut Writer) {
                Wire::encode(self, out);
            }
        }
    )*};
}

same_json! {
    Text, bool, RawJson, RawObject, LazyContent, HookEvent, PermissionMode, ApiErrorKind, Usage, Origin,
    TaskUsage, TurnStatus, CallbackId, MessageId, RequestId, SessionId, TaskId, ToolUseId, Uuid,
    Vec<AgentUsage>, Vec<PermissionUpdate>, Vec<Question>, Vec<Uuid>, Map<Answer>, Map<ModelUsage>,
}

macro_rules! plain {
    ($($ty:ty),* ; $($id:ty),* ; $($container:ty),* $(,)?) => {
        $(impl Plain for $ty {
            fn empty() -> Self {
                Self::default()
            }
        })*
        $(impl Plain for $id {
            fn empty() -> Self {
                Self::from("")
            }
        })*
        $(impl Plain for $container {
            fn empty() -> Self {
                Self::default()
            }

            fn is_empty(&self) -> bool {
                Self::is_empty(self)
            }
        })*
    };
}

plain! {
    Text, RawJson, RawObject, u64, f64;
    CallbackId, RequestId, SessionId, TaskId, ToolUseId, Uuid;
    Vec<AgentUsage>, Vec<PermissionUpdate>, Vec<Question>, Vec<Uuid>, Vec<u64>, Map<Answer>,
    Map<ModelUsage>,
}

impl Plain for bool {
    fn empty() -> Self {
        false
    }

    fn is_empty(&self) -> bool {
        !self
    }
}

impl Plain for PermissionMode {
    fn empty() -> Self {
        Self::Default
    }
}

impl Plain for TurnStatus {
    fn empty() -> Self {
        Self::Success
    }
}

impl Plain for Direction {
    fn empty() -> Self {
        Self::ToHost
    }
}

impl Value for Direction {
    type Json = Text;

    fn from_json(json: Text) -> Option<Self> {
        [Self::ToHost, Self::ToAgent].into_iter().find(|direction| json == direction.name())
    }

    fn encode(&self, out: &mut Writer) {
        Wire::encode(&Text::from_static(self.name()), out);
    }
}

impl Value for u64 {
    type Json = Number;

    fn from_json(json: Number) -> Option<Self> {
        json.as_u64()
    }

    fn encode(&self, out: &mut Writer) {
        Number::from(*self).encode(out);
    }
}

impl Value for i64 {
    type Json = Number;

    fn from_json(json: Number) -> Option<Self> {
        json.as_i64()
    }

    fn encode(&self, out: &mut Writer) {
        Number::from(*self).encode(out);
    }
}

impl Value for f64 {
    type Json = Number;

    fn from_json(json: Number) -> Option<Self> {
        Some(json.as_f64())
    }

    /// A whole number is written without a fraction, as JavaScript does.
    fn encode(&self, out: &mut Writer) {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        let number = if self.fract() == 0.0 && self.abs() < 1e15 {
            Number::from(*self as i64)
        } else {
            Number::from(*self)
        };
        number.encode(out);
    }
}

impl Value for Vec<u64> {
    type Json = Vec<Number>;

    fn from_json(json: Vec<Number>) -> Option<Self> {
        Some(json.into_iter().filter_map(Number::as_u64).collect())
    }

    fn encode(&self, out: &mut Writer) {
        self.iter().map(|number| Number::from(*number)).collect::<Vec<_>>().encode(out);
    }
}
