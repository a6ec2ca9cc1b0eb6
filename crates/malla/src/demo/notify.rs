//! Events on their way: endpoints and subscriptions of every kind, orders and readings that are posted, confirmations,
//! and somebody who looks after what failed.

use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::{Duration, Instant};

use malla_client::{Client, Result, Verb};
use malla_protocol::{
    AlertChannel, AlertRule, CloudEvents, Condition, NewAlert, NewEndpoint, NewSubscription, NotificationQuery,
    PageQuery, SubscriptionChange, SubscriptionState,
};
use serde_json::json;

use super::orders::{order, reading};
use super::people::SHOP;
use super::stage::{Stage, made, rest, tried};
use crate::dice::Dice;

const ORDERS: &str = "orders";
const READINGS: &str = "readings";
/// Malla's own events.
const SYSTEM: &str = "system";
const BILLING: &str = "billing";
const AUDITORS: &str = "auditors";
const PAGER: &str = "billing-is-failing";

/// A wave of orders takes so long, and is so far from one order to the next at its foot and at its top.
const WAVE: Duration = Duration::from_secs(240);
const APART_MS: (f64, f64) = (1_800.0, 250.0);
const READING_MS: u64 = 2_000;
/// The auditors let everything wait, and take it all once in a while.
const AUDIT_EVERY: Duration = Duration::from_secs(600);
const AUDIT_TAKES: Duration = Duration::from_secs(45);
const OPERATOR_EVERY: Duration = Duration::from_secs(100);
const RESENT_MAX: usize = 5;

pub(super) async fn prepare(stage: &Stage) -> Result<()> {
    let client = &stage.client;
    let endpoint = |name: &str, about: &str| NewEndpoint {
        name: name.into(),
        group: Some(SHOP.into()),
        description: Some(about.into()),
        ..NewEndpoint::default()
    };
    for new in [
        endpoint(ORDERS, "Orders of the ship chandler's shop"),
        endpoint(READINGS, "Water and wind, from the instruments on the piers"),
    ] {
        made(client.create_endpoint(&new).await)?;
    }
    for new in subscriptions(stage) {
        if made(client.create_subscription(&new).await)?.is_none() {
            // The receiver may have moved since.
            let view = client.subscription(&new.name).await?;
            if view.target != new.target {
                let moved = SubscriptionChange { target: Some(new.target), ..SubscriptionChange::default() };
                client.change_subscription(&new.name, &moved).await?;
            }
        }
    }
    let alert = NewAlert {
        name: PAGER.into(),
        group: Some(SHOP.into()),
        rule: AlertRule::Failures { subscription: Some(BILLING.into()), count: 10, window_s: 120 },
        to: vec![AlertChannel::Webhook { url: stage.town.url("receiver", "/pager"), secret: None }],
        quiet_s: Some(300),
        enabled: None,
    };
    made(client.create_alert(&alert).await)?;
    Ok(())
}

