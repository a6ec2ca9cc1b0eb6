//! What a request makes of an endpoint's options.

use malla_access::Secret as Token;
use malla_notify::{EndpointOptions, MqttSource, Protocol};
use malla_protocol::{EndpointChange, MqttSettings};

use crate::problem::Refusal;
use crate::view;

const TOKEN_BYTES_MAX: usize = 1_024;
/// The newest signature secret and the one before it are good.
const SECRETS_KEPT: usize = 2;

/// `options` as `change` wants them, checked.
pub(super) fn changed(mut options: EndpointOptions, change: EndpointChange) -> Result<EndpointOptions, Refusal> {
    if let Some(description) = change.description {
        options.description = description.unwrap_or_default();
    }
    if let Some(max_body) = change.max_body {
        options.max_body = max_body.unwrap_or(EndpointOptions::MAX_BODY_DEFAULT);
    }
    if let Some(token) = change.token {
        options.token_sha256 = token.as_deref().map(token_sha256).transpose()?;
    }
    if let Some(secret) = change.signature_secret {
        options.signature_secrets = with_secret(options.signature_secrets, secret);
    }
    if let Some(days) = change.retention_days {
        options.retention_days = days;
    }
    if let Some(mqtt) = change.mqtt {
        options.mqtt = mqtt.map(|wanted| source(options.mqtt, wanted)).transpose()?;
    }
    let own = if options.mqtt.is_some() { Protocol::Mqtt } else { Protocol::Http };
    if change.protocol.is_some_and(|wanted| wanted != view::notify::protocol(own)) {
        return Err(Refusal::invalid(match own {
            Protocol::Http => "the protocol mqtt needs \"mqtt\" with a broker and a topic",
            Protocol::Mqtt => "the protocol http has no \"mqtt\": leave it out, or set it to null",
        }));
    }
    options.check()?;
    Ok(options)
}

fn token_sha256(token: &str) -> Result<String, Refusal> {
    let fits = (1..=TOKEN_BYTES_MAX).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !fits {
        let rule = format!("from 1 to {TOKEN_BYTES_MAX} visible ASCII characters, without spaces");
        return Err(Refusal::invalid(format!("a token has {rule}")));
    }
    Ok(Token::from_text(token).hash().0.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Publishers get time to change over: the secret before stays good.
fn with_secret(mut secrets: Vec<String>, new: Option<String>) -> Vec<String> {
    let Some(new) = new else {
        return Vec::new();
    };
    secrets.retain(|known| *known != new);
    secrets.insert(0, new);
    secrets.truncate(SECRETS_KEPT);
    secrets
}

fn source(before: Option<MqttSource>, wanted: MqttSettings) -> Result<MqttSource, Refusal> {
    let (broker, topic, username, password) = match before {
        Some(MqttSource { broker, topic, username, password }) => (Some(broker), Some(topic), username, password),
        None => (None, None, None, None),
    };
    match (wanted.broker.or(broker), wanted.topic.or(topic)) {
        (Some(broker), Some(topic)) => Ok(MqttSource {
            broker,
            topic,
            username: wanted.username.unwrap_or(username),
            password: wanted.password.unwrap_or(password),
        }),
        _ => Err(Refusal::invalid("mqtt: give a broker and a topic")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SECRETS: [&str; 3] = [
        "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw",
        "whsec_MTExMTExMTExMTExMTExMTExMTExMTEx",
        "whsec_MjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy",
    ];

    fn change(options: EndpointOptions, body: Value) -> Result<EndpointOptions, Refusal> {
        changed(options, serde_json::from_value(body).expect("a change"))
    }

    #[test]
    fn the_secret_before_stays_good_and_null_clears_both() {
        let mut options = EndpointOptions::default();
        for secret in SECRETS {
            options = change(options, json!({ "signature_secret": secret })).expect("good");
        }
        assert_eq!(options.signature_secrets, [SECRETS[2], SECRETS[1]]);
        options = change(options, json!({ "signature_secret": SECRETS[1] })).expect("good");
        assert_eq!(options.signature_secrets, [SECRETS[1], SECRETS[2]]);
        options = change(options, json!({ "signature_secret": null })).expect("good");
        assert!(options.signature_secrets.is_empty());
    }

    #[test]
    fn a_token_is_kept_as_its_hash() {
        let options = change(EndpointOptions::default(), json!({ "token": "abc" })).expect("good");
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(options.token_sha256.as_deref(), Some(sha256));
        assert_eq!(change(options, json!({ "token": null })).expect("good").token_sha256, None);
        assert!(change(EndpointOptions::default(), json!({ "token": "two words" })).is_err());
    }

    #[test]
    fn a_source_changes_in_part_and_keeps_its_password() {
        let new = json!({ "mqtt": { "broker": "mqtt://b", "topic": "a/#", "username": "u", "password": "p" } });
        let options = change(EndpointOptions::default(), new).expect("good");
        let options = change(options, json!({ "protocol": "mqtt", "mqtt": { "topic": "b/#" } })).expect("good");
        let source = options.mqtt.clone().expect("still there");
        assert_eq!((source.topic.as_str(), source.password.as_deref()), ("b/#", Some("p")));
        assert!(change(options.clone(), json!({ "protocol": "http" })).is_err());
        assert!(change(options, json!({ "protocol": "http", "mqtt": null })).expect("good").mqtt.is_none());
        assert!(change(EndpointOptions::default(), json!({ "protocol": "mqtt" })).is_err());
        assert!(change(EndpointOptions::default(), json!({ "mqtt": { "topic": "a" } })).is_err());
    }
}
