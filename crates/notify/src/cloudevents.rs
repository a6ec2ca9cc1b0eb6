//! CloudEvents 1.0: an event described by attributes, in headers beside its body or in a JSON envelope around it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::Event;

pub(crate) const STRUCTURED_TYPE: &str = "application/cloudevents+json; charset=utf-8";
/// The type of an event that says nothing about it itself.
const TYPE_UNKNOWN: &str = "malla.event";
const PREFIX: &str = "ce-";

/// The attributes of an event by their names, without `ce-`. An event that came as a CloudEvent keeps its own, but for
/// the id: that is how Malla knows it.
pub(crate) fn attributes(event: &Event) -> BTreeMap<String, String> {
    let came = came_with(event);
    let whole = ["specversion", "source", "type"].iter().all(|name| came.contains_key(*name));
    let kind = event.kind.clone().or_else(|| came.get("type").cloned()).unwrap_or_else(|| TYPE_UNKNOWN.to_owned());
    let mut attributes = BTreeMap::from([
        ("specversion".to_owned(), "1.0".to_owned()),
        ("source".to_owned(), format!("/in/{}", event.endpoint_name)),
        ("type".to_owned(), kind),
    ]);
    if let Ok(time) = jiff::Timestamp::from_millisecond(event.received_at().0) {
        attributes.insert("time".to_owned(), time.to_string());
    }
    if whole && event.kind.is_none() {
        attributes.extend(came);
    }
    attributes.insert("id".to_owned(), event.id.to_string());
    attributes
}

/// The headers of binary mode.
pub(crate) fn headers(event: &Event) -> Vec<(String, String)> {
    attributes(event).into_iter().map(|(name, value)| (format!("{PREFIX}{name}"), encode(&value))).collect()
}

pub(crate) fn is_attribute(header: &str) -> bool {
    header.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// The body of structured mode.
pub(crate) fn envelope(event: &Event) -> Vec<u8> {
    let (data, data_base64) = match data(event.content.content_type.as_deref(), &event.content.body) {
        Data::None => (None, None),
        Data::Json(json) => (Some(json), None),
        Data::Bytes(bytes) => (None, Some(STANDARD.encode(bytes))),
    };
    let envelope = Envelope {
        attributes: attributes(event),
        datacontenttype: event.content.content_type.as_deref(),
        data,
        data_base64,
    };
    serde_json::to_vec(&envelope).expect("an envelope has only string keys")
}

#[derive(Serialize)]
struct Envelope<'e> {
    #[serde(flatten)]
    attributes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    datacontenttype: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

enum Data<'e> {
    None,
    /// As it was written: no number loses a digit on the way.
    Json(Box<RawValue>),
    Bytes(&'e [u8]),
}

fn data<'e>(content_type: Option<&str>, body: &'e [u8]) -> Data<'e> {
    let Ok(text) = std::str::from_utf8(body) else { return Data::Bytes(body) };
    let kind = content_type.map(|kind| kind.split(';').next().unwrap_or(kind).trim().to_ascii_lowercase());
    let json = kind.as_deref().is_none_or(|kind| kind == "application/json" || kind.ends_with("+json"));
    let readable = kind.as_deref().is_none_or(|kind| {
        kind.starts_with("text/") || kind.ends_with("xml") || kind == "application/x-www-form-urlencoded"
    });
    if text.is_empty() {
        return Data::None;
    }
    let written = json.then(|| serde_json::from_str::<Box<RawValue>>(text).ok()).flatten();
    let as_string = || readable.then(|| to_raw_value(text).ok()).flatten();
    written.or_else(as_string).map_or(Data::Bytes(body), Data::Json)
}

/// The attributes in the headers an event came with. Content type is not among them: HTTP has its own header for that.
fn came_with(event: &Event) -> BTreeMap<String, String> {
    let named = event.content.headers.iter().filter(|(name, _)| is_attribute(name));
    let named = named.map(|(name, value)| (name[PREFIX.len()..].to_ascii_lowercase(), decode(value)));
    let reserved = |name: &str| matches!(name, "data" | "data_base64" | "datacontenttype");
    let fits = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    named.filter(|(name, _)| fits(name) && !reserved(name)).collect()
}

/// Percent-encodes what the HTTP binding says: space, double quote, percent and all but printable ASCII.
fn encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'!' | b'#' | b'$' | b'&'..=b'~' => encoded.push(char::from(byte)),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// The reverse; what is not well encoded stays as it is.
fn decode(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = value.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| value.to_owned())
}

