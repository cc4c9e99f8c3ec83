//! The tables: `record!`, `union!`, `words!` and `id!`.
//!
//! A wire type is written once, as a table of its fields. Reading, writing, the survey of what is
//! unknown, the JSON Schema, setters and serde all come out of that table, so that they cannot
//! disagree.

/// An object: a struct whose every field is a [`Field`](super::Field).
///
/// ```text
/// record! {
///     /// What it is.
///     Name ["type" = "its tag", …] {
///         /// What it means.
///         field: Type,
///         field "wireName": Type,
///         field: Type => legacy,     // only the legacy descriptions have it
///         field: Type => required,   // the line has no meaning without it
///     }
/// }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! record {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $wire:literal) => { $wire };

    (@legacy $me:ident $survey:ident $field:ident $name:expr) => {};
    (@legacy $me:ident $survey:ident $field:ident $name:expr; required) => {};
    (@legacy $me:ident $survey:ident $field:ident $name:expr; legacy) => {
        if !$me.$field.is_absent() {
            $survey.within($name, |survey| survey.report($crate::wire::Finding::Legacy));
        }
    };

    (@required $me:ident $parser:ident $field:ident $name:expr) => {};
    (@required $me:ident $parser:ident $field:ident $name:expr; legacy) => {};
    (@required $me:ident $parser:ident $field:ident $name:expr; required) => {
        if $me.$field.value().is_none() {
            return Err($parser.missing($name));
        }
    };

    (@is_required) => { false };
    (@is_required legacy) => { false };
    (@is_required required) => { true };

    (
        $(#[doc = $doc:expr])*
        $name:ident $([$($tag:literal = $value:literal),+])? {
            $(
                $(#[doc = $field_doc:expr])*
                $field:ident $($wire:literal)? : $ty:ty $(=> $mark:ident)?
            ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $field_doc])*
                pub $field: $crate::wire::Field<$ty>,
            )*
            /// Unknown fields.
            pub extra: $crate::wire::Extra,
        }

        impl $name {
            /// One with all fields absent; set them by the methods of their names.
            pub fn new() -> Self {
                Self::default()
            }

            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, value: impl Into<$ty>) -> Self {
                    self.$field = $crate::wire::Field::Value(value.into());
                    self
                }
            )*
        }

        impl $crate::wire::Sealed for $name {}

        impl $crate::wire::Wire for $name {
            fn decode(
                parser: &mut $crate::json::Parser<'_>,
            ) -> Result<Self, $crate::json::Fault> {
                // One for each field: its place in the table. A record may have none.
                #[allow(non_camel_case_types, dead_code, reason = "named after the fields")]
                enum Place { $($field),* }
                let mut fields = parser.enter_record(
                    &[$($(($tag, $value)),+)?],
                    &[$($crate::wire::record!(@name $field $($wire)?)),*],
                )?;
                let mut me = Self::default();
                while let Some(key) = parser.next_field(&mut fields)? {
                    match key {
                        $($crate::json::FieldKey::Known(place) if place == Place::$field as usize => {
                            me.$field = $crate::wire::Field::decode(
                                parser,
                                $crate::wire::record!(@name $field $($wire)?),
                            )?;
                        })*
                        // Only as many places as there are fields.
                        $crate::json::FieldKey::Known(_) => {}
                        $crate::json::FieldKey::Unknown(key) => {
                            let value = parser.raw()?;
                            parser.count()?;
                            me.extra.push(key, value);
                        }
                    }
                }
                $($crate::wire::record!(@required me parser $field $crate::wire::record!(@name $field $($wire)?) $(; $mark)?);)*
                Ok(me)
            }

            fn encode(&self, out: &mut $crate::json::Writer) {
                out.begin_object();
                $($(out.tag($tag, $value);)+)?
                $(self.$field.encode(out, $crate::wire::record!(@name $field $($wire)?));)*
                self.extra.encode(out);
                out.end_object();
            }

            fn survey(&self, survey: &mut $crate::wire::Survey<'_>) {
                $(
                    self.$field.survey(survey, $crate::wire::record!(@name $field $($wire)?));
                    $crate::wire::record!(@legacy self survey $field $crate::wire::record!(@name $field $($wire)?) $(; $mark)?);
                )*
                self.extra.survey(survey);
            }

            fn schema(schemas: &mut $crate::wire::Schemas) -> serde_json::Value {
                schemas.define(module_path!(), stringify!($name), |_schemas| {
                    $crate::wire::Schemas::object(
                        concat!($($doc, "\n"),*),
                        &[$($(($tag, $value)),+)?],
                        vec![$((
                            $crate::wire::record!(@name $field $($wire)?),
                            concat!($($field_doc, "\n"),*),
                            $crate::wire::record!(@is_required $($mark)?),
                            <$ty as $crate::wire::Wire>::schema(_schemas),
                        )),*],
                    )
                })
            }
        }

        $crate::wire::serde_through_json!($name);
    };
}

