//! `malla notify tail`: prints deliveries, or arrivals, as they happen.

use anyhow::bail;
use clap::Args;
use futures_util::StreamExt as _;
use malla_client::Client;
use malla_protocol::{EventTailQuery, NotificationTailQuery};

use super::{events, notifications};
use crate::output::Output;

#[derive(Debug, Args)]
pub(super) struct Tail {
    /// Print events as they arrive instead
    #[arg(long, conflicts_with = "subscription")]
    events: bool,
    /// To this subscription
    #[arg(long, value_name = "NAME")]
    subscription: Option<String>,
    /// Of this endpoint
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
}

pub(super) async fn run(tail: Tail, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let Tail { events, subscription, endpoint } = tail;
    if events {
        let mut arrivals = client.tail_events(&EventTailQuery { endpoint }).await?;
        while let Some(event) = arrivals.next().await {
            output.rows(&events::HEAD, &[event?], events::row)?;
        }
    } else {
        let query = NotificationTailQuery { subscription, endpoint };
        let mut deliveries = client.tail_notifications(&query).await?;
        while let Some(notification) = deliveries.next().await {
            output.rows(&notifications::HEAD, &[notification?], notifications::row)?;
        }
    }
    bail!("the server ended the view: it is stopping, or the token is no longer good");
}
