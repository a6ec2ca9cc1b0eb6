//! What a form makes of a subscription's spec, and what the audit log tells of it.

use malla_notify::signing::Secret;
use malla_notify::{Auth, CloudEvents, Filter, SubscriptionSpec, Target};
use malla_queue::UnixMs;
use serde_json::{Value, json};

use super::super::secret::{Made, Wish};
use super::written;
use crate::form::{Trouble, Wrong, number};
use crate::params::Params;

const FILTER_BYTES_MAX: usize = 16 * 1024;
/// A target that fits, to check the other fields of a new spec beside it.
const SOME_TARGET: &str = "https://example.org/";

/// The form as the spec is. Secrets are not among its fields.
pub(super) fn fields_of(spec: &SubscriptionSpec) -> Params {
    let yes = |is: bool| if is { "yes" } else { "" };
    let filter = spec.filter.as_ref().and_then(|filter| serde_json::to_string_pretty(filter).ok());
    let (auth, username) = match &spec.auth {
        None => ("", ""),
        Some(Auth::Basic { username, .. }) => ("basic", username.as_str()),
        Some(Auth::Bearer(_)) => ("bearer", ""),
    };
    Params::from([
        ("target", spec.target.masked().as_str()),
        ("retry_delays", &written::delays(&spec.retry_delays_s)),
        ("timeout_s", &spec.timeout_s.to_string()),
        ("parallel", &spec.parallel.to_string()),
        ("confirm_within_s", &spec.confirm_within_s.to_string()),
        ("headers", &written::headers(&spec.headers)),
        ("forward_headers", yes(spec.forward_headers)),
        ("forward_query", yes(spec.forward_query)),
        ("cloudevents", cloudevents_name(spec.cloudevents)),
        ("filter", filter.as_deref().unwrap_or_default()),
        ("auth", auth),
        ("auth_username", username),
    ])
}

pub(super) fn cloudevents_name(mode: CloudEvents) -> &'static str {
    match mode {
        CloudEvents::Off => "off",
        CloudEvents::Binary => "binary",
        CloudEvents::Structured => "structured",
    }
}

/// `before` as the form wants it, and the secrets that were made for it. Each field is checked on its own, so that
/// what is wrong stands where it was typed.
pub(super) fn read(
    fields: &Params,
    before: SubscriptionSpec,
    now: UnixMs,
) -> Result<(SubscriptionSpec, Vec<Made>), Trouble> {
    let (usual, mut made) = (SubscriptionSpec::default(), Vec::new());
    let mut spec = before;
    set_target(&mut spec, fields)?;
    let delays = written::read_delays(fields.typed("retry_delays"));
    spec.retry_delays_s = delays.map_err(|why| Wrong::at("retry_delays", why))?;
    check(&spec, "retry_delays")?;
    spec.timeout_s = number(fields, "timeout_s", usual.timeout_s)?;
    check(&spec, "timeout_s")?;
    spec.parallel = number(fields, "parallel", usual.parallel)?;
    check(&spec, "parallel")?;
    spec.confirm_within_s = number(fields, "confirm_within_s", usual.confirm_within_s)?;
    check(&spec, "confirm_within_s")?;
    spec.headers = written::read_headers(fields.raw("headers")).map_err(|why| Wrong::at("headers", why))?;
    check(&spec, "headers")?;
    spec.forward_headers = fields.get("forward_headers").is_some();
    spec.forward_query = fields.get("forward_query").is_some();
    spec.cloudevents = read_cloudevents(fields.typed("cloudevents"))?;
    spec.filter = fields.get("filter").map(read_filter).transpose()?.filter(|filter| !filter.0.is_empty());
    check(&spec, "filter")?;
    set_secret(&mut spec, Wish::read(fields, "secret"), now, &mut made)?;
    spec.auth = read_auth(fields, spec.auth)?;
    check(&spec, "auth")?;
    Ok((spec, made))
}

fn check(spec: &SubscriptionSpec, field: &'static str) -> Result<(), Wrong> {
    spec.check().map_err(|error| Wrong::at(field, error))
}

