//! `malla notify subscriptions`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{
    NewSubscription, SubscriptionChange, SubscriptionMade, SubscriptionQuery, SubscriptionState, SubscriptionView,
};

use super::clear::Clear;
use super::subscription_flags::Delivery;
use super::yes_or_dash;
use crate::commands::{Limit, pages};
use crate::output::{Output, fields, or_dash, talk, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List subscriptions
    #[command(after_help = "Example:\n  malla notify subscriptions list --endpoint orders")]
    List(List),
    /// Make a subscription
    #[command(
        after_help = "Examples:\n  malla notify subscriptions create billing orders https://billing.example/hook --secret generate\n  malla notify subscriptions create beta orders http://10.0.0.7:8080/ --state suspended --retry 5,60,600\n  malla notify subscriptions create paid orders https://example.org/ --filter '[{\"field\": \"type\", \"equals\": \"order.paid\"}]'"
    )]
    Create(Create),
    /// Show one subscription
    #[command(after_help = "Example:\n  malla notify subscriptions show billing")]
    Show { name: String },
    /// Change how a subscription delivers
    #[command(
        after_help = "Examples:\n  malla notify subscriptions change billing --target https://new.example/hook --parallel 5\n  malla notify subscriptions change billing --secret generate\n  malla notify subscriptions change billing --clear filter,headers"
    )]
    Change(Change),
    /// Hold its notifications; they are made all the same
    #[command(after_help = "Example:\n  malla notify subscriptions suspend billing")]
    Suspend { name: String },
    /// Let its notifications go out, oldest first
    #[command(after_help = "Example:\n  malla notify subscriptions activate billing")]
    Activate { name: String },
    /// Make no more notifications and discard those that wait
    #[command(after_help = "Example:\n  malla notify subscriptions disable billing")]
    Disable { name: String },
    /// Delete a disabled subscription
    #[command(after_help = "Example:\n  malla notify subscriptions delete billing")]
    Delete { name: String },
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Of this endpoint
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
pub(super) struct Create {
    name: String,
    /// The endpoint whose events it gets
    endpoint: String,
    /// http://…, https://… or mqtt://[USER:PASSWORD@]HOST/TOPIC
    target: String,
    /// The group that owns it
    #[arg(long)]
    group: Option<String>,
    /// active, suspended or disabled
    #[arg(long, value_parser = parse_state)]
    state: Option<SubscriptionState>,
    #[command(flatten)]
    delivery: Delivery,
}

#[derive(Debug, Args)]
pub(super) struct Change {
    name: String,
    /// http://…, https://… or mqtt://[USER:PASSWORD@]HOST/TOPIC
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    #[command(flatten)]
    delivery: Delivery,
    #[command(flatten)]
    clear: Clear,
}

pub(super) async fn run(verb: Verb, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let made = match verb {
        Verb::List(list) => return run_list(list, client, output).await,
        Verb::Show { name } => return Ok(output.one(&client.subscription(&name).await?, |view| describe(view, None))?),
        Verb::Delete { name } => {
            client.delete_subscription(&name).await?;
            talk(&format!("subscription {name} is deleted"));
            return Ok(());
        }
        Verb::Create(create) => client.create_subscription(&new(create)).await?,
        Verb::Change(Change { name, target, delivery, clear }) => {
            let change = clear.apply(SubscriptionChange { target, ..delivery.change() })?;
            client.change_subscription(&name, &change).await?
        }
        Verb::Suspend { name } => set_state(client, &name, SubscriptionState::Suspended).await?,
        Verb::Activate { name } => set_state(client, &name, SubscriptionState::Active).await?,
        Verb::Disable { name } => set_state(client, &name, SubscriptionState::Disabled).await?,
    };
    output.one(&made, |made| describe(&made.view, made.secret.clone()))?;
    if made.secret.is_some() {
        talk("keep the secret now: it is not shown again");
    }
    Ok(())
}

