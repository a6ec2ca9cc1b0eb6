//! The fields of a subscription's form: what everybody needs first, the rest folded away.

use malla_notify::SubscriptionSpec;
use maud::{Markup, html};

use super::super::secret;
use crate::form::Form;
use crate::tongue::Text;

const CLOUDEVENTS: [(&str, Text); 3] = [
    ("off", key!("no")),
    ("binary", key!("as ce- headers beside the body")),
    ("structured", key!("the body inside a JSON envelope")),
];
const AUTH: [(&str, Text); 3] =
    [("", key!("nothing")), ("basic", key!("user and password")), ("bearer", key!("bearer token"))];
const FILTER_EXAMPLE: &str =
    r#"[{"field": "type", "any_of": ["order.paid", "order.sent"]}, {"header": "x-tenant", "equals": "acme"}]"#;
const FILTER_HINT: Text = key!(
    "A JSON list of conditions that must all hold, each on a header, a field of a JSON body or the topic: equals, any_of, prefix, contains, greater_than, less_than, exists, not. Empty: every event."
);

const TIMES: [&str; 4] = ["retry_delays", "timeout_s", "parallel", "confirm_within_s"];
const SENT: [&str; 2] = ["headers", "cloudevents"];
const TRUST: [&str; 3] = ["auth", "auth_username", "auth_password"];

pub(super) fn target(form: &Form<'_>) -> Markup {
    let hint = t!("An address (http, https) or a topic of a broker (mqtt://host/topic).");
    html! { div.whole { (form.text(t!("Target"), "target", hint, "https://example.org/hook")) } }
}

pub(super) fn rest(form: &Form<'_>, before: &SubscriptionSpec) -> Markup {
    let secret_hint =
        t!("Standard Webhooks: whsec_… or whsk_…. A replaced one goes on signing for 24 hours beside the new.");
    let password_hint = if before.auth.is_some() { t!("Empty keeps the one that is set.") } else { "" };
    let filtered = form.typed.get("filter").is_some();
    html! {
        (secret::field(form, t!("Signing secret"), "secret", secret_hint, before.secret.is_some()))
        details.whole open[filtered || form.is_wrong_in(&["filter"])] {
            summary { (t!("Which events")) }
            div.fields {
                (form.area(t!("Filter", "noun"), "filter", FILTER_HINT.get(), ""))
                p.whole.hint { (t!("For example:")) " " code { (FILTER_EXAMPLE) } }
            }
        }
        details.whole open[form.is_wrong_in(&TIMES)] {
            summary { (t!("Attempts and times")) }
            div.fields {
                div.whole {
                    (form.text(t!("Retry delays"), "retry_delays", t!("The wait before each attempt after the first. Empty: one attempt."), ""))
                }
                (form.number(t!("Timeout (s)"), "timeout_s", t!("For a whole exchange, at most 300.")))
                (form.number(t!("At once"), "parallel", t!("Deliveries at the same time, at most 10000.")))
                (form.number(t!("Confirmation within (s)"), "confirm_within_s", t!("After the target answered 202.")))
            }
        }
        details.whole open[form.is_wrong_in(&SENT)] {
            summary { (t!("What is sent")) }
            div.fields {
                (form.area(t!("Headers to add"), "headers", t!("One a line."), "X-Tenant: acme"))
                (form.choice("CloudEvents", "cloudevents", "", &CLOUDEVENTS))
                (form.check(t!("Repeat the headers that the event came with"), "forward_headers"))
                (form.check(t!("Repeat the query that the event came with"), "forward_query"))
            }
        }
        details.whole open[form.is_wrong_in(&TRUST)] {
            summary { (t!("How Malla shows itself to the target")) }
            div.fields {
                (form.choice(t!("It sends"), "auth", "", &AUTH))
                (form.text(t!("User"), "auth_username", "", ""))
                (form.password(t!("Password or token"), "auth_password", password_hint))
            }
        }
    }
}
