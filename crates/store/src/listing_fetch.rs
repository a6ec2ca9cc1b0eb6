//! The SQL of lists of jobs and devices, the same on both stores.

use malla_fetch::JobId;
use malla_queue::Scope;

use crate::listing::{Builder, Statement};

impl Builder {
    /// Newest first, by the primary key or job_grp.
    pub(crate) fn jobs(mut self, scope: &Scope, below: Option<JobId>, limit: usize) -> Statement {
        let mut all = vec![format!("j.id < {}", self.int(below.map_or(i64::MAX, |below| below.0.0)))];
        if let Scope::Groups(groups) = scope {
            all.push(self.in_groups("j.grp", groups));
        }
        let select = include_str!("../sql/both/fetch/job.sql");
        self.done(format!("{select} WHERE {} ORDER BY j.id DESC LIMIT {limit}", all.join(" AND ")))
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