#[cfg(test)]
mod tests {
    use malla_queue::{EventId, TaskId, UnixMs};
    use serde_json::{Value, json};

    use super::*;
    use crate::{EndpointId, NewEvent};

    fn event(headers: &[(&str, &str)], content_type: Option<&str>, body: &[u8]) -> Event {
        Event {
            id: EventId(TaskId::first_at(UnixMs(1_700_000_000_123)).0),
            endpoint: EndpointId(1),
            endpoint_name: "orders".into(),
            group: None,
            kind: None,
            content: NewEvent {
                method: "POST".into(),
                content_type: content_type.map(str::to_owned),
                headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
                body: body.to_vec(),
                ..NewEvent::default()
            },
        }
    }

    fn attribute(event: &Event, name: &str) -> Option<String> {
        attributes(event).remove(name)
    }

    #[test]
    fn a_plain_event_is_described_by_what_malla_knows() {
        let plain = event(&[], None, b"{}");
        let headers: BTreeMap<_, _> = headers(&plain).into_iter().collect();
        assert_eq!(headers["ce-specversion"], "1.0");
        assert_eq!(headers["ce-id"], plain.id.to_string());
        assert_eq!(headers["ce-source"], "/in/orders");
        assert_eq!(headers["ce-type"], "malla.event");
        assert_eq!(headers["ce-time"], "2023-11-14T22:13:20.123Z");
        let own = Event { kind: Some("task.failed".into()), ..plain };
        assert_eq!(attribute(&own, "type").as_deref(), Some("task.failed"));
    }

    #[test]
    fn a_cloud_event_keeps_its_attributes_but_for_the_id() {
        let came = event(
            &[
                ("CE-SpecVersion", "1.0"),
                ("ce-id", "theirs"),
                ("ce-source", "/shop"),
                ("ce-type", "order.paid"),
                ("ce-subject", "caf%C3%A9 %22x%22"),
                ("ce-bad_name", "x"),
            ],
            None,
            b"",
        );
        assert_eq!(attribute(&came, "id"), Some(came.id.to_string()));
        assert_eq!(attribute(&came, "source").as_deref(), Some("/shop"));
        assert_eq!(attribute(&came, "subject").as_deref(), Some("café \"x\""));
        assert_eq!(attribute(&came, "bad_name"), None);
        let sent: BTreeMap<_, _> = headers(&came).into_iter().collect();
        assert_eq!(sent["ce-subject"], "caf%C3%A9%20%22x%22");
        let partly = event(&[("ce-type", "order.paid"), ("ce-subject", "x")], None, b"");
        assert_eq!(attribute(&partly, "type").as_deref(), Some("order.paid"));
        assert_eq!(attribute(&partly, "subject"), None);
    }

    #[test]
    fn the_envelope_holds_the_body_in_its_own_form() {
        check(
            Some("application/json"),
            br#"{"n":123456789012345678901234567890}"#,
            "data",
            r#"{"n":123456789012345678901234567890}"#,
        );
        check(Some("application/vnd.shop+json; charset=utf-8"), b"[1]", "data", "[1]");
        check(None, b"{}", "data", "{}");
        check(None, b"plain", "data", "\"plain\"");
        check(Some("text/plain"), b"12", "data", "\"12\"");
        check(Some("application/xml"), b"<a/>", "data", "\"<a/>\"");
        check(Some("application/json"), b"{broken", "data_base64", "\"e2Jyb2tlbg==\"");
        check(Some("image/png"), b"abc", "data_base64", "\"YWJj\"");
        check(Some("text/plain"), &[0xff, 0xfe], "data_base64", "\"//4=\"");
        let empty: Value = serde_json::from_slice(&envelope(&event(&[], None, b""))).expect("JSON");
        assert_eq!((empty.get("data"), empty.get("data_base64")), (None, None));
        assert_eq!(empty["specversion"], json!("1.0"));
    }

    fn check(content_type: Option<&str>, body: &[u8], field: &str, written: &str) {
        let text = String::from_utf8(envelope(&event(&[], content_type, body))).expect("text");
        assert!(text.contains(&format!("\"{field}\":{written}")), "{text}");
        let read: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read.get("datacontenttype").and_then(Value::as_str), content_type);
    }
}
