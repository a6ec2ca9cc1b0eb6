//! The list of alerts, in the order of their names.

use std::collections::HashMap;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::Permission;
use malla_notify::{Alert, Channel, Rule};
use malla_queue::{GroupId, UnixMs};
use maud::{Markup, html};

use super::super::{ALERTS, NEW_ALERT};
use super::{alert_path, badge, firing, place, rule};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::{Listed, Order, ROWS};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, groups, parts};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let found = console.alerts.alerts(&person.principal.scope(), params.get("cursor"), ROWS + 1).await?;
    let found = Listed::of(found, |alert| alert.name.clone());
    let names = groups::names(console, found.items.iter().map(|alert| alert.group)).await?;
    let may = person.may(Permission::Change);
    let rows = rows(may, console.now(), &found.items, &names);
    let page = Page::new(ALERTS, t!("Alerts"))
        .lead(html! { (t!("Who is told, by e-mail or a webhook, when deliveries fail, are late or stand still.")) })
        .csv("/notify/alerts.csv".to_owned())
        .api(person, "/api/v1/alerts")
        .still(html! {
            @if may && !found.items.is_empty() { div.buttons { a.button.primary href=(NEW_ALERT) { (t!("New alert")) } } }
        });
    Ok(found.on(page, &params.only(&["cursor"]), Order::ByName, "alerts", rows))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Response {
    const COLUMNS: [&str; 8] = ["alert", "state", "rule", "subscription", "firing_for", "to", "group", "last_fired_at"];
    let scope = visitor.principal.scope();
    export::csv("alerts", &COLUMNS, move |after: Option<String>, most| {
        let (console, scope) = (console.clone(), scope.clone());
        async move {
            let found = console.alerts.alerts(&scope, after.as_deref(), most).await?;
            let ids: Vec<GroupId> = found.iter().filter_map(|alert| alert.group).collect();
            let names = console.access.group_names(&ids).await?;
            let next = found.last().map(|alert| alert.name.clone()).filter(|_| found.len() == most);
            Ok((found.iter().map(|alert| cells(alert, &names)).collect(), next))
        }
    })
}

/// Where its notices go, never what signs them.
fn cells(alert: &Alert, groups: &HashMap<GroupId, String>) -> Vec<String> {
    let state = match (alert.spec.enabled, alert.is_firing()) {
        (false, _) => "off",
        (true, true) => "firing",
        (true, false) => "well",
    };
    let rule = match &alert.spec.rule {
        Rule::Failures { count, window_s, .. } => format!("failures {count} in {window_s} s"),
        Rule::Backlog { older_than_s, .. } => format!("backlog {older_than_s} s"),
        Rule::Stuck { for_s, .. } => format!("stuck {for_s} s"),
    };
    vec![
        alert.name.clone(),
        state.to_owned(),
        rule,
        alert.spec.rule.subscription().unwrap_or_default().to_owned(),
        alert.firing.join(" "),
        alert.spec.to.iter().map(Channel::place).collect::<Vec<_>>().join(" "),
        alert.group.and_then(|group| groups.get(&group)).cloned().unwrap_or_default(),
        export::moment(alert.last_fired_at),
    ]
}

fn rows(may: bool, now: UnixMs, alerts: &[Alert], groups: &HashMap<GroupId, String>) -> Markup {
    if alerts.is_empty() {
        let next = may.then_some((NEW_ALERT, t!("New alert")));
        return parts::empty(t!("There are no alerts: nobody is told when deliveries go wrong."), next);
    }
    html! {
        section.card {
            table.rows {
                thead { tr {
                    th { (t!("Alert")) } th { (t!("State")) } th { (t!("Fires when")) } th { (t!("Firing for")) } th { (t!("To", "addresses")) } th { (t!("Group")) }
                    th { (t!("Last fired")) }
                } }
                tbody { @for alert in alerts { tr {
                    td data-label=(t!("Alert")) { a href=(alert_path(&alert.name)) { (alert.name) } }
                    td data-label=(t!("State")) { (badge(alert)) }
                    td data-label=(t!("Fires when")) { (rule(alert)) }
                    td data-label=(t!("Firing for")) { (firing(alert)) }
                    td data-label=(t!("To", "addresses")) {
                        @for (n, channel) in alert.spec.to.iter().enumerate() { @if n > 0 { br; } (place(channel)) }
                    }
                    td data-label=(t!("Group")) { (parts::group_name(alert.group, groups)) }
                    td data-label=(t!("Last fired")) { (parts::moment(now, alert.last_fired_at)) }
                } } }
            }
        }
    }
}
