//! Which events a subscription wants: conditions on headers and on fields of a JSON body, all of which must hold.

use std::cell::OnceCell;

use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::NewEvent;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Filter(pub Vec<Condition>);

/// A condition on one header (`{"header": "x-tenant", …}`), on one field of a JSON body
/// (`{"field": "order.items.0.kind", …}`) or on the topic of an event from MQTT (`{"topic": true, …}`).
/// Of the tests, those that are given must all hold; with none, the thing must merely be there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Condition {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// Equal to one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any_of: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greater_than: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub less_than: Option<f64>,
    /// False: it must not be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// The condition must not hold.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not: bool,
}

/// An event as filters read it: its body is parsed once, and only if one of them asks for a field.
pub struct Reading<'e> {
    event: &'e NewEvent,
    body: OnceCell<Option<Value>>,
}

impl<'e> Reading<'e> {
    pub fn of(event: &'e NewEvent) -> Self {
        Self { event, body: OnceCell::new() }
    }

    fn body(&self) -> Option<&Value> {
        self.body.get_or_init(|| serde_json::from_slice(&self.event.body).ok()).as_ref()
    }
}

impl Filter {
    const CONDITIONS_MAX: usize = 32;

    pub fn check(&self) -> Result<()> {
        if self.0.len() > Self::CONDITIONS_MAX {
            return Err(Error::Invalid(format!("a filter has at most {} conditions", Self::CONDITIONS_MAX)));
        }
        for condition in &self.0 {
            let about = [condition.header.is_some(), condition.field.is_some(), condition.topic == Some(true)];
            if about.into_iter().filter(|given| *given).count() != 1 {
                return Err(Error::Invalid(
                    "a condition of a filter is about one thing: give \"header\", \"field\" or \"topic\": true".into(),
                ));
            }
        }
        Ok(())
    }

    pub fn matches(&self, event: &Reading<'_>) -> bool {
        self.0.iter().all(|condition| condition.holds(event))
    }
}

impl Condition {
    fn holds(&self, event: &Reading<'_>) -> bool {
        let found = if let Some(field) = &self.field {
            event.body().and_then(|body| lookup(body, field)).cloned()
        } else if let Some(name) = &self.header {
            header(event.event, name).map(|value| Value::String(value.to_owned()))
        } else {
            event.event.topic.clone().map(Value::String)
        };
        self.accepts(found.as_ref()) != self.not
    }

    fn accepts(&self, found: Option<&Value>) -> bool {
        let Some(found) = found else {
            return self.exists == Some(false);
        };
        if self.exists == Some(false) {
            return false;
        }
        let text = found.as_str();
        let number = found.as_f64().or_else(|| text.and_then(|text| text.parse().ok()));
        self.equals.as_ref().is_none_or(|wanted| same(found, wanted))
            && self.any_of.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| same(found, wanted)))
            && self.prefix.as_ref().is_none_or(|prefix| text.is_some_and(|text| text.starts_with(prefix.as_str())))
            && self.contains.as_ref().is_none_or(|part| contains(found, part))
            && self.greater_than.is_none_or(|bound| number.is_some_and(|number| number > bound))
            && self.less_than.is_none_or(|bound| number.is_some_and(|number| number < bound))
    }
}

/// `a.b.0.c`: names of objects and positions in arrays.
fn lookup<'v>(body: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(body, |value, step| match value {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

fn header<'e>(event: &'e NewEvent, name: &str) -> Option<&'e str> {
    if name.eq_ignore_ascii_case("content-type") {
        return event.content_type.as_deref();
    }
    event.headers.iter().find(|(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Numbers compare by value; a header's text compares with a number or truth value as written.
fn same(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Number(_), Value::Number(_)) => found.as_f64() == wanted.as_f64(),
        (Value::String(text), Value::Number(_)) => {
            text.parse::<f64>().is_ok_and(|number| Some(number) == wanted.as_f64())
        }
        (Value::String(text), Value::Bool(truth)) => text == if *truth { "true" } else { "false" },
        _ => found == wanted,
    }
}

fn contains(found: &Value, part: &str) -> bool {
    match found {
        Value::String(text) => text.contains(part),
        Value::Array(items) => items.iter().any(|item| item.as_str() == Some(part)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event() -> NewEvent {
        NewEvent {
            headers: vec![("X-Tenant".into(), "acme".into()), ("x-level".into(), "7".into())],
            content_type: Some("application/json".into()),
            topic: Some("a/b".into()),
            body: br#"{"type":"order.paid","amount":12.5,"items":[{"kind":"book"}],"tags":["x","y"],"ok":true}"#
                .to_vec(),
            ..NewEvent::default()
        }
    }

    #[test]
    fn conditions_hold_or_not() {
        check(json!([]), true);
        check(json!([{"header": "x-tenant"}]), true);
        check(json!([{"header": "x-tenant", "equals": "acme"}]), true);
        check(json!([{"header": "x-tenant", "equals": "other"}]), false);
        check(json!([{"header": "x-tenant", "equals": "other", "not": true}]), true);
        check(json!([{"header": "x-level", "equals": 7}]), true);
        check(json!([{"header": "x-level", "greater_than": 6.5, "less_than": 8}]), true);
        check(json!([{"header": "content-type", "prefix": "application/"}]), true);
        check(json!([{"header": "x-nobody"}]), false);
        check(json!([{"header": "x-nobody", "exists": false}]), true);
        check(json!([{"field": "type", "any_of": ["order.paid", "order.sent"]}]), true);
        check(json!([{"field": "type", "prefix": "order."}, {"field": "amount", "greater_than": 100}]), false);
        check(json!([{"field": "amount", "equals": 12.5}]), true);
        check(json!([{"field": "items.0.kind", "equals": "book"}]), true);
        check(json!([{"field": "items.1.kind"}]), false);
        check(json!([{"field": "tags", "contains": "y"}]), true);
        check(json!([{"field": "ok", "equals": true}]), true);
        check(json!([{"topic": true, "prefix": "a/"}]), true);
    }

    fn check(filter: Value, holds: bool) {
        let read: Filter = serde_json::from_value(filter.clone()).expect("a filter");
        read.check().expect("a good filter");
        assert_eq!(read.matches(&Reading::of(&event())), holds, "{filter}");
    }

    #[test]
    fn a_body_that_is_no_json_has_no_fields() {
        let event = NewEvent { body: vec![0xff, 0x00], ..event() };
        let with: Filter = serde_json::from_value(json!([{"field": "type"}])).expect("a filter");
        let without: Filter = serde_json::from_value(json!([{"field": "type", "exists": false}])).expect("a filter");
        assert!(!with.matches(&Reading::of(&event)) && without.matches(&Reading::of(&event)));
    }

    #[test]
    fn a_condition_is_about_one_thing() {
        for bad in [json!([{}]), json!([{"header": "a", "field": "b"}]), json!([{"topic": false}])] {
            assert!(serde_json::from_value::<Filter>(bad.clone()).expect("it reads").check().is_err(), "{bad}");
        }
        assert!(serde_json::from_value::<Filter>(json!([{"heder": "a"}])).is_err());
    }
}
