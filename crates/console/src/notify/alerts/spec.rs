//! The fields of an alert's form.

use malla_notify::signing::Secret;
use malla_notify::{AlertSpec, Channel, Rule};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::super::secret::{self, Made, Wish};
use crate::form::{Form, Trouble, Wrong, number};
use crate::params::Params;
use crate::tongue::Text;

const KINDS: [(&str, Text); 3] = [
    ("failures", key!("attempts fail")),
    ("backlog", key!("notifications are late")),
    ("stuck", key!("deliveries stand still")),
];

pub(super) fn first_fields() -> Params {
    Params::from([("kind", "failures"), ("count", "5"), ("seconds", "300"), ("quiet_s", "3600")])
}

/// The form as the spec is. Secrets are not among its fields.
pub(super) fn fields_of(spec: &AlertSpec) -> Params {
    let (kind, count, seconds) = match &spec.rule {
        Rule::Failures { count, window_s, .. } => ("failures", Some(*count), *window_s),
        Rule::Backlog { older_than_s, .. } => ("backlog", None, *older_than_s),
        Rule::Stuck { for_s, .. } => ("stuck", None, *for_s),
    };
    let (emails, webhooks): (Vec<&Channel>, Vec<&Channel>) =
        spec.to.iter().partition(|channel| matches!(channel, Channel::Email { .. }));
    let places = |channels: Vec<&Channel>| channels.into_iter().map(Channel::place).collect::<Vec<_>>().join("\n");
    let fields = first_fields()
        .with("kind", kind)
        .with("subscription", spec.rule.subscription().unwrap_or_default())
        .with("seconds", seconds.to_string())
        .with("emails", places(emails))
        .with("webhooks", places(webhooks))
        .with("quiet_s", spec.quiet_s.to_string());
    match count {
        Some(count) => fields.with("count", count.to_string()),
        None => fields,
    }
}

/// `signs` if there is a secret already.
pub(super) fn fields(form: &Form<'_>, signs: bool) -> Markup {
    let secret_hint = t!("What is posted is signed with it: whsec_… or, for ed25519, whsk_….");
    html! {
        (form.choice(t!("Fires when"), "kind", t!("Stand still: something has been due and no attempt has ended."), &KINDS))
        (form.text(t!("Of subscription"), "subscription", t!("Empty: any of the group."), ""))
        (form.number(t!("So many attempts"), "count", t!("Only for attempts that fail.")))
        (form.number(t!("Seconds"), "seconds", t!("In which they fail; or for which they are late or stand still.")))
        (form.area(t!("E-mail to"), "emails", t!("One address a line."), "ana@example.org"))
        (form.area(t!("Post to"), "webhooks", t!("One address a line; notices are posted there as JSON."), "https://example.org/alerts"))
        (secret::field(form, t!("Secret to sign with"), "secret", secret_hint, signs))
        (form.number(t!("Quiet for"), "quiet_s", t!("Seconds; after it fired, it does not fire again for this long.")))
    }
}

pub(super) fn signs(spec: &AlertSpec) -> bool {
    spec.to.iter().any(|channel| matches!(channel, Channel::Webhook { secret: Some(_), .. }))
}

/// What the form wants, of an alert that is there or of a new one, and the secret that was made for it.
pub(super) fn read(fields: &Params, before: Option<&AlertSpec>) -> Result<(AlertSpec, Vec<Made>), Trouble> {
    let rule = read_rule(fields)?;
    rule.check().map_err(|error| Wrong::at("seconds", error))?;
    let emails = lines(fields, "emails").map(|to| Channel::Email { to });
    let mut made = Vec::new();
    let secret = Signing::read(fields, before, &mut made)?;
    let webhooks = lines(fields, "webhooks").map(|url| Channel::Webhook { secret: secret.of(&url), url });
    for (field, channel) in
        emails.clone().map(|one| ("emails", one)).chain(webhooks.clone().map(|one| ("webhooks", one)))
    {
        channel.check().map_err(|error| Wrong::at(field, error))?;
    }
    let quiet_s = number(fields, "quiet_s", AlertSpec::QUIET_S_DEFAULT)?;
    let enabled = before.is_none_or(|before| before.enabled);
    let spec = AlertSpec { rule, to: emails.chain(webhooks).collect(), quiet_s, enabled };
    if spec.to.is_empty() {
        return Err(
            Wrong::at("emails", t!("Say where notices go: an e-mail address, or an address to post to.")).into()
        );
    }
    spec.check().map_err(|error| Wrong::at("", error))?;
    Ok((spec, made))
}

/// What signs the notices to which address.
#[derive(Clone)]
enum Signing {
    All(Option<String>),
    /// Each address keeps its own; a new one gets what all of them had, if that was the same.
    AsBefore(Vec<(String, Option<String>)>),
}

