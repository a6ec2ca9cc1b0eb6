//! The SQL of lists with filters, the same on both stores but for the mark of a parameter.
//!
//! A list is answered in bounded steps: an index gives at most [`SCAN_MAX`] candidates, newest first, and the rest of
//! the filter is applied to these. A filter that matches little costs several small pages rather than one long wait.

use malla_access::AuditFilter;
use malla_queue::{GroupId, LaneFilter, LaneKey, Scope, State, TaskFilter, TaskId};

use crate::codes::Code;

/// Candidates that one page looks at.
pub(crate) const SCAN_MAX: usize = 10_000;

#[derive(Debug, Clone)]
pub(crate) enum Param {
    Int(i64),
    Text(String),
}

/// A statement in the making.
pub(crate) struct Builder {
    mark: char,
    params: Vec<Param>,
}

/// A statement with its parameters.
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) params: Vec<Param>,
}

impl Builder {
    /// `mark` is `?` on SQLite and `$` on PostgreSQL.
    pub(crate) fn new(mark: char) -> Self {
        Self { mark, params: Vec::new() }
    }

    fn int(&mut self, value: i64) -> String {
        self.params.push(Param::Int(value));
        format!("CAST({}{} AS BIGINT)", self.mark, self.params.len())
    }

    fn text(&mut self, value: impl Into<String>) -> String {
        self.params.push(Param::Text(value.into()));
        format!("CAST({}{} AS TEXT)", self.mark, self.params.len())
    }

    fn done(self, sql: String) -> Statement {
        Statement { sql, params: self.params }
    }

    /// One page of tasks, newest first. `None` if nothing can match.
    pub(crate) fn tasks(mut self, filter: &TaskFilter, below: Option<TaskId>, limit: usize) -> Option<Statement> {
        let candidates = self.candidates(filter, below)?;
        let conditions = self.task_conditions(filter);
        let select = include_str!("../sql/both/read/summary.sql");
        let sql = format!(
            "{select} WHERE t.id IN ({candidates}) AND {} ORDER BY t.id DESC LIMIT {limit}",
            conditions.join(" AND ")
        );
        Some(self.done(sql))
    }

    /// How many candidates there were and the last of them: where the next page goes on.
    pub(crate) fn frontier(mut self, filter: &TaskFilter, below: Option<TaskId>) -> Option<Statement> {
        let candidates = self.candidates(filter, below)?;
        Some(self.done(format!("SELECT count(*), min(id) FROM ({candidates}) c")))
    }

    /// The ids that an index finds, newest first.
    fn candidates(&mut self, filter: &TaskFilter, below: Option<TaskId>) -> Option<String> {
        let mut range = vec![format!("id < {}", self.int(below.map_or(i64::MAX, |id| id.0)))];
        if let Some(from) = filter.from {
            range.push(format!("id >= {}", self.int(TaskId::first_at(from).0)));
        }
        if let Some(to) = filter.to {
            range.push(format!("id < {}", self.int(TaskId::first_at(to).0)));
        }
        let range = range.join(" AND ");
        let scan = |path: String| {
            format!("SELECT id FROM (SELECT id FROM task WHERE {path} AND {range} ORDER BY id DESC LIMIT {SCAN_MAX}) s")
        };
        let paths = self.paths(filter)?;
        match paths.as_slice() {
            [one] => Some(scan(one.clone())),
            many => {
                let union = many.iter().cloned().map(scan).collect::<Vec<_>>().join(" UNION ALL ");
                Some(format!("SELECT id FROM ({union}) u ORDER BY id DESC LIMIT {SCAN_MAX}"))
            }
        }
    }

    /// The conditions an index serves, alternatives of each other: task_lane, task_parent, task_grp, task_state,
    /// else the primary key.
    fn paths(&mut self, filter: &TaskFilter) -> Option<Vec<String>> {
        let groups = filter.groups();
        if groups.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        if let Some(lane) = &filter.lane {
            let key = self.text(lane.as_str());
            return Some(vec![format!("lane = (SELECT id FROM lane WHERE key = {key})")]);
        }
        if let Some(parent) = filter.parent {
            return Some(vec![format!("parent = {}", self.int(parent.0))]);
        }
        if let Some(groups) = groups {
            return Some(groups.iter().map(|group| format!("grp = {}", self.int(group.0))).collect());
        }
        if filter.states.is_empty() {
            return Some(vec!["id IS NOT NULL".into()]);
        }
        let mut codes: Vec<i64> = filter.states.iter().map(|state| Code::of(*state) as i64).collect();
        if filter.states.contains(&State::Paused) {
            codes.push(Code::Open as i64);
        }
        codes.sort_unstable();
        codes.dedup();
        Some(codes.into_iter().map(|code| format!("state = {}", self.int(code))).collect())
    }