/// An object whose kind is named by one of its fields: an open enum of records.
///
/// ```text
/// union! {
///     /// What it is.
///     Name by "type" {
///         each {                              // optional: fields that every row ends with
///             /// What it means.
///             field: Type,
///         }
///
///         /// What it means. This row declares the record `Record`.
///         "its tag" => Variant(Box<Record>) {
///             /// What it means.
///             field: Type,
///         },
///         /// A record that is declared elsewhere.
///         "another tag" => Other(OtherRecord),
///         "old" => Old(OldRecord) {} => legacy,   // only the legacy descriptions have it
///         "odd" => Odd(OddRecord) {} => alone,    // without the fields of `each`
///     }
/// }
/// ```
///
/// `by "type" closed` leaves unknown kinds out of the JSON Schema: such a line is unknown itself.
/// A union that is itself a kind of another names that kind: `by "subtype", "type" = "system"`.
#[doc(hidden)]
#[macro_export]
macro_rules! union {
    (@open $members:ident, $tag:literal, $known:tt) => {
        let mut $members = $members;
        $members.push($crate::wire::UnknownObject::schema($tag, &$known));
    };
    (@open $members:ident, $tag:literal, $known:tt closed) => {};

    (@legacy $survey:ident legacy) => { $survey.report($crate::wire::Finding::Legacy); };
    (@legacy $survey:ident $($other:ident)?) => {};

    // A row without fields names a record that is declared elsewhere.
    (@record $union:ident $docs:tt $outer:tt $tag:tt $each:tt $ty:tt [$($mark:ident)?]) => {};
    (@record $union:ident $docs:tt $outer:tt $tag:tt $each:tt (Box<$name:ident>) $rest:tt) => {
        $crate::union!(@declare $docs $outer $tag $each $name $rest);

        impl From<$name> for $union {
            fn from(value: $name) -> Self {
                Self::from(Box::new(value))
            }
        }
    };
    (@record $union:ident $docs:tt $outer:tt $tag:tt $each:tt ($name:ident) $rest:tt) => {
        $crate::union!(@declare $docs $outer $tag $each $name $rest);
    };

    (
        @declare [$($doc:tt)*] [$($outer:tt)*] [$($tag:tt)*] $each:tt $name:ident
        [{ $($field:tt)* } alone]
    ) => {
        $crate::record! { $($doc)* $name [$($outer)* $($tag)*] { $($field)* } }
    };
    (
        @declare [$($doc:tt)*] [$($outer:tt)*] [$($tag:tt)*] { $($each:tt)* } $name:ident
        [{ $($field:tt)* } $($mark:ident)?]
    ) => {
        $crate::record! { $($doc)* $name [$($outer)* $($tag)*] { $($field)* $($each)* } }
    };

    (
        @union [$(#[doc = $doc:expr])*] $name:ident $tag:literal [$($closed:ident)?]
        [$($outer:literal = $kind:literal,)?] $outer_tag:tt $each:tt {
            $(
                $(#[doc = $row_doc:expr])*
                $value:literal => $variant:ident($($ty:tt)+)
                $({ $($field:tt)* })? $(=> $mark:ident)?
            ),* $(,)?
        }
    ) => {
        $(
            $crate::union!(
                @record $name [$(#[doc = $row_doc])*] $outer_tag [$tag = $value] $each ($($ty)+)
                [$({ $($field)* })? $($mark)?]
            );
        )*

        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "the frequent variants are not boxed")]
        pub enum $name {
            $(
                $(#[doc = $row_doc])*
                $variant($($ty)+),
            )*
            /// An unknown kind, kept whole.
            Unknown($crate::wire::UnknownObject),
        }

        impl $name {
            /// The tags of all known kinds.
            pub const KNOWN: &[&str] = &[$($value),*];

            /// The tag: the name of the kind.
            pub fn tag(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $value,)*
                    Self::Unknown(unknown) => &unknown.tag,
                }
            }

            /// Whether the kind is known.
            pub fn is_known(&self) -> bool {
                !matches!(self, Self::Unknown(_))
            }

            /// The schemas of the known kinds.
            #[allow(dead_code, reason = "only the outermost unions need it")]
            #[doc(hidden)]
            pub fn known_schema(
                schemas: &mut $crate::wire::Schemas,
            ) -> Vec<serde_json::Value> {
                vec![$(<$($ty)+ as $crate::wire::Wire>::schema(schemas)),*]
            }
        }

        $(
            impl From<$($ty)+> for $name {
                fn from(value: $($ty)+) -> Self {
                    Self::$variant(value)
                }
            }
        )*

        impl $crate::wire::Sealed for $name {}

        impl $crate::wire::Wire for $name {
            fn decode(
                parser: &mut $crate::json::Parser<'_>,
            ) -> Result<Self, $crate::json::Fault> {
                let tag = parser.peek_tag($tag)?;
                match &*tag {
                    $($value => {
                        <$($ty)+ as $crate::wire::Wire>::decode(parser).map(Self::$variant)
                    })*
                    unknown => {
                        parser.agree_on_tag($tag, unknown)?;
                        $(parser.agree_on_tag($outer, $kind)?;)?
                        $crate::wire::UnknownObject::decode(unknown, parser).map(Self::Unknown)
                    }
                }
            }

            fn encode(&self, out: &mut $crate::json::Writer) {
                match self {
                    $(Self::$variant(value) => $crate::wire::Wire::encode(value, out),)*
                    Self::Unknown(unknown) => unknown.encode(out),
                }
            }

            fn survey(&self, survey: &mut $crate::wire::Survey<'_>) {
                match self {
                    $(Self::$variant(value) => {
                        $crate::union!(@legacy survey $($mark)?);
                        $crate::wire::Wire::survey(value, survey);
                    })*
                    Self::Unknown(unknown) => unknown.survey(survey, $tag),
                }
            }

            fn schema(schemas: &mut $crate::wire::Schemas) -> serde_json::Value {
                schemas.define(module_path!(), stringify!($name), |schemas| {
                    let members = Self::known_schema(schemas);
                    $crate::union!(@open members, $tag, [$($value),*] $($closed)?);
                    $crate::wire::Schemas::one_of(concat!($($doc, "\n"),*), members)
                })
            }
        }

        $crate::wire::serde_through_json!($name);
    };

    (
        $(#[doc = $doc:expr])*
        $name:ident by $tag:literal $($closed:ident)? $(, $outer:literal = $kind:literal)? {
            each $each:tt
            $($rows:tt)*
        }
    ) => {
        $crate::union!(
            @union [$(#[doc = $doc])*] $name $tag [$($closed)?]
            [$($outer = $kind,)?] [$($outer = $kind,)?] $each { $($rows)* }
        );
    };
    (
        $(#[doc = $doc:expr])*
        $name:ident by $tag:literal $($closed:ident)? $(, $outer:literal = $kind:literal)? {
            $($rows:tt)*
        }
    ) => {
        $crate::union!(
            @union [$(#[doc = $doc])*] $name $tag [$($closed)?]
            [$($outer = $kind,)?] [$($outer = $kind,)?] {} { $($rows)* }
        );
    };
}

/// A string from a vocabulary that grows: an open enum of words.
///
/// `Name closed` leaves unknown words out of the JSON Schema. `Word = "word" => legacy`: only the
/// legacy descriptions have this word.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (@schema) => { $crate::wire::Schemas::words };
    (@schema closed) => { $crate::wire::Schemas::closed_words };

    (@survey $survey:ident) => {};
    (@survey $survey:ident legacy) => { $survey.report($crate::wire::Finding::Legacy) };

    (
        $(#[doc = $doc:expr])*
        $name:ident $($closed:ident)? {
            $(
                $(#[doc = $variant_doc:expr])*
                $variant:ident = $value:literal $(=> $mark:ident)?
            ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $(
                $(#[doc = $variant_doc])*
                $variant,
            )*
            /// An unknown word, kept as it is.
            Other($crate::text::Text),
        }

        impl $name {
            /// All known words.
            pub const KNOWN: &[&str] = &[$($value),*];

            /// The word as it is in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $value,)*
                    Self::Other(other) => other,
                }
            }

            /// Whether the word is known.
            pub fn is_known(&self) -> bool {
                !matches!(self, Self::Other(_))
            }

            fn known(word: &str) -> Option<Self> {
                match word {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                Self::known(word).unwrap_or_else(|| Self::Other(word.into()))
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                Self::known(&word).unwrap_or_else(|| Self::Other(word.into()))
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl $crate::wire::Sealed for $name {}

        impl $crate::wire::Wire for $name {
            fn decode(
                parser: &mut $crate::json::Parser<'_>,
            ) -> Result<Self, $crate::json::Fault> {
                let word = parser.string()?;
                Ok(Self::known(&word).unwrap_or(Self::Other(word)))
            }

            fn encode(&self, out: &mut $crate::json::Writer) {
                match self {
                    Self::Other(other) => $crate::wire::Wire::encode(other, out),
                    known => out.string(known.as_str()),
                }
            }

            fn survey(&self, survey: &mut $crate::wire::Survey<'_>) {
                match self {
                    $(Self::$variant => { $crate::words!(@survey survey $($mark)?); })*
                    Self::Other(other) => {
                        survey.report($crate::wire::Finding::UnknownWord(other));
                    }
                }
            }

            fn schema(schemas: &mut $crate::wire::Schemas) -> serde_json::Value {
                schemas.define(module_path!(), stringify!($name), |_| {
                    let describe = $crate::wire::words!(@schema $($closed)?);
                    describe(concat!($($doc, "\n"),*), Self::KNOWN)
                })
            }
        }

        $crate::wire::serde_through_json!($name);
    };
}

/// An id: a newtype over whatever the peer chose, mostly a string, sometimes a number.
#[doc(hidden)]
#[macro_export]
macro_rules! id {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name($crate::id::Id);

        impl $name {
            /// The id as text; a number as it was written.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The same id, no longer tied to the line it came in.
            #[must_use]
            pub fn detach(&self) -> Self {
                Self(self.0.detach())
            }
        }

        impl<T: Into<$crate::text::Text>> From<T> for $name {
            fn from(text: T) -> Self {
                Self($crate::id::Id::text(text.into()))
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }

        impl $crate::wire::Sealed for $name {}

        impl $crate::wire::Wire for $name {
            fn decode(
                parser: &mut $crate::json::Parser<'_>,
            ) -> Result<Self, $crate::json::Fault> {
                $crate::id::Id::decode(parser).map(Self)
            }

            fn encode(&self, out: &mut $crate::json::Writer) {
                self.0.encode(out);
            }

            fn schema(_: &mut $crate::wire::Schemas) -> serde_json::Value {
                serde_json::json!({ "type": ["string", "number"] })
            }
        }

        $crate::wire::serde_through_json!($name);
    )*};
}

/// serde for programs that keep wire types in files of their own. It goes through a
/// `serde_json::Value`: convenient, not quick.
#[doc(hidden)]
#[macro_export]
macro_rules! serde_through_json {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let json = $crate::wire::Wire::to_json(self);
                let value = serde_json::from_str::<serde_json::Value>(&json)
                    .map_err(serde::ser::Error::custom)?;
                value.serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                <Self as $crate::wire::Wire>::from_json(&value.to_string())
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}

pub use {id, record, serde_through_json, union, words};
