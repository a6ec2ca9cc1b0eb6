//! The SQL of lists with filters, the same on both stores but for the mark of a parameter.
//!
//! A list is answered in bounded steps: an index gives so many candidates at most ([`SCAN_MAX`]), newest first, and the rest of
//! the filter is applied to these. A filter that matches little costs several small pages rather than one long wait.

use malla_access::AuditFilter;
use malla_queue::{GroupId, LaneFilter, LaneKey, Scope, State, TaskFilter, TaskId, UnixMs};

use crate::codes::Code;

/// Candidates that one page looks at: some milliseconds' worth. PostgreSQL takes several times as long for one.
const SCAN_MAX: usize = 4_000;
const SCAN_MAX_SHARED: usize = 2_000;
/// Ways into the tasks of which each may give that many; of more ways each gives less.
const PATHS_FULL: usize = 8;
/// Candidates from each way at least: as many as the longest page.
const PATH_MIN: usize = 500;

#[derive(Debug, Clone)]
pub(crate) enum Param {
    Int(i64),
    Text(String),
    Ints(Vec<i64>),
}

/// A statement in the making.
pub(crate) struct Builder {
    mark: char,
    params: Vec<Param>,
    /// Only tasks of these lanes.
    lanes: Option<Vec<i64>>,
}

/// A statement with its parameters.
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) params: Vec<Param>,
}

impl Builder {
    /// `mark` is `?` on SQLite and `$` on PostgreSQL.
    pub(crate) fn new(mark: char) -> Self {
        Self { mark, params: Vec::new(), lanes: None }
    }

    pub(crate) fn among_lanes(self, lanes: Option<Vec<i64>>) -> Self {
        Self { lanes, ..self }
    }

    pub(crate) fn int(&mut self, value: i64) -> String {
        self.params.push(Param::Int(value));
        format!("CAST({}{} AS BIGINT)", self.mark, self.params.len())
    }

    pub(crate) fn text(&mut self, value: impl Into<String>) -> String {
        self.params.push(Param::Text(value.into()));
        format!("CAST({}{} AS TEXT)", self.mark, self.params.len())
    }

    /// That the column has one of these values.
    pub(crate) fn among(&mut self, column: &str, values: Vec<i64>) -> String {
        self.params.push(Param::Ints(values));
        let number = self.params.len();
        if self.mark == '?' {
            format!("{column} IN (SELECT value FROM json_each(?{number}))")
        } else {
            format!("{column} = ANY (CAST(${number} AS BIGINT[]))")
        }
    }

    /// The select from this table, of the candidates alone. PostgreSQL is made to look up each of them: left to itself it
    /// prefers to walk over all rows that the rest of the filter may match, in the hope of soon meeting a page of them.
    pub(crate) fn among_candidates(&self, select: &str, from: &str, candidates: &str) -> String {
        let (table, alias) = from.split_once(' ').expect("a table and its alias");
        if self.mark == '?' {
            return format!("{select} WHERE {alias}.id IN ({candidates})");
        }
        let each = format!(
            "FROM ({candidates}) c CROSS JOIN LATERAL (SELECT * FROM {table} WHERE id = c.id OFFSET 0) {alias}"
        );
        format!("{} WHERE TRUE", select.replacen(&format!("FROM {from}"), &each, 1))
    }

    pub(crate) fn scan_max(&self) -> usize {
        if self.mark == '?' { SCAN_MAX } else { SCAN_MAX_SHARED }
    }

    pub(crate) fn done(self, sql: String) -> Statement {
        Statement { sql, params: self.params }
    }

    /// One page of tasks, newest first. `None` if nothing can match.
    pub(crate) fn tasks(mut self, filter: &TaskFilter, below: Option<TaskId>, limit: usize) -> Option<Statement> {
        let (candidates, _) = self.task_candidates(filter, below)?;
        let conditions = self.task_conditions(filter);
        let select = include_str!("../sql/both/read/summary.sql");
        let among = self.among_candidates(select, "task t", &candidates);
        let sql = format!("{among} AND {} ORDER BY t.id DESC LIMIT {limit}", conditions.join(" AND "));
        Some(self.done(sql))
    }

