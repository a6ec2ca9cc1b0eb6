//! An endpoint's options in a form.

use malla_access::Secret as Token;
use malla_notify::signing::Secret;
use malla_notify::{EndpointOptions, MqttSource};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::super::secret::{self, Made, Wish};
use crate::form::{Form, Trouble, Wrong, number};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;

const PROTOCOLS: [(&str, Text); 2] =
    [("http", key!("HTTP: others post to it")), ("mqtt", key!("MQTT: it listens to a broker"))];
const MQTT_FIELDS: [&str; 4] = ["mqtt_broker", "mqtt_topic", "mqtt_username", "mqtt_password"];
const TOKEN_PREFIX: &str = "malla_in_";
const TOKEN_BYTES_MAX: usize = 1_024;
/// The newest signature secret and the one before it are good: publishers get time to change over.
const SECRETS_KEPT: usize = 2;

/// The form as the options are. Secrets are not among them.
pub(super) fn fields_of(options: &EndpointOptions) -> Params {
    let source = options.mqtt.as_ref();
    let of_source = |field: fn(&MqttSource) -> &str| source.map_or("", field);
    Params::from([
        ("description", options.description.as_str()),
        ("protocol", if source.is_some() { "mqtt" } else { "http" }),
        ("max_body", &options.max_body.to_string()),
        ("retention_days", &options.retention_days.map_or_else(String::new, |days| days.to_string())),
        ("mqtt_broker", of_source(|source| &source.broker)),
        ("mqtt_topic", of_source(|source| &source.topic)),
        ("mqtt_username", of_source(|source| source.username.as_deref().unwrap_or_default())),
    ])
}

pub(super) fn fields(form: &Form<'_>, before: &EndpointOptions) -> Markup {
    let listens = form.typed.typed("protocol") == "mqtt";
    let token_hint = t!("Publishers send it as Authorization: Bearer …");
    let signature_hint = t!("Standard Webhooks: whsec_… or whpk_…. The one before stays good beside a new one.");
    let password_hint = match before.mqtt.as_ref().is_some_and(|source| source.password.is_some()) {
        true => t!("Empty keeps the one that is set."),
        false => "",
    };
    html! {
        (form.text(t!("Description"), "description", t!("For the people who see it."), ""))
        (form.choice(t!("Protocol"), "protocol", "", &PROTOCOLS))
        (form.number(t!("Largest body (bytes)"), "max_body", t!("At most 16777216 (16 MiB).")))
        (form.number(t!("Keep for (days)"), "retention_days", t!("Events and what became of them. Empty: as the house does.")))
        (secret::field(form, t!("Token"), "token", token_hint, before.token_sha256.is_some()))
        (secret::field(form, t!("Signature secret"), "signature", signature_hint, !before.signature_secrets.is_empty()))
        details.whole open[listens || form.is_wrong_in(&MQTT_FIELDS)] {
            summary { (t!("MQTT: where to listen")) }
            div.fields {
                (form.text(t!("Broker"), "mqtt_broker", "", "mqtt://broker.example.org:1883"))
                (form.text(t!("Topic"), "mqtt_topic", t!("+ stands for a level, # for the rest."), "sensors/#"))
                (form.text(t!("User"), "mqtt_username", "", ""))
                (form.password(t!("Password"), "mqtt_password", password_hint))
            }
        }
    }
}

/// `before` as the form wants it, and the secrets that were made for it.
pub(super) fn read(fields: &Params, before: EndpointOptions) -> Result<(EndpointOptions, Vec<Made>), Trouble> {
    let mut made = Vec::new();
    let mut options = EndpointOptions { description: fields.typed("description").to_owned(), ..before };
    check(&options, "description")?;
    options.max_body = number(fields, "max_body", EndpointOptions::MAX_BODY_DEFAULT)?;
    check(&options, "max_body")?;
    options.retention_days = match fields.get("retention_days") {
        Some(_) => Some(number(fields, "retention_days", 0)?),
        None => None,
    };
    check(&options, "retention_days")?;
    set_token(&mut options, Wish::read(fields, "token"), &mut made)?;
    set_signature(&mut options, Wish::read(fields, "signature"), &mut made)?;
    options.mqtt = match fields.typed("protocol") {
        "mqtt" => Some(source(fields, options.mqtt)?),
        _ => None,
    };
    check(&options, "")?;
    Ok((options, made))
}

fn check(options: &EndpointOptions, field: &'static str) -> Result<(), Wrong> {
    options.check().map_err(|error| Wrong::at(field, error))
}

fn set_token(options: &mut EndpointOptions, wish: Wish, made: &mut Vec<Made>) -> Result<(), Trouble> {
    let token = match wish {
        Wish::Keep => return Ok(()),
        Wish::Remove => {
            options.token_sha256 = None;
            return Ok(());
        }
        Wish::Make => {
            let token = Token::random(TOKEN_PREFIX)?;
            made.push(Made { what: key!("token"), secret: token.reveal().to_owned() });
            token
        }
        Wish::Given(text) if text.len() <= TOKEN_BYTES_MAX && text.bytes().all(|b| b.is_ascii_graphic()) => {
            Token::from_text(text)
        }
        Wish::Given(_) => {
            let rule = say!("A token has at most {} visible ASCII characters, without spaces.", TOKEN_BYTES_MAX);
            return Err(Wrong::at("token", rule).into());
        }
    };
    options.token_sha256 = Some(token.hash().0.iter().map(|byte| format!("{byte:02x}")).collect());
    Ok(())
}

