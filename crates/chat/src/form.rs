//! [`Form`]: the elicitation of an MCP server, one field after another.

use duologue_protocol::control::Elicitation;
use duologue_terminal::{Shown, line, ours, shown};
use serde_json::{Map, Number, Value};

use crate::menu::{Choice, Menu};
use crate::subject::{Kind as Row, Subject};

/// A form, or the address of a page on which the user answers.
#[derive(Debug)]
pub(super) struct Form {
    server: String,
    message: String,
    url: Option<String>,
    fields: Vec<Field>,
    content: Map<String, Value>,
    /// The index of the field.
    at: usize,
    /// Why the last answer was not accepted.
    problem: Option<&'static str>,
}

/// A field of the form.
#[derive(Debug)]
struct Field {
    name: String,
    label: String,
    description: String,
    kind: Kind,
    is_required: bool,
}

/// The values of a field.
#[derive(Debug)]
enum Kind {
    Text,
    Number,
    Integer,
    /// One of these: the value and its label.
    OneOf(Vec<(Value, String)>),
    /// Several of these.
    Several(Vec<(Value, String)>),
}

/// What follows an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// The answer is not valid, or there is another field.
    Ask,
    /// The form is complete.
    Accept(Value),
    Decline,
}

impl Form {
    pub(super) fn new(ask: &Elicitation) -> Self {
        let schema = ask.requested_schema.value().and_then(|schema| schema.to_value().ok());
        let schema = schema.unwrap_or_default();
        let is_required = |name: &str| {
            schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name))
        };
        let order: Vec<&str> =
            ask.property_order.items().iter().map(|name| name.as_str()).collect();
        let place = |name: &str| order.iter().position(|it| *it == name).unwrap_or(order.len());
        let properties = schema["properties"].as_object();
        let mut fields: Vec<Field> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| Field::new(name, schema, is_required(name)))
            .collect();
        fields.sort_by_key(|field| place(&field.name));
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let server = ask.display_name.as_str().or(ask.mcp_server_name.as_str());
        Self {
            server: text(server),
            message: text(ask.message.as_str()),
            url: ask.url.as_str().map(str::to_owned),
            fields,
            content: Map::new(),
            at: 0,
            problem: None,
        }
    }

    /// The menu of the next field.
    pub(super) fn menu(&self) -> (Menu, Subject) {
        let count = match self.fields.len() {
            0 | 1 => Shown::default(),
            many => shown!(" ({} of {})", self.at + 1, many),
        };
        let mut head = Subject::new(shown!("The MCP server {} asks{}", line(&self.server), count))
            .text(Row::Plain, &self.message);
        let mut choices = Vec::new();
        let mut several = false;
        if let Some(url) = &self.url {
            head = head.text(Row::Plain, url);
            choices.push(Choice::new(ours("Accept")).detail(ours("open the address yourself")));
        } else if let Some(field) = self.fields.get(self.at) {
            head = head.text(Row::Plain, &format!("{}: {}", field.label, field.description));
            match &field.kind {
                Kind::OneOf(options) | Kind::Several(options) => {
                    several = matches!(field.kind, Kind::Several(_));
                    choices.extend(options.iter().map(|(_, label)| Choice::new(line(label))));
                }
                Kind::Text | Kind::Number | Kind::Integer => {
                    choices.push(Choice::new(ours("Answer")).writes());
                }
            }
            if !field.is_required {
                choices.push(Choice::new(ours("Leave empty")).alone());
            }
        } else {
            choices.push(Choice::new(ours("Accept")));
        }
        choices.push(Choice::new(ours("Decline")).alone());
        if let Some(problem) = self.problem {
            head = head.note(shown!("  {}", ours(problem).red()));
        }
        (Menu::new(choices).several(several).escape("cancels"), head)
    }

    /// Takes the choices of the menu and the text.
    pub(super) fn answer(&mut self, chosen: &[usize], text: &str) -> Next {
        self.problem = None;
        let Some(field) = self.fields.get(self.at).filter(|_| self.url.is_none()) else {
            return if chosen == [0] {
                Next::Accept(Value::Object(Map::new()))
            } else {
                Next::Decline
            };
        };
        // "Leave empty" and "decline" follow the options, or the choice that takes a text.
        let (options, after) = match &field.kind {
            Kind::OneOf(options) | Kind::Several(options) => (&options[..], options.len()),
            Kind::Text | Kind::Number | Kind::Integer => (&[][..], 1),
        };
        if chosen.iter().any(|at| *at > after || (*at == after && field.is_required)) {
            return Next::Decline;
        }
        if !chosen.contains(&after) {
            match field.value(options, chosen, text) {
                Ok(value) => drop(self.content.insert(field.name.clone(), value)),
                Err(problem) => {
                    self.problem = Some(problem);
                    return Next::Ask;
                }
            }
        }
        self.at += 1;
        if self.at < self.fields.len() {
            return Next::Ask;
        }
        Next::Accept(Value::Object(std::mem::take(&mut self.content)))
    }
}

