//! What a request makes of a subscription's spec.

use malla_notify::signing::Secret;
use malla_notify::{Auth, CloudEvents, Condition, Filter, SubscriptionSpec, SubscriptionState, Target};
use malla_protocol as wire;
use malla_queue::UnixMs;

use crate::problem::Refusal;

/// Instead of a secret: make one.
pub(super) const GENERATE: &str = "generate";
const FILTER_BYTES_MAX: usize = 16 * 1024;

pub(super) fn state(state: wire::SubscriptionState) -> SubscriptionState {
    match state {
        wire::SubscriptionState::Active => SubscriptionState::Active,
        wire::SubscriptionState::Suspended => SubscriptionState::Suspended,
        wire::SubscriptionState::Disabled => SubscriptionState::Disabled,
    }
}

/// `spec` as `change` wants it, checked.
pub(super) fn changed(
    mut spec: SubscriptionSpec,
    change: wire::SubscriptionChange,
    now: UnixMs,
) -> Result<SubscriptionSpec, Refusal> {
    let defaults = SubscriptionSpec::default();
    // A target as it was shown, its password hidden, is the target that is there.
    if let Some(target) = change.target.filter(|target| *target != spec.target.masked()) {
        spec.target = Target(target);
    }
    if let Some(delays) = change.retry_delays_s {
        spec.retry_delays_s = delays.unwrap_or(defaults.retry_delays_s);
    }
    if let Some(timeout) = change.timeout_s {
        spec.timeout_s = timeout.unwrap_or(defaults.timeout_s);
    }
    if let Some(parallel) = change.parallel {
        spec.parallel = parallel.unwrap_or(defaults.parallel);
    }
    if let Some(added) = change.headers {
        spec.headers = added.unwrap_or_default();
    }
    if let Some(forward) = change.forward_headers {
        spec.forward_headers = forward.unwrap_or_default();
    }
    if let Some(forward) = change.forward_query {
        spec.forward_query = forward.unwrap_or_default();
    }
    if let Some(conditions) = change.filter {
        spec.filter = conditions.filter(|conditions| !conditions.is_empty()).map(filter).transpose()?;
    }
    if let Some(secret) = change.secret {
        set_secret(&mut spec, secret, now)?;
    }
    if let Some(mode) = change.cloudevents {
        spec.cloudevents = mode.map_or(CloudEvents::Off, cloudevents);
    }
    if let Some(wanted) = change.auth {
        spec.auth = wanted.map(auth);
    }
    if let Some(within) = change.confirm_within_s {
        spec.confirm_within_s = within.unwrap_or(defaults.confirm_within_s);
    }
    spec.check()?;
    Ok(spec)
}

/// The secret before goes on signing for a while, so that the far side can change over.
fn set_secret(spec: &mut SubscriptionSpec, wanted: Option<String>, now: UnixMs) -> Result<(), Refusal> {
    let Some(wanted) = wanted else {
        spec.secret = None;
        spec.previous_secret = None;
        return Ok(());
    };
    let secret = if wanted == GENERATE { Secret::generate()? } else { wanted };
    if spec.secret.as_ref() == Some(&secret) {
        return Ok(());
    }
    let until = now.plus(SubscriptionSpec::SECRET_GRACE);
    spec.previous_secret = spec.secret.replace(secret).map(|before| (before, until));
    Ok(())
}

fn filter(conditions: Vec<wire::Condition>) -> Result<Filter, Refusal> {
    let bytes = serde_json::to_vec(&conditions).map_or(usize::MAX, |json| json.len());
    let filter = Filter(conditions.into_iter().map(condition).collect());
    filter.check()?;
    if bytes > FILTER_BYTES_MAX {
        return Err(Refusal::invalid(format!("a filter has at most {FILTER_BYTES_MAX} bytes as JSON")));
    }
    Ok(filter)
}

fn condition(condition: wire::Condition) -> Condition {
    let wire::Condition {
        header,
        field,
        topic,
        equals,
        any_of,
        prefix,
        contains,
        greater_than,
        less_than,
        exists,
        not,
    } = condition;
    Condition { header, field, topic, equals, any_of, prefix, contains, greater_than, less_than, exists, not }
}

