//! What the audit log tells of a change: everything but the secrets.

use malla_notify::Target;
use serde::Serialize;
use serde_json::Value;

/// Fields of which it tells only that they were given.
const SECRETS: [&str; 5] = ["token", "signature_secret", "secret", "auth", "password"];

pub(super) fn without_secrets(change: &impl Serialize) -> Value {
    let mut told = serde_json::to_value(change).unwrap_or_default();
    hide(&mut told);
    told
}

fn hide(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    for (name, value) in fields {
        match value {
            Value::Null => {}
            value if SECRETS.contains(&name.as_str()) => *value = Value::Bool(true),
            Value::String(target) if name == "target" => *target = Target(target.clone()).masked(),
            value if name == "mqtt" => hide(value),
            Value::Array(channels) if name == "to" => channels.iter_mut().for_each(hide),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_told_of_and_not_told() {
        let change = json!({
            "token": "t", "secret": null, "auth": { "bearer": "b" }, "target": "mqtt://a:p@h/t", "timeout_s": 5,
            "mqtt": { "topic": "t", "password": "p" }, "headers": { "token": "a header's name" },
            "to": [{ "kind": "webhook", "url": "https://example.org", "secret": "s" }],
        });
        let expected = json!({
            "token": true, "secret": null, "auth": true, "target": "mqtt://a:***@h/t", "timeout_s": 5,
            "mqtt": { "topic": "t", "password": true }, "headers": { "token": "a header's name" },
            "to": [{ "kind": "webhook", "url": "https://example.org", "secret": true }],
        });
        assert_eq!(without_secrets(&change), expected);
    }
}
