//! The SQL of lists of jobs and devices, the same on both stores.

use malla_fetch::JobId;
use malla_fetch::tour::{TourId, TourKind};
use malla_queue::Scope;

use crate::listing::{Builder, Statement};

impl Builder {
    /// Newest first, by the primary key or job_grp.
    pub(crate) fn jobs(mut self, scope: &Scope, below: Option<JobId>, limit: usize) -> Statement {
        let mut all = vec![format!("j.id < {}", self.int(below.map_or(i64::MAX, |below| below.0.0)))];
        if let Scope::Groups(groups) = scope {
            all.push(self.in_groups("j.grp", groups));
        }
        // A tour's job is its own affair.
        all.push("NOT EXISTS (SELECT 1 FROM tour t WHERE t.id = j.id)".to_owned());
        let select = include_str!("../sql/both/fetch/job.sql");
        self.done(format!("{select} WHERE {} ORDER BY j.id DESC LIMIT {limit}", all.join(" AND ")))
    }

    /// Newest first, by tour_kind or tour_grp.
    pub(crate) fn tours(mut self, scope: &Scope, kind: TourKind, below: Option<TourId>, limit: usize) -> Statement {
        let mut all = vec![
            format!("t.kind = '{}'", kind.name()),
            format!("t.id < {}", self.int(below.map_or(i64::MAX, |below| below.0.0))),
            "NOT CAST(t.forgotten AS BOOLEAN)".to_owned(),
        ];
        if let Scope::Groups(groups) = scope {
            all.push(self.in_groups("t.grp", groups));
        }
        let select = include_str!("../sql/both/tour/tour.sql");
        self.done(format!("{select} WHERE {} ORDER BY t.id DESC LIMIT {limit}", all.join(" AND ")))
    }

    /// All of them: devices are as many as people lend.
    pub(crate) fn devices(mut self, scope: &Scope, limit: usize) -> Statement {
        let seen = match scope {
            Scope::All => "true".to_owned(),
            Scope::Groups(groups) => self.in_groups("d.grp", groups),
        };
        let select = include_str!("../sql/both/fetch/device.sql");
        self.done(format!("{select} WHERE {seen} ORDER BY d.owner, d.name LIMIT {limit}"))
    }
}
