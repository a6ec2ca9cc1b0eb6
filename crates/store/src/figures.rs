//! How figures lie in the store, and how they are added up.

use std::collections::BTreeMap;

use malla_notify::{Counted, Figures, Step, Subject, SubscriptionId};
use malla_queue::{Result, Scope, UnixMs};

use crate::listing::{Builder, Statement};
use crate::notify_rows::{SYSTEM_ID, from_json, to_json};

pub(crate) fn step_code(step: Step) -> i16 {
    match step {
        Step::Minute => 0,
        Step::Hour => 1,
        Step::Day => 2,
    }
}

const ENDPOINT: i16 = 0;
const SUBSCRIPTION: i16 = 1;

fn subject_code(subject: Subject) -> (i16, i64) {
    match subject {
        Subject::Endpoint(id) => (ENDPOINT, id.0),
        Subject::Subscription(id) => (SUBSCRIPTION, id.0),
    }
}

/// A row of `figure`, its process apart.
#[derive(Debug, Clone)]
pub(crate) struct FigureRow {
    pub(crate) step: i16,
    pub(crate) subject_kind: i16,
    pub(crate) subject: i64,
    pub(crate) begin_at: i64,
    pub(crate) body: String,
}

/// Each subject and step once: what was said last counts.
pub(crate) fn rows(counted: &[Counted]) -> Vec<FigureRow> {
    let mut last = BTreeMap::new();
    for row in counted {
        last.insert((row.step, row.subject, row.begin), &row.figures);
    }
    let row = |((step, subject, begin), figures): ((Step, Subject, UnixMs), &Figures)| {
        let (subject_kind, subject) = subject_code(subject);
        FigureRow { step: step_code(step), subject_kind, subject, begin_at: begin.0, body: to_json(figures) }
    };
    last.into_iter().map(row).collect()
}

/// Figures by the beginnings of their steps, or by subject.
#[derive(Default)]
pub(crate) struct Sums(BTreeMap<i64, Figures>);

impl Sums {
    pub(crate) fn add(&mut self, key: i64, body: &str) -> Result<()> {
        self.0.entry(key).or_default().merge(&from_json("figures", body)?);
        Ok(())
    }

    pub(crate) fn by_step(self) -> Vec<(UnixMs, Figures)> {
        self.0.into_iter().map(|(begin, figures)| (UnixMs(begin), figures)).collect()
    }

    pub(crate) fn in_order_of(mut self, subscriptions: &[SubscriptionId]) -> Vec<Figures> {
        subscriptions.iter().map(|id| self.0.remove(&id.0).unwrap_or_default()).collect()
    }
}

impl Builder {
    /// Beginnings and bodies: of one subject by the primary key, of all by figure_begin.
    pub(crate) fn figures(
        mut self,
        scope: &Scope,
        subject: Option<Subject>,
        step: Step,
        from: UnixMs,
        to: UnixMs,
    ) -> Statement {
        let range = format!(
            "step = {} AND begin_at >= {} AND begin_at < {}",
            step_code(step),
            self.int(step.begin(from).0),
            self.int(to.0)
        );
        let select = format!("SELECT begin_at, body FROM figure WHERE {range}");
        let Some((endpoints, subscriptions)) = self.subjects(scope, subject) else { return self.done(select) };
        let of = |kind: i16, ids: String| format!("{select} AND subject_kind = {kind} AND subject IN ({ids})");
        let parts: Vec<_> = [
            endpoints.map(|which| of(ENDPOINT, format!("SELECT id FROM endpoint WHERE {which}"))),
            Some(of(SUBSCRIPTION, format!("SELECT id FROM subscription WHERE {subscriptions}"))),
        ]
        .into_iter()
        .flatten()
        .collect();
        self.done(parts.join(" UNION ALL "))
    }

    /// Which endpoints and which subscriptions; `None` is all that were ever counted.
    fn subjects(&mut self, scope: &Scope, subject: Option<Subject>) -> Option<(Option<String>, String)> {
        let seen = match scope {
            Scope::All => None,
            Scope::Groups(groups) => Some(self.in_groups("grp", groups)),
        };
        let and_seen = |which: String| seen.as_ref().map_or(which.clone(), |seen| format!("{which} AND {seen}"));
        match (subject, &seen) {
            (None, None) => None,
            (None, Some(seen)) => Some((Some(seen.clone()), seen.clone())),
            (Some(Subject::Endpoint(id)), _) => {
                let id = self.int(id.0);
                let seen = seen.as_ref().map_or("1 = 1", String::as_str);
                let endpoint = format!("id = {id} AND (id = {SYSTEM_ID} OR {seen})");
                Some((Some(endpoint), and_seen(format!("endpoint = {id}"))))
            }
            (Some(Subject::Subscription(id)), _) => {
                let id = self.int(id.0);
                Some((None, and_seen(format!("id = {id}"))))
            }
        }
    }
}