fn set_signature(options: &mut EndpointOptions, wish: Wish, made: &mut Vec<Made>) -> Result<(), Trouble> {
    let secret = match wish {
        Wish::Keep => return Ok(()),
        Wish::Remove => {
            options.signature_secrets.clear();
            return Ok(());
        }
        Wish::Make => {
            let secret = Secret::generate()?;
            made.push(Made { what: key!("signature secret"), secret: secret.clone() });
            secret
        }
        Wish::Given(secret) => secret,
    };
    options.signature_secrets.retain(|known| *known != secret);
    options.signature_secrets.insert(0, secret);
    options.signature_secrets.truncate(SECRETS_KEPT);
    Ok(check(options, "signature")?)
}

fn source(fields: &Params, before: Option<MqttSource>) -> Result<MqttSource, Wrong> {
    let text = |name: &str| fields.get(name).map(str::to_owned);
    let kept = before.and_then(|source| source.password);
    let username = text("mqtt_username");
    let source = MqttSource {
        broker: fields.typed("mqtt_broker").to_owned(),
        topic: fields.typed("mqtt_topic").to_owned(),
        password: text("mqtt_password").or(kept).filter(|_| username.is_some()),
        username,
    };
    let any_topic = MqttSource { topic: "a".into(), ..source.clone() };
    any_topic.check().map_err(|error| Wrong::at("mqtt_broker", error))?;
    source.check().map_err(|error| Wrong::at("mqtt_topic", error))?;
    Ok(source)
}

/// What the audit log tells: everything but the secrets.
pub(super) fn told(options: &EndpointOptions) -> Value {
    json!({
        "description": options.description,
        "max_body": options.max_body,
        "retention_days": options.retention_days,
        "token": options.token_sha256.is_some(),
        "signature_secrets": options.signature_secrets.len(),
        "mqtt": options.mqtt.as_ref().map(|source| json!({
            "broker": source.broker, "topic": source.topic, "username": source.username,
            "password": source.password.is_some(),
        })),
    })
}

/// What a signed event carries, if a secret of the endpoint can sign.
pub(super) fn signature(
    options: &EndpointOptions,
    id: &str,
    now_s: i64,
    body: &[u8],
) -> Result<Option<String>, Refusal> {
    let mut signatures = Vec::new();
    for secret in &options.signature_secrets {
        signatures.extend(Secret::parse(secret)?.sign(id, now_s, body));
    }
    Ok(signatures.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw";

    fn wrong(fields: &[(&str, &str)]) -> Wrong {
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let trouble = read(&Params::parse(text.as_bytes()), EndpointOptions::default()).expect_err("wrong");
        trouble.mend().expect("the person can mend it")
    }

    #[test]
    fn each_wrong_field_is_named() {
        assert_eq!(wrong(&[("max_body", "0")]), Wrong::at("max_body", "max_body is from 1 to 16777216 bytes"));
        for (name, value) in [("retention_days", "4000"), ("token", "two words"), ("signature", "hunter2")] {
            let typed = Params::from([(name, value)]);
            let wrong = wrong(&[(name, value)]);
            assert!(Form { typed: &typed, wrong: Some(&wrong) }.error(name).is_some(), "{name}");
        }
        let typed = Params::default();
        let no_topic = wrong(&[("protocol", "mqtt"), ("mqtt_broker", "mqtt://b")]);
        assert!(Form { typed: &typed, wrong: Some(&no_topic) }.error("mqtt_topic").is_some());
    }

    #[test]
    fn a_form_sent_back_as_it_was_changes_nothing() {
        let options = EndpointOptions {
            description: "all orders".into(),
            max_body: 5,
            token_sha256: Some("ab".repeat(32)),
            signature_secrets: vec![SECRET.into()],
            retention_days: Some(3),
            mqtt: Some(MqttSource {
                broker: "mqtt://b".into(),
                topic: "a/#".into(),
                username: Some("u".into()),
                password: Some("p".into()),
            }),
        };
        let (read_back, made) = read(&fields_of(&options), options.clone()).expect("good");
        assert_eq!(read_back, options);
        assert!(made.is_empty());
        assert!(!told(&options).to_string().contains(SECRET));
    }

    #[test]
    fn secrets_are_made_on_request_and_only_the_hash_of_a_token_is_kept() {
        let fields = Params::from([("token_wish", "make"), ("signature_wish", "make")]);
        let (options, made) = read(&fields, EndpointOptions::default()).expect("good");
        let [token, signature] = made.as_slice() else { panic!("two secrets") };
        assert!(token.secret.starts_with(TOKEN_PREFIX) && signature.secret.starts_with("whsec_"));
        assert_eq!(options.signature_secrets, [signature.secret.as_str()]);
        let hash = options.token_sha256.expect("a token");
        assert_eq!(hash.len(), 64);
        assert!(!token.secret.contains(&hash));
        assert_eq!(signature_of(&options.signature_secrets), 1);
    }

    fn signature_of(secrets: &[String]) -> usize {
        let options = EndpointOptions { signature_secrets: secrets.to_vec(), ..EndpointOptions::default() };
        signature(&options, "a", 1, b"x").expect("usable").into_iter().count()
    }
}
