//! The fields of an alert's form.

use malla_notify::{AlertSpec, Channel, Rule};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::form::{Form, Wrong, number};
use crate::params::Params;

const KINDS: [(&str, &str); 3] =
    [("failures", "attempts fail"), ("backlog", "notifications are late"), ("stuck", "deliveries stand still")];

pub(super) fn first_fields() -> Params {
    Params::from([("kind", "failures"), ("count", "5"), ("seconds", "300"), ("quiet_s", "3600")])
}

pub(super) fn fields(form: &Form<'_>) -> Markup {
    html! {
        (form.choice("Fires when", "kind", "Stand still: something has been due and no attempt has ended.", &KINDS))
        (form.text("Of subscription", "subscription", "Empty: any of the group.", ""))
        (form.number("So many attempts", "count", "Only for attempts that fail."))
        (form.number("Seconds", "seconds", "In which they fail; or for which they are late or stand still."))
        (form.area("E-mail to", "emails", "One address a line.", "ana@example.org"))
        (form.area("Post to", "webhooks", "One address a line; notices are posted there as JSON.", "https://example.org/alerts"))
        (form.password("Secret to sign with", "secret", "whsec_… or, for ed25519, whsk_…; empty: what is posted is not signed."))
        (form.number("Quiet for", "quiet_s", "Seconds; after it fired, it does not fire again for this long."))
    }
}

pub(super) fn read(fields: &Params) -> Result<AlertSpec, Wrong> {
    let rule = read_rule(fields)?;
    rule.check().map_err(|error| Wrong::at("seconds", error))?;
    let emails = lines(fields, "emails").map(|to| Channel::Email { to });
    let secret = fields.get("secret").map(str::to_owned);
    let webhooks = lines(fields, "webhooks").map(|url| Channel::Webhook { url, secret: secret.clone() });
    for (field, channel) in
        emails.clone().map(|one| ("emails", one)).chain(webhooks.clone().map(|one| ("webhooks", one)))
    {
        channel.check().map_err(|error| Wrong::at(field, error))?;
    }
    let quiet_s = number(fields, "quiet_s", AlertSpec::QUIET_S_DEFAULT)?;
    let spec = AlertSpec { rule, to: emails.chain(webhooks).collect(), quiet_s, enabled: true };
    if spec.to.is_empty() {
        return Err(Wrong::at("emails", "Say where notices go: an e-mail address, or an address to post to."));
    }
    spec.check().map_err(|error| Wrong::at("", error))?;
    Ok(spec)
}

fn read_rule(fields: &Params) -> Result<Rule, Wrong> {
    let subscription = fields.get("subscription").map(str::to_owned);
    let seconds = number(fields, "seconds", 300)?;
    match fields.typed("kind") {
        "failures" => {
            let count = number(fields, "count", 1)?;
            if count == 0 {
                return Err(Wrong::at("count", "At least one attempt must fail."));
            }
            Ok(Rule::Failures { subscription, count, window_s: seconds })
        }
        "backlog" => Ok(Rule::Backlog { subscription, older_than_s: seconds }),
        "stuck" => Ok(Rule::Stuck { subscription, for_s: seconds }),
        other => Err(Wrong::at("kind", format!("\"{other}\" is no rule: choose one of the list."))),
    }
}

fn lines<'a>(fields: &'a Params, name: &str) -> impl Iterator<Item = String> + Clone + 'a {
    let typed = fields.get(name).unwrap_or_default();
    typed.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

/// What the audit log tells: everything but the secrets.
pub(super) fn told(spec: &AlertSpec) -> Value {
    let places: Vec<String> = spec.to.iter().map(Channel::place).collect();
    json!({ "rule": spec.rule, "to": places, "quiet_s": spec.quiet_s, "enabled": spec.enabled })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_becomes_a_spec() {
        let typed = first_fields()
            .with("emails", "ana@example.org\r\n\r\nben@example.org ")
            .with("webhooks", "https://example.org/a");
        let spec = read(&typed).expect("good");
        assert_eq!(spec.rule, Rule::Failures { subscription: None, count: 5, window_s: 300 });
        assert_eq!(spec.to.len(), 3);
        assert_eq!(spec.to[1].place(), "ben@example.org");
        let late = typed.with("kind", "backlog").with("subscription", "shop");
        assert_eq!(read(&late).expect("good").rule.subscription(), Some("shop"));
    }

    #[test]
    fn what_is_wrong_is_told_at_its_field() {
        let good = first_fields().with("emails", "ana@example.org");
        for (field, value, at) in [
            ("emails", "nobody", "emails"),
            ("emails", "", "emails"),
            ("webhooks", "ftp://x", "webhooks"),
            ("count", "0", "count"),
            ("count", "many", "count"),
            ("seconds", "1", "seconds"),
            ("kind", "moon", "kind"),
            ("quiet_s", "0", ""),
        ] {
            let typed = good.with(field, value);
            let wrong = read(&typed).expect_err(field);
            assert!(Form { typed: &typed, wrong: Some(&wrong) }.error(at).is_some(), "{field}={value}: {wrong:?}");
        }
    }
}
