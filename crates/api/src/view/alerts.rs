//! Alerts as they travel.

use malla_notify::{Alert, Channel, Rule};
use malla_protocol as wire;

use super::{GroupNames, time};

pub(crate) fn alert(alert: &Alert, names: &GroupNames) -> wire::AlertView {
    wire::AlertView {
        name: alert.name.clone(),
        group: names.name(alert.group),
        rule: rule(&alert.spec.rule),
        to: alert.spec.to.iter().map(channel).collect(),
        quiet_s: alert.spec.quiet_s,
        enabled: alert.spec.enabled,
        firing: alert.firing.clone(),
        last_fired_at: alert.last_fired_at.map(time),
        created_at: time(alert.created_at),
    }
}

fn rule(rule: &Rule) -> wire::AlertRule {
    match rule.clone() {
        Rule::Failures { subscription, count, window_s } => wire::AlertRule::Failures { subscription, count, window_s },
        Rule::Backlog { subscription, older_than_s } => wire::AlertRule::Backlog { subscription, older_than_s },
        Rule::Stuck { subscription, for_s } => wire::AlertRule::Stuck { subscription, for_s },
    }
}

fn channel(channel: &Channel) -> wire::AlertChannelView {
    match channel {
        Channel::Email { to } => wire::AlertChannelView::Email { to: to.clone() },
        Channel::Webhook { url, secret } => {
            wire::AlertChannelView::Webhook { url: url.clone(), signed: secret.is_some() }
        }
    }
}
