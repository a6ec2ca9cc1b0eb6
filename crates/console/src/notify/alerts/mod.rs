//! Alerts: the list, a new one, and one with its notices.

pub(crate) mod detail;
pub(crate) mod list;
pub(crate) mod new;
mod spec;

use malla_notify::{Alert, Channel, Rule};
use maud::{Markup, html};

use super::{ALERTS, subscription_link};
use crate::words;

fn alert_path(name: &str) -> String {
    format!("{ALERTS}/{name}")
}

fn badge(alert: &Alert) -> Markup {
    let (tone, word) = match (alert.spec.enabled, alert.is_firing()) {
        (false, _) => ("discarded", t!("off")),
        (true, true) => ("failed", t!("firing")),
        (true, false) => ("succeeded", t!("well")),
    };
    html! { span class={ "badge s-" (tone) } { (word) } }
}

/// When it fires, and of what.
fn rule(alert: &Alert) -> Markup {
    html! {
        (in_words(&alert.spec.rule))
        @if let Some(name) = alert.spec.rule.subscription() { " (" (subscription_link(name)) ")" }
    }
}

fn in_words(rule: &Rule) -> String {
    match rule {
        Rule::Failures { count, window_s, .. } => {
            say!("{count} or more attempts failed in {time}", count, words::span(*window_s))
        }
        Rule::Backlog { older_than_s, .. } => {
            say!("a notification has been due for more than {time}", words::span(*older_than_s))
        }
        Rule::Stuck { for_s, .. } => {
            say!("notifications wait and no attempt has ended for {time}", words::span(*for_s))
        }
    }
}

fn place(channel: &Channel) -> Markup {
    html! {
        @match channel {
            Channel::Email { to } => (to),
            Channel::Webhook { url, secret } => { code { (url) } @if secret.is_some() { " " span.quiet { (t!("signed")) } } },
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
