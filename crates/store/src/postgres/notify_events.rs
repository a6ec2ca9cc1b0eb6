//! Events and notifications as people and deliveries look at them.

use std::collections::HashMap;

use deadpool_postgres::{GenericClient, Object};
use malla_notify::{
    Event, EventFilter, EventPage, EventSummary, Notification, NotificationFilter, NotificationPage, PageMark,
};
use malla_queue::{Act, Bulk, Error, EventId, Move, Scope, TaskId, TaskSummary, UnixMs};
use tokio_postgres::Row;

use super::act::{Roused, STEP, move_tasks};
use super::notify_search::search;
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::{read, sql};
use crate::listing::Builder;
use crate::listing_notify::{as_tasks, narrowed};
use crate::notify_pages::{DISPATCH_SLACK, event_page, notification, notification_page};
use crate::notify_rows::{EventRow, EventSummaryRow};
use crate::searching::{Search, Span, steps};

pub(super) async fn event(client: &impl GenericClient, scope: &Scope, id: EventId) -> Result<Event, Broken> {
    let found = by_id(client, &[id]).await?.pop().filter(|event| scope.sees(event.group));
    Ok(found.ok_or_else(|| Error::NotFound(format!("event {id}")))?)
}

pub(super) async fn by_id(client: &impl GenericClient, ids: &[EventId]) -> Result<Vec<Event>, Broken> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    let select = concat!(include_str!("../../sql/both/notify/event.sql"), " WHERE e.id = ANY ($1::bigint[])");
    let rows = client.query(&client.prepare_cached(select).await?, &[&ids]).await?;
    let read = |row: &Row| {
        Ok(EventRow {
            id: row.get(0),
            endpoint: row.get(1),
            endpoint_name: row.get(2),
            group: row.get(3),
            kind: row.get(4),
            method: row.get(5),
            query: row.get(6),
            content_type: row.get(7),
            topic: row.get(8),
            headers: row.get(9),
            packed: i64::from(row.get::<_, i16>(10)),
            body: row.get(11),
        }
        .read()?)
    };
    rows.iter().map(read).collect()
}

fn read_event(row: &Row) -> EventSummary {
    EventSummaryRow {
        id: row.get(0),
        endpoint: row.get(1),
        kind: row.get(2),
        method: row.get(3),
        content_type: row.get(4),
        topic: row.get(5),
        bytes: row.get(6),
    }
    .read()
}

pub(super) async fn events(
    client: &impl GenericClient,
    filter: &EventFilter,
    below: Option<EventId>,
    limit: usize,
) -> Result<EventPage, Broken> {
    if let Some(content) = &filter.content {
        return events_with(client, filter, &Search::new(content)?, below, limit).await;
    }
    let empty = EventPage { events: Vec::new(), next: None };
    let Some(statement) = Builder::new('$').events(filter, below, limit) else { return Ok(empty) };
    let events: Vec<_> = read::query(client, &statement).await?.iter().map(read_event).collect();
    let (last, full) = (events.last().map(|event| event.id.0), events.len() >= limit);
    let frontier = if full { None } else { Builder::new('$').events_frontier(filter, below) };
    Ok(EventPage { next: read::next_of(client, last, full, frontier).await?.map(EventId), events })
}

async fn events_with(
    client: &impl GenericClient,
    filter: &EventFilter,
    words: &Search,
    below: Option<EventId>,
    limit: usize,
) -> Result<EventPage, Broken> {
    let mut span = Span::new(below.map(|id| id.0), filter.from, filter.to);
    let mut found = Vec::new();
    for _ in steps() {
        let matches = search(client, words, span).await?;
        let rows = read::query(client, &Builder::new('$').events_among(filter, matches.ids)).await?;
        found.extend(rows.iter().map(read_event));
        let Some(next) = matches.next.filter(|_| found.len() < limit) else {
            return Ok(event_page(found, limit, matches.next));
        };
        span.below = next;
    }
    Ok(event_page(found, limit, Some(span.below)))
}

pub(super) async fn get_notification(
    client: &impl GenericClient,
    scope: &Scope,
    id: TaskId,
) -> Result<Notification, Broken> {
    let task = read::summary(client, id).await?.filter(|task| scope.sees(task.group));
    let found = named(client, task.into_iter().collect()).await?.pop();
    Ok(found.ok_or_else(|| Error::NotFound(format!("notification {id}")))?)
}

pub(super) async fn notifications(
    client: &impl GenericClient,
    filter: &NotificationFilter,
    below: Option<PageMark>,
    limit: usize,
) -> Result<NotificationPage, Broken> {
    let (tasks, next) = tasks(client, filter, below, limit).await?;
    Ok(NotificationPage { notifications: named(client, tasks).await?, next })
}