    fn task_conditions(&mut self, filter: &TaskFilter) -> Vec<String> {
        let mut all = vec!["t.id IS NOT NULL".to_owned()];
        if let Some(groups) = filter.groups() {
            all.push(self.in_groups("t.grp", &groups));
        }
        if let Some(room) = &filter.room {
            all.push(format!("n.room = {}", self.text(room)));
        }
        if let Some(kind) = &filter.kind {
            all.push(format!("t.kind = {}", self.text(kind.as_str())));
        }
        if let Some(parent) = filter.parent {
            all.push(format!("t.parent = {}", self.int(parent.0)));
        }
        if !filter.states.is_empty() {
            let any: Vec<_> = filter.states.iter().map(|state| shown_as(*state)).collect();
            all.push(format!("({})", any.join(" OR ")));
        }
        all
    }

    fn in_groups(&mut self, column: &str, groups: &[GroupId]) -> String {
        let list: Vec<_> = groups.iter().map(|group| self.int(group.0)).collect();
        if list.is_empty() { "1 = 0".into() } else { format!("{column} IN ({})", list.join(", ")) }
    }

    pub(crate) fn lanes(
        mut self,
        scope: &Scope,
        filter: &LaneFilter,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Statement {
        let mut all = vec![format!("n.key > {}", self.text(after.map_or("", LaneKey::as_str)))];
        if let Some(room) = &filter.room {
            // Keys begin with their room, so this is a range of the unique index on key.
            all.push(format!(
                "n.key >= {} AND n.key < {}",
                self.text(format!("{room}/")),
                self.text(format!("{room}0"))
            ));
        }
        if let Some(paused) = filter.paused {
            all.push(if paused { "n.paused".into() } else { "NOT n.paused".into() });
        }
        if let Some(search) = &filter.search {
            all.push(format!("n.key LIKE {} ESCAPE '\\'", self.text(format!("%{}%", escape_like(search)))));
        }
        if let Scope::Groups(groups) = scope {
            all.push(self.in_groups("n.grp", groups));
        }
        let sql = include_str!("../sql/both/read/lanes.sql")
            .replace("{where}", &all.join(" AND "))
            .replace("{limit}", &limit.to_string());
        self.done(sql)
    }

    /// One lane by its key.
    pub(crate) fn lane(mut self, key: &LaneKey) -> Statement {
        let key = self.text(key.as_str());
        let sql = include_str!("../sql/both/read/lanes.sql")
            .replace("{where}", &format!("n.key = {key}"))
            .replace("{limit}", "1");
        self.done(sql)
    }

    /// Audit lines, newest first: by primary key, or audit_grp for somebody with groups.
    pub(crate) fn audit(mut self, scope: &Scope, filter: &AuditFilter, below: Option<i64>, limit: usize) -> Statement {
        let mut all = vec![format!("id < {}", self.int(below.unwrap_or(i64::MAX)))];
        if let Scope::Groups(groups) = scope {
            all.push(self.in_groups("grp", groups));
        }
        if let Some(actor) = &filter.actor {
            all.push(format!("actor = {}", self.text(actor)));
        }
        if let Some(action) = &filter.action {
            let exact = self.text(action);
            let within = self.text(format!("{}.%", escape_like(action)));
            all.push(format!("(action = {exact} OR action LIKE {within} ESCAPE '\\')"));
        }
        if let Some(object) = &filter.object {
            all.push(format!("object = {}", self.text(object)));
        }
        if let Some(from) = filter.from {
            all.push(format!("id >= {}", self.int(TaskId::first_at(from).0)));
        }
        if let Some(to) = filter.to {
            all.push(format!("id < {}", self.int(TaskId::first_at(to).0)));
        }
        let select = include_str!("../sql/both/read/audit.sql");
        self.done(format!("{select} WHERE {} ORDER BY id DESC LIMIT {limit}", all.join(" AND ")))
    }
}

fn shown_as(state: State) -> String {
    match state {
        State::Queued => "(t.state = 0 AND l.task IS NULL AND NOT n.paused)".into(),
        State::Running => "(t.state = 0 AND l.task IS NOT NULL)".into(),
        State::Paused => "(t.state = 1 OR (t.state = 0 AND l.task IS NULL AND n.paused))".into(),
        other => format!("t.state = {}", Code::of(other) as i64),
    }
}

pub(crate) fn escape_like(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Where the page after this one begins.
pub(crate) fn next_page(
    found: &[TaskId],
    limit: usize,
    candidates: i64,
    last_candidate: Option<i64>,
) -> Option<TaskId> {
    if found.len() >= limit {
        return found.last().copied();
    }
    let cut = usize::try_from(candidates).is_ok_and(|count| count >= SCAN_MAX);
    last_candidate.filter(|_| cut).map(TaskId)
}
