//! The SQL of lists of studies, the same on both stores.

use malla_analyze::StudyId;
use malla_queue::Scope;

use crate::listing::{Builder, Statement};

impl Builder {
    /// Newest first, by the primary key or analysis_grp.
    pub(crate) fn studies(mut self, scope: &Scope, below: Option<StudyId>, limit: usize) -> Statement {
        let below = self.int(below.map_or(i64::MAX, |below| below.0.0));
        let mut all = vec!["NOT a.forgotten".to_owned(), format!("a.id < {below}")];
        if let Scope::Groups(groups) = scope {
            all.push(self.in_groups("a.grp", groups));
        }
        let select = include_str!("../sql/both/analyze/study.sql");
        self.done(format!("{select} WHERE {} ORDER BY a.id DESC LIMIT {limit}", all.join(" AND ")))
    }
}
