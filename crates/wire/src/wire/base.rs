//! The types that are not records: texts, numbers, lists, raw values.

use serde_json::{Value, json};

use crate::json::{Fault, Number, Parser, RawJson, Writer};
use crate::text::Text;

use super::schema::Schemas;
use super::survey::Survey;
use super::{Sealed, Wire};

impl Sealed for Text {}

impl Wire for Text {
    #[inline]
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        parser.string()
    }

    fn encode(&self, out: &mut Writer) {
        match self.lone_surrogates() {
            Some(escaped) => out.escaped_string(escaped),
            None => out.string(self),
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "string" })
    }
}

impl Sealed for Number {}

impl Wire for Number {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        parser.number()
    }

    fn encode(&self, out: &mut Writer) {
        out.number(*self);
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "number" })
    }
}

impl Sealed for bool {}

impl Wire for bool {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        parser.boolean()
    }

    fn encode(&self, out: &mut Writer) {
        out.boolean(*self);
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "boolean" })
    }
}

impl Sealed for RawJson {}

impl Wire for RawJson {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        parser.raw()
    }

    fn encode(&self, out: &mut Writer) {
        self.write_on_one_line(out);
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({})
    }
}

impl<T: Wire> Sealed for Vec<T> {}

impl<T: Wire> Wire for Vec<T> {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        let mut elements = Self::new();
        parser.array(|parser| {
            elements.push(T::decode(parser)?);
            Ok(())
        })?;
        Ok(elements)
    }

    fn encode(&self, out: &mut Writer) {
        out.begin_array();
        for element in self {
            out.element();
            element.encode(out);
        }
        out.end_array();
    }

    fn survey(&self, survey: &mut Survey<'_>) {
        for element in self {
            survey.within_elements(|survey| element.survey(survey));
        }
    }

    fn schema(schemas: &mut Schemas) -> Value {
        json!({ "type": "array", "items": T::schema(schemas) })
    }
}

impl<T: Wire> Sealed for Box<T> {}

impl<T: Wire> Wire for Box<T> {
    fn decode(parser: &mut Parser<'_>) -> Result<Self, Fault> {
        T::decode(parser).map(Self::new)
    }

    fn encode(&self, out: &mut Writer) {
        T::encode(self, out);
    }

    fn survey(&self, survey: &mut Survey<'_>) {
        T::survey(self, survey);
    }

    fn schema(schemas: &mut Schemas) -> Value {
        T::schema(schemas)
    }
}
