//! What a request makes of an alert's spec.

use malla_notify::{AlertSpec, Channel, Rule};
use malla_protocol as wire;

pub(super) fn changed(spec: AlertSpec, change: wire::AlertChange) -> AlertSpec {
    AlertSpec {
        rule: change.rule.map_or(spec.rule, rule),
        to: match change.to {
            Some(to) => channels(&spec.to, to),
            None => spec.to,
        },
        quiet_s: change.quiet_s.map_or(spec.quiet_s, |given| given.unwrap_or(AlertSpec::QUIET_S_DEFAULT)),
        enabled: change.enabled.unwrap_or(spec.enabled),
    }
}

pub(super) fn rule(rule: wire::AlertRule) -> Rule {
    match rule {
        wire::AlertRule::Failures { subscription, count, window_s } => Rule::Failures { subscription, count, window_s },
        wire::AlertRule::Backlog { subscription, older_than_s } => Rule::Backlog { subscription, older_than_s },
        wire::AlertRule::Stuck { subscription, for_s } => Rule::Stuck { subscription, for_s },
    }
}

/// A secret that is not given is the one that the address had before.
pub(super) fn channels(before: &[Channel], wanted: Vec<wire::AlertChannel>) -> Vec<Channel> {
    let known = |to: &str| {
        before.iter().find_map(|channel| match channel {
            Channel::Webhook { url, secret } if url == to => secret.clone(),
            _ => None,
        })
    };
    let channel = |wanted| match wanted {
        wire::AlertChannel::Email { to } => Channel::Email { to },
        wire::AlertChannel::Webhook { url, secret } => {
            Channel::Webhook { secret: secret.unwrap_or_else(|| known(&url)), url }
        }
    };
    wanted.into_iter().map(channel).collect()
}