fn set_target(spec: &mut SubscriptionSpec, fields: &Params) -> Result<(), Wrong> {
    let typed = fields.typed("target");
    // As it was shown, its password hidden, it is the target that is there.
    if spec.target.0.is_empty() || typed != spec.target.masked() {
        spec.target = Target(typed.to_owned());
    }
    spec.target.check().map_err(|error| Wrong::at("target", error))
}

fn read_cloudevents(text: &str) -> Result<CloudEvents, Wrong> {
    let modes = [CloudEvents::Off, CloudEvents::Binary, CloudEvents::Structured];
    let found = modes.into_iter().find(|mode| cloudevents_name(*mode) == text);
    found
        .or_else(|| text.is_empty().then_some(CloudEvents::Off))
        .ok_or_else(|| Wrong::at("cloudevents", say!("\"{text}\" is not one of off, binary and structured", text)))
}

fn read_filter(text: &str) -> Result<Filter, Wrong> {
    if text.len() > FILTER_BYTES_MAX {
        return Err(Wrong::at("filter", say!("A filter has at most {} bytes.", FILTER_BYTES_MAX)));
    }
    serde_json::from_str(text)
        .map_err(|error| Wrong::at("filter", say!("This is not a list of conditions in JSON: {error}.", error)))
}

/// The secret before goes on signing for a while, so that the far side can change over.
fn set_secret(spec: &mut SubscriptionSpec, wish: Wish, now: UnixMs, made: &mut Vec<Made>) -> Result<(), Trouble> {
    let secret = match wish {
        Wish::Keep => return Ok(()),
        Wish::Remove => {
            (spec.secret, spec.previous_secret) = (None, None);
            return Ok(());
        }
        Wish::Make => {
            let secret = Secret::generate()?;
            made.push(Made { what: key!("signing secret"), secret: secret.clone() });
            secret
        }
        Wish::Given(secret) => secret,
    };
    if spec.secret.as_ref() == Some(&secret) {
        return Ok(());
    }
    let until = now.plus(SubscriptionSpec::SECRET_GRACE);
    spec.previous_secret = spec.secret.replace(secret).map(|before| (before, until));
    Ok(check(spec, "secret")?)
}

/// An empty password or token keeps the one that is set.
fn read_auth(fields: &Params, before: Option<Auth>) -> Result<Option<Auth>, Wrong> {
    let (username, typed) =
        (fields.typed("auth_username"), Some(fields.raw("auth_password")).filter(|s| !s.is_empty()));
    let missing = |what: &'static str| Wrong::at("auth_password", what);
    match (fields.typed("auth"), before) {
        ("", _) => Ok(None),
        ("basic", before) => {
            let kept = match before {
                Some(Auth::Basic { password, .. }) => Some(password),
                _ => None,
            };
            let password =
                typed.map(str::to_owned).or(kept).ok_or_else(|| missing(t!("Type the password to be sent.")))?;
            Ok(Some(Auth::Basic { username: username.to_owned(), password }))
        }
        ("bearer", Some(Auth::Bearer(kept))) => Ok(Some(Auth::Bearer(typed.map_or(kept, str::to_owned)))),
        ("bearer", _) => {
            Ok(Some(Auth::Bearer(typed.ok_or_else(|| missing(t!("Type the token to be sent.")))?.to_owned())))
        }
        (other, _) => Err(Wrong::at("auth", say!("\"{other}\" is not one of basic and bearer", other))),
    }
}

/// What the audit log tells: everything but the secrets.
pub(super) fn told(spec: &SubscriptionSpec) -> Value {
    json!({
        "target": spec.target.masked(),
        "retry_delays_s": spec.retry_delays_s,
        "timeout_s": spec.timeout_s,
        "parallel": spec.parallel,
        "confirm_within_s": spec.confirm_within_s,
        "headers": spec.headers.keys().collect::<Vec<_>>(),
        "forward_headers": spec.forward_headers,
        "forward_query": spec.forward_query,
        "filter": spec.filter,
        "secret": spec.secret.is_some(),
        "cloudevents": spec.cloudevents,
        "auth": spec.auth.is_some(),
    })
}

