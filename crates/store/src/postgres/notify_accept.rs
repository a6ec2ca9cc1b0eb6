//! Taking events in, with their notifications.

use std::sync::Arc;

use deadpool_postgres::{GenericClient, Object};
use malla_notify::{Accepted, OwnEvent, SubscriptionId};
use malla_queue::{Clock, Error, EventId, GroupId, Once, Result, UnixMs};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::act::Roused;
use super::commit::{Answer, Token, answered};
use super::pool::{Broken, Pools, with_retries};
use super::submit::full;
use super::wake::Nudger;
use super::{point, sql};
use crate::packing::{Incoming, unpack};

/// Bytes of bodies in one statement at most (a larger body goes alone).
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Takes a batch to the server, in as many statements as its bodies need, and answers each event for itself.
pub(super) async fn accept_batch(
    pools: Pools,
    clock: Arc<dyn Clock>,
    nudger: Arc<Nudger>,
    pending_max: u64,
    events: Vec<Arc<Incoming>>,
) -> Result<Vec<Result<Accepted>>> {
    let mut answers = Vec::with_capacity(events.len());
    let mut rest = events.as_slice();
    while !rest.is_empty() {
        let (some, others) = rest.split_at(fitting(rest));
        rest = others;
        match accept(&pools, &clock, &nudger, pending_max, some).await {
            Ok(accepted) => answers.extend(accepted),
            Err(error @ (Error::Unavailable(_) | Error::Deposed)) => {
                answers.extend(some.iter().map(|_| Err(error.clone())))
            }
            // One of them was refused: each for itself, so that only that one hears of it.
            Err(_) => {
                for one in some {
                    let accepted = accept(&pools, &clock, &nudger, pending_max, std::slice::from_ref(one)).await;
                    answers.push(accepted.and_then(|mut all| all.pop().unwrap_or_else(|| Err(unanswered()))));
                }
            }
        }
    }
    Ok(answers)
}

/// How many of these go into one statement.
fn fitting(events: &[Arc<Incoming>]) -> usize {
    let mut bytes = 0;
    let over = |event: &Arc<Incoming>| {
        bytes += event.body.len();
        bytes > BATCH_BYTES_MAX
    };
    events.iter().position(over).unwrap_or(events.len()).max(1)
}

fn unanswered() -> Error {
    Error::Internal("the server did not answer for an event".into())
}

async fn accept(
    pools: &Pools,
    clock: &Arc<dyn Clock>,
    nudger: &Nudger,
    pending_max: u64,
    events: &[Arc<Incoming>],
) -> Result<Vec<Result<Accepted>>> {
    point("accept", "before");
    let (accepted, rouse) = with_retries(pools, || async {
        let client = pools.client().await?;
        let now = clock.now();
        match Keys::of(events, now) {
            None => call(&client, events, now, pending_max).await,
            Some(keys) => call_once(&client, events, &keys, now, pending_max).await,
        }
    })
    .await?;
    point("accept", "after");
    nudger.rouse(rouse);
    Ok(accepted)
}

type Answers = Roused<Vec<Result<Accepted>>>;

/// One statement, which is its own transaction.
async fn call(
    client: &impl GenericClient,
    events: &[Arc<Incoming>],
    now: UnixMs,
    pending_max: u64,
) -> Result<Answers, Broken> {
    let token = Token::new()?;
    let bytes = token.bytes();
    let accepted = answered(&token, ask(client, sql!("notify/accept"), events, &[&bytes], now, pending_max)).await?;
    let (ids, rouse) = match accepted {
        Answer::Came(row) => (row.get(0), rouse(&row)),
        // Workers will look by themselves.
        Answer::Lost(kept) => (kept.ids, Vec::new()),
    };
    Ok((ids.into_iter().map(|id| Ok(answer(id))).collect(), rouse))
}

/// As [`call`], for events that all have keys: a repeat is recognised by them.
async fn call_once(
    client: &impl GenericClient,
    events: &[Arc<Incoming>],
    keys: &Keys<'_>,
    now: UnixMs,
    pending_max: u64,
) -> Result<Answers, Broken> {
    let more: [Param<'_>; 4] = [&keys.scopes, &keys.keys, &keys.fingerprints, &keys.expiries];
    let row = ask(client, sql!("notify/accept_once"), events, &more, now, pending_max).await?;
    let (ids, used): (Vec<Option<i64>>, Vec<bool>) = (row.get(0), row.get(2));
    let answers = ids.into_iter().zip(used).map(|(id, used)| match (used, id) {
        (false, id) => Ok(answer(id)),
        (true, Some(id)) => Ok(Accepted::Again(EventId(id))),
        (true, None) => Err(Error::KeyReused),
    });
    Ok((answers.collect(), rouse(&row)))
}

fn answer(id: Option<i64>) -> Accepted {
    id.map_or(Accepted::Stale, |id| Accepted::Safe(EventId(id)))
}

fn rouse(row: &Row) -> Vec<String> {
    row.get::<_, Option<Vec<String>>>(1).unwrap_or_default()
}

/// The keys of events as the columns that the server takes.
struct Keys<'e> {
    scopes: Vec<&'e str>,
    keys: Vec<&'e str>,
    fingerprints: Vec<&'e [u8]>,
    expiries: Vec<i64>,
}