impl Signing {
    fn read(fields: &Params, before: Option<&AlertSpec>, made: &mut Vec<Made>) -> Result<Self, Trouble> {
        let secret = match Wish::read(fields, "secret") {
            Wish::Keep => {
                let known = before.into_iter().flat_map(|spec| &spec.to).filter_map(|channel| match channel {
                    Channel::Webhook { url, secret } => Some((url.clone(), secret.clone())),
                    Channel::Email { .. } => None,
                });
                return Ok(Self::AsBefore(known.collect()));
            }
            Wish::Remove => None,
            Wish::Make => {
                let secret = Secret::generate()?;
                made.push(Made { what: key!("signing secret"), secret: secret.clone() });
                Some(secret)
            }
            Wish::Given(secret) => {
                Secret::parse_signing(&secret).map_err(|error| Wrong::at("secret", error))?;
                Some(secret)
            }
        };
        Ok(Self::All(secret))
    }

    fn of(&self, url: &str) -> Option<String> {
        match self {
            Self::All(secret) => secret.clone(),
            Self::AsBefore(known) => match known.iter().find(|(one, _)| one == url) {
                Some((_, own)) => own.clone(),
                None => {
                    let (_, first) = known.first()?;
                    first.clone().filter(|_| known.iter().all(|(_, other)| other == first))
                }
            },
        }
    }
}

fn read_rule(fields: &Params) -> Result<Rule, Wrong> {
    let subscription = fields.get("subscription").map(str::to_owned);
    let seconds = number(fields, "seconds", 300)?;
    match fields.typed("kind") {
        "failures" => {
            let count = number(fields, "count", 1)?;
            if count == 0 {
                return Err(Wrong::at("count", t!("At least one attempt must fail.")));
            }
            Ok(Rule::Failures { subscription, count, window_s: seconds })
        }
        "backlog" => Ok(Rule::Backlog { subscription, older_than_s: seconds }),
        "stuck" => Ok(Rule::Stuck { subscription, for_s: seconds }),
        other => Err(Wrong::at("kind", say!("\"{other}\" is no rule: choose one of the list.", other))),
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

    const SECRET: &str = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw";

    #[test]
    fn a_form_becomes_a_spec() {
        let typed = first_fields()
            .with("emails", "ana@example.org\r\n\r\nben@example.org ")
            .with("webhooks", "https://example.org/a");
        let (spec, made) = read(&typed, None).expect("good");
        assert!(made.is_empty() && !signs(&spec));
        assert_eq!(spec.rule, Rule::Failures { subscription: None, count: 5, window_s: 300 });
        assert_eq!(spec.to.len(), 3);
        assert_eq!(spec.to[1].place(), "ben@example.org");
        let late = typed.with("kind", "backlog").with("subscription", "shop");
        assert_eq!(read(&late, None).expect("good").0.rule.subscription(), Some("shop"));
    }

    fn webhook(url: &str, secret: Option<&str>) -> Channel {
        Channel::Webhook { url: url.into(), secret: secret.map(str::to_owned) }
    }

    fn posting(to: Vec<Channel>) -> AlertSpec {
        AlertSpec {
            rule: Rule::Stuck { subscription: Some("shop".into()), for_s: 90 },
            to,
            quiet_s: 60,
            enabled: false,
        }
    }

    #[test]
    fn a_form_sent_back_as_it_was_changes_nothing() {
        let email = Channel::Email { to: "ana@example.org".into() };
        for rule in [
            Rule::Failures { subscription: None, count: 7, window_s: 120 },
            Rule::Backlog { subscription: Some("shop".into()), older_than_s: 600 },
            Rule::Stuck { subscription: None, for_s: 90 },
        ] {
            let to =
                vec![email.clone(), webhook("https://a.example/", Some(SECRET)), webhook("https://b.example/", None)];
            let spec = AlertSpec { rule, ..posting(to) };
            assert_eq!(read(&fields_of(&spec), Some(&spec)).expect("good").0, spec);
            assert!(!fields_of(&spec).link("").contains(SECRET) && !told(&spec).to_string().contains(SECRET));
        }
    }

    #[test]
    fn a_secret_is_kept_made_or_removed() {
        let before = posting(vec![webhook("https://a.example/", Some(SECRET))]);
        let moved = fields_of(&before).with("webhooks", "https://b.example/");
        let after = |typed: &Params| read(typed, Some(&before)).expect("good");
        assert_eq!(after(&moved).0.to, [webhook("https://b.example/", Some(SECRET))]);
        assert_eq!(after(&moved.with("secret_wish", "remove")).0.to, [webhook("https://b.example/", None)]);
        let (spec, made) = after(&moved.with("secret_wish", "make"));
        assert_eq!(spec.to, [webhook("https://b.example/", Some(&made[0].secret))]);
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
            ("secret", "hunter2", "secret"),
            ("quiet_s", "0", ""),
        ] {
            let typed = good.with(field, value);
            let wrong = read(&typed, None).expect_err(field).mend().expect("the person can mend it");
            assert!(Form { typed: &typed, wrong: Some(&wrong) }.error(at).is_some(), "{field}={value}: {wrong:?}");
        }
    }
}
