//! Pages of events and notifications, put together from what a store found.

use std::time::Duration;

use malla_notify::{DELIVER, EventPage, EventSummary, Notification, PageMark};
use malla_queue::{EventId, TaskSummary};

/// A notification is made with its event, but for those of Malla's own events, which are made a moment later; this much
/// later at most for a search by time to find them.
pub(crate) const DISPATCH_SLACK: Duration = Duration::from_secs(24 * 3600);

/// What is shown where an endpoint is gone. No endpoint can have this name.
const DELETED: &str = "(deleted)";

/// `next` is where the search goes on if the page has all that was found.
pub(crate) fn event_page(mut found: Vec<EventSummary>, limit: usize, next: Option<i64>) -> EventPage {
    let cut = found.len() > limit;
    found.truncate(limit);
    let next = if cut { found.last().map(|event| event.id) } else { next.map(EventId) };
    EventPage { events: found, next }
}

/// The tasks of whole events, as far as they fit; those of one event are never torn apart. The mark is an event's.
pub(crate) fn notification_page(
    mut found: Vec<TaskSummary>,
    limit: usize,
    next: Option<i64>,
) -> (Vec<TaskSummary>, Option<PageMark>) {
    let event_of = |task: &TaskSummary| task.parent.map(|event| event.0);
    let Some(first_out) = found.get(limit).map(event_of) else { return (found, next.map(PageMark)) };
    // The page ends before the event that does not fit whole, or with it if it is the first.
    let begins = found.iter().position(|task| event_of(task) == first_out).unwrap_or(0);
    let ends = if begins > 0 { begins } else { found.iter().take_while(|task| event_of(task) == first_out).count() };
    let all = ends == found.len();
    found.truncate(ends);
    let mark = if all { next } else { found.last().and_then(event_of) };
    (found, mark.map(PageMark))
}

/// A task in this room's words; `None` if it is none of this room's.
pub(crate) fn notification(task: TaskSummary, endpoint: Option<String>) -> Option<Notification> {
    if task.kind.as_str() != DELIVER {
        return None;
    }
    Some(Notification {
        id: task.id,
        event: EventId(task.parent?.0),
        subscription: task.lane.name().to_owned(),
        endpoint: endpoint.unwrap_or_else(|| DELETED.into()),
        group: task.group,
        state: task.state,
        failures: task.failures,
        run_at: task.run_at,
        finished_at: task.finished_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use malla_queue::{Kind, LaneKey, Priority, State, TaskId};

    fn task(id: i64, event: i64) -> TaskSummary {
        TaskSummary {
            id: TaskId(id),
            lane: LaneKey::trusted("notify/a".into()),
            kind: Kind::new(DELIVER),
            group: None,
            state: State::Queued,
            priority: Priority::Normal,
            failures: 0,
            run_at: None,
            finished_at: None,
            parent: Some(TaskId(event)),
            holder: None,
        }
    }

    #[test]
    fn a_page_holds_whole_events() {
        check(&[(9, 3), (8, 3), (7, 2)], 5, Some(1), 3, Some(1));
        check(&[(9, 3), (8, 3), (7, 2), (6, 2)], 3, Some(1), 2, Some(3));
        check(&[(9, 3), (8, 3), (7, 3)], 2, Some(1), 3, Some(1));
        check(&[(9, 3), (8, 3), (7, 3), (6, 2)], 2, None, 3, Some(3));
        check(&[], 2, None, 0, None);
    }

    fn check(found: &[(i64, i64)], limit: usize, next: Option<i64>, kept: usize, mark: Option<i64>) {
        let tasks = found.iter().map(|(id, event)| task(*id, *event)).collect();
        let (page, next) = notification_page(tasks, limit, next);
        assert_eq!((page.len(), next), (kept, mark.map(PageMark)), "{found:?} at most {limit}");
    }
}