fn subscriptions(stage: &Stage) -> Vec<NewSubscription> {
    let to = |name: &str, endpoint: &str, path: &str| NewSubscription {
        name: name.into(),
        endpoint: endpoint.into(),
        target: stage.town.url("receiver", path),
        retry_delays_s: Some(vec![2, 5, 10]),
        ..NewSubscription::default()
    };
    let field = |name: &str| Condition { field: Some(name.into()), ..Condition::default() };
    vec![
        NewSubscription {
            secret: Some("generate".into()),
            cloudevents: Some(CloudEvents::Binary),
            ..to("warehouse", ORDERS, "/warehouse")
        },
        NewSubscription {
            forward_headers: Some(true),
            retry_delays_s: Some(vec![1, 3, 5]),
            ..to(BILLING, ORDERS, "/billing")
        },
        NewSubscription {
            filter: Some(vec![Condition { equals: Some(json!("express")), ..field("delivery") }]),
            confirm_within_s: Some(20),
            ..to("courier", ORDERS, "/courier")
        },
        NewSubscription { state: Some(SubscriptionState::Suspended), ..to(AUDITORS, ORDERS, "/auditors") },
        NewSubscription { state: Some(SubscriptionState::Disabled), ..to("old-till", ORDERS, "/old-till") },
        NewSubscription { parallel: Some(4), forward_query: Some(true), ..to("display", READINGS, "/display") },
        NewSubscription {
            filter: Some(vec![Condition { greater_than: Some(17.0), ..field("wind_ms") }]),
            ..to("storm-warning", READINGS, "/storm")
        },
        NewSubscription {
            filter: Some(vec![Condition {
                header: Some("ce-type".into()),
                any_of: Some(vec![json!("wiki.revision"), json!("analysis.finished"), json!("fetch.changed")]),
                ..Condition::default()
            }]),
            cloudevents: Some(CloudEvents::Structured),
            ..to("newsroom", SYSTEM, "/newsroom")
        },
    ]
}

pub(super) async fn run(stage: Arc<Stage>) {
    tokio::join!(take_orders(&stage), measure(&stage), confirm(&stage), audit(&stage.client), operate(&stage.client));
}

/// Orders come in waves.
async fn take_orders(stage: &Stage) {
    let now = stage.now_s();
    let mut dice = Dice::new(now.unsigned_abs());
    let mut number = now.unsigned_abs() % 1_000_000 * 10;
    let began = Instant::now();
    loop {
        number += 1;
        tried("post an order", stage.client.send_event(ORDERS, order(&mut dice, number, stage.now_s())).await);
        let height = 0.5 - 0.5 * (began.elapsed().as_secs_f64() / WAVE.as_secs_f64() * TAU + 2.0).cos();
        let apart = APART_MS.0 + (APART_MS.1 - APART_MS.0) * height;
        rest(apart as u64 / 2 + dice.below(apart as u64)).await;
    }
}

async fn measure(stage: &Stage) {
    let mut dice = Dice::new(11);
    loop {
        tried("post a reading", stage.client.send_event(READINGS, reading(&mut dice, stage.now_s())).await);
        rest(READING_MS).await;
    }
}

/// The courier says when a parcel has left.
async fn confirm(stage: &Stage) {
    let Some(mut accepted) = stage.town.world().receiver.to_confirm() else { return };
    let mut dice = Dice::new(12);
    while let Some(id) = accepted.recv().await {
        rest(dice.within(300, 2_500)).await;
        // One that was sent twice is confirmed once.
        let _ = stage.client.act_on_notification(&id, Verb::Confirm).await;
    }
}

/// Lets what was held go out, and holds again.
async fn audit(client: &Client) {
    loop {
        tokio::time::sleep(AUDIT_EVERY).await;
        set_auditors(client, SubscriptionState::Active).await;
        tokio::time::sleep(AUDIT_TAKES).await;
        set_auditors(client, SubscriptionState::Suspended).await;
    }
}

async fn set_auditors(client: &Client, state: SubscriptionState) {
    let change = SubscriptionChange { state: Some(state), ..SubscriptionChange::default() };
    tried("change a subscription", client.change_subscription(AUDITORS, &change).await);
}

/// Somebody looks at what failed, and sends some of it again.
async fn operate(client: &Client) {
    let failed = NotificationQuery {
        subscription: Some(BILLING.into()),
        state: Some("failed".into()),
        ..NotificationQuery::default()
    };
    let page = PageQuery { limit: u32::try_from(RESENT_MAX).ok(), cursor: None };
    loop {
        tokio::time::sleep(OPERATOR_EVERY).await;
        let Some(found) = tried("look for what failed", client.notifications(&failed, &page).await) else { continue };
        for notification in found.items {
            tried("resend", client.act_on_notification(&notification.id, Verb::Resend).await);
            rest(1_500).await;
        }
    }
}