impl Field {
    fn new(name: &str, schema: &Value, is_required: bool) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let title = text(&schema["title"]);
        let kind = match schema["type"].as_str() {
            Some("boolean") => {
                Kind::OneOf(vec![(true.into(), "Yes".to_owned()), (false.into(), "No".to_owned())])
            }
            Some("number") => Kind::Number,
            Some("integer") => Kind::Integer,
            Some("array") => Kind::Several(options(&schema["items"])),
            _ => match options(schema) {
                none if none.is_empty() => Kind::Text,
                options => Kind::OneOf(options),
            },
        };
        Self {
            name: name.to_owned(),
            label: if title.is_empty() { name.to_owned() } else { title },
            description: text(&schema["description"]),
            kind,
            is_required,
        }
    }

    fn value(
        &self,
        options: &[(Value, String)],
        chosen: &[usize],
        text: &str,
    ) -> Result<Value, &'static str> {
        let mut picked = chosen.iter().filter_map(|at| options.get(*at)).map(|(value, _)| value);
        match self.kind {
            Kind::OneOf(_) => picked.next().cloned().ok_or("Choose one."),
            Kind::Several(_) => Ok(picked.cloned().collect()),
            Kind::Text if text.is_empty() => Err("An answer is required."),
            Kind::Text => Ok(text.into()),
            Kind::Integer => {
                text.parse::<i64>().map(Value::from).map_err(|_| "Enter a whole number.")
            }
            Kind::Number => {
                let number = text.parse().ok().and_then(Number::from_f64);
                number.map(Value::Number).ok_or("Enter a number.")
            }
        }
    }
}

/// The values of an enumeration, with their labels: `enum` with `enumNames`, or `oneOf` and `anyOf` with `const` and `title`.
fn options(schema: &Value) -> Vec<(Value, String)> {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let titled = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    if let Some(titled) = titled {
        let option = |option: &Value| {
            let value = option["const"].clone();
            let label = option["title"].as_str().map_or_else(|| shown(&value), str::to_owned);
            (value, label)
        };
        return titled.iter().map(option).collect();
    }
    let values = schema["enum"].as_array().into_iter().flatten().enumerate();
    let label = |at: usize, value: &Value| {
        schema["enumNames"][at].as_str().map_or_else(|| shown(value), str::to_owned)
    };
    values.map(|(at, value)| (value.clone(), label(at, value))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
    use duologue_protocol::Wire as _;
    use serde_json::json;

    use super::*;

    fn form(schema: &Value) -> Form {
        let ask = json!({ "subtype": "elicitation", "mcp_server_name": "db", "message": "Which?",
            "mode": "form", "requested_schema": schema });
        Form::new(&Elicitation::from_json(&ask.to_string()).unwrap())
    }

    fn field(schema: Value) -> Form {
        form(&json!({ "type": "object", "properties": { "it": schema }, "required": ["it"] }))
    }

    #[test]
    fn fields_are_asked_one_after_another() {
        let mut form = form(&json!({ "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string" }, "size": { "type": "integer" },
        }}));
        assert_eq!(form.answer(&[0], "ann"), Next::Ask);
        assert_eq!(form.answer(&[0], "3"), Next::Accept(json!({ "name": "ann", "size": 3 })));
    }

    #[test]
    fn optional_fields_may_be_empty_and_required_ones_may_not() {
        let mut form = form(&json!({ "properties": { "name": { "type": "string" } } }));
        assert_eq!(form.answer(&[1], ""), Next::Accept(json!({})));
        let mut form = field(json!({ "type": "string" }));
        assert_eq!(form.answer(&[0], ""), Next::Ask);
        assert!(form.problem.is_some());
        assert_eq!(form.answer(&[1], ""), Next::Decline);
    }

    #[test]
    fn values_have_the_type_of_the_field() {
        let cases = [
            (json!({ "type": "boolean" }), vec![1], "", json!(false)),
            (json!({ "type": "number" }), vec![0], "2.5", json!(2.5)),
            (json!({ "enum": ["a", "b"], "enumNames": ["A", "B"] }), vec![1], "", json!("b")),
            (json!({ "oneOf": [{ "const": "x", "title": "X" }] }), vec![0], "", json!("x")),
            (
                json!({ "type": "array", "items": { "enum": ["a", "b", "c"] } }),
                vec![0, 2],
                "",
                json!(["a", "c"]),
            ),
        ];
        for (schema, chosen, text, value) in cases {
            let mut form = field(schema.clone());
            assert_eq!(
                form.answer(&chosen, text),
                Next::Accept(json!({ "it": value })),
                "{schema}"
            );
        }
        assert_eq!(field(json!({ "type": "integer" })).answer(&[0], "2.5"), Next::Ask);
        assert_eq!(field(json!({ "type": "number" })).answer(&[0], "many"), Next::Ask);
    }

    #[test]
    fn every_form_can_be_declined() {
        assert_eq!(field(json!({ "type": "boolean" })).answer(&[2], ""), Next::Decline);
        assert_eq!(form(&json!({})).answer(&[1], ""), Next::Decline);
        assert_eq!(form(&json!({})).answer(&[0], ""), Next::Accept(json!({})));
    }

    #[test]
    fn a_page_on_the_web_is_shown_with_its_address() {
        let ask = json!({ "subtype": "elicitation", "mcp_server_name": "db", "message": "Log in",
            "mode": "url", "url": "https://example.com/login" });
        let mut form = Form::new(&Elicitation::from_json(&ask.to_string()).unwrap());
        let (menu, mut head) = form.menu();
        let lines: Vec<String> =
            head.lines(&menu, 24, 80).iter().map(|line| line.plain().to_string()).collect();
        assert!(lines.iter().any(|line| line.contains("https://example.com/login")), "{lines:?}");
        assert_eq!(form.answer(&[0], ""), Next::Accept(json!({})));
    }
}