fn new(create: Create) -> NewSubscription {
    let Create { name, endpoint, target, group, state, delivery } = create;
    let chosen = delivery.change();
    NewSubscription {
        name,
        endpoint,
        target,
        group,
        state,
        retry_delays_s: chosen.retry_delays_s.flatten(),
        timeout_s: chosen.timeout_s.flatten(),
        parallel: chosen.parallel.flatten(),
        headers: chosen.headers.flatten(),
        forward_headers: chosen.forward_headers.flatten(),
        forward_query: chosen.forward_query.flatten(),
        filter: chosen.filter.flatten(),
        secret: chosen.secret.flatten(),
        cloudevents: chosen.cloudevents.flatten(),
        auth: chosen.auth.flatten(),
        confirm_within_s: chosen.confirm_within_s.flatten(),
    }
}

async fn set_state(client: &Client, name: &str, state: SubscriptionState) -> malla_client::Result<SubscriptionMade> {
    let change = SubscriptionChange { state: Some(state), ..SubscriptionChange::default() };
    client.change_subscription(name, &change).await
}

async fn run_list(list: List, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let query = SubscriptionQuery { endpoint: list.endpoint };
    let head = ["NAME", "ENDPOINT", "STATE", "GROUP", "PARALLEL", "SIGNED", "TARGET"];
    let show = |subscriptions: &[SubscriptionView]| output.rows(&head, subscriptions, row);
    pages(list.limit, async |page| client.subscriptions(&query, &page).await, show).await?;
    output.end("no subscriptions: make one with `malla notify subscriptions create NAME ENDPOINT TARGET`");
    Ok(())
}

fn row(subscription: &SubscriptionView) -> Vec<String> {
    vec![
        subscription.name.clone(),
        subscription.endpoint.clone(),
        subscription.state.to_string(),
        or_dash(subscription.group.as_deref()),
        subscription.parallel.to_string(),
        yes_or_dash(subscription.signed),
        subscription.target.clone(),
    ]
}

/// A subscription, and the secret if one was made for it.
fn describe(subscription: &SubscriptionView, secret: Option<String>) -> String {
    let delays: Vec<_> = subscription.retry_delays_s.iter().map(|s| format!("{s} s")).collect();
    let headers: Vec<_> = subscription.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let filter = (!subscription.filter.is_empty()).then(|| serde_json::json!(subscription.filter).to_string());
    let pairs = [
        ("subscription", Some(subscription.name.clone())),
        ("endpoint", Some(subscription.endpoint.clone())),
        ("group", subscription.group.clone()),
        ("state", Some(subscription.state.to_string())),
        ("target", Some(subscription.target.clone())),
        ("parallel", Some(subscription.parallel.to_string())),
        ("timeout", Some(format!("{} s", subscription.timeout_s))),
        ("retry after", Some(or_dash(Some(&*delays.join(", ")).filter(|delays| !delays.is_empty())))),
        ("confirm within", Some(format!("{} s", subscription.confirm_within_s))),
        ("signed", Some(yes_or_dash(subscription.signed))),
        ("secret", secret),
        ("auth", subscription.auth.map(|kind| format!("{kind:?}").to_lowercase())),
        ("cloudevents", Some(subscription.cloudevents.name().to_owned())),
        ("headers", (!headers.is_empty()).then(|| headers.join("\n"))),
        ("forwards", forwards(subscription)),
        ("filter", filter),
        ("created", Some(time(&subscription.created_at))),
    ];
    let pairs: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    fields(&pairs)
}

fn forwards(subscription: &SubscriptionView) -> Option<String> {
    match (subscription.forward_headers, subscription.forward_query) {
        (true, true) => Some("headers and query".into()),
        (true, false) => Some("headers".into()),
        (false, true) => Some("query".into()),
        (false, false) => None,
    }
}

fn parse_state(text: &str) -> Result<SubscriptionState, String> {
    serde_json::from_value(text.into()).map_err(|_| "states are active, suspended and disabled".into())
}
