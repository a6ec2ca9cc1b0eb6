//! Alerts: the list, a new one, and one with its notices.

pub(crate) mod detail;
pub(crate) mod list;
pub(crate) mod new;
mod spec;

use malla_notify::{Alert, Channel};
use maud::{Markup, html};

use super::{ALERTS, subscription_link};

fn alert_path(name: &str) -> String {
    format!("{ALERTS}/{name}")
}

fn badge(alert: &Alert) -> Markup {
    let (tone, word) = match (alert.spec.enabled, alert.is_firing()) {
        (false, _) => ("discarded", "off"),
        (true, true) => ("failed", "firing"),
        (true, false) => ("succeeded", "well"),
    };
    html! { span class={ "badge s-" (tone) } { (word) } }
}

/// When it fires, and of what.
fn rule(alert: &Alert) -> Markup {
    html! {
        (alert.spec.rule.in_words())
        @if let Some(name) = alert.spec.rule.subscription() { " (" (subscription_link(name)) ")" }
    }
}

fn place(channel: &Channel) -> Markup {
    html! {
        @match channel {
            Channel::Email { to } => (to),
            Channel::Webhook { url, secret } => { code { (url) } @if secret.is_some() { " " span.quiet { "signed" } } },
        }
    }
}

/// The subscriptions that the last notice named.
fn firing(alert: &Alert) -> Markup {
    html! {
        @if alert.firing.is_empty() { span.quiet { "–" } }
        @for (n, name) in alert.firing.iter().enumerate() { @if n > 0 { ", " } (subscription_link(name)) }
    }
}
