//! The SQL of lists of wikis, extractions and imports, the same on both stores.

use malla_queue::Scope;
use malla_wiki::{ExtractionId, ImportId, WikiId};

use crate::listing::{Builder, Statement};

impl Builder {
    /// In the order of their numbers, by the primary key.
    pub(crate) fn wikis(mut self, scope: &Scope, after: Option<WikiId>, limit: usize) -> Statement {
        let after = self.int(after.map_or(i64::MIN, |after| after.0));
        let of_scope = self.of_scope("w.grp", scope);
        let select = include_str!("../sql/both/wiki/wiki.sql");
        self.done(format!("{select} WHERE w.id > {after}{of_scope} ORDER BY w.id LIMIT {limit}"))
    }

    /// Newest first, by the primary key or wiki_extraction_grp.
    pub(crate) fn extractions(mut self, scope: &Scope, below: Option<ExtractionId>, limit: usize) -> Statement {
        let below = self.int(below.map_or(i64::MAX, |below| below.0.0));
        let of_scope = self.of_scope("e.grp", scope);
        let select = include_str!("../sql/both/wiki/extraction.sql");
        self.done(format!("{select} WHERE e.id < {below}{of_scope} ORDER BY e.id DESC LIMIT {limit}"))
    }

    /// Newest first, by the primary key.
    pub(crate) fn imports(mut self, scope: &Scope, below: Option<ImportId>, limit: usize) -> Statement {
        let below = self.int(below.map_or(i64::MAX, |below| below.0.0));
        let of_scope = self.of_scope("w.grp", scope);
        let select = include_str!("../sql/both/wiki/import.sql");
        self.done(format!("{select} WHERE i.id < {below}{of_scope} ORDER BY i.id DESC LIMIT {limit}"))
    }

    fn of_scope(&mut self, column: &str, scope: &Scope) -> String {
        match scope {
            Scope::All => String::new(),
            Scope::Groups(groups) => format!(" AND {}", self.in_groups(column, groups)),
        }
    }
}
