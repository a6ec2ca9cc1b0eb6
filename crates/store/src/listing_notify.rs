//! The SQL of lists of endpoints, subscriptions, events and notifications, the same on both stores.

use malla_notify::{DELIVER, EventFilter, NotificationFilter, SYSTEM, lane_of};
use malla_queue::{EventId, Kind, Move, Scope, TaskFilter, TaskId};

use crate::listing::{Builder, Statement, candidates};
use crate::notify_rows::SYSTEM_ID;

impl Builder {
    /// In the order of names, by the unique index on them.
    pub(crate) fn endpoints(mut self, scope: &Scope, after: Option<&str>, limit: usize) -> Statement {
        let mut all = vec![format!("p.name > {}", self.text(after.unwrap_or_default()))];
        if let Scope::Groups(groups) = scope {
            all.push(format!("(p.id = {SYSTEM_ID} OR {})", self.in_groups("p.grp", groups)));
        }
        let select = include_str!("../sql/both/notify/endpoint.sql");
        self.done(format!("{select} WHERE {} ORDER BY p.name LIMIT {limit}", all.join(" AND ")))
    }

    /// In the order of names, by the unique index on them or subscription_endpoint.
    pub(crate) fn subscriptions(
        mut self,
        scope: &Scope,
        endpoint: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Statement {
        let mut all = vec![format!("s.name > {}", self.text(after.unwrap_or_default()))];
        if let Some(endpoint) = endpoint {
            all.push(format!("s.endpoint = (SELECT id FROM endpoint WHERE name = {})", self.text(endpoint)));
        }
        if let Scope::Groups(groups) = scope {
            all.push(self.in_groups("s.grp", groups));
        }
        let select = include_str!("../sql/both/notify/subscription.sql");
        self.done(format!("{select} WHERE {} ORDER BY s.name LIMIT {limit}", all.join(" AND ")))
    }

    /// One page of events, newest first. `None` if nothing can match.
    pub(crate) fn events(mut self, filter: &EventFilter, below: Option<EventId>, limit: usize) -> Option<Statement> {
        let (candidates, _) = self.event_candidates(filter, below)?;
        let conditions = self.event_conditions(filter);
        let select = include_str!("../sql/both/notify/event_summary.sql");
        let among = self.among_candidates(select, "event e", &candidates);
        Some(self.done(format!("{among} AND {conditions} ORDER BY e.id DESC LIMIT {limit}")))
    }

    pub(crate) fn events_frontier(mut self, filter: &EventFilter, below: Option<EventId>) -> Option<Statement> {
        let (candidates, most) = self.event_candidates(filter, below)?;
        Some(self.done(format!("SELECT count(*) >= {most}, min(id) FROM ({candidates}) c")))
    }

    /// Those of these events that match, newest first.
    pub(crate) fn events_among(mut self, filter: &EventFilter, ids: Vec<i64>) -> Statement {
        let (among, conditions) = (self.among("e.id", ids), self.event_conditions(filter));
        let select = include_str!("../sql/both/notify/event_summary.sql");
        self.done(format!("{select} WHERE {among} AND {conditions} ORDER BY e.id DESC"))
    }

    /// event_endpoint, event_grp, or the primary key.
    fn event_candidates(&mut self, filter: &EventFilter, below: Option<EventId>) -> Option<(String, usize)> {
        let range = self.range(below.map(|id| id.0), filter.from, filter.to);
        let paths = match (&filter.endpoint, &filter.scope) {
            (Some(name), _) => {
                let mut paths = vec![format!("endpoint = (SELECT id FROM endpoint WHERE name = {})", self.text(name))];
                if name == SYSTEM {
                    paths.push("endpoint IS NULL".into());
                }
                paths
            }
            (None, Scope::Groups(groups)) => {
                groups.iter().map(|group| format!("grp = {}", self.int(group.0))).collect()
            }
            (None, Scope::All) => vec!["id IS NOT NULL".into()],
        };
        candidates("event", &range, &paths, self.scan_max())
    }

    fn event_conditions(&mut self, filter: &EventFilter) -> String {
        let mut all = vec!["e.id IS NOT NULL".to_owned()];
        if let Some(endpoint) = &filter.endpoint {
            let name = self.text(endpoint);
            all.push(format!("coalesce(e.endpoint, {SYSTEM_ID}) = (SELECT id FROM endpoint WHERE name = {name})"));
        }
        if let Scope::Groups(groups) = &filter.scope {
            all.push(self.in_groups("e.grp", groups));
        }
        all.join(" AND ")
    }

    /// The tasks of these events that match: by task_parent, those of the newest event first. They are younger than
    /// their events, so older partitions are not looked at.
    pub(crate) fn tasks_of_events(mut self, filter: &TaskFilter, events: Vec<i64>) -> Statement {
        let oldest = self.int(events.iter().copied().min().unwrap_or(i64::MAX));
        let mut all = self.task_conditions(filter);
        // The parents are the narrowest way in: a plus keeps the other columns' indexes out of the choice.
        for column in ["t.grp", "t.lane", "t.state"] {
            all.iter_mut().for_each(|condition| *condition = condition.replace(column, &format!("+{column}")));
        }
        all.push(self.among("t.parent", events));
        if let Some(from) = filter.from {
            all.push(format!("t.id >= {}", self.int(TaskId::first_at(from).0)));
        }
        if let Some(to) = filter.to {
            all.push(format!("t.id < {}", self.int(TaskId::first_at(to).0)));
        }
        let select = include_str!("../sql/both/read/summary.sql");
        self.done(format!("{select} WHERE t.id > {oldest} AND {} ORDER BY t.parent DESC, t.id DESC", all.join(" AND ")))
    }
}

/// The tasks that are these notifications; the endpoint and the content are left to the caller.
pub(crate) fn as_tasks(filter: &NotificationFilter) -> TaskFilter {
    TaskFilter {
        states: filter.states.clone(),
        kind: Some(Kind::new(DELIVER)),
        lane: filter.subscription.as_deref().map(lane_of),
        parent: filter.event.map(|event| TaskId(event.0)),
        from: filter.from,
        to: filter.to,
        ..TaskFilter::all(filter.scope.clone())
    }
}

/// The filter narrowed to the states from which `verb` leads somewhere; `None` if there are none.
pub(crate) fn narrowed(filter: &NotificationFilter, verb: Move) -> Option<NotificationFilter> {
    let states = as_tasks(filter).narrowed_to(verb)?.states;
    Some(NotificationFilter { states, ..filter.clone() })
}
