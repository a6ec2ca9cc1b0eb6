//! Taking events in, with their notifications.

use malla_notify::{Accepted, OwnEvent, ROOM, SubscriptionId};
use malla_queue::{Error, EventId, GroupId, Once, Priority, Result, TaskId};
use rusqlite::Connection;

use super::routes::{Receiver, receiver, source};
use super::submit::enter_lane;
use super::tx::Tx;
use super::{many, sql};
use crate::codes::Code;
use crate::notify_rows::SYSTEM_ID;
use crate::packing::{Incoming, unpack};

pub(super) fn accept(tx: &mut Tx<'_>, incoming: &Incoming, pending_max: u64) -> Result<Accepted> {
    if let Some(id) = first_under(tx, incoming.once.as_ref())? {
        return Ok(Accepted::Again(id));
    }
    let found = source(tx, incoming.endpoint)?.filter(|found| found.version == incoming.version);
    let Some(found) = found else { return Ok(Accepted::Stale) };
    let Some(receivers) = receivers(tx, &incoming.to)? else { return Ok(Accepted::Stale) };
    there_is_room(tx, receivers.len(), pending_max)?;
    let id = tx.next_id();
    let row = (
        id,
        incoming.endpoint,
        found.group,
        &incoming.method,
        &incoming.query,
        &incoming.content_type,
        &incoming.topic,
        &incoming.headers,
        incoming.packing as i64,
        incoming.bytes,
        &incoming.body,
    );
    tx.run(sql!("notify/add_event"), row)?;
    receivers.iter().try_for_each(|receiver| add_notification(tx, EventId(id), receiver))?;
    tx.keep_answer(incoming.once.as_ref(), Some(&id.to_string()))?;
    Ok(Accepted::Safe(EventId(id)))
}

/// The event that was taken in under this key before.
fn first_under(tx: &Tx<'_>, once: Option<&Once>) -> Result<Option<EventId>> {
    let Some(answer) = tx.first_answer(once)? else { return Ok(None) };
    let id = answer.and_then(|id| id.parse().ok()).ok_or_else(|| Error::Internal("a key has no event".into()))?;
    Ok(Some(EventId(id)))
}

/// `None` if one of them is gone.
fn receivers(tx: &mut Tx<'_>, to: &[SubscriptionId]) -> Result<Option<Vec<std::sync::Arc<Receiver>>>> {
    to.iter().map(|subscription| receiver(tx, *subscription)).collect()
}

fn there_is_room(tx: &Tx<'_>, more: usize, pending_max: u64) -> Result<()> {
    let waiting = tx.open_tasks();
    if waiting + more as u64 > pending_max {
        return Err(Error::Full { waiting, limit: pending_max });
    }
    Ok(())
}

fn add_notification(tx: &mut Tx<'_>, event: EventId, receiver: &Receiver) -> Result<()> {
    let (id, prio, now) = (tx.next_id(), Priority::Normal.rank(), tx.now);
    let payload = format!(r#"{{"event":"{event}"}}"#).into_bytes();
    let Receiver { lane, group, retry, kind } = receiver;
    let row = (id, lane.0, &**kind, group, prio, now.0, event.0, None::<String>, retry, payload);
    tx.run(sql!("submit/add_task"), row)?;
    enter_lane(tx, *lane, ROOM, prio, now, TaskId(id))?;
    tx.count(*lane, kind, *group, None, Some(Code::Open));
    Ok(())
}

pub(super) fn own_events(conn: &Connection, limit: usize) -> Result<Vec<OwnEvent>> {
    let rows = many(conn, sql!("notify/own_events"), (limit,), |row| {
        let own = OwnEvent {
            id: EventId(row.get(0)?),
            kind: row.get(1)?,
            group: row.get::<_, Option<i64>>(2)?.map(GroupId),
            body: row.get(4)?,
        };
        Ok((own, row.get(3)?))
    })?;
    rows.into_iter().map(|(own, packed)| Ok(OwnEvent { body: unpack(packed, own.body)?, ..own })).collect()
}

pub(super) fn dispatch(
    tx: &mut Tx<'_>,
    version: i64,
    events: &[(EventId, Vec<SubscriptionId>)],
    pending_max: u64,
) -> Result<bool> {
    if source(tx, SYSTEM_ID)?.is_none_or(|system| system.version != version) {
        return Ok(false);
    }
    there_is_room(tx, events.iter().map(|(_, to)| to.len()).sum(), pending_max)?;
    let all: Option<Vec<_>> = events.iter().map(|(_, to)| receivers(tx, to)).collect::<Result<_>>()?;
    let Some(all) = all else { return Ok(false) };
    for ((event, _), receivers) in events.iter().zip(all) {
        if tx.run(sql!("notify/claim_own_event"), (event.0,))? == 1 {
            receivers.iter().try_for_each(|receiver| add_notification(tx, *event, receiver))?;
        }
    }
    Ok(true)
}
