//! What goes to a target: the event's body, or an envelope around it, with the headers that describe and prove it.

use std::sync::Arc;

use bytes::Bytes;
use malla_queue::{Result, TaskId, UnixMs};

use crate::signing::Secret;
use crate::{CloudEvents, Event, Subscription, SubscriptionSpec, cloudevents, headers};

/// A notification ready to go, whatever carries it.
pub(super) struct Parcel {
    /// The same over all attempts of a notification, so that a subscriber can tell what it has seen.
    id: String,
    pub(super) content_type: Option<String>,
    /// Content type and authorisation apart.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

/// Packs one attempt. Fails only on a secret that was never valid.
pub(super) fn pack(subscription: &Subscription, event: &Arc<Event>, task: TaskId, now: UnixMs) -> Result<Parcel> {
    let spec = &subscription.spec;
    let structured = spec.cloudevents == CloudEvents::Structured;
    let mut parcel = if structured {
        Parcel {
            id: format!("ntf_{task}"),
            content_type: Some(cloudevents::STRUCTURED_TYPE.to_owned()),
            headers: Vec::new(),
            body: cloudevents::envelope(event).into(),
        }
    } else {
        Parcel {
            id: format!("ntf_{task}"),
            content_type: event.content.content_type.clone(),
            headers: Vec::new(),
            body: Bytes::from_owner(Body(event.clone())),
        }
    };
    repeat_headers(&mut parcel, spec, event);
    for (name, value) in &spec.headers {
        parcel.set(name, value.clone());
    }
    if spec.cloudevents == CloudEvents::Binary {
        for (name, value) in cloudevents::headers(event) {
            parcel.set(&name, value);
        }
    }
    sign(&mut parcel, spec, now)?;
    Ok(parcel)
}

fn repeat_headers(parcel: &mut Parcel, spec: &SubscriptionSpec, event: &Event) {
    let structured = spec.cloudevents == CloudEvents::Structured;
    // Without it nobody could read the body; inside an envelope it would be about the envelope.
    let encoding = event.content.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
    parcel.headers.extend(encoding.filter(|_| !structured).cloned());
    if spec.forward_headers {
        let passing = headers::forwarded(&event.content.headers).into_iter();
        // In an envelope they are attributes already.
        parcel.headers.extend(passing.filter(|(name, _)| !(structured && cloudevents::is_attribute(name))));
    }
}

fn sign(parcel: &mut Parcel, spec: &SubscriptionSpec, now: UnixMs) -> Result<()> {
    let timestamp_s = now.0.div_euclid(1_000);
    let previous = spec.previous_secret.as_ref().filter(|(_, until)| now < *until).map(|(secret, _)| secret);
    let mut signatures = Vec::new();
    for secret in spec.secret.iter().chain(previous) {
        signatures.extend(Secret::parse_signing(secret)?.sign(&parcel.id, timestamp_s, &parcel.body));
    }
    parcel.set("webhook-id", parcel.id.clone());
    parcel.set("webhook-timestamp", timestamp_s.to_string());
    if !signatures.is_empty() {
        parcel.set("webhook-signature", signatures.join(" "));
    }
    Ok(())
}

impl Parcel {
    /// Puts a header in place of all of that name.
    fn set(&mut self, name: &str, value: String) {
        if name.eq_ignore_ascii_case("content-type") {
            self.content_type = Some(value);
            return;
        }
        self.headers.retain(|(have, _)| !have.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value));
    }
}

/// The body of an event that many deliveries share.
struct Body(Arc<Event>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.0.content.body
    }
}