    /// Whether there were as many candidates as a page looks at, and the last of them: where the next page goes on.
    pub(crate) fn frontier(mut self, filter: &TaskFilter, below: Option<TaskId>) -> Option<Statement> {
        let (candidates, most) = self.task_candidates(filter, below)?;
        Some(self.done(format!("SELECT count(*) >= {most}, min(id) FROM ({candidates}) c")))
    }

    /// The ids that an index finds, newest first, and how many at most.
    fn task_candidates(&mut self, filter: &TaskFilter, below: Option<TaskId>) -> Option<(String, usize)> {
        let range = self.range(below.map(|id| id.0), filter.from, filter.to);
        let paths = self.paths(filter)?;
        candidates("task", &range, &paths, self.scan_max())
    }

    /// The ids below one and between two times.
    pub(crate) fn range(&mut self, below: Option<i64>, from: Option<UnixMs>, to: Option<UnixMs>) -> String {
        let mut range = vec![format!("id < {}", self.int(below.unwrap_or(i64::MAX)))];
        if let Some(from) = from {
            range.push(format!("id >= {}", self.int(TaskId::first_at(from).0)));
        }
        if let Some(to) = to {
            range.push(format!("id < {}", self.int(TaskId::first_at(to).0)));
        }
        range.join(" AND ")
    }

    /// The conditions an index serves, alternatives of each other: task_lane, task_parent, task_lane for each of some
    /// lanes, task_grp, task_state, else the primary key.
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
        if let Some(lanes) = self.lanes.clone() {
            return Some(lanes.into_iter().map(|lane| format!("lane = {}", self.int(lane))).collect());
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

    pub(crate) fn task_conditions(&mut self, filter: &TaskFilter) -> Vec<String> {
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
        if let Some(lane) = &filter.lane {
            all.push(format!("n.key = {}", self.text(lane.as_str())));
        }
        if let Some(parent) = filter.parent {
            all.push(format!("t.parent = {}", self.int(parent.0)));
        }
        if let Some(lanes) = self.lanes.clone() {
            all.push(self.among("t.lane", lanes));
        }
        if !filter.states.is_empty() {
            let any: Vec<_> = filter.states.iter().map(|state| shown_as(*state)).collect();
            all.push(format!("({})", any.join(" OR ")));
        }
        all
    }

    pub(crate) fn in_groups(&mut self, column: &str, groups: &[GroupId]) -> String {
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

/// What each path finds in the table, newest first: together the newest of all paths, and how many at most. (The newest
/// few of each path hold the newest few of all.)
pub(crate) fn candidates(table: &str, range: &str, paths: &[String], most: usize) -> Option<(String, usize)> {
    let most = if paths.len() <= PATHS_FULL { most } else { (most * PATHS_FULL / paths.len()).max(PATH_MIN) };
    let scan = |path: &String| {
        format!("SELECT id FROM (SELECT id FROM {table} WHERE {path} AND {range} ORDER BY id DESC LIMIT {most}) s")
    };
    let sql = match paths {
        [] => return None,
        [one] => scan(one),
        many => {
            let union = many.iter().map(scan).collect::<Vec<_>>().join(" UNION ALL ");
            format!("SELECT id FROM ({union}) u ORDER BY id DESC LIMIT {most}")
        }
    };
    Some((sql, most))
}

/// Where the page after this one begins: after its last entry if it is full, else after the last candidate if there may
/// be more of these.
pub(crate) fn next_page(last: Option<i64>, full: bool, cut: bool, last_candidate: Option<i64>) -> Option<i64> {
    if full { last } else { last_candidate.filter(|_| cut) }
}