fn cloudevents(mode: wire::CloudEvents) -> CloudEvents {
    match mode {
        wire::CloudEvents::Off => CloudEvents::Off,
        wire::CloudEvents::Binary => CloudEvents::Binary,
        wire::CloudEvents::Structured => CloudEvents::Structured,
    }
}

fn auth(auth: wire::Auth) -> Auth {
    match auth {
        wire::Auth::Basic { username, password } => Auth::Basic { username, password },
        wire::Auth::Bearer(token) => Auth::Bearer(token),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    const NOW: UnixMs = UnixMs(1_000);
    const ONE: &str = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw";
    const TWO: &str = "whsec_MTExMTExMTExMTExMTExMTExMTExMTEx";

    fn spec() -> SubscriptionSpec {
        SubscriptionSpec { target: Target("mqtt://ana:secret@broker/a".into()), ..SubscriptionSpec::default() }
    }

    fn change(spec: SubscriptionSpec, body: Value) -> Result<SubscriptionSpec, Refusal> {
        changed(spec, serde_json::from_value(body).expect("a change"), NOW)
    }

    #[test]
    fn a_replaced_secret_signs_on_for_a_day() {
        let first = change(spec(), json!({ "secret": ONE })).expect("good");
        assert_eq!((first.secret.as_deref(), &first.previous_secret), (Some(ONE), &None));
        let same = change(first.clone(), json!({ "secret": ONE })).expect("good");
        assert_eq!(same, first);
        let second = change(first, json!({ "secret": TWO })).expect("good");
        let until = NOW.plus(Duration::from_secs(24 * 3_600));
        assert_eq!((second.secret.as_deref(), &second.previous_secret), (Some(TWO), &Some((ONE.into(), until))));
        let made = change(second.clone(), json!({ "secret": GENERATE })).expect("good");
        assert!(made.secret.is_some_and(|secret| secret.starts_with("whsec_") && secret != TWO));
        let none = change(second, json!({ "secret": null })).expect("good");
        assert_eq!((none.secret, none.previous_secret), (None, None));
    }

    #[test]
    fn null_goes_back_to_the_default() {
        let body = json!({
            "retry_delays_s": [], "timeout_s": 5, "parallel": 1, "headers": { "x-a": "1" }, "forward_headers": true,
            "forward_query": true, "filter": [{ "field": "a" }], "cloudevents": true, "auth": { "bearer": "t" },
            "confirm_within_s": 60,
        });
        let full = change(spec(), body.clone()).expect("good");
        assert_eq!((full.timeout_s, full.cloudevents, full.retry_delays_s.len()), (5, CloudEvents::Binary, 0));
        let names = body.as_object().expect("fields").keys();
        let nulls: serde_json::Map<String, Value> = names.map(|name| (name.clone(), Value::Null)).collect();
        assert_eq!(change(full, Value::Object(nulls)).expect("good"), spec());
    }

    #[test]
    fn a_target_as_it_was_shown_keeps_its_password() {
        let kept = change(spec(), json!({ "target": "mqtt://ana:***@broker/a" })).expect("good");
        assert_eq!(kept.target, spec().target);
        let moved = change(spec(), json!({ "target": "http://127.0.0.1:1/" })).expect("good");
        assert_eq!(moved.target.0, "http://127.0.0.1:1/");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        check(json!({ "secret": "hello" }));
        check(json!({ "secret": "whpk_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=" }));
        check(json!({ "filter": [{ "prefix": "a" }] }));
        check(json!({ "filter": [{ "field": "a", "prefix": "x".repeat(FILTER_BYTES_MAX) }] }));
        check(json!({ "headers": { "host": "a" } }));
        check(json!({ "auth": { "basic": { "username": "a:b", "password": "c" } } }));
        check(json!({ "auth": { "bearer": "a\nb" } }));
        check(json!({ "target": "ftp://a" }));
        check(json!({ "parallel": 0 }));
    }

    fn check(body: Value) {
        assert!(change(spec(), body.clone()).is_err(), "{body}");
    }
}