/// The page as tasks.
async fn tasks(
    client: &impl GenericClient,
    filter: &NotificationFilter,
    below: Option<PageMark>,
    limit: usize,
) -> Result<(Vec<TaskSummary>, Option<PageMark>), Broken> {
    let lanes = match &filter.endpoint {
        Some(name) => {
            let rows = client.query(&client.prepare_cached(sql!("notify/lanes_of_endpoint")).await?, &[name]).await?;
            Some(rows.iter().map(|row| row.get(0)).collect::<Vec<i64>>())
        }
        None => None,
    };
    if let Some(content) = &filter.content {
        return tasks_with(client, filter, lanes, &Search::new(content)?, below, limit).await;
    }
    let below = below.map(|mark| TaskId(mark.0));
    let page = read::tasks_of_lanes(client, &as_tasks(filter), lanes.as_deref(), below, limit).await?;
    Ok((page.tasks, page.next.map(|id| PageMark(id.0))))
}

async fn tasks_with(
    client: &impl GenericClient,
    filter: &NotificationFilter,
    lanes: Option<Vec<i64>>,
    words: &Search,
    below: Option<PageMark>,
    limit: usize,
) -> Result<(Vec<TaskSummary>, Option<PageMark>), Broken> {
    let from = filter.from.map(|from| from.minus(DISPATCH_SLACK));
    let mut span = Span::new(below.map(|mark| mark.0), from, filter.to);
    let tasks = as_tasks(filter);
    let mut found = Vec::new();
    for _ in steps() {
        let matches = search(client, words, span).await?;
        let statement = Builder::new('$').among_lanes(lanes.clone()).tasks_of_events(&tasks, matches.ids);
        found.extend(read::query(client, &statement).await?.iter().map(read::read_summary));
        let Some(next) = matches.next.filter(|_| found.len() < limit) else {
            return Ok(notification_page(found, limit, matches.next));
        };
        span.below = next;
    }
    Ok(notification_page(found, limit, Some(span.below)))
}

/// The tasks in this room's words. A deleted subscription's endpoint is known from the event.
async fn named(client: &impl GenericClient, tasks: Vec<TaskSummary>) -> Result<Vec<Notification>, Broken> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = tasks.iter().map(|task| task.lane.name()).collect();
    let statement = client.prepare_cached(sql!("notify/endpoints_of_subscriptions")).await?;
    let rows = client.query(&statement, &[&names]).await?;
    let of_subscriptions: HashMap<String, String> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let left: Vec<i64> = tasks
        .iter()
        .filter(|task| !of_subscriptions.contains_key(task.lane.name()))
        .filter_map(|task| task.parent.map(|event| event.0))
        .collect();
    let mut of_events: HashMap<i64, String> = HashMap::new();
    if !left.is_empty() {
        let statement = client.prepare_cached(sql!("notify/endpoints_of_events")).await?;
        of_events.extend(client.query(&statement, &[&left]).await?.iter().map(|row| (row.get(0), row.get(1))));
    }
    let named = tasks.into_iter().filter_map(|task| {
        let of_event = || task.parent.and_then(|event| of_events.get(&event.0));
        let endpoint = of_subscriptions.get(task.lane.name()).or_else(of_event).cloned();
        notification(task, endpoint)
    });
    Ok(named.collect())
}

pub(super) async fn act_on(
    client: &mut Object,
    filter: &NotificationFilter,
    below: Option<PageMark>,
    verb: Move,
    act: &Act,
    now: UnixMs,
) -> Result<Roused<(Bulk, Option<PageMark>)>, Broken> {
    let tx = client.transaction().await?;
    if let Some((bulk, next)) = first_answer::<(Bulk, Option<i64>)>(&tx, act, now).await? {
        return Ok(((bulk, next.map(PageMark)), Vec::new()));
    }
    let (mut bulk, mut next, mut rouse) = (Bulk::default(), None, Vec::new());
    if let Some(filter) = narrowed(filter, verb) {
        let (tasks, after) = tasks(&tx, &filter, below, STEP).await?;
        let ids: Vec<i64> = tasks.iter().map(|task| task.id.0).collect();
        let moved = move_tasks(&tx, &ids, verb, &act.actor, now).await?;
        (bulk.changed, next, rouse) = (moved.count, after, moved.rouse);
    }
    settle(tx, act, now, "act", (bulk, next.map(|mark| mark.0))).await?;
    Ok(((bulk, next), rouse))
}