/// A spec to begin a new one from.
pub(super) fn blank() -> SubscriptionSpec {
    SubscriptionSpec { target: Target(SOME_TARGET.into()), ..SubscriptionSpec::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Form;

    const NOW: UnixMs = UnixMs(1_800_000_000_000);
    const SECRETS: [&str; 2] = ["whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw", "whsec_MTExMTExMTExMTExMTExMTExMTExMTEx"];

    fn full() -> SubscriptionSpec {
        SubscriptionSpec {
            target: Target("mqtt://ana:secret@broker/a".into()),
            retry_delays_s: vec![1, 60],
            timeout_s: 5,
            parallel: 3,
            headers: [("x-a".to_owned(), "b: c".to_owned())].into(),
            forward_headers: true,
            forward_query: true,
            filter: Some(serde_json::from_str(r#"[{"field":"type","equals":"paid"}]"#).expect("a filter")),
            secret: Some(SECRETS[0].into()),
            previous_secret: None,
            cloudevents: CloudEvents::Structured,
            auth: Some(Auth::Basic { username: "ana".into(), password: "p".into() }),
            confirm_within_s: 60,
        }
    }

    #[test]
    fn a_form_sent_back_as_it_was_changes_nothing_and_shows_no_secret() {
        let fields = fields_of(&full());
        let sent = fields.link("");
        assert!(!sent.contains("secret") && !sent.contains("whsec"), "{sent}");
        let (read_back, made) = read(&fields, full(), NOW).expect("good");
        assert_eq!(read_back, full());
        assert!(made.is_empty());
        let told = told(&full()).to_string();
        assert!(!told.contains("whsec") && !told.contains("ana:secret"), "{told}");
    }

    #[test]
    fn a_replaced_secret_goes_on_signing_for_a_day() {
        let fields = fields_of(&full()).with("secret", SECRETS[1]);
        let (spec, _) = read(&fields, full(), NOW).expect("good");
        let until = NOW.plus(SubscriptionSpec::SECRET_GRACE);
        assert_eq!(spec.secret.as_deref(), Some(SECRETS[1]));
        assert_eq!(spec.previous_secret, Some((SECRETS[0].into(), until)));
        let (spec, made) = read(&fields_of(&full()).with("secret_wish", "make"), full(), NOW).expect("good");
        assert_eq!(spec.secret.as_ref(), made.first().map(|made| &made.secret));
        let (spec, _) = read(&fields_of(&spec).with("secret_wish", "remove"), spec, NOW).expect("good");
        assert_eq!((spec.secret, spec.previous_secret), (None, None));
    }

    #[test]
    fn each_wrong_field_is_named() {
        check_wrong("target", "example.org");
        check_wrong("retry_delays", "soon");
        check_wrong("retry_delays", "99999999d");
        check_wrong("timeout_s", "0");
        check_wrong("parallel", "many");
        check_wrong("confirm_within_s", "0");
        check_wrong("headers", "no colon");
        check_wrong("headers", "host: a");
        check_wrong("cloudevents", "maybe");
        check_wrong("filter", "{}");
        check_wrong("filter", r#"[{"heder":"a"}]"#);
        check_wrong("secret", "hunter2");
        check_wrong("auth", "digest");
    }

    fn check_wrong(field: &str, value: &str) {
        let fields = fields_of(&blank()).with(field, value);
        let wrong = read(&fields, blank(), NOW).expect_err(field).mend().expect("the person can mend it");
        assert!(Form { typed: &fields, wrong: Some(&wrong) }.error(field).is_some(), "{field}: {wrong:?}");
    }

    #[test]
    fn a_new_way_to_sign_in_needs_its_password() {
        let fields = fields_of(&blank()).with("auth", "basic").with("auth_username", "ana");
        let wrong = read(&fields, blank(), NOW).expect_err("no password").mend().expect("mendable");
        assert!(Form { typed: &fields, wrong: Some(&wrong) }.error("auth_password").is_some());
        let (spec, _) = read(&fields.with("auth_password", "p"), blank(), NOW).expect("good");
        assert_eq!(spec.auth, Some(Auth::Basic { username: "ana".into(), password: "p".into() }));
    }
}