impl<'e> Keys<'e> {
    /// `None` if they have none: events with and without do not travel together.
    fn of(events: &'e [Arc<Incoming>], now: UnixMs) -> Option<Self> {
        let all: Vec<&Once> = events.iter().map(|event| event.once.as_ref()).collect::<Option<_>>()?;
        Some(Self {
            scopes: all.iter().map(|once| once.scope.as_str()).collect(),
            keys: all.iter().map(|once| once.key.as_str()).collect(),
            fingerprints: all.iter().map(|once| once.fingerprint.as_slice()).collect(),
            expiries: all.iter().map(|once| now.plus(once.keep_for).0).collect(),
        })
    }
}

type Param<'p> = &'p (dyn ToSql + Sync);

/// Asks with the columns of the events, and `more` after them.
async fn ask(
    client: &impl GenericClient,
    statement: &str,
    events: &[Arc<Incoming>],
    more: &[Param<'_>],
    now: UnixMs,
    pending_max: u64,
) -> Result<Row, Broken> {
    fn text(events: &[Arc<Incoming>], of: fn(&Incoming) -> Option<&str>) -> Vec<Option<&str>> {
        events.iter().map(|event| of(event)).collect()
    }
    let number = |of: fn(&Incoming) -> i64| events.iter().map(|event| of(event)).collect::<Vec<i64>>();
    let packings: Vec<i16> = events.iter().map(|event| event.packing as i16).collect();
    let bodies: Vec<&[u8]> = events.iter().map(|event| event.body.as_slice()).collect();
    let to = events.iter().zip(1i32..).flat_map(|(event, of)| event.to.iter().map(move |sub| (of, sub.0)));
    let (sub_of, subs): (Vec<i32>, Vec<i64>) = to.unzip();
    let limit = i64::try_from(pending_max).unwrap_or(i64::MAX);
    let columns: [Param<'_>; 14] = [
        &number(|event| event.endpoint),
        &number(|event| event.version),
        &text(events, |event| Some(&event.method)),
        &text(events, |event| event.query.as_deref()),
        &text(events, |event| event.content_type.as_deref()),
        &text(events, |event| event.topic.as_deref()),
        &text(events, |event| event.headers.as_deref()),
        &packings,
        &number(|event| event.bytes),
        &bodies,
        &sub_of,
        &subs,
        &now.0,
        &limit,
    ];
    let statement = client.prepare_cached(statement).await?;
    let asked = client.query_one(&statement, &[&columns[..], more].concat()).await;
    asked.map_err(|error| full(&error, Some(pending_max)).map_or_else(|| error.into(), Broken::Said))
}

pub(super) async fn own_events(client: &impl GenericClient, limit: usize) -> Result<Vec<OwnEvent>, Broken> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = client.query(&client.prepare_cached(sql!("notify/own_events")).await?, &[&most]).await?;
    let own = |row: &Row| {
        Ok(OwnEvent {
            id: EventId(row.get(0)),
            kind: row.get(1),
            group: row.get::<_, Option<i64>>(2).map(GroupId),
            body: unpack(i64::from(row.get::<_, i16>(3)), row.get(4))?,
        })
    };
    rows.iter().map(own).collect()
}

pub(super) async fn dispatch(
    client: &mut Object,
    version: i64,
    events: &[(EventId, Vec<SubscriptionId>)],
    pending_max: u64,
    now: UnixMs,
) -> Result<Roused<bool>, Broken> {
    let ids: Vec<i64> = events.iter().map(|(event, _)| event.0).collect();
    let to = events.iter().flat_map(|(event, to)| to.iter().map(move |sub| (event.0, sub.0)));
    let (sub_events, subs): (Vec<i64>, Vec<i64>) = to.unzip();
    let limit = i64::try_from(pending_max).unwrap_or(i64::MAX);
    let tx = client.transaction().await?;
    let statement = tx.prepare_cached(sql!("notify/dispatch")).await?;
    let row = tx
        .query_one(&statement, &[&version, &ids, &sub_events, &subs, &now.0, &limit])
        .await
        .map_err(|error| full(&error, Some(pending_max)).map_or_else(|| error.into(), Broken::Said))?;
    point("dispatch", "inside");
    tx.commit().await?;
    Ok((row.get(0), row.get::<_, Option<Vec<String>>>(1).unwrap_or_default()))
}
