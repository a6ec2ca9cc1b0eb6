//! Events and notifications as people and deliveries look at them.

use std::collections::{HashMap, HashSet};

use malla_notify::{
    Event, EventFilter, EventPage, EventSummary, Notification, NotificationFilter, NotificationPage, PageMark,
};
use malla_queue::{Act, Bulk, Error, EventId, Move, Result, Scope, TaskId, TaskSummary};
use rusqlite::{Connection, Row};

use super::act::{STEP, move_each};
use super::notify_search::search;
use super::tx::Tx;
use super::{many, read, sql};
use crate::listing::Builder;
use crate::listing_notify::{as_tasks, narrowed};
use crate::notify_pages::{DISPATCH_SLACK, event_page, notification, notification_page};
use crate::notify_rows::{EventRow, EventSummaryRow};
use crate::searching::{Search, Span, steps};

pub(super) fn event(conn: &Connection, scope: &Scope, id: EventId) -> Result<Event> {
    find(conn, id)?.filter(|event| scope.sees(event.group)).ok_or_else(|| Error::NotFound(format!("event {id}")))
}

pub(super) fn by_id(conn: &Connection, ids: &[EventId]) -> Result<Vec<Event>> {
    ids.iter().filter_map(|id| find(conn, *id).transpose()).collect()
}

fn find(conn: &Connection, id: EventId) -> Result<Option<Event>> {
    let select = concat!(include_str!("../../sql/both/notify/event.sql"), " WHERE e.id = ?1");
    let row = many(conn, select, (id.0,), |row| {
        Ok(EventRow {
            id: row.get(0)?,
            endpoint: row.get(1)?,
            endpoint_name: row.get(2)?,
            group: row.get(3)?,
            kind: row.get(4)?,
            method: row.get(5)?,
            query: row.get(6)?,
            content_type: row.get(7)?,
            topic: row.get(8)?,
            headers: row.get(9)?,
            packed: row.get(10)?,
            body: row.get(11)?,
        })
    })?;
    row.into_iter().next().map(EventRow::read).transpose()
}

fn read_event(row: &Row<'_>) -> rusqlite::Result<EventSummary> {
    let row = EventSummaryRow {
        id: row.get(0)?,
        endpoint: row.get(1)?,
        kind: row.get(2)?,
        method: row.get(3)?,
        content_type: row.get(4)?,
        topic: row.get(5)?,
        bytes: row.get(6)?,
    };
    Ok(row.read())
}

pub(super) fn events(
    conn: &Connection,
    filter: &EventFilter,
    below: Option<EventId>,
    limit: usize,
) -> Result<EventPage> {
    if let Some(content) = &filter.content {
        return events_with(conn, filter, &Search::new(content)?, below, limit);
    }
    let empty = EventPage { events: Vec::new(), next: None };
    let Some(statement) = Builder::new('?').events(filter, below, limit) else { return Ok(empty) };
    let events = read::query(conn, statement, read_event)?;
    let (last, full) = (events.last().map(|event| event.id.0), events.len() >= limit);
    let frontier = if full { None } else { Builder::new('?').events_frontier(filter, below) };
    Ok(EventPage { next: read::next_of(conn, last, full, frontier)?.map(EventId), events })
}

fn events_with(
    conn: &Connection,
    filter: &EventFilter,
    words: &Search,
    below: Option<EventId>,
    limit: usize,
) -> Result<EventPage> {
    let mut span = Span::new(below.map(|id| id.0), filter.from, filter.to);
    let mut found = Vec::new();
    for _ in steps() {
        let matches = search(conn, words, span)?;
        found.extend(read::query(conn, Builder::new('?').events_among(filter, matches.ids), read_event)?);
        let Some(next) = matches.next.filter(|_| found.len() < limit) else {
            return Ok(event_page(found, limit, matches.next));
        };
        span.below = next;
    }
    Ok(event_page(found, limit, Some(span.below)))
}

pub(super) fn get_notification(conn: &Connection, scope: &Scope, id: TaskId) -> Result<Notification> {
    let task = read::summary(conn, id)?.filter(|task| scope.sees(task.group));
    let found = match task {
        Some(task) => named(conn, vec![task])?.pop(),
        None => None,
    };
    found.ok_or_else(|| Error::NotFound(format!("notification {id}")))
}

pub(super) fn notifications(
    conn: &Connection,
    filter: &NotificationFilter,
    below: Option<PageMark>,
    limit: usize,
) -> Result<NotificationPage> {
    let (tasks, next) = tasks(conn, filter, below, limit)?;
    Ok(NotificationPage { notifications: named(conn, tasks)?, next })
}

