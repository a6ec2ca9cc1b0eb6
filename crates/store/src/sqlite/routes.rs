//! What the writer knows by heart of endpoints and subscriptions, so that taking an event in reads nothing.

use std::sync::Arc;

use malla_notify::{DELIVER, SubscriptionId};
use malla_queue::{LaneId, Result};
use rustc_hash::FxHashMap;

use super::sql;
use super::tx::Tx;
use crate::notify_rows::ROUTES;

/// Endpoints, and subscriptions, that are remembered.
const KNOWN_MAX: usize = 100_000;

/// Read when first used, forgotten when it changes or a transaction is undone.
#[derive(Default)]
pub(super) struct Routes {
    sources: FxHashMap<i64, Source>,
    receivers: FxHashMap<SubscriptionId, Arc<Receiver>>,
}

/// An endpoint as an event needs to know it.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) version: i64,
    pub(super) group: Option<i64>,
}

/// A subscription as a notification needs to know it.
pub(super) struct Receiver {
    pub(super) lane: LaneId,
    pub(super) group: Option<i64>,
    pub(super) retry: Option<String>,
    pub(super) kind: Arc<str>,
}

pub(super) fn source(tx: &mut Tx<'_>, endpoint: i64) -> Result<Option<Source>> {
    if let Some(known) = tx.routes().sources.get(&endpoint) {
        return Ok(Some(*known));
    }
    let found =
        tx.one(sql!("notify/version"), (endpoint,), |row| Ok(Source { version: row.get(0)?, group: row.get(1)? }))?;
    if let Some(found) = found {
        let sources = &mut tx.routes().sources;
        if sources.len() >= KNOWN_MAX {
            sources.clear();
        }
        sources.insert(endpoint, found);
    }
    Ok(found)
}

pub(super) fn receiver(tx: &mut Tx<'_>, subscription: SubscriptionId) -> Result<Option<Arc<Receiver>>> {
    if let Some(known) = tx.routes().receivers.get(&subscription) {
        return Ok(Some(known.clone()));
    }
    let found = tx.one(sql!("notify/receiver"), (subscription.0,), |row| {
        let lane = LaneId(row.get(0)?);
        Ok(Arc::new(Receiver { lane, group: row.get(1)?, retry: row.get(2)?, kind: DELIVER.into() }))
    })?;
    if let Some(found) = &found {
        let receivers = &mut tx.routes().receivers;
        if receivers.len() >= KNOWN_MAX {
            receivers.clear();
        }
        receivers.insert(subscription, found.clone());
    }
    Ok(found)
}

/// To be told of every change of an endpoint or of a subscription to it. Whoever waits for changes is roused after the
/// commit.
pub(super) fn changed(tx: &mut Tx<'_>, endpoint: i64, subscription: Option<SubscriptionId>) {
    tx.routes().sources.remove(&endpoint);
    if let Some(subscription) = subscription {
        tx.routes().receivers.remove(&subscription);
    }
    tx.rouse(ROUTES);
}