/// The page as tasks.
fn tasks(
    conn: &Connection,
    filter: &NotificationFilter,
    below: Option<PageMark>,
    limit: usize,
) -> Result<(Vec<TaskSummary>, Option<PageMark>)> {
    let lanes = match &filter.endpoint {
        Some(name) => Some(many(conn, sql!("notify/lanes_of_endpoint"), (name,), |row| row.get(0))?),
        None => None,
    };
    if let Some(content) = &filter.content {
        return tasks_with(conn, filter, lanes, &Search::new(content)?, below, limit);
    }
    let below = below.map(|mark| TaskId(mark.0));
    let page = read::tasks_of_lanes(conn, &as_tasks(filter), lanes.as_deref(), below, limit)?;
    Ok((page.tasks, page.next.map(|id| PageMark(id.0))))
}

fn tasks_with(
    conn: &Connection,
    filter: &NotificationFilter,
    lanes: Option<Vec<i64>>,
    words: &Search,
    below: Option<PageMark>,
    limit: usize,
) -> Result<(Vec<TaskSummary>, Option<PageMark>)> {
    let from = filter.from.map(|from| from.minus(DISPATCH_SLACK));
    let mut span = Span::new(below.map(|mark| mark.0), from, filter.to);
    let tasks = as_tasks(filter);
    let mut found = Vec::new();
    for _ in steps() {
        let matches = search(conn, words, span)?;
        let statement = Builder::new('?').among_lanes(lanes.clone()).tasks_of_events(&tasks, matches.ids);
        found.extend(read::query(conn, statement, read::read_summary)?);
        let Some(next) = matches.next.filter(|_| found.len() < limit) else {
            return Ok(notification_page(found, limit, matches.next));
        };
        span.below = next;
    }
    Ok(notification_page(found, limit, Some(span.below)))
}

/// The tasks in this room's words. A deleted subscription's endpoint is known from the event.
fn named(conn: &Connection, tasks: Vec<TaskSummary>) -> Result<Vec<Notification>> {
    let mut endpoints: HashMap<String, Option<String>> = HashMap::new();
    let mut named = Vec::with_capacity(tasks.len());
    for task in tasks {
        let name = task.lane.name();
        if !endpoints.contains_key(name) {
            let found = many(conn, sql!("notify/endpoint_of_subscription"), (name,), |row| row.get(0))?.pop();
            endpoints.insert(name.to_owned(), found);
        }
        let endpoint = match (endpoints.get(name).cloned().flatten(), task.parent) {
            (Some(endpoint), _) => Some(endpoint),
            (None, Some(event)) => many(conn, sql!("notify/endpoint_of_event"), (event.0,), |row| row.get(0))?.pop(),
            (None, None) => None,
        };
        named.extend(notification(task, endpoint));
    }
    Ok(named)
}

/// What a verb on all acts on next, found before its transaction: the writer does not search for words.
pub(super) struct Found {
    filter: NotificationFilter,
    tasks: Vec<TaskSummary>,
    next: Option<PageMark>,
}

/// `None`: the verb can do nothing with what the filter asks for.
pub(super) fn next_of_all(
    conn: &Connection,
    filter: &NotificationFilter,
    below: Option<PageMark>,
    verb: Move,
) -> Result<Option<Found>> {
    let Some(filter) = narrowed(filter, verb) else { return Ok(None) };
    let (tasks, next) = tasks(conn, &filter, below, STEP)?;
    Ok(Some(Found { filter, tasks, next }))
}

pub(super) fn act_on(
    tx: &mut Tx<'_>,
    found: Option<&Found>,
    verb: Move,
    act: &Act,
) -> Result<(Bulk, Option<PageMark>)> {
    let (bulk, next) = tx.perform(act, |tx| {
        let Some(Found { filter, tasks, next }) = found else { return Ok((Bulk::default(), None)) };
        let changed = move_each(tx, &still_meant(tx.conn, filter, tasks)?, verb, &act.actor)?;
        Ok((Bulk { changed, next: None }, next.map(|mark| mark.0)))
    })?;
    Ok((bulk, next.map(PageMark)))
}

/// Those that have not changed since so that the filter would pass them over.
fn still_meant(conn: &Connection, filter: &NotificationFilter, found: &[TaskSummary]) -> Result<Vec<TaskId>> {
    let events = found.iter().filter_map(|task| task.parent).map(|event| event.0).collect();
    let statement = Builder::new('?').tasks_of_events(&as_tasks(filter), events);
    let now = read::query(conn, statement, read::read_summary)?;
    let meant: HashSet<_> = now.iter().map(|task| task.id).collect();
    Ok(found.iter().map(|task| task.id).filter(|id| meant.contains(id)).collect())
}
